"""Reads pages of the site as a browser would: their links, resources and anchors."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself, by tag.
_LOADED = {
    "img": "src",
    "script": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "image": "href",
    "use": "href",
}


class PageReader(HTMLParser):
    """`links`, `loaded`, `anchors`, `tags` and the text of one page."""

    def __init__(self, path: Path):
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.attributes |= set(given)
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get(_LOADED.get(tag)):
            self.loaded.append(given[_LOADED[tag]])

    def handle_data(self, data):
        self.text += data


def read_site(root: Path) -> dict[Path, PageReader]:
    return {path.resolve(): PageReader(path) for path in root.rglob("*.html")}


def is_outside(link: str) -> bool:
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def broken(pages: dict[Path, PageReader]) -> list[str]:
    """Links and resources that lead nowhere: a file that is not there, or an anchor the page lacks."""
    found = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if is_outside(link):
                continue
            target, _, anchor = link.partition("#")
            file = (path.parent / unquote(target)).resolve() if target else path
            known = pages.get(file)
            missing = not file.is_file() or (
                anchor and known and not anchor.startswith("need=") and unquote(anchor) not in known.anchors
            )
            if missing:
                found.append(f"{path.name}: {link}")
    return found
