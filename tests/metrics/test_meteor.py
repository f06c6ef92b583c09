"""METEOR's nltk variant against NLTK on the same WordNet, and the default against its properties."""

import random
import shutil
from pathlib import Path

import pytest
from metrics_oracle import assert_all_near, noisy, odd_line

nltk_meteor = pytest.importorskip("nltk.translate.meteor_score")
nltk_data = pytest.importorskip("nltk.data")
porter = pytest.importorskip("nltk.stem.porter")
reader = pytest.importorskip("nltk.corpus.reader.wordnet")

WORDNET = Path("/usr/share/wordnet")
STEMMER = porter.PorterStemmer(mode="ORIGINAL_ALGORITHM")
ENDINGS = ["", "", "", *"s es ed ing er est ly ness ful ation ational izer ement y".split()]

# WordNet's list of lexicographer files, which Debian leaves out and NLTK wants: number, name, part.
LEXNAMES = [f"{i:02}\tfile.{i}\t1" for i in range(45)]


class EnglishWordNet(reader.WordNetCorpusReader):
    """Without the map between versions, which needs a second WordNet and serves other languages only."""

    def map_wn(self, version="wordnet"):
        return None


class NoWordNet:
    @staticmethod
    def synsets(_word):
        return []


def vocabulary(rng, count):
    """Lemmas of WordNet, some with an ending; without WordNet, made-up words that stem alike."""
    if WORDNET.is_dir():
        lemmas = [
            line.split(" ", 1)[0]
            for part in ("noun", "verb", "adj", "adv")
            for line in rng.sample((WORDNET / f"index.{part}").read_text().splitlines()[29:], count // 4)
        ]
    else:
        lemmas = ["".join(rng.choices("aeioubcdlnrstyz", k=rng.randrange(2, 7))) for _ in range(count)]
    return [lemma.replace("_", "") + rng.choice(ENDINGS) for lemma in lemmas]


def score(references, hypothesis, wordnet):
    words = [reference.split() for reference in references]
    return 100 * nltk_meteor.meteor_score(words, hypothesis.split(), stemmer=STEMMER, wordnet=wordnet)


def test_stems_equal_nltk(measure, write):
    """A word against another's stem: they match only when both sides stem alike."""
    rng = random.Random(1)
    letters = ["".join(rng.choices("aeioubcdlnrstyzé", k=rng.randrange(1, 9))) for _ in range(8000)]
    words = list(dict.fromkeys(vocabulary(rng, 8000) + letters))
    others = [STEMMER.stem(word) if rng.random() < 0.5 else word + rng.choice(ENDINGS) for word in words]
    pairs = [(word, other) for word, other in zip(words, others) if other]
    report = measure(
        "meteor",
        "--hyp",
        write("hyp", [p[0] for p in pairs]),
        "--ref",
        write("ref", [p[1] for p in pairs]),
        "--variant",
        "nltk",
        "--no-wordnet",
        "--segments",
    )
    expected = [50.0 if a == b or STEMMER.stem(a) == STEMMER.stem(b) else 0.0 for a, b in pairs]
    assert_all_near(report["segments"], expected, 1e-9)
    assert 0.2 < sum(map(bool, expected)) / len(expected) < 0.8


def sentences(rng, count):
    """Lines with repeated small words; a near reference and an unrelated one for each."""
    words = vocabulary(rng, 400) + "the The a of is are was been went better geese men".split() * 6

    def line():
        return " ".join(rng.choices(words, k=rng.randrange(1, 20)))

    first = [line() if rng.random() < 0.9 else odd_line(rng) for _ in range(count)]
    return first, [noisy(rng, text) for text in first], [line() for _ in first]


def test_nltk_variant_equals_nltk_without_wordnet(measure, write):
    hypotheses, near, far = sentences(random.Random(2), 2000)
    report = measure(
        "meteor",
        "--hyp",
        write("hyp", hypotheses),
        "--ref",
        write("near", near),
        "--ref",
        write("far", far),
        "--variant",
        "nltk",
        "--no-wordnet",
        "--segments",
    )
    expected = [score([n, f], h, NoWordNet) for h, n, f in zip(hypotheses, near, far)]
    assert_all_near(report["segments"], expected, 1e-9)
    assert abs(report["value"] - sum(expected) / len(expected)) <= 1e-9


@pytest.mark.filterwarnings("ignore:The multilingual functions")
def test_nltk_variant_equals_nltk_on_the_same_wordnet(measure, write, tmp_path, monkeypatch):
    if not WORDNET.is_dir():
        pytest.skip("Debian's wordnet-base is not installed")
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for file in WORDNET.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    (folder / "lexnames").write_text("\n".join(LEXNAMES) + "\n")
    monkeypatch.setattr(nltk_data, "path", [str(folder)])  # NLTK reads only from folders listed here
    wordnet = EnglishWordNet(str(folder), None)
    rng = random.Random(3)
    hypotheses, near, far = sentences(rng, 1500)
    # Replace words of the near reference by a synonym, often of an inflected form.
    for i, line in enumerate(near):
        words = line.split(" ")
        for place, word in enumerate(words):
            others = [name for synset in wordnet.synsets(word) for name in synset.lemma_names() if "_" not in name]
            if others and rng.random() < 0.5:
                words[place] = rng.choice(others)
        near[i] = " ".join(words)
    files = ["--hyp", write("hyp", hypotheses), "--ref", write("near", near), "--ref", write("far", far), "--segments"]
    report = measure("meteor", *files, "--variant", "nltk", "--wordnet", str(WORDNET))
    assert_all_near(report["segments"], [score([n, f], h, wordnet) for h, n, f in zip(hypotheses, near, far)], 1e-9)
    assert report["details"]["synonym"] > 300
    assert "wordnet:3.0" in report["signature"]


def test_fewest_chunks_is_never_below_greedy(measure, write):
    hypotheses, near, _ = sentences(random.Random(4), 2000)
    files = ["--hyp", write("hyp", hypotheses), "--ref", write("near", near), "--no-wordnet", "--segments"]
    default, greedy = measure("meteor", *files), measure("meteor", *files, "--variant", "nltk")
    # The same words match either way, in at most as many chunks.
    assert default["details"]["exact"] == greedy["details"]["exact"]
    assert default["details"]["stem"] == greedy["details"]["stem"]
    assert default["details"]["chunks"] < greedy["details"]["chunks"]
    assert all(d >= g - 1e-9 for d, g in zip(default["segments"], greedy["segments"]))
    assert abs(default["details"]["segment_mean"] - sum(default["segments"]) / len(near)) <= 1e-9


def test_a_perfect_line_scores_the_formula(measure, write):
    report = measure("meteor", "--hyp", write("hyp", ["a b c d"]), "--ref", write("ref", ["a b c d"]))
    assert abs(report["value"] - 100 * (1 - 0.5 * (1 / 4) ** 3)) <= 1e-9
