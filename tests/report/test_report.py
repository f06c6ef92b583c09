"""The report: one file, complete, safe with hostile text, and alive in a real browser."""

import json
import re
import subprocess

import pytest


def data_of(report):
    text = report.read_text()
    return json.loads(re.search(r'id="heed-data">(.*?)</script>', text, re.S).group(1))


def test_one_run_one_file(heed, tiny_run, tmp_path):
    done = heed("report", tiny_run, "--out", tmp_path / "r.html", "--title", "A <b>title</b>")
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "r.html").read_text()
    assert "<title>A &lt;b&gt;title&lt;/b&gt;</title>" in html
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', html.split('id="heed-data"')[0])
    data = data_of(tmp_path / "r.html")
    assert data["task"]["labels"] == ["negative", "positive"]
    (variant,) = data["variants"]
    assert variant["name"] == "additive" and variant["metrics"]["accuracy"]["values"]
    assert [p["group"] for p in variant["parts"]] == ["mechanism", "score", "align", "feature"]
    assert len(data["runs"][0]["examples"]) == 20


def test_seeds_become_one_variant_with_mean_and_spread(heed, tiny_config, tiny_run, tmp_path):
    second = tmp_path / "second.toml"
    second.write_text(tiny_config.read_text() + "seed = 2\n")
    assert heed("train", second, "--out", tmp_path / "second", "--threads", 1).returncode == 0
    assert heed("report", tiny_run, tmp_path / "second", "--out", tmp_path / "r.html").returncode == 0
    (variant,) = data_of(tmp_path / "r.html")["variants"]
    accuracy = variant["metrics"]["accuracy"]
    a, b = accuracy["values"]
    assert accuracy["mean"] == pytest.approx((a + b) / 2)
    assert accuracy["sd"] == pytest.approx(abs(a - b) / 2**0.5)


def hostile_run(heed, folder):
    nasty = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "\"quoted'", "שלום", "😀", "<!--"]
    rows = [
        f"{nasty[i % 6]} {'good' if i % 2 else 'bad'} word{i % 7}\t{'<b>yes</b>' if i % 2 else 'no&'}"
        for i in range(80)
    ]
    for part in ("train", "test"):
        (folder / f"{part}.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    (folder / "c.toml").write_text(
        '[task]\ntrain = "train.tsv"\ntest = "test.tsv"\n[feature]\ndim = 8\n[train]\nepochs = 2\n'
    )
    done = heed("train", folder / "c.toml", "--out", folder / "run", "--threads", 1)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_hostile_text_stays_text(heed, tmp_path):
    run = hostile_run(heed, tmp_path)
    assert heed("report", run).returncode == 0
    html = (run / "report.html").read_text()
    payload = re.search(r'id="heed-data">(.*?)</script>', html, re.S).group(1)
    assert "<" not in payload
    tokens = {
        token for example in data_of(run / "report.html")["runs"][0]["examples"] for token in example["inputs"]["text"]
    }
    assert "<script>alert(1)</script>" in tokens and "😀" in tokens


def test_real_reports_work_in_a_browser(heed, in_browser, tiny_run, tmp_path):
    hostile = hostile_run(heed, tmp_path)
    reports = [tmp_path / "tiny.html", tmp_path / "hostile.html"]
    assert heed("report", tiny_run, "--out", reports[0]).returncode == 0
    assert heed("report", hostile, "--out", reports[1]).returncode == 0
    in_browser("test:browser", *reports)


def test_an_unfinished_run_says_how_to_finish(heed, tiny_run, tmp_path):
    unfinished = tmp_path / "half"
    subprocess.run(["cp", "-r", str(tiny_run), str(unfinished)], check=True)
    metrics = unfinished / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:-1]))
    done = heed("report", unfinished)
    assert done.returncode == 2 and "--resume" in done.stderr
