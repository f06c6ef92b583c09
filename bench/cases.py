"""The cases of the suite: what heed runs, what the peer runs, and the least ratio we ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import entmax
import torch
import torch.nn.functional as F
from graph import peer as gat_peer
from graph import random_edges
from torch.nn.attention.flex_attention import flex_attention

import heed

SHAPES = [(2, 8, 512, 64), (1, 8, 2048, 64), (1, 4, 4096, 128), (32, 8, 64, 64), (4, 8, 333, 64)]
PLAIN = {torch.float32: (1.25, 1.2, 1.15, 1.6, 1.35), torch.bfloat16: (2.2,) * 5}
CAUSAL = {torch.float32: (2.2, 1.4, 1.25, 2.0, 2.2), torch.bfloat16: (2.4,) * 5}


@dataclass
class Case:
    name: str
    bar: float
    peer: str
    heed: Callable
    other: Callable
    flops: float = 0  # multiply-adds count two; 0: not said
    bytes: float = 0  # that have to be read; 0: not said
    tolerance: float = 1e-4  # of the largest value; 0: random, not compared
    needs_compile: bool = False


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def backward(run, leaves):
    """The call with gradients to all leaves, which it returns."""
    shape = run().shape
    grad = torch.randn(shape)

    def both():
        return torch.autograd.grad(run(), leaves, grad)

    return both


def name_of(shape):
    return "×".join(map(str, shape))


def sdpa_cases():
    for causal, bars in ((False, PLAIN), (True, CAUSAL)):
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 2e-2)):
            for shape, bar in zip(SHAPES, bars[dtype]):
                b, h, n, d = shape
                q, k, v = (rand(*shape, dtype=dtype) for _ in range(3))
                pairs = n * (n + 1) / 2 if causal else n * n
                yield Case(
                    f"{str(dtype)[6:]} forward {name_of(shape)}{' causal' if causal else ''}",
                    bar,
                    "SDPA",
                    lambda q=q, k=k, v=v, c=causal or None: heed.attend(q, k, v, causal=c),
                    lambda q=q, k=k, v=v, c=causal: F.scaled_dot_product_attention(q, k, v, is_causal=c),
                    flops=4 * b * h * pairs * d,
                    tolerance=tolerance,
                )
    for shape, bar in ((SHAPES[0], 1.3), (SHAPES[1], 1.2)):
        x = [rand(*shape).requires_grad_() for _ in range(3)]
        b, h, n, d = shape
        yield Case(
            f"float32 forward + backward {name_of(shape)}",
            bar,
            "SDPA",
            backward(lambda x=x: heed.attend(*x), x),
            backward(lambda x=x: F.scaled_dot_product_attention(*x), x),
            flops=14 * b * h * n * n * d,
            tolerance=0,  # two random gradients
        )


def option_cases():
    lengths = torch.tensor([512, 30, 400, 256, 100, 300, 200, 250])
    q, k, v = (rand(8, 8, 512, 64) for _ in range(3))
    mask = (torch.arange(512) < lengths[:, None]).view(8, 1, 1, 512)
    yield Case(
        "ragged lengths 8×8×512×64, mean half",
        2.5,
        "SDPA + mask",
        lambda: heed.attend(q, k, v, lengths=lengths),
        lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
    )
    a, b, c = (rand(1, 8, 2048, 64) for _ in range(3))
    yield Case(
        "dropout 1×8×2048×64",
        5,
        "SDPA",
        lambda: heed.attend(a, b, c, dropout_p=0.1, seed=1),
        lambda: F.scaled_dot_product_attention(a, b, c, dropout_p=0.1),
        tolerance=0,
    )
    for width in (48, 128):
        own = rand(1, 8, 2048, width)
        yield Case(
            f"value width {width} of 64, 1×8×2048×64",
            3.5,
            "SDPA",
            lambda own=own: heed.attend(a, b, own),
            lambda own=own: F.scaled_dot_product_attention(a, b, own),
        )

    def eager():
        w = torch.softmax(a @ b.mT / 8, -1)
        return w @ c, -torch.xlogy(w, w).sum(-1), w.sum(-2)

    yield Case(
        "received + entropy 1×8×2048×64",
        2,
        "eager",
        lambda: tuple(heed.attend(a, b, c, want=("entropy", "received"))),
        eager,
    )
    slopes = 2.0 ** -torch.arange(1.0, 9.0)
    flex = torch.compile(flex_attention)
    yield Case(
        "ALiBi 1×8×2048×64",
        2,
        "FlexAttention",
        lambda: heed.attend(a, b, c, bias={"id": "alibi", "slopes": slopes}),
        lambda: flex(a, b, c, score_mod=lambda s, _b, h, i, j: s - slopes[h] * (i - j).abs()),
        needs_compile=True,
    )
    near = (torch.arange(2048)[:, None] - torch.arange(2048)).abs() <= 127
    yield Case(
        "window ±127 of 2048, 1×8×2048×64",
        5,
        "SDPA + mask",
        lambda: heed.attend(a, b, c, window=(127, 127)),
        lambda: F.scaled_dot_product_attention(a, b, c, attn_mask=near),
    )
    for dtype, bar, tolerance in ((torch.float32, 1.05, 1e-4), (torch.bfloat16, 5, 2e-2)):
        q1, k1, v1 = (rand(8, 16, n, 64, dtype=dtype) for n in (1, 2048, 2048))
        yield Case(
            f"decode {str(dtype)[6:]}, 8×16 heads, 2048 keys",
            bar,
            "SDPA",
            lambda q=q1, k=k1, v=v1: heed.attend(q, k, v),
            lambda q=q1, k=k1, v=v1: F.scaled_dot_product_attention(q, k, v),
            bytes=2 * k1.numel() * k1.element_size(),
            tolerance=tolerance,
        )


def additive(q, k, v, W1, W2, w):
    return torch.softmax(torch.tanh((q @ W1.mT).unsqueeze(3) + (k @ W2.mT).unsqueeze(2)) @ w, -1) @ v


def multi(q, k, v, W1, W2, Wd):
    e = torch.tanh((q @ W1.mT).unsqueeze(3) + (k @ W2.mT).unsqueeze(2)) @ Wd
    return (torch.softmax(e, 3) * v.unsqueeze(2)).sum(3)


def additive_cases():
    for name, formula, bar, last, length, options in (
        ("additive", additive, 10, (64,), 512, {}),
        ("multi-dimensional", multi, 5, (64, 64), 128, {"dimensionality": "multi"}),
    ):
        x = [rand(8, 1, length, 64) for _ in range(3)] + [rand(64, 64) / 8, rand(64, 64) / 8, rand(*last) / 8]
        x = [t.requires_grad_() for t in x]
        names = ("W1", "W2", "w" if name == "additive" else "Wd")
        compiled = torch.compile(formula)

        def ours(x=x, names=names, options=options):
            return heed.attend(*x[:3], score="additive", params=dict(zip(names, x[3:])), **options)

        def quiet(run):
            def call():
                with torch.no_grad():
                    return run()

            return call

        label = f"{name} 8×{length}×64"
        theirs = lambda compiled=compiled, x=x: compiled(*x)  # noqa: E731
        yield Case(f"{label} forward", bar, "torch.compile", quiet(ours), quiet(theirs), needs_compile=True)
        yield Case(
            f"{label} forward + backward",
            bar,
            "torch.compile",
            backward(ours, x),
            backward(theirs, x),
            tolerance=0,
            needs_compile=True,
        )


def sparse_cases():
    q, k, v = (rand(8, 8, 512, 64) for _ in range(3))
    for name, align in (("sparsemax", entmax.sparsemax), ("entmax15", entmax.entmax15)):
        yield Case(
            f"{name} 8×8×512×64",
            12,
            "entmax package",
            lambda name=name: heed.attend(q, k, v, align=name),
            lambda align=align: align(q @ k.mT / math.sqrt(64), dim=-1) @ v,
        )


def graph_cases():
    for name, nodes, edges in (("Cora-size", 2708, 10556), ("50 k nodes, 1 M edges", 50_000, 1_000_000)):
        graph = random_edges(nodes, edges, self_loops=nodes < 10_000)
        x = [rand(nodes, 8, 8).requires_grad_(), rand(8, 8).requires_grad_(), rand(8, 8).requires_grad_()]
        prepared = heed.Graph(graph, nodes)
        yield Case(
            f"graph attention {name}, 8×8, forward + backward",
            6,
            "index_add",
            backward(lambda x=x, g=prepared: heed.graph_attend(x[0], g, a_source=x[1], a_target=x[2])[0], x),
            backward(lambda x=x, g=graph: gat_peer(x[0], g, "gat", x[1], x[2])[0], x),
            tolerance=0,
        )


def all_cases():
    for group in (sdpa_cases, option_cases, additive_cases, sparse_cases, graph_cases):
        yield from group()
