"""heed import: published vectors and encoders become files heed reads, whatever they come as."""

import gzip
import io
import json
import os
import tarfile
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.cli.test_usage import one_line
from tests.conftest import ROOT

ROWS = "the 0.5 -1.25 3\n, 1 2 3\nnaïve 0.1 0.2 0.3\nthe 9 9 9\n"
WORDS = ["the", ",", "naïve"]
VECTORS = np.array([[0.5, -1.25, 3], [1, 2, 3], [0.1, 0.2, 0.3]], dtype=np.float32)
WINK = json.dumps(
    {
        "precision": 8,
        "dimensions": 3,
        "words": WORDS,
        "vectors": {w: [*map(float, v), 9.9, i] for i, (w, v) in enumerate(zip(WORDS, VECTORS))},
        "unkVector": [0, 0, 0, 0, -1],
    }
)
PACKAGE = {"package/package.json": json.dumps({"main": "./v.json"}), "package/v.json": WINK}


def tgz(path):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in PACKAGE.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def fake(folder, name, script):
    """A program of that name, the only one of it on the PATH."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def source(kind, folder):
    if kind == "gzip":
        (folder / "v.txt.gz").write_bytes(gzip.compress(ROWS.encode()))
        return folder / "v.txt.gz"
    if kind == "npm folder":
        for name, text in PACKAGE.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        return folder / "package"
    if kind == "tgz":
        return tgz(folder / "v.tgz")
    path = folder / ("v.json" if kind == "wink" else "v.txt")
    path.write_text({"glove": ROWS, "word2vec": "4 3\n" + ROWS, "wink": WINK}[kind])
    return path


def imported(path):
    tensors = load_file(path)
    return bytes(tensors["words"]).decode().split("\n")[:-1], tensors["vectors"]


@pytest.mark.parametrize("kind", ["glove", "word2vec", "gzip", "wink", "npm folder", "tgz"])
def test_every_form_gives_the_same_vectors(heed, tmp_path, kind):
    out = tmp_path / "new folder" / "v.safetensors"
    done = heed("import", "embeddings", source(kind, tmp_path), "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["kind"], report["words"], report["width"]) == ("embeddings", 3, 3)
    assert report["repeated"] == (1 if kind in ("glove", "word2vec", "gzip") else 0)
    words, vectors = imported(out)
    assert words == WORDS
    assert (vectors == VECTORS).all()


def test_a_limit_and_a_second_import(heed, tmp_path):
    first, second = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    assert heed("import", "embeddings", source("glove", tmp_path), "--out", first).returncode == 0
    done = heed("import", "embeddings", first, "--out", second, "--limit", 2)
    assert done.returncode == 0 and "2 words of width 3" in done.stdout
    assert imported(second)[0] == WORDS[:2]


def test_a_package_is_fetched_and_unpacked(heed, tmp_path):
    package = tgz(tmp_path / "made.tgz")
    env = fake(tmp_path / "bin", "npm", f'echo "$@" > {tmp_path}/called\ncp {package} some-package-1.0.0.tgz\n')
    out = tmp_path / "v.safetensors"
    done = heed("import", "embeddings", "npm:some-package", "--out", out, env=env)
    assert done.returncode == 0, done.stderr
    assert imported(out)[0] == WORDS
    assert (tmp_path / "called").read_text().split() == ["pack", "--silent", "some-package"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("", ["v.txt:1:"]),
        ("a 1 2\nb 1\n", ["v.txt:2:", "ragged"]),
        ("a 1 2\nb 1 x\n", ["v.txt:2:", "'x'"]),
        ("a 1 2\nb 1 nan\n", ["v.txt:2:", "'nan'"]),
        (b"a 1 2\n\xff 1 2\n", ["v.txt:2:", "UTF-8"]),
    ],
)
def test_malformed_files(heed, tmp_path, text, words):
    (tmp_path / "v.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    message = one_line(heed("import", "embeddings", tmp_path / "v.txt", "--out", tmp_path / "o.safetensors"))
    assert all(word in message for word in words), message
    assert not (tmp_path / "o.safetensors").exists()


def test_mistakes_of_use(heed, tmp_path):
    out = tmp_path / "v.safetensors"
    assert "did you mean 'embeddings'?" in one_line(heed("import", "embedings", "x", "--out", out))
    assert "no such file" in one_line(heed("import", "embeddings", tmp_path / "none", "--out", out))
    assert ".safetensors" in one_line(heed("import", "embeddings", "x", "--out", tmp_path / "v"))
    assert "npm:" in one_line(heed("import", "embeddings", "npm:--version", "--out", out))
    assert "--out" in one_line(heed("import", "embeddings", "x"))
    assert "--limit" in one_line(heed("import", "minilm", "x", "--out", tmp_path / "m", "--limit", 3))


def test_a_program_that_is_absent_or_fails(heed, tmp_path):
    out = tmp_path / "v.safetensors"
    (tmp_path / "empty").mkdir()
    message = one_line(heed("import", "embeddings", "npm:x", "--out", out, env={"PATH": str(tmp_path / "empty")}))
    assert "cannot start 'npm'" in message
    env = fake(tmp_path / "bin", "npm", "echo first\necho npm error 404 no such package >&2\nexit 1\n")
    assert "404 no such package" in one_line(heed("import", "embeddings", "npm:x", "--out", out, env=env))
    env = fake(tmp_path / "quiet", "npm", "exit 0\n")
    assert ".tgz" in one_line(heed("import", "embeddings", "npm:x", "--out", out, env=env))


def tiny_encoder(folder):
    """A BERT encoder of one layer, as published ones are laid out."""
    rng, width, inner = np.random.default_rng(1), 8, 16
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"]
    shapes = {
        "embeddings.word_embeddings.weight": (len(vocabulary), width),
        "embeddings.position_embeddings.weight": (16, width),
        "embeddings.token_type_embeddings.weight": (2, width),
    }
    pairs = [("embeddings.LayerNorm", (width,))]
    for name, shape in {
        **{f"attention.self.{part}": (width, width) for part in ("query", "key", "value")},
        "attention.output.dense": (width, width),
        "attention.output.LayerNorm": (width,),
        "intermediate.dense": (inner, width),
        "output.dense": (width, inner),
        "output.LayerNorm": (width,),
    }.items():
        pairs.append((f"encoder.layer.0.{name}", shape))
    for name, shape in pairs:
        shapes[name + ".weight"], shapes[name + ".bias"] = shape, shape[:1]
    folder.mkdir(parents=True)
    save_file({n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()}, folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    config = {"model_type": "bert", "vocab_size": 6, "hidden_size": 8, "num_hidden_layers": 1}
    config |= {"num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 16}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("kind", ["folder", "wheel", "pypi"])
def test_an_encoder_is_three_files(heed, tmp_path, kind):
    model = tiny_encoder(tmp_path / "package" / "model")
    given, env = tmp_path / "package", {}
    if kind != "folder":
        given = tmp_path / "m-1-py3-none-any.whl"
        with zipfile.ZipFile(given, "w") as wheel:
            for file in model.iterdir():
                wheel.write(file, f"m/model/{file.name}")
    if kind == "pypi":
        script = f'case "$2" in pip) cp {given} . ;; *) exec /usr/bin/python3 "$@" ;; esac\n'
        given, env = "pypi:m", fake(tmp_path / "bin", "python3", script)
    out = tmp_path / "out" / "minilm"
    done = heed("import", "minilm", given, "--out", out, "--json", env=env)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["layers"], report["width"]) == (1, 8)
    assert sorted(os.listdir(out)) == ["config.json", "model.safetensors", "vocab.txt"]
    assert all((out / name).read_bytes() == (model / name).read_bytes() for name in os.listdir(out))


def test_a_folder_that_is_no_encoder(heed, tmp_path):
    out = tmp_path / "out"
    (tmp_path / "empty").mkdir()
    assert "model.safetensors" in one_line(heed("import", "minilm", tmp_path / "empty", "--out", out))
    model = tiny_encoder(tmp_path / "model")
    (model / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\n")
    assert "vocab.txt has 3 pieces" in one_line(heed("import", "minilm", model, "--out", out))
    assert not out.exists()


TUNED = """
[task]
data = "texts.tsv"
[feature]
vectors = { id = "pretrained", path = "model", tune = true }
model = "embedding"
[train]
epochs = 1
tune_lr = 0.01
"""


def test_an_encoder_that_a_run_has_tuned_is_an_encoder(heed, tmp_path):
    model = tiny_encoder(tmp_path / "model")
    rows = [f"{'a b' if i % 2 else 'b a a'}\t{i % 2}\t{part}" for part in ("train", "val", "test") for i in range(8)]
    (tmp_path / "texts.tsv").write_text("\n".join(["text\tlabel\tsplit", *rows]) + "\n")
    (tmp_path / "config.toml").write_text(TUNED)
    out = tmp_path / "tuned"
    assert heed("train", tmp_path / "config.toml", "--out", tmp_path / "run").returncode == 0
    done = heed("import", "minilm", tmp_path / "run", "--out", out)
    assert done.returncode == 0, done.stderr
    before, after = load_file(model / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys() and all(before[name].shape == after[name].shape for name in before)
    moved = {name for name in before if not np.array_equal(before[name], after[name])}
    # Tables stay as published. A bias of keys adds the same to all scores of a row, and softmax forgets it.
    fixed = {f"embeddings.{table}_embeddings.weight" for table in ("word", "position", "token_type")}
    assert moved | {"encoder.layer.0.attention.self.key.bias"} >= before.keys() - fixed and not moved & fixed
    # The run's weights are in the same order: what it calls 'inner' is BERT's 'intermediate'.
    run = load_file(tmp_path / "run" / "weights.safetensors")
    inner = next(value for name, value in run.items() if name.endswith("inner.weight"))
    np.testing.assert_array_equal(inner, after["encoder.layer.0.intermediate.dense.weight"])
    again = heed("train", tmp_path / "config.toml", "--out", tmp_path / "run2", "--set", f"feature.vectors.path={out}")
    assert again.returncode == 0, again.stderr


def test_a_run_that_tuned_no_encoder(heed, tiny_run, tmp_path):
    message = one_line(heed("import", "minilm", tiny_run, "--out", tmp_path / "out"))
    assert "tuned no encoder" in message and "tune = true" in message
    assert not (tmp_path / "out").exists()


def test_the_published_encoder_can_be_fetched(heed):
    """Once: the C++ tests compare its vectors with sentence-transformers' when it is there."""
    folder = ROOT / "build" / "vectors" / "minilm"
    if not folder.exists():
        done = heed("import", "minilm", "--out", folder, timeout=600)
        if done.returncode != 0:
            pytest.skip(f"MiniLM cannot be fetched here: {done.stderr.strip()}")
    assert (folder / "model.safetensors").stat().st_size > 80_000_000
