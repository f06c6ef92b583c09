"""131 072 keys × 64: a training step takes half the memory on each of two ranks.

Under a window, which costs little time; nothing else changes what is held. Without one: bench/ring.cpp.
"""

from pathlib import Path

import pytest
import torch
import torch.distributed
import torch.multiprocessing

import heed

from .ranks import ENVIRONMENT

LENGTH, WIDTH = 131_072, 64


def memory(name):
    """A line of /proc/self/status in MiB: VmRSS, or VmHWM, the most since the last reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def step(attend, length):
    q, k, v = (torch.randn(1, 1, length, WIDTH).requires_grad_() for _ in range(3))
    out = attend(q, k, v, causal=True, window=(255, 0))
    out.backward(torch.ones_like(out))


def work(rank, ranks, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    attend = heed.ring_attend if ranks > 1 else heed.attend
    step(attend, 4096)  # what the first call takes once
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    step(attend, LENGTH // ranks)
    torch.save(memory("VmHWM") - before, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def grown(ranks, folder):
    folder.mkdir()
    torch.multiprocessing.spawn(work, (ranks, str(folder)), nprocs=ranks)
    return [torch.load(folder / f"{rank}.pt") for rank in range(ranks)]


def test_two_ranks_hold_half_each(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**ENVIRONMENT, "GLOO_SOCKET_IFNAME": "lo"}.items():
            patch.setenv(name, value)
        (alone,), parts = grown(1, tmp_path / "one"), grown(2, tmp_path / "two")
    # Queries, keys, values, output and the gradients of all four: nothing less can be held.
    assert alone >= 8 * LENGTH * WIDTH * 4 / 2**20 * 0.95
    assert max(parts) < 0.56 * alone, (alone, parts)
