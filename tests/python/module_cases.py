"""Every module of heed.nn, made small, with a batch it takes: what the walks over all of them share."""

import torch

import heed

WIDTH, BATCH = 8, 8
F64 = torch.float64


def inputs_of(part):
    """The names that a mechanism's registry entry asks for."""
    text = part["inputs"]
    if text.startswith("two"):
        return ["a", "b"]
    if text.startswith("several"):
        return ["one", "other", "third"]
    if text.startswith("left"):
        return ["left", "target", "right"]
    return ["words", "characters"] if text.startswith("words") else ["text"]


def class_of(part):
    classes = (getattr(heed.nn, name) for name in heed.nn.__all__)
    return next(c for c in classes if c is not heed.nn.Mechanism and getattr(c, "mechanism", None) == part["id"])


def mechanism(part):
    graph, levels = "nodes" in part["inputs"], int("levels" in part["inputs"])
    names = inputs_of(part)
    query_dim = 0 if graph else WIDTH
    return class_of(part)({name: WIDTH for name in names}, query_dim=query_dim, levels=levels).double()


def mechanism_batch(part, entries=range(BATCH)):
    """The arguments of a call, with these entries of the batch; of a graph, these of its separate parts."""
    generator = torch.Generator().manual_seed(1)
    entries = torch.as_tensor(list(entries))

    def rand(*shape):
        return torch.randn(BATCH, *shape, generator=generator, dtype=F64)[entries]

    if "nodes" in part["inputs"]:
        n = 3  # nodes of each entry, a circle with self-loops
        ring = torch.tensor([[0, 1, 2, 0, 1, 2], [1, 2, 0, 0, 1, 2]])
        edges = torch.cat([ring + n * i for i in range(len(entries))], 1)
        return ({"text": rand(n, WIDTH).flatten(0, 1)},), {"edges": edges}
    same = part["inputs"].startswith("several")
    data = {name: rand(6 if same else 6 + i, WIDTH) for i, name in enumerate(inputs_of(part))}
    options = {"query": rand(WIDTH)}
    if "levels" in part["inputs"]:
        options["levels"] = [torch.tensor([[2, 4], [6, 0], [1, 5], [3, 3]]).repeat(2, 1)[entries]]
    elif not same:
        options["lengths"] = {next(iter(data)): torch.tensor([6, 3, 1, 5, 2, 6, 4, 4])[entries]}
    return (data,), options


def mechanisms():
    return {part["id"]: part for part in heed.parts("mechanism", built=True)}


def attentions():
    """Score and alignment of heed.nn.Attention, one of them the default."""
    scores = [(p["id"], "soft") for p in heed.parts("score", built=True)]
    return scores + [("scaled-dot", p["id"]) for p in heed.parts("align", built=True) if p["id"] != "soft"]


def attention(score, align):
    module = heed.nn.Attention(WIDTH, WIDTH, score=score, align=align).double()
    # What draws, draws for each process by itself: compared is what it does without.
    return module.eval() if align in ("hard", "reinforced") else module


def attention_batch(entries=range(BATCH)):
    generator = torch.Generator().manual_seed(2)
    entries = torch.as_tensor(list(entries))
    query = torch.randn(BATCH, WIDTH, generator=generator, dtype=F64)[entries]
    keys = torch.randn(BATCH, 7, WIDTH, generator=generator, dtype=F64)[entries]
    return (query, keys), {"lengths": torch.tensor([7, 3, 1, 5, 2, 7, 4, 4])[entries]}


def all_cases():
    """name → (make the module, its batch of these entries)."""
    cases = {}
    for name, part in mechanisms().items():
        cases[name] = (lambda part=part: mechanism(part), lambda e=range(BATCH), part=part: mechanism_batch(part, e))
    for score, align in attentions():
        cases[f"{score}, {align}"] = (lambda s=score, a=align: attention(s, a), attention_batch)
    return cases
