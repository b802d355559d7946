"""Texts to the vectors of a model by a table of tokens that is kept: what becomes of a word is found out once.

Terms that training never saw count in the norm, in their place among all terms: the bits are those of weighting.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp

from lapwing.text.order import in_order
from lapwing.text.reading import TextReader, larger
from lapwing.text.rows import in_csr, in_threads
from lapwing.text.stemming import Written, written, written_terms
from lapwing.text.weighting import idf, tf

if TYPE_CHECKING:
    from lapwing.text.design import Weighting

BATCHES = 16  # that a thread reads before it finds out about what is new: 4 MB
REMEMBERED = 1 << 18  # tokens; with more a table is given up
LOGARITHMS = 1 << 16  # of counts up to here all are at hand, of others those that occur

Result = TypeVar("Result")


def _some(terms: Written, which: np.ndarray) -> Written:
    spelling, ends = terms
    lengths = np.diff(ends)[which]
    past = np.append(0, np.cumsum(lengths))
    return spelling[np.repeat(ends[which] - past[:-1], lengths) + np.arange(past[-1])], past


def _at(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """0 for places past the end."""
    return np.append(values, np.zeros(2, values.dtype))[places]


def _added(terms: Written, more: Written) -> Written:
    return np.append(terms[0], more[0]), np.append(terms[1], terms[1][-1] + more[1][1:])


def copied(part: sp.csr_matrix) -> sp.csr_matrix:
    """Not to change with the next."""
    return in_csr((part.indptr, part.indices.copy(), part.data.copy()), part.shape)


class Lookups:
    """Tables of a model, as many as threads ever read at a time. A copy of them is empty."""

    def __init__(self, weighting: Weighting) -> None:
        self.weighting = weighting
        self._free: list[_Lookup] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return Lookups, (self.weighting,)

    def each(
        self, batches: Iterable[list[str]], use: Callable[[sp.csr_matrix], Result], n_jobs: int
    ) -> Iterator[Result]:
        """What `use` makes of the documents as vectors, some after the other, in their order.

        It has them until it returns: then others take their place in memory.
        """
        batches = iter(batches)

        def one(some: list[list[str]]) -> Result:
            try:
                lookup = self._free.pop()
            except IndexError:
                lookup = _Lookup(self.weighting)
            result = use(lookup.rows(some))
            if lookup.reader.known.n <= REMEMBERED:
                self._free.append(lookup)
            return result

        with in_threads(n_jobs) as run:
            while some := list(islice(batches, BATCHES * n_jobs)):
                size = -(-len(some) // n_jobs)
                yield from run(one, [some[k : k + size] for k in range(0, len(some), size)])


class _Lookup:
    """The tokens of one thread, and the terms they become: those of the model, then others in the order they came."""

    def __init__(self, weighting: Weighting) -> None:
        self.settings, self.terms = weighting.settings, weighting.terms
        self.idf = idf(np.append(weighting.document_frequency, 0), weighting.n_documents, weighting.settings)
        self.column_of, self.width = weighting._column_of, len(weighting.columns)
        self.reader = TextReader(weighting.settings, False)
        self.new: Written = np.empty(0, np.uint8), np.zeros(1, np.int64)  # terms of tokens that the model has not
        self.gap_of = np.empty(0, np.int64)  # of each, the term of the model that it stands before
        self.term_of = np.empty(0, np.int64)  # of every token, -1 for none
        self.rank_of = np.empty(0, np.uint32)
        self.tf = np.zeros(1)
        self.rows_of = np.empty(0, np.int32), np.empty(0)
        self._rank(np.empty(0, np.int32))

    def rows(self, batches: list[list[str]]) -> sp.csr_matrix:
        reader = self.reader
        reader.begin()
        for i, batch in enumerate(batches):
            reader.take(i, batch)
        if reader.known.n > len(self.term_of):
            self._resolve()
        ends = reader.ends
        self._weigh_counts(ends)
        from lapwing.kernels.lookup import weigh

        self.rows_of = columns, weights = (
            larger(self.rows_of[0], 0, reader.used),
            larger(self.rows_of[1], 0, reader.used),
        )
        indptr = weigh(
            ends, reader.numbers, self.rank_of, *self.ranks, self.tf, self.settings.cosine, *self.room, columns, weights
        )
        return in_csr((indptr, columns[: indptr[-1]], weights[: indptr[-1]]), (len(indptr) - 1, self.width))

    def _resolve(self) -> None:
        """The terms of tokens that were met for the first time."""
        known, first, n = self.reader.known, len(self.term_of), len(self.terms)
        terms = written_terms(known.n - first, known.spelling, known.ends[first : known.n + 1], self.settings)
        numbers, gaps = self._matched(*terms)
        new = np.flatnonzero(numbers == n)
        numbers[new] += len(self.gap_of) + np.arange(len(new))
        self.term_of = np.append(self.term_of, numbers)
        if not len(new):
            self.rank_of = np.append(self.rank_of, self.rank_of_term[numbers])
            return
        self.gap_of = np.append(self.gap_of, gaps[new])
        self.new = _added(self.new, _some(terms, new))
        _, (place,) = in_order(len(self.gap_of), *self.new, distinct=False)
        self._rank(place)

    def _matched(self, spelling: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of every term its number in the model, as many as there are for a new one, and how many stand before it.

        What is empty is no term: -1. Most can be told by their first sixteen bytes.
        """
        from lapwing.kernels.tokens import LONG, keys

        firsts, seconds = self.keys
        first, second = keys(spelling, ends)
        low = np.searchsorted(firsts, first)
        begins, goes_on = _at(firsts, low) == first, _at(firsts, low + 1) == first  # as one of the model's does, or two
        there = _at(seconds, low)
        same, gaps = begins & (second == there), low + (begins & (there < second))
        is_long = (second & LONG == LONG) | (there & LONG == LONG)
        for k in np.flatnonzero(begins & (goes_on | is_long)).tolist():
            term = spelling[ends[k] : ends[k + 1]].tobytes().decode()
            gaps[k] = bisect_left(self.terms, term, int(low[k]))
            same[k] = gaps[k] < len(self.terms) and self.terms[gaps[k]] == term
        numbers = np.where(same, gaps, len(self.terms))
        numbers[ends[1:] == ends[:-1]] = -1
        return numbers, gaps

    @cached_property
    def keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the model's terms, by which kernels/tokens.py tells tokens apart."""
        from lapwing.kernels.tokens import keys

        return keys(*written(self.terms))

    def _rank(self, place: np.ndarray) -> None:
        """The place of every term among all of them, and what the kernel wants of each; `place` is of new ones."""
        n, many, gaps = len(self.terms), len(self.terms) + len(place), self.gap_of
        others = np.bincount(gaps[np.unique(place, return_index=True)[1]], minlength=n + 1)
        rank = np.empty(many + 1, np.uint32)
        rank[:n] = np.arange(n) + np.cumsum(others)[:n]
        rank[n:-1] = gaps + place
        rank[-1] = many  # of what is no term
        idf_of, column_of = np.full(many + 1, self.idf[-1]), np.full(many + 1, -1, np.int32)
        idf_of[rank[:n]], column_of[rank[:n]] = self.idf[:-1], self.column_of[:-1]
        idf_of[-1] = 0.0
        self.ranks = idf_of, column_of
        self.room = (
            np.zeros(many + 1, np.int32),
            np.zeros(many // 64 + 1, np.uint64),
            np.zeros(many // 4096 + 1, np.uint64),
        )
        self.rank_of_term = rank
        self.rank_of = rank[self.term_of]

    def _weigh_counts(self, ends: np.ndarray) -> None:
        """The weights of all counts that these documents can have."""
        lengths = np.diff(ends)
        longest = int(lengths.max(initial=0))
        if longest >= len(self.tf):
            more = range(len(self.tf), min(longest, LOGARITHMS) + 1)
            self.tf = np.append(self.tf, [tf(n, self.settings) for n in more])
        for i in np.flatnonzero(lengths > LOGARITHMS).tolist():
            counts = np.unique(np.bincount(self.rank_of[self.reader.numbers[ends[i] : ends[i + 1]]]))
            self.tf = larger(self.tf, len(self.tf), max(int(counts[-1]) + 1 - len(self.tf), 0))
            self.tf[counts[1:]] = [tf(n, self.settings) for n in counts[1:].tolist()]
