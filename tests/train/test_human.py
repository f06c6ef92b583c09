"""Human attention from a file: learned from, and agreed with."""

import json

import pytest

CONFIG = """
[task]
kind = "{kind}"
data = "{data}"
human = "{human}"
[feature]
model = "{feature}"
dim = 24
dropout = 0
[attention]
mechanism = {mechanism}
[train]
epochs = {epochs}
lr = 0.01
patience = 0
traces = 2000
{train}
"""


def train(heed, folder, name, train="", data="builtin:reviews?size=400", human="", **more):
    options = {"kind": "classify", "feature": "bigru", "mechanism": '"singular"', "epochs": 3} | more
    (folder / f"{name}.toml").write_text(CONFIG.format(data=data, human=human, train=train, **options))
    done = heed("train", folder / f"{name}.toml", "--out", folder / name, "--threads", 1, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder / name


def measured(heed, run):
    done = heed("eval", run, "--json", "--threads", 1)
    assert done.returncode == 0, done.stderr
    return {m["name"]: m for m in json.loads(done.stdout)["metrics"]}


def test_graded_weights_are_agreed_with_by_rank(heed, tmp_path):
    stats = pytest.importorskip("scipy.stats")
    texts = train(heed, tmp_path, "texts", epochs=1)
    with (tmp_path / "later.jsonl").open("w") as file:  # people who look more and more to the end
        for line in (texts / "traces.jsonl").read_text().splitlines():
            tokens = json.loads(line)["inputs"]["text"]
            file.write(json.dumps({"tokens": tokens, "weights": [k + 1 for k in range(len(tokens))]}) + "\n")
    run = train(heed, tmp_path, "graded", human="later.jsonl", epochs=1)
    found = measured(heed, run)
    assert "auprc" not in found, "every word is looked at: none to find"
    details = found["correctness"]["details"]
    taus, rhos = [], []
    for line in (run / "traces.jsonl").read_text().splitlines():
        trace = json.loads(line)
        (weights,) = [m["data"] for m in trace["maps"]]
        gold = trace["gold"]["weights"]["text"]
        assert gold == [k + 1 for k in range(len(gold))]
        taus.append(stats.kendalltau(weights, gold).statistic)
        rhos.append(stats.spearmanr(weights, gold).statistic)
    # Traces have six digits, so some weights are equal there and not here.
    assert details["tau"] == pytest.approx(sum(taus) / len(taus), abs=0.01)
    assert details["rho"] == pytest.approx(sum(rhos) / len(rhos), abs=0.01)
    shown = heed("eval", run, "--threads", 1).stdout
    assert "kendall's tau" in shown and "spearman's rho" in shown


def test_attention_learns_where_people_looked(heed, tmp_path):
    rows = [f"{place} word{i % 7} good good bad" for i in range(120) for place in ("x", "y")]
    lines = [f"{i}\t{text}\t{text[0]}\t{'test' if i % 4 == 0 else 'train'}" for i, text in enumerate(rows)]
    (tmp_path / "d.tsv").write_text("id\ttext\tlabel\tsplit\n" + "\n".join(lines) + "\n")
    # Half of the training texts were looked at, by their last word; the label is in the first.
    looks = [{"id": str(i), "weights": [0, 0, 0, 0, 1]} for i in range(len(rows)) if i % 2 == 0]
    (tmp_path / "h.jsonl").write_text("".join(json.dumps(look) + "\n" for look in looks))
    common = {"data": "d.tsv", "human": "h.jsonl", "feature": "bigru", "epochs": 8}
    free = measured(heed, train(heed, tmp_path, "free", **common))
    taught = measured(heed, train(heed, tmp_path, "taught", "supervise = 2", **common))
    assert taught["accuracy"]["value"] == 1
    assert taught["correctness"]["value"] > 0.8 and taught["correctness"]["value"] > free["correctness"]["value"] + 0.3
    assert taught["correctness"]["details"]["kl"] < free["correctness"]["details"]["kl"]


def test_supervision_helps_a_pair_to_look_at_what_decides(heed, tmp_path):
    common = {
        "kind": "pair",
        "data": "builtin:statements?size=800",
        "feature": "embedding",
        "mechanism": '{ id = "co.parallel", affinity = "trilinear" }',
        "epochs": 5,
    }
    free = measured(heed, train(heed, tmp_path, "free", **common))
    taught = measured(heed, train(heed, tmp_path, "taught", "supervise = 1", **common))
    assert taught["correctness"]["value"] > free["correctness"]["value"] + 0.1


def test_both_texts_of_a_pair_are_measured(heed, tmp_path):
    lines = [f"{i}\tb{i % 2} a\tc d\t{'xy'[i % 2]}\t{'test' if i > 9 else 'train'}" for i in range(14)]
    (tmp_path / "d.tsv").write_text("id\tfirst\tsecond\tlabel\tsplit\n" + "\n".join(lines) + "\n")
    looks = [
        {"id": str(i), "input": name, "weights": w}
        for i in range(14)
        for name, w in (("first", [1, 0]), ("second", [0, 1]))
    ]
    (tmp_path / "h.jsonl").write_text("".join(json.dumps(look) + "\n" for look in looks))
    both = {"kind": "pair", "data": "d.tsv", "human": "h.jsonl", "feature": "embedding", "epochs": 30}
    run = train(heed, tmp_path, "run", "supervise = 2", mechanism='"co.parallel"', **both)
    correctness = measured(heed, run)["correctness"]
    assert correctness["details"]["count"] == 8, "four pairs"
    assert correctness["value"] > 0.9, "each text by its own map, though both are as long"


def test_a_wrong_file_is_one_line(heed, tmp_path):
    (tmp_path / "h.jsonl").write_text('{"id": "train-1", "weights": [1]}\n{"id": "nobody", "weights": [1]}\n')
    (tmp_path / "c.toml").write_text('[task]\ndata = "builtin:reviews?size=20"\nhuman = "h.jsonl"\n')
    done = heed("train", tmp_path / "c.toml", "--out", tmp_path / "run")
    assert done.returncode == 2 and "h.jsonl:1: " in done.stderr and done.stderr.count("\n") == 1
