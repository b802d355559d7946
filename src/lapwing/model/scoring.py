"""x·β + intercept of many documents and categories: sparse documents times weights, by the route with least to do.

In a kernel a word of a document either meets its weights one by one, by a list of them, or, where it has a weight in
most categories, all of them with their zeros, eight categories to an instruction. Until there is work enough for
loading Numba, SciPy multiplies sparse by sparse, or by dense where the model is. The bits are the same by any route.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

BLOCK = 1024  # documents of a product by SciPy
LANES = 8  # categories to a vector instruction, as in kernels/_lanes.py
LARGEST = 2**24  # numbers in a dense array of weights: 128 MB
FOUND = 25  # finding the list of a word takes as long as so many multiplications by what is in it
EIGHT = 3.5  # and eight categories side by side as long as so many
SAMPLE = 2**14  # words of documents that stand for all where routes are compared
WORTH_A_KERNEL = 2**30  # multiplications for which Numba is loaded: the second is won back
MANY_RANKED = 2**26  # scores, for whose ranking it is
BLOCK_RANKED = 2**20  # that are ranked at a time without it: 8 MB
BY_SPARSE = 2  # a multiplication of sparse by sparse takes SciPy as long as so many of sparse by dense

# Writes the scores of the documents from the given one on into an array, as many as it has rows.
Writer = partial[None]


class Scorer:
    """weights (rows, d) CSR, intercepts (rows,)"""

    def __init__(self, weights: sp.csr_matrix, intercepts: np.ndarray) -> None:
        self.weights, self.intercepts = weights, intercepts
        self._multiplied = 0  # by all calls so far, as documents may come as a stream
        self._ranked = 0  # scores, by `largest`

    def scores(self, matrix: sp.csr_matrix) -> np.ndarray:
        """(n, rows)"""
        out = np.empty((matrix.shape[0], len(self.intercepts)))
        self._writer(matrix)(0, out)
        return out

    def of_rows(self, rows: Sequence[tuple[list[int], list[float]]]) -> np.ndarray:
        """The same for a few documents as lists of (columns, values), added up in the same order."""
        (_, categories, weights), (begin, sizes), count = self._lists, self._extents, len(self.intercepts)
        columns = np.array([column for row, _ in rows for column in row], dtype=np.int64)
        values = np.array([value for _, row in rows for value in row])
        size = sizes[columns]
        past = np.cumsum(size)
        at = np.repeat(begin[columns] - past + size, size) + np.arange(past[-1] if len(past) else 0)
        places = categories[at]
        if len(rows) > 1:
            document = np.repeat(np.arange(len(rows)), [len(row) for row, _ in rows])
            places = np.repeat(document, size) * count + places
        sums = np.bincount(places, np.repeat(values, size) * weights[at], len(rows) * count)
        return sums.reshape(len(rows), count) + self.intercepts  # added up one after the other, as by any route

    def blocks(self, matrix: sp.csr_matrix, size: int) -> Iterator[np.ndarray]:
        """The same for `size` documents after the other, all in the same memory: a block is good until the next."""
        n, rows, write = matrix.shape[0], len(self.intercepts), self._writer(matrix)
        in_full = write.func == self._in_full or (write.func == self._by_scipy and self._is_dense)
        if in_full and self._at_a_time < rows:  # weights are laid out anew for every block
            size = max(size, LARGEST // rows)
        held = np.empty((min(size, n), rows))
        for start in range(0, n, size):
            out = held[: n - start]
            write(start, out)
            yield out

    def largest(self, matrix: sp.csr_matrix, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(n, count) of every document the rows with the largest scores, largest first, and these scores.

        Of equal scores those of the first rows. Never are all scores of all documents there at once.
        """
        n, count = matrix.shape[0], min(count, len(self.intercepts))
        places, scores = np.zeros((n, count), dtype=np.int32), np.zeros((n, count))
        self._ranked += n * len(self.intercepts)
        if self._ranked < MANY_RANKED:
            at = 0
            for block in self.blocks(matrix, max(BLOCK_RANKED // max(len(self.intercepts), 1), 1)):
                here = slice(at, at + len(block))
                places[here] = best(block, count)
                scores[here] = np.take_along_axis(block, places[here], axis=1)
                at += len(block)
            return places, scores
        from lapwing.kernels import sparse

        order = np.argsort(-self.intercepts, kind="stable").astype(np.int32)
        sums = np.full(len(self.intercepts), np.nan)
        sparse.largest(*for_kernels(matrix), *self._lists, self.intercepts, order, sums, places, scores)
        return places, scores

    def multiplications(self, matrix: sp.csr_matrix) -> int:
        """Of words of documents by weights that are not zero."""
        return int(self._kept_by[matrix.indices].sum())

    def is_worth_a_kernel(self, matrix: sp.csr_matrix) -> bool:
        """Whether this and what went before are worth loading Numba."""
        if self._multiplied < WORTH_A_KERNEL:
            self._multiplied += self._by_scipy_costs(matrix)
        return self._multiplied >= WORTH_A_KERNEL

    def _writer(self, matrix: sp.csr_matrix) -> Writer:
        if not self.is_worth_a_kernel(matrix):
            return partial(self._by_scipy, matrix)
        return partial(self._by_list if self._is_listed(matrix) else self._in_full, *for_kernels(matrix))

    def _is_listed(self, matrix: sp.csr_matrix) -> bool:
        """Whether the words of the documents have so few weights that a list of them is worth it."""
        words = matrix.indices[:: max(matrix.nnz // SAMPLE, 1)]
        full = EIGHT * -(-len(self.intercepts) // LANES)
        return bool(FOUND * len(words) + self._kept_by[words].sum() <= full * len(words))

    def _by_list(self, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, start: int, out: np.ndarray) -> None:
        from lapwing.kernels import sparse

        sparse.by_list(indptr[start : start + len(out) + 1], indices, data, *self._lists, self.intercepts, out)

    def _in_full(self, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, start: int, out: np.ndarray) -> None:
        from lapwing.kernels import sparse

        rows, size = len(self.intercepts), self._at_a_time
        for first in range(0, rows, size):
            some = slice(first, first + size)
            weights = self._full if size >= rows else in_lanes(self.weights[some])
            indptr_here = indptr[start : start + len(out) + 1]
            sparse.in_full(indptr_here, indices, data, weights, self.intercepts[some], first, out)

    def _by_scipy(self, matrix: sp.csr_matrix, start: int, out: np.ndarray) -> None:
        rows, size = len(self.intercepts), self._at_a_time if self._is_dense else max(len(self.intercepts), 1)
        for first in range(0, rows, size):
            some = slice(first, first + size)
            weights = self._transposed if size >= rows else self.weights[some].toarray().T
            for at in range(0, len(out), BLOCK):
                here = out[at : at + BLOCK]
                block = matrix[start + at : start + at + len(here)] @ weights
                here[:, some] = block if self._is_dense else block.toarray()
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
    def _transposed(self) -> np.ndarray | sp.csr_matrix:
        return self.weights.toarray().T.copy() if self._is_dense else self.weights.T.tocsr()

    @cached_property
    def _full(self) -> np.ndarray:
        return in_lanes(self.weights)

    @cached_property
    def _lists(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As kernels/sparse.py has them: where those of each feature begin, their categories, the weights."""
        by_feature = self.weights.T.tocsr()
        width = np.uint16 if len(self.intercepts) <= 2**16 else np.uint32
        return by_feature.indptr.astype(np.uint32), by_feature.indices.astype(width), by_feature.data

    @cached_property
    def _extents(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the list of each feature begins, and how many weights it has."""
        begin = self._lists[0].astype(np.int64)
        return begin[:-1], np.diff(begin)


def for_kernels(matrix: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, data) as kernels/sparse.py takes them, without gaps."""
    indptr, indices = (np.ascontiguousarray(array, dtype=np.int32) for array in (matrix.indptr, matrix.indices))
    return indptr, indices, np.ascontiguousarray(matrix.data)


def in_lanes(weights: sp.csr_matrix) -> np.ndarray:
    """(d, ·, LANES) of a (rows, d) matrix, each vector in one cache line."""
    rows, d = weights.shape
    width = -(-rows // LANES) * LANES
    memory = np.zeros(d * width + LANES, dtype=weights.dtype)
    first = -memory.ctypes.data % (LANES * memory.itemsize) // memory.itemsize
    out = memory[first : first + d * width].reshape(d, width)
    for row in range(rows):
        own = slice(weights.indptr[row], weights.indptr[row + 1])
        out[weights.indices[own], row] = weights.data[own]
    return out.reshape(d, -1, LANES)


def best(values: np.ndarray, count: int) -> list[np.ndarray]:
    """Of every row the places of its `count` largest values, largest first; of equal ones those that come first."""
    count = min(count, values.shape[1])
    least = np.partition(values, values.shape[1] - count, axis=1)[:, values.shape[1] - count]
    order = []
    for row, enough in zip(values, values >= least[:, None], strict=True):
        places = np.flatnonzero(enough)
        order.append(places[np.argsort(-row[places], kind="stable")][:count])
    return order
