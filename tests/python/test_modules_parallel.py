"""Every module of heed.nn under DistributedDataParallel and under torch.compile."""

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch.nn.parallel import DistributedDataParallel

from .module_cases import BATCH, all_cases

PROCESSES = 2
CASES = all_cases()
# Parameters that meet no gradient outside of sampling: DistributedDataParallel has to be told.
UNUSED = {"scaled-dot, reinforced"}


class Model(torch.nn.Module):
    """A module with something to learn behind it: some mechanisms have no parameters of their own."""

    def __init__(self, make, batch):
        super().__init__()
        torch.manual_seed(0)
        self.module = make()
        arguments, options = batch([0])
        self.head = torch.nn.Linear(self.module(*arguments, **options).shape[-1], 3).double()

    def forward(self, *arguments, **options):
        return self.head(self.module(*arguments, **options))


def gradients(model, arguments, options, wrapped=None):
    """Of `model`, called as it is or as what wraps it."""
    model.zero_grad()
    called = model if wrapped is None else wrapped
    called(*arguments, **options).square().mean().backward()
    return {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


def work(rank, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=PROCESSES)
    mine = range(rank * BATCH // PROCESSES, (rank + 1) * BATCH // PROCESSES)
    found = {}
    for name, (make, batch) in CASES.items():
        model = Model(make, batch)
        shared = DistributedDataParallel(model, find_unused_parameters=name in UNUSED)
        found[name] = gradients(model, *batch(mine), wrapped=shared)
    torch.save(found, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        torch.multiprocessing.spawn(work, (str(folder),), nprocs=PROCESSES)
    return [torch.load(folder / f"{rank}.pt") for rank in range(PROCESSES)]


@pytest.mark.parametrize("name", CASES)
def test_two_processes_give_the_gradients_of_one(found, name):
    make, batch = CASES[name]
    alone = gradients(Model(make, batch), *batch())
    learned = [n for n, g in alone.items() if g.abs().sum() > 0]
    assert "head.weight" in learned and (name in UNUSED or len(learned) > len(alone) // 2)
    for result in found:
        for parameter, ours in result[name].items():
            torch.testing.assert_close(ours, alone[parameter], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_eager(name):
    make, batch = CASES[name]
    arguments, options = batch()
    model = Model(make, batch)
    compiled = torch.compile(model, backend="aot_eager")
    torch.testing.assert_close(compiled(*arguments, **options), model(*arguments, **options), rtol=1e-12, atol=1e-12)
    eager = gradients(model, arguments, options)
    for parameter, ours in gradients(model, arguments, options, wrapped=compiled).items():
        torch.testing.assert_close(ours, eager[parameter], rtol=1e-10, atol=1e-12)
