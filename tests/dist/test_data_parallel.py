"""`mpirun -n N heed train`: several ranks learn what one process learns."""

import json
import sys

import pytest

from tests.conftest import HEED
from tests.dist.ranks import mpirun, needs_mpirun
from tests.dist.training import measures, run, train

pytestmark = needs_mpirun

WORDS = """
[task]
data = "{words}"
[feature]
model = "embedding"
dim = 16
dropout = 0
[train]
epochs = 4
batch = 40
lr = 0.02
"""

REVIEWS = """
[task]
data = "builtin:reviews?size=400"
[feature]
model = "{feature}"
dim = 16
dropout = {dropout}
{options}
[train]
epochs = 4
batch = 31
{train}
"""

TRANSLATE = """
[task]
kind = "translate"
data = "builtin:translate?size=400"
[feature]
model = { id = "transformer", heads = 2, ffn = 32 }
dim = 16
dropout = 0
[attention]
score = "scaled-dot"
[output]
model = { id = "transformer", layers = 1, heads = 2, ffn = 32, beam = 1 }
[train]
epochs = 4
batch = 15
accumulate = 2
"""

# Files of one part each, from which the validation part is taken; the subwords are learned from what all ranks have read.
PARALLEL = """
[task]
kind = "translate"
train = "{parallel}"
test = "{parallel}"
subwords = 80
val_fraction = 0.2
[task.columns]
target = "back"
[feature]
model = "gru"
dim = 16
dropout = 0
[output]
model = { id = "gru", beam = 1 }
[train]
epochs = 4
batch = 16
"""

TRANSFORMER = '[attention]\nmechanism = "transformer"\nqueries = { id = "multi-head", heads = 2 }'

# What is trained → the config, and the numbers of ranks it is tried with beside one.
CONFIGS = {
    "words in a large table": (WORDS, [2, 4]),
    "a Transformer": (REVIEWS.format(dropout=0, feature="embedding", options=TRANSFORMER, train=""), [2, 4]),
    "a GRU, clipped and averaged": (
        REVIEWS.format(dropout=0, feature="bigru", options="", train="clip = 0.1\naverage = 0.9"),
        [4],
    ),
    "where to look": (REVIEWS.format(dropout=0, feature="gru", options="", train="supervise = 0.5"), [4]),
    "translations, by parts of a step": (TRANSLATE, [4]),
    "lines and subwords": (PARALLEL, [2, 4]),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_losses_are_those_of_one_process(name, many_words, many_lines, write_config, tmp_path):
    text, counts = CONFIGS[name]
    config = write_config(text.replace("{words}", str(many_words)).replace("{parallel}", str(many_lines)))
    alone = train(1, config, tmp_path / "alone")
    assert len(alone) >= 50
    assert sum(alone[-13:]) < sum(alone[:13])  # it learns
    for ranks in counts:
        losses = train(ranks, config, tmp_path / f"by-{ranks}")
        assert losses == pytest.approx(alone, abs=1e-5)
        assert measures(tmp_path / f"by-{ranks}") == pytest.approx(measures(tmp_path / "alone"), abs=0.02)


def weights(run_folder):
    return (run_folder / "weights.safetensors").read_bytes()


def test_the_same_ranks_give_the_same_bits(write_config, tmp_path):
    """With dropout, which each rank draws for itself, and choices that learn by reward."""
    hard = '[attention]\nalign = "hard"'
    config = write_config(REVIEWS.format(dropout=0.3, feature="gru", options=hard, train=""))
    first, second = (train(3, config, tmp_path / name) for name in ("first", "second"))
    assert first == second
    assert weights(tmp_path / "first") == weights(tmp_path / "second")
    assert (tmp_path / "first/predictions.jsonl").read_bytes() == (tmp_path / "second/predictions.jsonl").read_bytes()


def test_the_baseline_of_rewards_is_that_of_one_process(write_config, tmp_path):
    """Of one word there is nothing to draw, so what hard attention learns from is the same for any ranks."""
    numpy = pytest.importorskip("safetensors.numpy")
    rows = [f"{'good' if i % 3 else 'bad'}\t{int(i % 4 > 0)}\t{'train' if i < 70 else 'val'}" for i in range(90)]
    (tmp_path / "words.tsv").write_text("text\tlabel\tsplit\n" + "\n".join(rows) + "\n")
    text = '[task]\ndata = "words.tsv"\n[feature]\nmodel = "gru"\ndim = 8\ndropout = 0\n[attention]\nalign = "hard"\n'
    config = write_config(text + "[train]\nepochs = 3\nbatch = 5\naccumulate = 2\n")
    found = []
    for ranks in (1, 3):
        out = tmp_path / str(ranks)
        steps = train(ranks, config, out)
        state = numpy.load_file(out / "state" / "checkpoint.safetensors")
        found.append([*steps, float(state["reinforce.average"]), float(state["reinforce.weight"])])
    assert found[1] == pytest.approx(found[0], abs=1e-6)
    assert found[0][-2] < -0.1  # there was a reward


def test_dropout_differs_between_ranks(write_config, tmp_path):
    """The same dropout twice would be seen: two ranks with equal examples would add equal gradients."""
    config = write_config(REVIEWS.format(dropout=0.5, feature="embedding", options="", train=""))
    alone, two = (train(ranks, config, tmp_path / str(ranks)) for ranks in (1, 2))
    assert two[0] != pytest.approx(alone[0], abs=1e-5)


def test_five_examples_on_four_ranks(write_config, tmp_path):
    rows = [f"{'good' if i % 2 else 'bad'} {'word ' * i}\t{i % 2}\t{'train' if i < 5 else 'val'}" for i in range(8)]
    (tmp_path / "few.tsv").write_text("text\tlabel\tsplit\n" + "\n".join(rows) + "\n")
    text = f'[task]\ndata = "{tmp_path}/few.tsv"\n[feature]\nmodel = "gru"\ndim = 8\ndropout = 0\n[train]\nepochs = 6\nbatch = 2\n'
    config = write_config(text)
    assert train(4, config, tmp_path / "four") == pytest.approx(train(1, config, tmp_path / "one"), abs=1e-5)


def test_a_rank_names_the_line_that_only_it_reads(write_config, tmp_path):
    rows = [f"good food\t{i % 2}\t{'1 0' if i != 5 else '1 0 1'}\t{'train' if i < 9 else 'val'}" for i in range(12)]
    (tmp_path / "marked.tsv").write_text("text\tlabel\trationale\tsplit\n" + "\n".join(rows) + "\n")
    config = write_config('[task]\ndata = "marked.tsv"\n')
    done = run(2, "train", config, "--out", tmp_path / "run")
    assert done.returncode != 0
    assert "marked.tsv:7: the rationale has 3 numbers for 2 tokens" in done.stderr
    assert "rank 1" in done.stderr


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_ranks_share_the_memory_that_training_examples_need(write_config, tmp_path):
    with (tmp_path / "large.tsv").open("w") as file:
        file.write("text\tlabel\tsplit\n")
        for i in range(60_000):
            words = " ".join(f"word{(i * 7 + k) % 500}" for k in range(50))
            file.write(f"{words}\t{i % 2}\t{'val' if i % 100 == 0 else 'train'}\n")
    text = '[task]\ndata = "large.tsv"\n[feature]\nmodel = "embedding"\ndim = 2\n[train]\nepochs = 1\nbatch = 3000\n'
    config = write_config(text)
    peaks = []
    for ranks in (1, 4):
        training = [HEED, "train", config, "--out", tmp_path / str(ranks), "--threads", 1]
        done = mpirun(ranks, sys.executable, "-c", PEAK, *training)
        assert done.returncode == 0, done.stderr
        found = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("peak")]
        assert len(found) == ranks
        peaks.append(max(found))
    assert peaks[1] < 0.75 * peaks[0]


def test_a_graph_is_learned_by_the_first_rank(write_config, tmp_path):
    text = """
[task]
kind = "graph"
data = "builtin:graph?size=60"
[feature]
model = "embedding"
dropout = 0
[attention]
mechanism = "gat"
[train]
epochs = 5
"""
    config = write_config(text)
    alone, two = train(1, config, tmp_path / "one"), train(2, config, tmp_path / "two")
    assert two == alone  # not only near: nobody else added anything


def test_evaluation_and_prediction_do_not_depend_on_ranks(tiny_run, tmp_path):
    outputs = []
    for ranks in (1, 2):
        measured = run(ranks, "eval", tiny_run, "--split", "train", "--json", "--threads", 1)
        assert measured.returncode == 0, measured.stderr
        data = tmp_path / "new.tsv"
        data.write_text("text\n" + "".join(f"the food was {'not ' * (i % 5)}good\n" for i in range(300)))
        out = tmp_path / f"by-{ranks}.jsonl"
        done = run(ranks, "predict", tiny_run, "--data", data, "--json", "--out", out, "--threads", 1)
        assert done.returncode == 0, done.stderr
        outputs.append((json.loads(measured.stdout), out.read_text()))
    assert outputs[0] == outputs[1]
