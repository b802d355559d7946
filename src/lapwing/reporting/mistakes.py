"""Documents worth reading: the decisions furthest from the labels."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lapwing.evaluate.mislabelled import surprise
from lapwing.model import LinearModel

PER_CATEGORY = 4  # of each kind of mistake
MOST_MISTAKES = 400
MOST_PREDICTED = 8  # labels that are named beside it
MOST_CHARACTERS = 1500  # of a text shown


class Decision(NamedTuple):
    """What was said of a document and a class (`row` is its number), in the order in which it is to be read."""

    rank: int  # among those of its kind in the category
    loss: float  # less is more
    document: int
    row: int
    probability: float
    labelled: bool


class Worst:
    """The first of many decisions, which come a few categories at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.worst: list[Decision] = []

    def add(
        self, ranked: Iterable[tuple[int, float, int, int]], proba: np.ndarray, truth: np.ndarray, first: int
    ) -> None:
        """Columns of proba and truth, (documents, categories), are the categories from `first` on."""
        new = [Decision(r, -loss, i, first + k, float(proba[i, k]), bool(truth[i, k])) for r, loss, i, k in ranked]
        self.worst = heapq.nsmallest(self.most, [*self.worst, *new])

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.worst)


def ranked_mistakes(proba: np.ndarray, truth: np.ndarray, chosen: np.ndarray) -> Iterator[tuple[int, float, int, int]]:
    """(rank, loss, document, category) of wrong decisions, the worst of every category and kind: by rank, the worst of
    each come first, then the next worst of each, and so on.

    proba, truth, chosen   (documents, categories)
    """
    wrong = truth != chosen
    for k in np.flatnonzero(wrong.any(axis=0)).tolist():
        for kind in (truth[:, k], chosen[:, k]):
            rows = np.flatnonzero(wrong[:, k] & kind)
            loss = surprise(proba[rows, k], truth[rows, k])
            for rank, i in enumerate(np.argsort(-loss, kind="stable")[:PER_CATEGORY].tolist()):
                yield rank, float(loss[i]), int(rows[i]), k


class MistakeReader:
    """Documents as the page shows them: cut to a length, with the words that spoke for and against."""

    def __init__(
        self,
        model: LinearModel,
        documents: Any,
        ids: Sequence[str],
        labels: Sequence[tuple[Any, ...]],
        predicted: Sequence[Any],
    ) -> None:
        self.model, self.documents, self.ids, self.labels = model, documents, ids, labels
        self.predicted = predicted

    def record(self, one: Decision) -> dict[str, Any]:
        put_in = self.predicted[one.document]
        put_in = [str(label) for label in (put_in if isinstance(put_in, tuple) else (put_in,))]
        shown: dict[str, Any] = {"text": None, "cut": False, "marks": []}
        if self.model.weighting is not None:
            explained = self.model.explain(self.documents[one.document], [self.model.classes[one.row]])
            text = explained.text
            shown = {
                "text": text[:MOST_CHARACTERS],
                "cut": len(text) > MOST_CHARACTERS,
                "marks": [
                    [start, end, float(f"{part.contribution:.3g}")]
                    for part in explained.categories[0].contributions
                    for start, end in part.spans
                    if end <= MOST_CHARACTERS
                ],
            }
        return {
            "row": one.row,
            "document": one.document,
            "missed": one.labelled,
            "probability": float(f"{one.probability:.4g}"),
            "loss": float(f"{-one.loss:.4g}"),
            "id": str(self.ids[one.document]),
            "labels": [str(label) for label in self.labels[one.document]],
            "predicted": put_in[:MOST_PREDICTED],
            **({"more": len(put_in) - MOST_PREDICTED} if len(put_in) > MOST_PREDICTED else {}),
            **shown,
        }
