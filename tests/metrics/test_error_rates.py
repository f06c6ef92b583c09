"""WER against jiwer, PER in both meanings, perplexity, alignment error rate."""

import math
import random
from collections import Counter

import pytest
from metrics_oracle import assert_all_near, noisy, odd_line

jiwer = pytest.importorskip("jiwer")


def test_wer_equals_jiwer_on_odd_lines(measure, write):
    rng = random.Random(1)
    references = [odd_line(rng) for _ in range(5000)]
    hypotheses = [noisy(rng, line) if rng.random() < 0.8 else odd_line(rng) for line in references]
    report = measure("wer", "--hyp", write("hyp", hypotheses), "--ref", write("ref", references), "--segments")
    assert abs(report["value"] - jiwer.wer(references, hypotheses)) <= 1e-9
    alone = [jiwer.wer(r, h) for r, h in zip(references, hypotheses)]
    assert_all_near(report["segments"], alone, 1e-9)
    assert sum(1 for line in references if not line.strip()) > 20  # empty references are among them


def test_wer_equals_jiwer_on_long_lines(measure, write):
    rng = random.Random(2)
    references = [" ".join(rng.choices("abcdefgh", k=rng.randrange(100, 300))) for _ in range(40)]
    hypotheses = [" ".join(rng.choices("abcdefgh", k=rng.randrange(100, 300))) for _ in range(40)]
    report = measure("wer", "--hyp", write("hyp", hypotheses), "--ref", write("ref", references), "--segments")
    assert_all_near(report["segments"], [jiwer.wer(r, h) for r, h in zip(references, hypotheses)], 1e-9)


def test_per_has_both_meanings(measure, write):
    rng = random.Random(3)
    phonemes = ["AH0", "B", "K", "S", "T", "IY1", "N"]
    references = [" ".join(rng.choices(phonemes, k=rng.randrange(1, 12))) for _ in range(2000)]
    hypotheses = [" ".join(rng.choices(phonemes, k=rng.randrange(0, 12))) for _ in range(2000)]
    files = ["--hyp", write("hyp", hypotheses), "--ref", write("ref", references), "--segments"]
    phoneme = measure("per", *files)
    assert_all_near(phoneme["segments"], [jiwer.wer(r, h) for r, h in zip(references, hypotheses)], 1e-9)

    def position_independent(reference, hypothesis):
        r, h = reference.split(), hypothesis.split()
        return (max(len(r), len(h)) - sum((Counter(r) & Counter(h)).values())) / len(r)

    bag = measure("per", *files, "--mode", "pi")
    expected = [position_independent(r, h) for r, h in zip(references, hypotheses)]
    assert_all_near(bag["segments"], expected, 1e-9)
    assert bag["signature"] != phoneme["signature"]


def test_perplexity_is_token_weighted(measure, write):
    rng = random.Random(4)
    rows = [[math.log(rng.uniform(1e-4, 1)) for _ in range(rng.randrange(0, 20))] for _ in range(1000)]
    report = measure("perplexity", "--logprobs", write("logs", [" ".join(map(repr, row)) for row in rows]))
    tokens = [value for row in rows for value in row]
    assert abs(report["value"] - math.exp(-math.fsum(tokens) / len(tokens))) <= 1e-9
    assert report["details"]["tokens"] == len(tokens)


def test_aer_equals_nltk_on_random_alignments(measure, write):
    oracle = pytest.importorskip("nltk.translate.metrics").alignment_error_rate
    alignment = pytest.importorskip("nltk.translate.api").Alignment
    rng = random.Random(5)

    def links(most):
        return {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(1, most))}

    hypotheses, sure, possible = ([links(n) for _ in range(3000)] for n in (8, 6, 6))
    gold = [" ".join([f"{i}-{j}" for i, j in s] + [f"{i}?{j}" for i, j in p]) for s, p in zip(sure, possible)]
    report = measure(
        "aer",
        "--hyp",
        write("hyp", [" ".join(f"{i}-{j}" for i, j in h) for h in hypotheses]),
        "--gold",
        write("gold", gold),
        "--segments",
    )
    expected = [oracle(alignment(s), alignment(h), alignment(s | p)) for h, s, p in zip(hypotheses, sure, possible)]
    assert_all_near(report["segments"], expected, 1e-9)


def read_table(path):
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def test_aer_of_thirteen_published_systems(measure, write, shared_data):
    hansards = shared_data / "align-hansards-enfr"
    if not hansards.is_dir():
        pytest.skip("no ../shared/data/align-hansards-enfr beside the source tree")
    gold = read_table(hansards / "gold.tsv")
    systems = read_table(hansards / "systems.tsv")
    published = read_table(hansards / "systems-aer.tsv")
    assert len(published) == 13
    gold_file = write("gold", [f"{row['sure']} {row['possible'].replace('-', '?')}" for row in gold])
    for system in published:
        hyp_file = write("hyp", [row[system["system"]] for row in systems])
        report = measure("aer", "--hyp", hyp_file, "--gold", gold_file)
        details = report["details"]
        assert details["links"] == int(system["links"]), system["system"]
        # The table has two decimals of a per cent; half of the last one may be lost to rounding.
        assert abs(100 * report["value"] - float(system["aer"])) <= 0.00501, system["system"]
        assert abs(100 * details["precision"] - float(system["precision"])) <= 0.00501, system["system"]
        assert abs(100 * details["recall"] - float(system["recall"])) <= 0.00501, system["system"]
