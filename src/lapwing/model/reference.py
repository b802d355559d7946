"""How the scores of documents that the fits had not seen were distributed: what `drift` holds new scores against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from lapwing.model.linear import LinearModel

# Finer above, where documents of a rare category are.
QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)
DIGITS = 7
TOLERATED = 0.005  # Σ (share now − share then)² / share, up to which a difference is none


@dataclass(frozen=True, eq=False)
class ScoreReference:
    """rows: those of the model that were judged; edges (rows, bins − 1) and counts (rows, bins) of their scores;
    inside (rows,) the share of documents in each category."""

    documents: int
    rows: list[int]
    edges: np.ndarray
    counts: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[int], scores: np.ndarray, inside: np.ndarray) -> ScoreReference:
        """From scores (n, rows) of unseen documents."""
        edges = np.quantile(scores, QUANTILES, axis=0).T
        edges = np.array([[float(f"{x:.{DIGITS}g}") for x in row] for row in edges])
        counts = np.array([_counts(one, of) for one, of in zip(scores.T, edges, strict=True)])
        return cls(len(scores), list(rows), edges, counts, inside)

    def to_dict(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "rows": self.rows,
            "edges": self.edges.tolist(),
            "counts": self.counts.tolist(),
            "inside": [float(f"{x:.{DIGITS}g}") for x in self.inside],
        }

    @classmethod
    def of_model(cls, model: LinearModel) -> ScoreReference:
        """Empty for a model that keeps none: ridge, n-grams of any length, softmax, and of earlier releases."""
        record = model.held_out.get("scores")
        if record is None:
            nothing = np.empty((0, 0))
            return cls(int(model.provenance.get("documents", 0)), [], nothing, nothing, np.empty(0))
        edges, counts = np.array(record["edges"]), np.array(record["counts"])
        return cls(record["documents"], record["rows"], edges, counts, np.array(record["inside"]))

    def prevalence(self, model: LinearModel) -> np.ndarray:
        """(classes,) shares of training documents."""
        shares = model.fits.positives / max(int(model.provenance.get("documents", self.documents)), 1)
        shares = np.minimum(shares, 1.0)
        shares[self.rows] = self.inside
        return np.array([1.0 - shares[0], shares[0]]) if len(model.classes) > len(shares) else np.asarray(shares)

    def shares(self, row: int, scores: np.ndarray) -> tuple[list[float], list[float]]:
        """(then, now) of the scores in each bin."""
        k = self.rows.index(row)
        now = _counts(scores, self.edges[k])
        return (self.counts[k] / self.documents).tolist(), (now / len(scores)).tolist()

    def test(self, row: int, scores: np.ndarray, least: float) -> tuple[float, float]:
        """(X², p-value) that scores are distributed as then; bins of fewer documents than `least` are joined."""
        from scipy.special import chndtr

        k = self.rows.index(row)
        then, now = _joined(self.counts[k], _counts(scores, self.edges[k]), least)
        n, m = float(then.sum()), float(now.sum())
        if len(then) < 2:
            return 0.0, 1.0
        pooled = (then + now) / (n + m)
        statistic = float(np.sum((then / n - now / m) ** 2 / pooled) / (1.0 / n + 1.0 / m))
        small = TOLERATED / (1.0 / n + 1.0 / m)
        return statistic, float(1.0 - chndtr(statistic, len(then) - 1, small))


def _counts(scores: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, scores), minlength=len(edges) + 1)


def _joined(then: np.ndarray, now: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring bins together until either side would have so many documents by the pooled shares."""
    n, m = float(then.sum()), float(now.sum())
    enough = least * (n + m) / max(min(n, m), 1.0)
    bins: list[list[float]] = []
    for a, b in zip(then.tolist(), now.tolist(), strict=True):
        if bins and sum(bins[-1]) < enough:
            bins[-1] = [bins[-1][0] + a, bins[-1][1] + b]
        else:
            bins.append([a, b])
    if len(bins) > 1 and sum(bins[-1]) < enough:
        a, b = bins.pop()
        bins[-1] = [bins[-1][0] + a, bins[-1][1] + b]
    joined = np.array(bins)
    return joined[:, 0], joined[:, 1]
