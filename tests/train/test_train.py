"""Training from a config: what it writes, that it learns, that it can be killed and resumed."""

import json
import os
import random
import signal
import subprocess
import time

import pytest

from tests.conftest import HEED


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_directory_is_whole(tiny_run):
    assert sorted(p.name for p in tiny_run.iterdir()) == [
        "config.toml",
        "metrics.jsonl",
        "predictions.jsonl",
        "state",
        "traces.jsonl",
        "vocabulary.json",
        "weights.safetensors",
    ]
    *epochs, test = lines(tiny_run / "metrics.jsonl")
    assert [e["epoch"] for e in epochs] == [1, 2, 3]
    assert test["split"] == "test" and {"accuracy", "f1", "correctness", "auprc"} <= set(test["metrics"])
    assert test["metrics"]["accuracy"]["signature"].startswith("accuracy|")


def test_traces_hold_the_weights_of_each_example(tiny_run):
    traces = lines(tiny_run / "traces.jsonl")
    assert len(traces) == 20
    for trace in traces:
        (attention,) = trace["maps"]
        tokens = trace["inputs"]["text"]
        assert attention["axes"] == ["head", "query", "key"]
        assert attention["key_input"] == "text" and attention["query_input"] is None
        assert attention["shape"] == [1, 1, len(tokens)]
        assert sum(attention["data"]) == pytest.approx(1, abs=1e-4)
        assert len(trace["gold"]["weights"]["text"]) == len(tokens)
        assert sum(trace["prediction"]["probabilities"]) == pytest.approx(1, abs=1e-5)


def test_weights_are_readable_by_the_safetensors_package(tiny_run):
    numpy = pytest.importorskip("safetensors.numpy")
    tensors = numpy.load_file(tiny_run / "weights.safetensors")
    assert tensors["attention.attention.attention.W1"].shape == (16, 16)


def test_eval_repeats_the_test_line(heed, tiny_run):
    done = heed("eval", tiny_run, "--json", "--threads", 1)
    assert done.returncode == 0, done.stderr
    measured = {m["name"]: m["value"] for m in json.loads(done.stdout)["metrics"]}
    test = lines(tiny_run / "metrics.jsonl")[-1]
    assert measured == {name: m["value"] for name, m in test["metrics"].items()}


def test_accuracy_and_f1_agree_with_scikit_learn(tiny_run):
    sklearn = pytest.importorskip("sklearn.metrics")
    predictions = lines(tiny_run / "predictions.jsonl")
    gold = [p["gold"]["label"] for p in predictions]
    predicted = [p["prediction"]["label"] for p in predictions]
    test = lines(tiny_run / "metrics.jsonl")[-1]["metrics"]
    assert test["accuracy"]["value"] == pytest.approx(sklearn.accuracy_score(gold, predicted), abs=1e-12)
    assert test["f1"]["value"] == pytest.approx(sklearn.f1_score(gold, predicted, average="macro"), abs=1e-12)


def test_predict_labels_text_and_files(heed, tiny_run, tmp_path):
    done = heed("predict", tiny_run, "the food was not good", "--json")
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["prediction"]["label"] in ("negative", "positive")
    assert len(json.loads(line)["maps"][0]["data"]) == 5
    (tmp_path / "new.tsv").write_text('text\nthe food was good\n<script>alert(1)</script> & "bad"\n')
    done = heed("predict", tiny_run, "--data", tmp_path / "new.tsv", "--json", "--out", tmp_path / "out.jsonl")
    assert done.returncode == 0, done.stderr
    assert len(lines(tmp_path / "out.jsonl")) == 2


def test_a_seed_decides_everything(heed, tiny_config, tiny_run, tmp_path):
    assert heed("train", tiny_config, "--out", tmp_path / "again", "--threads", 1).returncode == 0
    same = (tmp_path / "again" / "weights.safetensors").read_bytes()
    assert same == (tiny_run / "weights.safetensors").read_bytes()
    other = tmp_path / "other.toml"
    other.write_text(tiny_config.read_text() + "seed = 2\n")
    assert heed("train", other, "--out", tmp_path / "other", "--threads", 1).returncode == 0
    assert (tmp_path / "other" / "weights.safetensors").read_bytes() != same


def test_resuming_a_finished_run_changes_nothing(heed, tiny_config, tmp_path):
    assert heed("train", tiny_config, "--out", tmp_path / "run", "--threads", 1).returncode == 0
    before = (tmp_path / "run" / "weights.safetensors").read_bytes()
    done = heed("train", tiny_config, "--out", tmp_path / "run", "--threads", 1, "--resume")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "weights.safetensors").read_bytes() == before


def test_killed_at_ten_random_moments_it_resumes_to_the_same_bits(heed, tiny_config, tmp_path):
    # A checkpoint after every step, so that kills fall between and inside checkpoints.
    config = tmp_path / "config.toml"
    config.write_text(tiny_config.read_text().replace("epochs = 3", "epochs = 6\ncheckpoint_seconds = 0\npatience = 0"))
    start = time.monotonic()
    assert heed("train", config, "--out", tmp_path / "whole", "--threads", 1, "--quiet").returncode == 0
    whole = time.monotonic() - start

    rng = random.Random(3)
    killed = 0
    command = [str(HEED), "train", str(config), "--out", str(tmp_path / "cut"), "--threads", "1", "--quiet", "--resume"]
    for _ in range(40):
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        try:
            process.wait(rng.uniform(0.1, 1.0) * whole * (0.9 if killed < 10 else 20))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        stderr = process.stderr.read()
        process.wait()
        if process.returncode == 0:
            if killed >= 10:
                break
            subprocess.run(["rm", "-rf", str(tmp_path / "cut")], check=True)  # too fast: again from the start
        else:
            assert process.returncode == -signal.SIGKILL, stderr
    assert killed >= 10 and process.returncode == 0
    for name in ("weights.safetensors", "traces.jsonl", "predictions.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    strip = [{k: v for k, v in e.items() if "seconds" not in k} for e in lines(tmp_path / "cut" / "metrics.jsonl")]
    assert strip == [
        {k: v for k, v in e.items() if "seconds" not in k} for e in lines(tmp_path / "whole" / "metrics.jsonl")
    ]


@pytest.mark.parametrize("align", ["hard", "reinforced"])
def test_a_run_that_learns_by_choices_resumes_to_the_same_bits(heed, tiny_config, tmp_path, align):
    # The baseline that rewards are held against is part of the checkpoint.
    part = f'[attention]\nalign = {{ id = "{align}", entropy = 0.01, baseline = 0.95 }}\n[train]'
    config = tmp_path / "config.toml"
    config.write_text(
        tiny_config.read_text().replace("[train]", part).replace("epochs = 3", "epochs = 4\ncheckpoint_seconds = 0")
    )
    start = time.monotonic()
    assert heed("train", config, "--out", tmp_path / "whole", "--threads", 1, "--quiet").returncode == 0
    whole = time.monotonic() - start
    command = [str(HEED), "train", str(config), "--out", str(tmp_path / "cut"), "--threads", "1", "--quiet", "--resume"]
    checkpoint = tmp_path / "cut" / "state" / "checkpoint.safetensors"
    process = subprocess.Popen(command)
    while not checkpoint.exists():
        time.sleep(0.01)
    time.sleep(whole / 4)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert heed(*command[1:]).returncode == 0
    for name in ("weights.safetensors", "predictions.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


@pytest.mark.parametrize("model", ["embedding", "cnn", "lstm", "gru", "bilstm"])
def test_every_feature_model_trains(heed, tiny_config, tmp_path, model):
    config = tmp_path / "config.toml"
    config.write_text(tiny_config.read_text().replace('"bigru"', f'"{model}"').replace("epochs = 3", "epochs = 1"))
    done = heed("train", config, "--out", tmp_path / "run", "--threads", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert 0 < json.loads(done.stdout)["test"]["accuracy"] <= 1


def test_real_data_trains_when_it_is_there(heed, shared_data, tmp_path):
    config = tmp_path / "sst.toml"
    config.write_text(
        f'[task]\ndata = "{shared_data}/cls-sst2/sst2.tsv"\n[feature]\nmodel = "embedding"\ndim = 32\n'
        "[train]\nepochs = 3\ntraces = 5\n"
    )
    done = heed("train", config, "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"]["accuracy"] > 0.7  # the majority class has 0.5
