"""heed.KVCache: a step at a time gives what the whole sequence gives."""

import pytest
import torch

import heed

# Absolute and relative: the same numbers in another order of summation; bfloat16 rounds the output once.
TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2**-8}
TYPES = list(TOLERANCE)


def close(a, b):
    torch.testing.assert_close(a, b, atol=TOLERANCE[a.dtype], rtol=TOLERANCE[a.dtype])


def sequence(length, dtype=torch.float32, batch=2, heads=4, kv_heads=2, width=8, value_width=5, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def rand(h, d):
        return torch.randn(batch, h, length, d, generator=generator).to(dtype)

    return rand(heads, width), rand(kv_heads, width), rand(kv_heads, value_width)


def cache_for(k, v, **options):
    return heed.KVCache(k.size(0), k.size(1), k.size(3), v.size(3), dtype=k.dtype, **options)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("chunks", [[1] * 12, [7, 1, 1, 3], [12]])
@pytest.mark.parametrize("room", [1, 64])
def test_step_by_step_equals_the_whole_sequence(dtype, chunks, room):
    q, k, v = sequence(12, dtype)
    bias = {"id": "alibi", "slopes": [0.5, 0.25, 0.125, 0.0625]}
    cache = cache_for(k, v, room=room)
    outputs, start = [], 0
    for n in chunks:
        step = slice(start, start + n)
        assert torch.equal(cache.next_positions(n), torch.arange(12)[step].expand(2, n))
        cache.append(k[:, :, step], v[:, :, step])
        outputs.append(cache.attend(q[:, :, step], bias=bias))
        start += n
    assert torch.equal(cache.keys, k) and torch.equal(cache.values, v)
    assert cache.lengths.tolist() == [12, 12] and cache.offsets.tolist() == [0, 0]
    close(torch.cat(outputs, 2), heed.attend(q, k, v, causal=True, bias=bias))


def test_views_do_not_copy():
    _, k, v = sequence(3)
    cache = cache_for(k, v)
    cache.append(k, v)
    before = cache.keys
    cache.append(k, v)  # within the room: the old view still looks at the same storage
    assert cache.keys.data_ptr() == before.data_ptr()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("window", [None, 3])
def test_entries_of_different_lengths_equal_each_alone(dtype, window):
    q, k, v = sequence(16, dtype)
    cache = cache_for(k, v, room=2, window=window)
    done = [0, 0]
    outputs = [[], []]
    for counts in [[5, 2], [1, 1], [0, 4], [3, 1], [1, 0]]:
        n = max(counts)
        # Padding is poison: nothing of it may reach a real token.
        step = [torch.full((2, x.size(1), n, x.size(3)), torch.nan, dtype=dtype) for x in (q, k, v)]
        for b, count in enumerate(counts):
            for padded, x in zip(step, (q, k, v)):
                padded[b, :, :count] = x[b, :, done[b] : done[b] + count]
        cache.append(step[1], step[2], counts)
        out = cache.attend(step[0], counts=counts)
        for b, count in enumerate(counts):
            outputs[b].append(out[b, :, :count])
            assert torch.equal(out[b, :, count:], torch.zeros_like(out[b, :, count:]))
            done[b] += count
    assert (cache.lengths + cache.offsets).tolist() == done == [10, 8]
    for b in range(2):
        alone = [x[b : b + 1, :, : done[b]] for x in (q, k, v)]
        left = -1 if window is None else window - 1
        close(torch.cat(outputs[b], 1), heed.attend(*alone, causal=True, window=(left, -1))[0])


def test_truncation_and_another_continuation():
    q, k, v = sequence(9)
    _, other_k, other_v = sequence(9, seed=1)
    cache = cache_for(k, v)
    cache.append(other_k, other_v)
    cache.truncate([4, 0])
    cache.append(k[:, :, 4:], v[:, :, 4:])
    keys = torch.cat([other_k[:, :, :4], k[:, :, 4:]], 2)
    values = torch.cat([other_v[:, :, :4], v[:, :, 4:]], 2)
    assert cache.lengths.tolist() == [9, 5]
    out = cache.attend(q[:, :, 4:])
    close(out[:1], heed.attend(q[:1, :, 4:], keys[:1], values[:1], causal="bottom-right"))
    close(out[1:], heed.attend(q[1:, :, 4:], k[1:, :, 4:], v[1:, :, 4:], causal="bottom-right"))


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("chunks", [[1] * 40, [17, 1, 1, 1, 5, 1, 9, 1, 1, 1, 1, 1]])
def test_a_window_forgets_and_keeps_positions(window, chunks):
    q, k, v = sequence(40)
    bias = {"id": "alibi", "slopes": [0.5, 0.25, 0.125, 0.0625]}
    cache = cache_for(k, v, window=window)
    outputs, start = [], 0
    for n in chunks:
        step = slice(start, start + n)
        assert cache.next_positions().tolist() == [[start], [start]]
        cache.append(k[:, :, step], v[:, :, step])
        outputs.append(cache.attend(q[:, :, step], bias=bias))
        start += n
        held = int(cache.lengths[0])
        assert held <= max(2 * window, window - 1 + n)
        assert torch.equal(cache.positions[0], torch.arange(start - held, start))
        assert torch.equal(cache.keys, k[:, :, start - held : start])
    whole = heed.attend(q, k, v, causal=True, window=(window - 1, -1), bias=bias)
    close(torch.cat(outputs, 2), whole)


def test_a_narrower_window_may_be_asked_for():
    q, k, v = sequence(6)
    cache = cache_for(k, v, window=4)
    cache.append(k, v)
    close(cache.attend(q, window=(1, -1)), heed.attend(q, k, v, causal=True, window=(1, -1)))


def test_reorder_follows_the_beams():
    q, k, v = sequence(4, batch=3)
    cache = cache_for(k, v)
    cache.append(k, v, [4, 3, 2])
    cache.reorder([2, 0, 0, 1])
    assert cache.lengths.tolist() == [2, 4, 4, 3]
    index = torch.tensor([2, 0, 0, 1])
    queries = q[index, :, -1:]
    close(cache.attend(queries), heed.attend(queries, k[index], v[index], lengths=[2, 4, 4, 3]))
    more = sequence(1, batch=4, seed=2)
    cache.append(*more[1:])
    assert cache.lengths.tolist() == [3, 5, 5, 4]


def test_options_reach_attend():
    q, k, v = sequence(5)
    cache = cache_for(k, v)
    cache.append(k, v)
    result = cache.attend(q[:, :, -2:], causal=None, softcap=2.0, want=("lse", "kernel"))
    expected = heed.attend(q[:, :, -2:], k, v, softcap=2.0, want="lse")
    close(result.output, expected.output)
    close(result.lse, expected.lse)
    assert result.kernel.startswith("fused")


def shapes(*sizes, dtype=torch.float32):
    return torch.zeros(*sizes, dtype=dtype)


@pytest.mark.parametrize(
    "action, words",
    [
        (lambda c: c.append(shapes(2, 3, 1, 8), shapes(2, 2, 1, 5)), r"key is 2×3×1×8; this cache takes 2×2×n×8"),
        (lambda c: c.append(shapes(2, 2, 1, 8), shapes(2, 2, 1, 8)), r"value is 2×2×1×8; this cache takes 2×2×n×5"),
        (lambda c: c.append(shapes(2, 2, 1, 8), shapes(2, 2, 2, 5)), "key has 1 tokens, value has 2"),
        (lambda c: c.append(shapes(2, 2, 1, 8, dtype=torch.half), shapes(2, 2, 1, 5)), "key is Half on cpu"),
        (lambda c: c.append(shapes(2, 2, 1, 8).requires_grad_(), shapes(2, 2, 1, 5)), "needs a gradient"),
        (lambda c: c.append(shapes(2, 2, 1, 8), shapes(2, 2, 1, 5), [2, 0]), "counts hold 2 for entry 0"),
        (lambda c: c.append(shapes(2, 2, 1, 8), shapes(2, 2, 1, 5), [1]), "one whole number for each of 2 entries"),
        (lambda c: c.append(shapes(2, 2, 4, 8), shapes(2, 2, 4, 5)), "entry 0 would hold 7 keys; the capacity is 6"),
        (lambda c: c.truncate([4, 0]), "entry 0 has 3 tokens; it cannot go back to 4"),
        (lambda c: c.truncate([0.5, 0]), "one whole number"),
        (lambda c: c.reorder([0, 2]), "index holds 2; there are 2 entries"),
        (lambda c: c.attend(shapes(2, 2, 1, 8), lengths=[1, 1]), "lengths is the cache's own"),
        (lambda c: c.attend(shapes(2, 2, 1, 8), counts=[2, 1]), "counts are"),
        (lambda c: c.attend(shapes(2, 2, 1, 8), counts=[1, 1], causal=None), "counts go with"),
    ],
)
def test_mistakes_are_value_errors_that_help_and_change_nothing(action, words):
    cache = heed.KVCache(2, 2, 8, 5, capacity=6)
    cache.append(shapes(2, 2, 3, 8), shapes(2, 2, 3, 5))
    with pytest.raises(ValueError, match=words):
        action(cache)
    assert cache.lengths.tolist() == [3, 3]


def test_more_mistakes():
    with pytest.raises(ValueError, match="window is 0"):
        heed.KVCache(1, 1, 4, window=0)
    with pytest.raises(ValueError, match="heads 0"):
        heed.KVCache(1, 0, 4)
    with pytest.raises(ValueError, match="type Long"):
        heed.KVCache(1, 1, 4, dtype=torch.int64)
    cache = heed.KVCache(1, 1, 4, window=2)
    for _ in range(6):
        cache.append(shapes(1, 1, 1, 4), shapes(1, 1, 1, 4))
    assert cache.offsets.tolist() == [3]
    with pytest.raises(ValueError, match="the window dropped what lies before 3"):
        cache.truncate([3])
    with pytest.raises(ValueError, match="this cache keeps 2 keys"):
        cache.attend(shapes(1, 1, 1, 4), causal=None)
    with pytest.raises(ValueError, match="this cache keeps 2 keys"):
        cache.attend(shapes(1, 1, 1, 4), window=(2, 0))
