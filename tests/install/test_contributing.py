"""CONTRIBUTING.md, followed to the letter: a new score touches three places and is then everywhere."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text()


def block(after):
    """The code block that follows a sentence of the guide."""
    return re.search(r"```\w+\n(.*?)```", GUIDE[GUIDE.index(after) :], re.S).group(1)


def run(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = tmp_path_factory.mktemp("contributing") / "heed"
    files = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    for name in files:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    (tree / ".venv").symlink_to(ROOT / ".venv")
    (tree / "viewer" / "node_modules").symlink_to(ROOT / "viewer" / "node_modules")
    run("git", "init", "-q", cwd=tree)
    run("git", "add", "-A", cwd=tree)
    run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "as it is", cwd=tree)

    (tree / "src/attention/score_manhattan.cpp").write_text(block("**1. The file**"))
    registry = tree / "src/attention/registry.inc"
    registry.write_text(registry.read_text() + block("**2. The registry line**"))
    cmake = tree / "src/attention/CMakeLists.txt"
    line = block("**3. The CMake line**")
    cmake.write_text(cmake.read_text().replace("    score_general.cpp\n", "    score_general.cpp\n" + line))

    changed = run("git", "status", "--porcelain", cwd=tree).split()[1::2]
    assert sorted(changed) == [
        "src/attention/CMakeLists.txt",
        "src/attention/registry.inc",
        "src/attention/score_manhattan.cpp",
    ]
    added = run("git", "diff", "--numstat", cwd=tree).split()
    assert added[0] == added[3] == "1" and added[1] == added[4] == "0"  # one line each, none removed

    run("cmake", "--preset", "release", cwd=tree)
    run("ninja", "-C", "build", "heed_cli", "heed_ops", "test_attention", cwd=tree)
    return tree


def test_it_is_listed(tree):
    parts = json.loads(run("build/heed", "list", "--json", cwd=tree))
    entry = next(p for p in parts if p["id"] == "manhattan")
    assert entry["group"] == "score" and entry["status"] == "built"


def test_it_is_in_the_gradient_checks(tree):
    out = run("build/tests/attention/test_attention", "--gtest_filter=*manhattan*", cwd=tree)
    aligns = [p for p in json.loads(run("build/heed", "list", "--json", cwd=tree)) if p["group"] == "align"]
    built = sum(p["status"] == "built" for p in aligns)
    assert f"{6 * built} tests" in out and "PASSED" in out  # six promises with every alignment


def test_it_is_in_configs_and_their_schema(tree):
    schema = json.loads(run("build/heed", "list", "--schema", cwd=tree))
    assert "manhattan" in schema["properties"]["attention"]["properties"]["score"]["anyOf"][0]["enum"]
    (tree / "c.toml").write_text(
        '[task]\ndata = "builtin:reviews?size=100"\n[attention]\nscore = "manhattan"\n[feature]\ndim = 8\n[train]\nepochs = 1\n'
    )
    run("build/heed", "train", "c.toml", "--out", "run", "--threads", 1, cwd=tree)


def test_it_is_in_python(tree):
    code = (
        "import sys; sys.path.insert(0, 'build/python'); import heed, torch; q = torch.randn(2, 3, 4); "
        "w = heed.attend(q, q, q, score='manhattan', want='weights').weights; "
        "e = -torch.cdist(q, q, p=1); print(torch.allclose(w, e.softmax(-1), atol=1e-6), heed.__file__)"
    )
    out = run(sys.executable, "-c", code, cwd=tree)
    assert out.startswith("True") and str(tree) in out
