"""Every mechanism named in a config: it trains, is measured, predicts and reports, or says which inputs it lacks."""

import json
import re

CONFIG = """[task]
data = "builtin:reviews?size=64"
[feature]
model = "embedding"
dim = 8
[attention]
{key} = "{id}"
[train]
epochs = 1
batch = 64
traces = 4
"""


def parts(heed, group):
    return [part["id"] for part in json.loads(heed("list", group, "--json").stdout)]


def check(heed, folder, key, id):
    config, run = folder / f"{id}.toml", folder / id
    config.write_text(CONFIG.format(key=key, id=id))
    done = heed("train", config, "--out", run, "--threads", "1")
    if done.returncode == 2:
        # `two` inputs, levels or a graph: the task has one text.
        assert re.search(r"it takes .*; the task gives 'text'|a graph is needed", done.stderr), done.stderr
        return False
    assert done.returncode == 0, (id, done.stderr)
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["loss"] == last["loss"] and "accuracy" in last["metrics"], id
    assert heed("predict", run, "the food was lovely").returncode == 0, id
    assert heed("report", run).returncode == 0, id
    return True


def test_every_mechanism_runs_from_a_config_or_says_what_it_lacks(heed, tmp_path):
    ran = {id for id in parts(heed, "mechanism") if check(heed, tmp_path, "mechanism", id)}
    several = {"co.alternating", "co.interactive", "co.parallel", "rotatory", "via-attention", "hierarchical"}
    assert ran == set(parts(heed, "mechanism")) - several - {"gat", "gatv2", "het-gat"}


def test_every_multiplicity_and_position_runs_from_a_config(heed, tmp_path):
    for id in parts(heed, "queries"):
        assert check(heed, tmp_path, "queries", id), id
    for id in ("none", "sinusoidal", "learned"):
        assert check(heed, tmp_path, 'mechanism = "self-attention"\nposition', id), id
