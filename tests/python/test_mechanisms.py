"""heed.nn.*: the wirings as torch modules."""

import copy
import pickle

import pytest
import torch

import heed

WIDTH = 8


def test_there_is_a_class_for_every_mechanism():
    for part in heed.parts("mechanism", built=True):
        name = "".join(word.capitalize() for word in part["id"].replace(".", "-").split("-"))
        made = getattr(heed.nn, name)
        assert made.mechanism == part["id"] and part["paper"] in made.__doc__


@pytest.fixture
def rotatory():
    torch.manual_seed(3)
    module = heed.nn.Rotatory({name: WIDTH for name in ("left", "target", "right")}, hops=2)
    inputs = {name: torch.randn(3, n, WIDTH) for name, n in (("left", 5), ("target", 2), ("right", 4))}
    return module, inputs


def test_rotatory_equals_its_formula(rotatory):
    module, inputs = rotatory
    parameters = dict(module.named_parameters())
    params = {}
    for name, tensor in parameters.items():
        place, _, letter = name.rpartition(".")
        params.setdefault(place, {})[letter] = tensor

    def attend(part, query, keys):
        (given,) = (p for place, p in params.items() if place.split(".")[0] == part)
        return heed.attend(query[:, None], keys, keys, score="additive", params=given, kernel="reference")[:, 0]

    names = list(dict.fromkeys(name.split(".")[0] for name in parameters))
    assert len(names) == 4, names
    left = right = inputs["target"].mean(1)
    for _ in range(2):
        of_left = attend(names[0], left, inputs["left"])
        of_right = attend(names[1], right, inputs["right"])
        left, right = attend(names[2], of_left, inputs["target"]), attend(names[3], of_right, inputs["target"])
    torch.testing.assert_close(module(inputs), torch.cat([of_left, of_right, left, right], 1))


def test_weights_can_be_seen_and_replaced(rotatory):
    module, inputs = rotatory
    seen = module(inputs, want="weights")
    assert all(w.sum(-1).allclose(torch.ones(())) for w in seen.weights.values())
    name = next(n for n in seen.weights if n.endswith("left") and "by" not in n)
    weights = torch.softmax(torch.randn_like(seen.weights[name]), -1).requires_grad_()
    changed = module(inputs, replace={name: weights})
    assert not torch.allclose(changed, seen.output)
    changed.sum().backward()
    assert weights.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="lefft"):
        module(inputs, replace={"lefft": weights})


def test_it_learns_moves_and_is_copied_like_any_module(rotatory):
    module, inputs = rotatory
    before = module(inputs).detach()
    optimiser = torch.optim.Adam(module.parameters(), 0.05)
    target = torch.randn_like(before)
    losses = []
    for _ in range(20):
        loss = (module(inputs) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    twin, thawed = copy.deepcopy(module), pickle.loads(pickle.dumps(module))
    for other in (twin, thawed):
        torch.testing.assert_close(other(inputs), module(inputs))
    with torch.no_grad():
        next(twin.parameters()).add_(1)
    assert not torch.allclose(twin(inputs), module(inputs))
    double = copy.deepcopy(module).double()
    exact = double({name: x.double() for name, x in inputs.items()})
    assert exact.dtype == torch.float64
    torch.testing.assert_close(exact.float(), module(inputs), rtol=1e-4, atol=1e-5)


def test_lengths_hide_what_is_behind_them(rotatory):
    module, inputs = rotatory
    lengths = {"left": torch.tensor([5, 2, 3]), "right": torch.tensor([1, 4, 2])}
    clean = module(inputs, lengths=lengths)
    poisoned = {name: x.clone() for name, x in inputs.items()}
    poisoned["left"][1, 2:] = torch.nan
    poisoned["right"][0, 1:] = torch.inf
    torch.testing.assert_close(module(poisoned, lengths=lengths), clean, rtol=0, atol=0)


def test_what_does_not_fit_is_an_error_with_a_reason():
    with pytest.raises(ValueError, match="did you mean 'additive'"):
        heed.nn.Singular(8, query_dim=8, score="aditive")
    with pytest.raises(ValueError, match="target"):
        heed.nn.Rotatory({"left": 8, "right": 8})
    with pytest.raises(ValueError, match="hopps"):
        heed.nn.Rotatory({"left": 8, "target": 8, "right": 8}, hopps=2)
