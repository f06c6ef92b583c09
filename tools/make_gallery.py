"""Trains what the gallery shows, and takes the pictures of docs/gallery.md: docs/gallery/NAME.png.

.venv/bin/python tools/make_gallery.py [NAME …]

Runs are kept in runs/gallery, and a run that is there is not trained again.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs" / "gallery"


@dataclass(frozen=True)
class View:
    task: str
    feature: str
    attention: str
    train: str
    more: str = ""  # [query], [output]
    picture: str = ""  # as the report offers it; "": the most telling
    selector: str = "#sentences .example"
    then: tuple[str, ...] = ()  # a command on the run, before the report

    def config(self) -> str:
        return f"[task]\n{self.task}\n[feature]\n{self.feature}\n[attention]\n{self.attention}\n{self.more}\n[train]\n{self.train}\n"


BIGRU = 'model = "bigru"\ndim = 64\ndropout = 0.1'
QUICK = "epochs = 6\nbatch = 32\nlr = 0.003\ntraces = 20"

GALLERY = {
    "audit": View(
        'data = "builtin:reviews?size=1500"',
        BIGRU,
        'score = "additive"',
        QUICK,
        selector="#audit",
        then=("explain", "--audit", "--examples", "200", "--seeds", "2"),
    ),
    "hops": View(
        'kind = "aspect"\ndata = "builtin:reviews?size=1500"',
        BIGRU,
        'queries = { id = "multi-hop", hops = 3 }',
        QUICK + "\nsupervise = 0.5",
        '[query]\nmodel = { id = "specialised", input = "target" }',
    ),
    "heads": View(
        'data = "builtin:reviews?size=1500"',
        'model = "embedding"\ndim = 64\ndropout = 0.1',
        'mechanism = { id = "transformer", layers = 3 }\nscore = "scaled-dot"\nqueries = { id = "multi-head", heads = 8 }',
        "epochs = 8\nbatch = 32\nlr = 0.001\ntraces = 20",
        picture="heads",
    ),
    "hierarchy": View(
        'kind = "document"\ndata = "builtin:reviews?size=1500"', BIGRU, 'mechanism = "hierarchical"', QUICK
    ),
    "pair": View('kind = "pair"\ndata = "builtin:statements?size=1500"', BIGRU, 'mechanism = "co.parallel"', QUICK),
    "rotatory": View('kind = "aspect"\ndata = "builtin:reviews?size=1500"', BIGRU, 'mechanism = "rotatory"', QUICK),
    "alignment": View(
        'kind = "translate"\ndata = "builtin:translate?size=3000"',
        BIGRU,
        'score = "additive"',
        "epochs = 10\nbatch = 64\nlr = 0.003\ntraces = 20\npatience = 0",
        '[output]\nmodel = { id = "gru", beam = 1 }',
    ),
    "points": View(
        'kind = "point"\ndata = "builtin:tsp?n=7&size=6000"',
        'model = { id = "transformer", heads = 4 }\nlayers = 2\ndim = 64\ndropout = 0',
        'score = "additive"',
        "epochs = 5\nbatch = 64\nlr = 0.001\ntraces = 20\npatience = 0",
        '[output]\nmodel = { id = "pointer", beam = 1 }',
    ),
    "graph": View(
        'kind = "graph"\ndata = "builtin:graph?size=600"',
        'model = "embedding"\ndim = 32\ndropout = 0.2',
        'mechanism = "gat"\nqueries = { id = "multi-head", heads = 4 }',
        "epochs = 100\nlr = 0.01\ntraces = 20",
        '[query]\nmodel = "self"',
    ),
    "capsules": View(
        'kind = "image"\ndata = "builtin:shapes?size=1200"',
        'vectors = { id = "conv" }\nmodel = "embedding"\ndim = 32',
        'queries = { id = "capsule" }',
        QUICK,
    ),
    "phonemes": View(
        'kind = "translate"\ndata = "builtin:phonemes?size=1500"',
        BIGRU,
        'score = "additive"',
        "epochs = 10\nbatch = 64\nlr = 0.003\ntraces = 20\npatience = 0",
        '[output]\nmodel = { id = "gru", beam = 1 }',
    ),
    "history": View(
        'kind = "recommend"\ndata = "builtin:recommend?size=1500"',
        'model = "embedding"\ndim = 32',
        'mechanism = "co.interactive"',
        QUICK,
    ),
}


def heed(*arguments: object) -> None:
    subprocess.run([ROOT / "build" / "heed", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def take(name: str) -> None:
    view, run = GALLERY[name], RUNS / name
    config = RUNS / f"{name}.toml"
    config.write_text(view.config())
    if not (run / "traces.jsonl").exists():
        heed("train", config, "--out", run, *(["--resume"] if run.exists() else []))
    if view.then:
        command, *options = view.then
        heed(command, run, *options)
    heed("report", run, "--title", name)
    out = ROOT / "docs" / "gallery" / f"{name}.png"
    call = ["npm", "run", "--silent", "shot", "--", run / "report.html", out, view.selector, view.picture]
    subprocess.run([*map(str, call)], cwd=ROOT / "viewer", check=True)
    print(out.relative_to(ROOT))


def main(names: list[str]) -> None:
    RUNS.mkdir(parents=True, exist_ok=True)
    (ROOT / "docs" / "gallery").mkdir(exist_ok=True)
    for name in names or GALLERY:
        take(name)


if __name__ == "__main__":
    main(sys.argv[1:])
