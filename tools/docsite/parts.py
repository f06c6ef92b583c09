"""The pages of the parts, and the map that leads to them."""

import json
import os
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from markupsafe import Markup

from . import costs, pictures, usage
from .markdown import code
from .pages import Frame, Link, Page
from .registry import Part, heed
from .taxonomy import Family, Node


class Parts:
    """Everything the pages of parts draw from."""

    def __init__(
        self, frame: Frame, docs: Path, parts: list[Part], families: list[Family], formulas: dict[str, Markup]
    ):
        self._frame, self._docs, self._parts, self._formulas = frame, docs, parts, formulas
        self._families = families
        self._places = {part.key: (family, node) for family in families for node in family.nodes for part in node.parts}
        self._costs = costs.Costs(docs)
        notes = docs / "advice.toml"
        self._modules = _modules(parts)
        self._notes = tomllib.loads(notes.read_text()) if notes.exists() else {}

    def map(self) -> Page:
        path = "map.html"
        needs = sorted({need for part in self._parts for need in part.suits})
        body = self._frame.render("map.html", path, families=self._families, needs=needs)
        about = "The survey's taxonomy of attention mechanisms, with a page for each part."
        return Page(path, "The taxonomy of attention", body, "taxonomy", about, wide=True)

    def page(self, part: Part) -> Page:
        family, node = self._places[part.key]
        note = self._notes.get(part.group, {}).get(part.id, {})
        advice = {"use": note.get("use") or _sentence(part.advice), "avoid": note.get("avoid", "")}
        python = usage.python(part)
        body = self._frame.render(
            "part.html",
            part.path,
            part=part,
            family=family,
            node=node,
            formula=self._formulas[part.formula],
            advice=advice,
            facts=_facts(part),
            wiring=self._wiring(part),
            modules=self._modules.get(part.id, []) if part.group == "mechanism" else [],
            weights=self._weights(part),
            costs=self._cost(part, node),
            config=_code(usage.config(part), "toml"),
            python=_code(python, "python"),
            examples=usage.examples(part),
            related=self._related(part, node, note.get("see", [])),
        )
        beside = [(n.title, [Link(p.title, p.path) for p in n.parts]) for n in _near(family, node)]
        words = f"{part.key} {advice['use']} {advice['avoid']} {part.paper} {' '.join(part.suits)} {part.formula}"
        page = Page(part.path, part.title, body, "taxonomy", _sentence(part.advice), beside=beside)
        page.found = [("", part.title, words)]
        page.headings = [(2, a, h) for a, h in _HEADING.findall(body)]
        return page

    def _wiring(self, part: Part) -> Markup | None:
        path = self._docs / "wiring" / f"{part.id}.svg"
        if part.group != "mechanism" or not path.exists():
            return None
        return pictures.inline(path, f"wiring of {part.title}", "wiring")

    def _weights(self, part: Part) -> Markup | None:
        path = self._docs / "weights" / f"{part.group}-{part.id}.svg"
        return pictures.inline(path, f"weights of {part.title}", "weights") if path.exists() else None

    def _cost(self, part: Part, node: Node) -> Markup:
        table = self._costs.table(part, costs.neighbours(part, node.parts, self._parts))
        peers = self._costs.peers(part)
        if not table and not peers:
            return Markup("")
        return self._frame.render("costs.html", part.path, table=table, peers=peers, machine=self._costs.machine)

    def _related(self, part: Part, node: Node, named: list[str]) -> list[Part]:
        """What the advice names, then what suits the same needs, then the neighbours."""
        by_key = {p.key: p for p in self._parts}
        found = [by_key[key] for key in named if key in by_key]
        found += [p for p in self._parts if set(p.suits) & set(part.suits)]
        found += node.parts
        kept = {p.key: p for p in found if p.key != part.key}
        return list(kept.values())[:6]


_HEADING = re.compile(r"<h2 id=\"([\w-]+)\">([^<]+)</h2>")


def _near(family: Family, node: Node) -> list[Node]:
    """The part's own node first, then the family's others."""
    return [node, *(other for other in family.nodes if other is not node)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") if text else ""


def _facts(part: Part) -> list[tuple[str, str]]:
    fused = part.fused or ("" if part.group not in ("score", "align") else "no: plain tensor operations")
    facts = [
        ("Paper", part.paper),
        ("Inputs", part.inputs),
        ("Time", part.time),
        ("Memory", part.memory),
        ("Fused kernel", fused),
    ]
    return [(name, value) for name, value in facts if value and value != "–"]


def _modules(parts: list[Part]) -> dict[str, list[dict]]:
    """The attention modules of each mechanism, as `heed describe` tells them; it takes a while to start."""
    ids = [part.id for part in parts if part.group == "mechanism" and part.built]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        told = pool.map(lambda name: json.loads(heed("describe", name, "--json")), ids)
        return {name: each["attention"]["modules"] for name, each in zip(ids, told)}


def _code(source: str, language: str) -> Markup | None:
    return code(source, language) if source else None
