"""The C++ reference: a page for each public header."""

import re
import xml.etree.ElementTree as ET

from markupsafe import Markup, escape

from .doxygen import Header, Symbol
from .markdown import code
from .pages import Frame, Link, Page, relative

FOLDERS = {
    "attention": "score, align, combine; the attention module",
    "mechanisms": "wirings of attention modules",
    "kernels": "fused kernels on plain pointers, without torch",
    "models": "task models, built from a config",
    "data": "readers, tokenisers, vocabularies, batches",
    "train": "the training loop and runs",
    "explain": "importances, the audit, word alignments",
    "ablate": "grids of configs and their tables",
    "metrics": "measures of plain data, without torch",
    "report": "run directories to one HTML file",
    "base": "errors, files, random numbers",
}


def path_of(header: str) -> str:
    return "api/cpp/" + header.removeprefix("heed/").removesuffix(".hpp").replace("/", "-") + ".html"


def anchor_of(symbol: Symbol) -> str:
    return re.sub(r"[^\w:~]", "-", symbol.name) + ("" if symbol.kind != "function" else f"-{symbol.line}")


class Reference:
    def __init__(self, frame: Frame, headers: dict[str, Header]):
        self._frame, self._headers = frame, headers
        self._places = {
            symbol.id: f"{path_of(header)}#{anchor_of(symbol)}"
            for header, found in headers.items()
            for symbol in found.symbols
        }

    def pages(self) -> list[Page]:
        return [self._index(), *(self._page(header) for header in self._headers)]

    def _folders(self) -> dict[str, list[str]]:
        made: dict[str, list[str]] = {folder: [] for folder in FOLDERS}
        for header in self._headers:
            made.setdefault(header.split("/")[1], []).append(header)
        return {folder: headers for folder, headers in made.items() if headers}

    def _index(self) -> Page:
        path = "api/cpp/index.html"
        groups = []
        for folder, headers in self._folders().items():
            links = [(Link(f"<{h}>", path_of(h)), _names(self._headers[h].symbols)) for h in headers]
            groups.append((f"heed/{folder}: {FOLDERS.get(folder, '')}", links))
        lead = "The public headers, folder by folder. Each uses only the layers below it."
        body = self._frame.render("index.html", path, title="C++ reference", lead=lead, groups=groups)
        return Page(path, "C++ reference", body, "cpp", lead, found=[("", "C++ reference", lead)])

    def _page(self, header: str) -> Page:
        path, found = path_of(header), self._headers[header].symbols
        body = self._frame.render(
            "cpp.html",
            path,
            header=header,
            about=self._text(self._headers[header].text, path),
            symbols=found,
            anchor=anchor_of,
            text=lambda symbol: self._text(symbol.text, path),
            highlight=lambda source: code(source, "cpp"),
        )
        folder = header.split("/")[1]
        beside = [(f"heed/{folder}", [Link(h.split("/")[-1], path_of(h)) for h in self._folders()[folder]])]
        page = Page(path, f"<{header}>", body, "cpp", f"Reference of the header {header}.", beside=beside)
        page.headings = [(2, anchor_of(symbol), symbol.name.rpartition("::")[2]) for symbol in found]
        page.found = [("", f"<{header}>", "")]
        page.found += [
            (anchor_of(s), s.name, s.words + " " + " ".join(m.name.rpartition("::")[2] for m in s.members))
            for s in found
        ]
        return page

    def _text(self, paragraphs: list[ET.Element], page: str) -> Markup:
        return Markup("").join(Markup("<p>{}</p>").format(self._inside(para, page)) for para in paragraphs)

    def _inside(self, element: ET.Element, page: str) -> Markup:
        made = escape(element.text or "")
        for child in element:
            made += self._child(child, page) + escape(child.tail or "")
        return made

    def _child(self, child: ET.Element, page: str) -> Markup:
        inside = self._inside(child, page)
        if child.tag == "computeroutput":
            return Markup("<code>{}</code>").format(inside)
        if child.tag == "emphasis":
            return Markup("<em>{}</em>").format(inside)
        if child.tag == "ref" and child.get("refid") in self._places:
            return Markup('<a href="{}">{}</a>').format(relative(self._places[child.get("refid")], page), inside)
        return {"ndash": Markup("–"), "mdash": Markup("—"), "linebreak": Markup("<br>")}.get(child.tag, inside)


def _names(symbols: list[Symbol]) -> str:
    names = list(dict.fromkeys(symbol.name.rpartition("::")[2] for symbol in symbols))
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
