"""heed.linear_attend against a naive loop, ONNX's LinearAttention cases, and torch.compile."""

import math

import pytest
import torch

import heed

from .onnx_cases import onnx_cases

CASES = list(onnx_cases("linear_attention").values())

RULES = ["linear", "gated", "delta", "gated-delta"]
CALLS = [(rule, wide) for rule in RULES for wide in ((False, True) if "gated" in rule else (False,))]


def operands(rule, wide=False, B=2, H=4, G=2, L=37, D=8, V=6, dtype=torch.float64, state=True):
    torch.manual_seed(3)
    work = torch.float64 if dtype == torch.float64 else torch.float32
    given = {
        "query": torch.randn(B, L, H, D, dtype=dtype).transpose(1, 2),
        "key": torch.randn(B, G, L, D, dtype=dtype) / math.sqrt(D),
        "value": torch.randn(B, G, L, V, dtype=dtype),
    }
    if "gated" in rule:
        given["decay"] = -torch.rand(B, G, L, D if wide else 1, dtype=dtype)
    if "delta" in rule:
        given["beta"] = torch.rand(B, G, L, dtype=dtype)
    if state:
        given["state"] = torch.randn(B, G, D, V, dtype=work)
    return given


def naive(query, key, value, *, decay=None, beta=None, state=None, scale=None):
    """One step after another, as the formulas are written."""
    B, H, L, D = query.shape
    G, V = key.shape[1], value.shape[3]
    S = torch.zeros(B, G, D, V, dtype=query.dtype) if state is None else state
    outputs = []
    for t in range(L):
        k, w = key[:, :, t], value[:, :, t]
        if decay is not None:
            S = decay[:, :, t].exp()[..., None] * S
        if beta is not None:
            w = beta[:, :, t, None] * (w - torch.einsum("bgdv,bgd->bgv", S, k))
        S = S + k[..., :, None] * w[..., None, :]
        outputs.append(torch.einsum("bhd,bhdv->bhv", query[:, :, t], S.repeat_interleave(H // G, 1)))
    return (1 / math.sqrt(D) if scale is None else scale) * torch.stack(outputs, 2), S


def leaves(given):
    return {name: x.detach().clone().requires_grad_() for name, x in given.items()}


def gradients(call, given):
    given = leaves(given)
    output, state = call(**given)
    torch.manual_seed(4)
    loss = (output * torch.randn_like(output)).sum() + (state * torch.randn_like(state)).sum()
    return torch.autograd.grad(loss, list(given.values()))


@pytest.mark.parametrize("rule, wide", CALLS)
@pytest.mark.parametrize("L", [1, 5, 32, 37])
def test_equals_the_naive_loop_with_gradients(rule, wide, L):
    given = operands(rule, wide, L=L)
    for mine, want in zip(heed.linear_attend(**given, rule=rule), naive(**given)):
        torch.testing.assert_close(mine, want)
    mine = gradients(lambda **x: heed.linear_attend(**x, rule=rule, scale=0.5), given)
    for a, b in zip(mine, gradients(lambda **x: naive(**x, scale=0.5), given)):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("rule, wide", CALLS)
def test_gradcheck(rule, wide):
    given = leaves(operands(rule, wide, B=1, H=2, G=1, L=4, D=3, V=2))

    def call(*tensors):
        return heed.linear_attend(**dict(zip(given, tensors)), rule=rule)

    assert torch.autograd.gradcheck(call, tuple(given.values()))


@pytest.mark.parametrize("rule, wide", CALLS)
def test_steps_one_by_one_equal_the_whole(rule, wide):
    given = operands(rule, wide)
    output, last = heed.linear_attend(**given, rule=rule)
    state, steps = given.pop("state"), []
    for t in range(given["query"].shape[2]):
        out, state = heed.linear_attend(**{n: x[:, :, t : t + 1] for n, x in given.items()}, rule=rule, state=state)
        steps.append(out)
    torch.testing.assert_close(torch.cat(steps, 2), output)
    torch.testing.assert_close(state, last)


def test_length_zero_gives_the_state_back():
    given = operands("gated-delta", L=0)
    output, state = heed.linear_attend(**given, rule="gated-delta")
    assert output.shape == (2, 4, 0, 6)
    assert torch.equal(state, given["state"]) and state.data_ptr() != given["state"].data_ptr()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_types(dtype):
    given = operands("gated-delta", dtype=dtype)
    output, state = heed.linear_attend(**given, rule="gated-delta")
    assert output.dtype == dtype and state.dtype == torch.float32
    wide = {name: x.double() for name, x in given.items()}
    want, last = naive(**wide)
    torch.testing.assert_close(output, want.to(dtype))
    torch.testing.assert_close(state, last.float())
    grads = gradients(lambda **x: heed.linear_attend(**x, rule="gated-delta"), given)
    for x, grad in zip(given.values(), grads):
        assert grad.dtype == x.dtype and grad.isfinite().all()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_onnx_node_cases(case):
    """Every case of the package. The expanded ones spell the operator out in others, with the same data: they are held
    to the attributes of the case they expand."""
    plain = next(c for c in CASES if c.name == case.name.removesuffix("_expanded"))
    (node,) = plain.model.graph.node
    assert node.op_type == "LinearAttention"
    attributes = {a.name: a.s.decode() if a.s else a.i or a.f for a in node.attribute}
    heads, kv_heads = attributes["q_num_heads"], attributes["kv_num_heads"]
    for inputs, outputs in case.data_sets:
        names = dict(zip([n for n in node.input if n], map(torch.from_numpy, inputs)))
        assert len(names) == len(inputs)

        def unpack(x, count):  # [batch, length, heads * width] → [batch, heads, length, width]
            return x.unflatten(2, (count, -1)).transpose(1, 2)

        options = {}
        if "decay" in names:
            options["decay"] = unpack(names["decay"], kv_heads)
        if "beta" in names:  # one for each head, or one for all
            options["beta"] = names["beta"].transpose(1, 2).expand(-1, kv_heads, -1)
        if "past_state" in names:
            options["state"] = names["past_state"].float()
        output, state = heed.linear_attend(
            unpack(names["query"], heads),
            unpack(names["key"], kv_heads),
            unpack(names["value"], kv_heads),
            rule=attributes.get("update_rule", "gated_delta").replace("_", "-"),
            scale=attributes.get("scale") or None,
            **options,
        )
        want_output, want_state = map(torch.from_numpy, outputs)
        for mine, want in ((output.transpose(1, 2).flatten(2), want_output), (state.to(want_state.dtype), want_state)):
            torch.testing.assert_close(mine, want, rtol=case.rtol, atol=case.atol)


def test_onnx_has_the_cases_this_test_was_written_for():
    assert len(CASES) == 28


@pytest.mark.parametrize("rule, wide", CALLS)
def test_compiles_whole_forward_and_backward(rule, wide):
    given = operands(rule, wide)

    def call(**x):
        output, state = heed.linear_attend(**x, rule=rule)
        return output * 2, state

    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    for mine, want in zip(compiled(**given), call(**given)):
        assert torch.equal(mine, want)
    for mine, want in zip(gradients(compiled, given), gradients(call, given)):
        torch.testing.assert_close(mine, want)
    longer = operands(rule, wide, L=50)  # a second length: traced with symbolic sizes
    for mine, want in zip(gradients(compiled, longer), gradients(call, longer)):
        torch.testing.assert_close(mine, want)


def test_opcheck():
    given = leaves(operands("gated-delta", L=9))
    order = ("query", "key", "value", None, "decay", "beta", "state", None)
    arguments = [given[name] if name else None for name in order]
    arguments[3] = "gated-delta"
    torch.library.opcheck(torch.ops.heed.linear_forward.default, tuple(arguments))


def test_a_gradient_at_one_result_only():
    given = operands("delta")
    for which in (0, 1):
        mine = leaves(given)
        heed.linear_attend(**mine, rule="delta")[which].sum().backward()
        want = leaves(given)
        naive(**want)[which].sum().backward()
        for name in given:
            expected = torch.zeros_like(want[name]) if want[name].grad is None else want[name].grad
            torch.testing.assert_close(mine[name].grad, expected)


def test_second_derivatives_are_refused():
    given = leaves(operands("linear"))
    output, _ = heed.linear_attend(**given)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(output.square().sum(), given["value"], create_graph=True)


@pytest.mark.parametrize(
    "rule, change, words",
    [
        ("liner", {}, "did you mean 'linear'"),
        ("gated", {"decay": None}, "rule 'gated' needs decay"),
        ("delta", {"beta": None}, "rule 'delta' needs beta"),
        ("linear", {"beta": torch.rand(2, 2, 37, dtype=torch.float64)}, "rule 'linear' takes no beta"),
        ("gated", {"decay": torch.zeros(2, 2, 37, 3, dtype=torch.float64)}, "decay is 2×2×37×3, key is 2×2×37×8"),
        ("linear", {"state": torch.zeros(2, 2, 6, 8, dtype=torch.float64)}, "state is 2×2×6×8"),
        ("linear", {"state": torch.zeros(2, 2, 8, 6)}, "state has type Float; with Double inputs"),
        ("linear", {"value": torch.zeros(2, 2, 30, 6, dtype=torch.float64)}, "key is 2×2×37×8, value is 2×2×30×6"),
        ("linear", {"query": torch.zeros(2, 4, 37, 8)}, "query has type Float, key has type Double"),
        ("linear", {"scale": math.inf}, "scale is inf"),
    ],
)
def test_mistakes_are_value_errors_that_help(rule, change, words):
    with pytest.raises(ValueError, match=words):
        heed.linear_attend(**(operands(rule) | change), rule=rule)


def test_what_is_no_tensor_is_a_type_error():
    given = operands("gated") | {"decay": 0.5}
    with pytest.raises(TypeError, match="decay must be a tensor, not float"):
        heed.linear_attend(**given, rule="gated")
