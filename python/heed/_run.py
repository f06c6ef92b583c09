"""Trained runs: what `heed train` left in a directory, asked from Python."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

import torch

#: One question: a text, or for tasks that read several, a text (or its tokens) for each field.
Question = str | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Prediction:
    """What a model said of one text, and what it looked at.

    `weights` has a tensor [head, query, key] for each attention module, `inputs` the tokens as the model saw them.
    Of `probabilities` (a number a label), `sequence` and `number` only what the task answers with is there.
    """

    label: str
    inputs: dict[str, list[str]]
    weights: dict[str, torch.Tensor]
    probabilities: dict[str, float] = field(default_factory=dict)
    sequence: list[str] | None = None
    number: float | None = None


class Run:
    """A trained model. Make one with `heed.load`."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = fspath(folder)
        self._model = torch.classes.heed.Run(self.folder)
        known = json.loads(self._model.description())
        self.kind: str = known["kind"]
        #: What a question consists of.
        self.fields: list[str] = known["fields"]
        self.labels: list[str] = known["labels"]
        self.parameters: int = known["parameters"]
        self.config: dict[str, Any] = tomllib.loads(known["config"])

    def __repr__(self) -> str:
        return f"heed.Run({self.folder!r}, kind={self.kind!r}, labels={len(self.labels)})"

    def predict(
        self, question: Question | Sequence[Question], *, replace: Mapping[str, torch.Tensor] | None = None
    ) -> Any:
        """The answer to one question, or a list of answers to several.

        `replace` makes modules use other weights than their own: a tensor [head, query, key] by the name that
        `Prediction.weights` has it under. The weights of a prediction given back give the same prediction.
        """
        names, weights = list(replace or {}), [torch.as_tensor(w) for w in (replace or {}).values()]
        told = json.loads(self._model.predict(self._questions(question), names, weights))
        answers = [self._prediction(line) for line in told]
        return answers[0] if isinstance(question, str | Mapping) else answers

    def _questions(self, question: Question | Sequence[Question]) -> str:
        several = [question] if isinstance(question, str | Mapping) else list(question)
        if not self.fields:
            raise ValueError(
                f"examples of kind '{self.kind}' are no text; the run's own are answered in predictions.jsonl"
            )
        if any(isinstance(each, str) for each in several) and len(self.fields) != 1:
            raise ValueError(f"a run of kind '{self.kind}' reads {', '.join(self.fields)}: give a dict of them")
        return json.dumps([{self.fields[0]: each} if isinstance(each, str) else dict(each) for each in several])

    def _prediction(self, line: dict[str, Any]) -> Prediction:
        said = line["prediction"]
        maps = {m["name"]: torch.tensor(m["data"]).reshape(m["shape"]) for m in line.get("maps", [])}
        return Prediction(
            label=said["label"],
            inputs=line["inputs"],
            weights=maps,
            probabilities=dict(zip(self.labels, said.get("probabilities", []))),
            sequence=said.get("sequence"),
            number=said.get("number"),
        )


def load(folder: str | PathLike[str]) -> Run:
    """Loads a run directory of `heed train`.

    >>> run = heed.load("runs/reviews")
    >>> run.predict("the food was not good").label
    """
    return Run(folder)
