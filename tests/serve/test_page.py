"""The live page in a real browser, of real runs: one text, several modules, several heads."""

from tests.serve.server import Server

CONFIG = """
[task]
kind = "{kind}"
data = "builtin:reviews?size=200"
[feature]
dim = 16
[attention]
{attention}
[train]
epochs = 2
traces = 4
"""


def test_the_page_in_a_browser(heed, in_browser, tiny_run, tmp_path):
    runs = [tiny_run]
    for name, kind, attention in (
        ("rotatory", "aspect", 'mechanism = "rotatory"'),
        ("sentences", "document", 'mechanism = "hierarchical"'),
        ("heads", "classify", 'queries = { id = "multi-head", heads = 2 }'),
    ):
        config = tmp_path / f"{name}.toml"
        config.write_text(CONFIG.format(kind=kind, attention=attention))
        done = heed("train", config, "--out", tmp_path / name, "--threads", 1, "--quiet")
        assert done.returncode == 0, done.stderr
        runs.append(tmp_path / name)
    with Server(*runs) as server:
        in_browser("test:live", server.address)
        assert server.end()[0] == 0
