"""heed.graph_attend against the formulas in PyTorch's own index operations, and its Python face."""

import pytest
import torch
import torch.nn.functional as F

import heed

SCORES = ["gat", "gatv2"]


def formula(x, edges, *, a_source=None, a_target=None, a=None, target_features=None, negative_slope=0.2, keep=None):
    """Both scores by gather, scatter_reduce and index_add, with torch's own gradients."""
    t = x if target_features is None else target_features
    source, target = edges
    if a is None:
        e = F.leaky_relu((x * a_source).sum(-1)[source] + (t * a_target).sum(-1)[target], negative_slope)
    else:
        e = (F.leaky_relu(x[source] + t[target], negative_slope) * a).sum(-1)
    rows = target[:, None].expand_as(e)
    top = e.new_full((t.shape[0], e.shape[1]), -torch.inf).scatter_reduce(0, rows, e.detach(), "amax")
    p = (e - top[target]).exp()
    weights = p / p.new_zeros(top.shape).index_add(0, target, p)[target]
    used = weights if keep is None else weights * keep
    out = x.new_zeros(t.shape).index_add(0, target, used[..., None] * x[source])
    return out, weights


def problem(score, nodes=40, edges=150, heads=4, dim=5, targets=None, dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.randn(*shape, generator=g, dtype=torch.float64).to(dtype).requires_grad_()

    ends = torch.stack([torch.randint(n, (edges,), generator=g) for n in (nodes, targets or nodes)])
    options = (
        {"a": rand(heads, dim)} if score == "gatv2" else {"a_source": rand(heads, dim), "a_target": rand(heads, dim)}
    )
    if targets:
        options["target_features"] = rand(targets, heads, dim)
    return rand(nodes, heads, dim), ends, options


def gradients(results, leaves, seed=1):
    g = torch.Generator().manual_seed(seed)
    loss = sum((r * torch.randn(r.shape, generator=g, dtype=torch.float64).to(r.dtype)).sum() for r in results)
    return torch.autograd.grad(loss, leaves)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"heads": 8, "dim": 8, "nodes": 300, "edges": 2000},
        {"heads": 1, "dim": 17},
        {"targets": 13},
        {"edges": 1},
        {"edges": 0},
    ],
)
def test_equals_the_formula_with_gradients(score, sizes):
    x, edges, options = problem(score, **sizes)
    leaves = [x, *options.values()]
    ours, theirs = heed.graph_attend(x, edges, score=score, **options), formula(x, edges, **options)
    for a, b in zip([*ours, *gradients(ours, leaves)], [*theirs, *gradients(theirs, leaves)]):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("kernel", ["fused", "reference"])
def test_gradcheck(score, kernel):
    x, edges, options = problem(score, nodes=5, edges=9, heads=2, dim=3, targets=4)
    names = list(options)

    def call(x, *values):
        return tuple(heed.graph_attend(x, edges, score=score, kernel=kernel, **dict(zip(names, values))))

    assert torch.autograd.gradcheck(call, (x, *options.values()))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
@pytest.mark.parametrize("score", SCORES)
def test_types(score, dtype, tolerance):
    x, edges, options = problem(score, dtype=dtype)
    ours = heed.graph_attend(x, edges, score=score, **options)
    exact = formula(x.double(), edges, **{k: v.double() for k, v in options.items()})
    for a, b in zip(ours, exact):
        assert a.dtype == dtype
        torch.testing.assert_close(a.double(), b, rtol=tolerance, atol=tolerance)
    leaves = [x, *options.values()]
    for a, b in zip(gradients(ours, leaves), gradients(exact, leaves)):
        assert a.dtype == dtype
        torch.testing.assert_close(
            a.double(), b.double(), rtol=5 * tolerance, atol=5 * tolerance * b.abs().max().item()
        )


@pytest.mark.parametrize("score", SCORES)
def test_permuting_the_edges_permutes_the_weights(score):
    x, edges, options = problem(score)
    order = torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(3))
    one = heed.graph_attend(x, edges, score=score, **options)
    two = heed.graph_attend(x, edges[:, order], score=score, **options)
    torch.testing.assert_close(two.weights, one.weights[order])
    torch.testing.assert_close(two.output, one.output)


@pytest.mark.parametrize("score", SCORES)
def test_a_graph_stands_for_its_edges(score):
    x, edges, options = problem(score, targets=13)
    graph = heed.Graph(edges, 40, 13)
    leaves = [x, *options.values()]
    for kernel in ("fused", "reference"):
        one = heed.graph_attend(x, edges, score=score, kernel=kernel, **options)
        two = heed.graph_attend(x, graph, score=score, kernel=kernel, **options)
        assert all(map(torch.equal, one, two))
        assert all(map(torch.equal, gradients(one, leaves), gradients(two, leaves)))
    assert repr(graph) == "Graph(40 nodes, 13 targets, 150 edges)"


def test_weights_sum_to_one_and_isolated_nodes_stay_zero():
    x = torch.full((4, 2, 3), torch.nan)
    x[:2] = torch.randn(2, 2, 3)
    x.requires_grad_()
    a = torch.randn(2, 3, requires_grad=True)
    edges = torch.tensor([[0, 1, 1, 0], [1, 1, 1, 0]])  # a duplicate, self-loops, nodes 2 and 3 without edges
    for kernel in ("fused", "reference"):
        out, weights = heed.graph_attend(x, edges, a_source=a, a_target=a, kernel=kernel)
        torch.testing.assert_close(weights[:3].sum(0), torch.ones(2))
        assert torch.equal(weights[3], torch.ones(2)) and torch.equal(out[2:], torch.zeros(2, 2, 3))
        gx, ga = torch.autograd.grad(out.square().sum() + weights.square().sum(), (x, a))
        assert torch.equal(gx[2:], torch.zeros(2, 2, 3)) and gx.isfinite().all() and ga.isfinite().all()


@pytest.mark.parametrize("score", SCORES)
def test_same_bits_at_any_thread_count(score):
    x, edges, options = problem(score, nodes=3000, edges=40000, heads=8, dim=8, dtype=torch.float32)
    leaves = [x, *options.values()]

    def run(threads):
        torch.set_num_threads(threads)
        results = heed.graph_attend(x, edges, score=score, dropout_p=0.2, seed=4, **options)
        return [*results, *gradients(results, leaves)]

    before = torch.get_num_threads()
    try:
        one, two = run(1), run(2)
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, one, two))


@pytest.mark.parametrize("score", SCORES)
def test_dropout_drops_after_the_softmax(score):
    x, edges, options = problem(score, nodes=300, edges=5000, heads=6)

    def run(seed, kernel="fused"):
        return heed.graph_attend(x, edges, score=score, dropout_p=0.3, seed=seed, kernel=kernel, **options)

    whole = heed.graph_attend(x, edges, score=score, **options)
    one, same, other, plain = run(1), run(1), run(2), run(1, "reference")
    assert torch.equal(one.output, same.output) and not torch.equal(one.output, other.output)
    assert torch.equal(one.weights, whole.weights)
    leaves = [x, *options.values()]
    for a, b in zip([*one, *gradients(one, leaves)], [*plain, *gradients(plain, leaves)]):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
    # One edge a node: the output tells what was dropped.
    loop = torch.arange(300).repeat(2, 1)
    out = heed.graph_attend(x, loop, score=score, dropout_p=0.3, seed=1, **options).output
    kept = (out / x)[:, :, 0]
    assert torch.logical_or(kept == 0, (kept - 1 / 0.7).abs() < 1e-9).all()
    assert 0.65 < (kept > 0).double().mean() < 0.75
    torch.manual_seed(0)
    drawn = [heed.graph_attend(x, loop, score=score, dropout_p=0.3, **options).output for _ in range(2)]
    assert not torch.equal(*drawn)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("prepared", [False, True])
def test_compiles_whole_forward_and_backward(score, prepared):
    def call(x, edges, options):
        out, weights = heed.graph_attend(x * 2, edges, score=score, **options)
        return out.tanh(), weights + 1

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    for edges_count in (150, 77, 31):  # the second and third come with changing shapes
        x, edges, options = problem(score, edges=edges_count)
        given = heed.Graph(edges, x.shape[0]) if prepared else edges
        leaves = [x, *options.values()]
        want, got = call(x, given, options), compiled(x, given, options)
        assert all(map(torch.equal, got, want))
        for a, b in zip(gradients(got, leaves), gradients(want, leaves)):
            torch.testing.assert_close(a, b)


def test_compiles_with_dropout():
    x, edges, options = problem("gat")

    def call(x):
        return heed.graph_attend(x, edges, dropout_p=0.5, **options).output

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    one, two = compiled(x), compiled(x)
    assert not torch.equal(one, two)
    (grad,) = torch.autograd.grad(one.sum(), x)
    assert grad.isfinite().all()


def test_operators_keep_torchs_rules():
    x, edges, options = problem("gat")
    groups = torch.ops.heed.group_by_target(edges, 40, 40)
    args = (x, None, options["a_source"], options["a_target"], None, *groups, None, None, None, 0.2, 0.0)
    torch.library.opcheck(torch.ops.heed.graph_attend.default, args)
    torch.library.opcheck(torch.ops.heed.group_by_target.default, (edges, 40, 40))
    torch.library.opcheck(torch.ops.heed.group_by_source.default, (groups[0], groups[1], 40))


def test_second_derivative_is_a_clear_error():
    x, edges, options = problem("gat")
    out = heed.graph_attend(x, edges, **options).output
    with pytest.raises(RuntimeError, match="no second derivative; kernel='reference' has"):
        torch.autograd.grad(out.square().sum(), x, create_graph=True)
    out = heed.graph_attend(x, edges, kernel="reference", **options).output
    (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    assert torch.autograd.grad(grad.square().sum(), x)[0].isfinite().all()


V = torch.ones(2, 3)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"features": torch.ones(5, 6)}, "features is 5×6; needed is nodes×heads×width"),
        ({"features": torch.ones(5, 2, 3, dtype=torch.int64)}, "a floating-point type is needed"),
        ({"edges": torch.zeros(3, 2, dtype=torch.int64)}, "edges is 3×2; needed is 2×E"),
        ({"edges": torch.zeros(2, 2)}, "edges has type Float; needed is int64"),
        ({"edges": torch.tensor([[0, 5], [0, 0]])}, r"edge 1 has source 5; there are 5 .*\(edges is 2×2\)"),
        ({"edges": torch.tensor([[0, 1], [0, -2]])}, "edge 1 has target -2; there are 5"),
        (
            {"edges": heed.Graph(torch.zeros(2, 2, dtype=torch.int64), 4)},
            r"edges is Graph\(4 nodes, 4 targets, 2 edges\), features is 5×2×3",
        ),
        ({"a_source": torch.ones(3, 2)}, "a_source is 3×2, features is 5×2×3; needed is heads×width = 2×3"),
        ({"a_target": V.double()}, "a_target has type Double, features has type Float"),
        ({"a_target": None}, "a_target is missing"),
        ({"a": V}, "has two vectors"),
        ({"score": "gatv2"}, "has one vector"),
        ({"score": "gatv2", "a_source": None, "a_target": None}, "a is missing"),
        ({"score": "gat3"}, "score is 'gat3'"),
        ({"target_features": torch.ones(5, 2, 4)}, "target_features is 5×2×4, features is 5×2×3"),
        ({"negative_slope": float("nan")}, "negative_slope is nan"),
        ({"dropout_p": 1.0}, "dropout_p is 1.0"),
        ({"kernel": "unfused"}, "kernel is 'unfused'; one of auto, fused, reference"),
        ({"a_source": V.to("meta")}, "a_source is on meta, features is on cpu"),
        ({"edges": torch.zeros(2, 2, dtype=torch.int64, device="meta")}, "edges is on meta, features is on cpu"),
    ],
)
@pytest.mark.parametrize("kernel", ["auto", "reference"])
def test_mistakes_are_value_errors_that_help(change, words, kernel):
    call = {"features": torch.ones(5, 2, 3), "edges": torch.tensor([[0, 1], [1, 2]])}
    call |= {"a_source": V, "a_target": V, "kernel": kernel} | change
    with pytest.raises(ValueError, match=words):
        heed.graph_attend(call.pop("features"), call.pop("edges"), **call)


def test_what_is_no_tensor_is_a_type_error():
    with pytest.raises(TypeError, match="edges must be a tensor, not list"):
        heed.graph_attend(torch.ones(2, 2, 3), [[0], [1]], a_source=V, a_target=V)
    with pytest.raises(ValueError, match="edge 0 has source 3; there are 2"):
        heed.Graph(torch.tensor([[3], [0]]), 2)
