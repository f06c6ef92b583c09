"""heed list: the taxonomy for people and for programs."""

import json

import pytest

KEYS = {
    "id",
    "group",
    "title",
    "formula",
    "paper",
    "inputs",
    "time",
    "memory",
    "advice",
    "options",
    "fused",
    "status",
}


def test_json_is_an_array_of_whole_entries(heed):
    parts = json.loads(heed("list", "--json").stdout)
    assert len(parts) == 59
    for part in parts:
        assert KEYS <= set(part), part["id"]
        assert part["status"] in ("built", "planned")
    assert {p["group"] for p in parts} == {
        "score",
        "align",
        "dimensionality",
        "query",
        "queries",
        "mechanism",
        "position",
    }


def test_tree_shows_every_id_and_what_is_planned(heed):
    tree = heed("list").stdout
    for part in json.loads(heed("list", "--json").stdout):
        line = next(row for row in tree.splitlines() if row.split()[:1] == [part["id"]])
        if part["group"] not in ("queries", "mechanism"):  # 'singular' stands in both
            assert ("(planned)" in line) == (part["status"] == "planned"), line


def test_one_part_shows_formula_paper_cost_advice_options(heed):
    text = heed("list", "additive").stdout
    for word in ("formula", "Bahdanau", "O(Q K h", "advice", "act =", "tanh, relu", "[attention]"):
        assert word in text


def test_groups_and_qualified_ids(heed):
    assert "queries/singular" in heed("list", "queries/singular").stdout
    assert "bigru" in heed("list", "feature").stdout
    assert "pretrained" in heed("list", "vectors").stdout
    ambiguous = heed("list", "singular")
    assert ambiguous.returncode == 2
    assert "queries/singular or mechanism/singular" in ambiguous.stderr


@pytest.mark.parametrize("word, nearest", [("aditive", "additive"), ("rotary", "rotatory"), ("sparsmax", "sparsemax")])
def test_a_typo_gets_the_nearest_id(heed, word, nearest):
    done = heed("list", word)
    assert done.returncode == 2
    assert f"did you mean '{nearest}'?" in done.stderr


def test_schema_accepts_the_example_and_refuses_a_typo(heed):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(heed("list", "--schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {"task": {"kind": "classify"}, "attention": {"score": "dot", "align": {"id": "soft", "temperature": 2.0}}}
    jsonschema.validate(good, schema)
    for bad in ({"atention": {}}, {"attention": {"score": "dott"}}, {"attention": {"align": {"id": "soft", "t": 1}}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)
