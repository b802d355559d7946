"""Tokens to terms: stems, and nothing of stop words. Porter's in a kernel, others by PyStemmer, word by word."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version

import numpy as np

from lapwing.text.listed import now
from lapwing.text.order import names, spelled
from lapwing.text.settings import TextSettings
from lapwing.text.table import token_table

Written = tuple[np.ndarray, np.ndarray]  # bytes, and ends: term t is those from ends[t] to ends[t+1]


def stemmed(tokens: list[str], settings: TextSettings) -> list[str]:
    """The term of each token, the empty string for a stop word."""
    stems = tokens
    if settings.stems:
        import Stemmer

        longest = _longest(settings)
        short = tokens
        if max(map(len, tokens), default=0) > longest:
            short = [token if len(token) <= longest else "" for token in tokens]
        stems = Stemmer.Stemmer(settings.stemmer, 0).stemWords(short)
        if short is not tokens:
            stems = [stem if word else token for stem, word, token in zip(stems, short, tokens, strict=True)]
    if stop := settings.stop_set:
        stems = ["" if token in stop else stem for token, stem in zip(tokens, stems, strict=True)]
    return stems


def snowball_release(settings: TextSettings) -> str | None:
    """The release of the algorithm that stems, as "3.1"; None where none does, and for Porter's, which is frozen."""
    return pystemmer_release() if settings.stems and settings.stemmer != "porter" else None


def pystemmer_release() -> str:
    """Of Snowball, too. `Stemmer.version()` of PyStemmer 3.0.0 says 2.0.1."""
    return ".".join(version("PyStemmer").split(".")[:2])


def terms_of(tokens: Sequence[str], settings: TextSettings) -> tuple[Sequence[str], np.ndarray]:
    """Tokens, distinct and sorted, to sorted terms: the terms, and for each token its term, -1 for a stop word."""
    if not settings.stems and not settings.stop_set:
        return tokens, np.arange(len(tokens), dtype=np.int32)
    stems = stemmed(now(tokens), settings)
    terms = sorted(dict.fromkeys(stems))
    rank = dict(zip(terms, range(len(terms)), strict=True))
    term_of = np.fromiter(map(rank.__getitem__, stems), dtype=np.int32, count=len(stems))
    if terms and not terms[0]:  # what has become the empty string stands first: no term
        return terms[1:], term_of - 1
    return terms, term_of


def in_kernel(settings: TextSettings) -> bool:
    """Whether a kernel stems, with the interpreter free."""
    return settings.stems and settings.stemmer == "porter"


def written(terms: Iterable[str]) -> Written:
    """From strings, none of which has a line feed."""
    lines = np.frombuffer("\n".join([*terms, ""]).encode(), np.uint8)
    past = np.flatnonzero(lines == ord("\n"))
    return lines[lines != ord("\n")], np.append(0, past - np.arange(len(past)))


def written_terms(n: int, spelling: np.ndarray, ends: np.ndarray, settings: TextSettings) -> Written:
    """The terms of the first n tokens spelling[ends[t]:ends[t+1]], empty for stop words."""
    if in_kernel(settings):
        return stems_of(n, spelling, ends, settings)
    if settings.stems or settings.stop_set:
        return written(stemmed(names(spelled(np.arange(n, dtype=np.int32), spelling, ends)), settings))
    return spelling, ends[: n + 1]


def stems_of(n: int, spelling: np.ndarray, ends: np.ndarray, settings: TextSettings) -> Written:
    """(spelling, ends) of the terms of the first n tokens spelling[ends[t]:ends[t+1]]: `stemmed`, in a kernel."""
    from lapwing.kernels.porter import stems

    return stems(spelling, ends[: n + 1], _stops(n, spelling, ends, settings), _longest(settings))


def _stops(n: int, spelling: np.ndarray, ends: np.ndarray, settings: TextSettings) -> np.ndarray:
    """Which tokens are stop words: those that begin like one are looked at."""
    from lapwing.kernels.tokens import keys

    left_out = np.zeros(n, np.bool_)
    words = [word.encode() for word in settings.stop_set]
    if not words:
        return left_out
    beginnings = np.sort(keys(np.frombuffer(b"".join(words), np.uint8), np.cumsum([0, *map(len, words)]))[0])
    first = keys(spelling, ends[: n + 1])[0]
    at = np.minimum(np.searchsorted(beginnings, first), len(beginnings) - 1)
    for t in np.flatnonzero(beginnings[at] == first).tolist():
        left_out[t] = spelling[ends[t] : ends[t + 1]].tobytes().decode() in settings.stop_set
    return left_out


def _longest(settings: TextSettings) -> int:
    return token_table(settings.table).longest_stemmed or sys.maxsize
