"""Modules with learned parameters over `heed.attend`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ._attend import Part, attend
from ._mechanisms import CLASSES, Mechanism

# One class for each mechanism of the registry: Rotatory, CoParallel, Hierarchical …
globals().update(CLASSES)
__all__ = ["Attention", "Mechanism", *CLASSES]


def _named(part: Part) -> str | dict:
    return part if isinstance(part, str) else dict(part)


class Attention(torch.nn.Module):
    """Score, alignment and combination with their parameters, named as in the formulas.

    >>> module = heed.nn.Attention(query_dim=8, key_dim=16, score={"id": "additive", "hidden": 32})
    >>> context = module(query, keys, lengths=lengths)

    ``query`` [batch, queries, query_dim], or [batch, query_dim] for one query; ``keys`` [batch, keys,
    key_dim]; ``values`` default to the keys. ``query_dim=0`` makes a module without a query.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        value_dim: int | None = None,
        *,
        score: Part = "scaled-dot",
        align: Part = "soft",
        dimensionality: str = "single",
        dropout: float = 0.0,
    ):
        super().__init__()
        self.score, self.align, self.dropout = _named(score), _named(align), dropout
        self.dimensionality = dimensionality
        call = json.dumps({"score": self.score, "align": self.align, "dimensionality": dimensionality})
        infos = json.loads(torch.ops.heed.parameters(call, query_dim, key_dim, value_dim or key_dim))
        self._names = [info["name"] for info in infos]
        for info in infos:
            self.register_parameter(info["name"], torch.nn.Parameter(_initial(info)))

    def forward(self, query: Tensor | None, keys: Tensor, values: Tensor | None = None, **options):
        single = query is None or query.dim() == 2
        if query is not None and single:
            query = query.unsqueeze(1)
        params = {name: getattr(self, name) for name in self._names}
        options.setdefault("dropout_p", self.dropout if self.training else 0.0)
        align = self.align
        if not self.training and (align if isinstance(align, str) else align["id"]) in ("hard", "reinforced"):
            align = {**({"id": align} if isinstance(align, str) else align), "mode": "argmax"}
        result = attend(
            query,
            keys,
            keys if values is None else values,
            score=self.score,
            align=align,
            dimensionality=self.dimensionality,
            params=params,
            **options,
        )
        if not single:
            return result
        if isinstance(result, Tensor):
            return result.squeeze(1)
        return result._replace(output=result.output.squeeze(1))

    def extra_repr(self) -> str:
        return f"score={self.score!r}, align={self.align!r}"


def _initial(info: Mapping) -> Tensor:
    shape, init = info["shape"], info["init"]
    if init == "constant":
        return torch.full(shape, info["value"])
    if init == "ones":
        return torch.ones(shape)
    value = torch.zeros(shape)
    if init == "xavier" and len(shape) >= 2:
        return torch.nn.init.xavier_uniform_(value)
    if init == "xavier" and shape:
        bound = 1 / math.sqrt(shape[-1])
        return value.uniform_(-bound, bound)
    return value
