"""heed demo: the main job, and what it claims."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def demo(heed, tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    done = heed("demo", "--out", out, timeout=900)
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def test_line(out, name):
    return json.loads((out / name / "metrics.jsonl").read_text().splitlines()[-1])["metrics"]


test_line.__test__ = False


def test_what_attends_looks_at_the_rationale_in_every_seed(demo):
    out, _ = demo
    for seed in (1, 2, 3):
        mean = test_line(out, f"mean-pool-{seed}")["correctness"]["value"]
        for variant in ("additive", "scaled-dot", "general"):
            assert test_line(out, f"{variant}-{seed}")["correctness"]["value"] > mean, (variant, seed)


def test_additive_and_scaled_dot_reach_95_percent(demo):
    out, _ = demo
    for variant in ("additive", "scaled-dot"):
        for seed in (1, 2, 3):
            assert test_line(out, f"{variant}-{seed}")["accuracy"]["value"] >= 0.95, (variant, seed)


def test_it_ends_with_three_lines(demo):
    out, text = demo
    won, focus, report = text.splitlines()[-3:]
    assert re.search(
        r"'[a-z-]+' has the highest test accuracy: [\d.]+ ± [\d.]+ % over 3 seeds, -?[\d.]+ points above", won
    )
    assert "true rationale" in focus
    assert report == f"Report: {out / 'report.html'}"
    assert (out / "report.html").stat().st_size > 500_000


def test_run_again_it_only_reports(heed, demo):
    out, _ = demo
    before = (out / "additive-1" / "weights.safetensors").stat().st_mtime_ns
    assert heed("demo", "--out", out).returncode == 0
    assert (out / "additive-1" / "weights.safetensors").stat().st_mtime_ns == before


def test_a_demo_of_another_version_is_made_anew(heed, demo):
    out, _ = demo
    config = out / "general-3" / "config.toml"
    config.write_text(config.read_text().replace("epochs = 8", "epochs = 7"))
    done = heed("demo", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "epochs = 8" in config.read_text()
