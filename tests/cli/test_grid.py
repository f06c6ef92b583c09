"""tools/grid: one table of score × alignment × dimensionality, legal or not by the registry's word."""

import subprocess
import sys

from tests.conftest import HEED, ROOT


def test_legal_pairs_train_and_others_are_refused_with_a_reason(tmp_path):
    command = [sys.executable, ROOT / "tools" / "grid", "--heed", HEED, "--data", "builtin:reviews?size=60"]
    command += ["--score", "additive", "location", "--align", "soft", "hard", "--out", tmp_path / "grid.md"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "8 combinations: 5 trained, 3 refused, 0 failed"
    table = (tmp_path / "grid.md").read_text()
    assert table.count("| yes |") == 5 and "| additive | soft | multi |" in table
    assert "Refused (3): dimensionality 'multi' goes with score 'additive' and align 'soft'" in table


def test_a_failed_training_is_not_a_refusal(tmp_path):
    fake = tmp_path / "heed"
    fake.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = list ]; then exec {HEED} "$@"; fi\n'
        'mkdir -p "$4"; touch "$4/config.toml"; echo "heed: training diverged" >&2; exit 2\n'
    )
    fake.chmod(0o755)
    command = [sys.executable, ROOT / "tools" / "grid", "--heed", fake, "--score", "dot", "--align", "soft"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "failed: heed: training diverged" in done.stdout
