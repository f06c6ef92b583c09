"""An epoch of heed's LCR-Rot-hop or HAN beside the script a PyTorch user would write, one thread each.

    .venv/bin/python bench/texts.py lcr-rot ../shared/data/absa-semeval14/restaurants.tsv [--epochs 3]
    .venv/bin/python bench/texts.py han ../shared/data/rationale-movies/reviews.jsonl [--epochs 2]

The peer: eager PyTorch, torch.nn's own layers, shuffled padded batches, frozen word vectors of the same width, torch.optim.Adam;
sizes, dropout, batch and learning rate are those of examples/semeval-lcr-rot and examples/movies-han. Epochs of the two take
turns, the least of each counts, and peak memory is that of a process of its own. Prints one JSON row.
"""

import argparse
import collections
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from heed_epoch import least_epoch, peak_mb
from torch import nn

WIDTH = 100  # of the word vectors


class Bilinear(nn.Module):
    """A query attends to states by tanh-free bilinear scores with a bias, as LCR-Rot has it."""

    def __init__(self, dim):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(dim, dim)), nn.Parameter(torch.zeros(dim))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, query, states, mask):
        scores = torch.einsum("bkd,bd->bk", states, query @ self.weight.t() + self.bias)
        weights = scores.masked_fill(~mask, -1e9).softmax(1) * mask
        return torch.einsum("bk,bkd->bd", weights, states)


class LcrRot(nn.Module):
    def __init__(self, words, labels, dim=200, hops=3):
        super().__init__()
        self.words = nn.Embedding(words, WIDTH, padding_idx=0)
        self.words.weight.requires_grad_(False)
        self.hops = hops
        self.encoders = nn.ModuleList(nn.LSTM(WIDTH, dim // 2, bidirectional=True, batch_first=True) for _ in range(3))
        self.to_left, self.to_right, self.by_left, self.by_right = (Bilinear(dim) for _ in range(4))
        self.out = nn.Linear(4 * dim, labels)

    def forward(self, parts):
        states, masks = [], []
        for ids, encoder in zip(parts, self.encoders, strict=True):
            mask = ids > 0
            lengths = mask.sum(1).clamp(min=1)
            vectors = F.dropout(self.words(ids), 0.5, self.training)
            packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
            out, _ = nn.utils.rnn.pad_packed_sequence(encoder(packed)[0], batch_first=True, total_length=ids.shape[1])
            states.append(F.dropout(out, 0.5, self.training))
            masks.append(mask)
        left, target, right = states
        mean = (target * masks[1][..., None]).sum(1) / masks[1].sum(1, keepdim=True).clamp(min=1)
        by_left = by_right = mean
        for _ in range(self.hops):
            to_left = self.to_left(by_left, left, masks[0])
            to_right = self.to_right(by_right, right, masks[2])
            by_left = self.by_left(to_left, target, masks[1])
            by_right = self.by_right(to_right, target, masks[1])
        both = torch.cat([to_left, to_right, by_left, by_right], 1)
        return self.out(F.dropout(both, 0.5, self.training))


class Additive(nn.Module):
    """A learned query attends by Bahdanau's score."""

    def __init__(self, dim):
        super().__init__()
        self.states, self.query, self.weight = (
            nn.Linear(dim, dim),
            nn.Parameter(torch.randn(dim)),
            nn.Linear(dim, 1, bias=False),
        )
        self.asked = nn.Linear(dim, dim, bias=False)

    def forward(self, states, mask):
        scores = self.weight(torch.tanh(self.states(states) + self.asked(self.query))).squeeze(-1)
        weights = scores.masked_fill(~mask, -1e9).softmax(-1) * mask
        return torch.einsum("bk,bkd->bd", weights, states)


class Han(nn.Module):
    """Yang et al. 2016 without an encoder of sentences, as the example has it."""

    def __init__(self, words, labels, dim=100):
        super().__init__()
        self.words = nn.Embedding(words, WIDTH, padding_idx=0)
        self.words.weight.requires_grad_(False)
        self.encoder = nn.GRU(WIDTH, dim // 2, bidirectional=True, batch_first=True)
        self.to_words, self.to_sentences, self.out = Additive(dim), Additive(dim), nn.Linear(dim, labels)

    def forward(self, parts):
        (ids,) = parts  # [documents, sentences, words], padded to the largest of each
        documents, sentences, words = ids.shape
        flat = ids.view(-1, words)
        mask = flat > 0
        vectors = F.dropout(self.words(flat), 0.3, self.training)
        lengths = mask.sum(1).clamp(min=1)
        packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=words)
        each = self.to_words(F.dropout(states, 0.3, self.training), mask).view(documents, sentences, -1)
        whole = self.to_sentences(each, (ids > 0).any(-1))
        return self.out(F.dropout(whole, 0.3, self.training))


def read_aspects(path):
    rows = [
        row for row in csv.DictReader(path.open(), delimiter="\t", quoting=csv.QUOTE_NONE) if row["split"] == "train"
    ]
    return [[row[name].lower().split() for name in ("left", "target", "right")] for row in rows], [
        r["label"] for r in rows
    ]


def read_documents(path):
    rows = [row for row in map(json.loads, path.open()) if row["split"] == "train"]
    return [[[sentence.lower().split() for sentence in row["sentences"]]] for row in rows], [
        row["label"] for row in rows
    ]


def number(thing, table):
    return [number(x, table) for x in thing] if isinstance(thing, list) else table[thing]


def words_of(thing):
    return [word for x in thing for word in words_of(x)] if isinstance(thing, list) else [thing]


def padded(rows):
    """Lists of numbers, or lists of such lists, as one tensor."""
    if rows and rows[0] and isinstance(rows[0][0], list):
        longest = max(len(sentence) for row in rows for sentence in row)
        result = torch.zeros(len(rows), max(map(len, rows)), longest, dtype=torch.int64)
        for i, row in enumerate(rows):
            for j, sentence in enumerate(row):
                result[i, j, : len(sentence)] = torch.tensor(sentence)
        return result
    longest = max(1, *map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def peer_epochs(kind, path, epochs):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    texts, labels = (read_aspects if kind == "lcr-rot" else read_documents)(path)
    counts = collections.Counter(words_of(texts))
    table = {word: i + 1 for i, word in enumerate(counts)}
    classes = {label: i for i, label in enumerate(sorted(set(labels)))}
    texts = number(texts, table)
    targets = torch.tensor([classes[label] for label in labels])
    model = (LcrRot if kind == "lcr-rot" else Han)(len(table) + 1, len(classes))
    batch = 32 if kind == "lcr-rot" else 16
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.001)
    best = float("inf")
    for _ in range(epochs):
        start = time.perf_counter()
        order = torch.randperm(len(texts))
        for chosen in order.split(batch):
            parts = [padded([texts[i][part] for i in chosen.tolist()]) for part in range(len(texts[0]))]
            adam.zero_grad()
            F.cross_entropy(model(parts), targets[chosen]).backward()
            adam.step()
        best = min(best, time.perf_counter() - start)
    return best, peak_mb()


def heed_epochs(kind, path, epochs):
    return least_epoch("semeval-lcr-rot" if kind == "lcr-rot" else "movies-han", path, epochs)


def measured(side, kind, path, epochs):
    """The least epoch in seconds and the peak memory in MB, of a process of its own."""
    call = [sys.executable, __file__, kind, path, "--epochs", str(epochs), "--side", side]
    return json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["lcr-rot", "han"])
    parser.add_argument("data", type=Path)
    parser.add_argument("--epochs", type=int, default=2, help="epochs of each turn")
    parser.add_argument("--turns", type=int, default=2, help="how often the two take turns")
    parser.add_argument("--side", choices=["heed", "peer"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    path = args.data.resolve()
    if args.side:
        print(json.dumps((heed_epochs if args.side == "heed" else peer_epochs)(args.kind, path, args.epochs)))
        return
    best = {"heed": [float("inf"), 0.0], "peer": [float("inf"), 0.0]}
    for _ in range(args.turns):
        for side, (seconds, memory) in best.items():
            now, used = measured(side, args.kind, path, args.epochs)
            best[side] = [min(seconds, now), max(memory, used)]
    (ours, our_mb), (theirs, their_mb) = best["heed"], best["peer"]
    row = {
        "case": f"{args.kind} epoch",
        "heed_s": round(ours, 2),
        "peer_s": round(theirs, 2),
        "ratio": round(theirs / ours, 2),
    }
    print(json.dumps(row | {"heed_mb": round(our_mb), "peer_mb": round(their_mb)}))


if __name__ == "__main__":
    main()
