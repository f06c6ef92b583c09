"""Times heed.linear_attend beside plain PyTorch, interleaved in one process.

    PYTHONPATH=build/python python bench/linear.py [--threads 1] [--only TEXT]

The peer of `linear` is its chunked form, of `gated` with one decay a step the masked quadratic form, both in matrix
products; of the others, and of single steps, a loop over time. Each result is checked before it is timed. Prints one
JSON row a case: {case, heed_ms, peer, peer_ms, ratio, peak_share}; the peak is that of a square torch.matmul, timed in
the same rounds.
"""

import argparse
import json
import math
import time

import torch

import heed

SQUARE = torch.randn(512, 512)


def chunked(query, key, value, chunk=64):
    q, k, v = (x.unflatten(2, (-1, chunk)) for x in (query, key, value))
    added = k.mT @ v
    out = q @ (added.cumsum(2) - added) + (q @ k.mT).tril() @ v
    return out.flatten(2, 3) / math.sqrt(query.shape[-1])


def quadratic(query, key, value, decay):
    total = decay.cumsum(2)
    scores = query @ key.mT * (total - total.mT).clamp(max=0).exp()
    return scores.tril() @ value / math.sqrt(query.shape[-1])


def loop(query, key, value, decay=None, beta=None, state=None):
    if state is None:
        state = query.new_zeros(*key.shape[:2], key.shape[3], value.shape[3])
    outputs = []
    for t in range(query.shape[2]):
        k, w = key[:, :, t, :, None], value[:, :, t, None, :]
        if decay is not None:
            state = state * decay[:, :, t, :, None].exp()
        if beta is not None:
            w = beta[:, :, t, None, None] * (w - k.mT @ state)
        state = state + k * w
        outputs.append(query[:, :, t, None, :] @ state)
    return torch.cat(outputs, 2) / math.sqrt(query.shape[-1])


def best_of(functions, seconds):
    """Least time in milliseconds of each function, called in turn."""
    best = [math.inf] * len(functions)
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 3:
        for i, f in enumerate(functions):
            start = time.perf_counter()
            f()
            best[i] = min(best[i], 1e3 * (time.perf_counter() - start))
        rounds += 1
    return best


def run(name, rule, wide, shape, seconds):
    batch, heads, length, width = shape
    torch.manual_seed(0)
    given = {n: torch.randn(*shape) for n in ("query", "key", "value")}
    given["key"] = torch.nn.functional.normalize(given["key"], dim=-1)
    if "gated" in rule:
        given["decay"] = -0.1 * torch.rand(*shape[:3], width if wide else 1)
    if "delta" in rule:
        given["beta"] = torch.rand(*shape[:3])
    if length == 1:
        given["state"] = torch.randn(batch, heads, width, width)
    peer = loop if wide or "delta" in rule or length == 1 else chunked if rule == "linear" else quadratic
    leaves = {n: x.clone().requires_grad_() for n, x in given.items()}
    grad = torch.randn(*shape)
    passes = {
        "forward": lambda call: [call(**given)],
        "both": lambda call: torch.autograd.grad(call(**leaves), list(leaves.values()), grad),
    }
    products = {"forward": 3 if "delta" in rule else 2, "both": 9 if "delta" in rule else 6}
    for kind, go in passes.items():

        def ours(go=go):
            return go(lambda **x: heed.linear_attend(**x, rule=rule)[0])

        def theirs(go=go):
            return go(peer)

        for mine, want in zip(ours(), theirs()):
            error, size = (mine - want).abs().max().item(), want.abs().max().item()
            if not error <= 1e-4 * max(1.0, size):
                raise SystemExit(f"{name} {kind}: wrong result, not timed (error {error:.3g})")
        heed_ms, peer_ms, square_ms = best_of([ours, theirs, lambda: SQUARE @ SQUARE], seconds)
        flops = 2 * products[kind] * batch * heads * length * width * width
        row = {
            "case": f"{name} {kind}",
            "heed_ms": round(heed_ms, 3),
            "peer": f"eager {peer.__name__}",
            "peer_ms": round(peer_ms, 3),
            "ratio": round(peer_ms / heed_ms, 2),
            "peak_share": round(flops / heed_ms / (2 * len(SQUARE) ** 3 / square_ms), 2),
        }
        print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for shape in ((1, 8, 1024, 64), (1, 8, 1024, 128), (8, 8, 1, 64)):
        for rule, wide in (("linear", 0), ("gated", 0), ("gated", 1), ("delta", 0), ("gated-delta", 0)):
            name = f"{rule}{' wide' if wide else ''} {'x'.join(map(str, shape))}"
            if options.only in name:
                run(name, rule, wide, shape, options.seconds)


if __name__ == "__main__":
    main()
