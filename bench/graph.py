"""Times heed.graph_attend beside the same formula in PyTorch's index operations, interleaved in one process.

    PYTHONPATH=build/python python bench/graph.py [--threads 2] [--only TEXT] [--seconds 3]

Forward and backward, float32, 8 heads of 8. Each result is checked before it is timed. Prints one JSON row a
case: {case, heed_ms, peer, peer_ms, ratio}.
"""

import argparse
import json
import math
import time

import torch
import torch.nn.functional as F

import heed


def peer(x, edges, score, a_source=None, a_target=None, a=None):
    """The plain way: gather, amax by scatter_reduce, exp, sums by index_add."""
    source, target = edges
    if score == "gat":
        e = F.leaky_relu((x * a_source).sum(-1)[source] + (x * a_target).sum(-1)[target], 0.2)
    else:
        e = (F.leaky_relu(x[source] + x[target], 0.2) * a).sum(-1)
    top = e.new_full(x.shape[:2], -math.inf)
    top = top.scatter_reduce(0, target[:, None].expand_as(e), e.detach(), "amax")
    p = torch.exp(e - top[target])
    weights = p / p.new_zeros(x.shape[:2]).index_add(0, target, p)[target]
    return torch.zeros_like(x).index_add(0, target, weights[..., None] * x[source]), weights


def random_edges(nodes, edges, self_loops):
    ends = torch.randint(nodes, (2, edges))
    return torch.cat([ends, torch.arange(nodes).repeat(2, 1)], 1) if self_loops else ends


def cases():
    graphs = {
        "Cora-size 2708 nodes, 10556 edges + loops": random_edges(2708, 10556, True),
        "50000 nodes, 1000000 edges": random_edges(50_000, 1_000_000, False),
    }
    for name, edges in graphs.items():
        nodes = int(edges.max()) + 1
        for score in ("gat", "gatv2"):
            x = torch.randn(nodes, 8, 8, requires_grad=True)
            names = ("a_source", "a_target") if score == "gat" else ("a",)
            vectors = {n: torch.randn(8, 8, requires_grad=True) for n in names}
            for prepared in (False, True):
                given = heed.Graph(edges, nodes) if prepared else edges
                label = f"{score} forward+backward {name}{', prepared' if prepared else ''}"
                yield label, x, edges, given, score, vectors


def both(call, x, given, score, vectors, grad):
    """One step: results and gradients."""
    for t in (x, *vectors.values()):
        t.grad = None
    out, weights = call(x, given, score=score, **vectors)
    out.backward(grad)
    return [out.detach(), weights.detach(), x.grad, *(t.grad for t in vectors.values())]


def best_of(functions, seconds, clock):
    """Least time of each function in ms, called in turn."""
    best = [math.inf] * len(functions)
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 5:
        for i, f in enumerate(functions):
            start = clock()
            f()
            best[i] = min(best[i], clock() - start)
        rounds += 1
    return [1e3 * t for t in best]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--seconds", type=float, default=3.0, help="per case")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    # One thread's own time does not count what other processes take of a busy machine.
    clock = time.thread_time if args.threads == 1 else time.perf_counter
    for label, x, edges, given, score, vectors in cases():
        if args.only not in label:
            continue
        grad = torch.randn_like(x)
        mine, theirs = (
            both(heed.graph_attend, x, given, score, vectors, grad),
            both(peer, x, edges, score, vectors, grad),
        )
        for a, b in zip(mine, theirs):
            error = (a - b).abs().max().item()
            if not error <= 1e-4 * max(1.0, b.abs().max().item()):
                raise SystemExit(f"{label}: wrong result, not timed (error {error:.3g})")
        ms = best_of(
            (
                lambda: both(heed.graph_attend, x, given, score, vectors, grad),  # noqa: B023
                lambda: both(peer, x, edges, score, vectors, grad),  # noqa: B023
            ),
            args.seconds,
            clock,
        )
        row = {"case": label, "heed_ms": round(ms[0], 3), "peer": "PyTorch index_add", "peer_ms": round(ms[1], 3)}
        print(json.dumps(row | {"ratio": round(ms[1] / ms[0], 2)}), flush=True)


if __name__ == "__main__":
    main()
