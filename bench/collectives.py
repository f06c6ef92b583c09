"""What sums and ring passes cost between ranks, a latency-bandwidth model fitted to it, and its forecast.

    ninja -C build bench_collectives && .venv/bin/python bench/collectives.py --out docs/scale.json

Runs bench_collectives on 2 and 4 ranks of this machine (shared memory) and, as root, on 2 and 4 machines made of
network namespaces (TCP over veth). Prints the tables of docs/scale.md.

The model, for n bytes over N ranks: a sum takes 2·⌈log2 N⌉·α + 2·(N−1)/N·n·β (Thakur, Rabenseifner & Gropp 2005, with
the additions counted in β), a pass of the ring α + n·β. α and β are fitted, to relative errors, to what 2 ranks take:
more ranks than cores wait for a core, which no network would make them do.
"""

import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy import optimize

from tests.conftest import ROOT
from tests.dist.hosts import Hosts, obstacle
from tests.dist.ranks import mpirun

PROGRAM = ROOT / "build/bench/bench_collectives"


def rows_of(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measured():
    rows = [row | {"link": "shared memory"} for ranks in (2, 4) for row in rows_of(mpirun(ranks, PROGRAM))]
    if (reason := obstacle()) is not None:
        print(f"no machines of namespaces: {reason}")
        return rows
    for count in (2, 4):
        with tempfile.TemporaryDirectory() as folder, Hosts(count, folder) as hosts:
            rows += [row | {"link": "TCP, veth"} for row in rows_of(hosts.mpirun(PROGRAM))]
    return rows


def terms(what, ranks, size):
    """What α and β are multiplied by."""
    if what == "pass":
        return 1, size
    return 2 * math.ceil(math.log2(ranks)), 2 * (ranks - 1) / ranks * size


def fit(rows, what):
    """α in seconds, β in seconds a byte, and the typical relative error."""
    left = np.array([terms(what, row["ranks"], row["bytes"]) for row in rows], dtype=float)
    seconds = np.array([row[what] for row in rows])

    def misses(logs):
        return np.log(left @ np.exp(logs)) - np.log(seconds)

    best = np.exp(optimize.least_squares(misses, np.log([1e-5, 1e-9]), loss="soft_l1").x)
    error = np.median(np.abs(left @ best / seconds - 1))
    return {"alpha": best[0], "beta": best[1], "error": error}


def forecast(model, compute, parameters, ranks):
    """Speed-up of a step that computes so many seconds on one rank: with no part of the sum hidden behind it, and all."""
    latency, size = terms("sum", ranks, 4 * parameters)
    talk = latency * model["alpha"] + size * model["beta"] if ranks > 1 else 0
    own = compute / ranks
    return compute / (own + talk), compute / max(own, talk)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where the figures are kept")
    parser.add_argument("--read", type=Path, help="figures measured before: fits and forecasts only")
    parser.add_argument(
        "--step",
        action="append",
        default=[],
        metavar="NAME:SECONDS:PARAMETERS",
        help="a training step to forecast: what it computes on one rank, and how many gradients there are",
    )
    arguments = parser.parse_args()
    rows = json.loads(arguments.read.read_text())["rows"] if arguments.read else measured()
    links = sorted({row["link"] for row in rows})
    fits = {
        link: {w: fit([r for r in rows if r["link"] == link and r["ranks"] == 2], w) for w in ("sum", "pass")}
        for link in links
    }
    print("| link | ranks | bytes | sum, ms | model | pass, ms | model |\n|---|--:|--:|--:|--:|--:|--:|")
    for row in rows:
        cells = []
        for what in ("sum", "pass"):
            model = fits[row["link"]][what]
            latency, size = terms(what, row["ranks"], row["bytes"])
            cells += [f"{1e3 * row[what]:.3g}", f"{1e3 * (latency * model['alpha'] + size * model['beta']):.3g}"]
        print(f"| {row['link']} | {row['ranks']} | {row['bytes']} | {' | '.join(cells)} |")
    print("\n| link | what | α, µs | 1/β, GB/s | median error |\n|---|---|--:|--:|--:|")
    for link, models in fits.items():
        for what, m in models.items():
            print(f"| {link} | {what} | {1e6 * m['alpha']:.1f} | {1e-9 / m['beta']:.2f} | {100 * m['error']:.0f} % |")
    ranks = (2, 4, 8, 16, 32, 64)
    if arguments.step:
        print(f"\n| step | link | {' | '.join(f'{n} ranks' for n in ranks)} |\n|---|---|{'--:|' * len(ranks)}")
    for name, seconds, parameters in (step.split(":") for step in arguments.step):
        for link, models in fits.items():
            cells = [forecast(models["sum"], float(seconds), int(parameters), n) for n in ranks]
            print(f"| {name} | {link} | {' | '.join(f'{low:.1f}–{high:.1f}' for low, high in cells)} |")
    if arguments.out:
        arguments.out.write_text(json.dumps({"rows": rows, "fits": fits}, indent=1) + "\n")


if __name__ == "__main__":
    subprocess.run(["ninja", "-C", str(ROOT / "build"), "bench_collectives"], check=True, capture_output=True)
    main()
