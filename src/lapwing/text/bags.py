"""Bags of short n-grams, of words or of characters: counts of all of them, in every document.

Inside words the n-grams of characters depend on the word alone: they are found once for each distinct word, and a
document has as many as its words have together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from lapwing.text.listed import Make, listed, now
from lapwing.text.order import Placed, merged, names
from lapwing.text.plain import PlainTerms
from lapwing.text.reading import larger, read_tokens
from lapwing.text.rows import Block, Counted, cut, in_order, in_threads
from lapwing.text.sequences import Sequences, read_sequences
from lapwing.text.settings import TextSettings

CHUNK = 1 << 16  # terms of documents that are counted at a time


def count_bags(batches: Iterable[list[str]], settings: TextSettings, *, plain: bool, n_jobs: int = 1) -> Counted:
    """The n-grams of every document, counted in Python or in the kernels."""
    if plain:
        return _count_plain(batches, settings)
    if settings.inside_words:
        return _count_inside(batches, settings, n_jobs)
    return _count(read_sequences(batches, settings, plain=plain, n_jobs=n_jobs), settings, n_jobs)


def _count_plain(batches: Iterable[list[str]], settings: TextSettings) -> Counted:
    ids: dict[str, int] = {}
    terms = PlainTerms(settings)
    bags = [Counter(terms(text)) for batch in batches for text in batch]
    indices = np.array([ids.setdefault(name, len(ids)) for bag in bags for name in bag], dtype=np.int32)
    counts = np.array([n for bag in bags for n in bag.values()], dtype=np.int32)
    names = sorted(ids)
    rank = np.empty(len(names), np.int32)
    rank[[ids[name] for name in names]] = np.arange(len(names))
    block = Block(np.cumsum([0, *map(len, bags)]), indices, counts, rank)
    return names, in_order([block], len(names), plain=True)


def _count_inside(batches: Iterable[list[str]], settings: TextSettings, n_jobs: int) -> Counted:
    words = read_tokens(batches, settings, counting=True, plain=False, n_jobs=n_jobs)
    letters = sorted({" "}.union(*words.tokens))
    number = {letter: i for i, letter in enumerate(letters)}
    spelled = [f" {word} " for word in words.tokens]
    starts = np.concatenate(([0], np.cumsum([len(word) for word in spelled]))).astype(np.int64)
    numbers = np.fromiter((number[letter] for word in spelled for letter in word), np.int32, int(starts[-1]))
    terms, pieces = _count(Sequences(letters, numbers, starts), settings, n_jobs, whole=True)
    matrix = in_order(words.blocks, len(words.tokens), plain=False, n_jobs=n_jobs)
    with in_threads(n_jobs) as run:
        rows = list(run(lambda some: _product(matrix[slice(*some)], pieces), cut(matrix.indptr, n_jobs)))
    return terms, sp.vstack(rows, "csr") if n_jobs > 1 else rows[0]


def _product(words: sp.csr_matrix, pieces: sp.csr_matrix) -> sp.csr_matrix:
    matrix = words @ pieces
    matrix.sort_indices()
    return matrix


def _count(read: Sequences, settings: TextSettings, n_jobs: int, *, whole: bool = False) -> Counted:
    from lapwing.kernels.bags import merge

    bits = max(len(read.terms).bit_length(), 1)
    with in_threads(n_jobs) as run:
        found = list(run(lambda some: _count_some(read, some, settings, bits, whole), cut(read.starts, n_jobs)))
        (high, low), places = merged([one for one, _ in found], merge, run)
    blocks = [block for _, block in found]
    del found  # the keys of each thread, which are many
    names = listed(len(high), _names(high, low, bits, settings.lengths[1], read.terms, settings), n_jobs)
    del high, low
    if settings.tokens == "ready" and any(letter < settings.joint for term in read.terms for letter in term):
        names = now(names)
        again = sorted(range(len(names)), key=names.__getitem__)  # what is joined is not the least of all letters
        names = [names[k] for k in again]
        moved = np.empty(len(names), np.int32)
        moved[again] = np.arange(len(names), dtype=np.int32)
        places = [moved[place] for place in places]
    blocks = [block._replace(place=place) for block, place in zip(blocks, places, strict=True)]
    return names, in_order(blocks, len(names), plain=False, n_jobs=n_jobs)


def _count_some(
    read: Sequences, some: tuple[int, int], settings: TextSettings, bits: int, whole: bool
) -> tuple[Placed, Block]:
    """The n-grams of some documents, in order, as kernels/bags.py packs them."""
    from lapwing.kernels import bags as kernels

    shortest, longest = settings.lengths
    n_ngrams = before = 0
    high, low = np.empty(0, np.uint64), np.empty(0, np.uint64)
    table = np.zeros((1 << 12, 4), np.uint64)
    parts: list[tuple[np.ndarray, ...]] = []
    for first, past in _chunks(read.starts[some[0] : some[1] + 1]):
        starts = read.starts[some[0] + first : some[0] + past + 1]
        room = n_ngrams + int(starts[-1] - starts[0]) * (longest - shortest + 1)
        if room > high.size:
            high, low = (larger(keys, n_ngrams, room - n_ngrams) for keys in (high, low))
        if 2 * room > len(table):
            table = kernels.with_room(table, n_ngrams, room - n_ngrams)
        n_ngrams, indptr, ngrams, counts = kernels.count_ngrams(
            read.numbers, starts, bits, shortest, longest, whole, before, n_ngrams, high, low, table
        )
        before += len(ngrams)
        parts.append((np.diff(indptr), ngrams, counts))
    del table
    lengths, numbers, counts = (np.concatenate(column, dtype=np.int32) for column in zip(*parts, strict=True))
    del parts
    high, low = high[:n_ngrams], low[:n_ngrams]
    order = np.lexsort((low, high)) if low.any() else np.argsort(high)
    place = np.empty(n_ngrams, np.int32)
    place[order] = np.arange(n_ngrams, dtype=np.int32)
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return ((high[order], low[order]), [place]), Block(ends, numbers, counts, place)


def _chunks(starts: np.ndarray) -> Iterable[tuple[int, int]]:
    """Documents that have about CHUNK terms together."""
    first, n = 0, len(starts) - 1
    while True:
        past = min(max(int(np.searchsorted(starts, starts[first] + CHUNK, side="right")) - 1, first + 1), n)
        yield first, past
        if past >= n:
            return
        first = past


def _names(
    high: np.ndarray, low: np.ndarray, bits: int, longest: int, terms: Sequence[str], settings: TextSettings
) -> Make:
    """The n-grams of some of the keys, as kernels/bags.py packs them."""
    from lapwing.kernels.tokens import spelled

    mask, in_a_word = np.uint64((1 << bits) - 1), 64 // bits
    low = low if longest > in_a_word else low[:0].copy()  # not to be kept for nothing
    encoded = [term.encode() for term in terms]
    ends = np.cumsum([0, *map(len, encoded)])
    joint, spelling = (np.frombuffer(b, np.uint8) for b in (settings.joint.encode(), bytearray().join(encoded)))

    def make(first: int, past: int) -> list[str]:
        items = np.zeros((past - first, longest), np.int32)
        for k in range(longest):
            words, place = (high, k) if k < in_a_word else (low, k - in_a_word)
            items[:, k] = (words[first:past] >> np.uint64(64 - bits * (place + 1))) & mask
        return names(spelled(items, joint, spelling, ends))

    return make
