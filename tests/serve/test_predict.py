"""What the API says of texts, and what weights given by hand do. Expected numbers come from
`heed predict`, from the weights themselves, or from asking for another text."""

import json

import pytest

TEXT = "the food was not good , but the staff was lovely"
WORDS = TEXT.split()


def only_map(answer):
    (found,) = answer["maps"]
    return found


def close(a, b, tolerance=2e-6):
    return all(abs(x - y) <= tolerance for x, y in zip(a, b, strict=True))


def test_runs_tell_what_is_needed(server):
    status, _, answer = server.request("GET", "/api/runs")
    assert status == 200 and answer["limits"] == {"tokens": 2000, "bytes": 1 << 20}
    (run,) = answer["runs"]
    assert run["kind"] == "classify" and run["inputs"] == ["text"]
    assert run["labels"] == ["negative", "positive"] and run["editable"]
    assert [part["group"] for part in run["parts"]] == ["mechanism", "score", "align", "feature"]
    assert run["maps"] and len(run["examples"]) == 20
    example = run["examples"][0]
    assert server.ask(example["inputs"]["text"])["inputs"]["text"] == example["inputs"]["text"].split()


def test_says_what_predict_says(server, heed, tiny_run):
    done = heed("predict", tiny_run, TEXT, "--json", "--threads", 1)
    expected = json.loads(done.stdout)
    answer = server.ask(TEXT)
    assert answer["prediction"] == expected["prediction"] and answer["inputs"] == expected["inputs"]
    assert close(only_map(answer)["data"], expected["maps"][0]["data"])
    assert "without" not in answer


def test_tokens_are_a_text(server):
    assert server.ask(WORDS) == server.ask(TEXT)


def test_a_recorded_example_by_id(server, tiny_run):
    line = json.loads((tiny_run / "traces.jsonl").read_text().splitlines()[3])
    status, answer = server.predict({"id": line["id"]})
    assert status == 200 and answer["inputs"] == line["inputs"]
    assert close(answer["prediction"]["probabilities"], line["prediction"]["probabilities"])
    status, answer = server.predict({"id": "nobody"})
    assert status == 400 and "nobody" in answer["error"]


def test_own_weights_give_the_same_bits(server):
    plain = server.ask(TEXT)
    found = only_map(plain)
    flat = found["data"]
    nested = [[flat]]
    for given in (flat, nested, {"row": [0, 0], "weights": flat}, [{"row": [0, 0], "weights": flat}]):
        answer = server.ask(TEXT, replace={found["name"]: given})
        assert answer["prediction"] == plain["prediction"], given
        assert answer["without"] == plain["prediction"]
        assert only_map(answer)["data"] == flat


def test_other_weights_are_used_as_they_are(server):
    plain = server.ask(TEXT)
    name = only_map(plain)["name"]
    last = [0.0] * (len(WORDS) - 1) + [1.0]
    first = [1.0] + [0.0] * (len(WORDS) - 1)
    answers = [server.ask(TEXT, replace={name: row}) for row in (last, first)]
    for row, answer in zip((last, first), answers, strict=True):
        assert only_map(answer)["data"] == row and answer["without"] == plain["prediction"]
    assert answers[0]["prediction"] != answers[1]["prediction"]
    # Twice the weights are another thing, unless they are normalised.
    double = [2 * weight for weight in last]
    assert server.ask(TEXT, replace={name: double})["prediction"] != answers[0]["prediction"]
    normalised = server.ask(TEXT, replace={name: double}, normalise=True)
    assert normalised["prediction"] == answers[0]["prediction"]


def test_a_masked_word_has_no_weight_and_the_others_share_it(server):
    plain = only_map(server.ask(TEXT))["data"]
    answer = server.ask(TEXT, mask={"text": [3, 10]})
    left = [0.0 if i in (3, 10) else weight for i, weight in enumerate(plain)]
    assert close(only_map(answer)["data"], [weight / sum(left) for weight in left])
    assert answer["inputs"]["text"] == WORDS  # the words stay
    by_hand = server.ask(TEXT, replace={only_map(answer)["name"]: only_map(answer)["data"]})
    assert by_hand["prediction"] == answer["prediction"]


def test_a_dropped_word_was_never_there(server):
    answer = server.ask(TEXT, drop={"text": [3]})
    shorter = server.ask(" ".join(WORDS[:3] + WORDS[4:]))
    assert answer["inputs"] == shorter["inputs"] and answer["prediction"] == shorter["prediction"]
    assert answer["without"] == server.ask(TEXT)["prediction"]


def test_drop_comes_first_and_mask_counts_what_is_left(server):
    both = server.ask(TEXT, drop={"text": [0]}, mask={"text": [0]})
    shorter = server.ask(" ".join(WORDS[1:]), mask={"text": [0]})
    assert both["prediction"] == shorter["prediction"] and only_map(both)["data"][0] == 0


@pytest.mark.parametrize(
    "edit, told",
    [
        ({"replace": {"nomap": [1]}}, "no map is called 'nomap'"),
        ({"replace": {"MAP": [0.5, 0.5]}}, "2 weights; needed are 11"),
        ({"replace": {"MAP": [-0.1] + [0.1] * 10}}, "not negative"),
        ({"replace": {"MAP": ["a"] * 11}}, "numbers are needed"),
        ({"replace": {"MAP": [None] * 11}}, "numbers are needed"),
        ({"replace": {"MAP": [1e300] * 11}}, "finite"),
        ({"replace": {"MAP": [[[0.1] * 5, [0.1] * 6]]}}, "nested in another way"),
        ({"replace": {"MAP": [[0.1] * 11]}}, "nested in another way"),
        ({"replace": {"MAP": []}}, "0 weights; needed are 11"),
        ({"replace": {"MAP": 3}}, "an array of weights is needed"),
        ({"replace": {"MAP": {"row": [0], "weights": [0] * 11}}}, "named by 2 numbers"),
        ({"replace": {"MAP": {"row": [0, 7], "weights": [0] * 11}}}, "rows 0 to 0"),
        ({"replace": {"MAP": {"weights": [0] * 11}}}, '"row"'),
        ({"replace": [1]}, "an object is needed"),
        ({"drop": {"text": [11]}}, "position 11"),
        ({"drop": {"text": [-1]}}, "whole numbers from 0"),
        ({"drop": {"text": [0.5]}}, "whole numbers from 0"),
        ({"drop": {"text": list(range(11))}}, "nothing would be left"),
        ({"drop": {"txet": [0]}}, "did you mean 'text'"),
        ({"mask": {"left": [0]}}, "'left'"),
        ({"mask": {"text": [99]}}, "position 99"),
        ({"normalise": "yes"}, "true or false"),
        ({"wieghts": 1}, "unknown key 'wieghts'"),
    ],
)
def test_wrong_edits_are_told(server, edit, told):
    name = only_map(server.ask(TEXT))["name"]
    text = json.dumps({"inputs": {"text": TEXT}, **edit}).replace("MAP", name)
    status, answer = server.predict(text)
    assert status == 400 and told in answer["error"], answer


def test_hostile_text_stays_text(server):
    words = ["<script>alert(1)</script>", "\"quoted'", "שלום", "😀", "a\u0000b", "\u202eback"]
    answer = server.ask(words)
    assert answer["inputs"]["text"] == words
