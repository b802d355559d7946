"""Where the terms of a text stand in it: words, characters, or short n-grams of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lapwing.text.settings import TextSettings
from lapwing.text.stemming import terms_of
from lapwing.text.table import IGNORABLE, token_table
from lapwing.text.tokens import token_spans

Span = tuple[int, int, str]


def term_spans(text: str, settings: TextSettings) -> Iterator[tuple[int, int, str | None]]:
    """(start, end, term) of every token, in the order of the text; None for a stop word."""
    tokens = list(token_spans(text, settings))
    terms, term_of = terms_of([token for _, _, token in tokens], settings)
    for (start, end, _), t in zip(tokens, term_of.tolist(), strict=True):
        yield start, end, terms[t] if t >= 0 else None


def bag_spans(text: str, settings: TextSettings) -> Iterator[Span]:
    """(start, end, name) of everything that is counted in the text: terms, or n-grams of terms or of characters."""
    shortest, longest = settings.lengths
    if settings.inside_words:
        for start, end, token in token_spans(text, settings):
            letters = [(start, start, " "), *_letters(text, start, end, token, settings.table), (end, end, " ")]
            yield from _ngrams(letters, min(shortest, len(letters)), longest, "")
        return
    run: list[Span] = []
    for start, end, term in term_spans(text, settings):
        if term is None:
            yield from _ngrams(run, shortest, longest, settings.joint)
            run = []
        else:
            run.append((start, end, term))
    yield from _ngrams(run, shortest, longest, settings.joint)


def _letters(text: str, start: int, end: int, token: str, table: int) -> Iterator[Span]:
    """The characters of a token and where they stand: what is invisible was dropped from it."""
    places: Sequence[int] = range(start, end)
    if len(token) < end - start:
        fold = token_table(table).class_of
        places = [place for place in places if fold(text[place]) != IGNORABLE]
    return ((place, place + 1, letter) for place, letter in zip(places, token, strict=True))


def _ngrams(run: Sequence[Span], shortest: int, longest: int, joint: str) -> Iterator[Span]:
    for first, (start, _, _) in enumerate(run):
        for past in range(first + shortest, min(first + longest, len(run)) + 1):
            yield start, run[past - 1][1], joint.join([name for _, _, name in run[first:past]])
