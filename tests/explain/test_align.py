"""heed align: links from attention, against the outputs of other tools, and what a trained model gives."""

import csv
import json
import random

import pytest

AROUND = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def written(links):
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def parsed(line):
    return {tuple(map(int, link.split("-"))) for link in line.split()}


def symmetrise(heed, folder, forward, reverse, method):
    """The alignments of two lists of sets of links, through the command."""
    for name, links in (("f", forward), ("r", reverse)):
        (folder / name).write_text("".join(written(pair) + "\n" for pair in links))
    done = heed("align", "--links", folder / "f", "--reverse-links", folder / "r", "--symmetrise", method)
    assert done.returncode == 0, done.stderr
    return [parsed(line) for line in done.stdout.splitlines()]


def moses(forward, reverse, final):
    """The pseudo-code of Moses' documentation, on a matrix."""
    union, found = forward | reverse, forward & reverse
    rows, columns = (max((link[k] for link in union), default=-1) + 1 for k in (0, 1))
    is_free = lambda i, j: (all(a != i for a, _ in found), all(b != j for _, b in found))  # noqa: E731
    grew = True
    while grew:
        grew = False
        for i in range(rows):
            for j in range(columns):
                for near in [(i + di, j + dj) for di, dj in AROUND] if (i, j) in found else []:
                    if near in union and near not in found and any(is_free(*near)):
                        found.add(near)
                        grew = True
    for side in (forward, reverse) if final else ():
        for i in range(rows):
            for j in range(columns):
                if (i, j) in side and final(is_free(i, j)):
                    found.add((i, j))
    return found


@pytest.mark.parametrize("method, final", [("grow-diag", None), ("grow-diag-final", any), ("grow-diag-final-and", all)])
def test_symmetrisation_is_that_of_the_paper(heed, tmp_path, method, final):
    rng = random.Random(method)
    pairs = []
    for _ in range(400):
        rows, columns = rng.randrange(1, 9), rng.randrange(1, 9)
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        pairs.append([{cell for cell in cells if rng.random() < 0.25} for _ in range(2)])
    forward, reverse = zip(*pairs)
    expected = [moses(f, r, final) for f, r in pairs]
    assert symmetrise(heed, tmp_path, forward, reverse, method) == expected
    assert expected != [f & r for f, r in pairs] and expected != [f | r for f, r in pairs]


@pytest.mark.parametrize("system", ["fastalign", "mgiza"])
def test_symmetrisation_agrees_with_published_alignments(heed, shared_data, tmp_path, system):
    folder = shared_data / "align-hansards-enfr"
    rows = list(csv.DictReader((folder / "systems.tsv").open(), delimiter="\t", quoting=csv.QUOTE_NONE))
    forward, reverse = ([parsed(row[f"{system}-{side}"]) for row in rows] for side in ("forward", "reverse"))
    gold = csv.DictReader((folder / "gold.tsv").open(), delimiter="\t", quoting=csv.QUOTE_NONE)
    (tmp_path / "gold").write_text("".join(f"{g['sure']} {g['possible'].replace('-', '?')}\n" for g in gold))
    systems = csv.DictReader((folder / "systems-aer.tsv").open(), delimiter="\t")
    published = {row["system"]: float(row["aer"]) for row in systems}
    for method, column, least in [
        ("intersection", "intersection", 447),
        ("union", "union", 447),
        # Their neighbours are a Python set, so which of two rivals comes first is its order, not the paper's.
        ("grow-diag-strict", "grow-diagonal", 442),
        ("grow-diag-final-strict", "grow-diagonal-final", 442),
    ]:
        ours = symmetrise(heed, tmp_path, forward, reverse, method)
        theirs = [parsed(row[f"{system}-{column}"]) for row in rows]
        assert sum(a == b for a, b in zip(ours, theirs)) >= least, method
        arguments = ["--links", tmp_path / "f", "--reverse-links", tmp_path / "r", "--symmetrise", method]
        done = heed("align", *arguments, "--gold", tmp_path / "gold", "--json")
        assert 100 * json.loads(done.stdout)["aer"]["value"] == pytest.approx(published[f"{system}-{column}"], abs=0.1)


def test_symmetrised_files_are_measured(heed, tmp_path):
    (tmp_path / "f").write_text("0-0 1-1\n\n")
    (tmp_path / "r").write_text("0-0 1-0\n0-0\n")
    (tmp_path / "g").write_text("0-0 1?1\n0-0\n")
    arguments = ["align", "--links", tmp_path / "f", "--reverse-links", tmp_path / "r", "--gold", tmp_path / "g"]
    done = heed(*arguments, "--symmetrise", "union", "--json", "--out", tmp_path / "out")
    report = json.loads(done.stdout)
    assert (tmp_path / "out").read_text() == "0-0 1-0 1-1\n0-0\n"
    # Links 4, sure 2; in sure 2, in possible 3.
    assert report["aer"]["value"] == pytest.approx(1 - (2 + 3) / (4 + 2))
    assert report["links"] == 4 and report["pairs"] == 2


CONFIG = """
[task]
kind = "translate"
data = "builtin:translate?size=800"
{task}
[feature]
model = "bigru"
dim = 48
dropout = 0
[attention]
score = "additive"
[output]
model = {{ id = "gru", beam = 1 }}
[train]
epochs = {epochs}
batch = 32
lr = 0.006
patience = 0
traces = 5
{train}
"""


def train(heed, folder, name, task="", epochs=4, train="", corpus=None):
    text = CONFIG.format(task=task, epochs=epochs, train=train)
    (folder / f"{name}.toml").write_text(text.replace("translate?size=800", corpus or "translate?size=800"))
    done = heed("train", folder / f"{name}.toml", "--out", folder / name, "--threads", 1, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder / name


@pytest.fixture(scope="module")
def runs(heed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("align")
    return {
        "free": train(heed, folder, "free"),
        "taught": train(heed, folder, "taught", train="supervise = 1"),
        "reverse": train(heed, folder, "reverse", corpus="translate?size=800&reverse=1"),
        "pieces": train(heed, folder, "pieces", task="subwords = 90", train="supervise = 1"),
    }


def align(heed, *arguments):
    done = heed("align", *arguments, "--threads", 1, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_gold_links_teach_attention_to_align(heed, runs):
    free, taught = align(heed, runs["free"]), align(heed, runs["taught"])
    assert taught["aer"]["value"] < 0.05 < free["aer"]["value"]
    assert taught["forward"]["place"] == {"map": "attention", "head": 0, "shift": 0}
    assert taught["forward"]["chosen_by"] == "aer"
    assert taught["forward"]["places"][0]["score"] <= taught["forward"]["places"][1]["score"]


def test_words_of_pieces_are_aligned(heed, runs):
    pieces = align(heed, runs["pieces"])
    assert pieces["aer"]["value"] < 0.1
    words = align(heed, runs["taught"])
    assert pieces["aer"]["details"]["sure"] == words["aer"]["details"]["sure"]  # counted in words
    assert align(heed, runs["pieces"], "--pieces", "mean")["pairs"] == pieces["pairs"]


def test_two_directions_make_one_alignment(heed, runs, tmp_path):
    arguments = [runs["taught"], "--reverse", runs["reverse"]]
    sizes = {}
    for method in ("intersection", "grow-diag", "grow-diag-final", "union"):
        report = align(heed, *arguments, "--symmetrise", method, "--out", tmp_path / method)
        sizes[method] = [parsed(line) for line in (tmp_path / method).read_text().splitlines()]
        assert report["links"] == sum(map(len, sizes[method]))
    for small, large in zip(
        ["intersection", "grow-diag", "grow-diag-final"], ["grow-diag", "grow-diag-final", "union"]
    ):
        assert all(a <= b for a, b in zip(sizes[small], sizes[large]))
    both = align(heed, *arguments, "--symmetrise", "intersection")
    assert both["aer"]["details"]["precision"] >= align(heed, runs["taught"])["aer"]["details"]["precision"]


def test_without_gold_the_place_is_chosen_by_agreement(heed, runs, tmp_path):
    test = [json.loads(line) for line in (runs["taught"] / "predictions.jsonl").read_text().splitlines()][:20]
    rows = "".join(f"{' '.join(t['inputs']['text'])}\t{' '.join(t['gold']['sequence'])}\ttrain\n" for t in test)
    (tmp_path / "pairs.tsv").write_text("text\ttarget\tsplit\n" + rows)
    config = (runs["taught"] / "config.toml").read_text()
    run = tmp_path / "run"
    run.mkdir()
    for file in runs["taught"].iterdir():
        if file.is_file():
            (run / file.name).write_bytes(file.read_bytes())
    (run / "config.toml").write_text(config.replace("builtin:translate?size=800", str(tmp_path / "pairs.tsv")))
    report = align(heed, run, "--split", "val")
    assert report["forward"]["chosen_by"] == "agreement of words" and "aer" not in report
    assert [place["shift"] for place in report["forward"]["places"]] == [0], (
        "agreement of words cannot tell steps apart"
    )
    given = align(heed, run, "--split", "train", "--map", "attention", "--head", "0", "--shift", "1")
    assert given["forward"]["chosen_by"] == "given" and given["forward"]["place"]["shift"] == 1
    both = align(heed, run, "--split", "train", "--reverse", runs["reverse"])
    assert both["forward"]["chosen_by"] == both["reverse"]["chosen_by"] == "agreement of both models"


def test_mistakes_are_one_line(heed, runs, tiny_run, tmp_path):
    (tmp_path / "links").write_text("0-0\n")
    (tmp_path / "bad").write_text("0-0\n0:1\n")
    for arguments, reason in [
        ([tiny_run], "of kind 'classify'"),
        ([runs["free"], "--map", "atention"], "did you mean 'attention'"),
        ([runs["free"], "--head", "3"], "no head 3"),
        ([runs["free"], "--symmetrise", "union"], "--reverse RUN"),
        ([runs["free"], "--gold", tmp_path / "links"], "1 lines for"),
        ([runs["free"], "--reverse", runs["reverse"], "--symmetrise", "unoin"], "did you mean 'union'"),
        (["--links", tmp_path / "links"], "--reverse-links"),
        (["--links", tmp_path / "links", "--reverse-links", tmp_path / "bad"], "bad:2: '0:1' is no link"),
        ([], "a run directory is needed"),
    ]:
        done = heed("align", *arguments)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and reason in done.stderr, done.stderr


def test_links_are_read_from_tables_and_lines(heed, tmp_path):
    rows = ["a b\tx y\t0-1 1-0\ttrain"] * 6 + ["a b\tx y\t0-1 1-0\tval"]
    (tmp_path / "pairs.tsv").write_text("text\ttarget\tlinks\tsplit\n" + "\n".join(rows) + "\n")
    config = CONFIG.format(task="", epochs=1, train="supervise = 1")
    (tmp_path / "c.toml").write_text(config.replace("builtin:translate?size=800", "pairs.tsv"))
    assert heed("train", tmp_path / "c.toml", "--out", tmp_path / "run", "--threads", 1).returncode == 0
    assert align(heed, tmp_path / "run", "--split", "val")["aer"]["details"]["sure"] == 2
    (tmp_path / "pairs.tsv").write_text("text\ttarget\tlinks\tsplit\na b\tx y\t0-1 1-2\ttrain\n")
    done = heed("train", tmp_path / "c.toml", "--out", tmp_path / "other")
    assert done.returncode == 2 and "pairs.tsv:2: link 1-2 is outside the 2 words" in done.stderr
    for name, line in (("t.en", "a b"), ("t.de", "x y"), ("t.links", "0-1 1-0")):
        (tmp_path / name).write_text((line + "\n") * 6)
    lines = config.replace('data = "builtin:translate?size=800"', 'train = "t.en"\nval = "t.en"')
    lines = lines.replace("[feature]", '[task.columns]\ntarget = "de"\nlinks = "links"\n[feature]')
    (tmp_path / "d.toml").write_text(lines)
    assert heed("train", tmp_path / "d.toml", "--out", tmp_path / "lines", "--threads", 1).returncode == 0
    assert align(heed, tmp_path / "lines", "--split", "val")["aer"]["details"]["sure"] == 12
