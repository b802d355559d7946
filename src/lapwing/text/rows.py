"""Counts of numbered terms, document by document, as a matrix whose rows are in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError

MOST = 2**31 - 1  # entries of a matrix, which are counted with 32 bits


class Counts(NamedTuple):
    """terms, sorted by code point; matrix (documents, terms), CSR, int32, indices sorted."""

    terms: list[str]
    matrix: sp.csr_matrix


def in_order(
    ends: np.ndarray,
    numbers: np.ndarray,
    counts: np.ndarray,
    rank: np.ndarray,
    width: int,
    *,
    plain: bool,
    n_jobs: int = 1,
) -> sp.csr_matrix:
    """(documents, width) of counts: document i has numbers[ends[i]:ends[i+1]], whose columns are their ranks.

    Negative ranks are left out, and those of one document that are the same added up.
    """
    if ends[-1] > MOST:
        raise InputError(
            f"the documents have {int(ends[-1])} entries, and a matrix in memory holds {MOST} at most; train from disk "
            "(--memory), take fewer documents at a time, or fewer features (no pairs of words, no characters in a row)"
        )
    shape = (len(ends) - 1, width)
    if plain:
        columns = rank[numbers]
        kept = columns >= 0
        indptr = np.concatenate(([0], np.cumsum(kept)))[ends].astype(np.int32)
        matrix = sp.csr_matrix((counts[kept], columns[kept], indptr), shape=shape)
        matrix.sum_duplicates()  # which sorts
        return matrix
    from lapwing.kernels import rows

    make = lambda first, past: rows.in_order(ends[first : past + 1], numbers, counts, rank)  # noqa: E731
    return in_csr(in_threads(make, ends, n_jobs), shape)


def in_csr(parts: Sequence[np.ndarray], shape: tuple[int, int]) -> sp.csr_matrix:
    """The matrix of (indptr, indices, data), each row in order."""
    indptr, indices, data = parts
    matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def in_threads(make: Callable[[int, int], Any], ends: np.ndarray, n_jobs: int) -> tuple[np.ndarray, ...]:
    """(indptr, indices, data) of all rows, where make(first, past) gives those of some."""
    n = len(ends) - 1
    if n_jobs == 1:
        return make(0, n)
    cuts = np.searchsorted(ends, np.linspace(ends[0], ends[-1], n_jobs + 1)[1:-1]).tolist()
    cuts = [0, *cuts, n]
    with ThreadPoolExecutor(n_jobs) as pool:
        parts = list(pool.map(make, cuts[:-1], cuts[1:]))
    before = np.cumsum([0, *(part[0][-1] for part in parts)])
    starts = [part[0][1:] + start for part, start in zip(parts, before.tolist(), strict=False)]
    indptr = np.concatenate([np.zeros(1, np.int32), *starts], dtype=np.int32)
    return indptr, *(np.concatenate([part[k] for part in parts]) for k in (1, 2))
