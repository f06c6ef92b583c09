"""Scores against torch's own functions, with gradients."""

import pytest
import torch
import torch.nn.functional as F

import heed


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()


D, R = 5, 3
# id or table, parameters, the formula on q [B, H, Q, 1, D] and k [B, H, 1, K, D]
SCORES = {
    "biased-general": (
        "biased-general",
        {"W": (D, D), "b": (D,)},
        lambda q, k, p: F.bilinear(*both(k, q), p["W"].unsqueeze(0)).squeeze(-1) + k @ p["b"],
    ),
    "activated-general": (
        {"id": "activated-general", "act": "sigmoid"},
        {"W": (D, D), "b": ()},
        lambda q, k, p: (F.bilinear(*both(k, q), p["W"].unsqueeze(0)).squeeze(-1) + p["b"]).sigmoid(),
    ),
    "low-rank-bilinear": (
        "low-rank-bilinear",
        {"U": (R, D), "V": (R, D)},
        lambda q, k, p: F.bilinear(*both(k, q), (p["U"].T @ p["V"]).unsqueeze(0)).squeeze(-1),
    ),
    "cosine": ("similarity", {}, lambda q, k, p: F.cosine_similarity(q, k, -1)),
    "gaussian": (
        {"id": "similarity", "kind": "gaussian", "sigma": 0.8},
        {},
        lambda q, k, p: -torch.cdist(q.squeeze(3), k.squeeze(2)).square() / (2 * 0.8**2),
    ),
    "location": ("location", {"W": (9, D)}, lambda q, k, p: F.linear(q.squeeze(3), p["W"])[..., : k.size(3)]),
}


def both(*xs):
    return [x.contiguous() for x in torch.broadcast_tensors(*xs)]


@pytest.mark.parametrize("name", SCORES)
def test_equals_torch_with_gradients(name):
    score, shapes, formula = SCORES[name]
    q, k, v = rand(2, 2, 4, D), rand(2, 2, 6, D, seed=1), rand(2, 2, 6, 3, seed=2)
    params = {name: rand(*shape, seed=3 + i) for i, (name, shape) in enumerate(shapes.items())}
    leaves = [q, k, v, *params.values()]
    ours = heed.attend(q, k, v, score=score, params=params)
    theirs = formula(q.unsqueeze(3), k.unsqueeze(2), params).softmax(-1) @ v
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    grads = [torch.autograd.grad(x.square().sum(), leaves, materialize_grads=True) for x in (ours, theirs)]
    for a, b in zip(*grads):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


def test_a_vector_of_zeros_is_similar_to_nothing():
    q = torch.zeros(1, 2, 4, requires_grad=True)
    k = torch.randn(1, 3, 4)
    for kernel in ("fused", "reference"):
        result = heed.attend(q, k, k, score="similarity", kernel=kernel, want="scores")
        assert (result.scores == 0).all()
        (grad,) = torch.autograd.grad(heed.attend(q, k, k, score="similarity", kernel=kernel).sum(), q)
        assert grad.isfinite().all()


def test_gaussian_keeps_its_digits_far_from_zero():
    q, k = rand(1, 3, 4).detach(), rand(1, 5, 4, seed=1).detach()
    score = {"id": "similarity", "kind": "gaussian"}
    near = heed.attend(q, k, k, score=score, want="weights").weights
    far = heed.attend((q + 4096).float(), (k + 4096).float(), k.float(), score=score, want="weights").weights
    torch.testing.assert_close(far.double(), near, rtol=0.01, atol=1e-3)  # float32 rounds q and k to 2^-12 there


def test_modules_draw_in_training_only():
    keys = torch.randn(4, 12, 6)
    for align in ("hard", "reinforced"):
        module = heed.nn.Attention(6, 6, align=align)
        drawn = [module(keys[:, 0], keys) for _ in range(8)]
        assert any(not torch.equal(drawn[0], x) for x in drawn[1:])
        module.eval()
        assert torch.equal(module(keys[:, 0], keys), module(keys[:, 0], keys))
