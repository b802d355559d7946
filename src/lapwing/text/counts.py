"""Documents to integer counts of terms: tokens without stop words, as stems, or short n-grams of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lapwing.text.bags import count_bags
from lapwing.text.listed import now
from lapwing.text.plain import count_plain
from lapwing.text.reading import in_batches, read_terms
from lapwing.text.rows import Counted, Counts, in_order
from lapwing.text.settings import TextSettings


def count_terms(
    documents: Iterable[str],
    settings: TextSettings,
    *,
    method: str = "auto",
    progress: Callable[[int], None] | None = None,
    n_jobs: int = 1,
) -> Counts:
    """Count the terms of every document. `method` "plain" or "kernel" forces one of the two paths."""
    batches, plain = in_batches(documents, settings, method, progress)
    return count_batches(batches, settings, plain=plain, n_jobs=n_jobs)


def count_batches(batches: Iterable[list[str]], settings: TextSettings, *, plain: bool, n_jobs: int = 1) -> Counts:
    """The same for documents in batches."""
    terms, matrix = counted(batches, settings, plain=plain, n_jobs=n_jobs)
    return Counts(now(terms), matrix)


def counted(batches: Iterable[list[str]], settings: TextSettings, *, plain: bool, n_jobs: int = 1) -> Counted:
    """The same, without waiting for the terms' names."""
    if plain:
        return count_plain(batches, settings)
    if settings.is_bag:
        return count_bags(batches, settings, n_jobs=n_jobs)
    read = read_terms(batches, settings, counting=True, n_jobs=n_jobs)
    return read.tokens, in_order(read.blocks, read.tokens, n_jobs=n_jobs)
