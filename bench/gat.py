"""An epoch of heed's GAT on Cora beside the script a PyTorch user would write, one thread each.

    .venv/bin/python bench/gat.py ../shared/data/graph-cora [--epochs 200]

The peer: eager PyTorch, row-normalised dense features, gather / scatter attention over edges, torch.optim.Adam. The
model, sizes, dropout and learning rate are those of examples/cora. An epoch is one step over the whole graph. The peer
is timed by its own processor time, heed by the clock on the wall: on a busy machine the ratio is too low, never too
high. Least of all epochs, the peak memory of both and the best validation accuracy. Prints one JSON row.
"""

import argparse
import json
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from heed_epoch import epochs_of, peak_mb
from torch import nn


class GatLayer(nn.Module):
    """Veličković et al. 2018, eq. 3, on a list of edges."""

    def __init__(self, inputs, heads, width, average):
        super().__init__()
        self.heads, self.width, self.average = heads, width, average
        self.project = nn.Linear(inputs, heads * width, bias=False)
        self.a_source, self.a_target = (nn.Parameter(torch.empty(1, heads, width)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(width if average else heads * width))
        for weight in (self.project.weight, self.a_source, self.a_target):
            nn.init.xavier_uniform_(weight)

    def forward(self, x, source, target):
        x = F.dropout(x, 0.6, self.training)
        h = self.project(x).view(-1, self.heads, self.width)
        e = F.leaky_relu((h * self.a_source).sum(-1)[source] + (h * self.a_target).sum(-1)[target], 0.2)
        top = e.new_full((len(h), self.heads), -torch.inf)
        top = top.scatter_reduce(0, target[:, None].expand_as(e), e.detach(), "amax")
        p = torch.exp(e - top[target])
        weights = p / p.new_zeros(top.shape).index_add(0, target, p)[target]
        weights = F.dropout(weights, 0.6, self.training)
        out = torch.zeros_like(h).index_add(0, target, weights[..., None] * h[source])
        return (out.mean(1) if self.average else out.flatten(1)) + self.bias


class Gat(nn.Module):
    def __init__(self, words, classes):
        super().__init__()
        self.first, self.second = GatLayer(words, 8, 8, False), GatLayer(64, 1, classes, True)

    def forward(self, x, source, target):
        return self.second(F.elu(self.first(x, source, target)), source, target)


def read_cora(folder):
    rows = [line.split("\t") for line in (folder / "nodes.tsv").read_text().splitlines()[1:]]
    x = torch.zeros(len(rows), 1433)
    for i, row in enumerate(rows):
        x[i, [int(word) for word in row[3].split()]] = 1
    pairs = torch.tensor([[int(n) for n in e.split("\t")] for e in (folder / "edges.tsv").read_text().splitlines()[1:]])
    loops = torch.arange(len(rows)).repeat(2, 1)
    edges = torch.cat([pairs.t(), pairs.t().flip(0), loops], 1)
    train, held = (torch.tensor([row[2] == part for row in rows]) for part in ("train", "val"))
    return x / x.sum(1, keepdim=True).clamp(min=1), torch.tensor([int(row[1]) for row in rows]), edges, train, held


def peer_epoch(folder, epochs):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, labels, (source, target), train, held = read_cora(folder)
    model = Gat(x.shape[1], 7)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    best, right = float("inf"), 0.0
    for _ in range(epochs):
        start = time.process_time()
        optimiser.zero_grad()
        F.cross_entropy(model(x, source, target)[train], labels[train]).backward()
        optimiser.step()
        best = min(best, time.process_time() - start)
        model.eval()
        with torch.no_grad():
            said = model(x, source, target).argmax(1)
        right = max(right, (said == labels)[held].float().mean().item())
        model.train()
    return best, right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=200)
    args = parser.parse_args()
    ours = epochs_of("cora", {"data": args.folder.resolve()}, args.epochs, "accuracy")
    theirs, right = peer_epoch(args.folder, args.epochs)
    row = {"case": "GAT epoch, Cora", "heed_ms": round(1e3 * ours["seconds"], 2), "peer_ms": round(1e3 * theirs, 2)}
    row |= {"ratio": round(theirs / ours["seconds"], 2), "heed_mb": round(ours["mb"]), "peer_mb": round(peak_mb())}
    row |= {"heed_validation": round(ours["validation"], 4), "peer_validation": round(right, 4)}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
