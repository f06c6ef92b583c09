"""`heed explain`: importances beside a plain PyTorch model, and their properties."""

import json

import pytest

from tests.explain.peer import Peer, importances

METHODS = "attention,gradient,gradient-norm,gradient-input,integrated-gradients,leave-one-out,attention-gradient"


def explained(heed, run, methods, *more):
    done = heed("explain", run, "--methods", methods, "--json", "--threads", 1, *more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_all_importances_are_those_of_a_plain_pytorch_model(heed, reviews_run):
    peer = Peer(reviews_run)
    lines = explained(heed, reviews_run, METHODS, "--examples", 25)
    assert len(lines) == 25
    for line in lines:
        p = peer(peer.vectors(line["tokens"]))
        assert line["probability"] == pytest.approx(p.max().item(), abs=1e-5)
        assert line["prediction"] == peer.labels[int(p.argmax())]
        for name, expected in importances(peer, line["tokens"]).items():
            assert line["importances"][name] == pytest.approx(expected, abs=2e-5), name


def test_integrated_gradients_add_up_to_the_change_of_the_output(heed, reviews_run):
    peer = Peer(reviews_run)
    for line in explained(heed, reviews_run, "integrated-gradients", "--examples", 10):
        x = peer.vectors(line["tokens"])
        label = peer.labels.index(line["prediction"])
        change = float(peer(x)[label] - peer(x * 0)[label])
        assert sum(line["importances"]["integrated-gradients"]) == pytest.approx(change, abs=0.02)


@pytest.mark.parametrize(
    ("kind", "attention"),
    [
        ("aspect", 'mechanism = "rotatory"'),
        ("document", 'mechanism = "hierarchical"'),
        ("pair", 'mechanism = "co.parallel"'),
        ("classify", 'queries = { id = "multi-head", heads = 2 }'),
        ("classify", 'score = "additive"\ndimensionality = "multi"'),
        ("classify", 'mechanism = "transformer"'),
    ],
)
def test_importances_of_every_wiring_are_one_number_a_word(heed, train_reviews, kind, attention):
    run = train_reviews(attention, kind=kind)
    for line in explained(heed, run, METHODS, "--examples", 8):
        for name, values in line["importances"].items():
            assert len(values) == len(line["tokens"]), name
        assert sum(line["importances"]["attention"]) == pytest.approx(1, abs=1e-4)


def test_rollout_and_flow_of_stacked_layers(heed, train_reviews, reviews_run):
    run = train_reviews('mechanism = { id = "transformer", layers = 2 }')
    for line in explained(heed, run, "rollout,flow", "--examples", 4):
        rollout, flow = line["importances"]["rollout"], line["importances"]["flow"]
        assert sum(rollout) == pytest.approx(1, abs=1e-6)
        # What flows to a word is at most what the output sends, and no less than the best single path carries.
        assert all(0 < f <= 1 + 1e-9 for f in flow)
        assert all(f >= r - 1e-9 for f, r in zip(flow, rollout, strict=True)), "the product is one of the flows"
    done = heed("explain", reviews_run, "--methods", "rollout")
    assert done.returncode == 2
    assert "singular" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--methods", "gradeint"], "gradient"),
        (["--input", "txt"], "text"),
        (["--data", "no-such.tsv"], "no-such.tsv"),
        (["--test", "agreement"], "--audit"),
        (["--audit", "--test", "agrement"], "agreement"),
        (["--audit", "--epsilon", "2"], "epsilon"),
    ],
)
def test_a_wrong_request_is_one_line(heed, reviews_run, arguments, says):
    done = heed("explain", reviews_run, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_tasks_without_labels_are_refused(heed, tmp_path):
    config = tmp_path / "sort.toml"
    config.write_text(
        '[task]\nkind = "point"\ndata = "builtin:sort?n=4&size=64"\n[feature]\ndim = 8\n'
        '[output]\nmodel = "pointer"\n[train]\nepochs = 1\n'
    )
    assert heed("train", config, "--out", tmp_path / "run").returncode == 0
    for arguments in ([], ["--audit"]):
        done = heed("explain", tmp_path / "run", *arguments)
        assert done.returncode == 2
        assert "'point'" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
