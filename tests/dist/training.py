"""Trainings by several ranks, and what they leave."""

import json
import subprocess

from tests.conftest import HEED
from tests.dist.ranks import ENVIRONMENT, command

FREE = ["--bind-to", "none"]


def call(ranks, *arguments):
    """What starts heed with so many ranks; one is started as without mpirun."""
    return command(ranks, HEED, *arguments, options=FREE) if ranks > 1 else [HEED, *map(str, arguments)]


def run(ranks, *arguments):
    return subprocess.run(call(ranks, *arguments), env=ENVIRONMENT, capture_output=True, text=True, timeout=120)


def train(ranks, config, out, *arguments):
    """The loss of each step."""
    log = out.parent / f"{out.name}-steps.jsonl"
    done = run(ranks, "train", config, "--out", out, "--threads", 1, "--log-steps", log, *arguments)
    assert done.returncode == 0, done.stderr
    return losses(log)


def losses(log):
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()] if log.exists() else []


def measures(out):
    """Of the test part."""
    last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
    return {name: metric["value"] for name, metric in last["metrics"].items()}
