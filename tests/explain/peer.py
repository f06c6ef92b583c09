"""A classifier with additive attention in plain PyTorch, from a run's files: what heed's importances are held against."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file

OFFSET = 2  # padding and the unknown word come before the vocabulary


class Peer(torch.nn.Module):
    """Word vectors, a BiLSTM, one additive attention with a learned query, a softmax."""

    def __init__(self, run: Path):
        super().__init__()
        weights = {name: tensor.double() for name, tensor in load_file(run / "weights.safetensors").items()}
        info = json.loads((run / "vocabulary.json").read_text())
        self.labels = info["labels"]
        self.index = {word: i + OFFSET for i, word in enumerate(info["vocabulary"]["words"])}
        self.table = weights["encoder.words.table"]
        width, hidden = self.table.shape[1], weights["encoder.feature.rnn.weight_hh_l0"].shape[1]
        self.rnn = torch.nn.LSTM(width, hidden, bidirectional=True, batch_first=True).double()
        self.rnn.load_state_dict(
            {
                name.removeprefix("encoder.feature.rnn."): tensor
                for name, tensor in weights.items()
                if name.startswith("encoder.feature.rnn.")
            }
        )
        at = "attention.attention.attention."
        self.W1, self.W2, self.w, self.b = (weights[at + name] for name in ("W1", "W2", "w", "b"))
        self.query, self.out, self.bias = weights["query"], weights["output.weight"], weights["output.bias"]

    def vectors(self, tokens: list[str]) -> torch.Tensor:
        return self.table[[self.index.get(token, 1) for token in tokens]]

    def attend(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.rnn(vectors.unsqueeze(0))[0].squeeze(0)
        scores = torch.tanh(self.W1 @ self.query + features @ self.W2.T + self.b) @ self.w
        return features, torch.softmax(scores, 0)

    def decide(self, features: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.out @ (weights @ features) + self.bias, 0)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return self.decide(*self.attend(vectors))


def importances(peer: Peer, tokens: list[str]) -> dict[str, list[float]]:
    x = peer.vectors(tokens).clone().requires_grad_(True)
    features, weights = peer.attend(x)
    held = weights.detach()
    p = peer.decide(features, weights)
    best = int(p.argmax())

    def gradient(of: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(of, at, retain_graph=True)[0]

    fixed = peer.decide(features, held)
    at_words = sum((gradient(fixed[c], x) * x).sum(-1).abs() for c in range(len(p)))
    through = gradient(p[best], x)
    path = torch.zeros_like(x)
    for step in range(32):
        point = ((step + 0.5) / 32 * x.detach()).requires_grad_(True)
        path += torch.autograd.grad(peer(point)[best], point)[0]
    without = []
    for i in range(len(tokens)):
        rest = [token for k, token in enumerate(tokens) if k != i] or tokens[:1]
        without.append((peer(peer.vectors(rest)) - p).abs().sum() / 2)
    leaf = held.clone().requires_grad_(True)
    found = {
        "attention": held,
        "gradient": at_words / at_words.sum(),
        "gradient-norm": through.norm(dim=-1),
        "gradient-input": (through * x).sum(-1),
        "integrated-gradients": (path / 32 * x).sum(-1),
        "leave-one-out": torch.stack(without),
        "attention-gradient": torch.autograd.grad(peer.decide(features.detach(), leaf)[best], leaf)[0] * held,
    }
    return {name: values.detach().tolist() for name, values in found.items()}
