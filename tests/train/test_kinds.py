"""Tasks that choose a label: every kind from a config to answers, and what training offers."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import HEED

CONFIG = """
[task]
kind = "{kind}"
data = "builtin:{data}"
[feature]
model = "{feature}"
dim = 32
dropout = 0
{more}
[train]
batch = 32
lr = 0.01
patience = 0
traces = 5
"""


def config_of(folder, kind, data, feature="bigru", more=""):
    path = folder / f"{kind}.toml"
    path.write_text(CONFIG.format(kind=kind, data=data, feature=feature, more=more))
    return path


def train(heed, config, out, *changes):
    sets = [part for change in changes for part in ("--set", change)]
    done = heed("train", config, "--out", out, "--threads", 1, "--json", *sets)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["test"]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rotatory_attention_tells_the_targets_of_a_sentence_apart(heed, tmp_path):
    config = config_of(tmp_path, "aspect", "reviews?size=1000")
    whole = train(heed, config, tmp_path / "whole", "train.epochs=4", "attention.mechanism=mean-pool")
    rotatory = train(
        heed, config, tmp_path / "rotatory", "train.epochs=4", "attention.mechanism=rotatory", "feature.shared=false"
    )
    assert rotatory["accuracy"] > 0.95
    assert rotatory["accuracy"] > whole["accuracy"] + 0.2, "the sentence alone does not tell which target is meant"
    names = {m["name"] for m in lines(tmp_path / "rotatory" / "traces.jsonl")[0]["maps"]}
    assert {"left", "right", "target by left", "target by right"} <= {name.split("/")[-1] for name in names}


def test_gold_attention_teaches_a_target_which_clause_is_its_own(heed, tmp_path):
    # Every sentence says good and bad things: until attention is right, nothing tells it where to go.
    config = config_of(tmp_path, "aspect", "reviews?size=2000")
    free = train(heed, config, tmp_path / "free", "train.epochs=5", "query.model=specialised")
    taught = train(heed, config, tmp_path / "taught", "train.epochs=5", "query.model=specialised", "train.supervise=1")
    assert taught["accuracy"] > 0.95 and taught["correctness"] > 0.9
    assert free["accuracy"] < 0.7


def test_co_attention_compares_two_texts(heed, tmp_path):
    config = config_of(tmp_path, "pair", "statements?size=2000", feature="embedding")
    affinity = 'attention.mechanism={id="co.parallel", affinity="trilinear"}'
    test = train(heed, config, tmp_path / "run", "train.epochs=8", "train.lr=0.005", affinity)
    assert test["accuracy"] > 0.5, "a guess is right in a third"
    assert {m["key_input"] for m in lines(tmp_path / "run" / "traces.jsonl")[0]["maps"]} == {"first", "second"}


def test_supervision_brings_attention_to_the_rationale(heed, tmp_path):
    config = config_of(tmp_path, "document", "reviews?size=1500", more='[attention]\nmechanism = "hierarchical"')
    free = train(heed, config, tmp_path / "free", "train.epochs=6")
    taught = train(heed, config, tmp_path / "taught", "train.epochs=6", "train.supervise=1")
    assert min(free["accuracy"], taught["accuracy"]) > 0.95
    assert taught["correctness"] > free["correctness"] + 0.3
    words, sentences = lines(tmp_path / "taught" / "traces.jsonl")[0]["maps"]
    assert words["key_input"] == "text" and sentences["key_input"] == "text (sentences)"


@pytest.mark.parametrize("loss", ["kl", "squared"])
def test_other_losses_on_attention_do_the_same(heed, tmp_path, loss):
    config = config_of(tmp_path, "classify", "reviews?size=400")
    free = train(heed, config, tmp_path / "free", "train.epochs=3")
    taught = train(
        heed, config, tmp_path / "taught", "train.epochs=3", "train.supervise=2", f"train.supervise_loss={loss}"
    )
    assert taught["correctness"] > free["correctness"] + 0.1


def test_supervision_needs_gold_attention(heed, tmp_path):
    rows = "".join(f"word{i} good\tx\ttrain\nword{i} bad\ty\ttrain\n" for i in range(20))
    (tmp_path / "d.tsv").write_text("text\tlabel\tsplit\n" + rows)
    config = config_of(tmp_path, "classify", "reviews")
    done = heed(
        "train",
        config,
        "--out",
        tmp_path / "run",
        "--set",
        f"task.data={tmp_path / 'd.tsv'}",
        "--set",
        "train.supervise=1",
    )
    assert done.returncode == 2 and "no gold attention" in done.stderr


def test_hops_answer_questions_about_stories(heed, tmp_path):
    memory = '[query]\nmodel = {id = "specialised", input = "question"}\n[attention]\nscore = "dot"\n'
    config = config_of(tmp_path, "answer", "stories?size=2000", feature="embedding", more=memory)
    common = ["feature.pool=position", "feature.time=20", "train.epochs=25", "train.lr=0.01", "train.schedule=linear"]
    hops = 'attention.queries={id="multi-hop", hops=2, new_keys=true, carry=true}'
    once = train(heed, config, tmp_path / "once", *common)
    taught = train(heed, config, tmp_path / "taught", *common, hops, "train.supervise=1")
    assert taught["accuracy"] > once["accuracy"] + 0.05 and taught["accuracy"] > 0.75


def test_bfloat16_learns_as_well(heed, tmp_path):
    config = config_of(tmp_path, "classify", "reviews?size=3000", feature="cnn")
    whole = train(heed, config, tmp_path / "whole", "train.epochs=5")
    half = train(heed, config, tmp_path / "half", "train.epochs=5", "train.precision=bfloat16")
    assert half["accuracy"] > 0.8 and half["accuracy"] > whole["accuracy"] - 0.06
    weights = [(tmp_path / run / "weights.safetensors").read_bytes() for run in ("whole", "half")]
    assert weights[0] != weights[1]


def test_bfloat16_without_such_instructions_is_called_slow(heed, tmp_path):
    config = config_of(tmp_path, "classify", "reviews?size=64", feature="embedding")
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if "sse2" not in flags:
        pytest.skip("no x86 processor whose flags could be read")
    for precision in ("bfloat16", "float32"):
        changes = ("--set", f"train.precision={precision}", "--set", "train.epochs=1")
        done = heed("train", config, "--out", tmp_path / precision, *changes)
        assert done.returncode == 0, done.stderr
        told = "train.precision=float32" in done.stderr
        assert told == (precision == "bfloat16" and "avx512_bf16" not in flags)


def test_two_batches_accumulated_are_one_of_twice_the_size(heed, tmp_path):
    config = config_of(tmp_path, "classify", "reviews?size=128", feature="embedding")
    once = ["train.epochs=1", "train.optimiser=sgd", "train.momentum=0", "train.lr=0.1"]
    train(heed, config, tmp_path / "big", *once, "train.batch=128")
    train(heed, config, tmp_path / "two", *once, "train.batch=64", "train.accumulate=2")
    numpy = pytest.importorskip("safetensors.numpy")
    big, two = (numpy.load_file(tmp_path / name / "weights.safetensors") for name in ("big", "two"))
    for name, tensor in big.items():
        assert abs(tensor - two[name]).max() < 1e-5, name


def test_averages_schedules_and_accumulation_resume_to_the_same_bits(heed, tmp_path):
    config = config_of(tmp_path, "classify", "reviews?size=200")
    changes = ["train.epochs=6", "train.average=0.99", "train.accumulate=2", "train.schedule=cosine", "train.warmup=5"]
    changes += ["train.checkpoint_seconds=0", "train.batch=16", "train.label_smoothing=0.1"]
    train(heed, config, tmp_path / "whole", *changes)
    sets = [part for change in changes for part in ("--set", change)]
    command = [str(HEED), "train", str(config), "--out", str(tmp_path / "cut"), "--threads", "1", "--quiet", *sets]
    process = subprocess.Popen(command)
    while not (tmp_path / "cut" / "state" / "checkpoint.safetensors").exists() and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert heed(*command[1:], "--resume").returncode == 0
    same = (tmp_path / "whole" / "weights.safetensors").read_bytes()
    assert (tmp_path / "cut" / "weights.safetensors").read_bytes() == same


def test_attention_that_does_not_fit_is_refused_before_it_is_computed(heed, tmp_path):
    (tmp_path / "long.tsv").write_text(
        "text\tlabel\tsplit\n" + ("a " * 3000 + "\tx\ttrain\n") * 3 + "b\ty\ttrain\nb\ty\ttrain\n"
    )
    config = config_of(
        tmp_path, "classify", "reviews", more='[attention]\nmechanism = "self-attention"\nscore = "location"'
    )
    arguments = ["--set", f"task.data={tmp_path / 'long.tsv'}", "--set", "task.val_fraction=0.3"]
    done = heed("train", config, "--out", tmp_path / "run", *arguments, env={"HEED_MEMORY": "100000000"})
    assert done.returncode == 2, done.stdout
    assert "3000 queries × 3000 keys need" in done.stderr and "train.batch" in done.stderr


@pytest.mark.parametrize(
    "mechanism, sizes",
    [
        # 17 matrices of 1100² are 82 MB, the 5 of a softmax would be 24.
        ('mechanism = "self-attention"\nalign = "stick-breaking"', "1100 queries × 1100 keys need"),
        ('mechanism = "self-attention"\nscore = "dot"\nposition = "relative"', "1900 queries × 1900 keys need"),
        ('mechanism = "co.parallel"', "affinities of 2500 × 2500 words need"),
    ],
)
def test_what_takes_more_than_a_softmax_is_refused_too(heed, tmp_path, mechanism, sizes):
    words = "a " * int(sizes.split(" × ")[1].split()[0])
    row = f"{words}\t{words}\tx\ttrain\n"
    (tmp_path / "long.tsv").write_text("text\tsecond\tlabel\tsplit\n" + row * 3 + "b\tb\ty\ttrain\n" * 2)
    pair = "co." in mechanism
    config = config_of(tmp_path, "pair" if pair else "classify", "reviews", more=f"[attention]\n{mechanism}")
    changes = [f"task.data={tmp_path / 'long.tsv'}", "task.val_fraction=0.3", "train.batch=1"]
    sets = [part for change in changes + ["task.columns.first=text"] * pair for part in ("--set", change)]
    done = heed("train", config, "--out", tmp_path / "run", *sets, env={"HEED_MEMORY": "70000000"})
    assert done.returncode == 2, done.stdout
    assert sizes in done.stderr and "train.batch" in done.stderr, done.stderr


def test_wrong_changes_say_what_is_wrong(heed, tmp_path):
    config = config_of(tmp_path, "classify", "reviews", more='[attention]\nalign = "soft"')
    for change, reason in [
        ("train.sed=1", "did you mean 'seed'"),
        ("x", "a key and a value are needed"),
        ("train.epochs=many", "--set train.epochs=many: 'epochs' must be a whole number"),
        ("attention.align.temprature=2", "did you mean 'temperature'"),
    ]:
        done = heed("train", config, "--out", tmp_path / "run", "--set", change)
        assert done.returncode == 2 and reason in done.stderr, done.stderr


def test_an_option_of_a_part_that_is_named_by_its_id(heed, tmp_path):
    config = config_of(tmp_path, "classify", "reviews?size=40", more='[attention]\nalign = "soft"')
    train(heed, config, tmp_path / "run", "train.epochs=1", "attention.align.temperature=2.0")
    assert "temperature = 2" in (tmp_path / "run" / "config.toml").read_text()


@pytest.mark.parametrize("pieces", ["unigram", "characters"])
def test_words_are_cut_into_pieces_of_each_kind(heed, tmp_path, pieces):
    config = config_of(tmp_path, "classify", "reviews?size=200")
    train(heed, config, tmp_path / "run", "train.epochs=1", "task.subwords=60", f"task.pieces={pieces}")
    cut = [piece for line in lines(tmp_path / "run" / "traces.jsonl") for piece in line["inputs"]["text"]]
    assert any(piece.startswith("▁") for piece in cut) and any(not piece.startswith("▁") for piece in cut)
    if pieces == "characters":
        assert all(len(piece) == 1 for piece in cut)


def test_gold_attention_is_measured_where_models_look_at_views_or_at_sentences(heed, tmp_path):
    config = config_of(tmp_path, "aspect", "reviews?size=300", more='[attention]\nmechanism = "rotatory"')
    by_views = train(heed, config, tmp_path / "views", "train.epochs=1")
    assert 0 < by_views["correctness"] < 1 and 0 < by_views["auprc"] < 1
    config = config_of(tmp_path, "answer", "stories?size=800", "embedding", '[query]\nmodel = "specialised"')
    changes = ["train.epochs=8", "feature.pool=position"]
    by_sentences = train(heed, config, tmp_path / "sentences", *changes)
    taught = train(heed, config, tmp_path / "taught", *changes, "train.supervise=1")
    assert 0 < by_sentences["correctness"] + 0.05 < taught["correctness"] < 1


def test_where_all_is_marked_there_is_nothing_to_agree_with(heed, tmp_path):
    config = config_of(tmp_path, "point", "sort?size=60&n=4", more='[output]\nmodel = "pointer"')
    assert "correctness" not in train(heed, config, tmp_path / "run", "train.epochs=1")
