"""Documents to counts of their distinct tokens, in plain Python or in a kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.text.reading import tokens_by_kernel
from lapwing.text.settings import TextSettings
from lapwing.text.tokens import tokenize


class Counts(NamedTuple):
    """terms, sorted by code point; matrix (documents, terms), CSR, int32, indices sorted."""

    terms: list[str]
    matrix: sp.csr_matrix


class Tokens(NamedTuple):
    """Documents as counts of distinct tokens, those numbered as they came."""

    tokens: list[str]
    lengths: np.ndarray  # distinct tokens per document
    indices: np.ndarray
    counts: np.ndarray


def count_plain(batches: Iterable[list[str]], settings: TextSettings) -> Tokens:
    """Tokens counted in Python."""
    ids: dict[str, int] = {}
    indices: list[int] = []
    counts: list[int] = []
    lengths: list[int] = []
    for document in (d for batch in batches for d in batch):
        found = Counter(tokenize(document, settings))
        indices.extend(ids.setdefault(token, len(ids)) for token in found)
        counts.extend(found.values())
        lengths.append(len(found))
    return Tokens(list(ids), *(np.array(a, dtype=np.int32) for a in (lengths, indices, counts)))


def count_kernel(batches: Iterable[list[str]], settings: TextSettings) -> Tokens:
    """The same from the kernels, over code points."""
    from lapwing.kernels.tokens import count

    parts: list[tuple[np.ndarray, ...]] = []
    before = 0

    def counted(chars: np.ndarray, ends: np.ndarray, last: np.ndarray, n_terms: int, *known: np.ndarray) -> int:
        nonlocal before
        n_terms, indptr, terms, counts = count(chars, ends, last, before, n_terms, *known)
        before += len(terms)
        parts.append((np.diff(indptr), terms, counts))
        return n_terms

    tokens = tokens_by_kernel(batches, settings, counted)
    return Tokens(tokens, *(np.concatenate(column, dtype=np.int32) for column in zip(*parts, strict=True)))


def in_order(lengths: np.ndarray, indices: np.ndarray, counts: np.ndarray, width: int) -> sp.csr_matrix:
    """(documents, width) of counts, the indices of every document put in order."""
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    matrix = sp.csr_matrix((counts, indices, indptr), shape=(len(lengths), width))
    matrix = matrix.tocsc().tocsr()  # two counting sorts
    matrix.has_sorted_indices = True
    return matrix
