"""DistributedDataParallel over heed.nn.Attention: two processes give the gradients of one."""

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch.nn.parallel import DistributedDataParallel

import heed

PROCESSES, STEPS = 2, 3


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.attention = heed.nn.Attention(4, 6, score="additive")
        self.again = heed.nn.Attention(6, 6, score="general")
        self.head = torch.nn.Linear(6, 3)
        self.double()

    def forward(self, query, keys, lengths):
        first = self.attention(query, keys, lengths=lengths)
        return self.head(self.again(first, keys, lengths=lengths))


def data():
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(8, 4, dtype=torch.float64, generator=generator)
    keys = torch.randn(8, 5, 6, dtype=torch.float64, generator=generator)
    return query, keys, torch.tensor([5, 4, 3, 2, 1, 5, 0, 2])


def train(module, inputs):
    """The gradients of every step and the final parameters."""
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    seen = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        module(*inputs).square().mean().backward()
        seen += [p.grad.clone() for p in module.parameters()]
        optimiser.step()
    return seen + [p.detach().clone() for p in module.parameters()]


def work(rank, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=PROCESSES)
    share = [x.chunk(PROCESSES)[rank] for x in data()]
    eager = DistributedDataParallel(Model())
    compiled = torch.compile(DistributedDataParallel(Model()), backend="aot_eager")
    torch.save({"eager": train(eager, share), "compiled": train(compiled, share)}, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What each process saw."""
    folder = tmp_path_factory.mktemp("ranks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        torch.multiprocessing.spawn(work, (str(folder),), nprocs=PROCESSES)
    return [torch.load(folder / f"{rank}.pt") for rank in range(PROCESSES)]


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_two_processes_give_the_gradients_of_one(results, mode):
    alone = train(Model(), data())
    assert all((gradient != 0).any() for gradient in alone[: len(alone) // 2])
    for result in results:
        for ours, theirs in zip(result[mode], alone, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-13)
