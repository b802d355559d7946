"""The terms of a text in plain Python, for small inputs: what becomes of a token is found once and remembered."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from lapwing.text.reading import terms_of
from lapwing.text.settings import TextSettings
from lapwing.text.tokens import tokenize

REMEMBERED = 1 << 16  # tokens; then it begins anew


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
        if new := [token for token in dict.fromkeys(tokens) if token not in known]:
            if len(known) > REMEMBERED:
                known = self._known = {}
                new = list(dict.fromkeys(tokens))
            known.update(zip(new, self._become(new), strict=True))
        if settings.inside_words:
            return chain.from_iterable([known[token] for token in tokens])
        terms = [known[token] for token in tokens]
        return self._runs(terms) if settings.is_bag else [term for term in terms if term is not None]

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
