"""Which of several exclusive classes are taken for which."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_CLASSES = 60  # a matrix of more is not written down
MOST_PAIRS = 50


@dataclass(frozen=True)
class Confusion:
    """`documents` of class `true` that were put in class `chosen`: numbers of classes, one entry per pair seen."""

    classes: tuple[Hashable, ...]
    true: np.ndarray
    chosen: np.ndarray
    documents: np.ndarray

    @classmethod
    def of(cls, classes: tuple[Hashable, ...], true: np.ndarray, chosen: np.ndarray) -> Confusion:
        """From two numbers of classes per document."""
        pairs, counts = np.unique(true * np.int64(len(classes)) + chosen, return_counts=True)
        return cls(classes, pairs // len(classes), pairs % len(classes), counts)

    def matrix(self) -> np.ndarray:
        """(true, chosen)"""
        grid = np.zeros((len(self.classes), len(self.classes)), dtype=np.int64)
        grid[self.true, self.chosen] = self.documents
        return grid

    def pairs(self, limit: int | None = MOST_PAIRS) -> list[tuple[Hashable, Hashable, int]]:
        """(true, chosen, documents) of what was confused, most often first."""
        wrong = np.flatnonzero(self.true != self.chosen)
        order = wrong[np.argsort(-self.documents[wrong], kind="stable")][:limit]
        return [
            (self.classes[self.true[k]], self.classes[self.chosen[k]], int(self.documents[k])) for k in order.tolist()
        ]

    def to_dict(self) -> dict[str, Any]:
        """The matrix where it is small enough to read, rows true; the pairs most often confused in any case."""
        small = len(self.classes) <= MOST_CLASSES
        return {
            "matrix": self.matrix().tolist() if small else None,
            "pairs": [{"true": a, "chosen": b, "documents": n} for a, b, n in self.pairs()],
        }
