"""heed: every attention mechanism of Brauwers & Frasincar's survey, for PyTorch on the CPU.

>>> import torch, heed
>>> q, k, v = (torch.randn(2, 4, 10, 16) for _ in range(3))
>>> heed.attend(q, k, v, causal="top-left").shape
torch.Size([2, 4, 10, 16])
"""

from pathlib import Path as _Path

import torch as _torch

_torch.ops.load_library(str(_Path(__file__).parent / "_ops.so"))

from . import explain, metrics, nn
from ._attend import attend, attend_packed
from ._graph import Graph, graph_attend
from ._kv_cache import KVCache
from ._linear import linear_attend
from ._registry import parts
from ._ring import ring_attend, ring_join, ring_positions, ring_split
from ._run import Prediction, Run, load

__version__ = "0.1.0"
__all__ = [
    "Graph",
    "KVCache",
    "Prediction",
    "Run",
    "attend",
    "attend_packed",
    "explain",
    "graph_attend",
    "linear_attend",
    "load",
    "metrics",
    "nn",
    "parts",
    "ring_attend",
    "ring_join",
    "ring_positions",
    "ring_split",
    "__version__",
]
