"""Recommendation: histories of two domains, ranked candidates, gold attention."""

import json

import pytest

CONFIG = """
[task]
kind = "recommend"
data = "{data}"
[feature]
model = "embedding"
dim = 32
dropout = 0
[attention]
{attention}
[output]
model = {{ {output}, sampled = {sampled} }}
[train]
lr = 0.01
epochs = {epochs}
patience = 0
traces = 3
"""


def train(heed, folder, attention, epochs=8, sampled=0, data="builtin:recommend?size=1500", output='id = "softmax"'):
    config = folder / "config.toml"
    config.write_text(CONFIG.format(attention=attention, epochs=epochs, sampled=sampled, data=data, output=output))
    return heed("train", config, "--out", folder / "run", "--threads", 1, "--json")


@pytest.mark.parametrize("sampled", [0, 40])
def test_the_other_domain_tells_the_present_taste(heed, tmp_path, sampled):
    attention = 'mechanism = "co.interactive"\nscore = "general"'
    done = train(heed, tmp_path, attention, sampled=sampled)
    assert done.returncode == 0, done.stderr
    test = json.loads(done.stdout)["test"]
    # 13 unseen items of the present taste among 125 candidates, of which ten are shown.
    assert test["hr"] > 0.6 and 0 < test["ndcg"] <= test["hr"]
    line = json.loads((tmp_path / "run" / "predictions.jsonl").read_text().splitlines()[0])
    shown = line["prediction"]["sequence"]
    assert len(shown) == 10 and len(set(shown)) == 10 and not set(shown) & set(line["inputs"]["history"])


def test_one_domain_alone_knows_less(heed, tmp_path):
    done = train(heed, tmp_path, 'mechanism = "mean-pool"')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"]["hr"] < 0.6  # two tastes, and no telling which


def test_a_wrong_row_is_one_line(heed, tmp_path):
    (tmp_path / "d.tsv").write_text("user\titem\tsplit\n1\ta\ttrain\n1\ta\ttest\n")
    done = train(heed, tmp_path, 'mechanism = "mean-pool"', data="d.tsv")
    assert done.returncode == 2
    assert "d.tsv:3: " in done.stderr and done.stderr.count("\n") == 1


def test_users_with_the_same_histories_tell_the_present_taste(heed, tmp_path):
    """What is trained sees the history alone, in which two tastes are level; the memory asks by both histories."""
    done = train(heed, tmp_path, 'mechanism = "mean-pool"', output='id = "memory", source = 1')
    assert done.returncode == 0, done.stderr
    test = json.loads(done.stdout)["test"]
    assert test["hr"] > 0.65
    again = heed("eval", tmp_path / "run", "--json")
    assert again.returncode == 0, again.stderr
    measured = {m["name"]: m["value"] for m in json.loads(again.stdout)["metrics"]}
    assert measured["hr"] == pytest.approx(test["hr"])


def test_a_memory_of_no_weight_says_nothing(heed, tmp_path):
    metrics = []
    for output in ('id = "softmax"', 'id = "memory", weight = 0'):
        (tmp_path / str(len(metrics))).mkdir()
        done = train(heed, tmp_path / str(len(metrics)), 'mechanism = "mean-pool"', epochs=2, output=output)
        assert done.returncode == 0, done.stderr
        metrics.append(json.loads(done.stdout)["test"]["hr"])
    assert metrics[0] == metrics[1]


def test_a_run_without_its_vectors_of_users_is_one_line(heed, tmp_path):
    done = train(
        heed, tmp_path, 'mechanism = "mean-pool"', epochs=1, data="builtin:recommend?size=60", output='id = "memory"'
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "run" / "users.safetensors").unlink()
    done = heed("eval", tmp_path / "run")
    assert done.returncode == 2 and "users.safetensors" in done.stderr and done.stderr.count("\n") == 1


def test_a_memory_is_for_recommendations(heed, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[task]\ndata = "builtin:reviews?size=40"\n[output]\nmodel = "memory"\n')
    done = heed("train", config, "--out", tmp_path / "run")
    assert done.returncode == 2 and "recommend" in done.stderr and done.stderr.count("\n") == 1


def test_an_ablation_compares_with_a_memory(heed, tmp_path):
    config = tmp_path / "config.toml"
    text = CONFIG.format(
        attention='mechanism = "mean-pool"',
        epochs=1,
        sampled=0,
        data="builtin:recommend?size=60",
        output='id = "softmax"',
    )
    config.write_text(text)
    arguments = ["--over", "output.model=softmax,memory", "--seeds", 1, "--out", tmp_path / "grid"]
    done = heed("ablate", config, *arguments)
    assert done.returncode == 0, done.stderr
    assert "does not fit" not in done.stdout, done.stdout


def test_a_memory_is_described_and_named(heed, tmp_path):
    runs = []
    for output in ("softmax", "memory"):
        folder = tmp_path / output
        folder.mkdir()
        data = "builtin:recommend?size=60"
        done = train(heed, folder, 'mechanism = "no-attention"', epochs=1, data=data, output=f'id = "{output}"')
        assert done.returncode == 0, done.stderr
        runs.append((folder / "run").rename(tmp_path / f"{output}-run"))
    told = json.loads(heed("describe", runs[1], "--json").stdout)
    assert told["output"]["options"]["sharpness"] == 6
    picture = tmp_path / "wiring.svg"
    assert heed("describe", runs[1], "--svg", picture).returncode == 0
    drawn = picture.read_text()
    assert "users in training" in drawn and "last of history" in drawn and ">answer<" in drawn
    assert heed("report", *runs, "--out", tmp_path / "report.html").returncode == 0
    assert "no-attention + memory" in (tmp_path / "report.html").read_text()
    done = heed("eval", runs[1], "--split", "train")
    assert done.returncode == 2 and "val and test" in done.stderr
    done = heed("predict", runs[1], "rope")
    assert done.returncode == 2 and "heed serve" in done.stderr and "--data" not in done.stderr
