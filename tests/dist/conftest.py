"""Data and configs that the tests of several ranks share."""

import random

import pytest


@pytest.fixture(scope="session")
def many_words(tmp_path_factory):
    """A table with thousands of words, of which a batch sees a few: two tell the label."""
    random.seed(5)
    words = [f"w{i}" for i in range(3000)]
    lines = ["text\tlabel\tsplit"]
    for i in range(700):
        label = random.choice(["no", "yes"])
        text = [*random.choices(words, k=random.randint(3, 20)), "bad" if label == "no" else "good"]
        random.shuffle(text)
        lines.append(f"{' '.join(text)}\t{label}\t{'train' if i < 500 else 'val' if i < 600 else 'test'}")
    path = tmp_path_factory.mktemp("words") / "words.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def many_lines(tmp_path_factory):
    """A text whose other side is the same backwards."""
    random.seed(6)
    words = ["".join(random.choices("abcdefgh", k=random.randint(2, 6))) for _ in range(60)]
    texts = [random.choices(words, k=random.randint(2, 9)) for _ in range(300)]
    path = tmp_path_factory.mktemp("lines") / "lines.text"
    path.write_text("".join(" ".join(text) + "\n" for text in texts))
    path.with_suffix(".back").write_text("".join(" ".join(text[::-1]) + "\n" for text in texts))
    return path


@pytest.fixture
def write_config(tmp_path):
    def write(text, name="config"):
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return path

    return write
