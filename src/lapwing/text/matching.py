"""All n-grams of a model found in one pass over a text: the automaton of Aho and Corasick (1975) over terms."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.text.design import Weighting
from lapwing.text.lookup import Result
from lapwing.text.sequences import Sequences, sequences
from lapwing.text.settings import TextSettings
from lapwing.text.spans import term_spans

PLAIN_TERMS = 60_000  # below this plain Python is done before Numba is loaded


GAP = "*"  # in an n-gram: one token, whichever


class Automaton:
    """States are the beginnings of n-grams; 0 is the empty one.

    step[state] term → state that goes one further; fallback[state] the longest other end of it that is a
    state; feature[state] the n-gram it completes, -1 for none; shorter[state] the next fallback that
    completes one, 0 for none; length[state] its number of terms
    """

    def __init__(self, ngrams: Sequence[str], settings: TextSettings) -> None:
        blank = settings.joint
        self.number: dict[str, int] = {}  # of every term in an n-gram
        self.step: list[dict[int, int]] = [{}]
        self.feature, self.length = [-1], [0]
        for j, ngram in enumerate(ngrams):
            state = 0
            for term in ngram.split(blank) if blank else ngram:
                here = self.step[state]
                t = self.number.setdefault(term, len(self.number))
                if t not in here:
                    here[t] = len(self.step)
                    self.step.append({})
                    self.feature.append(-1)
                    self.length.append(self.length[state] + 1)
                state = here[t]
            self.feature[state] = j
        self.fallback, self.shorter = [0] * len(self.step), [0] * len(self.step)
        waiting = deque(self.step[0].values())
        while waiting:
            state = waiting.popleft()
            for t, longer in self.step[state].items():
                back = self.fallback[state]
                while back and t not in self.step[back]:
                    back = self.fallback[back]
                back = self.step[back].get(t, 0)
                self.fallback[longer] = back
                self.shorter[longer] = back if self.feature[back] >= 0 and back else self.shorter[back]
                waiting.append(longer)

    def matches(self, numbers: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """(feature, length, number of terms read) of every n-gram as it is completed."""
        state = 0
        for i, t in enumerate(numbers, 1):
            while state and t not in self.step[state]:
                state = self.fallback[state]
            state = self.step[state].get(t, 0)
            node = state if self.feature[state] >= 0 else self.shorter[state]
            while node:
                yield self.feature[node], self.length[node], i
                node = self.shorter[node]

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The same for the kernel: (begin, terms, states, fallback, feature, shorter), steps by state, sorted."""
        begin = np.zeros(len(self.step) + 1, np.int64)
        np.cumsum([len(here) for here in self.step], out=begin[1:])
        steps = [sorted(here.items()) for here in self.step]
        terms = np.array([t for here in steps for t, _ in here], dtype=np.int32)
        states = np.array([s for here in steps for _, s in here], dtype=np.int32)
        rest = (np.array(part, dtype=np.int32) for part in (self.fallback, self.feature, self.shorter))
        return (begin, terms, states, *rest)


class Gapped:
    """n-grams with gaps as what is looked for: their places by the first token."""

    def __init__(self, ngrams: Sequence[tuple[int, list[str]]]) -> None:
        """ngrams   (feature, tokens) of each"""
        self.by_first: dict[str, list[tuple[int, int, list[tuple[int, str]]]]] = {}
        for feature, tokens in ngrams:
            rest = [(k, token) for k, token in enumerate(tokens) if k and token != GAP]
            self.by_first.setdefault(tokens[0], []).append((feature, len(tokens), rest))

    def matches(self, read: Sequences) -> Iterator[tuple[int, np.ndarray]]:
        """(feature, documents that have it, with repetitions)."""
        number = {term: k for k, term in enumerate(read.terms)}
        order = np.argsort(read.numbers, kind="stable")
        begin = np.searchsorted(read.numbers[order], np.arange(len(read.terms) + 1))
        closed = np.concatenate([[0], np.cumsum(read.numbers < 0)])
        document = np.repeat(np.arange(len(read.starts) - 1), np.diff(read.starts))
        for term, ngrams in self.by_first.items():
            if term not in number:
                continue
            at = order[begin[number[term]] : begin[number[term] + 1]]
            for feature, length, rest in ngrams:
                here = at[at + length <= len(read.numbers)]
                here = here[(document[here] == document[here + length - 1]) & (closed[here + length] == closed[here])]
                for offset, token in rest:
                    here = here[read.numbers[here + offset] == number.get(token, -2)]
                yield feature, document[here]

    def places(self, terms: Sequence[str | None]) -> Iterator[tuple[int, int, int]]:
        """(feature, number of tokens, tokens read) of every n-gram in one text; None for a stop word."""
        for at, term in enumerate(terms):
            for feature, length, rest in self.by_first.get(term, ()) if term is not None else ():
                inside = terms[at : at + length]
                if len(inside) == length and None not in inside and all(inside[k] == token for k, token in rest):
                    yield feature, length, at + length


@dataclass(frozen=True, eq=False)
class NgramWeighting(Weighting):
    """Documents as 0 and 1: which of the model's n-grams they have. `terms` are these n-grams.

    longest   of every feature the longest n-gram that is in the same training documents
    members   and how many such n-grams there are, itself included
    """

    longest: Sequence[str] = field(kw_only=True)
    members: np.ndarray = field(kw_only=True)

    @cached_property
    def automaton(self) -> Automaton:
        return Automaton(self._plain[1], self.settings)

    @cached_property
    def _plain(self) -> tuple[list[int], list[str]]:
        """n-grams without gaps: which features they are, and they."""
        gapped = {feature for feature, _ in self._with_gaps}
        kept = [j for j in range(len(self.terms)) if j not in gapped]
        return kept, [self.terms[j] for j in kept]

    @cached_property
    def _with_gaps(self) -> list[tuple[int, list[str]]]:
        blank = self.settings.joint
        cut = ((j, name.split(blank) if blank else list(name)) for j, name in enumerate(self.terms))
        return [(j, tokens) for j, tokens in cut if GAP in tokens] if self.settings.max_gap else []

    @cached_property
    def gapped(self) -> Gapped:
        return Gapped(self._with_gaps)

    def each(
        self, documents: Iterable[str], use: Callable[[sp.csr_matrix], Result], *, method: str = "auto", n_jobs: int = 1
    ) -> Iterable[Result]:
        """The same for (n, d) 1.0 where the document has the n-gram."""
        return [use(self.match(sequences(documents, self.settings, method=method), method=method))]

    def rows(self, documents: Any) -> None:
        return None

    def match(self, read: Sequences, *, method: str = "auto") -> sp.csr_matrix:
        """The same for documents that were read before."""
        number = self.automaton.number
        known = np.array([number.get(term, -1) for term in read.terms] + [-1], dtype=np.int32)  # -1 at the end: gaps
        numbers = known[read.numbers]
        if method == "auto":
            method = "plain" if len(numbers) < PLAIN_TERMS else "kernel"
        if method == "plain":
            listed = numbers.tolist()
            ends = read.starts.tolist()
            rows = [sorted({j for j, _, _ in self.automaton.matches(listed[a:b])}) for a, b in pairwise(ends)]
            indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int32)
            indices = np.array([j for row in rows for j in row], dtype=np.int32)
        else:
            from lapwing.kernels.ngrams import match

            indptr, indices = match(numbers, read.starts, len(self._plain[0]), *self.automaton.arrays)
        shape = (len(read.starts) - 1, len(self._plain[0]))
        matrix = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=shape)
        matrix.sort_indices()
        return self._joined(matrix, read) if self._with_gaps else matrix

    def _joined(self, plain: sp.csr_matrix, read: Sequences) -> sp.csr_matrix:
        """With the n-grams that have gaps."""
        with_gaps = [(j, documents) for j, documents in self.gapped.matches(read) if len(documents)]
        none = np.zeros(0, np.int64)
        rows = np.concatenate([none, *(documents for _, documents in with_gaps)])
        columns = np.concatenate([none, *(np.full(len(documents), j) for j, documents in with_gaps)])
        own = np.array(self._plain[0], dtype=np.int64)
        coordinates = plain.tocoo()
        rows, columns = np.concatenate([coordinates.row, rows]), np.concatenate([own[coordinates.col], columns])
        joined = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(plain.shape[0], len(self.terms)))
        joined.sum_duplicates()
        joined.data[:] = 1.0
        return joined

    def spans(self, text: str) -> dict[str, tuple[tuple[int, int], ...]]:
        """Where each n-gram stands in the text; they may overlap."""
        tokens = list(term_spans(text, self.settings))
        number = self.automaton.number
        numbers = [-1 if term is None else number.get(term, -1) for _, _, term in tokens]
        places: dict[str, list[tuple[int, int]]] = {}
        plain = ((self._plain[0][j], length, end) for j, length, end in self.automaton.matches(numbers))
        for j, length, end in (*plain, *self.gapped.places([term for _, _, term in tokens])):
            places.setdefault(self.terms[j], []).append((tokens[end - length][0], tokens[end - 1][1]))
        return {ngram: tuple(where) for ngram, where in places.items()}
