"""heed.attend with a user's own formula: the dense formula's numbers and gradients, in O(length) memory."""

import math
import subprocess
import sys

import pytest
import torch
import torch.utils.checkpoint

import heed

SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=torch.float64)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Many small operations: on a busy machine a second thread makes them five times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def rand(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def indices(q, k):
    B, H, Q, K = *q.shape[:3], k.size(2)
    shape = ((B, 0), (H, 1), (Q, 2), (K, 3))
    return [torch.arange(n).view([n if axis == a else 1 for a in range(4)]) for n, axis in shape]


def dense(q, k, v, f, keep=None, bias=None, softcap=None):
    """The formula on all pairs at once, with torch's gradients. Returns output and log-sum-exp."""
    k, v = (x.repeat_interleave(q.size(1) // x.size(1), 1) for x in (k, v))
    e = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
    if softcap:
        e = softcap * torch.tanh(e / softcap)
    e = f(e, *indices(q, k))
    if bias is not None:
        e = e + bias
    if keep is not None:
        e = e.masked_fill(~keep, -torch.inf)
    return e.softmax(-1) @ v, e.logsumexp(-1)


class Case:
    """Inputs over several tiles, and functions that close over tensors."""

    def __init__(self):
        self.q, self.k, self.v = rand(2, 4, 300, 6), rand(2, 2, 530, 6, seed=1), rand(2, 2, 530, 3, seed=2)
        self.table = rand(4, 1100, seed=3)  # by head and distance
        self.gain = rand(2, seed=4)  # by entry
        self.leaves = [t.requires_grad_() for t in (self.q, self.k, self.v, self.table, self.gain)]
        self.documents = torch.arange(530) // 200

    def relative(self, s, b, h, i, j):
        return s + self.table[h, i - j + 540]

    def derived(self):
        table = (self.table * 2).sin()  # not a leaf: its own graph must be reached, once
        return lambda s, b, h, i, j: s * self.gain[b].exp() + table[h, i - j + 540]

    def cap(self, s, b, h, i, j):
        return 5 * torch.tanh(s / 5)

    def document(self, s, b, h, i, j):
        return torch.where(self.documents[i] == self.documents[j], s, -torch.inf)

    def in_place(self, s, b, h, i, j):
        return s.mul_(self.gain[b]).add_(h)


def visible(Q, K, causal=None, lengths=None, left=-1, right=-1):
    i, j = torch.arange(Q).view(1, 1, Q, 1), torch.arange(K)
    ends = torch.tensor(lengths or [K, K]).view(2, 1, 1, 1)
    d = i - j + (ends - Q if causal == "bottom-right" else causal or 0)
    keep = j < ends
    if causal is not None:
        keep = keep & (d >= 0)
    if left >= 0:
        keep = keep & (d <= left)
    return keep & (d >= -right) if right >= 0 else keep


OPTIONS = {
    "all": {},
    "softcap": {"softcap": 1.5},
    "bottom-right and lengths": {"causal": "bottom-right", "lengths": [530, 301]},
    "window": {"causal": 7, "window": (100, -1)},
    "two-sided window": {"window": (20, 30)},
    "mask and bias": {"mask": torch.rand(300, 530, generator=torch.Generator().manual_seed(9)) > 0.5, "bias": True},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
@pytest.mark.parametrize("name", ["relative", "derived", "cap", "document", "in_place"])
def test_equals_the_dense_formula_and_its_gradients(name, options):
    case = Case()
    options = dict(options)
    keep = visible(300, 530, options.get("causal"), options.get("lengths"), *options.get("window", (-1, -1)))
    if "bias" in options:
        case.leaves.append(rand(4, 300, 1, seed=5).requires_grad_())
        options["bias"] = case.leaves[-1]
        keep = keep & options["mask"]
    # Every row keeps a pair in every document: the dense formula has no answer for empty rows.
    if name == "document":
        keep = keep | (torch.arange(530) % 200 == 0) | (torch.arange(530) == 529)
        options = {k: v for k, v in options.items() if k in ("bias", "softcap")} | {"mask": keep}
    gradient = rand(2, 4, 300, 3, seed=6)
    results = []
    for run in ("tiles", "dense"):
        f = getattr(case, name) if name != "derived" else case.derived()
        if run == "tiles":
            out, lse = heed.attend(case.q, case.k, case.v, score_mod=f, want="lse", **options)
        else:
            out, lse = dense(case.q, case.k, case.v, f, keep, options.get("bias"), options.get("softcap"))
        loss = (out * gradient).sum() + lse.double().square().mean()
        grads = torch.autograd.grad(loss, case.leaves, allow_unused=True)
        results.append((out, lse.float(), *(torch.zeros(()) if g is None else g for g in grads)))
    # Double throughout, but for the float32 log-sum-exp, which the loss sees.
    for ours, theirs in zip(*results):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-12, atol=1e-13)


def test_alibi_as_score_mod_equals_alibi_as_bias():
    q, k, v = rand(2, 4, 300, 6), rand(2, 4, 300, 6, seed=1), rand(2, 4, 300, 6, seed=2)
    ours = heed.attend(
        q, k, v, causal=True, score_mod=lambda s, b, h, i, j: s - SLOPES[h] * (i - j).abs(), want=("lse", "kernel")
    )
    theirs = heed.attend(q, k, v, causal=True, bias={"id": "alibi", "slopes": SLOPES}, want="lse")
    torch.testing.assert_close(ours.output, theirs.output, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(ours.lse, theirs.lse)
    assert ours.kernel.startswith("tiles")


def same(s, b, h, i, j):
    return s


@pytest.mark.parametrize("score", [p["id"] for p in heed.parts("score", built=True)])
def test_the_same_scores_equal_no_score_mod(score):
    """Every score of the registry, with all that composes, and parameters' gradients."""
    torch.manual_seed(0)
    module = heed.nn.Attention(6, 6, score=score).double()
    q, k, v = (x.requires_grad_() for x in (rand(2, 4, 30, 6), rand(2, 2, 40, 6, seed=1), rand(2, 2, 40, 3, seed=2)))
    bias, sink = rand(2, 1, 30, 40, seed=3), rand(4, seed=4)
    bias[..., :3] = -torch.inf
    bias, sink = bias.requires_grad_(), sink.requires_grad_()
    params = dict(module.named_parameters())
    options = dict(score=score, params=params, causal="bottom-right", lengths=[40, 25], bias=bias, sink=sink)
    options |= dict(scale=0.7, softcap=2.0, dropout_p=0.3, seed=2**64 - 5, want="lse")
    leaves = [q, k, v, bias, sink, *params.values()]
    results = []
    for f in (same, None):
        out, lse = heed.attend(q, k, v, score_mod=f, **options)
        grads = torch.autograd.grad(out.square().sum(), leaves, materialize_grads=True)  # location meets no key
        results.append((out, lse, *grads))
    for ours, theirs in zip(*results):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


def test_location_counts_keys_beyond_a_tile():
    q, k, W = rand(1, 2, 3, 6), rand(1, 2, 600, 6, seed=1), rand(700, 6, seed=2)
    ours, theirs = (heed.attend(q, k, k, score="location", params={"W": W}, score_mod=f) for f in (same, None))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-13)


def test_slopes_temperature_layout_and_absent_heads():
    q, k, v = rand(2, 5, 4, 6), rand(2, 9, 2, 6, seed=1), rand(2, 9, 2, 3, seed=2)
    slopes = SLOPES.float().requires_grad_()
    options = dict(layout="blhd", align={"id": "soft", "temperature": 3.0}, bias={"id": "alibi", "slopes": slopes})
    ours, theirs = (heed.attend(q, k, v, score_mod=f, **options) for f in (same, None))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-13)
    gradients = [torch.autograd.grad(x.square().sum(), slopes)[0] for x in (ours, theirs)]
    torch.testing.assert_close(*gradients)
    q, k = rand(2, 5, 6), rand(2, 9, 6, seed=1)
    mask = rand(2, 5, 9, seed=3) > 0
    torch.testing.assert_close(heed.attend(q, k, k, mask=mask, score_mod=same), heed.attend(q, k, k, mask=mask))
    params = {"W2": rand(4, 6), "w": rand(4)}
    absent = [heed.attend(None, k, k, score="additive", params=params, score_mod=f) for f in (same, None)]
    torch.testing.assert_close(*absent)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 2e-6), (torch.bfloat16, 2**-8), (torch.float16, 2**-11)])
def test_other_types(dtype, tolerance):
    q, k, v = (rand(1, 2, 300, 8, seed=s).to(dtype) for s in range(3))
    seen = set()

    def f(s, b, h, i, j):
        seen.add(s.dtype)
        return s

    out = heed.attend(q, k, v, score_mod=f)
    assert out.dtype == dtype and seen == {torch.float32}
    exact, _ = dense(q.double(), k.double(), v.double(), same)
    torch.testing.assert_close(out.double(), exact, rtol=tolerance, atol=tolerance)


def test_empty_rows_give_zero_and_no_gradient():
    q, k, v = (rand(1, 2, 5, 4, seed=s).requires_grad_() for s in range(3))
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[1] = False

    def f(s, b, h, i, j):  # a row of its own making is empty too
        return torch.where(i == 3, -torch.inf, s)

    out, lse = heed.attend(q, k, v, mask=mask, score_mod=f, want="lse")
    assert (out[:, :, [1, 3]] == 0).all() and (lse[:, :, [1, 3]] == -torch.inf).all()
    assert lse[:, :, [0, 2, 4]].isfinite().all()
    (out / out.detach()).sum().backward()  # 0/0 behind the empty rows
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert (q.grad[:, :, [1, 3]] == 0).all() and (k.grad != 0).all()
    assert (heed.attend(q, k, v, causal=20, window=(3, -1), score_mod=f) == 0).all()  # keys end before the window
    for Q, K in ((0, 3), (3, 0)):
        assert (heed.attend(q[:, :, :Q], k[:, :, :K], v[:, :, :K], score_mod=f) == 0).all()


@pytest.mark.parametrize("options", ["lengths", "causal", "mask", "bias"])
def test_poison_behind_masks_reaches_nothing(options):
    clean = [rand(2, 2, 6, 4, seed=s) for s in range(3)]
    bias = rand(6, 6, seed=3)
    keep = {
        "lengths": torch.arange(6).expand(6, 6) < 4,
        "causal": torch.ones(6, 6).tril() > 0,
        "mask": rand(6, 6, seed=4) > 0,
        "bias": rand(6, 6, seed=4) > 0,
    }[options]
    bad = keep[2].logical_not()  # keys that row 2 does not see, and others perhaps do
    rows = ~(keep & bad).any(1)
    columns = ~keep[~rows].any(0)  # a row that sees poison hands it on to the keys it sees, and may
    table = rand(6, 6, seed=5)
    results = []
    for poison in (0.0, torch.nan, torch.inf):
        q, k, v = (x.clone() for x in clean)
        k[:, :, bad], v[:, :, bad] = poison, poison
        given = bias.masked_fill(~keep, -torch.inf) if options == "bias" else bias.masked_fill(~keep, poison)
        own = table.masked_fill(~keep, poison)
        leaves = [x.requires_grad_() for x in (q, k, v, given)]
        call = {"lengths": {"lengths": [4, 4]}, "causal": {"causal": True}, "mask": {"mask": keep}, "bias": {}}[options]
        out = heed.attend(q, k, v, bias=given, score_mod=lambda s, b, h, i, j, t=own: s + t[i, j], **call)
        dq, dk, dv, dbias = torch.autograd.grad(out[:, :, rows].square().sum(), leaves)
        results.append((out[:, :, rows], dq[:, :, rows], dk[:, :, columns], dv[:, :, columns], dbias[rows]))
    for poisoned in results[1:]:
        for ours, theirs in zip(poisoned, results[0]):
            torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-13)


def test_tiles_are_small_and_masked_ones_are_skipped():
    q = rand(1, 2, 1000, 4).requires_grad_()
    sizes = []

    def f(s, b, h, i, j):
        sizes.append(s.shape)
        assert (b + h + i + j).shape == s.shape
        return s

    heed.attend(q, q, q, causal=True, window=(100, 0), score_mod=f).sum().backward()
    assert max(s[2] for s in sizes) <= 256 and max(s[3] for s in sizes) <= 256
    # Four on the diagonal and three below it, once forward and once backward.
    assert len(sizes) == 14
    sizes.clear()
    mask = torch.zeros(1000, 1000, dtype=torch.bool)
    mask[:256, 600:700] = True
    heed.attend(q, q, q, mask=mask, score_mod=f)
    assert len(sizes) == 1


MEMORY = """
import resource, torch, heed
torch.set_num_threads(1)
table = torch.zeros(1, requires_grad=True)
def run(length):
    q = torch.randn(1, 1, length, 8, requires_grad=True)
    heed.attend(q, q, q, window=(700, 700), score_mod=lambda s, b, h, i, j: s + table).sum().backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
first = run(1024)
print(run(5120) - first)
"""


def test_memory_does_not_grow_with_the_square():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # One dense matrix of float32 scores would be 100 MiB, and the backward pass needs several.
    assert float(done.stdout) < 30


def test_inside_a_checkpoint():
    x, table = rand(1, 2, 5, 4).requires_grad_(), rand(2, seed=1).requires_grad_()

    def f(x, table):
        gain = table.exp()  # made again in the backward pass, while the function closes over the first
        return heed.attend(x, x, x, score_mod=lambda s, b, h, i, j: s * gain[h])

    plain = torch.autograd.grad(f(x, table).square().sum(), [x, table])
    again = torch.utils.checkpoint.checkpoint(f, x, table, use_reentrant=False)
    for a, b in zip(torch.autograd.grad(again.square().sum(), [x, table]), plain):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


def test_an_entry_alone_has_the_same_bits():
    x = [rand(3, 2, 40, 8, dtype=torch.float32, seed=s).requires_grad_() for s in range(3)]

    def f(s, b, h, i, j):
        return s * 1.5

    whole = heed.attend(*x, score_mod=f, lengths=[40, 30, 20])
    whole_grads = torch.autograd.grad(whole.square().sum(), x)
    one = [t[1:2] for t in x]
    alone = heed.attend(*one, score_mod=f, lengths=[30])
    assert torch.equal(alone, whole[1:2])
    for a, b in zip(torch.autograd.grad(alone.square().sum(), one), whole_grads):
        assert torch.equal(a, b[1:2])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"kernel": "fused"}, "kernel 'fused' cannot call score_mod"),
        ({"want": "weights"}, "want can hold 'lse' and 'kernel', not 'weights'"),
        ({"score_mod": lambda s, b, h, i, j: s[..., 0]}, "returned 2×2×3; its tile is 1×2×3×5|returned 1×2×3;"),
        ({"score_mod": lambda s, b, h, i, j: s > 0}, "floating-point scores, not torch.bool"),
        ({"score_mod": lambda s, b, h, i, j: None}, "floating-point scores, not NoneType"),
        ({"mask": torch.ones(3, 4, dtype=torch.bool)}, "mask is 3×4; it must broadcast to .* = 2×2×3×5"),
        ({"lengths": [5, 6]}, "lengths hold 5 … 6; key has 5 positions"),
        ({"lengths": [5]}, "lengths is 1 of"),
        ({"causal": True}, "3 queries and 5 keys is ambiguous"),
        ({"score": "aditive"}, "did you mean 'additive'"),
        ({"dropout_p": 1.5}, "dropout_p is 1.5"),
    ],
)
def test_mistakes_are_value_errors_that_help(options, words):
    q, k = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    with pytest.raises(ValueError, match=words):
        heed.attend(q, k, k, **{"score_mod": same} | options)


def test_other_alignments_and_batches_that_disagree():
    q, k = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    with pytest.raises(ValueError, match="score_mod goes with align 'soft', not 'sparsemax'"):
        heed.attend(q, k, k, align="sparsemax", score_mod=same)
    with pytest.raises(ValueError, match="the batch sizes must agree"):
        heed.attend(q[:1], k, k, score_mod=same)
    with pytest.raises(TypeError, match="key must be a tensor"):
        heed.attend(q, None, k, score_mod=same)


def test_a_second_derivative_is_a_clear_error():
    q = rand(1, 1, 3, 2).requires_grad_()
    out = heed.attend(q, q, q, score_mod=same)
    with pytest.raises(RuntimeError, match="score_mod has no second derivative"):
        torch.autograd.grad(out.sum(), q, create_graph=True)
