"""How long heed takes for an epoch of one of the examples, on one thread, and how much memory it needs."""

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


def least_epoch(example: str, data: Path, epochs: int) -> tuple[float, float]:
    """Seconds of the quickest of so many epochs, by the clock on the wall, and the peak memory in MB."""
    config = (ROOT / "examples" / example / "config.toml").read_text()
    config = re.sub(r'(?m)^data = ".*"', f'data = "{data}"', config).replace("../../build", str(ROOT / "build"))
    config = re.sub(r"epochs = .*", f"epochs = {epochs}", re.sub(r"patience = .*", "patience = 0", config))
    with tempfile.TemporaryDirectory() as scratch:
        path, run = Path(scratch) / "config.toml", Path(scratch) / "run"
        path.write_text(config)
        command = [ROOT / "build/heed", "train", path, "--out", run, "--threads", "1", "--quiet"]
        memory = run_measured(command)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return min(line["seconds"] for line in lines if "epoch" in line), memory
