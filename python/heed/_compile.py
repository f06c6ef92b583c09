"""What torch.compile has to know: `heed.attend` as one operator with shapes and a gradient.

Outside of a compiled graph `heed.attend` calls its composite operator, which torch looks into. Inside, the
call's names and switches are constants of the graph, and its numbers are tensors.
"""

from __future__ import annotations

import json

import torch
from torch import Tensor


def _call_text(call: dict) -> str:
    """The options as JSON, a constant of the graph."""
    return json.dumps(call)


# What torch.compiler.assume_constant_result sets; that one would import the compiler with heed, 1.4 s.
_call_text._dynamo_marked_constant = True


def _real(value: float) -> Tensor:
    # A product: torch keeps its factor a variable of the graph, where torch.full would fix it.
    return torch.ones(1, dtype=torch.float64) * value


def attend_compiled(query: Tensor | None, key: Tensor, value: Tensor, tensors: dict[str, Tensor], call: dict) -> list:
    """The results of `torch.ops.heed.attend` but for the kernel's name, in a graph that is being compiled."""
    if "kernel" in call["want"]:
        raise ValueError("attend: want 'kernel' is a text, which a compiled graph cannot return; ask outside of it")
    # torch.compile no longer takes a number for a constant once it has changed; as tensors they may change.
    numbers = {}
    align = call["align"] if isinstance(call["align"], str) else call["align"]["id"]
    if call["dropout_p"] != 0 or align in ("hard", "reinforced"):
        seed = call["seed"]
        if seed is None:
            numbers["number.seed"] = torch.randint(2**63 - 1, (1,))
        else:
            numbers["number.seed"] = torch.full((1,), seed - 2**64 if seed >= 2**63 else seed, dtype=torch.int64)
        if call["dropout_p"] != 0:
            numbers["number.dropout_p"] = _real(call["dropout_p"])
    for name in ("scale", "softcap"):
        if call[name] is not None:
            numbers["number." + name] = _real(call[name])
    causal = call["causal"]
    if isinstance(causal, int) and not isinstance(causal, bool):
        numbers["number.causal"] = torch.full((1,), causal, dtype=torch.int64)
        causal = None
    tensors = {**tensors, **numbers}
    call = {**call, "tensors": list(tensors), "causal": causal}
    call |= dict(seed=None, dropout_p=0.0, scale=None, softcap=None)
    return torch.ops.heed.attend_opaque(query, key, value, list(tensors.values()), _call_text(call))


@torch.library.register_fake("heed::attend_opaque")
def _(query, key, value, tensors, call):
    call = json.loads(call)
    heads_axis = key.dim() == 4
    inside = heads_axis and call["layout"] == "blhd"
    like = key if query is None else query
    batch, heads = key.size(0), like.size(2 if inside else 1) if heads_axis else None
    length = 1 if inside else -2
    queries, keys = 1 if query is None else query.size(length), key.size(length)

    def pairs(*sizes, dtype=value.dtype):
        return value.new_empty((batch, heads, *sizes) if heads_axis else (batch, *sizes), dtype=dtype)

    output = pairs(queries, value.size(-1))
    results = [output.transpose(1, 2) if inside else output]
    for name, asked in call["want"].items():
        if name in ("weights", "scores"):
            features = (value.size(-1),) if call["dimensionality"] == "multi" else ()
            results.append(pairs(queries, keys, *features))
        elif name in ("lse", "logp", "entropy"):
            results.append(pairs(queries, dtype=torch.float32))
        elif name == "received":
            results.append(pairs(keys, dtype=torch.float32))
        elif name == "rows":
            results.append(pairs(len(asked), keys))
        elif name == "topk":
            count = min(asked, keys)
            results += [pairs(queries, count), pairs(queries, count, dtype=torch.int64)]
    return results


@torch.library.register_fake("heed::attend_opaque_backward")
def _(query, key, value, tensors, call, gradients, needs):
    return [x.new_empty(x.shape) for x, need in zip([query, key, value, *tensors], needs) if need]


def _setup(ctx, inputs, output):
    query, key, value, tensors, call = inputs
    ctx.call, ctx.query = call, query is not None
    ctx.save_for_backward(*([query] if ctx.query else []), key, value, *tensors)


def _backward(ctx, gradients):
    query, key, value, *tensors = ctx.saved_tensors if ctx.query else (None, *ctx.saved_tensors)
    needs = [*ctx.needs_input_grad[:3], *(ctx.needs_input_grad[3] or ())]
    found = iter(torch.ops.heed.attend_opaque_backward(query, key, value, tensors, ctx.call, gradients, needs))
    every = [next(found) if need else None for need in needs]
    return *every[:3], every[3:], None


torch.library.register_autograd("heed::attend_opaque", _backward, setup_context=_setup)
