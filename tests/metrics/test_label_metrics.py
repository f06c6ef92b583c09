"""Accuracy, precision, recall and F1 against scikit-learn."""

import random

import pytest
from metrics_oracle import assert_all_near

metrics = pytest.importorskip("sklearn.metrics")


def with_every_label(rng, labels, size):
    """Predicted and gold labels, correlated; every label stands in both files at least once."""
    gold = labels + rng.choices(labels, k=size)
    guesses = [g if rng.random() < 0.5 else rng.choice(labels) for g in gold[len(labels) :]]
    predicted = rng.sample(labels, len(labels)) + guesses
    order = rng.sample(range(len(gold)), len(gold))
    return [predicted[i] for i in order], [gold[i] for i in order]


def test_each_of_a_thousand_classes(measure, write):
    rng = random.Random(1)
    labels = [f"c{i}" for i in range(1000)]
    predicted, gold = with_every_label(rng, labels, 9000)
    report = measure("f1", "--pred", write("pred", predicted), "--gold", write("gold", gold))
    expected = metrics.precision_recall_fscore_support(gold, predicted, labels=labels, zero_division=0)
    for name, values in zip(["precision", "recall", "f1", "support"], expected):
        assert_all_near([report["details"][f"{name}[{label}]"] for label in labels], list(values), 1e-9)
    assert abs(report["value"] - metrics.f1_score(gold, predicted, average="macro")) <= 1e-9


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", "binary"])
def test_averages_on_odd_labels(measure, write, average):
    odd = ["0", "1", "-1", "pos", "Pos", "neg ative", "ü", "a|b", '"', "x,y", "日本", "'", "\\n"]
    for seed in range(4):
        rng = random.Random(seed)
        labels = rng.sample(odd, rng.randrange(2, 7) if average != "binary" else 2)
        predicted, gold = with_every_label(rng, labels, rng.randrange(0, 40))
        files = ["--pred", write("pred", predicted), "--gold", write("gold", gold)]
        options = ["--average", average] + (["--positive", labels[0]] if average == "binary" else [])
        report = measure("f1", *files, *options)
        choice = {"pos_label": labels[0]} if average == "binary" else {}
        expected = [
            function(gold, predicted, average=average, zero_division=0, **choice)
            for function in (metrics.precision_score, metrics.recall_score, metrics.f1_score)
        ] + [metrics.accuracy_score(gold, predicted)]
        got = [report["details"][key] for key in ("precision", "recall", "f1", "accuracy")]
        assert_all_near(got, expected, 1e-9)
        assert report["value"] == report["details"]["f1"]


def test_classes_that_are_never_predicted_or_never_gold(measure, write):
    rng = random.Random(7)
    labels = [f"c{i}" for i in range(40)]
    gold = rng.choices(labels[:30], k=60)
    predicted = [g if g in labels[10:30] and rng.random() < 0.5 else rng.choice(labels[10:]) for g in gold]
    files = ["--pred", write("pred", predicted), "--gold", write("gold", gold)]
    oracles = {"precision": metrics.precision_score, "recall": metrics.recall_score, "f1": metrics.f1_score}
    for name, function in oracles.items():
        report = measure(name, *files, "--labels", ",".join(labels))
        expected = function(gold, predicted, labels=labels, average="macro", zero_division=0)
        assert abs(report["value"] - expected) <= 1e-9


def test_names_of_the_four_metrics(measure, write):
    predicted, gold = with_every_label(random.Random(3), ["a", "b", "c"], 30)
    files = ["--pred", write("pred", predicted), "--gold", write("gold", gold)]
    expected = {
        "accuracy": metrics.accuracy_score(gold, predicted),
        "precision": metrics.precision_score(gold, predicted, average="macro"),
        "recall": metrics.recall_score(gold, predicted, average="macro"),
        "f1": metrics.f1_score(gold, predicted, average="macro"),
    }
    for name, value in expected.items():
        report = measure(name, *files)
        assert report["name"] == name
        assert report["signature"].startswith(f"{name}|")
        assert abs(report["value"] - value) <= 1e-9


def test_interval_and_comparison(measure, write):
    rng = random.Random(8)
    predicted, gold = with_every_label(rng, ["a", "b"], 400)
    files = ["--pred", write("pred", predicted), "--gold", write("gold", gold)]
    report = measure("accuracy", *files, "--bootstrap", "500", "--seed", "3")
    share, deviation = report["value"], (report["value"] * (1 - report["value"]) / len(gold)) ** 0.5
    assert report["details"]["ci_low"] < share < report["details"]["ci_high"]
    width = report["details"]["ci_high"] - report["details"]["ci_low"]
    assert abs(width - 3.92 * deviation) < 0.25 * 3.92 * deviation
    assert measure("accuracy", *files, "--bootstrap", "500", "--seed", "3") == report
    better = measure("accuracy", "--pred", write("best", gold), "--gold", files[3], "--other", files[1])
    assert better["details"]["p_value"] < 0.01
    assert better["details"]["difference"] == 1 - share
