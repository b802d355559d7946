"""Documents as sequences of numbered terms: what n-grams are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from lapwing.text.reading import in_batches, terms_of, tokens_by_kernel
from lapwing.text.settings import TextSettings
from lapwing.text.tokens import tokenize


class Sequences(NamedTuple):
    """Document i is numbers[starts[i]:starts[i+1]]; -1 where a stop word stood, which no n-gram spans."""

    terms: list[str]  # sorted by code point
    numbers: np.ndarray  # int32
    starts: np.ndarray  # int64


def sequences(
    documents: Iterable[str],
    settings: TextSettings,
    *,
    method: str = "auto",
    progress: Callable[[int], None] | None = None,
) -> Sequences:
    """The terms of every document in their order. `method` "plain" or "kernel" forces one of the two paths."""
    batches, plain = in_batches(documents, settings, method, progress)
    return read_sequences(batches, settings, plain)


def read_sequences(batches: Iterable[list[str]], settings: TextSettings, plain: bool) -> Sequences:
    """The same for documents in batches."""
    tokens, numbers, lengths = (_plain if plain else _kernel)(batches, settings)
    terms, term_of = terms_of(tokens, settings)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Sequences(terms, term_of[numbers] if len(tokens) else numbers, starts)


def _plain(batches: Iterable[list[str]], settings: TextSettings) -> tuple[list[str], np.ndarray, list[int]]:
    """(distinct tokens as they came, all tokens by number, tokens per document), in Python."""
    ids: dict[str, int] = {}
    numbers: list[int] = []
    lengths: list[int] = []
    for document in (d for batch in batches for d in batch):
        tokens = tokenize(document, settings)
        numbers.extend(ids.setdefault(token, len(ids)) for token in tokens)
        lengths.append(len(tokens))
    return list(ids), np.array(numbers, dtype=np.int32), lengths


def _kernel(batches: Iterable[list[str]], settings: TextSettings) -> tuple[list[str], np.ndarray, list[int]]:
    """The same from the kernels, over code points."""
    from lapwing.kernels.tokens import number

    numbers: list[np.ndarray] = []
    lengths: list[int] = []

    def numbered(chars: np.ndarray, ends: np.ndarray, last: np.ndarray, n_terms: int, *known: np.ndarray) -> int:
        n_terms, terms = number(chars, ends, n_terms, *known)
        numbers.append(terms)
        lengths.extend(np.diff(last).tolist())
        return n_terms

    tokens = tokens_by_kernel(batches, settings, numbered)
    return tokens, np.concatenate(numbers, dtype=np.int32), lengths
