"""How good the first k categories of every document are, most probable first, whatever was decided on them.

With y_i the labels of document i, and hits among its first k:

    precision@k   hits / k
    recall@k      hits / |y_i|
    nDCG@k        Σ_{hits at place p} 1/log2(p+1), over the most that |y_i| labels can come to
    PSP@k         Σ_{hits} q_l over all documents, over the most it can come to (Jain, Prabhu and Varma 2016):
                  q_l = 1 + C (N_l + B)^-A, C = (ln N - 1)(B + 1)^A, N_l of N training documents with the label

are means over documents, a document without labels counting 0. F1@k takes the first k as decided on: micro of the
pooled counts, macro the mean over the categories that occur. Labels that the model does not have count as not found.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, SettingsError
from lapwing.model.linear import LinearModel

PROPENSITY = (0.55, 1.5)  # A and B, the usual ones
MEASURES = ("precision", "recall", "ndcg", "psp", "micro_f1", "macro_f1")


@dataclass(frozen=True)
class Ranking:
    """Every measure of the heading at each of the places in `at`; PSP is NaN where the model does not know N."""

    documents: int
    at: tuple[int, ...]
    precision: np.ndarray
    recall: np.ndarray
    ndcg: np.ndarray
    psp: np.ndarray
    micro_f1: np.ndarray
    macro_f1: np.ndarray
    propensity: tuple[float, float] = PROPENSITY

    def to_dict(self) -> dict[str, Any]:
        def plain(value: float) -> float | None:
            return None if np.isnan(value) else float(value)

        return {
            "documents": self.documents,
            "propensity": {"A": self.propensity[0], "B": self.propensity[1]},
            "at": [
                {"k": k, **{name: plain(getattr(self, name)[place]) for name in MEASURES}}
                for place, k in enumerate(self.at)
            ],
        }


def places(given: str | Iterable[int]) -> tuple[int, ...]:
    """1,3,5 as numbers, rising."""
    try:
        numbers = sorted({int(part) for part in (given.split(",") if isinstance(given, str) else given)})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1:
        raise SettingsError(f"expected places of a ranking such as 1,3,5, got {given!r}")
    return tuple(numbers)


def rank(
    model: LinearModel,
    blocks: Iterable[tuple[Any, Sequence[tuple[Hashable, ...]]]],
    *,
    at: str | Iterable[int] = (1, 3, 5),
    propensity: tuple[float, float] = PROPENSITY,
) -> Ranking:
    """Rank the categories of blocks of (documents, label sets). Of every document its first places alone are kept."""
    wanted = places(at)
    number: dict[Hashable, int] = {label: k for k, label in enumerate(model.classes)}
    first: list[np.ndarray] = []
    labels_of: list[list[int]] = []
    for documents, labels in blocks:
        first.append(model.most_probable(documents, wanted[-1])[0])
        labels_of += [[number.setdefault(label, len(number)) for label in set(row)] for row in labels]
    if not labels_of:
        raise InputError("there are no documents to evaluate")
    pointer = np.append(0, np.cumsum([len(row) for row in labels_of]))
    columns = np.array([column for row in labels_of for column in row], dtype=np.int64)
    truth = sp.csr_matrix((np.ones(len(columns)), columns, pointer), shape=(len(labels_of), len(number)))
    weight = inverse_propensity(model, len(number), *propensity)
    return ranking(truth, np.concatenate(first), wanted, weight, propensity)


def inverse_propensity(model: LinearModel, count: int, a: float, b: float) -> np.ndarray:
    """q of the heading for the classes of a model, and for labels beyond that no training document has."""
    n, positives = model.provenance.get("documents"), np.asarray(model.fits.positives, dtype=np.float64)
    if not n:
        return np.full(count, np.nan)
    if len(positives) < len(model.classes):  # two classes, one row
        positives = np.append(n - positives, positives)
    known = np.append(positives, np.zeros(count - len(positives)))
    return np.asarray(1.0 + (np.log(n) - 1.0) * (b + 1.0) ** a * (known + b) ** -a)


def ranking(
    truth: sp.csr_matrix, first: np.ndarray, at: tuple[int, ...], weight: np.ndarray,
    propensity: tuple[float, float] = PROPENSITY,
) -> Ranking:  # fmt: skip
    """truth (n, labels) of ones; first (n, at least the last of `at`, or all) numbers of labels, best first."""
    n, deep = first.shape
    hits = np.asarray(truth[np.repeat(np.arange(n), deep), first.ravel()]).reshape(n, deep) > 0
    size = np.diff(truth.indptr)
    discount = 1.0 / np.log2(np.arange(2, max(deep, at[-1]) + 2))
    gains = np.zeros((n, deep))  # inverse propensities of true labels, largest first: the most there can be
    for i in range(n):
        own = np.sort(weight[truth.indices[truth.indptr[i] : truth.indptr[i + 1]]])[::-1][:deep]
        gains[i, : len(own)] = own
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    positives = np.bincount(truth.indices, minlength=truth.shape[1])
    for k in at:
        here = hits[:, :k]
        right = here.sum(axis=1)
        ideal = np.append(0.0, np.cumsum(discount[:k]))[np.minimum(size, k)]
        values["precision"].append(float(np.mean(right) / k))
        values["recall"].append(float(np.mean(right / np.maximum(size, 1))))
        cumulated = here @ discount[: here.shape[1]]
        values["ndcg"].append(float(np.mean(cumulated / np.where(ideal > 0.0, ideal, 1.0))))
        most = gains[:, :k].sum()
        values["psp"].append(float((here * weight[first[:, :k]]).sum() / most) if most else np.nan)
        taken = np.bincount(first[:, :k].ravel(), minlength=truth.shape[1])
        true = np.bincount(first[:, :k][here], minlength=truth.shape[1])
        values["micro_f1"].append(float(2.0 * true.sum() / max(taken.sum() + positives.sum(), 1)))
        occurs = positives > 0
        f1 = 2.0 * true[occurs] / (taken + positives)[occurs]
        values["macro_f1"].append(float(np.mean(f1)) if occurs.any() else np.nan)
    return Ranking(n, at, propensity=propensity, **{name: np.array(values[name]) for name in MEASURES})
