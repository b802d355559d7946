"""The terms of a text in plain Python, for small inputs: what becomes of a token is found once and remembered."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any

from lapwing.text.settings import TextSettings
from lapwing.text.stemming import stemmed, terms_of
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
        tokens, settings = tokenize(text, self.settings), self.settings
        if settings.tokens == "char":
            return self._pieces("".join(tokens), settings.lengths[0])
        if not settings.is_bag and not settings.stems and not settings.stop_set:
            return tokens
        known = self._known  # another thread may begin anew
        try:
            terms = list(map(known.__getitem__, tokens))
        except KeyError:
            known = self._remember(known, tokens)
            terms = [known[token] for token in tokens]
        if settings.inside_words:
            return chain.from_iterable(terms)
        if settings.is_bag:
            return self._runs(terms)
        return [term for term in terms if term is not None]

    def _remember(self, known: dict[str, Any], tokens: list[str]) -> dict[str, Any]:
        """With what becomes of these, too."""
        if len(known) > REMEMBERED:
            known = self._known = {}
        new = [token for token in dict.fromkeys(tokens) if token not in known]
        known.update(zip(new, self._become(new), strict=True))
        return known

    def _become(self, tokens: list[str]) -> Iterable[Any]:
        if self.settings.inside_words:
            shortest = self.settings.lengths[0]
            return (self._pieces(f" {token} ", min(shortest, len(token) + 2)) for token in tokens)
        terms, term_of = terms_of(tokens, self.settings)
        return (terms[t] if t >= 0 else None for t in term_of.tolist())

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
        for k in sorted(new, key=lambda k: known.names[~k], reverse=True):
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
                known.of_token[token] = self._place(term, known)
            return known

    def _place(self, term: str, known: _Places) -> int:
        if not term:
            return NO_TERM
        if (place := self.index.get(term)) is not None:
            return place
        if term not in known.new:
            known.names.append(term)
            known.gaps.append(bisect_left(self.terms, term))
            known.new[term] = ~(len(known.names) - 1)
        return known.new[term]


class _Places:
    """What becomes of tokens: a place in the list, or ~k for the term names[k], which stands before place gaps[k]."""

    def __init__(self) -> None:
        self.of_token: dict[str, int] = {}
        self.new: dict[str, int] = {}
        self.names: list[str] = []
        self.gaps: list[int] = []
