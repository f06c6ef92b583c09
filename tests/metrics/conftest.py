"""Fixtures of the differential tests; `heed`, which runs the command, comes from the folder above."""

import json

import pytest


@pytest.fixture
def write(tmp_path):
    """write(name, lines) → the path of a file with these lines."""

    def write_lines(name, lines):
        path = tmp_path / name
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        return str(path)

    return write_lines


@pytest.fixture
def measure(heed):
    """measure("bleu", "--hyp", file, …) → the parsed report of `heed metrics`."""

    def run(*arguments):
        done = heed("metrics", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert list(report)[:4] == ["name", "value", "signature", "details"]
        return report

    return run
