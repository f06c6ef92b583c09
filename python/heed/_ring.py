"""One long sequence over the processes of a torch.distributed group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed
from torch import Tensor

from ._attend import Part, attend


def _name(group) -> str:
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        raise ValueError("ring: there is no process group; call torch.distributed.init_process_group first")
    return (torch.distributed.group.WORLD if group is None else group).group_name


_name._dynamo_marked_constant = True  # of a compiled graph, as in _compile.py


def ring_attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    group=None,
    score: Part = "scaled-dot",
    params: Mapping[str, Tensor] | None = None,
    bias: Mapping[str, object] | None = None,
    causal: bool | int | str | None = None,
    window: tuple[int, int] | None = None,
    lengths: Tensor | Sequence[int] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    layout: str = "bhld",
    want: str | Sequence[str] = (),
):
    """`attend` where each process holds a part of the sequence, as `ring_split` gives it.

    Keys and values go round the processes of ``group`` (default: all), and what each query has seen is merged
    exactly: the result is this process's part of what `attend` gives on the whole, and so are the gradients.
    Memory is O(length / processes). ``causal``, ``window`` and ``lengths`` (valid keys of each entry) count in
    the whole sequence; ``bias`` may be ``{"id": "alibi", "slopes": [heads]}``; ``want`` may ask for "lse" and
    "kernel". All processes make the same calls, backward passes included.

    >>> q, k, v = (heed.ring_split(x, 2) for x in (q, k, v))
    >>> heed.ring_attend(q, k, v, causal=True)
    """
    options = dict(score=score, params=params, bias=bias, causal=causal, window=window, lengths=lengths)
    options |= dict(scale=scale, softcap=softcap, layout=layout, want=want)
    return attend(query, key, value, _group=_name(group), **options)


def ring_split(whole: Tensor, dim: int, *, group=None) -> Tensor:
    """This process's part of a whole tensor: of 2 N chunks along ``dim``, the r-th from either end.

    Both ends, because under a causal mask late queries have more to see than early ones.
    """
    return torch.ops.heed.ring_split(whole, dim, _name(group))


def ring_join(part: Tensor, dim: int, *, group=None) -> Tensor:
    """The whole, at every process, from what `ring_split` gave each; without a gradient."""
    return torch.ops.heed.ring_join(part, dim, _name(group))


def ring_positions(length: int, *, group=None) -> Tensor:
    """Which positions of a sequence of this length `ring_split` gives this process."""
    return torch.ops.heed.ring_positions(length, _name(group))
