"""local-p finds the place: a generated task where only the window round it matters."""

import pytest
import torch

import heed

LENGTH, CLASSES, WIDTH = 20, 4, 16


def batch(size, generator):
    """Random classes at all positions; the query says, in curves, at which one the answer stands."""
    classes = torch.randint(CLASSES, (size, LENGTH), generator=generator)
    place = torch.randint(LENGTH, (size,), generator=generator)
    x = torch.nn.functional.one_hot(classes, WIDTH).float()
    x += 0.1 * torch.randn(x.shape, generator=generator)
    at = place[:, None] / LENGTH
    query = torch.cat([at, 1 - at, *(torch.sin(k * torch.pi * at) for k in range(1, 7))], 1)
    return x, query, classes.gather(1, place[:, None])[:, 0], place


def learn(align, seed):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    attention = heed.nn.Singular({"text": WIDTH}, query_dim=8, score="general", align=align)
    output = torch.nn.Linear(WIDTH, CLASSES)
    optimiser = torch.optim.Adam([*attention.parameters(), *output.parameters()], 0.02)
    for _ in range(500):
        x, query, label, _ = batch(128, generator)
        loss = torch.nn.functional.cross_entropy(output(attention({"text": x}, query)), label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    attention.eval()
    with torch.no_grad():
        x, query, label, place = batch(1000, generator)
        context, weights, _ = attention({"text": x}, query, want="weights")
        (weights,) = weights.values()
    weights = weights[:, 0, 0]
    centre = (weights * torch.arange(LENGTH)).sum(1) / weights.sum(1)
    return (output(context).argmax(1) == label).float().mean().item(), (centre - place).abs().mean().item()


# Seeds 1 to 6: accuracy 0.56 to 0.58, distance 0.28 to 0.57; soft attention 0.34 to 0.39, about 4.9. A narrower
# window reads better where it lands (D = 2: 0.76 to 0.81) but one seed in four does not find the place.
@pytest.mark.parametrize("seed", [1, 2])
def test_local_p_finds_the_place_and_soft_attention_cannot(seed):
    accuracy, distance = learn({"id": "local-p", "D": 4}, seed)
    soft, far = learn("soft", seed)
    assert accuracy >= soft + 0.1, (accuracy, soft)
    assert distance < 0.8 and far > 3, (distance, far)
