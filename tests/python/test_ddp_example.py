"""examples/ddp: what its README says runs."""

import os
import subprocess
import sys

from tests.conftest import ROOT


def test_two_processes_learn_it():
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        + [str(ROOT / "examples" / "ddp" / "train.py")],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.endswith("2 processes"), done.stdout
    assert float(last.split()[1]) > 0.9, done.stdout
