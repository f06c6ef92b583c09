"""heed beside its peers: interleaved in one process, results compared before timing, best of several.

    python bench/bench.py [--threads 2] [--only TEXT] [--seconds 2] [--report]

Prints a JSON row for each case: {case, heed_ms, peer, peer_ms, ratio, bar, peak_share}. The peak is the machine's own
multiply-add rate, or for decoding the rate it reads memory at, measured in the same process. --report also measures
memory against length and writes docs/performance.md.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import torch
from cases import all_cases

ROOT = Path(__file__).parent.parent


def flat(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def check(case):
    for mine, other in zip(flat(case.heed()), flat(case.other())):
        error = (mine.double() - other.double()).abs().max().item()
        if case.tolerance and not error <= case.tolerance * max(1.0, other.double().abs().max().item()):
            raise SystemExit(f"{case.name}: wrong result, not timed (error {error:.3g})")


def best_of(functions, seconds):
    """Least time of each function, called in turn."""
    best = [math.inf] * len(functions)
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 5:
        for i, f in enumerate(functions):
            start = time.perf_counter()
            f()
            best[i] = min(best[i], time.perf_counter() - start)
        rounds += 1
    return [1e3 * t for t in best]


def peaks(threads):
    flops, read = torch.ops.heed.peaks()
    if not (1 < flops < 2000 and 0.5 < read < 2000):
        raise SystemExit(f"a peak probe says {flops:.0f} GFLOP/s or {read:.0f} GB/s: it was optimised away")
    return flops * threads, read


def measure(case, seconds, flops_peak, read_peak):
    check(case)
    mine, theirs = best_of((case.heed, case.other), seconds)
    share = None
    if case.flops:
        share = round(case.flops / (mine * 1e6) / flops_peak, 3)
    elif case.bytes:
        share = round(case.bytes / (mine * 1e6) / read_peak, 3)
    return {
        "case": case.name,
        "heed_ms": round(mine, 3),
        "peer": case.peer,
        "peer_ms": round(theirs, 3),
        "ratio": round(theirs / mine, 2),
        "bar": case.bar,
        "peak_share": share,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="per case")
    parser.add_argument("--report", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    flops_peak, read_peak = peaks(args.threads)
    print(f"peak {flops_peak:.0f} GFLOP/s, one thread reads {read_peak:.1f} GB/s", file=sys.stderr)
    rows = []
    for case in all_cases():
        if args.only not in case.name:
            continue
        rows.append(measure(case, args.seconds, flops_peak, read_peak))
        print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    if args.report:
        from report import write_report

        write_report(ROOT / "docs", rows, args.threads, flops_peak, read_peak)


if __name__ == "__main__":
    main()
