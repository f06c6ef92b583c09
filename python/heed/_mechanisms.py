"""The wirings of the taxonomy as modules, one class for each mechanism of the registry."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ._attend import Part
from ._registry import parts


class Traced(NamedTuple):
    """What a mechanism gives when its weights are wanted."""

    output: Tensor
    weights: dict[str, Tensor]  # by module: [batch, head, query, key]
    losses: list[Tensor]  # what it adds to the training loss


class Mechanism(torch.nn.Module):
    """A wiring of attention modules over named inputs.

    >>> module = heed.nn.Rotatory({"left": 32, "target": 32, "right": 32}, score="general")
    >>> context = module({"left": left, "target": target, "right": right}, lengths={"left": [4, 7]})
    >>> module(inputs, want="weights").weights["left"]      # what was attended to
    >>> module(inputs, replace={"left": weights})           # attend to this instead

    ``inputs`` gives each input's width; a call gives tensors [batch, length, width] under the same names.
    ``query_dim`` is the width of the query, 0 for none; ``relations`` name the kinds of edges of a graph, whose
    ``edges`` a call gives as [2, E], sources and targets; ``levels`` is how many levels of segments an input has
    (words in sentences: 1), which a call gives finest first, each as ``sizes`` [batch, segments], the positions of
    the level below in each segment, or as ``(sizes, lengths)``. Options of the mechanism itself are keywords.
    """

    mechanism = "singular"

    def __init__(
        self,
        inputs: Mapping[str, int] | int,
        *,
        query_dim: int = 0,
        classes: int = 0,
        relations: Sequence[str] = ("edges",),
        levels: Mapping[str, int] | int = 0,
        score: Part = "additive",
        align: Part = "soft",
        queries: Part = "singular",
        dimensionality: Part = "single",
        position: Part = "none",
        dropout: float = 0.0,
        **options,
    ):
        super().__init__()
        if isinstance(inputs, int):
            inputs = {"text": inputs}
        self._spec = {
            "mechanism": {"id": self.mechanism, **options},
            "score": score,
            "align": align,
            "queries": queries,
            "dimensionality": dimensionality,
            "position": position,
            "dropout": dropout,
            "inputs": dict(inputs),
            "query_dim": query_dim,
            "classes": classes,
            "relations": list(relations),
            "levels": {next(iter(inputs)): levels} if isinstance(levels, int) else dict(levels),
        }
        self._make()

    def _make(self) -> None:
        self._holder = torch.classes.heed.Mechanism(json.dumps(self._spec))
        # The same tensors as the holder's, not copies: an optimiser's step and `.to` reach both.
        for name, tensor in self._holder.parameters().items():
            tensor._is_param = True
            self._place(name).register_parameter(name.rpartition(".")[2], tensor)
        for name, tensor in self._holder.buffers().items():
            self._place(name).register_buffer(name.rpartition(".")[2], tensor)

    def _place(self, name: str) -> torch.nn.Module:
        """The submodule of a dotted name, made where it is missing."""
        module: torch.nn.Module = self
        for part in name.split(".")[:-1]:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]
        return module

    def forward(
        self,
        inputs: Mapping[str, Tensor] | Tensor,
        query: Tensor | None = None,
        *,
        lengths: Mapping[str, Tensor] | Tensor | None = None,
        levels: Mapping[str, Sequence] | Sequence | None = None,
        edges: Mapping[str, Tensor] | Tensor | None = None,
        replace: Mapping[str, Tensor] | None = None,
        labels: Tensor | None = None,
        want: str | None = None,
    ) -> Tensor | Traced:
        names = list(self._spec["inputs"])
        if isinstance(inputs, Tensor):
            inputs = {names[0]: inputs}
        if lengths is not None and not isinstance(lengths, Mapping):
            lengths = {names[0]: lengths}
        if levels is not None and not isinstance(levels, Mapping):
            levels = {names[0]: levels}
        if edges is not None and not isinstance(edges, Mapping):
            edges = {self._spec["relations"][0]: edges}
        if want not in (None, "weights"):
            raise ValueError(f"mechanism: cannot want '{want}'; it gives \"weights\"")
        lengths = {name: torch.as_tensor(value) for name, value in (lengths or {}).items()}
        output, weights, losses = self._holder.forward(
            dict(inputs),
            lengths,
            _segments(levels or {}),
            dict(edges or {}),
            query,
            dict(replace or {}),
            labels,
            want == "weights",
        )
        return Traced(output, dict(weights), losses) if want else output

    @property
    def output_dim(self) -> int:
        return self._holder.output_dim()

    def train(self, mode: bool = True):
        self._holder.train(mode)
        return super().train(mode)

    # The holder is made again and filled: a copy shares nothing with its original.
    def __getstate__(self) -> dict:
        return {"spec": self._spec, "state": self.state_dict(), "training": self.training}

    def __setstate__(self, state: dict) -> None:
        super().__init__()
        self._spec = state["spec"]
        self._make()
        self.load_state_dict(state["state"])
        self.train(state["training"])

    def __deepcopy__(self, memo) -> Mechanism:
        made = self.__class__.__new__(self.__class__)
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._spec.items() if value)


def _segments(levels: Mapping[str, Sequence]) -> dict[str, Tensor]:
    """Sizes and lengths of each level by name, as the operators take them."""
    tensors = {}
    for name, given in levels.items():
        for i, level in enumerate(given):
            both = level if isinstance(level, tuple) else (level,)
            tensors |= {f"{name}/{i}/{what}": torch.as_tensor(x) for what, x in zip(("sizes", "lengths"), both)}
    return tensors


def _class_of(part: dict) -> type[Mechanism]:
    name = "".join(word.capitalize() for word in part["id"].replace(".", "-").split("-"))
    options = "".join(f"\n    {o['name']}: {o['doc']} (default {o['default']!r})" for o in part["options"])
    doc = f"{part['title']}: {part['formula']} ({part['paper']}).\n\n{part['advice']}"
    return type(name, (Mechanism,), {"mechanism": part["id"], "__doc__": doc + options, "__module__": "heed.nn"})


CLASSES = {made.__name__: made for made in map(_class_of, parts("mechanism", built=True))}
