"""What the Python tests share: the built command and small data."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEED = ROOT / "build" / "heed"


@pytest.fixture(scope="session")
def heed():
    """Runs build/heed with the given arguments; returns the completed process."""

    def run(*arguments, cwd=None, timeout=300, env=None):
        return subprocess.run(
            [str(HEED), *map(str, arguments)],
            cwd=cwd,
            timeout=timeout,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
        )

    return run


@pytest.fixture(scope="session")
def in_browser():
    """Runs a script of the viewer that opens pages in Chromium, and fails with what it said."""

    def run(script, *arguments):
        done = subprocess.run(
            ["npm", "run", "--silent", script, "--", *map(str, arguments)],
            cwd=ROOT / "viewer",
            capture_output=True,
            text=True,
            timeout=900,
            env={**os.environ, "CI": "true"},
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def shared_data():
    """The folder with real data sets beside the source tree; tests that need it skip without it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data beside the source tree")
    return folder


TINY_CONFIG = """
[task]
data = "builtin:reviews?size=200"
[feature]
model = "bigru"
dim = 16
[train]
epochs = 3
batch = 32
traces = 20
"""


@pytest.fixture(scope="session")
def tiny_config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(TINY_CONFIG)
    return path


@pytest.fixture(scope="session")
def tiny_run(heed, tiny_config, tmp_path_factory):
    """A small finished run, shared by the tests that only read it."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    done = heed("train", tiny_config, "--out", out, "--threads", 1)
    assert done.returncode == 0, done.stderr
    return out
