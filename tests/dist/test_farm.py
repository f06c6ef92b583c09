"""mpirun heed ablate: one queue, many ranks, and none that is missed when it ends."""

import json
import time

import pytest

from tests.cli.test_ablate import CONFIG, OVER, table_of, without_costs
from tests.conftest import HEED
from tests.dist.ranks import kill, mpirun, needs_mpirun, process_of_rank, start

pytestmark = needs_mpirun


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("farm") / "config.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def alone(heed, config, tmp_path_factory):
    """The grid by one process."""
    out = tmp_path_factory.mktemp("alone") / "out"
    done = heed("ablate", config, *OVER, "--seeds", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def weights(out):
    return {path.parent.name: path.read_bytes() for path in out.glob("runs/*/weights.safetensors")}


def test_equals_one_process(config, alone, tmp_path):
    done = mpirun(3, HEED, "ablate", config, *OVER, "--seeds", 1, "--jobs", 1, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "8 cells: 0 done before, 8 to run, 1 at a time at each of 3 ranks" in done.stderr
    assert without_costs(table_of(tmp_path / "out")) == without_costs(table_of(alone))
    assert weights(tmp_path / "out") == weights(alone)
    assert (tmp_path / "out" / "report.html").exists()


def test_another_rank_takes_the_cells_of_a_killed_one(config, alone, tmp_path):
    out = tmp_path / "out"
    farm = start(
        3, HEED, "ablate", config, *OVER, "--seeds", 1, "--jobs", 1, "--out", out, options=["--enable-recovery"]
    )
    victim = process_of_rank(farm.pid, 2)
    while not any((out / "results").glob("*.json")) and farm.poll() is None:
        time.sleep(0.02)
    kill(victim)
    _, errors = farm.communicate(timeout=240)
    assert farm.returncode == 0, errors
    assert "rank 2 is gone" in errors
    assert without_costs(table_of(out)) == without_costs(table_of(alone))
    assert weights(out) == weights(alone)


def test_goes_on_after_all_were_killed(config, alone, tmp_path):
    out = tmp_path / "out"
    call = [HEED, "ablate", config, *OVER, "--seeds", 1, "--jobs", 1, "--out", out]
    farm = start(2, *call)
    first = process_of_rank(farm.pid, 0)
    while not any((out / "results").glob("*.json")) and farm.poll() is None:
        time.sleep(0.02)
    kill(first)
    farm.communicate(timeout=60)
    assert farm.returncode != 0
    done = mpirun(2, *call)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split(" cells: ")[1].split(" done before")[0]) >= 1
    assert without_costs(table_of(out)) == without_costs(table_of(alone))


def test_plan_lets_the_others_go(config, tmp_path):
    done = mpirun(3, HEED, "ablate", config, *OVER, "--seeds", 1, "--plan", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 8
