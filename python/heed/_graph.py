"""Attention over the edges of a graph."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class GraphResult(NamedTuple):
    """What :func:`graph_attend` returns."""

    output: Tensor
    weights: Tensor


class Graph:
    """The edges of a graph, grouped for attention once and used many times.

    ``edges`` [2, E] int64: a row of sources and a row of targets, numbered from 0; duplicates and
    self-loops stay as given. ``nodes`` counts the sources, ``targets`` the targets where they are other nodes.
    """

    def __init__(self, edges: Tensor, nodes: int, targets: int | None = None):
        _check_tensor("edges", edges)
        self.edges = edges
        self.nodes = nodes
        self.targets = nodes if targets is None else targets
        self._by_target = torch.ops.heed.group_by_target(edges, self.nodes, self.targets)
        self._by_source = torch.ops.heed.group_by_source(*self._by_target[:2], self.nodes)

    def __repr__(self) -> str:
        return f"Graph({self.nodes} nodes, {self.targets} targets, {self.edges.shape[1]} edges)"


def graph_attend(
    features: Tensor,
    edges: Tensor | Graph,
    *,
    score: str = "gat",
    a_source: Tensor | None = None,
    a_target: Tensor | None = None,
    a: Tensor | None = None,
    negative_slope: float = 0.2,
    target_features: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | None = None,
    kernel: str = "auto",
) -> GraphResult:
    """Attention of each node over the sources of its in-edges; the projections are the caller's.

    ``features`` [nodes, heads, dim], ``edges`` [2, E] int64 (sources, targets) or a :class:`Graph`. For an edge
    j → i, with s = features and t = ``target_features`` [targets, heads, dim] or the features themselves:
    "gat" scores LeakyReLU(a_source · s_j + a_target · t_i), "gatv2" a · LeakyReLU(s_j + t_i), the vectors
    being [heads, dim]. The softmax is over the in-edges of i.

    Returns ``output`` [targets, heads, dim], 0 for a node without in-edges, and ``weights`` [E, heads] in the
    order of ``edges``, before dropout. Gradients flow from both.
    """
    first = _vectors(score, a_source, a_target, a)
    if kernel not in ("auto", "fused", "reference"):
        raise ValueError(f"graph_attend: kernel is '{kernel}'; one of auto, fused, reference")
    given = edges.edges if isinstance(edges, Graph) else edges
    tensors = {"features": features, "edges": given, "a_source" if score == "gat" else "a": first}
    for name, tensor in (("a_target", a_target), ("target_features", target_features)):
        if tensor is not None:
            tensors[name] = tensor
    for name, tensor in tensors.items():
        _check_tensor(name, tensor)
        if tensor.device != features.device:
            raise ValueError(
                f"graph_attend: {name} is on {tensor.device}, features is on {features.device}; they must agree"
            )
    if features.dim() != 3:
        raise ValueError(f"graph_attend: features is {_shape(features)}; needed is nodes×heads×width")
    if not 0 <= dropout_p < 1:
        raise ValueError(f"graph_attend: dropout_p is {dropout_p}; needed is 0 ≤ p < 1")
    drawn = None
    if dropout_p > 0:  # a tensor, so that a compiled call draws anew each time
        drawn = torch.randint(2**63 - 1, (1,)) if seed is None else torch.tensor([seed], dtype=torch.int64)
    targets = features if target_features is None else target_features
    if isinstance(edges, Graph) and (edges.nodes, edges.targets) != (features.shape[0], targets.shape[0]):
        raise ValueError(
            f"graph_attend: edges is {edges}, features is {_shape(features)}, the targets' rows are {_shape(targets)}; "
            "the numbers of nodes must agree"
        )
    on_cpu = features.device.type == "cpu"
    if kernel == "fused" and not on_cpu:
        raise ValueError(f"graph_attend: kernel 'fused' is for the CPU, features is on {features.device}")
    if kernel == "reference" or not on_cpu:
        return GraphResult(
            *torch.ops.heed.graph_attend_reference(
                features, target_features, first, a_target, drawn, given, negative_slope, dropout_p
            )
        )
    if isinstance(edges, Graph):
        groups = (*edges._by_target, *edges._by_source)
    else:
        groups = (*torch.ops.heed.group_by_target(edges, features.shape[0], targets.shape[0]), None, None, None)
    output, weights, _ = torch.ops.heed.graph_attend(
        features, target_features, first, a_target, drawn, *groups, negative_slope, dropout_p
    )
    return GraphResult(output, weights)


def _vectors(score: str, a_source: Tensor | None, a_target: Tensor | None, a: Tensor | None) -> Tensor:
    """The score's first vector, after a look at which were given."""
    if score == "gat":
        if a is not None:
            raise ValueError("graph_attend: score 'gat' has two vectors, a_source and a_target; a is gatv2's")
        for name, vector in (("a_source", a_source), ("a_target", a_target)):
            if vector is None:
                raise ValueError(f"graph_attend: {name} is missing; score 'gat' needs it, heads×width")
        return a_source
    if score != "gatv2":
        raise ValueError(f"graph_attend: score is '{score}'; one of gat, gatv2")
    if a_source is not None or a_target is not None:
        raise ValueError("graph_attend: score 'gatv2' has one vector, a; a_source and a_target are gat's")
    if a is None:
        raise ValueError("graph_attend: a is missing; score 'gatv2' needs it, heads×width")
    return a


def _check_tensor(name: str, value: object) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"graph_attend: {name} must be a tensor, not {type(value).__name__}")


def _shape(x: Tensor) -> str:
    return "×".join(map(str, x.shape)) or "scalar"


# What a compiler must know: the shapes of the operators' results.


@torch.library.register_fake("heed::group_by_target")
def _(edges, sources, targets):
    def make(size):
        return edges.new_empty(size, dtype=torch.int32)

    return make(targets + 1), make(edges.shape[1]), make(edges.shape[1])


@torch.library.register_fake("heed::group_by_source")
def _(in_start, in_source, sources):
    return in_start.new_empty(sources + 1), torch.empty_like(in_source), torch.empty_like(in_source)


def _working(features):
    return torch.float64 if features.dtype == torch.float64 else torch.float32


@torch.library.register_fake("heed::graph_attend")
def _(features, target_features, a_source, a_target, seed, in_start, in_source, *_):
    _, heads, width = features.shape
    targets = in_start.shape[0] - 1
    return (
        features.new_empty(targets, heads, width),
        features.new_empty(in_source.shape[0], heads),
        features.new_empty(targets, 2, heads, dtype=_working(features)),
    )


@torch.library.register_fake("heed::graph_attend_backward")
def _(
    grad_output,
    grad_weights,
    features,
    target_features,
    a_source,
    a_target,
    seed,
    state,
    graph,
    negative_slope,
    dropout_p,
    wanted,
):
    operands = (features, target_features, a_source, a_target)
    return tuple(features.new_empty(x.shape if x is not None and want else 0) for x, want in zip(operands, wanted))
