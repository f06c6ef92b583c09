"""How much faster several ranks of one thread are than one: the quickest epoch of each, by the clock on the wall.

    python bench/scale.py [--ranks 2] [--repeat 3]

The two take turns, so that a busy machine slows both alike. The bar is 1.7 for two ranks.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Attention over word vectors by a feed-forward layer, and a Transformer.
EXAMPLES = {
    "feed-forward": """
[feature]
model = "embedding"
dim = 256
[attention]
score = "additive"
[train]
batch = 256
epochs = {epochs}
""",
    "transformer": """
[feature]
model = "embedding"
dim = 128
[attention]
mechanism = {{ id = "transformer", layers = 2 }}
score = "scaled-dot"
position = "sinusoidal"
queries = {{ id = "multi-head", heads = 4 }}
[train]
batch = 64
epochs = {epochs}
""",
}


def write_texts(path: Path, count: int) -> None:
    """Texts of 20 to 60 of 5000 words, the frequent ones as frequent as in real text."""
    random.seed(1)
    words = [f"w{i}" for i in range(5000)]
    chances = [1 / (i + 1) for i in range(len(words))]
    with path.open("w") as file:
        file.write("text\tlabel\tsplit\n")
        for i in range(count + 20):
            text = " ".join(random.choices(words, chances, k=random.randint(20, 60)))
            file.write(f"{text}\t{random.choice('ab')}\t{'train' if i < count else 'val'}\n")


def epoch_seconds(ranks: int, config: Path, out: Path) -> float:
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [*launcher, ROOT / "build/heed", "train", config, "--out", out, "--threads", "1", "--quiet"]
    subprocess.run(command, check=True, env={**os.environ, **root, "OMP_WAIT_POLICY": "passive"})
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return min(line["seconds"] for line in lines if "epoch" in line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3, help="trainings of each")
    parser.add_argument("--epochs", type=int, default=3, help="of a training")
    parser.add_argument("--examples", type=int, default=8192)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_texts(folder / "texts.tsv", given.examples)
        for name, text in EXAMPLES.items():
            config = folder / f"{name}.toml"
            config.write_text(f'[task]\ndata = "{folder}/texts.tsv"\n' + text.format(epochs=given.epochs))
            least = {ranks: float("inf") for ranks in (1, given.ranks)}
            for turn in range(given.repeat):
                for ranks in least:
                    seconds = epoch_seconds(ranks, config, folder / f"{name}-{ranks}-{turn}")
                    least[ranks] = min(least[ranks], seconds)
            one, several = least[1], least[given.ranks]
            print(f"{name:<14} 1 rank {one:6.2f} s  {given.ranks} ranks {several:6.2f} s  {one / several:.2f} times")


if __name__ == "__main__":
    main()
