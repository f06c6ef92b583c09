"""Keys and values of the tokens so far, for decoding a step at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ._attend import attend


class KVCache:
    """A growing store of keys and values.

    >>> cache = heed.KVCache(batch=2, heads=4, key_dim=64, dtype=torch.bfloat16)
    >>> cache.append(key, value)           # [2, 4, n, 64] each
    >>> out = cache.attend(query)          # [2, heads, n, 64]: bottom-right causal over all so far

    ``heads`` are those of keys and values; the query may have a multiple of them. Storage starts with
    ``room`` tokens an entry and doubles; ``capacity`` limits what an entry may hold. With ``window`` a
    query sees that many latest keys, its own included, and older ones are dropped in time.

    Entries may differ in length. Entry ``b`` holds ``lengths[b]`` keys; the first of them has position
    ``offsets[b]``, which is 0 until a window drops keys. ``next_positions(n)`` are the positions of the
    tokens to come, as rotary embeddings need them. Gradients do not flow through a cache.
    """

    def __init__(
        self,
        batch: int,
        heads: int,
        key_dim: int,
        value_dim: int | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        room: int = 64,
        capacity: int | None = None,
        window: int | None = None,
    ):
        sizes = [batch, heads, key_dim, key_dim if value_dim is None else value_dim]
        like = torch.empty(0, dtype=dtype, device=device)
        self._cache = torch.classes.heed.KVCache(sizes, like, room, capacity, window)
        self.window = window

    def append(self, key: Tensor, value: Tensor, counts: Tensor | Sequence[int] | None = None) -> None:
        """Adds key [batch, heads, n, key_dim] and value [batch, heads, n, value_dim].

        With ``counts`` only the first ``counts[b]`` tokens of entry ``b`` are real, the rest is padding.
        """
        self._cache.append(key, value, _whole(counts))

    def truncate(self, positions: Tensor | Sequence[int]) -> None:
        """Back to the first ``positions[b]`` tokens of entry ``b``, as after rejected speculation."""
        self._cache.truncate(_whole(positions))

    def reorder(self, index: Tensor | Sequence[int]) -> None:
        """Entry ``b`` becomes what entry ``index[b]`` was, as beam search needs it."""
        self._cache.reorder(_whole(index))

    @property
    def keys(self) -> Tensor:
        """[batch, heads, slots, key_dim], a view that the next change makes stale."""
        return self._cache.keys()

    @property
    def values(self) -> Tensor:
        """[batch, heads, slots, value_dim], a view that the next change makes stale."""
        return self._cache.values()

    @property
    def lengths(self) -> Tensor:
        """[batch]: how many keys each entry holds."""
        return self._cache.lengths()

    @property
    def offsets(self) -> Tensor:
        """[batch]: the position of each entry's first key."""
        return self._cache.offsets()

    @property
    def positions(self) -> Tensor:
        """[batch, slots]: the position of each slot."""
        return self._cache.positions()

    def next_positions(self, count: int = 1) -> Tensor:
        """[batch, count]: the positions of the tokens to come."""
        return self._cache.next_positions(count)

    def attend(self, query: Tensor, *, counts: Tensor | Sequence[int] | None = None, **options):
        """`heed.attend` of the latest tokens' queries to what is held, with its options.

        ``causal`` is "bottom-right" unless given: the last query is the last token of its entry. After an
        ``append`` with ``counts`` give the same here; the output of padding queries is then 0.
        """
        for name in ("lengths", "layout"):
            if name in options:
                raise ValueError(f"KVCache.attend: {name} is the cache's own; leave it out")
        options.setdefault("causal", "bottom-right")
        if self.window is not None:
            options.setdefault("window", (self.window - 1, -1))
            if options["causal"] != "bottom-right" or not 0 <= options["window"][0] < self.window:
                raise ValueError(
                    f"KVCache.attend: causal={options['causal']!r}, window={options['window']}; this cache keeps "
                    f"{self.window} keys, so it needs causal='bottom-right' and 0 to {self.window - 1} keys to the left"
                )
        lengths, keys = self.lengths, self.keys
        if counts is None:
            return attend(query, keys, self.values, lengths=lengths, **options)
        if options["causal"] != "bottom-right":
            raise ValueError("KVCache.attend: counts go with causal='bottom-right'")
        counts, queries = _whole(counts), query.size(2)
        # Padding counts as tokens here, which puts every query at its own position: a real one sees no
        # padding, as that comes later.
        lengths = lengths - counts + queries
        if (counts < 0).any() or (counts > queries).any() or ((lengths < queries) | (lengths > keys.size(2))).any():
            raise ValueError(
                f"KVCache.attend: counts are {counts.tolist()} of {queries} queries; they must be those of the "
                "latest append"
            )
        result = attend(query, keys, self.values, lengths=lengths, **options)
        real = (torch.arange(queries) < counts.unsqueeze(1)).view(-1, 1, queries, 1).to(query.device)
        if isinstance(result, Tensor):
            return result.where(real, 0)
        return result._replace(output=result.output.where(real, 0))


def _whole(numbers: Tensor | Sequence[int] | None) -> Tensor | None:
    return None if numbers is None else torch.as_tensor(numbers)
