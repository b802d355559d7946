"""Texts to a design matrix, and later texts to the same columns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.text.counts import count_terms
from lapwing.text.rows import Counts
from lapwing.text.settings import TextSettings
from lapwing.text.spans import bag_spans
from lapwing.text.weighting import weigh


@dataclass(frozen=True, eq=False)
class Weighting:
    """How texts become vectors: the settings, and n(j) of every training term.

    terms               sorted by code point
    document_frequency  (t,) int64, n(j)
    n_documents         |D|
    columns             (d,) int64: which terms have a column; feature j is terms[columns[j]]
    """

    settings: TextSettings
    terms: Sequence[str]
    document_frequency: np.ndarray
    n_documents: int
    columns: np.ndarray

    @cached_property
    def index(self) -> dict[str, int]:
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def feature_names(self) -> list[str]:
        if len(self.columns) == len(self.terms):
            return list(self.terms)
        return [self.terms[i] for i in self.columns.tolist()]

    @cached_property
    def _column_of(self) -> np.ndarray:
        """Term to column, -1 where it has none; the last entry is for unknown terms."""
        column = np.full(len(self.terms) + 1, -1, dtype=np.int32)
        column[self.columns] = np.arange(len(self.columns), dtype=np.int32)
        return column

    def vectors(self, documents: Iterable[str], *, method: str = "auto", n_jobs: int = 1) -> sp.csr_matrix:
        """(n, d) weights of `documents`; what training never saw counts in the norm only."""
        counts = count_terms(documents, self.settings, method=method, n_jobs=n_jobs)
        unknown = len(self.terms)
        known = np.fromiter((self.index.get(t, unknown) for t in counts.terms), np.int64, len(counts.terms))
        frequency = np.append(self.document_frequency, 0)[known]
        column_of = self._column_of[known]
        return weigh(
            counts.matrix, frequency, self.n_documents, self.settings, column_of, len(self.columns), n_jobs=n_jobs
        )

    def spans(self, text: str) -> dict[str, tuple[tuple[int, int], ...]]:
        """Where each term stands in the text."""
        places: dict[str, list[tuple[int, int]]] = {}
        for start, end, term in bag_spans(text, self.settings):
            places.setdefault(term, []).append((start, end))
        return {term: tuple(where) for term, where in places.items()}


@dataclass(frozen=True, eq=False)
class Design:
    """A sparse matrix (documents, features), the features' names, and the weighting that made it."""

    matrix: sp.csr_matrix
    feature_names: Sequence[str]
    weighting: Weighting | None


def design(
    documents: Iterable[str],
    settings: TextSettings,
    *,
    named: Iterable[str] = (),
    progress: Callable[[int], None] | None = None,
    n_jobs: int = 1,
) -> Design:
    """The design matrix of training texts. Terms that are `named` have a column however rare they are."""
    named = sorted(set(named))
    counts = _with_terms(count_terms(documents, settings, progress=progress, n_jobs=n_jobs), named)
    n = counts.matrix.shape[0]
    frequency = np.bincount(counts.matrix.indices, minlength=len(counts.terms)).astype(np.int64)
    kept = frequency >= settings.min_df
    kept[[bisect_left(counts.terms, term) for term in named]] = True
    columns = np.flatnonzero(kept)
    if not len(columns):
        raise InputError(
            f"no term is left of {n} documents with {len(counts.terms)} distinct terms; "
            "check the stop list and min_df, or tokens='char' for unspaced text"
        )
    weighting = Weighting(settings, counts.terms, frequency, n, columns)
    column_of = weighting._column_of[:-1]
    matrix = weigh(counts.matrix, frequency, n, settings, column_of, len(columns), n_jobs=n_jobs)
    return Design(matrix, weighting.feature_names, weighting)


def _with_terms(counts: Counts, named: Sequence[str]) -> Counts:
    """The same counts over the terms they have and those named, sorted."""
    if not named or len(terms := sorted({*counts.terms, *named})) == len(counts.terms):
        return counts
    place = {term: j for j, term in enumerate(terms)}
    moved = np.fromiter((place[term] for term in counts.terms), np.int32, len(counts.terms))
    matrix = counts.matrix
    wider = sp.csr_matrix((matrix.data, moved[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(terms)))
    return Counts(terms, wider)
