"""heed advise: needs to parts, with reasons and measured cost."""

import json
import tomllib

import pytest


def advice(heed, *args):
    done = heed("advise", "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "args, group, ids",
    [
        (["--need", "sparse"], "align", {"sparsemax", "entmax15", "entmax", "top-k", "hard", "reinforced"}),
        (["--need", "target"], "mechanism", {"rotatory"}),
        (["--need", "steps"], "queries", {"multi-hop"}),
        (["--need", "documents"], "mechanism", {"hierarchical"}),
        (["--need", "contiguous"], "mechanism", {"structured.chain"}),
        (["--need", "graph", "--need", "relations"], "mechanism", {"het-gat"}),
    ],
)
def test_the_first_advice_serves_the_need(heed, args, group, ids):
    first = advice(heed, *args)[0]
    assert first[group] in ids and not first["lacks"]
    assert any(first[group] in why for why in first["why"])


def test_latency_prefers_the_cheap_on_long_inputs(heed):
    rows = advice(heed, "--length", "3000", "--each", "--latency", "--count", "20")
    costs = [row["ms"] for row in rows]
    assert costs[0] <= 1.5 * min(costs), costs


def test_the_table_is_a_config(heed, tmp_path):
    first = advice(heed, "--need", "interpretable")[0]
    table = tomllib.loads(first["config"])["attention"]
    assert {table[key] for key in ("mechanism", "score", "align", "queries")} == {
        first[key] for key in ("mechanism", "score", "align", "queries")
    }
    config = tmp_path / "config.toml"
    config.write_text('[task]\nkind = "classify"\ndata = "builtin:reviews"\n' + first["config"])
    done = heed("describe", str(config))
    assert done.returncode == 0, done.stderr


def test_sizes_come_from_a_config(heed, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[task]\nkind = "classify"\ndata = "builtin:reviews"\n[feature]\ndim = 48\n')
    done = heed("advise", str(config), "--need", "sparse")
    assert done.returncode == 0, done.stderr
    assert "width 48" in done.stdout and "[attention]" in done.stdout


def test_an_unknown_need_gets_the_nearest(heed):
    done = heed("advise", "--need", "sparce")
    assert done.returncode == 2 and "did you mean 'sparse'?" in done.stderr
    assert heed("advise", "--length", "0").returncode == 2


def test_needs_lists_words_with_their_parts(heed):
    done = heed("advise", "--needs")
    assert done.returncode == 0 and "align/sparsemax" in done.stdout
