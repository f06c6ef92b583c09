"""The registry: what can be named."""

import functools
import json

import torch


@functools.cache
def _all() -> tuple[dict, ...]:
    return tuple(json.loads(torch.ops.heed.registry()))


def parts(group: str | None = None, *, built: bool | None = None) -> list[dict]:
    """The parts of the taxonomy, each a dict with id, group, title, formula, paper, options, status …

    >>> [p["id"] for p in heed.parts("score", built=True)]
    """
    found = [p for p in _all() if group in (None, p["group"])]
    if not found:
        groups = sorted({p["group"] for p in _all()})
        raise ValueError(f"unknown group '{group}'; one of {', '.join(groups)}")
    if built is not None:
        found = [p for p in found if (p["status"] == "built") == built]
    return found
