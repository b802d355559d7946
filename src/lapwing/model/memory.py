"""What a model remembers of the documents it was fitted to, for the next update: a quadratic per category.

The algebra is in stats/past.py. Remembered are the features with a weight and those that were close to one: their
slopes are needed when later documents add theirs. It is of the weights as fitted, before any calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from lapwing.stats.past import Past, low_rank

TYPES: dict[str, type] = {
    "pointer": np.int64, "features": np.int32, "slope": np.float64, "bend": np.float64,
    "intercept_slope": np.float64, "intercept_bend": np.float64, "height": np.float64,
}  # fmt: skip
FULL_TYPES: dict[str, type] = {"inside": np.uint8, "full": np.float64}  # of `Memory.with_full`
FULL_RANK = 20  # that stands for the whole curvature between weights, which earlier releases could remember


@dataclass(frozen=True, eq=False)
class Memory:
    """pointer (rows + 1,), features, slope, bend: per row the features, rising, with g and the diagonal of A.

    documents          how many documents the past counts for
    intercept_slope, intercept_bend, height   (rows,)
    rank, factor       F over all features of a row and the intercept, of as many columns as the rank, or as they are;
                       0 and empty where only diagonals are kept
    """

    documents: float
    pointer: np.ndarray
    features: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    intercept_slope: np.ndarray
    intercept_bend: np.ndarray
    height: np.ndarray
    rank: int = 0
    factor: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def _sizes(self) -> np.ndarray:
        """(rows,) how many coordinates are remembered, the intercept among them."""
        return np.diff(self.pointer) + 1

    @classmethod
    def of(cls, pasts: Sequence[Past], documents: float, rank: int) -> Memory:
        """From the past of every row, written at its weights; each has the intercept as its last coordinate."""
        diagonals = [past.whole for past in pasts]
        return cls(
            documents=documents,
            pointer=np.concatenate([[0], np.cumsum([len(past.index) - 1 for past in pasts])]).astype(np.int64),
            features=np.concatenate([past.index[:-1] for past in pasts], dtype=np.int32, casting="same_kind"),
            slope=np.concatenate([past.slope[:-1] for past in pasts]),
            bend=np.concatenate([bend[:-1] for bend in diagonals]),
            intercept_slope=np.array([past.slope[-1] for past in pasts]),
            intercept_bend=np.array([bend[-1] for bend in diagonals]),
            height=np.array([past.height for past in pasts]),
            rank=rank,
            factor=np.concatenate([_filled(past.factor, rank) for past in pasts]),
        )

    def past(self, row: int, weights: sp.csr_matrix, intercepts: np.ndarray) -> Past:
        """Of one row, over the model's columns and the intercept; `weights` are those fitted."""
        start, end = self.pointer[row : row + 2]
        width = weights.shape[1]
        index = np.append(self.features[start:end].astype(np.int64), width)
        beta = np.append(weights[[row]].toarray()[0], intercepts[row])
        bend = np.append(self.bend[start:end], self.intercept_bend[row])
        ends = np.concatenate([[0], np.cumsum(self._sizes * np.minimum(self._sizes, self.rank))])
        factor = self.factor[ends[row] : ends[row + 1]].reshape(len(index), min(len(index), self.rank))
        bend = np.maximum(bend - np.sum(factor**2, axis=1), 0.0)
        slope = np.append(self.slope[start:end], self.intercept_slope[row])
        return Past(float(self.height[row]), index, beta[index], slope, bend, factor)

    def with_full(self, inside: np.ndarray, full: np.ndarray) -> Memory:
        """With the curvature that files of earlier releases hold, to a rank.

        inside   1 for features between which A is known, 0 for others
        full     A over those and the intercept, lower triangles row by row, one category after the other
        """
        if len(inside) != len(self.features) or np.any(inside > 1):
            raise ValueError("the memory's features and those of its curvature do not fit")
        sizes = np.diff(np.append(0, np.cumsum(inside, dtype=np.int64))[self.pointer]) + 1
        ends = np.cumsum(sizes * (sizes + 1) // 2)
        if len(full) != ends[-1] or not np.isfinite(full).all():
            raise ValueError("the memory's curvature does not fit its features")
        factors = []
        for size, triangle, (start, end) in zip(sizes, np.split(full, ends[:-1]), pairwise(self.pointer), strict=True):
            lower = np.zeros((size, size))
            lower[np.tril_indices(size)] = triangle
            A = lower + np.tril(lower, -1).T
            kept, _ = low_rank(np.diagonal(A), lambda a, A=A: A[a], FULL_RANK)  # type: ignore[misc]
            factor = np.zeros((end - start + 1, kept.shape[1]))
            factor[np.append(inside[start:end], 1) > 0] = kept
            factors.append(_filled(factor, FULL_RANK))
        return replace(self, rank=FULL_RANK, factor=np.concatenate(factors))

    def check(self, weights: sp.csr_matrix) -> Memory:
        """Itself, if it can be of these weights; ValueError else: it may come from a file."""
        rows, width = weights.shape
        one_each = (self.intercept_slope, self.intercept_bend, self.height)
        if any(part.shape != (rows,) for part in one_each) or self.pointer.shape != (rows + 1,):
            raise ValueError("the memory does not fit the categories")
        ends = self.pointer
        if ends[0] != 0 or ends[-1] != len(self.features) or np.any(ends[1:] < ends[:-1]):
            raise ValueError("the memory's rows do not fit")
        if not len(self.features) == len(self.slope) == len(self.bend):
            raise ValueError("the memory's features and numbers differ in number")
        if not all(np.isfinite(part).all() for part in (self.slope, self.bend, self.factor, *one_each)):
            raise ValueError("the memory holds numbers that are not finite")
        if np.any(self.bend < 0.0) or np.any(self.intercept_bend < 0.0) or not 0.0 <= self.documents < np.inf:
            raise ValueError("the memory's curvature is negative")
        for row in range(rows):
            mine = self.features[ends[row] : ends[row + 1]].astype(np.int64)
            if len(mine) and (mine[0] < 0 or mine[-1] >= width or np.any(np.diff(mine) <= 0)):
                raise ValueError("the memory has features that there are not")
            kept = weights.indices[weights.indptr[row] : weights.indptr[row + 1]]
            if not np.isin(kept, mine).all():
                raise ValueError("the memory lacks a feature that has a weight")
        columns = np.minimum(self._sizes, self.rank)
        if len(self.factor) != int(np.sum(self._sizes * columns)):
            raise ValueError("the memory's curvature does not fit its rank")
        return self


def _filled(factor: np.ndarray, rank: int) -> np.ndarray:
    """F with as many columns as the rank, or as it has rows, row by row."""
    size = len(factor)
    full = np.zeros((size, min(size, rank)))
    full[:, : factor.shape[1]] = factor
    return full.ravel()
