"""The functional call."""

from __future__ import annotations

import collections
import functools
import json
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ._compile import attend_compiled

Part = str | Mapping[str, object]


def _new_type(names: tuple[str, ...]):
    return collections.namedtuple("AttendResult", ("output", *names))


_known_type = functools.cache(_new_type)


def _result_type(names: tuple[str, ...]):
    return _new_type(names) if torch.compiler.is_compiling() else _known_type(names)  # no caches in a graph


def _wanted(want) -> dict:
    if isinstance(want, str):
        want = (want,)
    if isinstance(want, Mapping):
        return dict(want)
    return {name: True for name in want}


def attend(
    query: Tensor | None,
    key: Tensor,
    value: Tensor,
    *,
    score: Part = "scaled-dot",
    align: Part = "soft",
    dimensionality: str = "single",
    params: Mapping[str, Tensor] | None = None,
    mask: Tensor | None = None,
    bias: Tensor | Mapping[str, object] | None = None,
    causal: bool | int | str | None = None,
    window: tuple[int, int] | None = None,
    lengths: Tensor | Sequence[int] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | None = None,
    layout: str = "bhld",
    kernel: str = "auto",
    score_mod: Callable | None = None,
    want: str | Sequence[str] | Mapping[str, object] = (),
    _offsets: Mapping[str, Tensor] | None = None,
    _group: str | None = None,
):
    """Attention with any score and alignment of the registry.

    ``query`` [batch, heads, queries, d_q], ``key`` [batch, kv_heads, keys, d_k], ``value`` [batch,
    kv_heads, keys, d_v]; or all three without the heads axis. Query heads are a multiple of key heads.
    ``mask`` is bool, true = take part; a float goes in ``bias``, which may also be
    ``{"id": "alibi", "slopes": [heads]}``. A row with nothing to attend to gives 0.

    Returns the output [batch, heads, queries, d_v]; with ``want`` a named tuple of ``output`` and what
    was asked: "weights", "scores", "lse", "logp", "entropy", "received", "kernel", or a mapping for those with a
    number: ``{"topk": 8, "rows": [0, 5]}``.

    ``score_mod(scores, batch, head, q_index, k_index)`` returns new scores. It is called on tiles: ``scores``
    [1, heads, rows, columns] with at most 256 rows and columns, in float32 (float64 for float64), and index
    tensors that broadcast to it. The order is scale, softcap, score_mod, bias, mask, align, dropout; −∞ gives
    a pair no weight. Memory is O(length), and gradients also reach tensors the function closes over, which
    must give the same for the same arguments: the backward pass calls it again. With align "soft" only.
    """
    wanted = _wanted(want)
    if score_mod is not None:
        from ._score_mod import attend_by_tiles  # which stands on this function

        options = dict(score=score, align=align, dimensionality=dimensionality, params=params, mask=mask, bias=bias)
        options |= dict(causal=causal, window=window, lengths=lengths, scale=scale, softcap=softcap, sink=sink)
        options |= dict(dropout_p=dropout_p, seed=seed, layout=layout, kernel=kernel)
        output, lse = attend_by_tiles(query, key, value, score_mod, wanted, options)
        fields = {"lse": lse, "kernel": "tiles: score_mod"}
        return _result_type(tuple(wanted))(output, *map(fields.get, wanted)) if wanted else output
    tensors: dict[str, Tensor] = {f"params.{name}": t for name, t in (params or {}).items()}
    tensors.update(_offsets or {})
    if isinstance(bias, Mapping):
        if bias.get("id") != "alibi" or set(bias) != {"id", "slopes"}:
            raise ValueError('attend: bias is a tensor, or {"id": "alibi", "slopes": one for each head}')
        tensors["alibi"] = torch.as_tensor(bias["slopes"], dtype=torch.float32)
    elif bias is not None:
        tensors["bias"] = bias
    if lengths is not None:
        tensors["lengths"] = torch.as_tensor(lengths)
    for name, tensor in (("mask", mask), ("sink", sink)):
        if tensor is not None:
            tensors[name] = tensor
    for name, tensor in {"query": query, "key": key, "value": value, **tensors}.items():
        if not isinstance(tensor, Tensor) and not (name == "query" and tensor is None):
            raise TypeError(f"attend: {name} must be a tensor, not {type(tensor).__name__}")
    call = {
        "score": score if isinstance(score, str) else dict(score),
        "align": align if isinstance(align, str) else dict(align),
        "dimensionality": dimensionality,
        "tensors": list(tensors),
        "causal": causal,
        "window": window,
        "scale": _number(scale, "scale"),
        "softcap": _number(softcap, "softcap"),
        "dropout_p": dropout_p,
        "seed": seed,
        "layout": layout,
        "kernel": kernel,
        "want": wanted,
    }
    if _group is not None:
        call["group"] = _group
    if torch.compiler.is_compiling():
        results, kernel_text = attend_compiled(query, key, value, tensors, call), None
    else:
        results, kernel_text = torch.ops.heed.attend(query, key, value, list(tensors.values()), json.dumps(call))
    if not wanted:
        return results[0]
    rest = iter(results[1:])
    fields = [
        kernel_text if name == "kernel" else (next(rest), next(rest)) if name == "topk" else next(rest)
        for name in wanted
    ]
    return _result_type(tuple(wanted))(results[0], *fields)


def attend_packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    q_offsets: Tensor | Sequence[int],
    k_offsets: Tensor | Sequence[int],
    **options,
):
    """`attend` on a ragged batch without padding.

    ``query`` [total, heads, d_q], ``key`` [total, kv_heads, d_k], ``value`` [total, kv_heads, d_v]; entry b has
    rows ``offsets[b]`` to ``offsets[b + 1]``. Options as in `attend`, but for lengths, layout and score_mod; masks
    and biases start at each entry's own first row and column. ``want`` may ask for "lse", "logp", "entropy",
    "received" ([total, heads]) and "kernel".

    >>> heed.attend_packed(q, k, v, q_offsets=[0, 3, 7], k_offsets=[0, 3, 7], causal="bottom-right")
    """
    for name in ("layout", "score_mod", "_offsets"):
        if name in options:
            raise TypeError(f"attend_packed: there is no option {name}")
    if torch.compiler.is_compiling():
        raise ValueError("attend_packed: the lengths decide the work, which torch.compile cannot know; call it outside")
    offsets = {"q_offsets": torch.as_tensor(q_offsets), "k_offsets": torch.as_tensor(k_offsets)}
    return attend(query, key, value, _offsets=offsets, **options)


def _number(value: float | None, name: str) -> float | None:
    """JSON has no infinity; refuse it here, where the argument has a name."""
    if value is not None and not abs(float(value)) < float("inf"):
        raise ValueError(f"attend: {name} is {value}; it must be finite")
    return None if value is None else float(value)
