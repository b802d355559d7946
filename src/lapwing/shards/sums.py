"""Sums over a matrix, a block of it at a time: with memory for a block only, and the same bits whatever the blocks.

SciPy by itself would copy the indices of a matrix with more entries than 32 bits count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.shards.matrix import row_blocks

IN_CACHE = 1 << 15  # entries


def squared_norms(X: Any) -> np.ndarray:
    """Of every row of a CSR matrix."""
    norms, filled = np.zeros(X.shape[0]), np.flatnonzero(np.diff(X.indptr))
    for rows in row_blocks(X, IN_CACHE):
        part = slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))
        some = filled[slice(*np.searchsorted(filled, (rows.start, rows.stop)))]
        if len(some):
            norms[some] = np.add.reduceat(X.data[part] * X.data[part], X.indptr[some] - part.start)
    return norms


def column_lengths(X: Any) -> np.ndarray:
    """Stored entries of every column of a CSR matrix."""
    lengths = np.zeros(X.shape[1], np.int64)
    for rows in row_blocks(X):
        part = slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))
        lengths += np.bincount(X.indices[part], minlength=X.shape[1])
    return lengths


def column_sums(columns: Any, weight: np.ndarray, of: Any = None) -> np.ndarray:
    """Σ_i weight_i of(x_ij) for every column j, document after document; of x_ij itself without `of`.

    columns   CSC, on disk or not; or CSR in memory, to the same bits
    weight    (n,), or (n, k) for k sums of each column
    """
    if getattr(columns, "format", "csc") == "csr":  # that of a kernel does not say
        if of is np.square and weight.size == len(weight) and _is_full(columns):  # in half of the time
            table = columns.data.reshape(columns.shape)
            return np.einsum("i,ij,ij->j", weight.ravel(), table, table).reshape(-1, *weight.shape[1:])
        data = columns.data if of is None else of(columns.data)
        return np.asarray(sp.csr_matrix((data, columns.indices, columns.indptr), columns.shape).T @ weight)
    sums = np.empty((len(columns.indptr) - 1, *weight.shape[1:]))
    for some in row_blocks(columns):
        pointer = columns.indptr[some.start : some.stop + 1]
        part = slice(int(pointer[0]), int(pointer[-1]))
        data = columns.data[part] if of is None else of(columns.data[part])
        shape = (some.stop - some.start, len(weight))
        sums[some] = sp.csr_matrix((data, columns.indices[part], pointer - pointer[0]), shape) @ weight
    return sums


def _is_full(X: Any) -> bool:
    return bool(len(X.data) == X.shape[0] * X.shape[1])


def some_columns(columns: Any, which: np.ndarray) -> sp.csc_matrix:
    """These columns of a CSC matrix, in memory."""
    parts = [slice(*columns.indptr[j : j + 2].tolist()) for j in which.tolist()]
    ends = np.cumsum([0, *(part.stop - part.start for part in parts)])
    indices, data = (np.concatenate([of[:0], *(of[part] for part in parts)]) for of in (columns.indices, columns.data))
    return sp.csc_matrix((data, indices, ends), (columns.shape[0], len(which)))


def row_products(X: Any, vector: np.ndarray) -> np.ndarray:
    """x_i·v of every row of a CSR matrix; of k vectors (d, k)."""
    products = np.empty((X.shape[0], *vector.shape[1:]))
    for rows in row_blocks(X):
        pointer = X.indptr[rows.start : rows.stop + 1]
        part = slice(int(pointer[0]), int(pointer[-1]))
        shape = (rows.stop - rows.start, X.shape[1])
        products[rows] = sp.csr_matrix((X.data[part], X.indices[part], pointer - pointer[0]), shape) @ vector
    return products
