"""Times every part in Python, forward and forward + backward, and writes docs/costs.json for the docs site.

    .venv/bin/python tools/measure_costs.py

Each part runs as its page's Python example does, at several lengths, on one thread; the parts of a group take turns and
the best of several rounds counts, so that other work on the machine disturbs little. A part
that may grow beyond --limit seconds (or its memory beyond the machine's) at the next length, if its cost is cubic, stops there.
"""

import argparse
import datetime
import json
import time
from pathlib import Path

import torch
from docsite.registry import ROOT, Part, load

import heed

WIDTH, BATCH, LENGTHS = 64, 4, (64, 256, 1024)
COSTS = ROOT / "docs" / "costs.json"
GRAPHS = ("gat", "gatv2", "het-gat")


def attention(part: Part, length: int):
    """Every position asks: as many queries as keys."""
    score = {"align": {"score": "scaled-dot"}, "dimensionality": {"score": "additive"}}.get(part.group, {})
    if part.id == "location":
        module = heed.nn.Attention(WIDTH, WIDTH, score={"id": "location", "max_keys": length})
    else:
        module = heed.nn.Attention(WIDTH, WIDTH, **score, **{part.group: part.id})
    x = torch.randn(BATCH, length, WIDTH, requires_grad=True)
    return lambda: module(x, x)


def mechanism(part: Part, length: int, **parts):
    name, options = part.class_name, {}
    if part.id in GRAPHS:
        degree = 10
        edges = torch.stack([torch.randint(length, (length * degree,)), torch.arange(length).repeat(degree)])
        module = getattr(heed.nn, name)({"nodes": WIDTH})
        nodes = {"nodes": torch.randn(1, length, WIDTH, requires_grad=True)}
        return lambda: module(nodes, edges={"edges": edges})
    inputs = {
        "co": ("first", "second"),
        "rotatory": ("left", "target", "right"),
        "via-attention": ("text", "characters"),
    }
    inputs |= {"meta-embedding": ("one", "other")}
    names = inputs.get(part.id.split(".")[0], ("text",))
    module = getattr(heed.nn, name)({each: WIDTH for each in names}, query_dim=WIDTH, **options, **parts)
    data = {each: torch.randn(BATCH, length, WIDTH, requires_grad=True) for each in names}
    query = torch.randn(BATCH, WIDTH)
    labels = torch.zeros(BATCH, dtype=torch.long) if "classes" in parts else None
    return lambda: module(data, query, labels=labels)


def case(part: Part, length: int):
    """A call that runs the part forward; None where Python has none."""
    if part.group in ("score", "align", "dimensionality"):
        return attention(part, length)
    if part.group == "mechanism":
        return None if part.id in ("hierarchical", "pointer") else mechanism(part, length)
    singular, own = (
        next(p for p in load() if p.key == key) for key in ("mechanism/singular", "mechanism/self-attention")
    )
    if part.group == "queries":
        return mechanism(singular, length, queries=part.id, **({"classes": 3} if part.id == "capsule" else {}))
    if part.group == "position":
        spec = {"id": "learned", "max_length": length} if part.id == "learned" else part.id
        return mechanism(own, length, score="scaled-dot", position=spec)
    return None


def once(run) -> float:
    """Milliseconds of processor time: with one thread the clock's, less what other programs took."""
    start = time.process_time()
    run()
    return 1000 * (time.process_time() - start)


def group_of(part: Part) -> str:
    return "graph" if part.id in GRAPHS else part.group


def measure(parts: list[Part], length: int, seconds: float) -> dict[str, list[float]]:
    """The best milliseconds of each part, all parts in turn: what disturbs the machine disturbs them alike."""
    runs, best = {}, {}
    for part in parts:
        forward = case(part, length)
        if forward is None:
            continue
        both = lambda forward=forward: forward().sum().backward()  # noqa: E731
        first = once(both)
        runs[part.key], best[part.key] = (forward, both), [first, first]
    end = time.perf_counter() + seconds * len(runs)
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        for key, pair in runs.items():
            best[key] = [min(old, once(run)) for old, run in zip(best[key], pair)]
        rounds += 1
    return {key: [float(f"{ms:.3g}") for ms in pair] for key, pair in best.items()}


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=1.0, help="time for each part at each length")
    arguments.add_argument("--limit", type=float, default=3.0, help="seconds one pass may take")
    arguments.add_argument("--group", action="append", help="measure only this group anew; may be repeated")
    asked = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    kept = json.loads(COSTS.read_text())["ms"] if asked.group and COSTS.exists() else {}
    built = [part for part in load() if part.built]
    rows = {part.key: kept[part.key] for part in built if part.key in kept and group_of(part) not in asked.group}
    for group in asked.group or dict.fromkeys(map(group_of, built)):
        parts = [part for part in built if group_of(part) == group]
        for length in LENGTHS:
            found = measure(parts, length, asked.seconds)
            print(f"costs: {group} {length} {found}", flush=True)
            for key, pair in found.items():
                rows.setdefault(key, {})[str(length)] = pair
            parts = [part for part in parts if part.key in found and 0.064 * found[part.key][1] < asked.limit]
    about = {
        "machine": machine(),
        "threads": 1,
        "batch": BATCH,
        "width": WIDTH,
        "torch": torch.__version__.split("+")[0],
    }
    about["date"] = datetime.date.today().isoformat()
    COSTS.write_text(json.dumps({**about, "ms": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
