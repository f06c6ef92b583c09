"""A short soak of the server: bench/soak.py takes a hundred times as many requests."""

import json
import subprocess
import sys

from tests.conftest import ROOT


def test_memory_stays_flat_and_no_descriptor_is_left(tiny_run):
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "soak.py", str(tiny_run), "--requests", "2000"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["as_expected"] == 2000 and figures["descriptors_most"] > figures["descriptors_before"]
