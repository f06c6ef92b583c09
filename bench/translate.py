"""Times an epoch of heed's translation models beside the script a PyTorch user would write.

    .venv/bin/python bench/translate.py --data FOLDER [--model transformer|gru] [--threads 1] [--limit 4000]

The peer is eager PyTorch: shuffled padded batches, torch.optim.Adam, torch.nn's own layers, the same sizes, batch and
precision; its GRU decoder attends a step at a time with input feeding, as Bahdanau et al. have it. Both learn from the
same lines, in words, and are validated on the same others (loss a word, without smoothing). Prints one JSON row: seconds of the
quickest epoch, target words a second, peak memory and the best validation loss of both, and the ratio.
"""

import argparse
import collections
import csv
import json
import math
import random
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from heed_epoch import peak_mb, run_measured
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
PAD, UNKNOWN, BEGIN, END = range(4)
CONFIGS = {
    "transformer": """
[feature]
model = {{ id = "transformer", heads = 4, ffn = 512 }}
dim = 128
layers = 4
dropout = 0.2
[attention]
score = "scaled-dot"
[output]
model = {{ id = "transformer", layers = 4, heads = 4, ffn = 512, beam = 1 }}
dropout = 0.2
""",
    "gru": """
[feature]
model = "bigru"
dim = 256
embedding = 128
dropout = 0.3
[attention]
score = "additive"
[output]
model = {{ id = "gru", embedding = 128, beam = 1 }}
dropout = 0.3
""",
}
TASK = """
[task]
kind = "translate"
train = "train.tsv"
val = "val.tsv"
min_count = 2
[train]
epochs = {epochs}
patience = 0
batch = 128
optimiser = "adam"
lr = 0.001
label_smoothing = 0.1
"""


class Transformer(nn.Module):
    def __init__(self, source, target, dim=128):
        super().__init__()
        self.dim = dim
        self.source, self.target = nn.Embedding(source, dim), nn.Embedding(target, dim)
        self.layers = nn.Transformer(dim, 4, 4, 4, 512, 0.2, batch_first=True, norm_first=True)
        self.out = nn.Linear(dim, target)
        place = torch.arange(512)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        self.register_buffer("places", torch.stack([place.sin(), place.cos()], -1).flatten(1))

    def embed(self, table, ids):
        return F.dropout(table(ids) * math.sqrt(self.dim) + self.places[: ids.shape[1]], 0.2, self.training)

    def forward(self, source, target):
        hidden = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        states = self.layers(
            self.embed(self.source, source),
            self.embed(self.target, target),
            tgt_mask=causal,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
        return self.out(states)


class Gru(nn.Module):
    def __init__(self, source, target, dim=256, word=128):
        super().__init__()
        self.source, self.target = nn.Embedding(source, word), nn.Embedding(target, word)
        self.encoder = nn.GRU(word, dim // 2, bidirectional=True, batch_first=True)
        self.begin = nn.Linear(dim, dim)
        self.query, self.key, self.weight = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, 1)
        self.cell = nn.GRUCell(word + dim, dim)
        self.deep, self.out = nn.Linear(2 * dim + word, word), nn.Linear(word, target)

    def forward(self, source, target):
        memory, _ = self.encoder(F.dropout(self.source(source), 0.3, self.training))
        keys, hidden = self.key(memory), (source == PAD)[..., None]
        state, words = torch.tanh(self.begin(memory.mean(1))), F.dropout(self.target(target), 0.3, self.training)
        logits = []
        for word in words.unbind(1):
            scores = self.weight(torch.tanh(self.query(state)[:, None] + keys)).masked_fill(hidden, -math.inf)
            context = (scores.softmax(1) * memory).sum(1)
            state = self.cell(torch.cat([word, context], -1), state)
            deep = torch.tanh(self.deep(torch.cat([state, context, word], -1)))
            logits.append(self.out(F.dropout(deep, 0.3, self.training)))
        return torch.stack(logits, 1)


def word_table(sentences):
    counts = collections.Counter(word for words in sentences for word in words)
    return {word: i + 4 for i, word in enumerate(w for w, n in counts.most_common() if n >= 2)}


def padded(rows):
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def peer_epochs(kind, rows, held, epochs):
    torch.manual_seed(1)
    tables = [word_table(side) for side in zip(*rows)]
    rows, held = (
        [[[table.get(word, UNKNOWN) for word in words] for words, table in zip(row, tables)] for row in part]
        for part in (rows, held)
    )
    model = {"transformer": Transformer, "gru": Gru}[kind](*(len(table) + 4 for table in tables))
    adam = torch.optim.Adam(model.parameters(), lr=0.001)

    def loss_of(chosen, **options):
        words = padded([[BEGIN, *target, END] for _, target in chosen])
        logits = model(padded([source for source, _ in chosen]), words[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten(), ignore_index=PAD, **options)

    best, loss = math.inf, math.inf
    for epoch in range(epochs):
        order = list(range(len(rows)))
        random.Random(epoch).shuffle(order)
        start = time.perf_counter()
        for i in range(0, len(order), 128):
            adam.zero_grad()
            loss_of([rows[j] for j in order[i : i + 128]], label_smoothing=0.1).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            adam.step()
        best = min(best, time.perf_counter() - start)
        model.eval()
        with torch.no_grad():
            words = sum(len(target) + 1 for _, target in held)
            parts = [held[i : i + 128] for i in range(0, len(held), 128)]
            loss = min(loss, sum(loss_of(part, reduction="sum").item() for part in parts) / words)
        model.train()
    return best, peak_mb(), loss


def heed_epochs(kind, rows, held, epochs, threads):
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("train", rows), ("val", held)):
            lines = ["text\ttarget", *("\t".join(map(" ".join, row)) for row in part)]
            Path(folder, f"{name}.tsv").write_text("\n".join(lines) + "\n")
        config = Path(folder, "config.toml")
        config.write_text((TASK + CONFIGS[kind]).format(epochs=epochs))
        command = [ROOT / "build" / "heed", "train", config, "--out", f"{folder}/run", "--threads", str(threads)]
        memory = run_measured([*command, "--quiet"])
        lines = [json.loads(line) for line in Path(folder, "run", "metrics.jsonl").read_text().splitlines()]
    passed = [line for line in lines if "epoch" in line]
    return min(line["seconds"] for line in passed), memory, min(line["val_loss"] for line in passed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with train.tok.tsv of Multi30k")
    parser.add_argument("--model", choices=CONFIGS, default="transformer")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0, help="sentences; 0 = all")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    def read(part):
        with open(args.data / f"{part}.tok.tsv", encoding="utf-8") as file:
            table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            return [(row["en"].split(), row["de"].split()) for row in table]

    rows, held = read("train")[: args.limit or None], read("val")[:200]
    words = sum(len(target) + 1 for _, target in rows)
    ours, our_mb, our_loss = heed_epochs(args.model, rows, held, args.epochs, args.threads)
    peer, peer_mb, peer_loss = peer_epochs(args.model, rows, held, args.epochs)
    print(
        json.dumps(
            {
                "case": f"{args.model}, {len(rows)} sentences, {args.threads} threads",
                "heed_seconds": round(ours, 2),
                "peer_seconds": round(peer, 2),
                "heed_words_per_second": round(words / ours),
                "peer_words_per_second": round(words / peer),
                "ratio": round(peer / ours, 2),
                "heed_mb": round(our_mb),
                "peer_mb": round(peer_mb),
                "heed_validation_loss": round(our_loss, 3),
                "peer_validation_loss": round(peer_loss, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
