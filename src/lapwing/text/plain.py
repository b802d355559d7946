"""Texts to terms, counts and weights in plain Python, for small inputs: what becomes of a token is remembered.

The bits are those of the kernels.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.text.rows import check_size
from lapwing.text.settings import TextSettings
from lapwing.text.stemming import stemmed
from lapwing.text.tokens import tokenize

REMEMBERED = 1 << 16  # tokens; then it begins anew
NO_TERM = -(1 << 31)  # of a stop word
_REMEMBERING = threading.Lock()


class PlainTerms:
    """Called with a text it gives its terms, each as often as it occurs: what spans.py finds, without the places."""

    def __init__(self, settings: TextSettings) -> None:
        self.settings = settings
        self._known: dict[str, Any] = {}  # token → term, None for a stop word; inside words → all its n-grams

    def __call__(self, text: str) -> Iterable[str]:
        return self.of(tokenize(text, self.settings))

    def of(self, tokens: list[str]) -> Iterable[str]:
        """What is counted of these tokens, which stand one after the other."""
        settings = self.settings
        if settings.tokens == "char":
            return self._pieces("".join(tokens), settings.lengths[0])
        terms = self.in_turn(tokens)
        if settings.inside_words:
            return chain.from_iterable(terms)
        if settings.is_bag:
            return self._runs(terms)
        return [term for term in terms if term is not None] if None in terms else terms

    def in_turn(self, tokens: list[str]) -> list[Any]:
        """What becomes of each token."""
        settings, known = self.settings, self._known
        if not settings.stems and not settings.stop_set and not settings.inside_words:
            return tokens
        try:
            return list(map(known.__getitem__, tokens))
        except KeyError:
            if len(known) > REMEMBERED:
                known = self._known = {}  # another thread may begin anew, too
            new = [token for token in dict.fromkeys(tokens) if token not in known]
            known.update(zip(new, self._become(new), strict=True))
            return [known[token] for token in tokens]

    def _become(self, tokens: list[str]) -> list[Any]:
        if self.settings.inside_words:
            shortest = self.settings.lengths[0]
            return [self._pieces(f" {token} ", min(shortest, len(token) + 2)) for token in tokens]
        return [term or None for term in stemmed(tokens, self.settings)]

    def _pieces(self, text: str, shortest: int) -> list[str]:
        longest = min(self.settings.lengths[1], len(text))
        return [text[i : i + n] for n in range(shortest, longest + 1) for i in range(len(text) - n + 1)]

    def _runs(self, terms: list[str | None]) -> list[str]:
        shortest, longest = self.settings.lengths
        joint, out = self.settings.joint, []
        for n in range(shortest, longest + 1):
            runs = zip(*(terms[k:] for k in range(n)), strict=False)
            out += [joint.join(run) for run in runs if None not in run]
        return out


class PlacedTerms:
    """Called with a text it gives its terms in order, by their places in a sorted list, and how often each occurs.

    Those that are not in the list have the place after its last.
    """

    def __init__(self, settings: TextSettings, terms: Sequence[str], index: dict[str, int]) -> None:
        self.settings, self.terms, self.index = settings, terms, index
        self._plain, self._known = PlainTerms(settings), _Places()

    def __call__(self, text: str) -> tuple[list[int], list[int]]:
        if self.settings.is_bag:  # many of its terms come once, and are not worth remembering
            named = Counter(self._plain(text))
            ordered = sorted(named)
            return list(map(self.index.get, ordered, repeat(len(self.terms)))), list(map(named.__getitem__, ordered))
        tokens, known = tokenize(text, self.settings), self._known  # another thread may begin anew
        try:
            counts = Counter(map(known.of_token.__getitem__, tokens))
        except KeyError:
            known = self._remember(tokens)
            counts = Counter([known.of_token[token] for token in tokens])
        counts.pop(NO_TERM, None)
        places = sorted(counts)
        new, places = places[: (cut := bisect_left(places, 0))], places[cut:]
        times, at = list(map(counts.__getitem__, places)), len(places)
        for _, k in sorted([(known.names[~k], k) for k in new], reverse=True):
            at = bisect_left(places, known.gaps[~k], hi=at)  # before the one that was put there last
            places.insert(at, len(self.terms))
            times.insert(at, counts[k])
        return places, times

    def _remember(self, tokens: list[str]) -> _Places:
        with _REMEMBERING:
            if len(self._known.of_token) > REMEMBERED:
                self._known = _Places()
            known = self._known
            new = [token for token in dict.fromkeys(tokens) if token not in known.of_token]
            for token, term in zip(new, stemmed(new, self.settings), strict=True):
                place = self.index.get(term) if term else NO_TERM
                if place is None:
                    place = known.new.setdefault(term, ~len(known.names))
                    if place == ~len(known.names):
                        known.names.append(term)
                        known.gaps.append(bisect_left(self.terms, term))
                known.of_token[token] = place
            return known


class _Places:
    """What becomes of tokens: a place in the list, or ~k for the term names[k], which stands before place gaps[k]."""

    def __init__(self) -> None:
        self.of_token: dict[str, int] = {}
        self.new: dict[str, int] = {}
        self.names: list[str] = []
        self.gaps: list[int] = []


def count_plain(batches: Iterable[list[str]], settings: TextSettings) -> tuple[list[str], sp.csr_matrix]:
    """The terms of all documents, sorted, and how often each document has each."""
    terms, read = _read(batches, settings)
    bags = [Counter(terms.of(tokens)) for tokens in read]
    sizes = list(map(len, bags))
    check_size(sum(sizes))
    names = sorted(set().union(*bags))
    place = dict(zip(names, range(len(names)), strict=True))
    columns = np.fromiter(map(place.__getitem__, chain.from_iterable(bags)), np.int32, sum(sizes))
    counts = np.fromiter(chain.from_iterable(map(dict.values, bags)), np.int32, sum(sizes))
    matrix = sp.csr_matrix((counts, columns, np.cumsum([0, *sizes])), shape=(len(bags), len(names)))
    matrix.sort_indices()
    return names, matrix


def sequences_plain(batches: Iterable[list[str]], settings: TextSettings) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The terms of all documents, sorted; of each token its term, -1 for a stop word; and where documents begin."""
    terms, tokens = _read(batches, settings)
    read = [terms.in_turn(one) for one in tokens]
    names = sorted(set().union(*read) - {None})
    place: dict[Any, int] = dict(zip([*names, None], [*range(len(names)), -1], strict=True))
    ends = np.cumsum([0, *map(len, read)], dtype=np.int64)
    return names, np.fromiter(map(place.__getitem__, chain.from_iterable(read)), np.int32, int(ends[-1])), ends


def _read(batches: Iterable[list[str]], settings: TextSettings) -> tuple[PlainTerms, list[list[str]]]:
    """The tokens of every document, and what knows all their terms."""
    terms, read = PlainTerms(settings), [tokenize(text, settings) for batch in batches for text in batch]
    terms.in_turn(list(set().union(*read)))
    return terms, read
