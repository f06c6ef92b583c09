"""The guides' commands and programs: those that are quick run, of the others the flags are checked."""

import re
import shlex
import subprocess

import pytest
import torch

from tests.conftest import ROOT

GUIDES = sorted((ROOT / "docs").glob("guide-*.md"))


def blocks(guide: str, language: str) -> list[str]:
    text = (ROOT / "docs" / f"guide-{guide}.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands() -> list[list[str]]:
    lines = [
        line
        for guide in GUIDES
        for block in blocks(guide.stem.removeprefix("guide-"), "sh")
        for line in block.splitlines()
    ]
    found = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in found if words and words[0] == "build/heed"]


def test_every_command_and_flag_exists(heed):
    helps: dict[str, str] = {}
    assert len(commands()) > 10
    for command, *rest in commands():
        if command not in helps:
            done = heed(command, "--help")
            assert done.returncode == 0, command
            helps[command] = done.stdout
        for flag in (word for word in rest if word.startswith("--")):
            assert re.search(rf"(^|[\s,]){flag}\b", helps[command]), f"heed {command} has no {flag}"


def test_quick_commands_run(heed):
    quick = [words for words in commands() if words[0] in ("list", "describe") or "--needs" in words]
    assert len(quick) >= 4
    for words in quick:
        done = heed(*words, cwd=ROOT)
        assert done.returncode == 0, done.stderr


def test_the_config_for_own_data_is_legal(heed, tmp_path):
    (table,), (config,) = blocks("researcher", "tsv"), blocks("researcher", "toml")
    (tmp_path / "reviews.tsv").write_text(table)
    (tmp_path / "mine.toml").write_text(config)
    done = heed("describe", tmp_path / "mine.toml")
    assert done.returncode == 0, done.stderr
    assert "entmax (alpha 1.3" in done.stdout


def test_the_python_guide_runs():
    pytest.importorskip("heed")
    torch.set_num_threads(1)
    exec(compile("\n".join(blocks("pytorch", "python")), "guide-pytorch.md", "exec"), {})


def test_the_kernel_program_compiles(tmp_path):
    program = tmp_path / "main.cpp"
    program.write_text(blocks("cpp", "cpp")[0])
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}"]
    done = subprocess.run(["g++", *flags, program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
