"""heed.metrics on lists: each against a tool we did not write, and against the command on the same data."""

import json
import math
import random

import numpy as np
import pytest
import torch

from heed import metrics

HYPS = ["the cat sat on the mat", "there is a dog", "", "a quick brown fox jumps over it"]
REFS = ["the cat is on the mat", "there was a dog here", "nothing", "the quick brown fox jumps over the dog"]
MORE = ["a cat sat on a mat", "there is a dog", "nothing at all", "a fast brown fox jumps over it"]


def labels(count=200, classes="abc", seed=1):
    rng = random.Random(seed)
    gold = [rng.choice(classes) for _ in range(count)]
    return [label if rng.random() < 0.6 else rng.choice(classes) for label in gold], gold


def weights(seed=2, count=50):
    rng = np.random.default_rng(seed)
    rows = [rng.random(rng.integers(3, 12)) for _ in range(count)]
    return rows, [np.where(rng.random(len(row)) < 0.5, 0, rng.random(len(row))) for row in rows]


def test_every_metric_of_the_command_is_there(heed):
    names = {line.split()[0] for line in heed("metrics", "--list").stdout.splitlines() if line[0] != " "}
    assert names == {name.replace("_", "-") for name in metrics.__all__ if name not in ("compare", "holm")}


@pytest.mark.parametrize("refs", [[REFS], [REFS, MORE]])
def test_bleu_is_sacrebleu(refs):
    sacrebleu = pytest.importorskip("sacrebleu")
    for ours, theirs in [
        ({}, {}),
        (
            {"lowercase": True, "smooth": "floor", "smooth_value": 0.2},
            {"lowercase": True, "smooth_method": "floor", "smooth_value": 0.2},
        ),
        ({"tokeniser": "none", "max_order": 2}, {"tokenize": "none", "max_ngram_order": 2}),
    ]:
        expected = sacrebleu.BLEU(**theirs).corpus_score(HYPS, refs).score
        assert metrics.bleu(HYPS, refs, **ours)["value"] == pytest.approx(expected, abs=1e-9)
    assert metrics.bleu(HYPS, REFS) == metrics.bleu(HYPS, [REFS])


def test_meteor_is_nltk():
    score = pytest.importorskip("nltk.translate.meteor_score")
    porter = pytest.importorskip("nltk.stem.porter")

    class NoWordNet:
        @staticmethod
        def synsets(_word):
            return []

    stemmer = porter.PorterStemmer(mode="ORIGINAL_ALGORITHM")
    expected = [
        100 * score.meteor_score([ref.split()], hyp.split(), stemmer=stemmer, wordnet=NoWordNet)
        for hyp, ref in zip(HYPS, REFS)
    ]
    found = metrics.meteor(HYPS, REFS, variant="nltk", synonyms=False, segments=True)
    assert found["segments"] == pytest.approx(expected, abs=1e-9)
    assert found["value"] == pytest.approx(sum(expected) / len(expected), abs=1e-9)


def test_error_rates_are_jiwers():
    jiwer = pytest.importorskip("jiwer")
    assert metrics.wer(HYPS, REFS)["value"] == pytest.approx(jiwer.wer(REFS, HYPS), abs=1e-12)
    assert metrics.per(["a b k"], ["a p k"])["value"] == pytest.approx(1 / 3)
    assert metrics.per(["k b a"], ["a b k"], mode="pi")["value"] == 0 < metrics.per(["k b a"], ["a b k"])["value"]


def test_perplexity_is_over_tokens():
    rows = [[-0.5, -1.5], [], [-0.25]]
    assert metrics.perplexity(rows)["value"] == pytest.approx(math.exp(2.25 / 3), abs=1e-12)
    assert metrics.perplexity([[-math.inf]])["value"] == math.inf
    with pytest.raises(ValueError, match="NaN"):
        metrics.perplexity([[math.nan]])


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_labels_are_scikit_learns(average):
    sklearn = pytest.importorskip("sklearn.metrics")
    pred, gold = labels()
    expected = sklearn.precision_recall_fscore_support(gold, pred, average=average)[:3]
    found = [
        measure(pred, gold, average=average)["value"] for measure in (metrics.precision, metrics.recall, metrics.f1)
    ]
    assert found == pytest.approx(expected, abs=1e-12)
    assert metrics.accuracy(pred, gold)["value"] == pytest.approx(sklearn.accuracy_score(gold, pred), abs=1e-12)
    numbers = [[ord(label) for label in side] for side in (pred, gold)]
    assert metrics.f1(*numbers, average="binary", positive=97)["value"] == pytest.approx(
        sklearn.f1_score([g == "a" for g in gold], [p == "a" for p in pred]), abs=1e-12
    )


def test_alignments_count_links():
    found = metrics.aer([[(0, 0), (1, 2)], "1-1"], ["0-0 1?2", [(0, 1)]])
    # |A| = 3, |S| = 2, in sure 1, in possible 2.
    assert found["value"] == pytest.approx(1 - (1 + 2) / (3 + 2)) and found["details"]["recall"] == 0.5
    with pytest.raises(ValueError, match="is no link"):
        metrics.aer(["0:1"], ["0-1"])


def test_rationales_are_scikit_learns_and_scipys():
    sklearn, stats = pytest.importorskip("sklearn.metrics"), pytest.importorskip("scipy.stats")
    pred, gold = weights()
    marks = [row > 0 for row in gold]
    expected = []
    for row, mark in zip(pred, marks):
        if mark.any():
            precision, recall, _ = sklearn.precision_recall_curve(mark, row)
            expected.append(sklearn.auc(recall, precision))
    assert metrics.auprc(pred, marks)["value"] == pytest.approx(np.mean(expected), abs=1e-9)
    kept = [(p, g) for p, g in zip(pred, gold) if g.any()]
    details = metrics.correctness(pred, gold)["details"]
    varied = [(p, g) for p, g in kept if len(set(g)) > 1]
    assert details["tau"] == pytest.approx(np.mean([stats.kendalltau(p, g).statistic for p, g in varied]), abs=1e-9)
    assert details["rho"] == pytest.approx(np.mean([stats.spearmanr(p, g).statistic for p, g in varied]), abs=1e-9)
    assert details["kl"] == pytest.approx(np.mean([stats.entropy(g, p) for p, g in kept]), abs=1e-6)
    guess = [row > 0.5 for row in pred]
    scores = [sklearn.f1_score(m, g, zero_division=0) for m, g in zip(marks, guess) if m.any() or g.any()]
    assert metrics.token_f1(guess, marks)["value"] == pytest.approx(np.mean(scores), abs=1e-9)
    assert metrics.iou_f1([[1, 1, 0]], [[1, 1, 1]])["value"] == 1
    assert metrics.iou_f1([[1, 1, 0]], [[1, 1, 1]], threshold=0.7)["value"] == 0


def test_rankings_are_scikit_learns():
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    gains, scores = rng.integers(0, 4, (20, 8)), rng.random((20, 8))
    ranked = [[str(i) for i in np.argsort(-row)] for row in scores]
    relevant = [{str(i): float(gain) for i, gain in enumerate(row)} for row in gains]
    for k in (3, 8):
        expected = sklearn.ndcg_score(gains, scores, k=k)
        assert metrics.ndcg(ranked, relevant, k=k)["value"] == pytest.approx(expected, abs=1e-9)
    assert metrics.hr([[3, 1, 2], ["x"]], [[2], [3]], k=2)["value"] == 0
    assert metrics.hr([[3, 1, 2], ["x"]], [[2], [3]], k=3)["value"] == 0.5


def test_pictures_are_scikit_images():
    skimage = pytest.importorskip("skimage.metrics")
    rng = np.random.default_rng(6)
    a = rng.integers(0, 256, (24, 20, 3), dtype=np.uint8)
    b = np.clip(a + rng.integers(-30, 30, a.shape), 0, 255).astype(np.uint8)
    assert metrics.psnr([a], [b])["value"] == pytest.approx(skimage.peak_signal_noise_ratio(a, b), abs=1e-6)
    expected = skimage.structural_similarity(a, b, channel_axis=2)
    assert metrics.ssim([torch.as_tensor(a)], [b])["value"] == pytest.approx(expected, abs=1e-6)
    masks = [(255 * (rng.random((9, 7)) < 0.5)).astype(np.uint8) for _ in range(2)]
    inside = [mask > 127 for mask in masks]
    assert metrics.iou(masks[:1], masks[1:])["value"] == (inside[0] & inside[1]).sum() / (inside[0] | inside[1]).sum()
    with pytest.raises(ValueError, match="0 to 255"):
        metrics.psnr([a / 255.0], [b])


def test_the_command_says_the_same(heed, tmp_path):
    for name, lines in (("hyp", HYPS), ("ref", REFS)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    done = heed("metrics", "bleu", "--hyp", tmp_path / "hyp", "--ref", tmp_path / "ref", "--bootstrap", 100, "--json")
    assert json.loads(done.stdout) == metrics.bleu(HYPS, REFS, bootstrap=100)


def test_mistakes_say_what_is_wrong():
    for call, reason in [
        (lambda: metrics.bleu(HYPS, REFS[:2]), "4"),
        (lambda: metrics.bleu(HYPS, REFS, tokeniser="13b"), "13a"),
        (lambda: metrics.f1(["a"], ["a"], average="binary"), "positive"),
        (lambda: metrics.token_f1([[2]], [[1]]), "marks are 0 and 1"),
        (lambda: metrics.correctness([[-1.0]], [[1.0]]), "weight -1"),
        (lambda: metrics.ssim([[[0]]], [[[0]]], variant="round"), "unknown variant 'round'"),
    ]:
        with pytest.raises(ValueError, match=reason):
            call()
    with pytest.raises(TypeError, match="unexpected argument 'boot'"):
        metrics.wer(HYPS, REFS, boot=1)
