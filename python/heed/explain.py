"""Is attention an explanation? Importances of words by several measures, and the tests of the debate.

>>> run = heed.load("runs/sst")
>>> heed.explain.importances(run, "a gob of drivel", methods=["attention", "gradient"])
>>> heed.explain.audit(run, retrain=False)["verdict"]
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import torch

from ._run import Question, Run

__all__ = ["Importances", "audit", "importances", "methods"]


@dataclass(frozen=True)
class Importances:
    """How much each token of an input matters, by each method: a tensor [tokens]."""

    input: str
    tokens: list[str]
    by: dict[str, torch.Tensor]


def methods() -> list[str]:
    """The measures there are; docs/explanation.md has their formulas."""
    return torch.ops.heed.importance_methods()


def importances(
    run: Run, question: Question | Sequence[Question], *, methods: Sequence[str] = ("attention",), input: str = ""
) -> Any:
    """Importances for one question, or a list of them for several.

    `input` is the one under examination where a task has several; by default the first that attention looks at.
    """
    told = json.loads(run._model.importances(run._questions(question), list(methods), input))
    answers = [
        Importances(
            line["input"],
            line["tokens"],
            {method: torch.tensor(values, dtype=torch.float64) for method, values in line["importances"].items()},
        )
        for line in told
    ]
    several = not isinstance(question, str) and isinstance(question, Sequence)
    return answers if several else answers[0]


def audit(run: Run | str | PathLike[str], **options: Any) -> dict[str, Any]:
    """Every test of `heed explain --audit`, one after the other; what is finished is kept and not made again.

    `retrain=False` leaves out the tests that train models; `examples`, `permutations`, `epsilon`, `seeds`, `lambdas`, `split` and `input`
    are as for the command. Returns {scores, tests, verdict, …}, which is also written to RUN/audit/audit.json.
    """
    known = {"retrain", "examples", "permutations", "epsilon", "seeds", "lambdas", "split", "input"}
    for name in options:
        if name not in known:
            raise TypeError(f"audit: unexpected argument '{name}'; it takes {', '.join(sorted(known))}")
    folder = run.folder if isinstance(run, Run) else fspath(run)
    return json.loads(torch.ops.heed.audit(folder, json.dumps(options)))
