"""Where each part stands: the survey's three families, and what heed has beside them."""

from dataclasses import dataclass, field

from .registry import Part


@dataclass
class Node:
    """One question of the taxonomy; its parts are the answers."""

    title: str
    about: str
    groups: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    parts: list[Part] = field(default_factory=list)

    def takes(self, part: Part) -> bool:
        return part.group in self.groups or (part.group == "mechanism" and part.id in self.mechanisms)


@dataclass
class Family:
    id: str
    title: str
    about: str
    nodes: list[Node]

    @property
    def parts(self) -> list[Part]:
        return [part for node in self.nodes for part in node.parts]


def _families() -> list[Family]:
    co = ("co.alternating", "co.interactive", "co.parallel")
    return [
        Family(
            "features",
            "Feature-related",
            "what is attended to",
            [
                Node("Multiplicity of features", "how many inputs", mechanisms=("singular", *co, "rotatory")),
                Node(
                    "Levels of features", "how many grains of one input", mechanisms=("via-attention", "hierarchical")
                ),
                Node("Representations", "how many embeddings of one word", mechanisms=("meta-embedding",)),
            ],
        ),
        Family(
            "general",
            "General",
            "what every attention has",
            [
                Node("Scoring", "how well a key fits a query", groups=("score",)),
                Node("Alignment", "how scores become weights", groups=("align",)),
                Node("Dimensionality", "one weight a key, or one a feature", groups=("dimensionality",)),
            ],
        ),
        Family(
            "queries",
            "Query-related",
            "what asks",
            [
                Node("Type of query", "where it comes from", groups=("query",)),
                Node("Multiplicity of queries", "how often it is asked", groups=("queries",)),
            ],
        ),
        Family(
            "beyond",
            "Beyond the survey",
            "from Qiu's chapter 8 and later work",
            [
                Node(
                    "Selection", "by a query, by salience, as the answer", mechanisms=("focus", *_SALIENCY, "pointer")
                ),
                Node("Every position asks", "self-attention", mechanisms=("self-attention", "transformer", "linear")),
                Node("Structured", "weights that depend on each other", mechanisms=_STRUCTURED),
                Node("Graphs", "neighbours attend to each other", mechanisms=("gat", "gatv2", "het-gat")),
                Node("Positions", "how order enters", groups=("position",)),
                Node("Baselines", "what attention has to beat", mechanisms=("mean-pool", "no-attention")),
                Node("More wirings", "other ways to attend", groups=("mechanism",)),
            ],
        ),
    ]


_SALIENCY = ("saliency.max-pool", "saliency.gate", "saliency.winner-take-all")
_STRUCTURED = ("structured.chain", "structured.binomial", "structured.tree")


def families(parts: list[Part]) -> list[Family]:
    """Every part stands at the first node that takes it; a part nobody planned for is in the last one."""
    made = _families()
    nodes = [node for family in made for node in family.nodes]
    for part in parts:
        next((node for node in nodes if node.takes(part)), nodes[-1]).parts.append(part)
    for family in made:
        family.nodes = [node for node in family.nodes if node.parts]
    return made
