"""Alignments, additive and multi-dimensional scores against the entmax package and dense formulas."""

import entmax
import pytest
import torch

import heed

F64 = torch.float64


def inputs(*, seed=0, dtype=F64, B=2, H=3, Q=40, K=130, D=16, V=9):
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(B, H, n, d, generator=generator, dtype=F64).to(dtype) for n, d in ((Q, D), (K, D), (K, V)))
    return q, k, v


DENSE = {
    "sparsemax": lambda e: entmax.sparsemax(e, dim=-1),
    "entmax15": lambda e: entmax.entmax15(e, dim=-1),
    "entmax": lambda e: entmax.entmax_bisect(e, alpha=1.3, dim=-1, n_iter=80),
    "sigmoid": torch.sigmoid,
}
ALIGN = {"entmax": {"id": "entmax", "alpha": 1.3}}


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("name", DENSE)
def test_equals_the_entmax_package_with_gradients(name, kernel):
    x = [t.requires_grad_() for t in inputs()]
    ours = heed.attend(*x, align=ALIGN.get(name, name), scale=1.0, kernel=kernel)
    theirs = DENSE[name](x[0] @ x[1].mT) @ x[2]
    torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-9)
    grad = torch.randn(ours.shape, dtype=F64, generator=torch.Generator().manual_seed(1))
    for a, b in zip(torch.autograd.grad(ours, x, grad), torch.autograd.grad(theirs, x, grad)):
        torch.testing.assert_close(a, b, atol=1e-8, rtol=1e-8)


def test_gradient_to_alpha_equals_the_entmax_package():
    q, k, v = inputs()
    alpha = torch.tensor([1.2, 1.5, 1.9], dtype=F64, requires_grad=True)
    ours = heed.attend(q, k, v, align="entmax", params={"alpha": alpha}, kernel="fused")
    scores = q @ k.mT / 4
    full = alpha.view(1, 3, 1, 1).expand(2, 3, 40, 1)
    theirs = entmax.entmax_bisect(scores, alpha=full, dim=-1, n_iter=80) @ v
    torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-9)
    (a,) = torch.autograd.grad(ours.square().sum(), alpha)
    (b,) = torch.autograd.grad(theirs.square().sum(), alpha)
    torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["sparsemax", "entmax15"])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0, 1e4])
def test_float32_of_any_spread_stays_near_float64(name, spread):
    q, k, v = inputs(seed=3, Q=64, K=700)
    exact = DENSE[name](q @ (k * spread).mT) @ v
    got = heed.attend(q.float(), (k * spread).float(), v.float(), align=name, scale=1.0).double()
    plain = (DENSE[name](q.float() @ (k * spread).float().mT) @ v.float()).double()
    assert (got - exact).square().mean() <= 4 * (plain - exact).square().mean() + 1e-14


def test_top_k_and_hard_equal_dense_formulas():
    q, k, v = inputs(seed=5)
    scores = q @ k.mT / 4
    kept = scores.topk(7, dim=-1).indices
    mask = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, kept, True)
    dense = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1) @ v
    torch.testing.assert_close(heed.attend(q, k, v, align={"id": "top-k", "k": 7}), dense)
    best = heed.attend(q, k, v, align={"id": "hard", "mode": "argmax"}, want="logp")
    chosen = scores.argmax(-1, keepdim=True)
    torch.testing.assert_close(best.output, v.gather(2, chosen.expand(-1, -1, -1, v.size(-1))))
    logp = torch.log_softmax(scores, -1).gather(-1, chosen).squeeze(-1)
    torch.testing.assert_close(best.logp, logp.float(), atol=1e-6, rtol=1e-6)


def test_stick_breaking_gives_each_key_a_share_of_what_later_ones_left():
    q, k, v = (t.requires_grad_() for t in inputs(seed=6))
    b = torch.tensor([-1.0, 0.5, -3.0], dtype=F64, requires_grad=True)
    keep = torch.rand(2, 1, 1, 130, generator=torch.Generator().manual_seed(4)) < 0.7
    ours = heed.attend(q, k, v, align="stick-breaking", params={"beta": b}, mask=keep)
    share = torch.sigmoid(q @ k.mT / 4 + b.view(3, 1, 1)) * keep
    left, weights = torch.ones_like(share[..., 0]), []
    for place in reversed(range(130)):
        weights.insert(0, share[..., place] * left)
        left = left * (1 - share[..., place])
    theirs = torch.stack(weights, -1) @ v
    torch.testing.assert_close(ours, theirs)
    for a, c in zip(
        torch.autograd.grad(ours.square().sum(), (q, k, v, b)), torch.autograd.grad(theirs.square().sum(), (q, k, v, b))
    ):
        torch.testing.assert_close(a, c)


def test_samples_follow_the_softmax():
    q, k = torch.zeros(1, 1, 1, 4), torch.randn(1, 1, 5, 4, generator=torch.Generator().manual_seed(2))
    q[..., :] = 0.7
    rows = 20_000
    v = torch.eye(5).view(1, 1, 5, 5)
    drawn = heed.attend(q.expand(1, 1, rows, 4), k, v, align="hard", seed=11).mean(2).flatten()
    expected = torch.softmax(q @ k.mT / 2, -1).flatten()
    assert (drawn - expected).abs().max() < 4 * (0.25 / rows) ** 0.5


def test_local_p_equals_its_formula():
    q, k, v = inputs(seed=7)
    Wp, wp = torch.randn(6, 16, dtype=F64), torch.randn(6, dtype=F64)
    ours = heed.attend(q, k, v, align={"id": "local-p", "D": 5}, params={"Wp": Wp, "wp": wp})
    place = 130 * torch.sigmoid(torch.tanh(q @ Wp.mT) @ wp).unsqueeze(-1)
    offset = torch.arange(130) - place
    scores = (q @ k.mT / 4).masked_fill(offset.abs() > 5, -torch.inf)
    weights = torch.softmax(scores, -1) * torch.exp(-(offset**2) / (2 * 2.5**2))
    torch.testing.assert_close(ours, weights @ v)


@pytest.mark.parametrize("act", ["tanh", "relu", "gelu", "sigmoid", "identity"])
def test_additive_equals_its_formula_with_gradients(act):
    q, k, v = inputs(seed=9, Q=33, K=70)
    W1, W2, w, b = (torch.randn(s, dtype=F64) for s in ((12, 16), (12, 16), (12,), (12,)))
    x = [t.requires_grad_() for t in (q, k, v, W1, W2, w, b)]
    params = dict(zip(("W1", "W2", "w", "b"), x[3:]))
    f = {"gelu": torch.nn.functional.gelu, "identity": lambda t: t}.get(act) or getattr(torch, act)
    ours = heed.attend(q, k, v, score={"id": "additive", "act": act}, params=params, kernel="fused")
    hidden = f((q @ W1.mT).unsqueeze(3) + (k @ W2.mT + b).unsqueeze(2))
    theirs = torch.softmax(hidden @ w, -1) @ v
    torch.testing.assert_close(ours, theirs)
    grad = torch.randn_like(ours)
    for a, c in zip(torch.autograd.grad(ours, x, grad), torch.autograd.grad(theirs, x, grad)):
        torch.testing.assert_close(a, c)


def test_multi_dimensional_equals_its_formula_with_gradients():
    q, k, v = inputs(seed=13, Q=20, K=60)
    W1, W2, Wd = (torch.randn(s, dtype=F64) for s in ((12, 16), (12, 16), (12, 9)))
    x = [t.requires_grad_() for t in (q, k, v, W1, W2, Wd)]
    params = dict(zip(("W1", "W2", "Wd"), x[3:]))
    ours = heed.attend(q, k, v, score="additive", dimensionality="multi", params=params, kernel="fused")
    hidden = torch.tanh((q @ W1.mT).unsqueeze(3) + (k @ W2.mT).unsqueeze(2))
    theirs = (torch.softmax(hidden @ Wd, 3) * v.unsqueeze(2)).sum(3)
    torch.testing.assert_close(ours, theirs)
    grad = torch.randn_like(ours)
    for a, c in zip(torch.autograd.grad(ours, x, grad), torch.autograd.grad(theirs, x, grad)):
        torch.testing.assert_close(a, c)


def test_packed_equals_padded():
    lengths = [5, 0, 17, 64]
    offsets = [0, 5, 5, 22, 86]
    q, k, v = (torch.randn(86, 4, 8, dtype=F64) for _ in range(3))
    packed = heed.attend_packed(q, k, v, q_offsets=offsets, k_offsets=offsets, causal=True, want="lse")
    for b, n in enumerate(lengths):
        one = [t[offsets[b] : offsets[b + 1]].transpose(0, 1).unsqueeze(0) for t in (q, k, v)]
        alone = heed.attend(*one, causal=True, want="lse")
        part = slice(offsets[b], offsets[b + 1])
        assert torch.equal(packed.output[part], alone.output[0].transpose(0, 1)), n
        assert torch.equal(packed.lse[part], alone.lse[0].T), n
    with pytest.raises(ValueError, match="q_offsets run from 0 to 5; needed is 0 to 86"):
        heed.attend_packed(q, k, v, q_offsets=[0, 5], k_offsets=offsets)


def test_top_keys_come_without_the_matrix_and_are_the_matrix_s():
    q, k, v = inputs(seed=17, Q=150)
    r = heed.attend(q, k, v, want={"topk": 4, "weights": True})
    values, keys = r.weights.topk(4, dim=-1)
    torch.testing.assert_close(r.topk[0], values)
    assert torch.equal(r.topk[1], keys)


def test_a_learned_alpha_is_a_parameter():
    module = heed.nn.Attention(8, 8, align={"id": "entmax", "alpha": 1.4, "learned": True})
    assert module.alpha.item() == pytest.approx(1.4)
    module(torch.randn(2, 3, 8), torch.randn(2, 9, 8)).square().sum().backward()
    assert module.alpha.grad.abs() > 0
    assert not hasattr(heed.nn.Attention(8, 8, align="entmax"), "alpha")
