"""Training on published vectors: from a file, and from an encoder that is fixed or fine-tuned."""

import json
import random

import pytest
from safetensors.numpy import load_file

from tests.cli.test_import import tiny_encoder
from tests.cli.test_usage import one_line

# Training has four of the eight adjectives; the others stand in the test part only, and only the
# vectors say which side they are on.
GOOD, BAD = ["good", "great", "lovely", "fine"], ["bad", "awful", "nasty", "poor"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    rng = random.Random(1)
    rows = ["text\tlabel\tsplit"]
    for i in range(240):
        test = i >= 160
        side = rng.random() < 0.5
        word = rng.choice((GOOD if side else BAD)[2:] if test else (GOOD if side else BAD)[:2])
        words = ["the", "place", "was", word, rng.choice(["today", "again", "too"])]
        split = "test" if test else "train"
        rows.append(f"{' '.join(words)}\t{'pos' if side else 'neg'}\t{split}")
    (folder / "data.tsv").write_text("\n".join(rows) + "\n")
    vectors = {w: [1 + 0.1 * i, 0.5, 0.2 * i] for i, w in enumerate(GOOD)}
    vectors |= {w: [-1 - 0.1 * i, 0.5, 0.2 * i] for i, w in enumerate(BAD)}
    vectors |= {w: [0.05 * i, -0.5, 0.3] for i, w in enumerate(["the", "place", "was", "today", "again", "too"])}
    (folder / "v.txt").write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in vectors.items()))
    tiny_encoder(folder / "encoder")
    return folder


def train(heed, project, name, vectors, extra="", *flags, env=None):
    config = f'[task]\ndata = "data.tsv"\n[feature]\nvectors = {vectors}\nmodel = "embedding"\n{extra}'
    if "[train]" not in extra:
        config += "[train]\nepochs = 8\nlr = 0.02\nbatch = 16\npatience = 0\n"
    (project / f"{name}.toml").write_text(config)
    done = heed("train", project / f"{name}.toml", "--out", project / name, "--threads", 1, *flags, env=env)
    assert done.returncode == 0, done.stderr
    return project / name


def accuracy(run):
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    return last["metrics"]["accuracy"]["value"]


def test_words_that_training_lacks_have_a_meaning(heed, project):
    known = train(heed, project, "file", '{ id = "file", path = "v.txt" }')
    assert accuracy(known) > 0.95
    assert accuracy(train(heed, project, "none", '"trained"')) < 0.8
    # The run is read again from anywhere.
    done = heed("eval", known, "--json", cwd="/")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"][0]["value"] == accuracy(known)


def test_tuned_vectors_have_a_step_size_of_their_own(heed, project):
    tables = {}
    for rate in ("0.02", "1e-9"):
        extra = f"[train]\nepochs = 2\nlr = 0.02\ntune_lr = {rate}\npatience = 0\n"
        run = train(heed, project, f"tuned {rate}", '{ id = "file", path = "v.txt", tune = true }', extra)
        (name,) = [n for n in load_file(run / "weights.safetensors") if n.endswith(".tuned.table")]
        tables[rate] = load_file(run / "weights.safetensors")[name]
    rows = [line.split() for line in (project / "v.txt").read_text().splitlines()]
    published = {row[0]: [float(x) for x in row[1:]] for row in rows}
    words = json.loads((project / "tuned 1e-9" / "vocabulary.json").read_text())["vocabulary"]["words"]
    place = words.index("good") + 2
    assert tables["1e-9"][place] == pytest.approx(published["good"], abs=1e-6)
    assert tables["0.02"][place] != pytest.approx(published["good"], abs=1e-3)


def test_a_fixed_encoder_is_cached_and_not_saved(heed, project):
    env = {"XDG_CACHE_HOME": str(project / "cache")}
    vectors = '{ id = "pretrained", path = "encoder" }'
    first = train(heed, project, "fixed", vectors, env=env)
    (file,) = (project / "cache" / "heed").iterdir()
    size = file.stat().st_size
    again = train(heed, project, "fixed again", vectors, env=env)
    assert file.stat().st_size == size, "the second run encoded a sentence again"
    assert (first / "weights.safetensors").read_bytes() == (again / "weights.safetensors").read_bytes()
    assert not any("bert" in name for name in load_file(first / "weights.safetensors"))
    file.unlink()
    fresh = train(heed, project, "fixed afresh", vectors, env=env)
    assert (first / "weights.safetensors").read_bytes() == (fresh / "weights.safetensors").read_bytes()


def test_a_fine_tuned_encoder_is_saved_and_resumed(heed, project):
    vectors = '{ id = "pretrained", path = "encoder", tune = true }'
    extra = "[train]\nepochs = 2\nlr = 0.01\ntune_lr = 0.001\n"
    run = train(heed, project, "fine-tuned", vectors, extra)
    tensors = load_file(run / "weights.safetensors")
    layers = [name for name in tensors if ".tuned.bert.layer_1." in name]
    assert len(layers) == 12 and all(".tuned." in name for name in tensors if "bert" in name)
    published = load_file(project / "encoder" / "model.safetensors")
    name = next(n for n in layers if n.endswith("inner.weight"))
    moved = abs(tensors[name] - published["encoder.layer.0.intermediate.dense.weight"]).max()
    assert 1e-5 < moved < 0.1
    done = heed("eval", run, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"][0]["value"] == accuracy(run)


@pytest.mark.parametrize(
    "vectors, words",
    [
        ('"file"', ["'path'", "heed import"]),
        ('{ id = "file", path = "none.txt" }', ["none.txt"]),
        ('{ id = "file", pth = "v.txt" }', ["config.toml:4", "did you mean 'path'?"]),
        ('{ id = "pretrained", path = "encoder", layer = 9 }', ["config.json:1", "layer 9"]),
        ('{ id = "pretrained", path = "none" }', ["none"]),
        ('{ id = "pretraind", path = "encoder" }', ["config.toml:4", "did you mean 'pretrained'?"]),
    ],
)
def test_mistakes(heed, project, vectors, words):
    (project / "config.toml").write_text(f'[task]\ndata = "data.tsv"\n[feature]\nvectors = {vectors}\n')
    message = one_line(heed("train", project / "config.toml", "--out", project / "bad"))
    assert all(word in message for word in words), message
