"""When memory is short: one line that says so and what to change, exit code 2."""

import resource
import subprocess

import pytest

from tests.conftest import HEED
from tests.faults.runs import one_line, write_config

CONFIG = """
[task]
data = "{data}"
val_fraction = 0.3
[feature]
model = "{feature}"
dim = 32
[attention]
{attention}
[train]
epochs = 1
batch = 8
"""


def limited(limit):
    """What a child does before it becomes heed: no more address space than this."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


@pytest.fixture(scope="module")
def needed(tmp_path_factory):
    """The address space that heed itself takes, libraries included, to 64 MB: found by halving."""
    command = [str(HEED), "describe", str(write_config(tmp_path_factory.mktemp("small")))]
    low, high = 0, 16 << 30
    while high - low > 64 << 20:
        middle = (low + high) // 2
        done = subprocess.run(command, capture_output=True, preexec_fn=limited(middle))
        low, high = (low, middle) if done.returncode == 0 else (middle, high)
    return high


@pytest.fixture
def train_long(tmp_path, needed):
    """Trains on texts of so many words with so many bytes beyond those that heed itself takes."""

    def train(words, room, attention, feature="embedding"):
        row = "a " * words + "\tx\ttrain\n"
        (tmp_path / "long.tsv").write_text("text\tlabel\tsplit\n" + row * 12 + "b\ty\ttrain\nb\ty\ttrain\n")
        config = tmp_path / "config.toml"
        config.write_text(CONFIG.format(data=tmp_path / "long.tsv", attention=attention, feature=feature))
        command = [str(HEED), "train", str(config), "--out", str(tmp_path / "run"), "--threads", "1", "--quiet"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limited(needed + room))

    return train


def test_under_a_limit_it_says_what_to_change(train_long):
    done = train_long(20000, 300 << 20, "", feature="bigru")
    one_line(done, "out of memory", "train.batch", "task.max_length")


def test_attention_that_does_not_fit_under_a_limit_is_refused(train_long):
    done = train_long(3000, 300 << 20, 'mechanism = "self-attention"\nscore = "location"')
    one_line(done, "3000 queries × 3000 keys need", "train.batch")


def test_trees_that_do_not_fit_are_refused(train_long):
    done = train_long(1024, 1 << 30, 'mechanism = "structured.tree"\nscore = "dot"')
    one_line(done, "trees of 1024 words need", "task.max_length")
