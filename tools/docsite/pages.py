"""What a page is, and how it is written into the site."""

import posixpath
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

HERE = Path(__file__).parent


@dataclass
class Link:
    title: str
    path: str


@dataclass
class Page:
    """A page before it is framed: `path` is its place in the site, links in `body` are relative to it already."""

    path: str
    title: str
    body: Markup
    area: str  # which entry of the navigation it belongs to
    about: str = ""
    headings: list[tuple[int, str, str]] = field(default_factory=list)
    beside: list[tuple[str, list[Link]]] = field(default_factory=list)  # lists of neighbouring pages
    found: list[tuple[str, str, str]] = field(default_factory=list)  # for the search: anchor, title, words
    wide: bool = False


AREAS = [
    ("guides", "Guides", "guide/researcher.html"),
    ("taxonomy", "Taxonomy", "map.html"),
    ("docs", "Docs", "docs/index.html"),
    ("python", "Python", "api/python/heed.html"),
    ("cpp", "C++", "api/cpp/index.html"),
]


def relative(target: str, page: str) -> str:
    """The link from one page of the site to another."""
    path, mark, place = target.partition("#")
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + place


class Frame:
    """The templates, and the one way in which pages are written."""

    def __init__(self, out: Path, version: str):
        self.out = out
        self.areas = list(AREAS)
        self._version = version
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def render(self, template: str, at: str, **values) -> Markup:
        """HTML for the page at `at`: `to(path)` in a template is a link from there."""
        html = self._templates.get_template(template).render(to=lambda target: relative(target, at), **values)
        return Markup(html)

    def write(self, page: Page) -> None:
        html = self.render(
            "base.html",
            page.path,
            page=page,
            areas=self.areas,
            version=self._version,
            root="../" * page.path.count("/"),
        )
        target = self.out / page.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(html)
