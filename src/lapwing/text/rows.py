"""Counts of numbered terms, document by document, as a matrix whose rows are in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.text.listed import meanwhile

MOST = 2**31 - 1  # entries of a matrix, which are counted with 32 bits
WORTH_A_KERNEL = 2**18  # entries; fewer are gone through before a kernel is loaded


class Counts(NamedTuple):
    """terms, sorted by code point; matrix (documents, terms), CSR, int32, indices sorted."""

    terms: list[str]
    matrix: sp.csr_matrix


Counted = tuple[Sequence[str], sp.csr_matrix]  # the same, the names of the terms perhaps still being made


class Block(NamedTuple):
    """Documents with one table of terms: the i-th has numbers[ends[i]:ends[i+1]], which are at `place` in some order.

    Their counts stand beside them. Where tokens are not counted they stand one after the other, as in the text.
    """

    ends: np.ndarray  # int64
    numbers: np.ndarray  # int32
    counts: np.ndarray  # int32
    place: np.ndarray  # int32
    documents: np.ndarray  # int64, which of all they are


def ends_of(blocks: Sequence[Block]) -> np.ndarray:
    """Document i has the entries ends[i] to ends[i+1] of all."""
    ends = np.zeros(sum(len(block.documents) for block in blocks) + 1, np.int64)
    for block in blocks:
        ends[block.documents + 1] = np.diff(block.ends)
    return np.cumsum(ends, out=ends)


def in_order(blocks: Sequence[Block], names: Sequence[str], *, n_jobs: int = 1) -> sp.csr_matrix:
    """(documents, names) of counts: the column of a number is its place. Meanwhile names are made.

    Negative places are left out, and those of one document that are the same added up.
    """
    starts = ends_of(blocks)
    shape = (len(starts) - 1, len(names))
    check_size(int(starts[-1]))
    from lapwing.kernels import rows

    indices, data = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    indptr = np.zeros(len(starts), np.int32)

    def put(block: Block) -> None:
        indptr[block.documents + 1] = rows.in_order(*block[:4], starts[block.documents], indices, data)

    with in_threads(n_jobs) as run:
        meanwhile(names, run, put, blocks)
    np.cumsum(indptr, out=indptr)
    if indptr[-1] < starts[-1]:
        rows.close_up(starts, indptr, indices, data)
        indices, data = indices[: indptr[-1]], data[: indptr[-1]]
    return in_csr((indptr, indices, data), shape)


def check_size(size: int) -> None:
    if size > MOST:
        raise InputError(
            f"the documents have {size} entries, and a matrix in memory holds {MOST} at most; train from disk "
            "(--memory), take fewer documents at a time, or fewer features (no pairs of words, no characters in a row)"
        )


def stacked(parts: Iterable[sp.csr_matrix]) -> sp.csr_matrix:
    """The rows of all, one part after the other, each row in order."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    check_size(sum(part.nnz for part in parts))
    indptrs = (
        part.indptr[1:] + start for part, start in zip(parts, np.cumsum([0, *(p.nnz for p in parts)]), strict=False)
    )
    indptr = np.concatenate([np.zeros(1, np.int32), *indptrs], dtype=np.int32)
    indices, data = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "data"))
    return in_csr((indptr, indices, data), (len(indptr) - 1, parts[0].shape[1]))


def document_frequency(matrix: sp.csr_matrix, n_jobs: int = 1) -> np.ndarray:
    """In how many rows each column is."""
    if matrix.nnz < WORTH_A_KERNEL:
        return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)
    from lapwing.kernels import rows

    parts = [matrix.indices[matrix.indptr[a] : matrix.indptr[b]] for a, b in cut(matrix.indptr, n_jobs)]
    with in_threads(n_jobs) as run:
        return np.add.reduce(list(run(rows.frequencies, parts, [matrix.shape[1]] * n_jobs)), dtype=np.int64)


def in_csr(parts: Sequence[np.ndarray], shape: tuple[int, int]) -> sp.csr_matrix:
    """The matrix of (indptr, indices, data), each row in order."""
    indptr, indices, data = parts
    matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


@contextmanager
def in_threads(n_jobs: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map`, on so many threads: those of `same_threads`, if it is that many, or new ones."""
    kept: ThreadPoolExecutor | None = getattr(_kept, "pool", None)
    if n_jobs == 1:
        yield map
    elif kept is not None and _kept.n_jobs == n_jobs:
        yield kept.map
    else:
        with ThreadPoolExecutor(n_jobs) as pool:
            yield pool.map


@contextmanager
def same_threads(n_jobs: int) -> Iterator[None]:
    """Within it, and on this thread, `in_threads` starts none: to start and to end them takes the interpreter."""
    with ThreadPoolExecutor(n_jobs) as pool:
        _kept.pool, _kept.n_jobs = pool, n_jobs
        try:
            yield
        finally:
            del _kept.pool, _kept.n_jobs


_kept = threading.local()


def cut(ends: np.ndarray, n: int) -> list[tuple[int, int]]:
    """(first, past) of n pieces of documents that have about as many entries."""
    cuts = np.searchsorted(ends, np.linspace(ends[0], ends[-1], n + 1)[1:-1]).tolist()
    return list(pairwise([0, *cuts, len(ends) - 1]))
