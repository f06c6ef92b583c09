"""Small trained runs, one for each kind of task and each shape that weights come in."""

TRAIN = "\n[train]\nepochs = {epochs}\nbatch = 32\ntraces = 3\n"


def config(
    kind,
    data,
    *,
    mechanism="singular",
    feature="bigru",
    dim=16,
    query="",
    queries="",
    attention="",
    more="",
    output="",
    epochs=1,
):
    text = f'[task]\nkind = "{kind}"\ndata = "builtin:{data}"\n[feature]\nmodel = {feature!r}\ndim = {dim}\n{more}\n'
    if query:
        text += f"[query]\nmodel = {query}\n"
    text += (
        f"[attention]\nmechanism = {mechanism}\n"
        if mechanism.startswith("{")
        else f'[attention]\nmechanism = "{mechanism}"\n'
    )
    if queries:
        text += f"queries = {queries}\n"
    text += attention + "\n"
    if output:
        text += f"[output]\nmodel = {output}\n"
    return text + TRAIN.format(epochs=epochs)


TARGET = '{ id = "specialised", input = "target" }'

ZOO = {
    "heads": config(
        "classify", "reviews?size=120", mechanism="self-attention", queries='{ id = "multi-head", heads = 4 }'
    ),
    "layers": config(
        "classify",
        "reviews?size=120",
        mechanism='{ id = "transformer", layers = 2 }',
        queries='{ id = "multi-head", heads = 4 }',
        feature="embedding",
    ),
    "hops": config("aspect", "reviews?size=120", query=TARGET, queries='{ id = "multi-hop", hops = 3 }'),
    "multi-dimensional": config("classify", "reviews?size=120", attention='dimensionality = "multi"'),
    "capsule-text": config("classify", "reviews?size=120", queries='{ id = "capsule" }'),
    "chain": config("classify", "reviews?size=120", mechanism="structured.chain"),
    "tree": config("classify", "reviews?size=120", mechanism="structured.tree"),
    "pair": config("pair", "statements?size=120", mechanism="co.parallel"),
    "pair-alternating": config("pair", "statements?size=120", mechanism="co.alternating"),
    "rotatory": config("aspect", "reviews?size=120", mechanism="rotatory"),
    "hierarchy": config("document", "reviews?size=120", mechanism="hierarchical"),
    "dialogue": config(
        "document", "dialogue?size=120", mechanism="hierarchical", query='{ id = "specialised", input = "question" }'
    ),
    "answer": config(
        "answer", "stories?size=120", query='{ id = "specialised", input = "question" }', more='pool = "mean"'
    ),
    "translate": config("translate", "translate?size=200", output='{ id = "gru", beam = 1 }', epochs=3),
    "phonemes": config("translate", "phonemes?size=150", output='{ id = "gru", beam = 1 }', epochs=2),
    "tour": config("point", "tsp?n=6&size=300", output='{ id = "pointer", beam = 1 }', epochs=2),
    "hull": config("point", "hull?n=8&size=300", output='{ id = "pointer", beam = 1 }', epochs=2),
    "graph": config(
        "graph",
        "graph?size=200",
        mechanism="gat",
        feature="embedding",
        query='"self"',
        queries='{ id = "multi-head", heads = 2 }',
        epochs=20,
    ),
    "het-graph": config(
        "graph", "hetgraph?size=200", mechanism="het-gat", feature="embedding", query='"self"', epochs=20
    ),
    "image": config(
        "image", "shapes?size=150", more='vectors = { id = "patches", size = 2 }', feature="embedding", epochs=2
    ),
    "capsules": config(
        "image",
        "shapes?size=150",
        more='vectors = { id = "conv" }',
        feature="embedding",
        queries='{ id = "capsule" }',
        epochs=2,
    ),
    "video": config(
        "image", "video?size=60", more='vectors = { id = "patches", size = 2 }', feature="embedding", epochs=2
    ),
    "count": config(
        "count", "crowd?size=150", more='vectors = { id = "patches", size = 2 }', feature="embedding", epochs=2
    ),
    "recommend": config("recommend", "recommend?size=200", mechanism="co.interactive", feature="embedding", epochs=2),
}
