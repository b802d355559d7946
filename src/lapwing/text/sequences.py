"""Documents as sequences of numbered terms: what n-grams are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from lapwing.text.listed import now
from lapwing.text.plain import sequences_plain
from lapwing.text.reading import in_batches, read_terms
from lapwing.text.settings import TextSettings


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
    if plain:
        return Sequences(*sequences_plain(batches, settings))
    terms, (block,) = read_terms(batches, settings, counting=False)
    return Sequences(now(terms), block.place[block.numbers[: block.ends[-1]]], block.ends)
