"""The tests of groups of processes, by two and four of them; ctest runs them alone."""

import pytest

from tests.conftest import ROOT
from tests.dist.ranks import mpirun, needs_mpirun


@needs_mpirun
@pytest.mark.parametrize("program", ["test_dist", "test_share"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_groups(ranks, program):
    done = mpirun(ranks, ROOT / "build/tests/dist" / program, "--gtest_brief=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("[  PASSED  ]") == ranks
