"""Linear attention."""

from __future__ import annotations

import torch
from torch import Tensor


def linear_attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    rule: str = "linear",
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    state: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention by a state S that each step changes by its key and value, then answers from.

    ``query`` [batch, heads, length, d_k], ``key`` [batch, kv_heads, length, d_k], ``value`` [batch, kv_heads,
    length, d_v]; query heads are a multiple of key heads and share their state. The step of each ``rule``:

    - ``"linear"``: S ← S + k⊗v
    - ``"gated"``: S ← e^g S + k⊗v
    - ``"delta"``: S ← S + β k⊗(v − Sᵀk)
    - ``"gated-delta"``: S ← e^g S, then as delta

    ``decay`` is g, in log space, [batch, kv_heads, length, d_k] or [batch, kv_heads, length, 1]; ``beta`` is β,
    [batch, kv_heads, length]. ``state`` is S before the first step, [batch, kv_heads, d_k, d_v], float32 (float64
    for float64 inputs); None = zeros. ``scale`` multiplies the output; None = 1/√d_k.

    Returns the output scale·qᵀS, [batch, heads, length, d_v], and the state after the last step. Gradients flow to
    every tensor from both.
    """
    given = {"query": query, "key": key, "value": value, "decay": decay, "beta": beta, "state": state}
    for name, tensor in given.items():
        if not isinstance(tensor, Tensor) and not (tensor is None and name in ("decay", "beta", "state")):
            raise TypeError(f"linear_attend: {name} must be a tensor, not {type(tensor).__name__}")
    # The kernels are for the CPU; other devices take the same steps in torch's own operations.
    run = torch.ops.heed.linear_forward if key.device.type == "cpu" else torch.ops.heed.linear_reference
    return run(query, key, value, rule, decay, beta, state, scale)


@torch.library.register_fake("heed::linear_forward")
def _(query, key, value, rule, decay, beta, state, scale):
    working = torch.float64 if key.dtype == torch.float64 else torch.float32
    return (
        query.new_empty(*query.shape[:3], value.shape[3]),
        key.new_empty(*key.shape[:2], key.shape[3], value.shape[3], dtype=working),
    )


@torch.library.register_fake("heed::linear_backward")
def _(grad_output, grad_state, query, key, value, rule, decay, beta, state, scale, wanted):
    operands = (query, key, value, decay, beta, state)
    return [x.new_empty(x.shape) for x, want in zip(operands, wanted) if want]
