"""Texts typed on the command line are read as rows of a file are."""

import json

import pytest

PAIR = """
[task]
kind = "pair"
data = "builtin:statements?size=80"
[feature]
dim = 8
[train]
epochs = 1
"""


@pytest.fixture(scope="module")
def pair_run(heed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    (folder / "c.toml").write_text(PAIR)
    done = heed("train", folder / "c.toml", "--out", folder / "run", "--threads", 1, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder / "run"


def answer(done):
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stdout)
    return {key: line[key] for key in ("inputs", "maps", "prediction")}


def complaint(done):
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_one_text_by_its_name_or_without(heed, tiny_run):
    text = "The food was NOT good"
    alone = answer(heed("predict", tiny_run, text, "--json"))
    assert alone == answer(heed("predict", tiny_run, "--input", f"text={text}", "--json"))
    assert alone["inputs"]["text"] == text.lower().split()


def test_several_texts_as_a_row_of_a_file(heed, pair_run, tmp_path):
    row = {"first": "a man = sleeps", "second": "nobody sleeps"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    given = [part for name, text in row.items() for part in ("--input", f"{name}={text}")]
    typed = answer(heed("predict", pair_run, *given, "--json"))
    assert typed == answer(heed("predict", pair_run, "--data", tmp_path / "rows.jsonl", "--json"))
    assert typed["inputs"]["first"] == ["a", "man", "=", "sleeps"]


def test_what_is_missing_or_wrong_is_told(heed, tiny_run, pair_run):
    assert "--input NAME=TEXT" in complaint(heed("predict", tiny_run))
    assert "--data FILE" in complaint(heed("predict", tiny_run, "a", "--data", "b.tsv"))
    assert "has no '='" in complaint(heed("predict", tiny_run, "--input", "text"))
    assert "did you mean 'text'?" in complaint(heed("predict", tiny_run, "--input", "txet=a"))
    assert "reads first, second" in complaint(heed("predict", pair_run, "a text"))
    assert "the second is empty; fill it in" in complaint(heed("predict", pair_run, "--input", "first=a"))
    assert "UTF-8" in complaint(heed("predict", tiny_run, b"\xff".decode(errors="surrogateescape")))
