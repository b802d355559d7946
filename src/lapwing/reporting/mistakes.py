"""Documents worth reading: the decisions furthest from the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing.evaluate.mislabelled import surprise
from lapwing.model import LinearModel

PER_CATEGORY = 4  # of each kind of mistake
MOST_MISTAKES = 400
MOST_CHARACTERS = 1500  # of a text shown


def worst_mistakes(proba: np.ndarray, truth: np.ndarray, chosen: np.ndarray) -> list[tuple[int, int]]:
    """(document, category) of wrong decisions: the worst of every category, then the next worst of each, and so on.

    proba, truth, chosen   (documents, categories)
    """
    ranked: list[tuple[int, float, int, int]] = []
    for k in range(proba.shape[1]):
        for wrong in (truth[:, k] & ~chosen[:, k], ~truth[:, k] & chosen[:, k]):
            rows = np.flatnonzero(wrong)
            loss = surprise(proba[rows, k], truth[rows, k])
            for place, i in enumerate(np.argsort(-loss, kind="stable")[:PER_CATEGORY]):
                ranked.append((place, -float(loss[i]), int(rows[i]), k))
    return [(document, k) for _, _, document, k in sorted(ranked)[:MOST_MISTAKES]]


class Reader:
    """Documents as the page shows them: cut to a length, with the words that spoke for and against."""

    def __init__(
        self, model: LinearModel, documents: Any, ids: Sequence[str], labels: Sequence[tuple[Any, ...]]
    ) -> None:
        self.model, self.documents, self.ids, self.labels = model, documents, ids, labels

    def record(self, i: int, k: int, proba: np.ndarray, truth: np.ndarray, put_in: Sequence[str]) -> dict[str, Any]:
        """Document i with category k; `put_in` is what the model says of it."""
        shown: dict[str, Any] = {"text": None, "cut": False, "marks": []}
        if self.model.weighting is not None:
            explained = self.model.explain(self.documents[i], [self.model.categories[k]])
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
            "row": k,
            "missed": bool(truth[i, k]),
            "probability": float(f"{proba[i, k]:.4g}"),
            "loss": float(f"{surprise(proba[i : i + 1, k], truth[i : i + 1, k])[0]:.4g}"),
            "id": str(self.ids[i]),
            "labels": [str(label) for label in self.labels[i]],
            "predicted": list(put_in),
            **shown,
        }
