"""heed ablate: the grid runs to its end whatever happens, and its table says what scipy says."""

import csv
import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from scipy import stats

from tests.cli.test_usage import one_line
from tests.conftest import HEED

CONFIG = """
[task]
data = "builtin:reviews?size=120"
[feature]
model = "embedding"
dim = 12
[train]
epochs = 2
batch = 32
traces = 5
"""

OVER = ["--over", "score=dot,general,additive", "--over", "align=soft,sparsemax"]  # with two more rows: 8


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("ablate") / "config.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def grid(heed, config, tmp_path_factory):
    """24 cells, undisturbed, two at a time."""
    out = tmp_path_factory.mktemp("grid") / "out"
    done = heed("ablate", config, *OVER, "--seeds", 3, "--jobs", 2, "--out", out)
    assert done.returncode == 0, done.stderr
    return out, done


def without_costs(table):
    """The table but for what depends on the machine."""
    for row in table["rows"]:
        row.pop("seconds", None)
        row.pop("memory", None)
    return table


def table_of(out):
    return json.loads((out / "table.json").read_text())


def results_of(out):
    return {path.stem: json.loads(path.read_text()) for path in (out / "results").glob("*.json")}


def finished(out):
    return {path.stem for path in (out / "results").glob("*.json")} if (out / "results").is_dir() else set()


def test_the_table_has_every_row_in_the_order_of_validation(grid):
    out, done = grid
    rows = table_of(out)["rows"]
    names = {row["name"] for row in rows}
    assert names == {
        *(
            f"score={score}, align={align}"
            for score in ("dot", "general", "additive")
            for align in ("soft", "sparsemax")
        ),
        "mean pooling",
        "no attention",
    }
    means = [row["val"]["accuracy"]["mean"] for row in rows]
    assert means == sorted(means, reverse=True)
    assert [row["name"] for row in rows if row["baseline"]] == ["score=additive, align=soft"]  # the config's own
    for row in rows:
        assert row["seeds"] == [1, 2, 3] and row["parameters"] > 0 and row["seconds"] > 0
        assert row["memory"] > 20 * 2**20
    assert "24 cells: 0 done before, 24 to run, 2 at a time" in done.stderr
    assert done.stderr.count("val accuracy") == 24
    assert "is best on validation data" in done.stdout and f"Report: {out / 'report.html'}" in done.stdout


def crossed(differences):
    """Seeds × examples, both random: the mean difference, its 95 % interval and p, by numpy and scipy."""
    seeds, examples = differences.shape
    mean, rows, columns = differences.mean(), differences.mean(1), differences.mean(0)
    rest = differences - rows[:, None] - columns[None] + mean
    df_a, df_b = seeds - 1, examples - 1
    a = examples * rows.var(ddof=1)
    b = seeds * columns.var(ddof=1)
    e = (rest**2).sum() / (df_a * df_b)
    variance, df = a + b - e, None
    if variance > max(a, b):
        df = variance**2 / (a**2 / df_a + b**2 / df_b + e**2 / (df_a * df_b))
    else:
        variance, df = (a, df_a) if a > b else (b, df_b)
    scale = np.sqrt(variance / differences.size)
    low, high = stats.t.interval(0.95, df, mean, scale)
    return mean, low, high, 2 * stats.t.sf(abs(mean) / scale, df) if mean else 1.0


def holm(p):
    order = np.argsort(p)
    steps = np.maximum.accumulate(np.minimum(1, np.array(p)[order] * np.arange(len(p), 0, -1)))
    corrected = np.empty(len(p))
    corrected[order] = steps
    return corrected


def test_intervals_and_p_values_are_scipys(grid):
    out, _ = grid
    rows, results = table_of(out)["rows"], results_of(out)
    (baseline,) = [row for row in rows if row["baseline"]]

    def scores(row):
        return np.array([results[cell]["test"]["scores"] for cell in row["cells"]])

    others = [row for row in rows if not row["baseline"]]
    for row in rows:
        for part in ("val", "test"):
            found = row[part]["accuracy"]
            values = [results[cell][part]["metrics"]["accuracy"] for cell in row["cells"]]
            assert found["values"] == values
            assert np.mean(scores(row), axis=1) == pytest.approx(row["test"]["accuracy"]["values"])
            if np.ptp(values) > 0:
                interval = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
                assert (found["low"], found["high"]) == pytest.approx(interval, rel=1e-9)
    for row in others:
        differences = scores(row) - scores(baseline)
        found = row["against_baseline"]
        expected = crossed(differences)
        assert (found["mean"], found["low"], found["high"], found["p"]) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        seeds = differences.mean(1)
        if np.ptp(seeds) > 0:
            assert found["p_seeds"] == pytest.approx(stats.ttest_1samp(seeds, 0).pvalue, rel=1e-9)
        permuted = stats.permutation_test(
            (differences.mean(0),),
            np.mean,
            permutation_type="samples",
            n_resamples=20000,
            rng=np.random.default_rng(1),
        ).pvalue
        assert found["p_examples"] == pytest.approx(permuted, abs=0.02)
    assert [row["against_baseline"]["p_corrected"] for row in others] == pytest.approx(
        holm([row["against_baseline"]["p"] for row in others])
    )


def test_csv_json_and_html_hold_the_same(grid):
    out, _ = grid
    table = table_of(out)
    with (out / "table.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["row"] for line in lines] == [row["name"] for row in table["rows"]]
    for line, row in zip(lines, table["rows"], strict=True):
        assert float(line["test_accuracy_mean"]) == row["test"]["accuracy"]["mean"]
        assert line["baseline"] == ("yes" if row["baseline"] else "")
        if not row["baseline"]:
            assert float(line["p_corrected"]) == row["against_baseline"]["p_corrected"]
        assert int(line["memory_bytes"]) == row["memory"]
    page = (out / "report.html").read_text()
    data = json.loads(re.search(r'id="heed-data">(.*?)</script>', page, re.S).group(1))
    assert data["ablation"]["unit"] == "share" and data["ablation"]["rows"] == table["rows"]
    assert [variant["name"] for variant in data["variants"]] == [row["name"] for row in table["rows"]]
    assert len(data["runs"]) == 24


def test_one_job_gives_the_same_table_as_two(heed, grid, config, tmp_path):
    done = heed("ablate", config, *OVER, "--seeds", 3, "--jobs", 1, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert without_costs(json.loads(done.stdout)) == without_costs(table_of(grid[0]))


def test_a_killed_grid_goes_on_where_it_was(heed, grid, config, tmp_path):
    out = tmp_path / "out"
    command = [str(HEED), "ablate", str(config), *OVER, "--seeds", "3", "--jobs", "2", "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(finished(out)) < 7 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    time.sleep(0.3)  # its children die with it
    kept = {name: (out / "results" / f"{name}.json").stat().st_mtime_ns for name in finished(out)}
    assert 7 <= len(kept) < 24
    time.sleep(1.0)
    assert finished(out) == set(kept), "a cell went on without the process that started it"
    done = heed(*command[1:])
    assert done.returncode == 0, done.stderr
    assert f"24 cells: {len(kept)} done before, {24 - len(kept)} to run" in done.stderr
    for name, changed in kept.items():
        assert (out / "results" / f"{name}.json").stat().st_mtime_ns == changed
    assert without_costs(table_of(out)) == without_costs(table_of(grid[0]))


def small(heed, config, out, *more):
    return heed("ablate", config, "--over", "score=dot", "--seeds", 1, "--jobs", 1, "--out", out, *more)


def test_failed_cells_are_reported_and_tried_again_and_the_rest_finishes(heed, config, tmp_path):
    out = tmp_path / "out"
    plan = small(heed, config, out, "--plan")
    assert plan.returncode == 0 and "4 cells; baseline: as configured" in plan.stdout, plan.stderr
    broken, killed = (
        re.search(rf"^({name}-\w+-1) ", plan.stdout, re.M).group(1) for name in ("score-dot", "no-attention")
    )
    whole = (out / "configs" / f"{broken}.toml").read_text()
    (out / "configs" / f"{broken}.toml").write_text(whole.replace('"dot"', '"dott"'))
    (out / "runs" / killed).mkdir(parents=True)
    (out / "runs" / killed / "config.toml").write_text("another run's\n")
    done = small(heed, config, out)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "heed: 2 of 4 cells failed; the same command tries them again"
    assert "score=dot, seed 1: failed: " in done.stdout and "did you mean 'dot'?" in done.stdout
    rows = {row["name"]: row for row in table_of(out)["rows"]}
    assert rows["mean pooling"]["seeds"] == rows["as configured"]["seeds"] == [1]
    assert rows["score=dot"]["seeds"] == [] and "dott" in rows["score=dot"]["failures"][0]["message"]
    assert "not the one this run was started with" in rows["no attention"]["failures"][0]["message"]
    assert "failed" in (out / "table.csv").read_text()

    (out / "configs" / f"{broken}.toml").write_text(whole)
    (out / "runs" / killed / "config.toml").unlink()
    again = small(heed, config, out)
    assert again.returncode == 0 and "4 cells: 2 done before, 2 to run" in again.stderr, again.stderr


def test_a_cell_that_is_killed_is_a_failure_of_its_own(config, tmp_path):
    out = tmp_path / "out"
    slow = ["--set", "train.epochs=500", "--set", "train.patience=0"]
    command = [str(HEED), "ablate", str(config), *slow, "--seeds", "1", "--jobs", "1", "--out", str(out), "--json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    deadline = time.monotonic() + 60
    killed = set()
    while process.poll() is None and time.monotonic() < deadline:
        with open(children) as file:
            for child in map(int, file.read().split()):
                if child not in killed and (out / "logs").is_dir() and any((out / "logs").iterdir()):
                    killed.add(child)
                    os.kill(child, signal.SIGKILL)
        time.sleep(0.05)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1 and "3 of 3 cells failed" in stderr
    messages = [row["failures"][0]["message"] for row in json.loads(stdout)["rows"]]
    assert messages == ["ended by signal 9 (Killed)"] * 3


def test_what_does_not_fit_is_listed_and_is_no_failure(heed, config, tmp_path):
    done = heed(
        "ablate", config, "--over", "dimensionality=all", "--over", "score=additive,dot", "--seeds", 1, "--json",
        "--set", "train.epochs=1", "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    refused = [name for name, row in rows.items() if "does_not_fit" in row]
    assert refused == ["dimensionality=multi, score=dot"]
    assert "goes with score 'additive'" in rows[refused[0]]["does_not_fit"]
    assert rows["dimensionality=multi, score=additive"]["seeds"] == [1]


def test_rows_on_other_data_are_not_paired_and_need_no_report(heed, config, tmp_path):
    out = tmp_path / "out"
    over = "task.data=builtin:reviews?size=120,builtin:reviews?size=100"
    done = heed("ablate", config, "--over", over, "--seeds", 1, "--set", "train.epochs=1", "--quiet", "--out", out)
    assert done.returncode == 0 and done.stderr.startswith("no report.html: report: "), done.stderr
    rows = {row["name"]: row for row in table_of(out)["rows"]}
    assert "against_baseline" in rows["mean pooling"]
    assert "against_baseline" not in rows["task.data=builtin:reviews?size=100"]


def test_a_cell_can_be_run_by_hand(heed, config, tmp_path):
    out = tmp_path / "out"
    cells = json.loads(small(heed, config, out, "--set", "train.epochs=1", "--plan", "--json").stdout)
    assert [cell["seed"] for cell in cells] == [1] * 4 and finished(out) == set()
    assert heed("ablate", "--out", out, "--cell", cells[2]["id"]).returncode == 0
    assert finished(out) == {cells[2]["id"]} and results_of(out)[cells[2]["id"]]["metric"] == "accuracy"


def test_a_chosen_baseline_and_more_seeds(heed, config, tmp_path):
    out = tmp_path / "out"
    choice = ["--baseline", "mechanism=mean-pool", "--set", "train.epochs=1"]
    assert small(heed, config, out, *choice).returncode == 0
    more = heed("ablate", config, "--over", "score=dot", *choice, "--seeds", 2, "--out", out)
    assert "8 cells: 4 done before, 4 to run" in more.stderr
    rows = table_of(out)["rows"]
    assert [row["name"] for row in rows if row["baseline"]] == ["mechanism=mean-pool"]
    assert all(row["seeds"] == [1, 2] for row in rows) and len(rows) == 4


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--over", "scor=dot"], ["unknown key 'scor'", "did you mean 'score'?"]),
        (["--over", "score=dott"], ["score=dott", "did you mean 'dot'?"]),
        (["--over", "score"], ["a key and values"]),
        (["--over", "train.seed=1,2"], ["--seeds"]),
        (["--over", "feature.dim=all"], ["cannot be listed"]),
        (["--set", "train.epoch=1"], ["epoch", "did you mean 'epochs'?"]),
        (["--baseline", "score=doot"], ["doot", "did you mean 'dot'?"]),
        (["--baseline", "nonsense"], ["--baseline"]),
        (["--set", "task.data=nowhere.tsv"], ["nowhere.tsv", "no such file"]),
        (["--set", "attention.mechanism=rotatory"], ["baseline", "the task gives 'text'"]),
        (["--seeds", "0"], ["--seeds"]),
        (["--split", "train"], ["--split"]),
    ],
)
def test_bad_arguments(heed, config, tmp_path, arguments, words):
    message = one_line(heed("ablate", config, "--out", tmp_path / "out", *arguments))
    for word in words:
        assert word in message
    assert not (tmp_path / "out").exists()


def test_directories_that_cannot_be_used(heed, config, grid, tmp_path):
    out, _ = grid
    before = finished(out)
    message = one_line(heed("ablate", config, "--over", "score=all", "--out", out))
    assert "holds another grid" in message and finished(out) == before
    assert "a config is needed" in one_line(heed("ablate", "--out", tmp_path / "out"))
    assert "no cell 'x'" in one_line(heed("ablate", "--out", out, "--cell", "x"))
    (tmp_path / "file").write_text("")
    assert "file" in one_line(heed("ablate", config, "--out", tmp_path / "file" / "out"))
    assert "none.toml" in one_line(heed("ablate", tmp_path / "none.toml", "--out", tmp_path / "out"))


def test_a_damaged_result_is_named(heed, config, tmp_path):
    out = tmp_path / "out"
    assert small(heed, config, out, "--set", "train.epochs=1").returncode == 0
    result = next((out / "results").glob("score-dot-*.json"))
    result.write_text(result.read_text()[:100])
    message = heed("ablate", config, "--over", "score=dot", "--seeds", 1, "--set", "train.epochs=1", "--out", out)
    assert message.returncode == 2 and result.name in message.stderr and "damaged" in message.stderr


def test_two_at_once_in_one_directory_are_refused(heed, config, tmp_path):
    out = tmp_path / "out"
    slow = ["--set", "train.epochs=500", "--set", "train.patience=0"]
    first = subprocess.Popen(
        [str(HEED), "ablate", str(config), *slow, "--out", str(out)], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 60
        while not (out / "grid.json").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "another 'heed ablate' is at work" in one_line(heed("ablate", config, *slow, "--out", out))
    finally:
        first.kill()
        first.communicate()
