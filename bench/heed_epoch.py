"""How long heed takes for an epoch of one of the examples, on one thread, how much memory it needs and how well it learns."""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def peak_mb(process="self") -> float:
    """The most memory a process has had, in MB. (getrusage would count the parent's at the fork.)"""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def run_measured(command: list) -> float:
    """Runs heed; its peak memory in MB."""
    process = subprocess.Popen(command, stdout=sys.stderr)
    peak = 0.0
    while process.poll() is None:
        try:
            peak = max(peak, peak_mb(process.pid))
        except OSError:  # it has just ended
            break
        time.sleep(0.02)
    if process.wait() != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return peak


def epochs_of(example: str, data: dict[str, Path], epochs: int, measure: str) -> dict[str, float]:
    """Trains an example for so many epochs on one thread, on `data` (task.data, or task.train and task.val): seconds of the
    quickest epoch, by the clock on the wall; the peak memory in MB; and the best validation score."""
    config = (ROOT / "examples" / example / "config.toml").read_text()
    paths = "\n".join(f'{part} = "{path}"' for part, path in data.items())
    config = re.sub(r'(?m)^data = ".*"', paths, config).replace("../../build", str(ROOT / "build"))
    config = re.sub(r"epochs = .*", f"epochs = {epochs}", re.sub(r"patience = .*", "patience = 0", config))
    with tempfile.TemporaryDirectory() as scratch:
        path, run = Path(scratch) / "config.toml", Path(scratch) / "run"
        path.write_text(config)
        memory = run_measured([ROOT / "build/heed", "train", path, "--out", run, "--threads", "1", "--quiet"])
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    passed = [line for line in lines if "epoch" in line]
    return {
        "seconds": min(line["seconds"] for line in passed),
        "mb": memory,
        "validation": max(line[f"val_{measure}"] for line in passed),
    }
