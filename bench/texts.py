"""An epoch of heed's LCR-Rot-hop or HAN beside the script a PyTorch user would write, one thread each.

    .venv/bin/python bench/texts.py lcr-rot ../shared/data/absa-semeval14/restaurants.tsv [--epochs 3]
    .venv/bin/python bench/texts.py han ../shared/data/rationale-movies/reviews.jsonl [--epochs 2]

The peer: eager PyTorch, torch.nn's own layers, shuffled padded batches, frozen word vectors of the same width, torch.optim.Adam;
sizes, dropout, batch and learning rate are those of examples/semeval-lcr-rot and examples/movies-han. Epochs of the two take
turns, the least of each counts, and peak memory is that of a process of its own. Both learn from the same rows with the same word
vectors (build/vectors/glove.safetensors), and are validated on the same others after each epoch, outside the time. Prints one JSON row.
"""

import argparse
import collections
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from heed_epoch import ROOT, epochs_of, peak_mb
from torch import nn

WIDTH = 100  # of the word vectors


def run_packed(layer, vectors, mask):
    """A recurrent layer over what is there."""
    lengths = mask.sum(1).clamp(min=1)
    packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=mask.shape[1])[0]


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
            out = run_packed(encoder, F.dropout(self.words(ids), 0.5, self.training), mask)
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
    """Yang et al. 2016."""

    def __init__(self, words, labels, dim=100):
        super().__init__()
        self.words = nn.Embedding(words, WIDTH, padding_idx=0)
        self.words.weight.requires_grad_(False)
        self.encoder = nn.GRU(WIDTH, dim // 2, bidirectional=True, batch_first=True)
        self.across = nn.GRU(dim, dim // 2, bidirectional=True, batch_first=True)
        self.to_words, self.to_sentences, self.out = Additive(dim), Additive(dim), nn.Linear(dim, labels)

    def forward(self, parts):
        (ids,) = parts  # [documents, sentences, words], padded to the largest of each
        documents, sentences, words = ids.shape
        flat = ids.view(-1, words)
        mask = flat > 0
        states = run_packed(self.encoder, F.dropout(self.words(flat), 0.3, self.training), mask)
        each = self.to_words(F.dropout(states, 0.3, self.training), mask).view(documents, sentences, -1)
        there = (ids > 0).any(-1)
        whole = self.to_sentences(run_packed(self.across, each, there), there)
        return self.out(F.dropout(whole, 0.3, self.training))


def split_rows(kind, path, folder):
    """The training part as two files that both sides read: what is learned from, and what is validated on."""
    lines = path.read_text().splitlines()
    if kind == "lcr-rot":
        head, rows = lines[0], [line for line in lines[1:] if line.endswith("\ttrain")]
        parts = {"train": [row for i, row in enumerate(rows) if i % 10], "val": rows[::10]}
        parts = {part: [head, *chosen] for part, chosen in parts.items()}
    else:
        parts = {part: [line for line in lines if json.loads(line)["split"] == part] for part in ("train", "val")}
    for part, chosen in parts.items():
        (folder / f"{part}{path.suffix}").write_text("\n".join(chosen) + "\n")


def read_aspects(path):
    rows = list(csv.DictReader(path.open(), delimiter="\t", quoting=csv.QUOTE_NONE))
    return [[row[name].lower().split() for name in ("left", "target", "right")] for row in rows], [
        r["label"] for r in rows
    ]


def read_documents(path):
    rows = list(map(json.loads, path.open()))
    return [[[sentence.lower().split() for sentence in row["sentences"]]] for row in rows], [
        row["label"] for row in rows
    ]


def published_vectors(table):
    """Rows for the words of `table`, from the vectors that heed was given; small random numbers where they lack a word."""
    with (ROOT / "build" / "vectors" / "glove.safetensors").open("rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        begin = file.tell()

        def part(name):
            first, last = head[name]["data_offsets"]
            file.seek(begin + first)
            return file.read(last - first)

        places = {word: i for i, word in enumerate(part("words").decode().splitlines())}
        vectors = torch.frombuffer(bytearray(part("vectors")), dtype=torch.float32).view(-1, WIDTH)
    rows = torch.empty(len(table) + 1, WIDTH).uniform_(-0.25, 0.25)
    rows[0] = 0
    for word, row in table.items():
        if word in places:
            rows[row] = vectors[places[word]]
    return rows


def number(thing, table):
    return [number(x, table) for x in thing] if isinstance(thing, list) else table.get(thing, 1)


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


def peer_epochs(kind, folder, epochs):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    suffix, read = (".tsv", read_aspects) if kind == "lcr-rot" else (".jsonl", read_documents)
    (texts, labels), (held, answers) = (read(folder / f"{part}{suffix}") for part in ("train", "val"))
    table = {word: i + 2 for i, word in enumerate(collections.Counter(words_of([texts, held])))}  # 1: unknown
    classes = {label: i for i, label in enumerate(sorted(set(labels)))}
    texts, held = number(texts, table), number(held, table)
    targets, answers = (torch.tensor([classes[label] for label in each]) for each in (labels, answers))
    model = (LcrRot if kind == "lcr-rot" else Han)(len(table) + 2, len(classes))
    model.words.weight.data.copy_(published_vectors({"": 1} | table))
    batch = 32 if kind == "lcr-rot" else 16
    decay = 0.0001 if kind == "lcr-rot" else 0
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.001, weight_decay=decay)

    def parts_of(rows):
        return [padded([row[part] for row in rows]) for part in range(len(rows[0]))]

    best, right = float("inf"), 0.0
    for _ in range(epochs):
        start = time.perf_counter()
        order = torch.randperm(len(texts))
        for chosen in order.split(batch):
            adam.zero_grad()
            F.cross_entropy(model(parts_of([texts[i] for i in chosen.tolist()])), targets[chosen]).backward()
            adam.step()
        best = min(best, time.perf_counter() - start)
        model.eval()
        with torch.no_grad():
            said = [model(parts_of(held[i : i + batch])).argmax(1) for i in range(0, len(held), batch)]
        right = max(right, (torch.cat(said) == answers).float().mean().item())
        model.train()
    return {"seconds": best, "mb": peak_mb(), "validation": right}


def heed_epochs(kind, folder, epochs):
    example, suffix = ("semeval-lcr-rot", ".tsv") if kind == "lcr-rot" else ("movies-han", ".jsonl")
    return epochs_of(example, {part: folder / f"{part}{suffix}" for part in ("train", "val")}, epochs, "accuracy")


def measured(side, kind, folder, epochs):
    """What a process of its own says of so many epochs."""
    call = [sys.executable, __file__, kind, folder, "--epochs", str(epochs), "--side", side]
    return json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["lcr-rot", "han"])
    parser.add_argument("data", type=Path)
    parser.add_argument("--epochs", type=int, default=2, help="epochs of each turn")
    parser.add_argument("--turns", type=int, default=2, help="how often the two take turns")
    parser.add_argument("--side", choices=["heed", "peer"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        print(json.dumps((heed_epochs if args.side == "heed" else peer_epochs)(args.kind, args.data, args.epochs)))
        return
    turns = {"heed": [], "peer": []}
    with tempfile.TemporaryDirectory() as scratch:
        split_rows(args.kind, args.data.resolve(), Path(scratch))
        for _ in range(args.turns):
            for side, seen in turns.items():
                seen.append(measured(side, args.kind, scratch, args.epochs))
    row = {"case": f"{args.kind}, {args.epochs} epochs"}
    for side, seen in turns.items():
        row[f"{side}_s"] = round(min(turn["seconds"] for turn in seen), 2)
        row[f"{side}_mb"] = round(max(turn["mb"] for turn in seen))
        row[f"{side}_validation"] = round(max(turn["validation"] for turn in seen), 4)
    print(json.dumps(row | {"ratio": round(row["peer_s"] / row["heed_s"], 2)}))


if __name__ == "__main__":
    main()
