"""heed.attend against PyTorch's own attention, and the Python face of the contract."""

import math

import pytest
import torch
import torch.nn.functional as F

import heed

torch.manual_seed(0)


def rand(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype)


def sdpa(q, k, v, mask=None, **options):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=q.size(1) != k.size(1), **options)


@pytest.mark.parametrize("B, H, G, Q, K, D, V", [(2, 4, 4, 7, 7, 8, 8), (1, 6, 2, 3, 9, 5, 4), (3, 1, 1, 1, 1, 1, 1)])
def test_equals_sdpa(B, H, G, Q, K, D, V):
    q, k, v = rand(B, H, Q, D), rand(B, G, K, D), rand(B, G, K, V)
    mask = torch.rand(B, 1, Q, K) > 0.3
    mask[..., 0] = True
    torch.testing.assert_close(heed.attend(q, k, v), sdpa(q, k, v))
    torch.testing.assert_close(heed.attend(q, k, v, mask=mask), sdpa(q, k, v, mask))
    bias = rand(B, H, Q, K)
    torch.testing.assert_close(heed.attend(q, k, v, bias=bias, scale=0.3), sdpa(q, k, v, bias, scale=0.3))
    if Q == K:
        torch.testing.assert_close(heed.attend(q, k, v, causal=True), sdpa(q, k, v, is_causal=True))


def test_gradients_equal_sdpas():
    inputs = [rand(2, 3, 5, 4).requires_grad_() for _ in range(3)]
    bias = rand(3, 5, 5).requires_grad_()
    ours = torch.autograd.grad(heed.attend(*inputs, bias=bias).square().sum(), [*inputs, bias])
    theirs = torch.autograd.grad(sdpa(*inputs, bias).square().sum(), [*inputs, bias])
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("score", [p["id"] for p in heed.parts("score", built=True)])
def test_gradcheck_of_every_score(score):
    module = heed.nn.Attention(4, 4, 3, score=score).double()
    q, k, v = (rand(2, 3, 4), rand(2, 5, 4), rand(2, 5, 3))
    params = dict(module.named_parameters())
    names = list(params)

    def call(q, k, v, *tensors):
        return heed.attend(q, k, v, score=score, params=dict(zip(names, tensors)), lengths=[5, 3])

    inputs = [t.detach().clone().requires_grad_() for t in (q, k, v, *params.values())]
    assert torch.autograd.gradcheck(call, inputs)


def test_additive_equals_its_formula():
    q, k, v = rand(2, 3, 6), rand(2, 5, 4), rand(2, 5, 7)
    p = {"W1": rand(8, 6), "W2": rand(8, 4), "w": rand(8), "b": rand(8)}
    for act, f in {"tanh": torch.tanh, "relu": torch.relu, "gelu": F.gelu, "sigmoid": torch.sigmoid}.items():
        e = f((q @ p["W1"].T).unsqueeze(2) + (k @ p["W2"].T).unsqueeze(1) + p["b"]) @ p["w"]
        out = heed.attend(q, k, v, score={"id": "additive", "act": act}, params=p)
        torch.testing.assert_close(out, e.softmax(-1) @ v)


def test_want_gives_a_named_tuple_in_the_order_asked():
    q, k, v = rand(2, 2, 3, 4), rand(2, 2, 5, 4), rand(2, 2, 5, 4)
    r = heed.attend(q, k, v, want=("lse", "weights", "kernel"))
    assert r._fields == ("output", "lse", "weights", "kernel")
    e = q @ k.transpose(-1, -2) / math.sqrt(4)
    torch.testing.assert_close(r.lse, e.logsumexp(-1).float())
    torch.testing.assert_close(r.weights, e.softmax(-1))
    assert r.kernel.startswith("fused")
    r = heed.attend(q, k, v, align={"id": "soft", "temperature": 2.0}, want="kernel")
    assert r.kernel.startswith("reference: the fused kernel cannot serve")
    r = heed.attend(q, k, v, want={"topk": 2, "rows": [2, 0], "entropy": True, "received": True})
    top = e.softmax(-1).topk(2)
    torch.testing.assert_close(r.topk[0], top.values)
    assert torch.equal(r.topk[1], top.indices)
    torch.testing.assert_close(r.rows, e.softmax(-1)[:, :, [2, 0]])


def test_alibi_lengths_windows_and_sinks_compose():
    q = rand(2, 2, 4, 3)
    slopes = torch.tensor([0.5, 0.25])
    out = heed.attend(q, q, q, bias={"id": "alibi", "slopes": slopes}, causal=True, window=(2, 0), lengths=[4, 2])
    i, j = torch.arange(4).view(4, 1), torch.arange(4)
    bias = -slopes.double().view(2, 1, 1) * (i - j).abs()
    keep = (j <= i) & (i - j <= 2) & (j < torch.tensor([4, 2]).view(2, 1, 1, 1))
    torch.testing.assert_close(out, sdpa(q, q, q, bias.masked_fill(~keep, -math.inf)))
    sink = rand(2)
    weights = heed.attend(q, q, q, sink=sink, want="weights").weights
    e = torch.cat([q @ q.transpose(-1, -2) / math.sqrt(3), sink.view(1, 2, 1, 1).expand(2, 2, 4, 1)], -1)
    torch.testing.assert_close(weights, e.softmax(-1)[..., :4])


def test_layout_and_dropout():
    q, k, v = rand(2, 3, 4, 8), rand(2, 3, 6, 8), rand(2, 3, 6, 8)
    other = heed.attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), layout="blhd")
    torch.testing.assert_close(other.transpose(1, 2), heed.attend(q, k, v))
    one, same, two = (heed.attend(q, k, v, dropout_p=0.5, seed=s) for s in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, two)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"score": "aditive"}, "did you mean 'additive'"),
        ({"score": {"id": "additive", "act": "tan"}}, "did you mean 'tanh'"),
        ({"align": "reinforced"}, "parameter Ws"),
        ({"causal": True}, "3 queries and 5 keys is ambiguous"),
        ({"causal": "bottomright"}, "causal"),
        ({"scale": float("inf")}, "scale is inf"),
        ({"mask": torch.ones(3, 5)}, "a float goes in bias"),
        ({"mask": torch.ones(3, 4, dtype=torch.bool)}, "mask is 3×4"),
        ({"want": "wieghts"}, "did you mean 'weights'"),
        ({"layout": "bldh"}, "layout is 'bldh'"),
        ({"bias": {"id": "alibi"}}, "slopes"),
        ({"params": {"W": torch.ones(2, 2)}}, "unknown parameter 'W'"),
    ],
)
def test_mistakes_are_value_errors_that_help(options, words):
    q, k = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    with pytest.raises(ValueError, match=words):
        heed.attend(q, k, k, **options)


def test_parts_are_the_registry():
    assert {"dot", "scaled-dot", "general", "additive"} <= {p["id"] for p in heed.parts("score", built=True)}
    with pytest.raises(ValueError, match="unknown group"):
        heed.parts("scores")


def test_module_trains_and_saves():
    module = heed.nn.Attention(6, 4, score="additive")
    keys, query = torch.randn(3, 5, 4), torch.randn(3, 6)
    out = module(query, keys, lengths=torch.tensor([5, 2, 1]))
    assert out.shape == (3, 4)
    out.square().sum().backward()
    assert all(p.grad is not None for p in module.parameters())
    copy = heed.nn.Attention(6, 4, score="additive")
    copy.load_state_dict(module.state_dict())
    torch.testing.assert_close(copy(query, keys), module(query, keys))
    assert heed.nn.Attention(0, 4, score="additive")(None, keys).shape == (3, 4)
