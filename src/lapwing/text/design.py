"""Texts to a design matrix, and later texts to the same columns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.text.counts import count_batches, counted
from lapwing.text.listed import now
from lapwing.text.lookup import Lookups, Result, copied
from lapwing.text.plain import PlacedTerms
from lapwing.text.reading import in_batches
from lapwing.text.rows import Counted, document_frequency, in_csr, same_threads, stacked
from lapwing.text.settings import TextSettings
from lapwing.text.spans import bag_spans
from lapwing.text.weighting import OFTEN, Row, idf, tf, together, weigh, weigh_row

FEW_CHARACTERS, FEW_DOCUMENTS = 30_000, 64  # plain Python reads so much as fast as kernels do once they are loaded
PLAIN_CHARACTERS = 1_000_000  # which takes as long as reading so many


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
            return now(self.terms)
        return [self.terms[i] for i in self.columns.tolist()]

    @cached_property
    def _column_of(self) -> np.ndarray:
        """Term to column, -1 where it has none; the last entry is for unknown terms."""
        column = np.full(len(self.terms) + 1, -1, dtype=np.int32)
        column[self.columns] = np.arange(len(self.columns), dtype=np.int32)
        return column

    def texts(self, documents: Any) -> Any:
        """Documents as their texts, which they are unless there are columns beside them (text/beside.py)."""
        return documents

    def vectors(self, documents: Iterable[Any], *, method: str = "auto", n_jobs: int = 1) -> sp.csr_matrix:
        """(n, d) weights of `documents`; what training never saw counts in the norm only."""
        return stacked(self.each(documents, copied, method=method, n_jobs=n_jobs))

    def each(
        self, documents: Iterable[Any], use: Callable[[sp.csr_matrix], Result], *, method: str = "auto", n_jobs: int = 1
    ) -> Iterable[Result]:
        """What `use` makes of the vectors of some documents after the other. They are good until it returns."""
        plain_below = max(PLAIN_CHARACTERS - self._read[0], FEW_CHARACTERS)
        batches, plain = in_batches(documents, self.settings, method, plain_below=plain_below)
        if not plain and not self.settings.is_bag:
            return self._lookups.each(batches, use, n_jobs)
        width = len(self.columns)
        if plain:
            texts = [text for batch in batches for text in batch]
            self._read[0] += sum(map(len, texts))
            parts = together([self._row(text) for text in texts])
            return [use(in_csr(parts, (len(texts), width)))]
        counts = count_batches(batches, self.settings, plain=False, n_jobs=n_jobs)
        unknown = len(self.terms)
        known = np.fromiter((self.index.get(t, unknown) for t in counts.terms), np.int64, len(counts.terms))
        frequency, column_of = np.append(self.document_frequency, 0)[known], self._column_of[known]
        weights = weigh(counts.matrix, frequency, self.n_documents, self.settings, column_of, width, n_jobs=n_jobs)
        return [use(weights)]

    @cached_property
    def _read(self) -> list[int]:
        """Characters that plain Python has read so far: many small requests are worth kernels, too."""
        return [0]

    @cached_property
    def _lookups(self) -> Lookups:
        return Lookups(self)

    @cached_property
    def _placed(self) -> PlacedTerms:
        return PlacedTerms(self.settings, self.terms, self.index)

    @cached_property
    def _per_term(self) -> tuple[list[float], list[int]]:
        """The IDF and the column of every term; last, of those that training never saw."""
        return idf(np.append(self.document_frequency, 0), self.n_documents, self.settings).tolist(), (
            self._column_of.tolist()
        )

    @cached_property
    def _tf_of(self) -> Sequence[float]:
        """What small counts weigh."""
        return [0.0, *(tf(n, self.settings) for n in range(1, OFTEN))]

    def rows(self, documents: Any) -> list[tuple[list[int], list[float]]] | None:
        """(columns, values) of each of a few short texts, for which a matrix takes longer than they do; else None."""
        few = isinstance(documents, list | tuple) and len(documents) <= FEW_DOCUMENTS
        if not few or not all(isinstance(text, str) for text in documents):
            return None
        if sum(map(len, documents)) > FEW_CHARACTERS:
            return None
        return [self._row(self.settings.prepared(text)) for text in documents]

    def _row(self, text: str) -> Row:
        """The columns of a text and their values."""
        places, times = self._placed(text)
        tf_of: Any = self._tf_of
        if max(times, default=0) >= len(tf_of):
            tf_of = {n: tf(n, self.settings) for n in times}
        return weigh_row(places, times, tf_of, *self._per_term, self.settings.cosine)

    def spans(self, text: str) -> dict[str, tuple[tuple[int, int], ...]]:
        """Where each term stands in the text."""
        places: dict[str, list[tuple[int, int]]] = {}
        for start, end, term in bag_spans(text, self.settings):
            places.setdefault(term, []).append((start, end))
        return {term: tuple(where) for term, where in places.items()}


class Numbered(Sequence[str]):
    """Names of columns that have none: their numbers, written when they are looked at."""

    def __init__(self, count: int) -> None:
        self.numbers = range(count)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        some = self.numbers[index]
        return [str(j) for j in some] if isinstance(some, range) else str(some)

    def __repr__(self) -> str:
        return f"Numbered({len(self)})"

    def __eq__(self, other: object) -> bool:
        return list(self) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


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
    with same_threads(n_jobs):
        return _design(documents, settings, sorted(set(named)), progress, n_jobs)


def _design(
    documents: Iterable[str],
    settings: TextSettings,
    named: Sequence[str],
    progress: Callable[[int], None] | None,
    n_jobs: int,
) -> Design:
    batches, plain = in_batches(documents, settings, "auto", progress)
    terms, counts = counted(batches, settings, plain=plain, n_jobs=n_jobs)
    if named:
        terms, counts = _with_terms(now(terms), counts, named)
    n, frequency = counts.shape[0], document_frequency(counts, n_jobs)
    weighting = weighting_of(terms, frequency, n, settings, named)
    column_of, width = weighting._column_of[:-1], len(weighting.columns)
    matrix = weigh(counts, frequency, n, settings, column_of, width, names=terms, n_jobs=n_jobs)
    weighting = replace(weighting, terms=now(terms))
    return Design(matrix, weighting.feature_names, weighting)


def weighting_of(
    terms: Sequence[str], frequency: np.ndarray, n: int, settings: TextSettings, named: Sequence[str]
) -> Weighting:
    """Of n documents with these terms; those that are named, and stand among them, have a column however rare."""
    kept = frequency >= settings.min_df
    kept[[bisect_left(terms, term) for term in named]] = True
    columns = np.flatnonzero(kept)
    if not len(columns):
        raise InputError(
            f"no term is left of {n} documents with {len(terms)} distinct terms; "
            "check the stop list and min_df, or tokens='char' for unspaced text"
        )
    return Weighting(settings, terms, frequency, n, columns)


def _with_terms(terms: list[str], counts: sp.csr_matrix, named: Sequence[str]) -> Counted:
    """The same counts over the terms they have and those named, sorted."""
    more = sorted({*terms, *named})
    place = {term: j for j, term in enumerate(more)}
    moved = np.fromiter((place[term] for term in terms), np.int32, len(terms))
    return more, sp.csr_matrix((counts.data, moved[counts.indices], counts.indptr), shape=(counts.shape[0], len(more)))
