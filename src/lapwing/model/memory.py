"""What a model remembers of the documents it was fitted to, for the next update: a quadratic per category.

The algebra is in stats/past.py. Remembered are the features with a weight and those that were close to one: their
slopes are needed when later documents add theirs. It is of the weights as fitted, before any calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lapwing.stats.past import Past

TYPES: dict[str, type] = {
    "pointer": np.int64, "features": np.int32, "slope": np.float64, "bend": np.float64,
    "intercept_slope": np.float64, "intercept_bend": np.float64, "height": np.float64, "full": np.float64,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Memory:
    """pointer (rows + 1,), features, slope, bend: per row the features, rising, with g and the diagonal of A.

    documents          how many documents the past counts for
    intercept_slope, intercept_bend, height   (rows,)
    full               A over the features with a weight and the intercept, lower triangles row by row, one category
                       after the other; empty where only diagonals are kept
    """

    documents: float
    pointer: np.ndarray
    features: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    intercept_slope: np.ndarray
    intercept_bend: np.ndarray
    height: np.ndarray
    full: np.ndarray

    @classmethod
    def of(cls, pasts: Sequence[Past], documents: float) -> Memory:
        """From the past of every row, written at its weights; each has the intercept as its last coordinate."""
        triangles = [past.block[np.tril_indices(len(past.places))] for past in pasts]
        diagonals = []
        for past in pasts:
            bend = past.bend.copy()
            bend[past.places] += np.diagonal(past.block)
            diagonals.append(bend)
        return cls(
            documents=documents,
            pointer=np.concatenate([[0], np.cumsum([len(past.index) - 1 for past in pasts])]).astype(np.int64),
            features=np.concatenate([past.index[:-1] for past in pasts]).astype(np.int32),
            slope=np.concatenate([past.slope[:-1] for past in pasts]),
            bend=np.concatenate([bend[:-1] for bend in diagonals]),
            intercept_slope=np.array([past.slope[-1] for past in pasts]),
            intercept_bend=np.array([bend[-1] for bend in diagonals]),
            height=np.array([past.height for past in pasts]),
            full=np.concatenate(triangles) if triangles else np.empty(0),
        )

    def past(self, row: int, weights: sp.csr_matrix, intercepts: np.ndarray) -> Past:
        """Of one row, over the model's columns and the intercept; `weights` are those fitted."""
        start, end = self.pointer[row : row + 2]
        width = weights.shape[1]
        index = np.append(self.features[start:end].astype(np.int64), width)
        beta = np.append(weights[[row]].toarray()[0], intercepts[row])
        bend = np.append(self.bend[start:end], self.intercept_bend[row])
        places, block = np.empty(0, np.int64), np.empty((0, 0))
        if len(self.full):
            sizes = np.diff(weights.indptr) + 1
            at = int(np.sum(sizes[:row] * (sizes[:row] + 1) // 2))
            size = int(sizes[row])
            lower = np.zeros((size, size))
            lower[np.tril_indices(size)] = self.full[at : at + size * (size + 1) // 2]
            block = lower + np.tril(lower, -1).T
            kept = np.append(weights.indices[weights.indptr[row] : weights.indptr[row + 1]].astype(np.int64), width)
            places = np.searchsorted(index, kept)
            bend[places] = 0.0
        slope = np.append(self.slope[start:end], self.intercept_slope[row])
        return Past(float(self.height[row]), index, beta[index], slope, bend, places, block)

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
        if not all(np.isfinite(part).all() for part in (self.slope, self.bend, self.full, *one_each)):
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
        sizes = np.diff(weights.indptr).astype(np.int64) + 1
        if len(self.full) not in (0, int(np.sum(sizes * (sizes + 1) // 2))):
            raise ValueError("the memory's curvature does not fit the weights")
        return self
