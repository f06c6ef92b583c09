"""The pages made from Markdown: guides, docs/, examples and the files at the root."""

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from .markdown import Renderer, Text, code
from .pages import Frame, Link, Page, relative
from .registry import ROOT

GUIDES = {"guide-researcher": "researcher", "guide-pytorch": "pytorch", "guide-cpp": "cpp"}
# What the list of pages says of each; of a new one its first sentence.
DOCS = {
    "tasks": "The kinds of task: what each reads, what it is measured by, and how it is trained.",
    "features": "Word vectors and pretrained encoders: which are read, and how they are brought in.",
    "ablation": "Exchanging parts over seeds, and which differences are more than chance.",
    "explanation": "Attention as explanation: measures of importance, and the audit's tests.",
    "alignment": "Word alignments read off the attention of a translation model.",
    "distributed": "Training, evaluation and prediction by several processes, on one machine or many.",
    "ring": "One long sequence over several processes: exact, in memory that falls with their number.",
    "scale": "What sums and passes between ranks cost, a model of it, and a forecast.",
    "results": "What was reached on real data and on tasks made for a mechanism, over seeds.",
    "performance": "Fused kernels beside PyTorch, torch.compile and others: every measured ratio.",
    "design": "The one idea, the layers, the numerical contract, and why things are as they are.",
}
ROOTS = {
    "CONTRIBUTING": "How to add a score, a mechanism, a kind of task, a measure or a test.",
    "SECURITY": "What is promised of files, reports and the server, and how to report a weakness.",
    "CHANGELOG": "What changed.",
}
_TITLES = {"guide": "Guides", "docs": "Docs", "examples": "Examples"}


@dataclass
class Source:
    """A Markdown file of the repository and its page."""

    file: str
    path: str

    @property
    def folder(self) -> str:
        return self.path.split("/")[0]

    @property
    def area(self) -> str:
        return "guides" if self.folder == "guide" else "docs"


def sources() -> list[Source]:
    made = [Source(f"docs/{name}.md", f"guide/{page}.html") for name, page in GUIDES.items()]
    others = {path.stem for path in (ROOT / "docs").glob("*.md")} - {*DOCS, *GUIDES, "mechanisms"}
    made += [Source(f"docs/{name}.md", f"docs/{name}.html") for name in [*DOCS, *sorted(others)]]
    made += [Source(f"{name}.md", f"docs/{name.lower()}.html") for name in ROOTS]
    for readme in sorted((ROOT / "examples").glob("*/README.md")):
        made.append(Source(f"examples/{readme.parent.name}/README.md", f"examples/{readme.parent.name}.html"))
    return [source for source in made if (ROOT / source.file).exists()]


class Documents:
    def __init__(self, frame: Frame):
        self._frame = frame
        self._sources = sources()
        self._targets = {source.file: source.path for source in self._sources}
        self._targets |= {"docs/mechanisms.md": "map.html", "README.md": "index.html"}
        self._targets |= {f"examples/{Path(s.path).stem}": s.path for s in self._sources if s.folder == "examples"}
        self.pictures: set[str] = set()  # files of the repository that pages show
        self.renderer = Renderer(self._resolve)

    def _resolve(self, target: str, source: str) -> str:
        """A file of the repository as a link of the page made from `source`."""
        page = self._targets[source]
        if target in self._targets:
            return relative(self._targets[target], page)
        if not (ROOT / target).is_file() or not target.startswith("docs/"):
            raise SystemExit(f"docs: {source}: the link to '{target}' leads nowhere in the site")
        self.pictures.add(target)
        return relative(f"pictures/{Path(target).name}", page)

    def pages(self) -> list[Page]:
        texts = {s.file: self.renderer.page((ROOT / s.file).read_text(), s.file) for s in self._sources}
        links = {s.path: Link(texts[s.file].title, s.path) for s in self._sources}
        made = []
        for source in self._sources:
            text = texts[source.file]
            beside = [link for link in links.values() if link.path.split("/")[0] == source.folder]
            html = text.html + _config(source)
            body = self._frame.render("doc.html", source.path, title=text.title, html=html)
            page = Page(source.path, text.title, body, source.area, _about(source, text), text.headings)
            page.beside = [(_TITLES[source.folder], beside)]
            page.found = list(text.sections)
            made.append(page)
        return [*made, self._index(made)]

    def _index(self, pages: list[Page]) -> Page:
        path, lead = "docs/index.html", "How tasks, statistics, the audit and the kernels work, and what was measured."
        groups = [
            (heading, [(Link(page.title, page.path), page.about) for page in pages if page.path.startswith(folder)])
            for heading, folder in (("How it works", "docs/"), ("Examples", "examples/"))
        ]
        body = self._frame.render("index.html", path, title="Documentation", lead=lead, groups=groups)
        return Page(path, "Documentation", body, "docs", lead)


def _config(source: Source) -> Markup:
    """An example's page ends with its config."""
    config = ROOT / Path(source.file).parent / "config.toml"
    if source.folder != "examples" or not config.exists():
        return Markup("")
    return Markup('<h2 id="config">config.toml</h2>\n') + code(config.read_text(), "toml")


def _about(source: Source, text: Text) -> str:
    name = Path(source.file).stem
    known = DOCS.get(name) or ROOTS.get(name)
    if known:
        return known
    words = next((words for _, _, words in text.sections if words.strip()), "")
    return " ".join(words.split()).split(". ")[0].rstrip(".:") + "."
