"""Every picture of every kind of task, drawn in a real browser from a run that was really trained."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.report.zoo import ZOO


@pytest.fixture(scope="module")
def reports(heed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")

    def make(name):
        (folder / f"{name}.toml").write_text(ZOO[name])
        done = heed("train", folder / f"{name}.toml", "--out", folder / name, "--threads", 1)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        done = heed("report", folder / name, "--out", folder / f"{name}.html")
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return name, folder / f"{name}.html"

    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(make, ZOO))


def test_every_run_has_weights_to_show(reports):
    for name, report in reports.items():
        line = json.loads((report.parent / name / "traces.jsonl").read_text().splitlines()[0])
        assert line["maps"], name


@pytest.mark.parametrize("part", range(3))
def test_pictures_are_drawn(reports, in_browser, part):
    in_browser("test:browser", "--pictures", *list(reports.values())[part::3])
