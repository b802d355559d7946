"""Bags of short n-grams, of words or of characters: counts of all of them, in every document.

Inside words the n-grams of characters depend on the word alone: they are found once for each distinct word, and a
document has as many as its words have together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from lapwing.text.listed import Make, listed, meanwhile, now
from lapwing.text.order import Placed, merged, names
from lapwing.text.reading import Tokens, larger, read_terms, read_tokens
from lapwing.text.rows import Block, Counted, cut, in_order, in_threads
from lapwing.text.settings import TextSettings
from lapwing.text.stemming import written

CHUNK = 1 << 16  # terms of documents that are counted at a time


def count_bags(batches: Iterable[list[str]], settings: TextSettings, *, n_jobs: int = 1) -> Counted:
    """The n-grams of every document."""
    if settings.inside_words:
        return _count_inside(batches, settings, n_jobs)
    return _count(read_terms(batches, settings, counting=False, n_jobs=n_jobs), settings, n_jobs)


def _count_inside(batches: Iterable[list[str]], settings: TextSettings, n_jobs: int) -> Counted:
    words = read_tokens(batches, settings, counting=True, n_jobs=n_jobs)
    letters = sorted({" "}.union(*words.tokens))
    number = {letter: i for i, letter in enumerate(letters)}
    spelled = [f" {word} " for word in words.tokens]
    starts = np.concatenate(([0], np.cumsum([len(word) for word in spelled]))).astype(np.int64)
    numbers = np.fromiter((number[letter] for word in spelled for letter in word), np.int32, int(starts[-1]))
    place, counts, every = np.arange(len(letters), dtype=np.int32), np.empty(0, np.int32), np.arange(len(spelled))
    blocks = [Block(starts[a : b + 1], numbers, counts, place, every[a:b]) for a, b in cut(starts, n_jobs)]
    terms, pieces = _count(Tokens(letters, blocks), settings, n_jobs, whole=True)
    matrix = in_order(words.blocks, words.tokens, n_jobs=n_jobs)
    with in_threads(n_jobs) as run:
        rows = list(run(lambda some: _product(matrix[slice(*some)], pieces), cut(matrix.indptr, n_jobs)))
    return terms, sp.vstack(rows, "csr") if n_jobs > 1 else rows[0]


def _product(words: sp.csr_matrix, pieces: sp.csr_matrix) -> sp.csr_matrix:
    matrix = words @ pieces
    matrix.sort_indices()
    return matrix


def _count(read: Tokens, settings: TextSettings, n_jobs: int, *, whole: bool = False) -> Counted:
    """The n-grams of documents whose terms stand one after the other."""
    from lapwing.kernels.bags import merge

    bits = max(len(read.tokens).bit_length(), 1)
    with in_threads(n_jobs) as run:
        counted = meanwhile(read.tokens, run, lambda block: _count_some(block, settings, bits, whole), read.blocks)
        (high, low), places = merged([one for one, _ in counted], merge, run)
    terms, blocks = now(read.tokens), [block for _, block in counted]
    del counted, read  # the keys of each thread, which are many, and what was read
    names = listed(len(high), _names(high, low, bits, settings.lengths[1], terms, settings), n_jobs)
    del high, low
    if settings.tokens == "ready" and any(letter < settings.joint for term in terms for letter in term):
        names = now(names)
        again = sorted(range(len(names)), key=names.__getitem__)  # what is joined is not the least of all letters
        names = [names[k] for k in again]
        moved = np.empty(len(names), np.int32)
        moved[again] = np.arange(len(names), dtype=np.int32)
        places = [moved[place] for place in places]
    blocks = [block._replace(place=place) for block, place in zip(blocks, places, strict=True)]
    return names, in_order(blocks, names, n_jobs=n_jobs)


def _count_some(block: Block, settings: TextSettings, bits: int, whole: bool) -> tuple[Placed, Block]:
    """The n-grams of some documents, in order, as kernels/bags.py packs them."""
    from lapwing.kernels import bags as kernels
    from lapwing.kernels import radix

    shortest, longest = settings.lengths
    n_ngrams = before = 0
    high, low = np.empty(0, np.uint64), np.empty(0, np.uint64)
    table = _table(1 << 12)
    parts: list[tuple[np.ndarray, ...]] = []
    for first, past in _chunks(block.ends):
        starts = block.ends[first : past + 1]
        room = n_ngrams + int(starts[-1] - starts[0]) * (longest - shortest + 1)
        if room > high.size:
            high, low = (larger(keys, n_ngrams, room - n_ngrams) for keys in (high, low))
        if 3 * room > 2 * len(table):
            smaller, table = table, _table(3 * room // 2)
            kernels.move(smaller, table)
        n_ngrams, indptr, ngrams, counts = kernels.count_ngrams(
            block.numbers, block.place, starts, bits, shortest, longest, whole, before, n_ngrams, high, low, table
        )
        before += len(ngrams)
        parts.append((np.diff(indptr), ngrams, counts))
    del table
    lengths, numbers, counts = (np.concatenate(column, dtype=np.int32) for column in zip(*parts, strict=True))
    del parts
    high, low = high[:n_ngrams], low[:n_ngrams]
    if longest > 64 // bits:
        low, order = radix.in_order(low)
        high, last = radix.in_order(high[order])
        low, order = low[last], order[last]
    else:  # all low ones are 0
        high, order = radix.in_order(high)
    place = np.empty(n_ngrams, np.int32)
    place[order] = np.arange(n_ngrams, dtype=np.int32)
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return ((high, low), [place]), Block(ends, numbers, counts, place, block.documents)


def _table(slots: int) -> np.ndarray:
    """An empty one, as kernels/_table.py has it, of so many slots or more; none stands across two lines of the cache.

    NumPy asks for large pages, which are there sooner than many small ones.
    """
    words = 4 << (slots - 1).bit_length()
    room = np.zeros(words + 8, np.uint64)
    skipped = -room.ctypes.data % 64 // 8
    return room[skipped : skipped + words].reshape(-1, 4)


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
    joint = np.frombuffer(settings.joint.encode(), np.uint8)
    letters: list[np.ndarray] = []  # once a name is wanted

    def make(first: int, past: int) -> list[str]:
        if not letters:
            letters[:] = written(terms)
        items = np.zeros((past - first, longest), np.int32)
        for k in range(longest):
            words, place = (high, k) if k < in_a_word else (low, k - in_a_word)
            items[:, k] = (words[first:past] >> np.uint64(64 - bits * (place + 1))) & mask
        return names(spelled(items, joint, *letters))

    return make
