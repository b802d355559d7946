"""Counts to weights, in one NumPy function for every route a document can take.

Logarithms are taken once per distinct integer with the C library's own function, and norms are added
up term after term in sorted order: a document gets the same bits alone, in a batch, or in training.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from lapwing.text.settings import TextSettings


def _log_tf(counts: np.ndarray) -> np.ndarray:
    """1 + ln n of an array of counts: the table is no longer than the longest text."""
    table = np.zeros(int(counts.max(initial=0)) + 1)
    for n in np.flatnonzero(np.bincount(counts)).tolist():
        table[n] = 1.0 + math.log(n)
    return table[counts]


def _idf(document_frequency: np.ndarray, n_documents: int) -> np.ndarray:
    """ln((|D|+1)/(n(j)+1)). A model file can state any frequency, so no table is made as long as they are."""
    distinct, place = np.unique(document_frequency, return_inverse=True)
    return np.array([math.log((n_documents + 1) / (df + 1)) for df in distinct.tolist()])[place]


def weigh(
    counts: sp.csr_matrix, document_frequency: np.ndarray, n_documents: int, settings: TextSettings
) -> sp.csr_matrix:
    """GLM07 section 5.1: x_ij = (1 + ln n(i,j)) ln((|D|+1)/(n(j)+1)), divided by the norm of the row.

    counts              (n, t) with *all* terms of the documents, unknown ones included, columns sorted
    document_frequency  (t,) number of training documents with the term, 0 where training had none
    n_documents         |D|
    """
    if settings.tf == "log":
        data = _log_tf(counts.data)
    elif settings.tf == "raw":
        data = counts.data.astype(np.float64)
    else:
        data = np.ones(counts.nnz)
    if settings.idf:
        data *= _idf(document_frequency, n_documents)[counts.indices]
    if settings.cosine:
        lengths = np.diff(counts.indptr)
        rows = np.repeat(np.arange(counts.shape[0]), lengths)
        norms = np.sqrt(np.bincount(rows, weights=data * data, minlength=counts.shape[0]))
        norms[norms == 0.0] = 1.0  # an empty document, or one of terms that all documents share
        data /= np.repeat(norms, lengths)
    return sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)
