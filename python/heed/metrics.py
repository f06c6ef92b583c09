"""The metrics of `heed metrics`, on plain lists.

Each returns a dict with `name`, `value`, `signature` (every parameter the value depends on) and `details`. All take
`bootstrap=1000` (adds `ci_low`, `ci_high` and `ci_mean` to the details; `seed` decides what is drawn) and `segments=True` (adds the
metric of each segment alone). What a value means, and what it is without any data, is in include/heed/metrics.

>>> heed.metrics.bleu(["the cat sat on the mat"], ["the cat is on the mat"])["value"]
>>> heed.metrics.f1(["pos", "neg"], ["pos", "pos"], average="weighted", bootstrap=1000)["details"]["ci_low"]
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

__all__ = [
    "accuracy",
    "aer",
    "auprc",
    "bleu",
    "compare",
    "correctness",
    "f1",
    "holm",
    "hr",
    "iou",
    "iou_f1",
    "meteor",
    "ndcg",
    "per",
    "perplexity",
    "precision",
    "psnr",
    "recall",
    "ssim",
    "token_f1",
    "wer",
]

Result = dict[str, Any]
_COMMON = {"bootstrap": 0, "seed": 1, "segments": False}


def _call(name: str, data: dict, options: dict, pictures: Sequence[torch.Tensor] = ()) -> Result:
    common = {key: options.pop(key, default) for key, default in _COMMON.items()}
    given = {key: value for key, value in options.items() if value is not None}
    try:
        call = json.dumps({"name": name, "data": data, "options": given, **common}, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"{name}: NaN and infinity cannot be measured") from error
    return json.loads(torch.ops.heed.metrics(call, list(pictures)))


def _common(name: str, options: dict) -> dict:
    for key in options:
        if key not in _COMMON:
            raise TypeError(f"{name}: unexpected argument '{key}'; besides its own it takes {', '.join(_COMMON)}")
    return dict(options)


def _texts(hyps: Iterable[str], refs: Sequence) -> dict:
    """refs is one list of texts, or a list of such lists, each parallel to hyps."""
    refs = list(refs)
    return {"hyps": list(hyps), "refs": [refs] if all(isinstance(r, str) for r in refs) else [list(r) for r in refs]}


def _labels(pred: Iterable, gold: Iterable) -> dict:
    return {"pred": [str(label) for label in pred], "gold": [str(label) for label in gold]}


def _marks(rows: Iterable[Iterable]) -> list[list[bool]]:
    rows = [[int(mark) for mark in row] for row in rows]
    if any(mark not in (0, 1) for row in rows for mark in row):
        raise ValueError("marks are 0 and 1, or False and True, one a token")
    return [[bool(mark) for mark in row] for row in rows]


def _weights(rows: Iterable[Iterable[float]]) -> list[list[float]]:
    return [[float(weight) for weight in row] for row in rows]


def _pictures(first: Sequence, second: Sequence) -> list[torch.Tensor]:
    tensors = [[torch.as_tensor(picture) for picture in side] for side in (first, second)]
    if len(tensors[0]) != len(tensors[1]):
        raise ValueError(f"{len(tensors[0])} pictures against {len(tensors[1])}")
    for picture in tensors[0] + tensors[1]:
        if picture.is_floating_point() or (picture.numel() and (picture.min() < 0 or picture.max() > 255)):
            raise ValueError(
                "pictures hold whole numbers from 0 to 255; scale them, as (255 * x).round().to(torch.uint8)"
            )
    return [picture.to(torch.uint8) for picture in tensors[0] + tensors[1]]


def bleu(
    hyps: Iterable[str],
    refs: Sequence,
    *,
    tokeniser: str | None = None,
    lowercase: bool | None = None,
    smooth: str | None = None,
    smooth_value: float | None = None,
    max_order: int | None = None,
    effective_order: bool | None = None,
    **common: Any,
) -> Result:
    """BLEU of a corpus, 0–100 (Papineni et al. 2002); the defaults are sacreBLEU's.

    `refs` is a list of texts parallel to `hyps`, or several such lists. Tokenisers: 13a, none, char; smoothing: exp, floor, add-k, none.
    """
    options = {"tokeniser": tokeniser, "lowercase": lowercase, "smooth": smooth, "smooth_value": smooth_value}
    options |= {"max_order": max_order, "effective_order": effective_order} | _common("bleu", common)
    return _call("bleu", _texts(hyps, refs), options)


def meteor(
    hyps: Iterable[str],
    refs: Sequence,
    *,
    variant: str | None = None,
    tokeniser: str | None = None,
    wordnet: str | None = None,
    synonyms: bool = True,
    **common: Any,
) -> Result:
    """METEOR, 0–100 (Banerjee & Lavie 2005): exact, stem and, where WordNet is found and `synonyms`, synonym matches.

    `variant="nltk"` follows NLTK's greedy stages; `wordnet` is the folder of WordNet's files.
    """
    options = {"variant": variant, "tokeniser": tokeniser, "wordnet": wordnet, "synonyms": synonyms}
    return _call("meteor", _texts(hyps, refs), options | _common("meteor", common))


def wer(hyps: Iterable[str], refs: Sequence, **common: Any) -> Result:
    """Word error rate: errors over reference words, summed over the corpus."""
    return _call("wer", _texts(hyps, refs), _common("wer", common))


def per(hyps: Iterable[str], refs: Sequence, *, mode: str | None = None, **common: Any) -> Result:
    """Phoneme error rate or, with `mode="pi"`, position-independent error rate."""
    return _call("per", _texts(hyps, refs), {"mode": mode} | _common("per", common))


def perplexity(log_probs: Iterable[Iterable[float]], **common: Any) -> Result:
    """Perplexity over all tokens, from natural logs of their probabilities; a list a segment."""
    rows = [[None if value == -math.inf else float(value) for value in row] for row in log_probs]
    return _call("perplexity", {"log_probs": rows}, _common("perplexity", common))


def accuracy(pred: Iterable, gold: Iterable, **common: Any) -> Result:
    """The share of right labels."""
    return _call("accuracy", _labels(pred, gold), _common("accuracy", common))


def _classes(
    name: str, pred: Iterable, gold: Iterable, average: str, positive: Any, labels: Any, common: dict
) -> Result:
    options = {"average": average, "positive": None if positive is None else str(positive)}
    options["labels"] = None if labels is None else [str(label) for label in labels]
    return _call(name, _labels(pred, gold), options | _common(name, common))


def precision(
    pred: Iterable, gold: Iterable, *, average: str = "macro", positive: Any = None, labels: Any = None, **common: Any
) -> Result:
    """Precision of labels; `average` is macro, micro, weighted, or binary with the `positive` label."""
    return _classes("precision", pred, gold, average, positive, labels, common)


def recall(
    pred: Iterable, gold: Iterable, *, average: str = "macro", positive: Any = None, labels: Any = None, **common: Any
) -> Result:
    """Recall of labels, averaged as precision is."""
    return _classes("recall", pred, gold, average, positive, labels, common)


def f1(
    pred: Iterable, gold: Iterable, *, average: str = "macro", positive: Any = None, labels: Any = None, **common: Any
) -> Result:
    """The harmonic mean of precision and recall of each class, averaged as precision is."""
    return _classes("f1", pred, gold, average, positive, labels, common)


def _pharaoh(pairs: Iterable) -> list[str]:
    return [links if isinstance(links, str) else " ".join(f"{i}-{j}" for i, j in links) for links in pairs]


def aer(hyps: Iterable, gold: Iterable, **common: Any) -> Result:
    """Alignment error rate (Och & Ney 2003); an alignment is a Pharaoh line ("0-0 1?2") or a list of sure links (i, j)."""
    return _call("aer", {"hyps": _pharaoh(hyps), "gold": _pharaoh(gold)}, _common("aer", common))


def token_f1(pred: Iterable[Iterable], gold: Iterable[Iterable], **common: Any) -> Result:
    """Agreement of marked tokens with the human ones (DeYoung et al. 2020); 0 or 1 a token, a list a document."""
    return _call("token-f1", {"pred": _marks(pred), "gold": _marks(gold)}, _common("token_f1", common))


def iou_f1(
    pred: Iterable[Iterable], gold: Iterable[Iterable], *, threshold: float | None = None, **common: Any
) -> Result:
    """The same on runs of marked tokens, found when they overlap by the threshold (0.5)."""
    options = {"threshold": threshold} | _common("iou_f1", common)
    return _call("iou-f1", {"pred": _marks(pred), "gold": _marks(gold)}, options)


def auprc(pred: Iterable[Iterable[float]], gold: Iterable[Iterable], **common: Any) -> Result:
    """Area under the precision-recall curve of token weights against marks, averaged over documents."""
    return _call("auprc", {"pred": _weights(pred), "gold": _marks(gold)}, _common("auprc", common))


def correctness(pred: Iterable[Iterable[float]], gold: Iterable[Iterable[float]], **common: Any) -> Result:
    """The share of weight on tokens with gold weight (Liu et al. 2017); details: kl, tau (Kendall's τ-b), rho (Spearman's), chance."""
    return _call("correctness", {"pred": _weights(pred), "gold": _weights(gold)}, _common("correctness", common))


def _gains(relevant: Iterable | Mapping) -> dict[str, float]:
    if isinstance(relevant, Mapping):
        return {str(item): float(gain) for item, gain in relevant.items()}
    return {str(item): 1.0 for item in relevant}


def _rankings(pred: Iterable[Iterable], gold: Iterable) -> dict:
    return {"pred": [[str(item) for item in row] for row in pred], "gold": [_gains(row) for row in gold]}


def hr(pred: Iterable[Iterable], gold: Iterable, *, k: int = 10, **common: Any) -> Result:
    """Hit rate: the share of users who find a relevant item among the first k of theirs."""
    return _call("hr", _rankings(pred, gold), {"k": k} | _common("hr", common))


def ndcg(pred: Iterable[Iterable], gold: Iterable, *, k: int = 10, **common: Any) -> Result:
    """Normalised discounted cumulative gain; `gold` is a list of items a user, or a dict of their gains."""
    return _call("ndcg", _rankings(pred, gold), {"k": k} | _common("ndcg", common))


def psnr(a: Sequence, b: Sequence, **common: Any) -> Result:
    """Peak signal-to-noise ratio in dB of lists of pictures, [height, width(, channels)], 0–255."""
    return _call("psnr", {}, _common("psnr", common), _pictures(a, b))


def ssim(a: Sequence, b: Sequence, *, variant: str | None = None, **common: Any) -> Result:
    """Structural similarity (Wang et al. 2004) with a uniform window of 7, or `variant="gaussian"`."""
    return _call("ssim", {}, {"variant": variant} | _common("ssim", common), _pictures(a, b))


def iou(pred: Sequence, gold: Sequence, **common: Any) -> Result:
    """Intersection over union of lists of masks [height, width]; a pixel over 127 is inside."""
    return _call("iou", {}, _common("iou", common), _pictures(pred, gold))


def compare(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], *, confidence: float = 0.95
) -> dict[str, float]:
    """Two systems trained with the same seeds and asked the same examples: a list a seed, a number an example (a hit, a
    right answer), a − b. Seeds and examples are both samples (docs/ablation.md): `difference` with its interval `low` to `high` and
    `p`; `p_examples` is of these very models, `p_seeds` of these very examples."""
    scores = [torch.as_tensor(rows, dtype=torch.float64) for rows in (a, b)]
    found = torch.ops.heed.compare_crossed(*scores, confidence)
    return dict(zip(("difference", "low", "high", "p", "p_examples", "p_seeds"), found, strict=True))


def holm(p_values: Iterable[float]) -> list[float]:
    """P-values corrected for their number by Holm's step-down method (1979)."""
    return torch.ops.heed.holm([float(p) for p in p_values])
