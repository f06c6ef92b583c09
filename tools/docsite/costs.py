"""Measured cost: docs/costs.json (each part beside its neighbours) and the rows of docs/performance.md (beside other libraries)."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from .registry import Part

# Which rows of docs/performance.md speak of a part: how their first cell begins.
_CASES = {
    "score/dot": r"float32 forward (2×8×512×64|1×8×2048×64|1×4×4096×128)$|decode float32",
    "score/scaled-dot": r"(float32|bfloat16) forward (\+ backward )?(2×8×512×64|1×8×2048×64)$",
    "score/additive": r"additive ",
    "align/sparsemax": r"sparsemax ",
    "align/entmax15": r"entmax15 ",
    "align/local-m": r"window ",
    "dimensionality/multi": r"multi-dimensional ",
    "position/alibi": r"ALiBi ",
    "mechanism/gat": r"graph attention ",
}
GRAPHS = ("gat", "gatv2", "het-gat")
_BASELINES = ("mechanism/singular", "mechanism/mean-pool")


@dataclass
class Row:
    part: Part
    own: bool
    ms: list[list[float] | None]  # for each length: forward, forward + backward
    share: float  # of the slowest row, at the greatest length that both have


@dataclass
class Table:
    lengths: list[str]
    rows: list[Row]
    about: dict
    kind: str  # what was run
    at: str  # the length the bars show


def _kind(part: Part, about: dict) -> str:
    if part.id in GRAPHS:
        return f"One graph with ten edges a node, width {about['width']}"
    texts = f"{about['batch']} texts of width {about['width']}"
    if part.group in ("score", "align", "dimensionality"):
        with_ = {"score": "soft alignment", "align": "a scaled-dot score", "dimensionality": "an additive score"}
        return f"Every position asks every position of {texts}, with {with_[part.group]}"
    return (
        f"Self-attention over {texts}"
        if part.group == "position"
        else f"{texts[0].upper()}{texts[1:]}, and a query for each"
    )


class Costs:
    """What was measured; without the files a part has none."""

    def __init__(self, docs: Path):
        measured = docs / "costs.json"
        self._about = json.loads(measured.read_text()) if measured.exists() else {"ms": {}}
        self._ms: dict = self._about["ms"]
        text = (docs / "performance.md").read_text() if (docs / "performance.md").exists() else ""
        self.machine = next(iter(re.findall(r"^Machine: ([^;\n]*)", text, re.MULTILINE)), "")
        cells = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
        ]
        rows = [row[:5] for row in cells if len(row) >= 8 and row[0] not in ("case", "---")]
        self._bench = list({row[0]: row for row in reversed(rows)}.values())[::-1]  # of the first machine

    def table(self, part: Part, near: list[Part]) -> Table | None:
        """The part and its neighbours, quickest first."""
        if part.key not in self._ms:
            return None
        lengths = list(self._ms[part.key])
        at = lengths[-1]
        shown = [p for p in near if p.key == part.key or at in self._ms.get(p.key, {})]
        most = max(self._ms[p.key][at][1] for p in shown)
        rows = [
            Row(p, p.key == part.key, [self._ms[p.key].get(n) for n in lengths], self._ms[p.key][at][1] / most)
            for p in shown
        ]
        return Table(lengths, sorted(rows, key=lambda row: row.share), self._about, _kind(part, self._about), at)

    def peers(self, part: Part) -> list[list[str]]:
        """Rows case, heed ms, peer, peer ms, ratio of docs/performance.md."""
        wanted = _CASES.get(part.key)
        return [row for row in self._bench if wanted and re.match(wanted, row[0])]


def neighbours(part: Part, siblings: list[Part], parts: list[Part]) -> list[Part]:
    """Mechanisms beside those of their node and the baselines, other parts beside their group."""
    if part.group != "mechanism":
        return [p for p in parts if p.group == part.group]
    return [p for p in parts if p in siblings or (p.key in _BASELINES and part.id not in GRAPHS)]
