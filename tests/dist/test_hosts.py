"""Between machines: no shared memory, no shared file system, only TCP."""

import pytest

from tests.cli.test_ablate import CONFIG, table_of, without_costs
from tests.conftest import HEED, ROOT
from tests.dist.hosts import Hosts, obstacle
from tests.dist.training import losses, train

reason = obstacle()
pytestmark = pytest.mark.skipif(reason is not None, reason=reason or "")

WORDS = """
[task]
data = "words.tsv"
[feature]
model = "embedding"
dim = 16
dropout = 0
[train]
epochs = 1
batch = 10
"""
OVER = ["--over", "score=dot,additive"]


@pytest.fixture
def machines(tmp_path):
    made = []

    def make(count):
        folder = tmp_path / f"machines{count}"
        folder.mkdir()
        made.append(Hosts(count, folder, delay="1ms"))
        return made[-1]

    yield make
    for hosts in made:
        hosts.close()


@pytest.mark.parametrize("count", [2, 4])
def test_groups(machines, count):
    done = machines(count).mpirun(ROOT / "build/tests/dist/test_dist", "--gtest_brief=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("[  PASSED  ]") == count


@pytest.mark.parametrize("count", [2, 4])
def test_farm(heed, machines, tmp_path, count):
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    alone = tmp_path / "alone"
    assert heed("ablate", config, *OVER, "--seeds", 2, "--out", alone).returncode == 0
    hosts = machines(count)
    call = ["ablate", hosts.put(config), *OVER, "--seeds", 2, "--jobs", 1, "--out", hosts.private / "out"]
    done = hosts.mpirun(HEED, *call)
    assert done.returncode == 0, done.stderr
    out = hosts.fetch(0, "out", tmp_path / "out.tar")
    rows, expected = (without_costs(table_of(folder))["rows"] for folder in (out, alone))
    assert rows == expected
    assert len(list(out.glob("runs/*/weights.safetensors"))) == 8
    for machine in range(1, count):  # where the others worked nothing is left
        assert not hosts.files(machine, "out*") and not hosts.files(machine, "heed-farm*")


@pytest.mark.parametrize("count", [2, 4])
def test_training(machines, many_words, tmp_path, count):
    """The first machine alone has the run directory; the data is on all."""
    config = many_words.parent / "config.toml"
    config.write_text(WORDS)
    alone = train(1, config, tmp_path / "alone")
    hosts = machines(count)
    hosts.put(many_words)
    call = ["train", hosts.put(config), "--out", hosts.private / "run", "--log-steps", hosts.private / "steps.jsonl"]
    done = hosts.mpirun(HEED, *call)
    assert done.returncode == 0, done.stderr
    assert losses(hosts.fetch(0, "steps.jsonl", tmp_path / "steps.tar")) == pytest.approx(alone, abs=1e-5)
    assert hosts.files(0, "run/weights.safetensors")
    for machine in range(1, count):
        assert not hosts.files(machine, "run*")
    done = hosts.mpirun(HEED, *call, "--resume")
    assert done.returncode == 0 and "resumed" in done.stderr, done.stderr
