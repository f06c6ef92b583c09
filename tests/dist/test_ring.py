"""Attention over ranks: the C++ tests under mpirun, and heed.ring_attend over Gloo."""

import re
import subprocess
import sys
from functools import partial

import pytest
import torch
import torch.distributed
import torch.multiprocessing

import heed

from ..conftest import ROOT
from .ranks import ENVIRONMENT, mpirun, needs_mpirun

PROGRAM = ROOT / "build" / "tests" / "dist" / "test_ring"


@needs_mpirun
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_equal_one_process(ranks):
    done = mpirun(ranks, PROGRAM, "--gtest_brief=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("[  PASSED  ]") == ranks


LENGTH, HEADS, KV_HEADS, D, V = 45, 4, 2, 8, 5
OPTIONS = {
    "plain": {},
    "causal": {"causal": True, "scale": 0.3, "softcap": 2.0},
    "ragged": {"causal": "bottom-right", "lengths": [45, 17]},
    "window": {"window": (7, 3), "bias": {"id": "alibi", "slopes": [0.5, 0.25, 0.125, 0.0625]}},
}


def whole(dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    shapes = [(2, HEADS, LENGTH, D), (2, KV_HEADS, LENGTH, D), (2, KV_HEADS, LENGTH, V), (2, HEADS, LENGTH, V)]
    return [torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes]


def forward_and_back(attend, inputs, grad):
    inputs = [x.clone().requires_grad_() for x in inputs]
    result = attend(*inputs)
    return [result.output.detach(), result.lse.detach(), *torch.autograd.grad(result.output, inputs, grad)]


def work(rank, ranks, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    found = {}
    for name, options in OPTIONS.items():
        *inputs, grad = (heed.ring_split(x, 2) for x in whole())
        parts = forward_and_back(partial(heed.ring_attend, want="lse", **options), inputs, grad)
        found[name] = [heed.ring_join(part, 2) for part in parts]
    # A group of its own, the layout with heads behind, and torch.compile around.
    group = torch.distributed.new_group(list(range(ranks)))
    q, k, v, _ = (heed.ring_split(x.transpose(1, 2), 1, group=group) for x in whole())
    compiled = torch.compile(
        lambda q, k, v: heed.ring_attend(q * 2, k, v, causal=True, layout="blhd", group=group) + 1, backend="aot_eager"
    )
    found["compiled"] = heed.ring_join(compiled(q, k, v), 1, group=group)
    found["positions"] = heed.ring_join(heed.ring_positions(LENGTH), 0)
    with pytest.raises(ValueError, match="ring_split gives it"):
        heed.ring_attend(*(x[:, :, : 5 + 4 * rank] for x in whole()[:3]), causal=True)
    if rank == 0:
        torch.save(found, f"{folder}/found.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module", params=[2, 4])
def found(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        torch.multiprocessing.spawn(work, (request.param, str(folder)), nprocs=request.param)
    return torch.load(folder / "found.pt")


@pytest.mark.parametrize("name", OPTIONS)
def test_processes_equal_one(found, name):
    *inputs, grad = whole()
    alone = forward_and_back(partial(heed.attend, want="lse", kernel="reference", **OPTIONS[name]), inputs, grad)
    for what, ours, theirs in zip(("output", "lse", "dq", "dk", "dv"), found[name], alone, strict=True):
        tolerance = 1e-5 if what == "lse" else 1e-11
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance, msg=lambda m, w=what: f"{w}: {m}")


def test_other_groups_layouts_and_compiled_callers(found):
    q, k, v, _ = whole()
    alone = heed.attend(q * 2, k, v, causal=True) + 1
    torch.testing.assert_close(found["compiled"].transpose(1, 2), alone, rtol=1e-11, atol=1e-11)
    assert torch.equal(found["positions"], torch.arange(LENGTH))


def test_without_a_group_it_says_what_to_do():
    with pytest.raises(ValueError, match="init_process_group"):
        heed.ring_attend(*whole()[:3])


def test_the_page_s_program_runs(tmp_path):
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "ring.md").read_text(), re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**ENVIRONMENT, "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*torchrun, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
