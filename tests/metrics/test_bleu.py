"""BLEU against sacreBLEU: every line alone and the corpus, for every smoothing and tokeniser."""

import random

import pytest
from metrics_oracle import assert_all_near, noisy, odd_line

sacrebleu = pytest.importorskip("sacrebleu")

CASES = [
    ({}, []),
    ({"effective_order": True}, ["--effective-order"]),
    ({"smooth_method": "none"}, ["--smooth", "none"]),
    ({"smooth_method": "floor"}, ["--smooth", "floor"]),
    (
        {"smooth_method": "floor", "smooth_value": 0.01, "effective_order": True},
        ["--smooth", "floor", "--smooth-value", "0.01", "--effective-order"],
    ),
    ({"smooth_method": "add-k"}, ["--smooth", "add-k"]),
    ({"smooth_method": "add-k", "smooth_value": 0.5}, ["--smooth", "add-k", "--smooth-value", "0.5"]),
    ({"lowercase": True}, ["--lowercase"]),
    ({"tokenize": "none"}, ["--tokeniser", "none"]),
    ({"tokenize": "char", "effective_order": True}, ["--tokeniser", "char", "--effective-order"]),
    ({"max_ngram_order": 2}, ["--max-order", "2"]),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_equals_sacrebleu_on_odd_lines(measure, write, number):
    options, flags = CASES[number]
    rng = random.Random(number)
    references = 1 + number % 3
    first = [odd_line(rng) for _ in range(600)]
    hypotheses = [noisy(rng, line) if rng.random() < 0.9 else odd_line(rng) for line in first]
    streams = [first] + [[noisy(rng, line) for line in first] for _ in range(references - 1)]
    files = [flag for r, lines in enumerate(streams) for flag in ("--ref", write(f"ref{r}", lines))]
    report = measure("bleu", "--hyp", write("hyp", hypotheses), *files, *flags, "--segments")

    oracle = sacrebleu.BLEU(**options)
    whole = oracle.corpus_score(hypotheses, streams)
    assert abs(report["value"] - whole.score) <= 1e-9
    assert abs(report["details"]["bp"] - whole.bp) <= 1e-12
    assert report["details"]["hyp_len"] == whole.sys_len
    assert report["details"]["ref_len"] == whole.ref_len
    alone = [oracle.corpus_score([h], [[stream[i]] for stream in streams]).score for i, h in enumerate(hypotheses)]
    assert_all_near(report["segments"], alone, 1e-9)
    assert len({round(score, 3) for score in alone}) > 50  # not all 0 or 100


def test_tokens_equal_sacrebleu_on_random_characters(measure, write):
    """Unigram BLEU of a line against sacreBLEU's own tokens of it is 100 only when all tokens agree."""
    rng = random.Random(99)
    alphabet = "ab01.,-/&;'\"()[]{}<>!?:%$é日\u00a0\t  "
    lines = ["".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 30))) for _ in range(4000)]
    tokenise = sacrebleu.BLEU().tokenizer
    tokens = [tokenise(line.rstrip()) for line in lines]
    kept = [i for i, line in enumerate(tokens) if line]
    same = write("same", [lines[i] for i in kept])
    raw = measure("bleu", "--hyp", same, "--ref", same, "--max-order", "1")
    assert raw["details"]["hyp_len"] == sum(len(tokens[i].split()) for i in kept)
    # 13a is not idempotent ("&amp;lt;"), so the comparison is only made where it is.
    stable = [i for i in kept if tokenise(tokens[i]) == tokens[i]]
    assert len(stable) > 3000
    files = ["--hyp", write("hyp", [lines[i] for i in stable]), "--ref", write("ref", [tokens[i] for i in stable])]
    report = measure("bleu", *files, "--max-order", "4", "--effective-order", "--segments")
    assert_all_near(report["segments"], [100.0] * len(stable), 1e-9)
