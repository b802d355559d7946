"""Counts to weights, the same for every route a document can take.

Logarithms are taken once per distinct integer with the C library's own function, and norms are added
up term after term in sorted order: a document gets the same bits alone, in a batch, or in training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.text.listed import meanwhile
from lapwing.text.rows import WORTH_A_KERNEL, cut, in_csr, in_threads
from lapwing.text.settings import TextSettings

KINDS = (np.int32, np.float64)  # of columns and weights
Row = tuple[list[int], list[float]]
OFTEN = 1000  # all counts up to here are weighed, whether they occur or not


def tf(n: int, settings: TextSettings) -> float:
    """What a count of n weighs."""
    if settings.tf == "log":
        return 1.0 + math.log(n)
    return float(n) if settings.tf == "raw" else 1.0


def idf(document_frequency: np.ndarray, n_documents: int, settings: TextSettings) -> np.ndarray:
    """ln((|D|+1)/(n(j)+1)). A model file can state any frequency, so no table is longer than they are many."""
    if not settings.idf:
        return np.ones(len(document_frequency))
    most = int(document_frequency.max(initial=0))
    if most <= len(document_frequency):
        distinct, place = np.flatnonzero(np.bincount(document_frequency)), document_frequency
        idf_of, places = np.empty(most + 1), distinct
    else:
        distinct, place = np.unique(document_frequency, return_inverse=True)
        idf_of, places = np.empty(len(distinct)), np.arange(len(distinct))
    idf_of[places] = [math.log((n_documents + 1) / (df + 1)) for df in distinct.tolist()]
    return np.take(idf_of, place)


def weigh(
    counts: sp.csr_matrix,
    document_frequency: np.ndarray,
    n_documents: int,
    settings: TextSettings,
    column_of: np.ndarray,
    width: int,
    *,
    names: Sequence[str] = (),
    n_jobs: int = 1,
) -> sp.csr_matrix:
    """GLM07 section 5.1: x_ij = (1 + ln n(i,j)) ln((|D|+1)/(n(j)+1)), divided by the norm of the row.

    counts              (n, t) with *all* terms of the documents, unknown ones included, columns sorted
    document_frequency  (t,) number of training documents with the term, 0 where training had none
    n_documents         |D|
    column_of           (t,) int32 the column of each of `width`, which keeps their order; -1 for none
    names               perhaps of the terms, to be made meanwhile
    """
    most = int(counts.data.max(initial=0))  # no longer than the longest text
    occurs = np.arange(1, min(most, OFTEN) + 1)
    if most > OFTEN:
        occurs = np.concatenate((occurs, np.unique(counts.data[counts.data > OFTEN])))
    tf_of = np.zeros(most + 1)
    tf_of[occurs] = [tf(n, settings) for n in occurs.tolist()]
    idf_of = idf(document_frequency, n_documents, settings)
    shape = (counts.shape[0], width)
    if counts.nnz < WORTH_A_KERNEL:
        return in_csr(_plain(counts, tf_of, idf_of, settings.cosine, column_of), shape)
    from lapwing.kernels import rows

    weights = np.empty(counts.nnz)
    pieces = [counts.indptr[first : past + 1] for first, past in cut(counts.indptr, n_jobs)]
    with in_threads(n_jobs) as run:
        meanwhile(
            names,
            run,
            lambda piece: rows.weigh(piece, counts.indices, counts.data, tf_of, idf_of, settings.cosine, weights),
            pieces,
        )
        if width == len(column_of):  # all of them, which keep their order
            return in_csr((counts.indptr, counts.indices, weights), shape)
        columns = np.empty(counts.nnz, np.int32)
        sizes = list(run(lambda piece: rows.keep(piece, counts.indices, column_of, columns, weights), pieces))
    here = [slice(piece[0], piece[0] + its.sum()) for piece, its in zip(pieces, sizes, strict=True)]
    columns, weights = (np.concatenate([whole[one] for one in here]) for whole in (columns, weights))
    return in_csr((np.cumsum(np.concatenate([[0], *sizes]), dtype=np.int32), columns, weights), shape)


def _plain(
    counts: sp.csr_matrix, tf_of: np.ndarray, idf_of: np.ndarray, cosine: bool, column_of: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, columns, weights), as kernels/rows.py `weigh` gives them."""
    per_term = idf_of.tolist(), column_of.tolist()
    terms, times, ends = counts.indices.tolist(), counts.data.tolist(), counts.indptr.tolist()
    tf_list = tf_of.tolist()
    return together([weigh_row(terms[a:b], times[a:b], tf_list, *per_term, cosine) for a, b in pairwise(ends)])


def weigh_row(
    terms: Sequence[int], times: Sequence[int], tf_of: Any, idf_of: Sequence[float], column_of: Sequence[int],
    cosine: bool,
) -> Row:  # fmt: skip
    """The columns of one document and their weights: its terms, in order, are there so many times."""
    weights = [tf_of[n] * idf_of[t] for n, t in zip(times, terms, strict=True)]
    if cosine:
        squares = 0.0
        for weight in weights:  # one after the other, which `sum` is not in every Python
            squares += weight * weight
        if squares > 0.0:  # else it is empty, or of terms that all documents share
            norm = math.sqrt(squares)
            weights = [weight / norm for weight in weights]
    columns = [column_of[t] for t in terms]
    if min(columns, default=0) < 0:
        weights = [weight for weight, column in zip(weights, columns, strict=True) if column >= 0]
        columns = [column for column in columns if column >= 0]
    return columns, weights


def together(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, columns, weights) of documents one by one."""
    columns, weights = (np.array([one for row in rows for one in row[k]], kind) for k, kind in enumerate(KINDS))
    return np.cumsum([0, *(len(row[0]) for row in rows)], dtype=np.int32), columns, weights
