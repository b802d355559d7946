"""How much each feature tells about one category, and the choice of the best.

A score is a function (X, y) → (d,) float64, the larger the better, never negative, and so a scoring function
for scikit-learn's SelectKBest as it stands. X is (n, d), scipy sparse or dense, and a sparse one stays
sparse. y has two values, the larger of which marks the documents in the category. A document of weight w
counts as w copies of it. Features that are the same in every document score 0, and with one class only all do.

Presence tables (GLM07 section 5.3.2), each cell a sum of document weights:

                      x_ij ≠ 0    x_ij = 0
    in the category       a           b
    not in it             c           d            n = a + b + c + d
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, SettingsError
from lapwing.selection._labels import positives, weights
from lapwing.selection.stability import bolasso, stable_halves
from lapwing.stats.links import as_link

RATE_FLOOR = 0.0005


def chi_square(X: Any, y: Any, *, sample_weight: Any = None) -> np.ndarray:
    """χ² = n(ad − bc)² / ((a+b)(c+d)(a+c)(b+d)), 0 where the denominator is (GLM07 Eq. 30)."""
    a, b, c, d = _Entries.of(X, y, sample_weight).presence()
    n = a + b + c + d
    return _ratio(n * (a * d - b * c) ** 2, (a + b) * (c + d) * (a + c) * (b + d))


def bns(X: Any, y: Any, *, sample_weight: Any = None) -> np.ndarray:
    """|Φ⁻¹(a/(a+b)) − Φ⁻¹(c/(c+d))|, both rates first clipped to [0.0005, 0.9995] (GLM07 Eq. 31, as corrected)."""
    a, b, c, d = _Entries.of(X, y, sample_weight).presence()
    rates = (np.clip(_ratio(hit, hit + miss), RATE_FLOOR, 1 - RATE_FLOOR) for hit, miss in ((a, b), (c, d)))
    hits, false = map(as_link("probit").quantile, rates)
    return np.where((a + b > 0) & (c + d > 0), np.abs(hits - false), 0.0)


def pearson(X: Any, y: Any, *, sample_weight: Any = None) -> np.ndarray:
    """|Σ w_i (x_ij − x̄_j)(y_i − ȳ)| / √(Σ w_i (x_ij − x̄_j)² · Σ w_i (y_i − ȳ)²), means weighted (GLM07 Eq. 32)

    of the values, not of presence; 0 where x_j or y is constant. Columns are divided by their largest
    magnitude, and full ones moved by their first value, so that neither range nor a large mean costs
    digits; zeros of x_j enter through their number.
    """
    entries = _Entries.of(X, y, sample_weight)
    inside, outside = entries.mass
    if not inside or not outside:
        return np.zeros(entries.d)
    y_mean = inside / (inside + outside)
    x, weight, columns = entries.moved(), entries.weight, entries.columns
    x_mean = entries.sums(weight * x) / (inside + outside)
    x -= x_mean[columns]
    _, b, _, d = entries.presence()
    x_spread = entries.sums(weight * x**2) + (b + d) * x_mean**2
    together = entries.sums(weight * x * (entries.positive - y_mean)) - x_mean * (b * (1 - y_mean) - d * y_mean)
    return np.minimum(_ratio(np.abs(together), np.sqrt(x_spread) * np.sqrt(inside * (1 - y_mean))), 1.0)


def yule_q(X: Any, y: Any, *, sample_weight: Any = None, continuity: float = 0.0) -> np.ndarray:
    """Yule's |Q| = |(ad − bc) / (ad + bc)|, 0 where undefined.

    Every feature that avoids one of the classes scores 1, if it occurs once. `continuity` is added to each
    cell, which puts the frequent ones of them first; BBR adds 1/12.
    """
    if not continuity >= 0:
        raise SettingsError(f"continuity must be >= 0, got {continuity!r}; BBR uses 1/12, plain Yule's Q 0")
    a, b, c, d = _Entries.of(X, y, sample_weight).presence()
    varies = (a + b > 0) & (c + d > 0) & (a + c > 0) & (b + d > 0)
    a, b, c, d = (cell + continuity for cell in (a, b, c, d))
    return np.where(varies, _ratio(np.abs(a * d - b * c), a * d + b * c), 0.0)


SCORES: dict[str, Callable[..., np.ndarray]] = {
    "chi2": chi_square,
    "bns": bns,
    "pearson": pearson,
    "yule": yule_q,
    "stability": stable_halves,
    "bolasso": bolasso,
}
SHARES = ("stability", "bolasso")  # scores that are shares of fits, so that a share may be asked for


def top_features(scores: Any, k: int) -> np.ndarray:
    """The k features of the largest score, ascending; of equal ones those that come first. All where k ≥ d."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or np.isnan(scores).any():
        raise InputError(f"expected one number per feature, got an array of shape {scores.shape}, or NaN in it")
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 0:
        raise SettingsError(f"the number of features must be a whole number >= 0, got {k!r}; GLM07 used 5, 50, 500")
    return np.sort(np.argsort(-scores, kind="stable")[:k])


def best_features(scores: Any, wanted: int | float) -> np.ndarray:
    """So many of the largest score, or, where `wanted` is a share (a float), all that score as much."""
    if isinstance(wanted, float):
        return np.flatnonzero(np.asarray(scores) >= wanted)
    return top_features(scores, wanted)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0)


@dataclass(frozen=True)
class _Entries:
    """The non-zero entries of the documents that have weight, column after column.

    columns, values, weight, positive   (nnz,) the last two of the entry's document
    n, d                                documents with weight, features
    mass                                weight of documents in the category, and of the others
    """

    columns: np.ndarray
    values: np.ndarray
    weight: np.ndarray
    positive: np.ndarray
    n: int
    d: int
    mass: tuple[float, float]

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any) -> _Entries:
        X = _columns_of(X)
        n, d = X.shape
        inside = positives(y)
        if len(inside) != n:
            raise InputError(f"expected as many labels as documents, got {len(inside)} for {n}")
        weight = weights(sample_weight, n)
        columns = np.repeat(np.arange(d), np.diff(X.indptr))
        keep = (X.data != 0) & (weight[X.indices] > 0)
        rows, values = X.indices[keep], X.data[keep].astype(np.float64)
        if not np.isfinite(values).all():
            raise InputError("expected finite feature values, got NaN or infinity; clean the matrix first")
        mass = float(weight[inside].sum()), float(weight[~inside].sum())
        return cls(columns[keep], values, weight[rows], inside[rows], int((weight > 0).sum()), d, mass)

    def sums(self, entries: np.ndarray) -> np.ndarray:
        """(d,) sums of a number per entry over each column."""
        return np.bincount(self.columns, weights=entries, minlength=self.d)

    @property
    def full(self) -> np.ndarray:
        """(d,) True where no document is without the feature."""
        return np.bincount(self.columns, minlength=self.d) == self.n

    def presence(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The cells a, b, c, d, each (d,); b and d are exactly 0 in full columns, whatever weights round to."""
        a = self.sums(self.weight * self.positive)
        c = self.sums(self.weight * ~self.positive)
        inside, outside = self.mass
        b = np.where(self.full, 0.0, np.maximum(inside - a, 0.0))
        d = np.where(self.full, 0.0, np.maximum(outside - c, 0.0))
        return a, b, c, d

    def moved(self) -> np.ndarray:
        """(nnz,) the values, each column divided by its largest magnitude; full ones less their first value."""
        starts = np.flatnonzero(np.diff(self.columns, prepend=-1))
        if not len(starts):
            return self.values.copy()
        filled = self.columns[starts]
        largest, first = np.ones(self.d), np.zeros(self.d)
        largest[filled] = np.maximum.reduceat(np.abs(self.values), starts)
        x = self.values / largest[self.columns]
        first[filled] = np.where(self.full[filled], x[starts], 0.0)
        return x - first[self.columns]


def _columns_of(X: Any) -> Any:
    """X in compressed columns, every entry once."""
    if not sp.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise InputError(f"expected a matrix of numbers (n, d), got shape {X.shape}, type {X.dtype}")
        return sp.csc_array(X)
    columns = X.tocsc()
    if not columns.has_canonical_format:
        columns = columns.copy() if columns is X else columns
        columns.sum_duplicates()
    return columns
