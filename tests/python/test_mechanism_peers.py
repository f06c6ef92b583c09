"""Mechanisms beside code we did not write: torch_geometric's graph attention, torch-struct's marginals."""

import warnings

import pytest
import torch

import heed

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_struct
    from torch_geometric.nn import GATConv, GATv2Conv

NODES, WIDTH, HEADS = 40, 12, 3


@pytest.fixture
def graph():
    torch.manual_seed(5)
    return torch.randn(NODES, WIDTH), torch.randint(NODES, (2, 300))


@pytest.mark.parametrize("version", [1, 2])
def test_graph_attention_is_torch_geometrics(graph, version):
    nodes, edges = graph
    peer = (GATConv if version == 1 else GATv2Conv)(
        WIDTH, WIDTH // HEADS, heads=HEADS, add_self_loops=False, **({"share_weights": False} if version == 2 else {})
    )
    mine = (heed.nn.Gat if version == 1 else heed.nn.Gatv2)(
        {"nodes": WIDTH}, queries={"id": "multi-head", "heads": HEADS}
    )
    own = dict(mine.named_parameters())

    def place(end):
        (name,) = (n for n in own if n.endswith(end))
        return own[name]

    with torch.no_grad():
        if version == 1:
            place(".W.weight").copy_(peer.lin.weight)
            place("a_source").copy_(peer.att_src[0])
            place("a_target").copy_(peer.att_dst[0])
        else:
            place("W_source.weight").copy_(peer.lin_l.weight)
            place("W_target.weight").copy_(peer.lin_r.weight)
            place(".a").copy_(peer.att[0])
            # torch_geometric's projections have biases of their own.
            peer.lin_l.bias.zero_(), peer.lin_r.bias.zero_()
        place(".b").copy_(peer.bias)
    want, (_, alpha) = peer(nodes, edges, return_attention_weights=True)
    got = mine({"nodes": nodes}, edges=edges, want="weights")
    torch.testing.assert_close(got.output, want, rtol=1e-5, atol=1e-6)
    (weights,) = got.weights.values()  # [1, heads, edges]
    torch.testing.assert_close(weights[0].t(), alpha, rtol=1e-5, atol=1e-6)


def energies(module, x, query):
    """The scores a module's weights are made of: those of its one attention, asked for directly."""
    params = {name.rpartition(".")[2]: p for name, p in module.named_parameters() if "attention." in name}
    return heed.attend(query[:, None], x, x, score="additive", params=params, want="scores").scores[:, 0]


def test_chain_attention_has_torch_structs_marginals():
    torch.manual_seed(6)
    B, N = 3, 7
    module = heed.nn.StructuredChain({"text": WIDTH}, query_dim=WIDTH).double()
    with torch.no_grad():
        (transition,) = (p for name, p in module.named_parameters() if name.endswith("T"))
        transition.copy_(torch.randn(2, 2))
    x, query = torch.randn(B, N, WIDTH, dtype=torch.float64), torch.randn(B, WIDTH, dtype=torch.float64)
    mine = module({"text": x}, query, want="weights").weights["selection"][:, 0, 0]
    e = energies(module, x, query).detach()
    # torch-struct's potentials: [batch, step, next, previous]; the first step carries the first unary too.
    potential = transition.detach().t().expand(B, N - 1, 2, 2).clone()
    potential[:, :, 1, :] += e[:, 1:, None]
    potential[:, 0, :, 1] += e[:, :1]
    pairs = torch_struct.LinearChainCRF(potential).marginals
    first = pairs[:, 0].sum(1)[:, 1]
    others = pairs.sum(-1)[:, :, 1]
    torch.testing.assert_close(mine, torch.cat([first[:, None], others], 1), rtol=1e-9, atol=1e-9)


def test_tree_attention_has_torch_structs_marginals():
    torch.manual_seed(7)
    B, N = 2, 6
    module = heed.nn.StructuredTree({"text": WIDTH}).double()
    x = torch.randn(B, N, WIDTH, dtype=torch.float64)
    mine = module({"text": x}, want="weights").weights["tree"][:, 0]  # [batch, word, head]
    params = {name.rpartition(".")[2]: p for name, p in module.named_parameters() if "attention." in name}
    scores = heed.attend(x, x, x, score="additive", params=params, want="scores").scores.detach()
    root = dict(module.named_parameters())
    logits = torch.nn.functional.linear(x, root["root.weight"], root["root.bias"]).squeeze(-1).detach()
    # torch-struct: [batch, head, word], the root's on the diagonal.
    arcs = scores.transpose(1, 2).clone()
    arcs.diagonal(dim1=1, dim2=2).copy_(logits)
    arcs.requires_grad_()
    (marginals,) = torch.autograd.grad(torch_struct.DependencyCRF(arcs * 1, multiroot=False).partition.sum(), arcs)
    heads = marginals.transpose(1, 2)
    off = ~torch.eye(N, dtype=torch.bool)
    torch.testing.assert_close(mine[:, off], heads[:, off], rtol=1e-8, atol=1e-8)
