"""heed bench: rows with the promised keys, results checked, and which kernel serves what."""

import json


def test_rows_have_the_promised_keys(heed):
    done = heed("bench", "--only", "scaled-dot × t", "--seconds", "0", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["case"] for row in rows] == ["scaled-dot × top-k 2×4×512×64"]
    for row in rows:
        assert list(row) == ["case", "heed_ms", "peer", "peer_ms", "ratio", "peak_share"]
        assert row["heed_ms"] > 0 and row["ratio"] > 0


def test_explain_names_a_kernel_for_every_part(heed):
    lines = heed("bench", "--explain", "--only", "scaled-dot").stdout.splitlines()
    assert any("sparsemax" in line for line in lines)
    assert all("fused: " in line for line in lines)


def test_an_unknown_case_is_an_error(heed):
    done = heed("bench", "--only", "nothing like this", "--explain")
    assert done.returncode == 2 and "no case has" in done.stderr
