"""The command line as a person meets it: help, typos, exit codes, one-line errors."""

import pytest

COMMANDS = "demo list advise describe bench train eval predict ablate explain align metrics report serve import".split()


def one_line(done, code=2):
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stderr.startswith("heed: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_no_arguments_prints_help(heed):
    done = heed()
    assert done.returncode == 0
    assert all(command in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(heed, command):
    done = heed(command, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout and f"heed {command}" in done.stdout


def test_unknown_command_and_flag_get_the_nearest(heed):
    assert "did you mean 'train'?" in one_line(heed("trian"))
    assert "did you mean '--resume'?" in one_line(heed("train", "a.toml", "--out", "x", "--resumee"))
    assert "--out" in one_line(heed("train", "a.toml"))
    one_line(heed("train", "a.toml", "--out", "x", "--threads", "0"))


def test_version(heed):
    assert heed("--version").stdout.strip() == "heed 0.1.0"
