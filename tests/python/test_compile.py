"""heed.attend and heed.nn.Attention under torch.compile: the same numbers and gradients, in one graph."""

import json

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import heed


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


def whole(f, backend="aot_eager", **options):
    return torch.compile(f, fullgraph=True, backend=backend, **options)


def flat(result):
    """The tensors of a result, pairs of top keys and named tuples included."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in flat(part)]


def same_with_gradients(f, inputs):
    ours, theirs = flat(whole(f)(*inputs)), flat(f(*inputs))
    assert len(ours) == len(theirs)
    grads = []
    for results in (ours, theirs):
        loss = sum((t.double() * (i + 1)).square().sum() for i, t in enumerate(results) if t.is_floating_point())
        grads.append(torch.autograd.grad(loss, inputs))
    for a, b in zip(ours, theirs):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
    # Double; what is float32 by contract (log-sum-exp, entropy, received) to its own precision.
    for a, b in zip(ours, theirs):
        tolerance = 1e-12 if a.dtype == torch.float64 else 2e-6
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
    exact = all(t.dtype == torch.float64 for t in ours)
    for a, b in zip(*grads):
        torch.testing.assert_close(a, b, rtol=1e-10 if exact else 1e-5, atol=1e-10 if exact else 1e-5)


MASK = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) > 0.3
OPTIONS = {
    "plain": {},
    "masks": {"mask": MASK, "causal": "bottom-right", "window": (3, -1), "lengths": [7, 4]},
    "lengths in a tensor": {"lengths": torch.tensor([7, 4]), "causal": 2},
    "alibi": {"bias": {"id": "alibi", "slopes": [0.5, 0.25, 0.5, 0.25]}, "causal": "top-left"},
    "numbers": {"scale": 0.3, "softcap": 2.0},
    "temperature": {"align": {"id": "soft", "temperature": 2.0}},
    "wants": {"want": ("weights", "lse", "entropy", "received")},
    "wants with numbers": {"want": {"topk": 3, "rows": [0, 4]}},
    "reference": {"kernel": "reference", "want": "scores"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
@pytest.mark.parametrize("layout", ["bhld", "blhd"])
def test_equals_eager(options, layout):
    inputs = rand(2, 4, 5, 6), rand(2, 2, 7, 6), rand(2, 2, 7, 3)
    if layout == "blhd":
        inputs = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in inputs]
    same_with_gradients(lambda *x: heed.attend(*x, layout=layout, **options), inputs)


def test_every_tensor_gets_its_gradient():
    inputs = rand(2, 4, 5, 6), rand(2, 2, 7, 6), rand(2, 2, 7, 3), rand(4, 1, 7), rand(4), rand(6, 6)

    def f(q, k, v, bias, sink, W):
        return heed.attend(q, k, v, score="general", params={"W": W}, bias=bias, sink=sink)

    same_with_gradients(f, inputs)


def test_without_heads_and_without_a_query():
    same_with_gradients(lambda q, k: heed.attend(q, k, k), (rand(2, 5, 6), rand(2, 7, 6)))

    def f(k, W2, w):
        return heed.attend(None, k, k, score="additive", params={"W2": W2, "w": w})

    same_with_gradients(f, (rand(2, 7, 6), rand(4, 6), rand(4)))


@pytest.mark.parametrize("score", [p["id"] for p in heed.parts("score", built=True)])
def test_the_module_equals_eager(score):
    module = heed.nn.Attention(6, 6, score=score).double()
    query, keys = rand(2, 6), rand(2, 7, 6)
    results = []
    for m in (whole(module), module):
        out = m(query, keys, lengths=[7, 3])
        results.append([out, *torch.autograd.grad(out.square().sum(), [query, keys, *module.parameters()])])
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_inductor():
    def f(q, k):
        return heed.attend(q.tanh(), k, k, causal="bottom-right", layout="blhd")

    inputs = rand(2, 5, 4, 6), rand(2, 7, 2, 6)
    results = []
    for g in (whole(f, backend="inductor"), f):
        out = g(*inputs)
        results.append([out, *torch.autograd.grad(out.square().sum(), inputs)])
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_lengths_and_numbers_may_change_without_compiling_each_time():
    counter = CompileCounterWithBackend("aot_eager")

    def f(q, k, scale, offset):
        return heed.attend(q, k, k, scale=scale, causal=offset)

    compiled = whole(f, backend=counter, dynamic=True)
    counts = []
    for n in (3, 5, 6, 9):
        q, k = rand(2, 2, n, 4), rand(2, 2, n + 2, 4)
        torch.testing.assert_close(compiled(q, k, 1 / n, n), f(q, k, 1 / n, n), rtol=1e-12, atol=1e-12)
        counts.append(counter.frame_count)
    assert counts == counts[:1] * 4


def test_dropout_is_drawn_anew_and_the_backward_pass_repeats_it():
    q, k, v = rand(2, 2, 20, 4), rand(2, 2, 20, 4), rand(2, 2, 20, 4)
    compiled = whole(lambda q, k, v: heed.attend(q, k, v, dropout_p=0.4))
    one, two = compiled(q, k, v), compiled(q, k, v)
    assert not torch.equal(one, two)
    torch.manual_seed(3)
    first = compiled(q, k, v)
    torch.manual_seed(3)
    assert torch.equal(compiled(q, k, v), first)
    # The output is linear in the values: with the same decisions in both passes, ⟨out, g⟩ = ⟨v, dv⟩.
    g = torch.randn_like(one)
    (dv,) = torch.autograd.grad(one, v, g)
    torch.testing.assert_close((v * dv).sum(), (one * g).sum(), rtol=1e-10, atol=1e-10)


def test_a_given_seed_gives_the_bits_of_eager():
    q, k, v = rand(2, 2, 20, 4), rand(2, 2, 20, 4), rand(2, 2, 20, 4)

    def f(q, k, v, seed):
        return heed.attend(q, k, v, dropout_p=0.4, seed=seed)

    compiled = whole(f)
    for seed in (1, 2, 2**64 - 1):
        ours, theirs = compiled(q, k, v, seed), f(q, k, v, seed)
        assert torch.equal(ours, theirs)
        g = torch.randn_like(ours)
        for a, b in zip(torch.autograd.grad(ours, (q, k, v), g), torch.autograd.grad(theirs, (q, k, v), g)):
            assert torch.equal(a, b)


def test_mistakes_are_still_named():
    q, k = rand(2, 2, 3, 4), rand(2, 2, 5, 4)
    compiled = whole(lambda q, k: heed.attend(q, k, k, mask=torch.ones(3, 4, dtype=torch.bool)))
    with pytest.raises(ValueError, match="mask is 3×4"):
        compiled(q, k)
    with pytest.raises(ValueError, match="dropout_p is -0.5"):
        whole(lambda q, k: heed.attend(q, k, k, dropout_p=-0.5))(q, k)
    with pytest.raises(Exception, match="want 'kernel' is a text"):
        whole(lambda q, k: heed.attend(q, k, k, want="kernel"))(q, k)


CALL = {
    "score": "scaled-dot",
    "align": "soft",
    "dimensionality": "single",
    "tensors": [],
    "causal": None,
    "window": None,
    "scale": None,
    "softcap": None,
    "dropout_p": 0.0,
    "seed": None,
    "layout": "bhld",
    "kernel": "auto",
    "want": {},
}


@pytest.mark.parametrize(
    "change, names",
    [
        ({}, ()),
        ({"layout": "blhd"}, ("lengths",)),
        ({"want": {"topk": 2, "lse": True, "received": True}}, ("bias", "lengths")),
        ({"score": "general"}, ("params.W", "number.scale")),
    ],
)
def test_opcheck(change, names):
    tensors = {
        "bias": rand(4, 4),
        "lengths": torch.tensor([4, 2]),
        "params.W": rand(6, 6),
        "number.scale": torch.tensor([0.5], dtype=torch.float64),
    }
    call = json.dumps(CALL | change | {"tensors": list(names)})
    arguments = (rand(2, 4, 4, 6), rand(2, 4, 4, 6), rand(2, 4, 4, 6), [tensors[n] for n in names], call)
    torch.library.opcheck(torch.ops.heed.attend_opaque.default, arguments)


def test_score_mod_runs_outside_of_the_graph():
    q, table = rand(1, 2, 5, 4), rand(2)

    def f(q, table):
        return heed.attend(q * 2, q, q, score_mod=lambda s, b, h, i, j: s * table[h]).sin()

    results = []
    for g in (torch.compile(f, backend="aot_eager"), f):
        out = g(q, table)
        results.append([out, *torch.autograd.grad(out.square().sum(), [q, table])])
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
