"""kill -9 at random moments, a few of each command; tools/kill_tests takes a hundred."""

import pytest

from tests.faults.kills import CASES, kill_many

SEED = 9


@pytest.mark.parametrize("case, moments", [("training", 6), ("ablation", 3), ("explanation", 3)])
def test_killed_at_random_moments_nothing_is_lost(tmp_path, case, moments):
    print(f"seed {SEED}")
    assert case in CASES
    killed, _ = kill_many(case, tmp_path, moments, SEED)
    assert killed == moments
