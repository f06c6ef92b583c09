"""Several ranks of heed on this machine, and who they are."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

MPIRUN = shutil.which("mpirun")
needs_mpirun = pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed (openmpi-bin)")

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # more ranks than cores
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # containers forbid reading another process
}


def command(ranks, *arguments, options=()):
    return [MPIRUN, "--oversubscribe", *options, "-n", str(ranks), *map(str, arguments)]


def mpirun(ranks, *arguments, options=(), timeout=300):
    """Runs to the end."""
    return subprocess.run(
        command(ranks, *arguments, options=options), env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout
    )


def start(ranks, *arguments, options=()):
    return subprocess.Popen(
        command(ranks, *arguments, options=options),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def process_of_rank(launcher, rank, timeout=30):
    """The id of the process that is this rank of the mpirun with this id, once it runs."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if parent_of(folder) == launcher and f"OMPI_COMM_WORLD_RANK={rank}" in environment_of(folder):
                    return int(folder.name)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
        time.sleep(0.05)
    raise AssertionError(f"rank {rank} did not start")


def parent_of(folder):
    return int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])


def environment_of(folder):
    return (folder / "environ").read_text(errors="replace").split("\0")


def kill(process):
    os.kill(process, signal.SIGKILL)
