"""What a model remembers of the documents it was fitted to, for the next update: a quadratic per category.

The algebra is in stats/past.py. Remembered are the features with a weight and those that were close to one: their
slopes are needed when later documents add theirs. It is of the weights as fitted, before any calibration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from lapwing.stats.past import Past, nothing

TYPES: dict[str, type] = {
    "pointer": np.int64, "features": np.int32, "slope": np.float64, "bend": np.float64,
    "intercept_slope": np.float64, "intercept_bend": np.float64, "height": np.float64,
    "inside": np.uint8, "full": np.float64,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Memory:
    """pointer (rows + 1,), features, slope, bend: per row the features, rising, with g and the diagonal of A.

    documents          how many documents the past counts for
    intercept_slope, intercept_bend, height   (rows,)
    inside             1 for features between which A is known, 0 for others, all with a weight among the first
    full               A over those and the intercept, lower triangles row by row, one category after the other; both
                       are empty where only diagonals are kept
    rank, factor       where it is of a rank in place of that: F over all features of a row and the intercept, of as
                       many columns as the rank, or as they are
    """

    documents: float
    pointer: np.ndarray
    features: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    intercept_slope: np.ndarray
    intercept_bend: np.ndarray
    height: np.ndarray
    inside: np.ndarray
    full: np.ndarray
    rank: int = 0
    factor: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def curvature_rank(self) -> float:
        return math.inf if len(self.full) else self.rank

    @property
    def _sizes(self) -> np.ndarray:
        """(rows,) how many coordinates are remembered, the intercept among them."""
        return np.diff(self.pointer) + 1

    @property
    def _block_sizes(self) -> np.ndarray:
        """(rows,) of the curvature between features, the intercept among them."""
        return np.diff(np.append(0, np.cumsum(self.inside, dtype=np.int64))[self.pointer]) + 1

    @classmethod
    def of(cls, pasts: Sequence[Past], documents: float, rank: float) -> Memory:
        """From the past of every row, written at its weights; each has the intercept as its last coordinate."""
        triangles = [past.block[np.tril_indices(len(past.block))] for past in pasts]
        inside = [np.isin(np.arange(len(past.index) - 1), past.places) for past in pasts if len(past.block)]
        diagonals = [past.whole for past in pasts]
        columns = 0 if rank == math.inf else int(rank)
        return cls(
            documents=documents,
            pointer=np.concatenate([[0], np.cumsum([len(past.index) - 1 for past in pasts])]).astype(np.int64),
            features=np.concatenate([past.index[:-1] for past in pasts], dtype=np.int32, casting="same_kind"),
            slope=np.concatenate([past.slope[:-1] for past in pasts]),
            bend=np.concatenate([bend[:-1] for bend in diagonals]),
            intercept_slope=np.array([past.slope[-1] for past in pasts]),
            intercept_bend=np.array([bend[-1] for bend in diagonals]),
            height=np.array([past.height for past in pasts]),
            inside=np.concatenate(inside).astype(np.uint8) if inside else np.empty(0, np.uint8),
            full=np.concatenate(triangles) if triangles else np.empty(0),
            rank=columns,
            factor=np.concatenate([_filled(past.factor, columns) for past in pasts]) if columns else np.empty(0),
        )

    def past(self, row: int, weights: sp.csr_matrix, intercepts: np.ndarray) -> Past:
        """Of one row, over the model's columns and the intercept; `weights` are those fitted."""
        start, end = self.pointer[row : row + 2]
        width = weights.shape[1]
        index = np.append(self.features[start:end].astype(np.int64), width)
        beta = np.append(weights[[row]].toarray()[0], intercepts[row])
        bend = np.append(self.bend[start:end], self.intercept_bend[row])
        places, block, factor = np.empty(0, np.int64), nothing(), nothing()
        if len(self.full):
            sizes = self._block_sizes
            at, size = int(np.sum(sizes[:row] * (sizes[:row] + 1) // 2)), int(sizes[row])
            lower = np.zeros((size, size))
            lower[np.tril_indices(size)] = self.full[at : at + size * (size + 1) // 2]
            block = lower + np.tril(lower, -1).T
            places = np.flatnonzero(np.append(self.inside[start:end], 1))
            bend[places] = 0.0
        elif self.rank:
            places = np.arange(len(index))
            ends = np.concatenate([[0], np.cumsum(self._sizes * np.minimum(self._sizes, self.rank))])
            factor = self.factor[ends[row] : ends[row + 1]].reshape(len(index), -1)
            bend = np.maximum(bend - np.sum(factor**2, axis=1), 0.0)
        slope = np.append(self.slope[start:end], self.intercept_slope[row])
        return Past(float(self.height[row]), index, beta[index], slope, bend, places, block, factor)

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
        if not all(np.isfinite(part).all() for part in (self.slope, self.bend, self.full, self.factor, *one_each)):
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
        if len(self.inside) != (len(self.features) if len(self.full) else 0) or np.any(self.inside > 1):
            raise ValueError("the memory's features and those of its curvature do not fit")
        sizes = self._block_sizes if len(self.full) else np.empty(0, np.int64)
        if len(self.full) != int(np.sum(sizes * (sizes + 1) // 2)):
            raise ValueError("the memory's curvature does not fit its features")
        columns = np.minimum(self._sizes, self.rank)
        if len(self.factor) != int(np.sum(self._sizes * columns)) or (len(self.full) and self.rank):
            raise ValueError("the memory's curvature does not fit its rank")
        return self


def _filled(factor: np.ndarray, rank: int) -> np.ndarray:
    """F with as many columns as the rank, or as it has rows, row by row."""
    size = len(factor)
    full = np.zeros((size, min(size, rank)))
    full[:, : factor.shape[1]] = factor
    return full.ravel()
