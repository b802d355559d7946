"""Contingency tables per category, what is computed from them, and their averages.

Averages run over the categories that occur among the labels evaluated. F1 is 1 where there is nothing to
find and nothing was found (GLM07); `undefined=0.0` is the other convention.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.evaluate.calibration import BINS, Reliability, tally
from lapwing.evaluate.confusion import Confusion
from lapwing.evaluate.ranking import PROPENSITY, Ranking, rank
from lapwing.evaluate.selective import Selective
from lapwing.model.html import shown, table
from lapwing.model.linear import LinearModel
from lapwing.model.trained_on import TrainedOn

BLOCK_SCORES = 2**22  # scores worked out at a time: 32 MB
FEW = 0.05  # share of documents trained on that is let pass: texts recur

Watch = Callable[[np.ndarray, np.ndarray], None]  # (probabilities, truth) of documents and a block of the classes


@dataclass(frozen=True)
class Tables:
    """Four counts per category."""

    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray
    tn: np.ndarray

    @classmethod
    def of(cls, truth: np.ndarray, chosen: np.ndarray) -> Tables:
        """From two boolean arrays (documents, categories)."""
        return cls(
            tp=np.sum(truth & chosen, axis=0),
            fp=np.sum(~truth & chosen, axis=0),
            fn=np.sum(truth & ~chosen, axis=0),
            tn=np.sum(~truth & ~chosen, axis=0),
        )

    @property
    def errors(self) -> np.ndarray:
        return self.fp + self.fn

    def precision(self, undefined: float = 1.0) -> np.ndarray:
        return self._rate(self.tp, self.tp + self.fp, undefined)

    def recall(self, undefined: float = 1.0) -> np.ndarray:
        return self._rate(self.tp, self.tp + self.fn, undefined)

    def f1(self, undefined: float = 1.0) -> np.ndarray:
        return self._rate(2 * self.tp, 2 * self.tp + self.fp + self.fn, undefined)

    def _rate(self, part: np.ndarray, whole: np.ndarray, undefined: float) -> np.ndarray:
        """part/whole; `undefined` where TP+FP+FN is 0, else 0 where whole is 0."""
        empty = np.where(self.tp + self.fp + self.fn == 0, undefined, 0.0)
        return np.divide(part, whole, out=empty, where=whole > 0)


def auc(truth: np.ndarray, scores: np.ndarray) -> float:
    """Probability that a positive document outscores a negative one, ties counting half; NaN without both."""
    positives = int(truth.sum())
    negatives = truth.size - positives
    if not positives or not negatives:
        return float("nan")
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    above = np.cumsum(sizes)
    ranks = above - (sizes - 1) / 2.0  # mean rank of each group of equal scores
    return float((ranks[group][truth].sum() - positives * (positives + 1) / 2.0) / (positives * negatives))


@dataclass(frozen=True)
class Evaluation:
    """A model's decisions against the labels of `documents` documents.

    occurs    categories with a positive document here: those the averages run over
    unknown   labels of the data that the model does not have
    n_kept    features with a weight, per category
    tally     what is to know of the probabilities given (evaluate/calibration.py)
    selective what answering only where the model is sure would give
    confusion of exclusive classes
    trained_on  share of the documents that the model was trained on, as far as it can tell; NaN where it cannot
    ranking   where it was asked for: how good the first categories of every document are (evaluate/ranking.py)
    """

    categories: tuple[Hashable, ...]
    exclusive: bool
    documents: int
    tables: Tables
    auc: np.ndarray
    occurs: np.ndarray
    unknown: tuple[Hashable, ...]
    n_kept: np.ndarray
    tally: np.ndarray
    selective: Selective
    confusion: Confusion | None = None
    undefined: float = 1.0
    trained_on: float = float("nan")
    ranking: Ranking | None = None

    @property
    def memorised(self) -> str | None:
        """A warning, where these documents say little of new ones."""
        return memorised(self.trained_on)

    @property
    def left_out(self) -> int:
        return int((~self.occurs).sum())

    def averages(self) -> dict[str, dict[str, float]]:
        """macro: mean over categories; micro: of the pooled counts; weighted: mean by number of positives."""
        tables, seen = self.tables, self.occurs
        values = {
            "precision": tables.precision(self.undefined),
            "recall": tables.recall(self.undefined),
            "f1": tables.f1(self.undefined),
        }
        if not seen.any():
            return {kind: dict.fromkeys(values, float("nan")) for kind in ("macro", "micro", "weighted")}
        pooled = Tables(*(np.array([part[seen].sum()]) for part in (tables.tp, tables.fp, tables.fn, tables.tn)))
        support = (tables.tp + tables.fn)[seen]
        return {
            "macro": {name: float(value[seen].mean()) for name, value in values.items()},
            "micro": {name: float(getattr(pooled, name)(self.undefined)[0]) for name in values},
            "weighted": {name: float(np.average(value[seen], weights=support)) for name, value in values.items()},
        }

    def accuracy(self) -> float:
        """Share of documents put in their class; for exclusive classes only."""
        return float(self.tables.tp.sum() / max(self.documents, 1)) if self.exclusive else float("nan")

    def calibration(self) -> Reliability:
        """Of the probabilities of all categories together."""
        return Reliability.pooled(self.tally, self.exclusive)

    def _repr_html_(self) -> str:
        """Averages, then every category that occurs."""
        record = self.to_dict()
        keys = ("precision", "recall", "f1")

        def rates(row: dict[str, Any]) -> tuple[str, ...]:
            return tuple("" if row[key] is None else f"{100 * row[key]:.1f}" for key in keys)

        averages = [(kind, *rates(row)) for kind, row in record["averages"].items()]
        rows = [
            (shown(row["category"]), str(row["tp"]), str(row["fp"]), str(row["fn"]), *rates(row))
            for row in record["categories"]
            if row["averaged"]
        ]
        warning = f"<p><strong>{self.memorised}</strong></p>" if self.memorised else ""
        return (
            f"<div>{warning}<p>{self.documents:,} documents; {self.calibration().sentence()}</p>"
            f"{table(('', *keys), averages)}"
            f"{table(('category', 'TP', 'FP', 'FN', *keys), rows)}</div>"
        )

    def to_dict(self) -> dict[str, Any]:
        tables = self.tables
        columns: dict[str, np.ndarray] = {
            "tp": tables.tp, "fp": tables.fp, "fn": tables.fn, "errors": tables.errors,
            "precision": tables.precision(self.undefined), "recall": tables.recall(self.undefined),
            "f1": tables.f1(self.undefined), "auc": self.auc, "features": self.n_kept,
            "averaged": self.occurs,
        }  # fmt: skip
        kept, pooled = self.n_kept[self.occurs], self.calibration()
        return {
            "documents": self.documents,
            "trained_on": _plain(self.trained_on),
            "categories": [
                {
                    "category": label,
                    **{name: _plain(column[k]) for name, column in columns.items()},
                    "calibration": _plain(Reliability.of(self.tally[k]).to_dict()),
                }
                for k, label in enumerate(self.categories)
            ],
            "averages": {k: {n: _plain(v) for n, v in d.items()} for k, d in self.averages().items()},
            "accuracy": _plain(self.accuracy()),
            "calibration": _plain(pooled.to_dict()) | {"in_words": pooled.sentence()},
            "selective": _plain(self.selective.to_dict()),
            **({} if self.ranking is None else {"ranking": self.ranking.to_dict()}),
            "confusion": None if self.confusion is None else self.confusion.to_dict(),
            "categories_averaged": int(self.occurs.sum()),
            "categories_left_out": self.left_out,
            "labels_unknown_to_the_model": list(self.unknown),
            "features_per_category": {
                "min": int(kept.min()) if kept.size else 0,
                "max": int(kept.max(initial=0)),
                "mean": float(kept.mean()) if kept.size else 0.0,
            },
        }


def _plain(value: Any) -> Any:
    """JSON's own types; NaN, which it lacks, as null."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def memorised(trained_on: float | None) -> str | None:
    """The warning by a share of documents trained on; None where that is little or not known."""
    if trained_on is None or not trained_on >= FEW:
        return None
    whole = "these documents were" if trained_on > 0.99 else f"about {100 * trained_on:.0f} % of these documents were"
    return f"{whole} trained on: the figures are of what was learned by heart, and new documents will fare worse"


def on_unseen(held_out: Mapping[str, Any]) -> str:
    """The cross-validated figures of a model, in a sentence."""
    right = f"accuracy {100 * held_out['accuracy']:.1f} %, " if "accuracy" in held_out else ""
    some = f" of {held_out['categories']} categories" if held_out["categories"] > 1 else ""
    loss, error = held_out["relative_log_loss"], held_out["expected_calibration_error"]
    return (
        f"in {held_out['folds']}-fold cross-validation: {right}macro F1{some} {100 * held_out['macro_f1']:.1f}, "
        f"micro F1 {100 * held_out['micro_f1']:.1f}"
        + ("" if loss is None else f"; {beside_base_rates(loss)}")
        + ("" if error is None else f"; calibration error {100 * error:.2f} percentage points")
    )


def beside_base_rates(relative: float) -> str:
    """A log loss relative to that of the base rates, in words."""
    share = 100 * abs(1.0 - relative)
    return f"log loss {share:.1f} % {'lower' if relative < 1.0 else 'higher'} than always predicting the base rates"


def evaluate(
    model: LinearModel,
    blocks: Iterable[tuple[Any, Sequence[tuple[Hashable, ...]]]],
    *,
    undefined: float = 1.0,
    watch: Watch | None = None,
    at: str | Iterable[int] | None = None,
    propensity: tuple[float, float] = PROPENSITY,
) -> Evaluation:
    """Score blocks of (documents, label sets) and count what was right.

    With `at`, places such as (1, 3, 5), the ranking of categories is measured, too; `propensity` are A and B of PSP.

    Documents are kept as sparse vectors, and a few categories at a time are scored over all of them. `watch` sees
    the probabilities of the classes, block after block, or all in one where they depend on each other.
    """
    number = {label: k for k, label in enumerate(model.classes)}
    vectors: list[sp.csr_matrix] = []
    given: list[tuple[Hashable, ...]] = []
    rows: list[int] = []
    columns: list[int] = []
    unknown: set[Hashable] = set()
    before = TrainedOn(model.sketch)
    n = 0
    for documents, labels in blocks:
        for i, row in enumerate(labels, n):
            known = [number[label] for label in row if label in number]
            rows += [i] * len(known)
            columns += known
            unknown.update(label for label in row if label not in number)
        vectors.append(model.vectors(documents))
        if model.weighting is None or not hasattr(documents, "shape"):
            before.add(documents)  # and not vectors of texts that were known as texts
        given += labels if at is not None else ()
        n += len(labels)
    if not vectors:
        raise InputError("there are no documents to evaluate")
    truth = sp.csc_matrix((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(n, len(number)))
    matrix = sp.vstack(vectors, format="csr")
    confusion, selective = None, Selective(n, model.exclusive, model.conformal)
    if model.exclusive:
        winners, counts = _by_document(model, matrix, truth, selective)
        tables, areas = _of_winners(model, matrix, truth, winners, watch)
        single = np.flatnonzero(np.bincount(rows, minlength=n) == 1)
        confusion = Confusion.of(model.classes, truth.tocsr()[single].indices.astype(np.int64), winners[single])
    else:
        tables, areas, counts = _by_category(model, matrix, truth, selective, watch)
    selective.check_source(before.share)
    return Evaluation(
        categories=model.classes,
        exclusive=model.exclusive,
        documents=n,
        tables=tables,
        auc=areas,
        occurs=tables.tp + tables.fn > 0,
        unknown=tuple(sorted(unknown, key=str)),
        n_kept=np.broadcast_to(model.n_kept, len(number)),
        tally=counts,
        selective=selective,
        confusion=confusion,
        undefined=undefined,
        trained_on=before.share,
        ranking=None if at is None else rank(model, [(matrix, given)], at=at, propensity=propensity),
    )


def _by_category(
    model: LinearModel, matrix: sp.csr_matrix, truth: sp.csc_matrix, selective: Selective, watch: Watch | None
) -> tuple[Tables, np.ndarray, np.ndarray]:
    """Tables, AUC and tally of every category, a block of categories after the other."""
    n, classes = truth.shape
    tables, areas, tallies = [], [], []
    for block in _slices(classes, n):
        scores, inside = model.scores(matrix, rows=block), truth[:, block].toarray()
        chosen, proba = model.members(scores, block), model.probability(scores)
        tables.append(Tables.of(inside, chosen))
        areas += [auc(inside[:, k], scores[:, k]) for k in range(inside.shape[1])]
        tallies.append(tally(proba, inside))
        selective.add(slice(None), proba, inside, chosen)
        if watch is not None:
            watch(proba, inside)
    return _joined(tables), np.array(areas), np.concatenate(tallies)


def _by_document(
    model: LinearModel, matrix: sp.csr_matrix, truth: sp.csc_matrix, selective: Selective
) -> tuple[np.ndarray, np.ndarray]:
    """Of exclusive classes, whose probabilities depend on each other: the class of every document, and the tally."""
    n, classes = truth.shape
    rows, winners, counts = truth.tocsr(), [], np.zeros((classes, BINS, 6))
    for block in _slices(n, classes):
        scores = model.scores(matrix[block])
        winners.append(model.winners(scores))
        proba, inside = model.class_proba(scores), rows[block].toarray()
        counts += tally(proba, inside)
        selective.add(block, proba, inside, winners[-1][:, None] == np.arange(classes))
    return np.concatenate(winners), counts


def _of_winners(
    model: LinearModel, matrix: sp.csr_matrix, truth: sp.csc_matrix, winners: np.ndarray, watch: Watch | None
) -> tuple[Tables, np.ndarray]:
    """Tables and AUC of exclusive classes, a block of them after the other."""
    n, classes = truth.shape
    tables, areas = [], []
    shared = len(model.categories) < classes  # two classes, one score
    at_once = shared or watch is not None
    for block in [slice(0, classes)] if at_once else _slices(classes, n):
        inside = truth[:, block].toarray()
        scores = model.scores(matrix, rows=slice(None) if at_once else block)
        if watch is not None:
            watch(model.class_proba(scores), inside)
        scores = np.hstack([-scores, scores]) if shared else scores
        tables.append(Tables.of(inside, winners[:, None] == np.arange(classes)[block]))
        areas += [auc(inside[:, k], scores[:, k]) for k in range(inside.shape[1])]
    return _joined(tables), np.array(areas)


def _slices(count: int, width: int) -> list[slice]:
    """Of `count` things with `width` scores each, as many at a time as BLOCK_SCORES allows."""
    size = max(1, BLOCK_SCORES // max(width, 1))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _joined(tables: list[Tables]) -> Tables:
    return Tables(*(np.concatenate([getattr(one, f.name) for one in tables]) for f in fields(Tables)))
