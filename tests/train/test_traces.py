"""What traces carry beside words: points, frames, pictures, neighbours, sentences, features."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image


def trace(heed, folder, text, name="run"):
    config = folder / f"{name}.toml"
    config.write_text(text + "\n[train]\nepochs = 1\ntraces = 3\n")
    done = heed("train", config, "--out", folder / name, "--threads", 1, "--quiet")
    assert done.returncode == 0, done.stderr
    lines = (folder / name / "traces.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def task(kind, data, rest="", dim=16):
    return f'[task]\nkind = "{kind}"\ndata = "{data}"\n[feature]\ndim = {dim}\n{rest}'


def pixels(url):
    head, body = url.split(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body))))


def test_words_have_links_sentences_and_stretches(heed, tmp_path):
    text = task("translate", "builtin:translate?size=40", '[output]\nmodel = "gru"')
    for line in trace(heed, tmp_path, text, "translate"):
        ends = [len(line["gold"]["sequence"]), len(line["inputs"]["text"])]
        assert line["gold"]["links"] and all(0 <= i < n for link in line["gold"]["links"] for i, n in zip(link, ends))
        assert "values" not in line and "pictures" not in line
    text = task("document", "builtin:reviews?size=40", '[attention]\nmechanism = "hierarchical"\nscore = "additive"')
    for line in trace(heed, tmp_path, text, "document"):
        assert sum(line["levels"]["text"]) == len(line["inputs"]["text"])
        assert len(line["levels"]["text"]) == len(line["inputs"]["text (sentences)"])
    text = task("aspect", "builtin:reviews?size=40", '[attention]\nmechanism = "rotatory"')
    for line in trace(heed, tmp_path, text, "aspect"):
        for name, view in line["views"].items():
            assert line["inputs"][view["of"]][view["begin"] : view["end"]] == line["inputs"][name]


def test_features_have_weights_of_their_own(heed, tmp_path):
    rest = '[attention]\nscore = "additive"\ndimensionality = "multi"'
    for line in trace(heed, tmp_path, task("classify", "builtin:reviews?size=40", rest)):
        (attention,) = line["maps"]
        features = np.reshape(attention["features"]["data"], attention["features"]["shape"])
        assert list(features.shape) == [*attention["shape"], 16]
        assert features.sum(2) == pytest.approx(1, abs=1e-4)  # over the words, in each feature
        assert features.mean(-1).ravel() == pytest.approx(attention["data"], abs=1e-5)


def test_points_and_frames_are_numbers(heed, tmp_path):
    text = task("point", "builtin:hull?n=5&size=40", '[output]\nmodel = "pointer"')
    for line in trace(heed, tmp_path, text, "points"):
        assert [f"{x:.2f} {y:.2f}" for x, y in line["values"]["points"]] == line["inputs"]["points"]
    text = task("translate", "builtin:phonemes?size=40", '[output]\nmodel = "gru"')
    for line in trace(heed, tmp_path, text, "phonemes"):
        frames = line["values"]["frames"]
        assert {len(frame) for frame in frames} == {8} and len(frames) == len(line["inputs"]["frames"])
        linked = {frame for _, frame in line["gold"]["links"]}
        assert linked == {i for i, gold in enumerate(line["gold"]["weights"]["frames"]) if gold > 0}


@pytest.mark.parametrize("width, height, channels", [(6, 4, 1), (6, 4, 3), (404, 202, 1)])
def test_a_picture_is_the_one_that_was_read(heed, tmp_path, width, height, channels):
    drawn = []
    for i in range(6):
        shape = (height, width) if channels == 1 else (height, width, channels)
        drawn.append(np.random.default_rng(i).integers(0, 256, shape, dtype=np.uint8))
        Image.fromarray(drawn[-1]).save(tmp_path / f"{i}.png")
    rows = [f"{i}.png\t{'ab'[i % 2]}\t{'train' if i < 2 else 'val' if i < 4 else 'test'}" for i in range(6)]
    (tmp_path / "d.tsv").write_text("file\tlabel\tsplit\n" + "\n".join(rows) + "\n")
    rest = 'vectors = { id = "patches", size = 2 }\nmodel = "embedding"\n[attention]\nscore = "additive"'
    for line, image in zip(trace(heed, tmp_path, task("image", "d.tsv", rest)), drawn[4:], strict=True):
        (url,) = line["pictures"]["image"]
        assert line["grids"]["image"] == [height // 2, width // 2]
        shrink = -(-width // 200)
        rows, columns = height // shrink * shrink, width // shrink * shrink
        blocks = image[:rows, :columns].reshape(rows // shrink, shrink, columns // shrink, shrink, -1)
        assert max(pixels(url).shape[:2]) <= 200
        assert np.abs(pixels(url).reshape(blocks.shape[0], blocks.shape[2], -1) - blocks.mean((1, 3))).max() <= 0.51


def test_a_film_has_frames_and_cells_of_their_own(heed, tmp_path):
    for vectors, side in [('"patches"', 6), ('{ id = "conv", layers = 2, channels = 8 }', 3)]:
        rest = f'vectors = {vectors}\nmodel = "embedding"\n[attention]\nmechanism = "hierarchical"\nscore = "additive"'
        for line in trace(heed, tmp_path, task("image", "builtin:video?size=40", rest), f"film-{side}"):
            assert [m["key_input"] for m in line["maps"]] == ["film", "film (frames)"]
            assert line["grids"]["film"] == [6, side, side] and len(line["inputs"]["film"]) == 6 * side * side
            assert [pixels(url).shape for url in line["pictures"]["film"]] == [(24, 24)] * 6
            # Of a coarser grid the data knows no gold attention.
            assert ("weights" in line["gold"]) == (side == 6)


def test_counts_know_the_right_number(heed, tmp_path):
    rest = 'vectors = "patches"\nmodel = "embedding"\n[attention]\nscore = "additive"'
    for line in trace(heed, tmp_path, task("count", "builtin:crowd?size=40", rest)):
        assert line["gold"]["number"] == sum(line["gold"]["weights"]["image"])  # a dot a patch
        assert line["grids"]["image"] == [6, 6]


def test_neighbours_have_labels(heed, tmp_path):
    rest = 'model = "embedding"\n[query]\nmodel = "self"\n[attention]\nmechanism = "gat"'
    for line in trace(heed, tmp_path, task("graph", "builtin:graph?size=40", rest)):
        labels, ids = line["neighbours"]["edges"], line["inputs"]["edges"]
        assert len(labels) == len(ids)
        assert labels[ids.index(line["id"])] == line["gold"]["label"]  # itself is among them
        same = [float(label == line["gold"]["label"]) for label in labels]
        assert same == line["gold"]["weights"]["edges"]


def test_a_recommendation_answers_with_its_first_item(heed, tmp_path):
    rest = '[attention]\nmechanism = "co.interactive"\nscore = "general"'
    for line in trace(heed, tmp_path, task("recommend", "builtin:recommend?size=40", rest)):
        assert line["prediction"]["label"] == line["prediction"]["sequence"][0]
        assert set(line["inputs"]) == {"history", "source", "recent"}
        assert line["views"]["recent"] == {"of": "history", "begin": 1, "end": 6}
