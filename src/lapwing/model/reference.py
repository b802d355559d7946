"""How scores of training documents, each as a fit without it gives them, are distributed: `drift` compares new ones.

Scores that many documents share (all without a word of the category have its intercept) are ties: an edge of a bin is
half-way between two scores and never at one, so that tied documents of then and of now fall into the same bin.

An update leaves the earlier documents' scores unknown under its new weights. So the reference keeps the weights it was
made with, counts the update's documents by them, and later documents are scored by them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from lapwing.model.linear import LinearModel

# Of all documents, finer above, where documents of a rare category are; and of the category's own.
QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)
OWN_QUANTILES = (0.1, 0.25, 0.5, 0.75)
BINS = ("edges", "counts", "positives")
DIGITS = 7
TIE = 1e-6  # difference of scores, relative to the largest, up to which they are equal


@dataclass(frozen=True, eq=False)
class ScoreReference:
    """rows: those of the model that were judged; of each the edges of its bins, and how many of all `documents`
    (counts) and of those of the category (positives) have a score in each bin;
    inside (rows,) the share of documents in each category;
    weights (rows, columns), intercepts (rows,) what the scores come from, where it is not the model as it is."""

    documents: int
    rows: list[int]
    edges: list[np.ndarray]
    counts: list[np.ndarray]
    positives: list[np.ndarray]
    inside: np.ndarray
    weights: sp.csr_matrix | None = None
    intercepts: np.ndarray | None = None

    @classmethod
    def of(cls, rows: Sequence[int], scores: np.ndarray, member: np.ndarray, inside: np.ndarray) -> ScoreReference:
        """From scores (n, rows) as without the document, and whether it is in the category."""
        edges = [_edges(one, own) for one, own in zip(scores.T, member.T, strict=True)]
        nothing = [np.zeros(len(one) + 1, dtype=np.int64) for one in edges]
        return cls(0, list(rows), edges, nothing, nothing, inside).plus(scores, member, inside)

    def plus(self, scores: np.ndarray, member: np.ndarray, inside: np.ndarray) -> ScoreReference:
        """With more documents; `inside` the share of these in each category."""
        total = self.documents + len(scores)
        return replace(
            self,
            documents=total,
            counts=[before + self.bins(k, scores[:, k]) for k, before in enumerate(self.counts)],
            positives=[before + self.bins(k, scores[member[:, k], k]) for k, before in enumerate(self.positives)],
            inside=(self.inside * self.documents + inside * len(scores)) / total,
        )

    def to_dict(self) -> dict[str, Any]:
        record = {
            "documents": self.documents,
            "rows": self.rows,
            **{name: [one.tolist() for one in getattr(self, name)] for name in BINS},
            "inside": _rounded(self.inside),
        }
        if self.weights is not None and self.intercepts is not None:
            record["intercepts"], record["weights"] = _rounded(self.intercepts), _rounded(self.weights.data)
            record["columns"], record["pointer"] = self.weights.indices.tolist(), self.weights.indptr.tolist()
        return record

    @classmethod
    def of_model(cls, model: LinearModel) -> ScoreReference:
        """Empty for a model that keeps none: ridge, n-grams of any length, softmax, and of earlier releases."""
        record = model.held_out.get("scores", {})
        if "positives" not in record:
            return cls(int(model.provenance.get("documents", 0)), [], [], [], [], np.empty(0))
        edges, counts, positives = ([np.array(one) for one in record[name]] for name in BINS)
        weights = intercepts = None
        if "weights" in record:
            parts = np.array(record["weights"]), np.array(record["columns"], np.int32), np.array(record["pointer"])
            weights = sp.csr_matrix(parts, shape=(len(record["rows"]), model.weights.shape[1]))
            intercepts = np.array(record["intercepts"])
        inside = np.array(record["inside"])
        return cls(record["documents"], record["rows"], edges, counts, positives, inside, weights, intercepts)

    def scorer(self, model: LinearModel) -> tuple[sp.csr_matrix, np.ndarray]:
        """Weights and intercepts of the rows that were judged, as they were then."""
        if self.weights is not None and self.intercepts is not None:
            return self.weights, self.intercepts
        return sp.csr_matrix(model.weights[self.rows]), model.intercepts[self.rows]

    def scores(self, model: LinearModel, matrix: Any) -> np.ndarray:
        """(n, rows) of new documents, comparable with those of then."""
        weights, intercepts = self.scorer(model)
        return np.asarray((matrix @ weights.T).toarray()) + intercepts

    def moved_to(self, model: LinearModel, columns: np.ndarray, unit: np.ndarray, width: int) -> ScoreReference:
        """With the weights of now, where features have other numbers, and units `unit` times as large."""
        weights, intercepts = self.scorer(model)
        parts = weights.data / unit[weights.indices], columns[weights.indices], weights.indptr
        return replace(self, weights=sp.csr_matrix(parts, shape=(len(self.rows), width)), intercepts=intercepts)

    def prevalence(self, model: LinearModel) -> np.ndarray:
        """(classes,) shares of training documents."""
        shares = model.fits.positives / max(int(model.provenance.get("documents", self.documents)), 1)
        shares = np.minimum(shares, 1.0)
        shares[self.rows] = self.inside
        return np.array([1.0 - shares[0], shares[0]]) if len(model.classes) > len(shares) else np.asarray(shares)

    def bins(self, k: int, scores: np.ndarray) -> np.ndarray:
        """How many of these scores are in each bin of the k-th row."""
        return np.bincount(np.searchsorted(self.edges[k], scores), minlength=len(self.edges[k]) + 1)

    def centres(self, k: int) -> np.ndarray:
        """A score for each bin of the k-th row."""
        edges = self.edges[k]
        inner = 0.5 * (edges[1:] + edges[:-1])
        return np.concatenate([edges[:1], inner, edges[-1:]]) if len(edges) else np.zeros(1)


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{x:.{DIGITS}g}") for x in values]


def _edges(scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Half-way from the ties at each quantile to the next larger score."""
    known = np.unique(scores)
    apart = np.flatnonzero(np.diff(known) > TIE * np.abs(known).max())
    at = [np.quantile(scores, QUANTILES, method="inverted_cdf")]
    at += [np.quantile(scores[member], OWN_QUANTILES, method="inverted_cdf")] if member.any() else []
    following = np.searchsorted(known[apart + 1], np.concatenate(at), side="right")
    chosen = apart[np.unique(following[following < len(apart)])]
    return np.unique(_rounded(0.5 * (known[chosen] + known[chosen + 1])))
