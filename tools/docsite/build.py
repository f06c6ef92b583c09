"""Builds the whole site: static pages that need no network and load nothing from elsewhere."""

import shutil
from pathlib import Path

from markupsafe import Markup

from . import cpp_api, doxygen, formulas, pictures, python_api, search, taxonomy
from .documents import Documents
from .markdown import code
from .pages import HERE, Frame, Page
from .parts import Parts
from .registry import ROOT, Part

WAYS = (
    "align/soft",
    "align/sparsemax",
    "align/entmax15",
    "align/hard",
    "score/scaled-dot",
    "score/additive",
    "mechanism/mean-pool",
)
START = """git clone <this repository> heed && cd heed
make demo     # 12 models, a report
xdg-open runs/demo/report.html"""


class Builder:
    def __init__(self, out: Path, parts: list[Part], version: str):
        self.out, self.parts = out, parts
        self.frame = Frame(out, version)
        self.documents = Documents(self.frame)
        self.families = taxonomy.families(parts)

    def home(self, drawn: dict[str, Markup]) -> Page:
        by_key = {part.key: part for part in self.parts}
        ways = []
        for key in WAYS:
            picture = ROOT / "docs" / "weights" / f"{key.replace('/', '-')}.svg"
            if key in by_key and picture.exists():
                ways.append((by_key[key], pictures.read_weights(picture)))
        steps = [(name, drawn[latex], about, path) for name, latex, about, path in STEPS]
        body = self.frame.render(
            "home.html", "index.html", count=len(self.parts), ways=ways, steps=steps, start=code(START, "sh")
        )
        self.documents.pictures.add("docs/report.png")
        about = "heed trains, measures, compares and shows attention mechanisms."
        return Page("index.html", "heed: choose attention by evidence", body, "", about, found=[("", "heed", about)])

    def static(self, pages: list[Page]) -> None:
        palette = (ROOT / "viewer/src/style/palette.css").read_text()
        styles = [(HERE / "static" / name).read_text() for name in ("style.css", "content.css", "parts.css")]
        (self.out / "style.css").write_text("\n".join([palette, *styles]))
        (self.out / "math.css").write_text(formulas.stylesheet())
        for name in ("site.js", "theme.js", "icon.svg"):
            shutil.copy(HERE / "static" / name, self.out / name)
        (self.out / "search.js").write_text(search.index(pages))
        (self.out / "pictures").mkdir(exist_ok=True)
        for picture in sorted(self.documents.pictures):
            shutil.copy(ROOT / picture, self.out / "pictures" / Path(picture).name)


STEPS = [
    ("Features", r"F \to K, V", "what is attended to, by which wiring", "map.html#features"),
    ("Query", r"q", "what asks, and how often", "map.html#queries"),
    ("Score", r"e = \mathrm{score}(q, K)", "how well each key fits", "map.html#general"),
    ("Alignment", r"a = \mathrm{align}(e)", "how scores become weights", "map.html#general"),
    ("Combination", r"c = \sum_l a_l v_l", "one weight a key, or one a feature", "map.html#general"),
]


def build(out: Path, parts: list[Part], *, version: str, cpp: bool = True, python: bool = True) -> list[Page]:
    """Writes the site into `out`, which is emptied first; returns its pages."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    builder = Builder(out, parts, version)
    drawn = formulas.render_all([part.formula for part in parts] + [step[1] for step in STEPS])
    made_parts = Parts(builder.frame, ROOT / "docs", parts, builder.families, drawn)
    pages = [
        builder.home(drawn),
        made_parts.map(),
        *(made_parts.page(part) for part in parts),
        *builder.documents.pages(),
    ]
    missing = [area for area, wanted in (("cpp", cpp), ("python", python)) if not wanted]
    builder.frame.areas = [area for area in builder.frame.areas if area[0] not in missing]
    if python:
        modules = python_api.load()
        paths = {f"heed.nn.{part.class_name}": part.path for part in parts if part.group == "mechanism"}
        pages += python_api.pages(builder.frame, builder.documents.renderer, modules, paths)
    if cpp:
        pages += cpp_api.Reference(builder.frame, doxygen.read(ROOT / "include")).pages()
    for page in pages:
        builder.frame.write(page)
    builder.static(pages)
    return pages
