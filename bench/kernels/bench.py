"""Times heed's dot kernels beside torch's scaled_dot_product_attention, interleaved in one process.

    python bench/kernels/bench.py BUILD/…/libheed_kernels_bench.so [--threads 2] [--only TEXT]

Each result is checked before it is timed. Prints one JSON row a case:
{case, heed_ms, peer, peer_ms, ratio, peak_share}.
"""

import argparse
import ctypes
import glob
import json
import math
import os
import sys
import time


def share_openmp_runtime():
    """Starts again with torch's own OpenMP runtime loaded first, so that both sides share one pool."""
    if os.environ.get("HEED_BENCH_SHARED"):
        return
    import importlib.util

    root = os.path.dirname(importlib.util.find_spec("torch").origin)
    found = glob.glob(root + "/lib/libgomp*") + glob.glob(root + "/../torch.libs/libgomp*")
    env = dict(os.environ, HEED_BENCH_SHARED="1")
    if found:
        env["LD_PRELOAD"] = found[0]
    os.execve(sys.executable, [sys.executable] + sys.argv, env)


share_openmp_runtime()
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

POINTERS = ("query key value mask lengths out state grad_out grad_query grad_key grad_value entropy received").split()


class Case(ctypes.Structure):
    _fields_ = (
        [(n, ctypes.c_int64) for n in "type batch heads kv_heads queries keys width value_width causal".split()]
        + [("dropout", ctypes.c_double)]
        + [(n, ctypes.c_void_p) for n in POINTERS]
    )


TYPES = {torch.float32: 0, torch.float64: 1, torch.bfloat16: 2, torch.float16: 3}


class Problem:
    def __init__(
        self, lib, shape, dtype=torch.float32, causal=False, lengths=None, value_width=None, dropout=0.0, queries=None
    ):
        b, h, n, d = shape
        v = value_width or d
        m = queries or n

        def make(rows, width):
            return torch.randn(b, h, rows, width).to(dtype)

        self.lib, self.causal, self.dropout, self.shape = lib, causal, dropout, (b, h, m, n, d, v)
        self.query, self.key, self.value, self.grad_out = make(m, d), make(n, d), make(n, v), make(m, v)
        self.out = torch.empty_like(self.grad_out)
        self.state = torch.empty(b, h, m, 2, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
        self.grad_query, self.grad_key, self.grad_value = map(torch.empty_like, (self.query, self.key, self.value))
        self.entropy, self.received = torch.empty(b, h, m), torch.empty(b, h, n)
        self.lengths = None if lengths is None else torch.tensor(lengths, dtype=torch.int64)
        self.mask = None
        self.case = Case(
            TYPES[dtype],
            b,
            h,
            h,
            m,
            n,
            d,
            v,
            int(causal),
            dropout,
            *[t.data_ptr() if (t := getattr(self, name)) is not None else None for name in POINTERS],
        )
        self.bool_mask = None
        if self.lengths is not None:
            self.bool_mask = (
                (torch.arange(n)[None] < self.lengths[:, None])[:, None, None, :].expand(b, 1, m, n).contiguous()
            )

    def heed_forward(self):
        self.lib.heed_bench_forward(ctypes.byref(self.case))

    def heed_backward(self):
        self.lib.heed_bench_backward(ctypes.byref(self.case))

    def heed_both(self):
        self.heed_forward()
        self.heed_backward()

    def heed_reductions(self):
        self.heed_forward()
        self.lib.heed_bench_reductions(ctypes.byref(self.case))

    def torch_forward(self):
        return F.scaled_dot_product_attention(
            self.query, self.key, self.value, attn_mask=self.bool_mask, dropout_p=self.dropout, is_causal=self.causal
        )

    def torch_both(self):
        for t in (self.query, self.key, self.value):
            t.requires_grad_(True)
            t.grad = None
        self.torch_forward().backward(self.grad_out)

    def torch_reductions(self):
        w = torch.softmax(self.query @ self.key.mT / math.sqrt(self.shape[4]), -1)
        return w @ self.value, -torch.xlogy(w, w).sum(-1), w.sum(-2)

    def flops(self, products):
        b, h, m, n, d, v = self.shape
        pairs = m * n if not self.causal else sum(min(i + 1, n) for i in range(m))
        return products * (d + v) * b * h * pairs


def close(name, mine, other, tolerance):
    error = (mine.double() - other.double()).abs().max().item()
    bound = tolerance * max(1.0, other.double().abs().max().item())
    if not error <= bound:
        raise SystemExit(f"{name}: wrong result, not timed (error {error:.3g})")


def best_of(functions, seconds, clock):
    """Least time of each function, called in turn."""
    for f in functions:
        f()
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


SHAPES = [(2, 8, 512, 64), (1, 8, 2048, 64), (1, 4, 4096, 128), (32, 8, 64, 64), (4, 8, 333, 64)]


def name_of(shape):
    return "x".join(map(str, shape))


def cases(lib):
    for causal in (False, True):
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
            for shape in SHAPES:
                p = Problem(lib, shape, dtype, causal)
                label = f"{str(dtype)[6:]} forward {name_of(shape)}{' causal' if causal else ''}"

                def check(p=p, label=label, tolerance=tolerance):
                    p.heed_forward()
                    close(label, p.out, p.torch_forward(), tolerance)

                yield label, p, check, p.heed_forward, "SDPA", p.torch_forward, 2
    for causal in (False, True):
        for shape in ((2, 8, 512, 64), (1, 8, 2048, 64)):
            p = Problem(lib, shape, causal=causal)
            label = f"float32 forward+backward {name_of(shape)}{' causal' if causal else ''}"

            def check(p=p, label=label):
                p.heed_both()
                p.torch_both()
                for mine, t in ((p.grad_query, p.query), (p.grad_key, p.key), (p.grad_value, p.value)):
                    close(label, mine, t.grad, 1e-4)

            yield label, p, check, p.heed_both, "SDPA", p.torch_both, 7
    p = Problem(lib, (8, 8, 512, 64), lengths=[512, 30, 400, 256, 100, 300, 200, 250])

    def check_ragged(p=p):
        p.heed_forward()
        close("ragged", p.out, p.torch_forward(), 1e-5)

    yield "float32 forward ragged 8x8x512x64", p, check_ragged, p.heed_forward, "SDPA + mask", p.torch_forward, 2
    p = Problem(lib, (1, 8, 2048, 64), dropout=0.1)
    yield "float32 forward dropout 1x8x2048x64", p, p.heed_forward, p.heed_forward, "SDPA", p.torch_forward, 2
    p = Problem(lib, (1, 8, 2048, 64), value_width=128)

    def check_wide(p=p):
        p.heed_forward()
        close("value width", p.out, p.torch_forward(), 1e-5)

    yield "float32 forward value width 128, 1x8x2048x64", p, check_wide, p.heed_forward, "SDPA", p.torch_forward, 2
    p = Problem(lib, (1, 8, 2048, 64))

    def check_reductions(p=p):
        p.heed_reductions()
        out, entropy, received = p.torch_reductions()
        (
            close("out", p.out, out, 1e-5),
            close("entropy", p.entropy, entropy, 1e-5),
            close("received", p.received, received, 1e-5),
        )

    yield (
        "float32 received + entropy 1x8x2048x64",
        p,
        check_reductions,
        p.heed_reductions,
        "eager",
        p.torch_reductions,
        2,
    )
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
        p = Problem(lib, (8, 16, 2048, 64), dtype, queries=1)

        def check_decode(p=p, tolerance=tolerance):
            p.heed_forward()
            close("decode", p.out, p.torch_forward(), tolerance)

        yield f"{str(dtype)[6:]} decode 8x16x2048x64", p, check_decode, p.heed_forward, "SDPA", p.torch_forward, 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="per case")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    # One thread's own time does not count what other processes take of a busy machine.
    clock = time.thread_time if args.threads == 1 else time.perf_counter
    lib = ctypes.CDLL(os.path.abspath(args.library))
    lib.heed_bench_peak.restype = ctypes.c_double
    peak = lib.heed_bench_peak() * args.threads
    if not 1 < peak / args.threads < 2000:
        raise SystemExit(f"the peak probe says {peak:.0f} GFLOP/s: it was optimised away")
    for label, p, check, heed, peer, other, products in cases(lib):
        if args.only not in label:
            continue
        check()
        mine, theirs = best_of((heed, other), args.seconds, clock)
        print(
            json.dumps(
                {
                    "case": label,
                    "heed_ms": round(mine, 3),
                    "peer": peer,
                    "peer_ms": round(theirs, 3),
                    "ratio": round(theirs / mine, 2),
                    "peak_share": round(p.flops(products) / (mine * 1e6) / peak, 3),
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
