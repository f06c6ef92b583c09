"""Tasks on graphs: node features as a sparse product, attention over neighbours, gold attention."""

import json

import pytest

CONFIG = """
[task]
kind = "graph"
data = "{data}"
[feature]
model = "embedding"
dim = 32
dropout = 0.2
[query]
model = "self"
[attention]
mechanism = {mechanism}
queries = {{ id = "multi-head", heads = 4 }}
score = "additive"
[train]
lr = 0.01
clip = 0
epochs = {epochs}
patience = 0
traces = 5
"""


def train(heed, folder, data, mechanism, epochs=60):
    config = folder / "config.toml"
    config.write_text(CONFIG.format(data=data, mechanism=mechanism, epochs=epochs))
    done = heed("train", config, "--out", folder / "run", "--threads", 1, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["test"]


@pytest.mark.parametrize("mechanism", ["gat", "gatv2"])
def test_neighbours_tell_the_community(heed, tmp_path, mechanism):
    part = f'{{ id = "{mechanism}", layers = 2, projected = true, output = "classes" }}'
    test = train(heed, tmp_path, "builtin:graph?size=600", part)
    # 6 words, each a topic word with probability 0.2, leave a quarter of the nodes without a hint.
    assert test["accuracy"] > 0.85
    assert test["correctness"] > 0.6  # a random edge is inside with probability 0.7, before self-loops
    lines = (tmp_path / "run" / "traces.jsonl").read_text().splitlines()
    assert len(lines) == 5
    for line in map(json.loads, lines):
        assert {m["name"] for m in line["maps"]} == {"layer 1", "layer 2"}
        first = line["maps"][0]
        assert first["shape"] == [4, 1, len(line["inputs"]["edges"])]
        assert sum(first["data"]) == pytest.approx(4, abs=1e-3)  # four heads, each of weight one


def test_one_relation_decides(heed, tmp_path):
    test = train(heed, tmp_path, "builtin:hetgraph?size=600", '{ id = "het-gat", layers = 1 }', epochs=80)
    assert test["accuracy"] > 0.7
    maps = json.loads((tmp_path / "run" / "traces.jsonl").read_text().splitlines()[0])["maps"]
    weights = next(m for m in maps if m["name"] == "layer 1/relations")["data"]
    assert weights[1] == max(weights) and weights[1] > 0.5


def test_several_relations_need_het_gat(heed, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(CONFIG.format(data="builtin:hetgraph?size=50", mechanism='"gat"', epochs=1))
    done = heed("train", config, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "het-gat" in done.stderr and done.stderr.count("\n") == 1


def test_an_edge_to_no_node_is_one_line(heed, tmp_path):
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "nodes.tsv").write_text("id\tlabel\tsplit\twords\n1\ta\ttrain\tx\n2\tb\tval\ty\n")
    (tmp_path / "g" / "edges.tsv").write_text("u\tv\n1\t2\n2\t3\n")
    config = tmp_path / "config.toml"
    config.write_text(CONFIG.format(data="g", mechanism='"gat"', epochs=1))
    done = heed("train", config, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "edges.tsv:3: " in done.stderr and done.stderr.count("\n") == 1
