"""heed describe: a mechanism, a config and a run in the survey's terms; text, JSON and picture."""

import json
import xml.etree.ElementTree as ET

import pytest

CONFIG = '[task]\nkind = "classify"\ndata = "builtin:reviews"\n[attention]\nscore = "general"\nalign = "sparsemax"\n'


def mechanisms(heed):
    parts = json.loads(heed("list", "mechanism", "--json").stdout)
    return [part["id"] for part in parts if part["status"] == "built"]


def test_rotatory_is_wired_as_its_formula_says(heed):
    d = json.loads(heed("describe", "rotatory", "--json").stdout)["attention"]
    steps = [(m["query"], m["keys"], m["output"]) for m in d["modules"]]
    assert steps[:4] == [
        ("mean of target", "left", "r_l"),
        ("mean of target", "right", "r_r"),
        ("r_l", "target", "r_lt"),
        ("r_r", "target", "r_rt"),
    ]
    assert d["context"] == "[r_l; r_r; r_lt; r_rt]"


def test_every_mechanism_has_a_description_and_a_picture(heed, tmp_path):
    for name in mechanisms(heed):
        done = heed("describe", name)
        assert done.returncode == 0, (name, done.stderr)
        assert name in done.stdout and "context" in done.stdout, name
        picture = tmp_path / "wiring.svg"
        assert heed("describe", name, "--svg", str(picture)).returncode == 0
        root = ET.parse(picture).getroot()
        boxes = root.findall("{*}rect")
        assert len(boxes) >= 2, name
        places = {(box.get("x"), box.get("y")) for box in boxes}
        assert len(places) == len(boxes), f"{name}: boxes on one another"


def test_a_config_says_parts_and_parameters(heed, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    d = json.loads(heed("describe", str(config), "--json").stdout)
    assert d["attention"]["score"]["id"] == "general" and d["attention"]["align"]["id"] == "sparsemax"
    parameters = d["parameters"]
    # The learned query belongs to the model itself, not to one of its parts.
    parts = sum(count for name, count in parameters.items() if name != "total")
    assert 0 <= parameters["total"] - parts <= d["feature"]["width"]


@pytest.mark.parametrize("what, word", [("rotatry", "did you mean 'rotatory'?"), ("missing.toml", "missing.toml")])
def test_what_is_not_there_is_an_error(heed, what, word):
    done = heed("describe", what)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1
