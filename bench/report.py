"""docs/performance.md and its pictures: a table of ratios for each machine that was measured, cost and memory against length.

What was measured on a machine is kept in docs/performance/NAME.json, by its processor and SIMD target, from which the
page is made: measuring on another machine adds a table and leaves the others.
"""

import json
import math
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

LENGTHS = [1024, 2048, 4096, 8192, 16384, 32768, 65536]
PEERS_UP_TO = {"dot": 32768, "additive": 2048, "sparsemax": 8192}  # beyond it the peer's matrices do not fit

PROBE = """
import json, sys, time, torch, heed
which, side, length, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
q, k, v = (torch.randn(1, 1, length, 64) for _ in range(3))
W1, W2, w = torch.randn(64, 64) / 8, torch.randn(64, 64) / 8, torch.randn(64) / 8
def peak():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM"))
def run():
    if side == "heed":
        if which == "additive":
            return heed.attend(q, k, v, score="additive", params={"W1": W1, "W2": W2, "w": w})
        return heed.attend(q, k, v, align="soft" if which == "dot" else which)
    if which == "additive":
        return torch.softmax(torch.tanh((q @ W1.mT).unsqueeze(3) + (k @ W2.mT).unsqueeze(2)) @ w, -1) @ v
    if which == "sparsemax":
        import entmax
        return entmax.sparsemax(q @ k.mT / 8, dim=-1) @ v
    return torch.softmax(q @ k.mT / 8, -1) @ v
with torch.no_grad():
    heed.attend(q[:, :, :64], k[:, :, :64], v[:, :, :64])
    open("/proc/self/clear_refs", "w").write("5")
    before, start = peak(), time.perf_counter()
    run()
    print(json.dumps([time.perf_counter() - start, (peak() - before) / 1024]))
"""


def against_length(threads):
    """{(mechanism, side): [(length, seconds, MiB)]}, each in a process of its own."""
    rows = {}
    for which, most in PEERS_UP_TO.items():
        for side in ("heed", "eager"):
            for length in LENGTHS:
                if side == "eager" and length > most:
                    continue
                command = [sys.executable, "-c", PROBE, which, side, str(length), str(threads)]
                done = subprocess.run(command, capture_output=True, text=True, timeout=600)
                if done.returncode != 0:
                    break
                rows.setdefault((which, side), []).append((length, *json.loads(done.stdout)))
                print(which, side, length, done.stdout.strip(), file=sys.stderr)
    return rows


COLOURS = {"dot": "#0072b2", "additive": "#d55e00", "sparsemax": "#009e73"}  # apart for colour-blind eyes


def plot(rows, column, title, unit):
    """Lines on logarithmic axes as SVG: heed solid, the eager formula dashed."""
    points = [(length, row[column]) for line in rows.values() for row in line for length in [row[0]]]
    low = math.floor(math.log10(max(min(y for _, y in points), 1e-3)))
    high = math.ceil(math.log10(max(y for _, y in points)))

    def place(length, y):
        across = (math.log2(length) - 10) / 6
        up = (math.log10(max(y, 10**low)) - low) / (high - low)
        return 70 + 440 * across, 290 - 240 * up

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="340" font-family="sans-serif" font-size="12">',
        '<rect width="640" height="340" fill="white"/>',
        f'<text x="70" y="24" font-size="15">{title}, {unit}</text>',
        '<text x="240" y="332">queries = keys, width 64</text>',
    ]
    for power in range(low, high + 1):
        y = place(1024, 10**power)[1]
        parts.append(f'<path d="M70 {y:.0f}H510" stroke="#ddd"/><text x="62" y="{y + 4:.0f}" text-anchor="end">')
        parts.append(f"{10**power:g}</text>")
    for length in LENGTHS:
        x = place(length, 10**low)[0]
        parts.append(f'<text x="{x:.0f}" y="308" text-anchor="middle">{length}</text>')
    for (which, side), line in rows.items():
        spots = [place(row[0], row[column]) for row in line]
        dash = "" if side == "heed" else ' stroke-dasharray="5 4"'
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
        parts.append(f'<path d="{path}" fill="none" stroke="{COLOURS[which]}" stroke-width="2"{dash}/>')
        if side != "heed":  # its line ends inside: the name stands above, and left of the others' lines
            x, y = spots[-1]
            parts.append(
                f'<text x="{x:.0f}" y="{y - 8:.0f}" text-anchor="end" fill="{COLOURS[which]}">{which}, {side}</text>'
            )
    below = math.inf
    ends = {which: place(line[-1][0], line[-1][column]) for (which, side), line in rows.items() if side == "heed"}
    for which, (x, y) in sorted(ends.items(), key=lambda item: -item[1][1]):
        below = min(y + 4, below - 14)  # names never lie on each other
        parts.append(f'<text x="{x + 6:.0f}" y="{below:.0f}" fill="{COLOURS[which]}">{which}, heed</text>')
    return "\n".join([*parts, "</svg>\n"])


def machine():
    """The processor's name; as a cloud's names tell no generations apart, with its family and model."""
    found = dict(
        line.split("\t: ", 1)
        for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        if "\t: " in line
    )
    found = {key.strip(): value.strip() for key, value in found.items()}
    if "model name" not in found:
        return platform.machine()
    return f"{found['model name']} (family {found.get('cpu family')}, model {found.get('model')})"


def table(about):
    """The lines of one machine's section."""
    rows = about["rows"]
    lines = [
        f"## {about['machine']}, {about['target']}",
        "",
        f"Machine: {about['machine']}, {about['threads']} threads, SIMD target {about['target']}, PyTorch {about['torch']};"
        f" {about['flops']:.0f} GFLOP/s, {about['read']:.1f} GB/s.",
        f"Measured {about['date']}.",
        "",
        "| case | heed ms | peer | peer ms | ratio | bar | reached | share |",
        "|---|--:|---|--:|--:|--:|---|--:|",
    ]
    for r in rows:
        share = "" if r["peak_share"] is None else f"{100 * r['peak_share']:.0f} %"
        reached = "yes" if r["ratio"] >= r["bar"] else "**no**"
        lines.append(
            f"| {r['case']} | {r['heed_ms']:.2f} | {r['peer']} | {r['peer_ms']:.2f} | {r['ratio']:.2f} | {r['bar']:g} |"
            f" {reached} | {share} |"
        )
    met = sum(r["ratio"] >= r["bar"] for r in rows)
    return [*lines, "", f"{met} of {len(rows)} bars are reached on this machine. {about.get('note', '')}".rstrip(), ""]


def by_length(lengths):
    lines = [
        "## Cost and memory against length",
        "",
        "One head of width 64, as many keys as queries. Dashed: the formula in eager PyTorch, as far as its matrices fit."
        " Every other part's cost against length is on its page of the site (`make docs`), from docs/costs.json.",
        "",
        "![time against length](cost-by-length.svg)",
        "",
        "![memory against length](memory-by-length.svg)",
        "",
        "| mechanism | length | heed s | heed MiB | eager s | eager MiB |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for which in PEERS_UP_TO:
        peer = {row[0]: row for row in lengths.get((which, "eager"), [])}
        for length, seconds, memory in lengths.get((which, "heed"), []):
            other = peer.get(length)
            cells = f"{other[1]:.3f} | {other[2]:.0f}" if other else "– | –"
            lines.append(f"| {which} | {length} | {seconds:.3f} | {memory:.1f} | {cells} |")
    return lines


HEAD = """# Performance

Written by `tools/bench --report`: heed beside its peers in one process, interleaved, best of several, each
result compared before it is timed. Ratios above 1 mean that heed is faster. The share is that of the
machine's float32 multiply-add rate, for decoding that of one thread's reading rate, both measured in the same process;
bfloat16 may pass 100 %, as AVX-512 BF16 has twice that rate. The newest machine comes first.
"""


def write_report(docs, rows, threads, flops_peak, read_peak):
    import torch

    about = {
        "machine": machine(),
        "target": torch.ops.heed.simd_target(),
        "threads": threads,
        "torch": torch.__version__.split("+")[0],
        "flops": round(flops_peak, 1),
        "read": round(read_peak, 1),
        "date": time.strftime("%Y-%m-%d"),
        "rows": rows,
    }
    kept = docs / "performance"
    kept.mkdir(exist_ok=True)
    file = kept / f"{re.sub('[^a-z0-9]+', '-', about['machine'].lower())}.{about['target']}.json"
    if file.exists() and "note" in (before := json.loads(file.read_text())):
        about["note"] = before["note"]
    file.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    lengths = against_length(threads)
    (docs / "cost-by-length.svg").write_text(plot(lengths, 1, "Time of one forward pass", "seconds"))
    (docs / "memory-by-length.svg").write_text(plot(lengths, 2, "Memory a call adds", "MiB"))
    machines = [json.loads(path.read_text()) for path in sorted(kept.glob("*.json"))]
    lines = [line for each in sorted(machines, key=lambda m: m["date"], reverse=True) for line in table(each)]
    (docs / "performance.md").write_text("\n".join([HEAD, *lines, *by_length(lengths)]) + "\n")
