"""Examples of a part: a config that `heed describe` accepts, and Python that runs."""

import json
import re

from .registry import ROOT, Part

# Tasks whose inputs a mechanism needs; all others read one text.
_TASKS = {
    "co.alternating": ("pair", "builtin:statements"),
    "co.interactive": ("pair", "builtin:statements"),
    "co.parallel": ("pair", "builtin:statements"),
    "rotatory": ("aspect", "builtin:reviews"),
    "hierarchical": ("document", "builtin:reviews"),
    "pointer": ("point", "builtin:hull"),
    "gat": ("graph", "builtin:graph"),
    "gatv2": ("graph", "builtin:graph"),
    "het-gat": ("graph", "builtin:hetgraph"),
}
_GRAPHS = ("gat", "gatv2", "het-gat")


def spec(part: Part) -> str:
    """The part as a config names it: its id, or a table that shows its first option."""
    if not part.options:
        return json.dumps(part.id)
    option = part.options[0]
    return f'{{ id = "{part.id}", {option["name"]} = {json.dumps(option["default"])} }}'


def config(part: Part) -> str:
    """A config with the part; empty where no kind of task gives it its inputs."""
    if part.key == "mechanism/via-attention":
        return ""
    kind, data = _TASKS.get(part.id, ("classify", "builtin:reviews")) if part.group == "mechanism" else _plain(part)
    lines = ["[task]", f'kind = "{kind}"', f'data = "{data}"']
    if part.group == "query":
        lines += ["[query]", f"model = {spec(part)}"]
        return "\n".join([*lines, *(["[attention]", 'mechanism = "self-attention"'] if part.id == "self" else [])])
    if part.id == "pointer":
        return "\n".join([*lines, "[output]", 'model = "pointer"'])
    if part.id in _GRAPHS:
        lines += ["[feature]", 'model = "embedding"']
    lines += ["[attention]"]
    if part.group == "position" and part.id != "none":
        lines += ['mechanism = "self-attention"', 'score = "scaled-dot"']
    if part.key == "dimensionality/multi":
        lines += ['score = "additive"']
    return "\n".join([*lines, f"{part.group} = {spec(part)}"])


def _plain(part: Part) -> tuple[str, str]:
    return ("aspect" if part.key == "query/specialised" else "classify", "builtin:reviews")


def python(part: Part) -> str:
    """Python with the part; empty where only a task model has it."""
    if part.group == "query" or part.id == "hierarchical":  # tensors have no levels, and a query is given
        return ""
    start = "import torch, heed\n\n"
    if part.group == "mechanism":
        return start + _mechanism(part)
    if part.group in ("score", "align", "dimensionality"):
        score = ', score="additive"' if part.group != "score" else ""
        want = '"weights"' if part.id == "multi" else '("weights", "entropy")'
        return start + (
            f"attention = heed.nn.Attention(query_dim=64, key_dim=64{score}, {part.group}={_literal(part)})\n"
            "query, keys = torch.randn(8, 64), torch.randn(8, 100, 64)\n"
            f"result = attention(query, keys, lengths=[100, 90, 80, 70, 60, 50, 1, 0], want={want})\n"
            "result.output.shape, result.weights.shape"
        )
    if part.group == "queries":
        classes, labels = (", classes=3", ", labels=torch.randint(3, (8,))") if part.id == "capsule" else ("", "")
        return start + (
            f"attention = heed.nn.Singular(64, query_dim=64{classes}, queries={_literal(part)})\n"
            f"context = attention(torch.randn(8, 100, 64), torch.randn(8, 64){labels})"
        )
    if part.group == "position":
        return start + (
            f'attention = heed.nn.SelfAttention(64, score="scaled-dot", position={_literal(part)})\n'
            "context = attention(torch.randn(8, 100, 64))"
        )
    return ""


def _literal(part: Part) -> str:
    if not part.options:
        return json.dumps(part.id)
    option = part.options[0]
    return f'{{"id": "{part.id}", "{option["name"]}": {option["default"]!r}}}'.replace("'", '"')


def _mechanism(part: Part) -> str:
    name = f"heed.nn.{part.class_name}"
    if part.id in _GRAPHS:
        relations = ', relations=["cites", "shares"]' if part.id == "het-gat" else ""
        edges = '{"cites": edges, "shares": edges}' if part.id == "het-gat" else "edges"
        return (
            f'attention = {name}({{"nodes": 64}}{relations})\n'
            "edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 3]])  # from source to target\n"
            f'nodes = attention({{"nodes": torch.randn(1, 4, 64)}}, edges={edges})'
        )
    inputs = _inputs(part)
    if len(inputs) == 1:
        query = "" if part.id not in _ASKED else ", query_dim=64"
        asked = "" if part.id not in _ASKED else ", torch.randn(8, 64)"
        return (
            f"attention = {name}(64{query})\n"
            f'context, weights, losses = attention(torch.randn(8, 100, 64){asked}, want="weights")\n'
            "context.shape, {name: tuple(w.shape) for name, w in weights.items()}"
        )
    names = ", ".join(f'"{each}"' for each in inputs)
    return (
        f"inputs = {{name: torch.randn(8, 100, 64) for name in ({names})}}\n"
        f"attention = {name}({{name: 64 for name in inputs}})\n"
        'context, weights, losses = attention(inputs, want="weights")\n'
        "context.shape, {name: tuple(w.shape) for name, w in weights.items()}"
    )


_ASKED = ("singular", "focus", "structured.chain", "structured.binomial")


def _inputs(part: Part) -> tuple[str, ...]:
    if part.id == "rotatory":
        return "left", "target", "right"
    if part.id.startswith("co."):
        return "first", "second"
    return {"via-attention": ("words", "characters"), "meta-embedding": ("glove", "fasttext")}.get(part.id, ("text",))


def examples(part: Part) -> list[str]:
    """The folders of examples/ whose config names the part."""
    name = "model" if part.group == "query" else part.group
    wanted = re.compile(rf'^{name}\s*=\s*(\{{\s*id\s*=\s*)?"{re.escape(part.id)}"', re.MULTILINE)
    return sorted(path.parent.name for path in ROOT.glob("examples/*/config.toml") if wanted.search(path.read_text()))
