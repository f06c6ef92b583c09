"""Attention with a user's own formula on the scores, tile by tile.

Softmax is merged over the tiles of a row as in the fused kernels; the backward pass computes each tile again.
What the function closes over is found in the graph of its result (`torch.ops.heed.captured`), so gradients
reach it although it is no argument. Entries of a batch are computed one by one: an entry's numbers do not
depend on its company.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from ._attend import attend

TILE = 256  # rows and columns at most


class _Tile(NamedTuple):
    entry: int
    rows: slice
    columns: slice
    keep: Tensor | None  # bool, [1, 1 or H, rows, columns]; None: every pair takes part

    def cut(self, x: Tensor) -> Tensor:
        """This tile of a tensor that broadcasts to [B, H, Q, K]."""
        entry = slice(self.entry, self.entry + 1) if x.size(0) > 1 else slice(None)
        rows = self.rows if x.size(2) > 1 else slice(None)
        return x[entry, :, rows, self.columns if x.size(3) > 1 else slice(None)]

    def queries(self, x: Tensor) -> Tensor:
        return x[self.entry : self.entry + 1, :, self.rows]

    def keys(self, x: Tensor) -> Tensor:
        return x[self.entry : self.entry + 1, :, self.columns]


class _Operands(NamedTuple):
    """What a gradient may flow to, in rank 4."""

    query: Tensor | None
    key: Tensor
    value: Tensor
    bias: Tensor | None
    slopes: Tensor | None
    sink: Tensor | None
    params: tuple[Tensor, ...]


class _Call:
    """A checked call: which tiles there are, and how one is computed."""

    def __init__(self, x: _Operands, mask: Tensor | None, score_mod: Callable, o: Mapping):
        self.score_mod = score_mod
        self.B, self.G, self.K = x.key.shape[:3]
        self.H, self.Q = (self.G, 1) if x.query is None else x.query.shape[1:3]
        self.device = x.key.device
        self.working = torch.float64 if x.key.dtype == torch.float64 else torch.float32
        names = list(o["params"] or ())
        self.score = json.dumps({k: o[k] for k in ("score", "scale", "softcap")} | {"params": names})
        self.temperature = 1.0 if isinstance(o["align"], str) else float(o["align"].get("temperature", 1.0))
        self.dropout_p, self.seed = o["dropout_p"], o["seed"]
        if self.dropout_p > 0 and self.seed is None:
            self.seed = int(torch.randint(2**63 - 1, ()))
        self.mask = mask
        self.lengths = [self.K] * self.B if o["lengths"] is None else torch.as_tensor(o["lengths"]).tolist()
        self.causal = o["causal"] is not None and o["causal"] is not False
        self.left, self.right = o["window"] or (-1, -1)
        if o["causal"] == "bottom-right":
            self.offsets = [length - self.Q for length in self.lengths]
        else:
            whole = isinstance(o["causal"], int) and not isinstance(o["causal"], bool)
            self.offsets = [o["causal"] if whole else 0] * self.B
        # A NaN or infinity that some rows see and others do not: one row at a time keeps them apart, since
        # what is masked can then be taken out of the operands. Rare, so the plain way is good enough.
        self.poisoned = [
            not all(
                bool(t.isfinite().all())
                for t in (x.key[b, :, :n], x.value[b, :, :n], *([] if x.query is None else [x.query[b]]))
            )
            for b, n in enumerate(self.lengths)
        ]

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Entries and runs of their rows."""
        for entry in range(self.B):
            step = 1 if self.poisoned[entry] else TILE
            for first in range(0, self.Q, step):
                yield entry, slice(first, min(first + step, self.Q))

    def tiles(self, x: _Operands, entry: int, rows: slice) -> Iterator[_Tile]:
        """Those in which a pair takes part."""
        start, stop = rows.start + self.offsets[entry], rows.stop + self.offsets[entry]
        low = max(0, start - self.left) if self.left >= 0 else 0
        high = min([self.lengths[entry]] + [stop] * self.causal + [stop + self.right] * (self.right >= 0))
        if low >= high:
            return
        for first in range(low // TILE * TILE, high, TILE):
            tile = _Tile(entry, rows, slice(max(first, low), min(first + TILE, high)), None)
            tile = tile._replace(keep=self._keep(x, tile))
            if tile.keep is None or tile.keep.any():
                yield tile

    def distance(self, tile: _Tile) -> Tensor:
        """i + offset − j, [1, 1, rows, columns]."""
        i, j = self._indices(tile)
        return i + self.offsets[tile.entry] - j

    def _indices(self, tile: _Tile) -> tuple[Tensor, Tensor]:
        i = torch.arange(tile.rows.start, tile.rows.stop, device=self.device).view(1, 1, -1, 1)
        return i, torch.arange(tile.columns.start, tile.columns.stop, device=self.device).view(1, 1, 1, -1)

    def _keep(self, x: _Operands, tile: _Tile) -> Tensor | None:
        offset = self.offsets[tile.entry]
        nearest = tile.rows.start + offset - (tile.columns.stop - 1)
        farthest = tile.rows.stop - 1 + offset - tile.columns.start
        terms = []
        if self.causal and nearest < 0:
            terms.append(self.distance(tile) >= 0)
        if self.left >= 0 and farthest > self.left:
            terms.append(self.distance(tile) <= self.left)
        if self.right >= 0 and -nearest > self.right:
            terms.append(self.distance(tile) >= -self.right)
        if self.mask is not None:
            terms.append(tile.cut(self.mask))
        if x.bias is not None:
            terms.append(tile.cut(x.bias) != -torch.inf)
        if not terms:
            return None
        keep = terms[0]
        for term in terms[1:]:
            keep = keep & term
        heads = keep.size(1)
        return keep.expand(1, heads, tile.rows.stop - tile.rows.start, tile.columns.stop - tile.columns.start)

    def _apart(self, tile: _Tile) -> bool:
        return tile.keep is not None and self.poisoned[tile.entry]

    def scores(self, tile: _Tile, query: Tensor | None, key: Tensor, params) -> Tensor:
        """After scale and softcap; 0 where masked, so that score_mod meets no poison."""
        key = key.repeat_interleave(self.H // self.G, 1)
        if self._apart(tile):
            key = key.where(tile.keep.transpose(2, 3), 0.0)
            query = None if query is None else query.where(tile.keep.any(3, keepdim=True), 0.0)
        e = torch.ops.heed.scores(query, key, list(params), self.score, tile.columns.start or 0)
        return e if tile.keep is None else e.where(tile.keep, 0.0)

    def modified(self, tile: _Tile, scores: Tensor) -> Tensor:
        entry = torch.full((1, 1, 1, 1), tile.entry, device=self.device)
        head = torch.arange(self.H, device=self.device).view(1, -1, 1, 1)
        shape = scores.shape
        out = self.score_mod(scores, entry, head, *self._indices(tile))
        if not isinstance(out, Tensor) or not out.is_floating_point():
            kind = out.dtype if isinstance(out, Tensor) else type(out).__name__
            raise ValueError(f"attend: score_mod must return floating-point scores, not {kind}")
        try:
            return out.to(self.working).expand(shape)
        except RuntimeError:
            got, need = ("×".join(map(str, s)) for s in (out.shape, shape))
            raise ValueError(f"attend: score_mod returned {got}; its tile is {need}") from None

    def finished(self, tile: _Tile, x: _Operands, e: Tensor) -> Tensor:
        """After bias, temperature and mask: −∞ where masked."""
        if x.bias is not None:
            e = e + tile.cut(x.bias).to(e.dtype).where(tile.keep, 0.0)  # a masked bias may be NaN
        if x.slopes is not None:
            e = e - x.slopes.to(e.dtype).view(1, -1, 1, 1) * self.distance(tile).abs()
        if self.temperature != 1:
            e = e / self.temperature
        return e if tile.keep is None else e.where(tile.keep, -torch.inf)

    def values(self, tile: _Tile, value: Tensor) -> Tensor:
        v = tile.keys(value).to(self.working).repeat_interleave(self.H // self.G, 1)
        return v.where(tile.keep.transpose(2, 3), 0.0) if self._apart(tile) else v

    def dropout(self, tile: _Tile, weights: Tensor) -> Tensor:
        if self.dropout_p == 0:
            return weights
        seed = self.seed - 2**64 if self.seed >= 2**63 else self.seed  # an operator's integer has a sign
        rows, columns = ([s.start, s.stop] for s in (tile.rows, tile.columns))
        keep = torch.ops.heed.dropout_tile(seed, self.dropout_p, tile.entry, self.H, rows, columns)
        return weights * keep.to(weights.device, weights.dtype).div_(1 - self.dropout_p)


@torch.no_grad()
def _forward(call: _Call, x: _Operands, track: bool) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Output and log-sum-exp in the working type, and what score_mod closes over if `track`."""
    options = {"dtype": call.working, "device": call.device}
    out = torch.zeros(call.B, call.H, call.Q, x.value.size(3), **options)
    lse = torch.full((call.B, call.H, call.Q, 1), -torch.inf, **options)
    captured: list[Tensor] = []
    for entry, rows in call.blocks():
        at = slice(entry, entry + 1), slice(None), rows
        top, total, sums = lse[at].clone(), torch.zeros_like(lse[at]), torch.zeros_like(out[at])
        if x.sink is not None:
            top, total = top.copy_(x.sink.view(1, -1, 1, 1)), torch.ones_like(total)
        seen = torch.zeros_like(top, dtype=torch.bool)
        for tile in call.tiles(x, entry, rows):
            query = None if x.query is None else tile.queries(x.query)
            e = call.scores(tile, query, tile.keys(x.key), x.params)
            if track:
                with torch.enable_grad():
                    leaf = e.detach().requires_grad_()
                    e = leaf.clone()  # the function may write on it
                    first = e.grad_fn._sequence_nr()
                    modified = call.modified(tile, e)
                if modified.requires_grad:
                    captured += torch.ops.heed.captured(modified, first, [leaf, *captured])
                e = modified.detach()
            else:
                e = call.modified(tile, e)
            e = call.finished(tile, x, e)
            higher = torch.maximum(top, e.amax(-1, keepdim=True))
            base = higher.where(higher != -torch.inf, 0.0)
            shrink, weights = (top - base).exp(), (e - base).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            sums = sums * shrink + call.dropout(tile, weights) @ call.values(tile, x.value)
            top = higher
            seen |= torch.tensor(True) if tile.keep is None else tile.keep.any(-1, keepdim=True)
        out[at] = (sums / total).where(seen & (total != 0), 0.0)
        lse[at] = (top + total.log()).where(seen, -torch.inf)
    return out, lse, captured


class _Tiles(torch.autograd.Function):
    """Puts a forward pass that has run into torch's graph."""

    @staticmethod
    def forward(ctx, call, result, query, key, value, bias, slopes, sink, n_params, *tensors):
        out, lse = result
        ctx.call, ctx.n_params = call, n_params
        ctx.save_for_backward(out, lse, query, key, value, bias, slopes, sink, *tensors)
        return out.to(value.dtype), lse.squeeze(-1).float()

    @staticmethod
    def backward(ctx, grad_out, grad_lse):
        if torch.is_grad_enabled():
            raise RuntimeError("attend: score_mod has no second derivative")
        out, lse, *rest = ctx.saved_tensors
        x = _Operands(*rest[:6], tuple(rest[6 : 6 + ctx.n_params]))
        captured = rest[6 + ctx.n_params :]
        grads = _backward(ctx.call, x, captured, (out, lse), (grad_out, grad_lse), ctx.needs_input_grad[5])
        given = [*x[:6], *x.params]
        grads[: len(given)] = [None if g is None else g.to(t.dtype) for g, t in zip(grads, given)]
        return None, None, *grads[:6], None, *grads[6:]


def _backward(call: _Call, x: _Operands, captured, result, gradients, bias_too: bool) -> list:
    (out, lse), (grad_out, grad_lse) = result, gradients
    grad_out = grad_out.to(call.working)
    # dL/de = p (dp − Σ p dp), and the log-sum-exp's own derivative is p.
    less = (grad_out * out).sum(-1, keepdim=True) - grad_lse.to(call.working).unsqueeze(-1)
    base = lse.where(lse != -torch.inf, 0.0)
    grads = [None if t is None else torch.zeros_like(t, dtype=call.working) for t in (*x[:6], *x.params)]
    if not bias_too:
        grads[3] = None  # as large as all pairs
    d_query, d_key, d_value, d_bias, d_slopes, d_sink = grads[:6]
    d_captured = [None] * len(captured)
    params = [p.detach().requires_grad_() for p in x.params]
    for entry, rows in call.blocks():
        for tile in call.tiles(x, entry, rows):
            with torch.enable_grad():
                query = None if x.query is None else tile.queries(x.query).detach().requires_grad_()
                key = tile.keys(x.key).detach().requires_grad_()
                modified = call.modified(tile, call.scores(tile, query, key, params).clone())
            some = tile.queries(lse) != -torch.inf  # whatever comes from behind an empty row
            grad, minus = tile.queries(grad_out).where(some, 0.0), tile.queries(less).where(some, 0.0)
            weights = (call.finished(tile, x, modified.detach()) - tile.queries(base)).exp()
            d_values = call.dropout(tile, weights).transpose(2, 3) @ grad
            tile.keys(d_value).add_(d_values.unflatten(1, (call.G, -1)).sum(2))
            d_weights = call.dropout(tile, grad @ call.values(tile, x.value).transpose(2, 3))
            d_e = weights * (d_weights - minus) / call.temperature
            if tile.keep is not None:
                d_e = d_e.where(tile.keep, 0.0)
            if d_bias is not None:
                tile.cut(d_bias).add_(d_e.sum_to_size(tile.cut(d_bias).shape))
            if d_slopes is not None:
                d_slopes.sub_((d_e * call.distance(tile).abs()).sum((0, 2, 3)))
            if not modified.requires_grad:
                continue
            leaves = [t for t in (query, key, *params, *captured) if t is not None]
            found = iter(torch.autograd.grad(modified, leaves, d_e, retain_graph=True, allow_unused=True))
            places = [None if query is None else tile.queries(d_query), tile.keys(d_key), *grads[6:]]
            for place in places:
                d = None if place is None else next(found)
                if d is not None:
                    place.add_(d)
            for i, d in enumerate(found):
                if d is not None:
                    d_captured[i] = d if d_captured[i] is None else d_captured[i] + d
    if d_sink is not None:
        share = (x.sink.to(call.working).view(1, -1, 1, 1) - base).exp()
        d_sink.copy_((-share * less).where(lse != -torch.inf, 0.0).sum((0, 2, 3)))
    return [*grads, *d_captured]


def _check(query, key, value, wanted: dict, options: dict) -> None:
    align = options["align"] if isinstance(options["align"], str) else options["align"].get("id")
    if align != "soft":
        raise ValueError(f"attend: score_mod goes with align 'soft', not '{align}'")
    if options["dimensionality"] != "single":
        raise ValueError(f"attend: score_mod goes with dimensionality 'single', not '{options['dimensionality']}'")
    if options["kernel"] not in ("auto", "reference"):
        raise ValueError(f"attend: kernel '{options['kernel']}' cannot call score_mod; leave it to 'auto'")
    others = [name for name in wanted if name not in ("lse", "kernel")]
    if others:
        raise ValueError(f"attend: with score_mod want can hold 'lse' and 'kernel', not '{others[0]}'")

    # All else is as in a call without score_mod, and an empty batch has the same mistakes at no cost.
    def empty(x):
        return x[:0] if isinstance(x, Tensor) and x.dim() == key.dim() and x.size(0) == key.size(0) else x

    inputs = [key, value] + ([] if query is None else [query])
    right = all(isinstance(t, Tensor) and t.dim() > 0 for t in inputs) and len({len(t) for t in inputs}) == 1
    lengths = None if options["lengths"] is None else torch.as_tensor(options["lengths"])
    if right and lengths is not None:
        keys = key.size(2 if key.dim() == 4 and options["layout"] == "bhld" else 1)
        right = lengths.shape == key.shape[:1] and bool(((lengths >= 0) & (lengths <= keys)).all())
    if right:
        few = {name: empty(options[name]) for name in ("mask", "bias")}
        few["lengths"] = None if lengths is None else lengths[:0]
        try:
            attend(*map(empty, (query, key, value)), **options | few)
            return
        except ValueError:
            pass
    attend(query, key, value, **options)  # says what is wrong, with the real sizes


@torch.compiler.disable
def attend_by_tiles(query: Tensor | None, key: Tensor, value: Tensor, score_mod: Callable, wanted: dict, options: dict):
    """`heed.attend` with its other options in `options`: the output, and the log-sum-exp."""
    with torch.no_grad():
        _check(query, key, value, wanted, options)
    heads_axis = key.dim() == 4
    swap = heads_axis and options["layout"] == "blhd"

    def rank4(x):
        """[B, H, length, width]; a mask or bias of lower rank gets axes of size 1 in front."""
        if x is None:
            return None
        x = x[(None,) * (key.dim() - x.dim())]
        return x if heads_axis else x.unsqueeze(1)

    q, k, v = (t.transpose(1, 2) if swap and t is not None else rank4(t) for t in (query, key, value))
    bias, slopes = options["bias"], None
    if isinstance(bias, Mapping):
        bias, slopes = None, torch.as_tensor(bias["slopes"], dtype=torch.float32)
    params = tuple((options["params"] or {}).values())
    x = _Operands(q, k, v, rank4(bias), slopes, options["sink"], params)
    call = _Call(x, rank4(options["mask"]), score_mod, options)
    out, lse, captured = _forward(call, x, torch.is_grad_enabled())
    out, lse = _Tiles.apply(call, (out, lse), *x[:6], len(params), *params, *captured)
    if not heads_axis:
        return out.squeeze(1), lse.squeeze(1)
    return (out.transpose(1, 2) if swap else out), lse
