"""Bad input: one line that says what is wrong and where, exit 2, nothing lost."""

import shutil

import pytest

from tests.cli.test_usage import one_line

GOOD = "text\tlabel\tsplit\n" + "".join(
    f"word{i} {'good' if i % 2 else 'bad'} thing\t{'pos' if i % 2 else 'neg'}\t{'test' if i % 5 == 0 else 'train'}\n"
    for i in range(60)
)


def train(heed, folder, data, config='[task]\ndata = "data.tsv"\n[train]\nepochs = 1\n'):
    if data is not None:
        (folder / "data.tsv").write_bytes(data if isinstance(data, bytes) else data.encode())
    (folder / "config.toml").write_text(config)
    return heed("train", folder / "config.toml", "--out", folder / "run", "--threads", 1)


def test_the_good_file_trains(heed, tmp_path):
    done = train(heed, tmp_path, GOOD)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "data, words",
    [
        (None, ["data.tsv", "no such file"]),
        ("", ["data.tsv", "empty"]),
        (GOOD.replace("text\t", "txt\t", 1), ["data.tsv:1", "'text'", "txt"]),
        (GOOD.encode().replace(b"word7", b"wo\xffd7", 1), ["data.tsv:9", "UTF-8"]),
        (GOOD.replace("word7", "wo\0d7", 1), ["data.tsv:9", "zero byte"]),
        (GOOD.replace("word5 good thing\tpos\ttest", "word5 good thing\tmaybe\ttest"), ["data.tsv:7", "maybe"]),
        (GOOD.replace("word3 good thing\tpos\t", "word3 good thing\tpos\ttrain\t", 1), ["data.tsv:5"]),
    ],
    ids=["missing", "empty", "wrong column", "broken UTF-8", "zero byte", "unknown test label", "ragged row"],
)
def test_bad_data(heed, tmp_path, data, words):
    message = one_line(train(heed, tmp_path, data))
    for word in words:
        assert word in message
    assert not (tmp_path / "run" / "weights.safetensors").exists()


def test_rows_of_another_part_are_not_trained_on(heed, tmp_path):
    message = one_line(train(heed, tmp_path, GOOD, '[task]\ntrain = "data.tsv"\n'))
    assert "data.tsv:2" in message and "'test'" in message and "'data'" in message


@pytest.mark.parametrize(
    "config, words",
    [
        ("[task]\nkind = 'classify'\n[attention]\nscore = 'aditive'\n", ["config.toml:4", "did you mean 'additive'?"]),
        ("[attenton]\nscore = 'dot'\n", ["config.toml:1", "did you mean 'attention'?"]),
        ("[attention]\nsocre = 'dot'\n", ["config.toml:2", "did you mean 'score'?"]),
        ("[attention]\nmechanism = 'rotatory'\n", ["'rotatory'", "'left', 'target', 'right'", "the task gives 'text'"]),
        ("[train]\nepochs = -1\n", ["config.toml:2", "epochs"]),
        ("[train\n", ["config.toml:1"]),
        ("", ["config.toml", "empty"]),
    ],
)
def test_bad_config(heed, tmp_path, config, words):
    message = one_line(train(heed, tmp_path, None, config))
    for word in words:
        assert word in message


def test_a_config_that_is_not_there(heed, tmp_path):
    assert "none.toml" in one_line(heed("train", tmp_path / "none.toml", "--out", tmp_path / "run"))


@pytest.mark.parametrize("damage", ["truncated", "altered", "not ours", "empty"])
def test_damaged_weights(heed, tiny_run, tmp_path, damage):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    weights = run / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    if damage == "truncated":
        data = data[: len(data) // 2]
    elif damage == "altered":
        data[-7] ^= 1
    elif damage == "not ours":
        data = bytearray(b"PK\x03\x04" + bytes(100))
    else:
        data = bytearray()
    weights.write_bytes(data)
    for command in (["eval", run], ["predict", run, "the food was good"]):
        assert "weights.safetensors" in one_line(heed(*command))


def test_a_run_that_cannot_be_written(heed, tiny_config, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in one_line(heed("train", tiny_config, "--out", tmp_path / "file" / "run"))
    assert "proc" in one_line(heed("train", tiny_config, "--out", "/proc/heed-run"))


def test_a_run_is_not_overwritten(heed, tiny_config, tiny_run):
    assert "--resume" in one_line(heed("train", tiny_config, "--out", tiny_run))


def test_resume_with_another_config_is_refused(heed, tiny_config, tiny_run, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(tiny_config.read_text().replace("dim = 16", "dim = 18"))
    assert "not the one this run was started with" in one_line(heed("train", other, "--out", tiny_run, "--resume"))


def test_reading_what_is_no_run(heed, tmp_path):
    assert "no such run" in one_line(heed("eval", tmp_path / "none"))
    assert "no config.toml" in one_line(heed("report", tmp_path))
