"""Counts of numbered terms, document by document, as a matrix whose rows are in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError

MOST = 2**31 - 1  # entries of a matrix, which are counted with 32 bits
WORTH_A_KERNEL = 2**18  # entries; fewer are gone through before a kernel is loaded


class Counts(NamedTuple):
    """terms, sorted by code point; matrix (documents, terms), CSR, int32, indices sorted."""

    terms: list[str]
    matrix: sp.csr_matrix


Counted = tuple[Sequence[str], sp.csr_matrix]  # the same, the names of the terms perhaps still being made


class Block(NamedTuple):
    """Some documents: document i has numbers[ends[i]:ends[i+1]], which are at `place` in some order, with their counts.

    Where tokens are not counted they stand one after the other, as in the text.
    """

    ends: np.ndarray  # int64
    numbers: np.ndarray  # int32
    counts: np.ndarray  # int32
    place: np.ndarray  # int32


def in_order(blocks: Sequence[Block], width: int, *, plain: bool, n_jobs: int = 1) -> sp.csr_matrix:
    """(documents, width) of counts: the column of a number is its place.

    Negative places are left out, and those of one document that are the same added up.
    """
    _check_size(sum(int(block.ends[-1] - block.ends[0]) for block in blocks))
    shape = (sum(len(block.ends) - 1 for block in blocks), width)
    if plain:
        (block,) = blocks
        columns = block.place[block.numbers]
        kept = columns >= 0
        indptr = np.concatenate(([0], np.cumsum(kept)))[block.ends].astype(np.int32)
        matrix = sp.csr_matrix((block.counts[kept], columns[kept], indptr), shape=shape)
        matrix.sum_duplicates()  # which sorts
        return matrix
    from lapwing.kernels import rows

    return in_csr(filled([(block.ends, rows.in_order, block) for block in blocks], np.int32, n_jobs), shape)


def _check_size(size: int) -> None:
    if size > MOST:
        raise InputError(
            f"the documents have {size} entries, and a matrix in memory holds {MOST} at most; train from disk "
            "(--memory), take fewer documents at a time, or fewer features (no pairs of words, no characters in a row)"
        )


def stacked(parts: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]], width: int) -> sp.csr_matrix:
    """The rows of (indptr, indices, data), one part after the other, as one matrix."""
    indptrs, indices, data = zip(*parts, strict=True)
    used = [int(indptr[-1]) for indptr in indptrs]
    _check_size(sum(used))
    starts = np.cumsum([0, *used]).tolist()
    rows = (indptr[1:] + start for indptr, start in zip(indptrs, starts, strict=False))
    indptr = np.concatenate([np.zeros(1, np.int32), *rows], dtype=np.int32)
    indices, data = (one[0] if len(one) == 1 else np.concatenate(one) for one in (indices, data))
    return in_csr((indptr, indices, data), (len(indptr) - 1, width))


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


Part = tuple[np.ndarray, Callable[..., np.ndarray], Sequence[Any]]


def filled(parts: Sequence[Part], kind: type, n_jobs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, data) of rows that are made part by part.

    A part is (ends, make, given): make(*given, indices, data) writes its rows' entries from the first place on, at most
    ends[-1] - ends[0] of them, and returns their indptr.
    """
    sizes = [int(ends[-1] - ends[0]) for ends, _, _ in parts]
    starts = np.cumsum([0, *sizes]).tolist()
    indices, data = np.empty(starts[-1], np.int32), np.empty(starts[-1], kind)

    def make(some: tuple[int, int]) -> list[np.ndarray]:
        places = ((k, slice(starts[k], starts[k + 1])) for k in range(*some))
        return [parts[k][1](*parts[k][2], indices[here], data[here]) for k, here in places]

    middles = np.add(starts[:-1], starts[1:]) / 2.0
    shares = np.searchsorted(middles, np.arange(1, n_jobs) * (starts[-1] / n_jobs)).tolist()  # as much for each thread
    with in_threads(n_jobs) as run:
        indptrs = list(chain.from_iterable(run(make, pairwise([0, *shares, len(parts)]))))
    used = [int(indptr[-1]) for indptr in indptrs]
    if used != sizes:
        here = [slice(start, start + size) for start, size in zip(starts, used, strict=False)]
        indices, data = (np.concatenate([whole[one] for one in here]) for whole in (indices, data))
    before = np.cumsum([0, *used]).tolist()
    rows = (indptr[1:] + start for indptr, start in zip(indptrs, before, strict=False))
    return np.concatenate([np.zeros(1, np.int32), *rows], dtype=np.int32), indices, data


@contextmanager
def in_threads(n_jobs: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map`, on so many threads."""
    if n_jobs == 1:
        yield map
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield pool.map


def cut(ends: np.ndarray, n: int) -> list[tuple[int, int]]:
    """(first, past) of n pieces of documents that have about as many entries."""
    cuts = np.searchsorted(ends, np.linspace(ends[0], ends[-1], n + 1)[1:-1]).tolist()
    return list(pairwise([0, *cuts, len(ends) - 1]))
