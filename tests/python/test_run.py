"""heed.load and heed.explain: the same numbers as the commands give."""

import json

import pytest
import torch

import heed as package

TEXTS = ["the food was not good", "a lovely room and friendly staff"]


@pytest.fixture(scope="module")
def run(tiny_run):
    return package.load(tiny_run)


def test_it_knows_what_it_is(run):
    assert run.kind == "classify" and run.fields == ["text"]
    assert run.labels == ["negative", "positive"]
    assert run.config["feature"]["dim"] == 16
    assert run.parameters > 0


def test_predictions_are_those_of_the_command(heed, run, tiny_run):
    for text in TEXTS:
        line = json.loads(heed("predict", tiny_run, text, "--json", "--threads", 1).stdout)
        ours = run.predict(text)
        assert ours.label == line["prediction"]["label"]
        assert list(ours.probabilities.values()) == pytest.approx(line["prediction"]["probabilities"], abs=1e-6)
        (weights,) = ours.weights.values()
        assert weights.flatten().tolist() == pytest.approx(line["maps"][0]["data"], abs=1e-6)
    assert [each.label for each in run.predict(TEXTS)] == [run.predict(text).label for text in TEXTS]


def test_its_own_weights_give_the_same_answer_and_others_another(run):
    before = run.predict(TEXTS[0])
    same = run.predict(TEXTS[0], replace=before.weights)
    # The weights go through another sum than the kernel's: equal but for rounding.
    assert same.probabilities == pytest.approx(before.probabilities, abs=1e-6)
    words = before.weights["attention"].shape[-1]
    moved = run.predict(TEXTS[0], replace={"attention": torch.eye(words)[[words - 1]].reshape(1, 1, words)})
    assert moved.weights["attention"].flatten().tolist() == [0] * (words - 1) + [1]
    assert moved.probabilities != before.probabilities


def test_importances_are_those_of_the_command(heed, run, tiny_run, tmp_path):
    (tmp_path / "texts.tsv").write_text("text\tlabel\n" + "".join(f"{text}\tpositive\n" for text in TEXTS))
    methods = ["attention", "gradient", "leave-one-out"]
    command = heed(
        "explain", tiny_run, "--data", tmp_path / "texts.tsv", "--methods", ",".join(methods), "--json", "--threads", 1
    )
    assert command.returncode == 0, command.stderr
    ours = package.explain.importances(run, TEXTS, methods=methods)
    for line, found in zip(map(json.loads, command.stdout.splitlines()), ours, strict=True):
        assert found.tokens == line["tokens"]
        for method in methods:
            assert found.by[method].tolist() == pytest.approx(line["importances"][method], abs=1e-6)


def test_attention_importance_is_the_weights(run):
    (weights,) = run.predict(TEXTS[0]).weights.values()
    found = package.explain.importances(run, TEXTS[0])
    torch.testing.assert_close(found.by["attention"].float(), weights.flatten(), atol=1e-6, rtol=0)
    assert set(package.explain.methods()) >= {"attention", "gradient", "integrated-gradients", "leave-one-out"}


def test_audit(run):
    audit = package.explain.audit(run, retrain=False, examples=10, permutations=5)
    assert audit["verdict"] and audit["tests"]["permutation"]["overall"]["count"] == 10


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda run: package.load("no/such/run"), "no/such/run"),
        (lambda run: run.predict(""), "text"),
        (lambda run: run.predict({"wrong": "x"}), "wrong"),
        (lambda run: run.predict("x", replace={"atention": torch.ones(1, 1, 1)}), "atention"),
        (lambda run: package.explain.importances(run, "x", methods=["gradiant"]), "gradient"),
        (lambda run: run.predict([]), "nothing"),
    ],
)
def test_mistakes_are_told(run, call, what):
    with pytest.raises(ValueError, match=what):
        call(run)


def test_an_unknown_option_is_told(run):
    with pytest.raises(TypeError, match="exampels"):
        package.explain.audit(run, exampels=3)
