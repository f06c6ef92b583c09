"""What killing and breaking tests share: small commands, and how two results are compared."""

import json
import os
import subprocess
from pathlib import Path

from tests.conftest import HEED

SHIM = HEED.parent / "tests" / "faults" / "libheed_faults.so"

# A checkpoint after every step, so that a training has many.
CONFIG = """
[task]
data = "builtin:reviews?size=64"
[feature]
model = "bigru"
dim = 8
[train]
epochs = {epochs}
batch = 32
patience = 0
traces = 4
checkpoint_seconds = 0
"""


def write_config(folder, epochs=2):
    path = folder / "config.toml"
    path.write_text(CONFIG.format(epochs=epochs))
    return path


def train_command(config, out, *more):
    return [str(HEED), "train", str(config), "--out", str(out), "--threads", "1", "--quiet", *more]


def run(command, fault="", root="", log="", **options):
    """The completed process, with one system call under `root` going wrong: see faults.cpp."""
    env = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    if root:
        env |= {"LD_PRELOAD": str(SHIM), "HEED_FAULT_ROOT": str(root), "HEED_FAULT": fault, "HEED_FAULT_LOG": str(log)}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=1200, **options)


def calls_of(command, root, log):
    """The system calls on files under `root` that the command makes, as (name, path)."""
    done = run(command, root=root, log=log)
    assert done.returncode == 0, done.stderr
    return [tuple(line.split(" ", 1)) for line in Path(log).read_text().splitlines()]


def one_line(done, *words):
    """Asserts that a command failed as promised: exit code 2, one line, these words in it."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    (line,) = done.stderr.splitlines()
    for word in words:
        assert word in line, (word, line)


def _without_times(value):
    """Leaves out what no two runs share."""
    if isinstance(value, dict):
        shared = {k: v for k, v in value.items() if "seconds" not in k and k not in ("minutes", "memory")}
        return {k: _without_times(v) for k, v in shared.items()}
    return [_without_times(v) for v in value] if isinstance(value, list) else value


def bits(folder):
    """All files of a folder, byte for byte; of JSON what is no time."""
    result = {}
    for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        if path.suffix in (".json", ".jsonl") and path.name != "vocabulary.json":
            lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
            result[name] = [_without_times(json.loads(line)) for line in lines]
        elif path.name != "checkpoint.safetensors":  # holds seconds too
            result[name] = path.read_bytes()
        else:
            result[name] = "there"
    return result


def check_loads(folder):
    """A run that was stopped: no file that has its name is half written, and weights are usable."""
    for path in Path(folder).rglob("*.json*"):
        if path.suffix != ".tmp":
            for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                json.loads(line)
    if (Path(folder) / "weights.safetensors").exists():
        done = run([str(HEED), "predict", str(folder), "the food was good", "--json", "--threads", "1"])
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["prediction"]["label"] in ("negative", "positive")
