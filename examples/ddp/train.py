"""Data parallel training of a heed.nn module: torchrun --nproc-per-node 2 examples/ddp/train.py"""

import argparse

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import heed

WORDS, LENGTH, WIDTH = 20, 12, 32


class Model(nn.Module):
    """Which of the first two words of the vocabulary comes more often?"""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        heads = {"id": "multi-head", "heads": 4}
        self.attention = heed.nn.SelfAttention(WIDTH, score="scaled-dot", queries=heads, pool="mean")
        self.head = nn.Linear(self.attention.output_dim, 2)

    def forward(self, words, lengths):
        return self.head(self.attention(self.embedding(words), lengths=lengths))


def texts(count, generator):
    """Ragged texts with a clear majority, and their labels."""
    words = torch.randint(2, WORDS, (count, LENGTH), generator=generator)
    labels = torch.randint(2, (count,), generator=generator)
    places = torch.rand(count, LENGTH, generator=generator).argsort(1)
    for column, offset in ((0, 0), (1, 0), (2, 1)):  # the label's word twice, the other once
        words.scatter_(1, places[:, column : column + 1], ((labels + offset) % 2)[:, None])
    return words, torch.full((count,), LENGTH), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch", type=int, default=64, help="texts a step, of all processes together")
    options = parser.parse_args()
    torch.distributed.init_process_group("gloo")
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(Model())
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    generator = torch.Generator().manual_seed(1)  # all draw the same texts, and take their share
    for step in range(1, options.steps + 1):
        words, lengths, labels = (x.chunk(ranks)[rank] for x in texts(options.batch, generator))
        loss = nn.functional.cross_entropy(model(words, lengths), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if rank == 0 and step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    words, lengths, labels = (x.chunk(ranks)[rank] for x in texts(1000, generator))
    with torch.no_grad():
        right = (model(words, lengths).argmax(1) == labels).sum()
    torch.distributed.all_reduce(right)
    if rank == 0:
        print(f"accuracy {right.item() / 1000:.3f} on 1000 texts, {ranks} processes")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
