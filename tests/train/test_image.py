"""Pictures: patches and a convolutional grid, capsules, films in frames, and numbers."""

import json
import struct
import zlib

import pytest

CONFIG = """
[task]
kind = "{kind}"
data = "{data}"
[feature]
vectors = {vectors}
model = "embedding"
dim = 32
dropout = 0
[attention]
{attention}
[train]
lr = 0.005
epochs = {epochs}
patience = 0
traces = 3
"""


def train(heed, folder, epochs=6, **values):
    config = folder / "config.toml"
    config.write_text(CONFIG.format(epochs=epochs, **values))
    done = heed("train", config, "--out", folder / "run", "--threads", 1, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["test"]


@pytest.mark.parametrize("attention", ['score = "additive"', 'score = "additive"\nqueries = "capsule"'])
def test_the_grid_of_a_small_network_finds_the_shape(heed, tmp_path, attention):
    vectors = '{ id = "conv", layers = 2, channels = 32 }'
    test = train(heed, tmp_path, kind="image", data="builtin:shapes?size=800", vectors=vectors, attention=attention)
    assert test["accuracy"] > 0.8  # chance has 0.25


def test_attention_to_patches_follows_its_teacher(heed, tmp_path):
    # Patches know their place but not their neighbours: the weights are learned from gold attention.
    config = CONFIG.replace("[train]", "[train]\nsupervise = 1")
    path = tmp_path / "config.toml"
    values = {"vectors": '"patches"', "attention": 'score = "additive"', "kind": "image"}
    path.write_text(config.format(epochs=6, data="builtin:shapes?size=800", **values))
    done = heed("train", path, "--out", tmp_path / "run", "--threads", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"]["correctness"] > 0.6  # equal weights have 0.2


def test_a_film_is_frames_of_patches(heed, tmp_path):
    attention = 'mechanism = { id = "hierarchical", encoder = "bigru" }\nscore = "additive"'
    test = train(
        heed, tmp_path, epochs=1, kind="image", data="builtin:video?size=60", vectors='"patches"', attention=attention
    )
    assert 0 <= test["accuracy"] <= 1 and 0 < test["correctness"] < 1
    maps = json.loads((tmp_path / "run" / "traces.jsonl").read_text().splitlines()[0])["maps"]
    assert [m["shape"] for m in maps] == [[1, 6, 216], [1, 1, 6]]


def test_a_crowd_is_counted(heed, tmp_path):
    attention = 'score = "additive"\nalign = "sigmoid"'
    test = train(heed, tmp_path, kind="count", data="builtin:crowd?size=800", vectors='"patches"', attention=attention)
    assert test["mae"] < 1.5  # the mean of 0 … 12 as the answer has 3.2


def png(width, height):
    """A grey PNG, every byte of it written here."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes(range(10, 10 + width)) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_pngs_of_a_table_train_and_a_wrong_size_is_named(heed, tmp_path):
    for i in range(8):
        (tmp_path / f"{i}.png").write_bytes(png(6, 4))
    rows = [f"{i}.png\t{'ab'[i % 2]}\t{'train' if i < 4 else 'val' if i < 6 else 'test'}" for i in range(8)]
    (tmp_path / "d.tsv").write_text("file\tlabel\tsplit\n" + "\n".join(rows) + "\n")
    vectors = '{ id = "patches", size = 2, shift = 1 }'
    test = train(heed, tmp_path, epochs=1, kind="image", data="d.tsv", vectors=vectors, attention='score = "additive"')
    assert 0 <= test["accuracy"] <= 1
    (tmp_path / "7.png").write_bytes(png(5, 4))
    done = heed("train", tmp_path / "config.toml", "--out", tmp_path / "other")
    assert done.returncode == 2
    assert "d.tsv:9: " in done.stderr and "7.png': 5×4" in done.stderr and done.stderr.count("\n") == 1
