"""x·β + intercept of many documents and categories: sparse documents times weights, by the route with least to do.

With Numba eight categories at a time take one instruction for a word of a document: either only those eights of which
one has a weight for the word, or, where most have, all of them, which needs no list. Without it SciPy multiplies
sparse by sparse, or by dense where the model is. The bits are the same by any route.
"""

from __future__ import annotations

import sys
from functools import cached_property

import numpy as np
import scipy.sparse as sp

BLOCK = 1024  # documents of a product by SciPy
LANES = 8  # categories to a vector instruction, as in kernels/_lanes.py
LARGEST = 2**24  # numbers in a dense array of weights: 128 MB
LISTED = 1.8  # what an eight in a list costs, where one of all costs 1 and all of them stay in the cache
CACHED = 2**21  # numbers that do: 16 MB
SAMPLE = 2**14  # words of documents that stand for all where routes are compared
WORTH_A_KERNEL = 2**30  # multiplications for which Numba is loaded: the second is won back
BY_SPARSE = 2  # a multiplication of sparse by sparse takes SciPy as long as so many of sparse by dense


class Scorer:
    """weights (rows, d) CSR, intercepts (rows,)"""

    def __init__(self, weights: sp.csr_matrix, intercepts: np.ndarray) -> None:
        self.weights, self.intercepts = weights, intercepts

    def scores(self, matrix: sp.csr_matrix) -> np.ndarray:
        """(n, rows)"""
        out = np.empty((matrix.shape[0], len(self.intercepts)))
        if "numba" in sys.modules or self._by_scipy_costs(matrix) >= WORTH_A_KERNEL:
            self._by_kernel(matrix, out)
        else:
            self._by_scipy(matrix, out)
        return out

    def multiplications(self, matrix: sp.csr_matrix) -> int:
        """Of words of documents by weights that are not zero."""
        return int(self._kept_by[matrix.indices].sum())

    def _by_kernel(self, matrix: sp.csr_matrix, out: np.ndarray) -> None:
        from lapwing.kernels import sparse

        X = (matrix.indptr.astype(np.int32, copy=False), matrix.indices.astype(np.int32, copy=False), matrix.data)
        if self._is_listed(matrix):
            sparse.in_blocks(*X, *self._blocks, self.intercepts, out)
            return
        rows, size = len(self.intercepts), self._at_a_time
        for first in range(0, rows, size):
            some = slice(first, first + size)
            weights = self._full if size >= rows else in_lanes(self.weights[some])
            sparse.in_full(*X, weights, self.intercepts[some], first, out)

    def _is_listed(self, matrix: sp.csr_matrix) -> bool:
        """Whether the eights that have weights for the words of the documents are few enough to be worth a list."""
        if self._is_dense:
            return False
        words = matrix.indices[:: max(matrix.nnz // SAMPLE, 1)]
        rows, d = self.weights.shape
        cost = LISTED if rows * d <= CACHED else 1.0
        return bool(cost * self._eights[words].sum() <= len(words) * -(-rows // LANES))

    def _by_scipy(self, matrix: sp.csr_matrix, out: np.ndarray) -> None:
        rows, size = len(self.intercepts), self._at_a_time if self._is_dense else max(len(self.intercepts), 1)
        for first in range(0, rows, size):
            some = slice(first, first + size)
            weights = self._transposed if size >= rows else self.weights[some].toarray().T
            for start in range(0, matrix.shape[0], BLOCK):
                block = matrix[start : start + BLOCK] @ weights
                out[start : start + BLOCK, some] = block if self._is_dense else block.toarray()
        out += self.intercepts

    def _by_scipy_costs(self, matrix: sp.csr_matrix) -> int:
        """Multiplications of sparse by dense, or what takes as long."""
        if self._is_dense:
            return matrix.nnz * len(self.intercepts)
        return BY_SPARSE * self.multiplications(matrix) + matrix.shape[0] * len(self.intercepts)

    @property
    def _at_a_time(self) -> int:
        """Categories whose weights are held in full at once."""
        return max(LARGEST // max(self.weights.shape[1] * LANES, 1), 1) * LANES

    @cached_property
    def _is_dense(self) -> bool:
        """Whether so many weights are not zero that a list of them is no gain."""
        return bool(self.weights.nnz > 0.3 * self.weights.shape[0] * self.weights.shape[1])

    @cached_property
    def _kept_by(self) -> np.ndarray:
        """(d,) categories with a weight for the feature."""
        return np.bincount(self.weights.indices, minlength=self.weights.shape[1])

    @cached_property
    def _eights(self) -> np.ndarray:
        """(d,) eights of categories of which one has a weight for the feature."""
        return np.diff(self._blocks[0])

    @cached_property
    def _transposed(self) -> np.ndarray | sp.csr_matrix:
        return self.weights.toarray().T.copy() if self._is_dense else self.weights.T.tocsr()

    @cached_property
    def _full(self) -> np.ndarray:
        return in_lanes(self.weights)

    @cached_property
    def _blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As kernels/sparse.py has them: where those of each feature begin, which categories they are, the weights."""
        by_feature = self.weights.T.tocsr()
        place = by_feature.indices // LANES
        feature = np.repeat(np.arange(by_feature.shape[0], dtype=np.int32), np.diff(by_feature.indptr))
        new = np.ones(len(place), dtype=bool)
        new[1:] = (place[1:] != place[:-1]) | (feature[1:] != feature[:-1])
        out = cache_lines(int(np.count_nonzero(new)))
        out[np.cumsum(new, dtype=np.int32) - 1, by_feature.indices % LANES] = by_feature.data
        starts = np.concatenate([[0], np.cumsum(np.bincount(feature[new], minlength=by_feature.shape[0]))])
        return starts.astype(np.int32), place[new].astype(np.int32), out


def in_lanes(weights: sp.csr_matrix) -> np.ndarray:
    """(·, d, LANES) of a (rows, d) matrix."""
    shape = (-(-weights.shape[0] // LANES), weights.shape[1], LANES)
    out = cache_lines(shape[0] * shape[1]).reshape(shape)
    row = np.repeat(np.arange(weights.shape[0], dtype=np.int32), np.diff(weights.indptr))
    out[row // LANES, weights.indices, row % LANES] = weights.data
    return out


def cache_lines(count: int) -> np.ndarray:
    """(count, LANES) zeros, each row a cache line of its own."""
    memory = np.zeros((count + 1) * LANES)
    first = (-memory.ctypes.data % 64) // 8
    return memory[first : first + count * LANES].reshape(count, LANES)
