"""Documents to integer counts of terms: tokens without stop words, as stems, or short n-grams of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from lapwing.text.bags import count_bags
from lapwing.text.reading import in_batches, terms_of
from lapwing.text.settings import TextSettings
from lapwing.text.token_counts import Counts, Tokens, count_kernel, count_plain, in_order


def count_terms(
    documents: Iterable[str],
    settings: TextSettings,
    *,
    method: str = "auto",
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Count the terms of every document. `method` "plain" or "kernel" forces one of the two paths."""
    batches, plain = in_batches(documents, settings, method, progress)
    if settings.is_bag:
        return count_bags(batches, settings, plain)
    return _in_terms((count_plain if plain else count_kernel)(batches, settings), settings)


def _in_terms(counted: Tokens, settings: TextSettings) -> Counts:
    """Tokens to terms, those of one stem added up."""
    terms, term_of = terms_of(counted.tokens, settings)
    lengths, indices, counts = counted.lengths, term_of[counted.indices], counted.counts
    if len(term_of) and term_of.min() < 0:
        kept = indices >= 0
        past = np.concatenate(([0], np.cumsum(kept)))[np.cumsum(lengths)]
        lengths = np.diff(past, prepend=0)
        indices, counts = indices[kept], counts[kept]
    matrix = in_order(lengths, indices, counts, len(terms))
    if len(term_of) != len(terms):
        matrix.sum_duplicates()
    return Counts(terms, matrix)
