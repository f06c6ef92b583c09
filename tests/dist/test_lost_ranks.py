"""Ranks that die, fail or are more or fewer when a run goes on."""

import re
import subprocess
import time

import pytest

from tests.conftest import HEED
from tests.dist.ranks import ENVIRONMENT, command, kill, needs_mpirun, process_of_rank
from tests.dist.training import FREE, call, losses, run, train

pytestmark = needs_mpirun

REVIEWS = """
[task]
data = "builtin:reviews?size=400"
[feature]
model = "gru"
dim = 16
dropout = {dropout}
[train]
epochs = {epochs}
batch = 8
checkpoint_seconds = 0.05
"""


def killed_training(ranks, victim, wanted, config, out, log):
    """Kills one rank of a training after so many steps; returns what was said then, and how fast all ended."""
    arguments = call(ranks, "train", config, "--out", out, "--threads", 1, "--log-steps", log)
    job = subprocess.Popen(arguments, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while len(losses(log)) < wanted:
        assert job.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    kill(process_of_rank(job.pid, victim) if ranks > 1 else job.pid)
    killed = time.monotonic()
    _, said = job.communicate(timeout=30)
    assert job.returncode != 0
    return said, time.monotonic() - killed


def test_a_killed_rank_ends_the_job_and_resuming_gives_the_same_bits(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(REVIEWS.format(epochs=3, dropout=0.2))
    train(2, config, tmp_path / "undisturbed")
    out = tmp_path / "killed"
    said, seconds = killed_training(2, 1, 70, config, out, tmp_path / "steps.jsonl")
    assert seconds < 10
    naming = [line for line in said.splitlines() if re.search(r"rank 1\b", line)]
    assert len(naming) == 1, said
    train(2, config, out, "--resume")
    for name in ("weights.safetensors", "predictions.jsonl", "traces.jsonl"):
        assert (out / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes(), name


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_a_run_goes_on_with_other_ranks(before, after, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(REVIEWS.format(epochs=2, dropout=0))
    undisturbed = train(1, config, tmp_path / "undisturbed")
    out, log = tmp_path / "changed", tmp_path / "steps.jsonl"
    killed_training(before, 0, 30, config, out, log)
    done = run(after, "train", config, "--out", out, "--threads", 1, "--resume", "--log-steps", log)
    assert done.returncode == 0, done.stderr
    assert f"it had {before} rank" in done.stderr and "bits" in done.stderr
    rest = losses(log)
    assert 0 < len(rest) < len(undisturbed)
    assert rest == pytest.approx(undisturbed[-len(rest) :], abs=1e-5)


def heed_lines(text):
    return [line for line in text.splitlines() if line.startswith("heed: ")]


def test_an_error_of_all_ranks_is_told_once(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(REVIEWS.format(epochs=2, dropout=0).replace("gru", "gruu"))
    done = run(2, "train", config, "--out", tmp_path / "run")
    assert done.returncode == 2
    (line,) = heed_lines(done.stderr)
    assert "gruu" in line and not line.startswith("heed: rank")


def test_an_error_of_one_rank_names_it_and_ends_all(tmp_path):
    """The second host has no such data."""
    config = tmp_path / "config.toml"
    config.write_text(REVIEWS.format(epochs=2, dropout=0))
    other = tmp_path / "other.toml"
    other.write_text(config.read_text().replace("size=400", "size=399"))
    arguments = ["--out", str(tmp_path / "run"), "--threads", "1"]
    options = [*FREE, "-n", "1", HEED, "train", config, *arguments, ":"]
    for text, message in ((other, "rank 1 has another config"), (tmp_path / "none.toml", "rank 1: .*none.toml")):
        done = subprocess.run(
            list(map(str, command(1, HEED, "train", text, *arguments, options=options))),
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2
        (line,) = heed_lines(done.stderr)
        assert re.search(message, line), line
