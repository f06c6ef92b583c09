"""The parts of the registry, and where their pages are."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What each group answers, in the order of one attention call.
GROUPS = {
    "mechanism": ("Mechanisms", "which input asks which: the wiring"),
    "query": ("Types of query", "what asks"),
    "queries": ("Multiplicity of queries", "how often it is asked"),
    "score": ("Scores", "how well a key fits a query"),
    "align": ("Alignments", "how scores become weights"),
    "dimensionality": ("Dimensionality", "one weight a key, or one a feature"),
    "position": ("Positions", "how order enters"),
}


@dataclass(frozen=True)
class Part:
    """One entry of `heed list --json`, with what its page needs."""

    id: str
    group: str
    title: str
    formula: str
    paper: str
    inputs: str
    time: str
    memory: str
    advice: str
    suits: tuple[str, ...]
    options: tuple[dict, ...]
    fused: str
    built: bool

    @property
    def key(self) -> str:
        return f"{self.group}/{self.id}"

    @property
    def path(self) -> str:
        return f"parts/{self.group}-{self.id}.html"

    @property
    def class_name(self) -> str:
        """The class of heed.nn, for mechanisms."""
        return "".join(word.capitalize() for word in self.id.replace(".", "-").split("-"))


def parts_of(entries: list[dict]) -> list[Part]:
    names = ("id", "group", "title", "formula", "paper", "inputs", "time", "memory", "advice", "fused")
    return [
        Part(
            **{name: entry[name] for name in names},
            suits=tuple(entry["suits"]),
            options=tuple(entry["options"]),
            built=entry["status"] == "built",
        )
        for entry in entries
    ]


def heed(*arguments: str) -> str:
    """What build/heed prints; its error, if it fails, ends the build."""
    done = subprocess.run([ROOT / "build" / "heed", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"docs: heed {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def load() -> list[Part]:
    return parts_of(json.loads(heed("list", "--json")))
