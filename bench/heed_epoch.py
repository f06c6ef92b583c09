"""How long heed takes for an epoch of one of the examples, on one thread."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def least_epoch(example: str, data: Path, epochs: int) -> float:
    """Seconds of the quickest of so many epochs, by the clock on the wall."""
    config = (ROOT / "examples" / example / "config.toml").read_text()
    config = re.sub(r'(?m)^data = ".*"', f'data = "{data}"', config).replace("../../build", str(ROOT / "build"))
    config = re.sub(r"epochs = .*", f"epochs = {epochs}", re.sub(r"patience = .*", "patience = 0", config))
    with tempfile.TemporaryDirectory() as scratch:
        path, run = Path(scratch) / "config.toml", Path(scratch) / "run"
        path.write_text(config)
        command = [ROOT / "build/heed", "train", path, "--out", run, "--threads", "1", "--quiet"]
        subprocess.run(command, check=True, stdout=sys.stderr)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return min(line["seconds"] for line in lines if "epoch" in line)
