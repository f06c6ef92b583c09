"""Token F1, AUPRC, correctness and the ranking metrics against scikit-learn and SciPy."""

import math
import random

import pytest
from metrics_oracle import assert_all_near

metrics = pytest.importorskip("sklearn.metrics")
stats = pytest.importorskip("scipy.stats")


def documents(seed, count=1500, levels=None):
    """Weights (with many ties if `levels` is small) and marks; some documents have no mark."""
    rng = random.Random(seed)
    weights, marks = [], []
    for _ in range(count):
        length = rng.randrange(1, 25)
        step = levels or rng.choice([2, 3, 1000])
        weights.append([rng.randrange(step) / step for _ in range(length)])
        rate = rng.choice([0, 0.2, 0.5, 1])
        marks.append([int(rng.random() < rate) for _ in range(length)])
    return weights, marks


def lines(rows, separator=" "):
    return [separator.join(map(str, row)) for row in rows]


def test_auprc_equals_scikit_learn(measure, write):
    weights, marks = documents(1, 700)
    files = ["--pred", write("pred", lines(weights)), "--gold", write("gold", lines(marks, ""))]
    report = measure("auprc", *files, "--segments")
    expected, precisions, rocs = [], [], []
    for row, gold in zip(weights, marks):
        if not any(gold):
            expected.append(0.0)
            continue
        precision, recall, _ = metrics.precision_recall_curve(gold, row)
        expected.append(metrics.auc(recall, precision))
        if not all(gold):
            precisions.append(metrics.average_precision_score(gold, row))
            rocs.append(metrics.roc_auc_score(gold, row))
    assert_all_near(report["segments"], expected, 1e-9)
    counted = [value for value, gold in zip(expected, marks) if any(gold)]
    assert abs(report["value"] - sum(counted) / len(counted)) <= 1e-9
    assert report["details"]["skipped"] == len(marks) - len(counted) > 0
    assert abs(report["details"]["average_precision"] - sum(precisions) / len(precisions)) <= 1e-9
    assert abs(report["details"]["roc_auc"] - sum(rocs) / len(rocs)) <= 1e-9


def test_token_f1_equals_scikit_learn(measure, write):
    _, predicted = documents(2, 400)
    rng = random.Random(3)
    gold = [[int(rng.random() < 0.3) for _ in row] for row in predicted]
    files = ["--pred", write("pred", lines(predicted, "")), "--gold", write("gold", lines(gold))]
    report = measure("token-f1", *files, "--segments")
    expected = [metrics.f1_score(g, p, zero_division=0) for g, p in zip(gold, predicted)]
    assert_all_near(report["segments"], expected, 1e-9)
    marked = [i for i in range(len(gold)) if any(gold[i]) or any(predicted[i])]
    assert abs(report["value"] - sum(expected[i] for i in marked) / len(marked)) <= 1e-9


def spans(marks):
    found, start = [], None
    for i, mark in enumerate(list(marks) + [0]):
        if mark and start is None:
            start = i
        if not mark and start is not None:
            found.append(set(range(start, i)))
            start = None
    return found


def test_iou_f1_equals_sets_of_tokens(measure, write):
    _, predicted = documents(4)
    rng = random.Random(5)
    gold = [[mark if rng.random() < 0.8 else 1 - mark for mark in row] for row in predicted]
    for threshold in (0.5, 0.25):
        report = measure(
            "iou-f1",
            "--pred",
            write("pred", lines(predicted)),
            "--gold",
            write("gold", lines(gold)),
            "--threshold",
            str(threshold),
        )
        precisions, recalls = [], []
        for p, g in zip(map(spans, predicted), map(spans, gold)):
            found = sum(any(len(a & b) / len(a | b) >= threshold for b in g) for a in p)
            precisions += [found / len(p)] if p else []
            recalls += [found / len(g)] if g else []
        precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
        assert abs(report["value"] - 2 * precision * recall / (precision + recall)) <= 1e-9


def test_correctness_and_agreement_with_human_weights(measure, write):
    weights, _ = documents(6)
    human, _ = documents(7)
    human = [(h * 25)[: len(w)] for h, w in zip(human, weights)]
    report = measure("correctness", "--pred", write("pred", lines(weights)), "--gold", write("gold", lines(human)))
    shares, divergences, taus, rhos = [], [], [], []
    for w, h in zip(weights, human):
        if not any(h):
            continue
        total = sum(w)
        shares.append(sum(x for x, y in zip(w, h) if y > 0) / total if total else 0)
        floor = [(x / total if total else 0) + 1e-12 for x in w]
        divergences.append(stats.entropy(h, floor))
        if len(set(w)) > 1 and len(set(h)) > 1:
            taus.append(stats.kendalltau(w, h).statistic)
            rhos.append(stats.spearmanr(w, h).statistic)
    assert abs(report["value"] - sum(shares) / len(shares)) <= 1e-9
    details = report["details"]
    assert abs(details["kl"] - sum(divergences) / len(divergences)) <= 1e-9
    assert details["ranked"] == len(taus) > 500
    assert abs(details["tau"] - sum(taus) / len(taus)) <= 1e-9
    assert abs(details["rho"] - sum(rhos) / len(rhos)) <= 1e-9


@pytest.mark.parametrize("k", [1, 5, 20])
def test_ndcg_equals_scikit_learn(measure, write, k):
    rng = random.Random(k)
    shown, gold, expected, hits = [], [], [], []
    for _ in range(800):
        items = [f"i{n}" for n in range(rng.randrange(2, 15))]
        gains = {item: rng.choice([0, 0, 1, 2, 5]) for item in items}
        if not any(gains.values()):
            gains[items[0]] = 1
        ranking = rng.sample(items, len(items))
        shown.append(ranking)
        gold.append([f"{item}:{gain}" for item, gain in gains.items()])
        truth = [[gains[item] for item in ranking]]
        expected.append(metrics.ndcg_score(truth, [list(range(len(ranking), 0, -1))], k=k))
        hits.append(float(any(truth[0][:k])))
    files = [
        "--pred",
        write("pred", lines(shown)),
        "--gold",
        write("gold", lines(gold)),
        "--mode",
        "graded",
        "--segments",
    ]
    report = measure("ndcg", *files, "--k", str(k))
    assert_all_near(report["segments"], expected, 1e-9)
    assert_all_near(measure(f"hr@{k}", *files)["segments"], hits, 1e-9)
    assert math.isclose(report["details"]["hit_rate"], sum(hits) / len(hits), abs_tol=1e-12)
