"""`heed explain --audit`: the tests of the debate, held against scipy and what must be true of them."""

import json
import os
import signal
import statistics
import subprocess
import time

import pytest
from scipy import stats

from tests.conftest import HEED

QUICK = ["--audit", "--no-retrain", "--permutations", 20, "--json", "--threads", 1]


def audit(heed, run, *arguments, examples=40):
    done = heed("explain", run, *arguments, "--examples", examples, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def words_run(train_reviews):
    """Enough of them that attention learns which words decide."""
    return train_reviews(size=1500)


@pytest.fixture(scope="module")
def audited(heed, words_run):
    return audit(heed, words_run, *QUICK)


def test_agreement_is_scipys_tau_without_the_first_and_last_word(heed, words_run, audited):
    done = heed(
        "explain",
        words_run,
        "--methods",
        "attention,gradient,leave-one-out",
        "--examples",
        40,
        "--json",
        "--threads",
        1,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for pair in ("attention-gradient", "attention-leave-one-out", "gradient-leave-one-out"):
        a = "gradient" if pair.startswith("gradient") else "attention"
        b = pair.removeprefix(a + "-")
        expected = [stats.kendalltau(i[a][1:-1], i[b][1:-1]) for i in (line["importances"] for line in lines)]
        found = audited["tests"]["agreement"][pair]
        assert found["overall"]["mean"] == pytest.approx(statistics.mean(e.statistic for e in expected), abs=1e-6)
        assert found["overall"]["sd"] == pytest.approx(statistics.stdev(e.statistic for e in expected), abs=1e-6)
        assert found["significant"] == pytest.approx(
            statistics.mean(float(e.pvalue <= 0.05) for e in expected), abs=1e-9
        )
        counts = [s["count"] for s in found["by_class"].values()]
        assert sum(counts) == found["overall"]["count"] == 40


def test_uniform_weights_cannot_be_shuffled(heed, train_reviews, audited):
    uniform = audit(heed, train_reviews('mechanism = "mean-pool"'), *QUICK)["tests"]
    assert uniform["permutation"]["overall"]["mean"] == pytest.approx(0, abs=1e-6)
    assert audited["tests"]["permutation"]["overall"]["mean"] > 0.01
    # Where the output may be anything, the farthest weights are found; uniform ones are never at the edge.
    free = audit(heed, train_reviews('mechanism = "mean-pool"'), *QUICK, "--epsilon", 1)["tests"]["adversarial"]
    assert free["overall"]["mean"] > 0.4
    tight = uniform["adversarial"]["overall"]["mean"]
    assert 0 <= tight < free["overall"]["mean"] < 0.6932


def test_the_words_that_decide_are_found_by_their_removal(audited):
    methods = audited["tests"]["faithfulness"]["methods"]
    for method in ("attention", "gradient", "integrated-gradients"):
        assert methods[method]["comprehensiveness"]["mean"] > methods["random"]["comprehensiveness"]["mean"]
        assert methods[method]["sufficiency"]["mean"] < methods["random"]["sufficiency"]["mean"]
    rationales = audited["tests"]["rationales"]["methods"]
    assert rationales["attention"]["auprc"] > rationales["random"]["auprc"]
    assert 0 < rationales["attention"]["chance"] < 1


def test_an_audit_says_in_words_what_it_allows(heed, words_run, audited):
    assert any("Kendall" in line for line in audited["verdict"])
    done = heed("explain", words_run, "--examples", 40, *[a for a in QUICK if a != "--json"])
    assert "What this allows one to say" in done.stdout
    assert all(line in done.stdout for line in audited["verdict"])


def test_models_are_retrained_and_a_killed_audit_goes_on(heed, train_reviews):
    run = train_reviews()
    arguments = ["--audit", "--permutations", 5, "--seeds", 1, "--lambda", 0, "--lambda", 1]
    child = subprocess.Popen([HEED, "explain", run, "--examples", "40", *map(str, arguments)], start_new_session=True)
    folder = run / "audit"
    while child.poll() is None and len(list(folder.glob("*.json"))) < 3:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert kept, "nothing was finished before the kill"
    tests = audit(heed, run, *arguments, "--json")["tests"]
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items() if path.name != "audit.json")
    assert {"uniform", "seed+1", "mlp-own", "mlp-uniform", "mlp-given", "adversary-0", "adversary-1"} <= set(tests)
    # Without a reward for other weights the adversary only imitates; with one it pays in likeness.
    imitates, differs = tests["adversary-0"], tests["adversary-1"]
    assert imitates["output_change"]["mean"] < 0.1
    assert differs["weights_distance"]["mean"] > imitates["weights_distance"]["mean"] + 0.05
    assert tests["seed+1"]["weights_distance"]["mean"] > 0
    for test in ("uniform", "mlp-own", "mlp-uniform", "mlp-given"):
        assert 0.4 < tests[test]["test"]["accuracy"] <= 1


def test_other_options_do_not_take_what_was_measured_with_these(heed, words_run, audited):
    fewer = audit(heed, words_run, *QUICK, examples=10)
    assert fewer["tests"]["permutation"]["overall"]["count"] == 10
    assert audited["tests"]["permutation"]["overall"]["count"] == 40
