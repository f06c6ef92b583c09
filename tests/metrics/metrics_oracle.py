"""Shared by the differential tests: heed's command line against the field's reference tools.

Many cases go into one file and one process; `--segments` gives the score of each line alone.
"""

import random

import pytest

ODD_WORDS = [
    "the",
    "The",
    "cat",
    "cats",
    "sat",
    "on",
    "a",
    "mat",
    "mat.",
    "3-4",
    "1,000.5",
    "1,000,",
    ".5",
    "5.",
    "...",
    "a..b",
    "it's",
    "well-known",
    "U.S.A.",
    "(",
    ")",
    '"',
    "''",
    "&amp;",
    "&quot;x&quot;",
    "&lt;b&gt;",
    "&amp;lt;",
    "<skipped>",
    "$5",
    "50%",
    "a/b",
    "x@y.z",
    "#1",
    "é",
    "naïve",
    "Élan",
    "ÀÉÎ",
    "Straße",
    "ΣΟΦΟΣ",
    "Жук",
    "жук",
    "日本語",
    "。",
    "😀",
    "İ",
    "ǅ",
    "—",
    "–",
    "-",
    "--",
    "2-",
    "-2",
    "9-a",
    "a-9",
    "[x]",
    "{y}",
    "~",
    "^",
    "_",
    "`",
    "|",
    "\\",
    "?!",
    "!",
    ",",
    ",,",
    ".,.",
    "1.2.3",
    "1,2",
    "٣",
    "½",
    "a\u0301",
]
ODD_SPACES = [" "] * 12 + ["  ", "\t", "\u00a0", "\u3000", " \t ", "\u2003", "\x1f", "\x85", "\u2028", "\x0b"]


def odd_line(rng: random.Random, most: int = 12, words=ODD_WORDS, spaces=ODD_SPACES) -> str:
    """Words with odd characters between odd spaces; sometimes empty, sometimes random characters."""
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(["", " ", "\t", "\u00a0 "])
    if kind < 0.1:
        return "".join(rng.choice("ab.,-0123 /&'é\u00a0;:!") for _ in range(rng.randrange(1, 25)))
    line = rng.choice(["", "", "", " "])
    for _ in range(rng.randrange(1, most + 1)):
        line += rng.choice(words) + rng.choice(spaces)
    return line if rng.random() < 0.2 else line.rstrip(" ")


def noisy(rng: random.Random, line: str) -> str:
    """The same line with some words dropped, doubled, moved or replaced."""
    words = line.split(" ")
    for _ in range(rng.randrange(0, 4)):
        place = rng.randrange(len(words) + 1)
        action = rng.randrange(4)
        if action == 0 and words:
            del words[place % len(words)]
        elif action == 1:
            words.insert(place, rng.choice(ODD_WORDS))
        elif action == 2 and words:
            words.insert(place, words[place % len(words)])
        elif words:
            rng.shuffle(words)
        if not words:
            return ""
    return " ".join(words)


def assert_all_near(got, expected, tolerance):
    """Every pair within the tolerance; the message names the worst and counts the wrong ones."""
    assert len(got) == len(expected)
    assert len(got) > 0
    errors = [0.0 if g == e else abs(g - e) for g, e in zip(got, expected)]
    wrong = [i for i, error in enumerate(errors) if not error <= tolerance]
    if wrong:
        worst = max(wrong, key=lambda i: errors[i])
        pytest.fail(
            f"{len(wrong)} of {len(got)} differ; worst at {worst}: {got[worst]!r}, expected {expected[worst]!r}"
        )
