"""`LinearModel`: where every method ends, and what everything predicts through."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.model.expected_f1 import expected_f1
from lapwing.model.explain import Explanation, explain_text
from lapwing.model.links import LINKS
from lapwing.text import Weighting

DECISIONS = ("threshold", "expected_f1")
BLOCK = 1024  # documents scored at a time


@dataclass(frozen=True)
class FitSummary:
    """What is known of the fit of every row: arrays of one entry per category."""

    variance: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    kkt: np.ndarray
    rounds: np.ndarray
    converged: np.ndarray
    positives: np.ndarray  # training documents in the category


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Sparse linear scores with a link, for one or many categories.

    classes     every label; where two exclusive classes share one row it is that of classes[1]
    exclusive   a document is in exactly one class
    weights     (rows, d) CSR
    intercepts, thresholds   (rows,); a document is in a category if its score exceeds the threshold
    feature_names            d names of columns
    weighting   how texts become vectors; None for a model of vectors
    decision    "threshold", or "expected_f1": every batch is cut, category by category, where the expected F1 is
                largest; thresholds then count for categories that are never assigned (+inf) only
    """

    link: str
    classes: tuple[Hashable, ...]
    exclusive: bool
    weights: sp.csr_matrix
    intercepts: np.ndarray
    thresholds: np.ndarray
    feature_names: Sequence[str]
    weighting: Weighting | None
    fits: FitSummary
    provenance: dict[str, Any] = field(default_factory=dict)
    decision: str = "threshold"

    def __post_init__(self) -> None:
        rows = 1 if self.exclusive and len(self.classes) == 2 else len(self.classes)
        if self.exclusive and len(self.classes) < 2:
            raise InputError(f"expected two or more exclusive classes, got {len(self.classes)}")
        if self.decision not in DECISIONS:
            raise InputError(f"decision must be one of {', '.join(DECISIONS)}, got {self.decision!r}")
        if self.link not in LINKS or self.weights.shape != (rows, len(self.feature_names)):
            raise InputError(
                f"expected a link of {sorted(LINKS)} and weights of {(rows, len(self.feature_names))}, "
                f"got {self.link!r} and {self.weights.shape}"
            )
        if self.intercepts.shape != (rows,) or self.thresholds.shape != (rows,):
            raise InputError(f"expected an intercept and a threshold for each of {rows} rows")

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The label of every row."""
        return self.classes[1:] if self.exclusive and len(self.classes) == 2 else self.classes

    @cached_property
    def n_kept(self) -> np.ndarray:
        """Features with a weight, per category."""
        return np.diff(self.weights.indptr)

    @cached_property
    def _columns(self) -> sp.csc_matrix | np.ndarray:
        """The transposed weights: sparse where that is smaller."""
        dense = self.weights.nnz > 0.3 * self.weights.shape[0] * self.weights.shape[1]
        return self.weights.toarray().T.copy() if dense else self.weights.T.tocsr()

    def vectors(self, documents: Iterable[str] | sp.csr_matrix | np.ndarray, *, method: str = "auto") -> sp.csr_matrix:
        """Documents as rows of features: texts through the weighting, matrices checked for width."""
        if isinstance(documents, str):
            raise InputError("expected a list of texts, got one string; put it in a list")
        if sp.issparse(documents) or (isinstance(documents, np.ndarray) and documents.ndim == 2):
            matrix = sp.csr_matrix(documents, dtype=np.float64)
            if matrix.shape[1] != len(self.feature_names):
                raise InputError(f"the model has {len(self.feature_names)} features, the matrix {matrix.shape[1]}")
            if not np.isfinite(matrix.data).all():
                raise InputError("the matrix holds NaN or infinite values")
            return matrix
        if self.weighting is None:
            raise InputError("this model was trained on vectors; give a matrix of features, not texts")
        return self.weighting.vectors(documents, method=method)

    def scores(self, documents: Any, *, method: str = "auto") -> np.ndarray:
        """(n, rows) linear scores x·β + intercept."""
        matrix = self.vectors(documents, method=method)
        out = np.empty((matrix.shape[0], len(self.intercepts)))
        for start in range(0, matrix.shape[0], BLOCK):
            product = matrix[start : start + BLOCK] @ self._columns
            out[start : start + BLOCK] = product.toarray() if sp.issparse(product) else product
        out += self.intercepts
        return out

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """The link: scores to probabilities, each on its own."""
        return LINKS[self.link].probability(scores)

    def category_proba(self, documents: Any, *, method: str = "auto") -> np.ndarray:
        """(n, rows) probability of each category on its own."""
        return self.probability(self.scores(documents, method=method))

    def predict_proba(self, documents: Any) -> np.ndarray:
        """(n, classes): rows add up to 1 for exclusive classes, independent probabilities otherwise."""
        return self.class_proba(self.category_proba(documents))

    def sigmoid_by_class(self, scores: np.ndarray) -> np.ndarray:
        """(n, classes) each category's own probability; both of two exclusive classes."""
        proba = self.probability(scores)
        return np.hstack([1.0 - proba, proba]) if proba.shape[1] < len(self.classes) else proba

    def class_proba(self, proba: np.ndarray) -> np.ndarray:
        if not self.exclusive:
            return proba
        if proba.shape[1] == 1:
            return np.hstack([1.0 - proba, proba])
        total = proba.sum(axis=1, keepdims=True)
        even = np.full_like(proba, 1.0 / proba.shape[1])
        return np.divide(proba, total, out=even, where=total > 0.0)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """(n, classes) True where the document is put in the class; never where the threshold is infinite."""
        if not self.exclusive:
            return self._members(scores)
        if scores.shape[1] == 1:
            positive = self._members(scores)
            return np.hstack([~positive, positive])
        chosen = np.zeros(scores.shape, dtype=bool)
        open_to = np.where(self.thresholds < np.inf, scores, -np.inf)
        chosen[np.arange(len(scores)), np.argmax(open_to, axis=1)] = True
        return chosen

    def _members(self, scores: np.ndarray) -> np.ndarray:
        """(n, rows) yes or no for each category on its own."""
        if self.decision == "threshold":
            return scores > self.thresholds
        chosen = np.column_stack([expected_f1(column) for column in self.probability(scores).T])
        return chosen & (self.thresholds < np.inf)

    def predict(self, documents: Any) -> list[Hashable] | list[tuple[Hashable, ...]]:
        """One class per document where they are exclusive, else a tuple of the categories it is in."""
        chosen = self.decide(self.scores(documents))
        if self.exclusive:
            return [self.classes[k] for k in np.argmax(chosen, axis=1)]
        return [tuple(self.classes[k] for k in np.flatnonzero(row)) for row in chosen]

    def top_features(self, row: int, limit: int | None = None) -> list[tuple[str, float]]:
        """Features of a category by size of weight, largest first; ties by name."""
        start, end = self.weights.indptr[row : row + 2]
        pairs = [
            (self.feature_names[j], float(w))
            for j, w in zip(self.weights.indices[start:end], self.weights.data[start:end], strict=True)
        ]
        return sorted(pairs, key=lambda pair: (-abs(pair[1]), pair[0]))[:limit]

    def explain(self, text: str, categories: Sequence[Hashable] | None = None) -> Explanation:
        """The words of `text` that spoke for and against each category."""
        return explain_text(self, text, categories)
