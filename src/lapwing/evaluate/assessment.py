"""What a report shows of an evaluation: its counts and measures, and per category what every threshold would have
given. It holds no text and no labels of single documents, and can be stored as JSON.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.evaluate.measures import Evaluation, evaluate
from lapwing.evaluate.ranking import MEASURES
from lapwing.formats.shapes import check, count, flag, label, maybe, number, text
from lapwing.model.linear import LinearModel

SCHEMA = 2
STEPS = 100  # thresholds 0.01, 0.02, … 0.99
MOST_CUTS = 200  # points of a precision–recall curve


@dataclass(frozen=True)
class CategoryAssessment:
    """One category, document by document a probability p and whether it is in the category.

    grid     (STEPS − 1, 2): TP and FP if p > k/STEPS decided
    cuts     rows of (p, TP, FP): TP and FP if every document of at least p were taken, at the p of documents in
             the category, highest first; thinned to MOST_CUTS
    """

    positives: int
    grid: list[list[int]]
    cuts: list[list[float]]


@dataclass(frozen=True)
class Assessment:
    """`evaluation` is `Evaluation.to_dict()`; `categories` has one entry per class of the model; earlier files
    have only the second of two exclusive classes."""

    corpus: str
    documents: int
    evaluation: dict[str, Any]
    categories: list[CategoryAssessment]
    model: str = ""  # SHA-256 of the model file it belongs to

    def to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_dict(cls, record: Any) -> Assessment:
        """What `to_dict` gave; anything else is refused."""
        try:
            if record["schema"] != SCHEMA:
                raise InputError(f"an evaluation of schema {record['schema']!r} is not known to this lapwing")
            values = {f.name: record[f.name] for f in fields(cls)}
            check(record, _SHAPE)
            values["categories"] = [_category(one) for one in values["categories"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"not a stored evaluation: {error!r}") from error
        return cls(**values)


def _category(record: dict[str, Any]) -> CategoryAssessment:
    return CategoryAssessment(**record)


_RATES = dict.fromkeys(("precision", "recall", "f1"), maybe(number))
_RELIABLE = {"documents": count, "probability": number, "share": number, "band": (number, number)}
_CALIBRATION = {"reliability": [_RELIABLE], "by_chance?": maybe({"mean": number, "at_most": number})} | {
    f"{name}?": maybe(number)
    for name in ("log_loss", "relative_log_loss", "brier", "relative_brier", "expected_calibration_error")
}
_KEPT = dict.fromkeys(("promised", "kept", "mean_size", "single"), number)
_CONFUSED = {"true": label, "chosen": label, "documents": count}
_EVALUATED = {
    "category": label, "tp": count, "fp": count, "fn": count, "errors": count, "averaged": flag,
    "calibration": _CALIBRATION, **_RATES,
}  # fmt: skip
_SHAPE = {
    "corpus": text,
    "documents": count,
    "model": text,
    "categories": [{"positives": count, "grid": [(count, count)], "cuts": [(number, count, count)]}],
    "evaluation": {
        "categories": [_EVALUATED],
        "averages": dict.fromkeys(("macro", "micro", "weighted"), _RATES),
        "accuracy": maybe(number),
        "calibration": _CALIBRATION | {"in_words?": maybe(text)},
        "selective": {"risk_coverage": [(number, number)], "promises": [_KEPT], "area": number, "promised_on?": number},
        "trained_on?": maybe(number),
        "ranking?": {
            "documents": count,
            "propensity": {"A": number, "B": number},
            "at": [{"k": count, **dict.fromkeys(MEASURES, maybe(number))}],
        },
        "confusion": maybe({"matrix": maybe([[count]]), "pairs": [_CONFUSED]}),
        "categories_averaged": count,
        "categories_left_out": count,
        "labels_unknown_to_the_model": [label],
    },
}


def assess(
    model: LinearModel,
    blocks: Iterable[tuple[Any, Sequence[tuple[Hashable, ...]]]],
    corpus: str,
    *,
    undefined: float = 1.0,
    **ranked: Any,
) -> tuple[Evaluation, Assessment]:
    """`evaluate`, and all that is kept of the documents it scored; `ranked` are its `at` and `propensity`, if any."""
    categories: list[CategoryAssessment] = []

    def watch(proba: np.ndarray, truth: np.ndarray) -> None:
        categories.extend(assess_category(proba[:, k], truth[:, k]) for k in range(proba.shape[1]))

    evaluation = evaluate(model, blocks, undefined=undefined, watch=watch, **ranked)
    return evaluation, Assessment(corpus, evaluation.documents, evaluation.to_dict(), categories)


def membership(labels: Sequence[tuple[Hashable, ...]], categories: Sequence[Hashable]) -> np.ndarray:
    """(documents, categories) True where the document has the label."""
    return memberships(labels, categories).toarray()


def memberships(labels: Sequence[tuple[Hashable, ...]], categories: Sequence[Hashable]) -> sp.csc_matrix:
    """The same, sparse."""
    number = {label: k for k, label in enumerate(categories)}
    columns = [sorted({number[label] for label in row if label in number}) for row in labels]
    pointer = np.append(0, np.cumsum([len(row) for row in columns], dtype=np.int64))
    places = np.fromiter((k for row in columns for k in row), dtype=np.int64, count=int(pointer[-1]))
    truth = sp.csr_matrix((np.ones(len(places), dtype=bool), places, pointer), shape=(len(labels), len(number)))
    return truth.tocsc()


def assess_category(proba: np.ndarray, truth: np.ndarray) -> CategoryAssessment:
    inside, outside = np.sort(proba[truth]), np.sort(proba[~truth])

    def above(thresholds: np.ndarray, side: str) -> tuple[np.ndarray, np.ndarray]:
        return tuple(len(part) - np.searchsorted(part, thresholds, side) for part in (inside, outside))  # type: ignore

    grid = above(np.arange(1, STEPS) / STEPS, "right")
    cuts = np.unique(inside)[::-1]
    if len(cuts) > MOST_CUTS:
        cuts = cuts[np.linspace(0, len(cuts) - 1, MOST_CUTS).round().astype(int)]
    return CategoryAssessment(
        positives=len(inside),
        grid=np.column_stack(grid).tolist(),
        cuts=[[float(f"{p:.4g}"), int(tp), int(fp)] for p, tp, fp in zip(cuts, *above(cuts, "left"), strict=True)],
    )
