"""Count all n-grams of some lengths, document by document: each is looked up by what it consists of."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part
from lapwing.kernels._table import FIRST, PLACE, SECOND, TERM, moved, slot
from lapwing.kernels._words import prefetch

_CHUNK = 256  # n-grams that are looked up together: memory answers many such loads at a time


@kernel
def move(table, larger):
    """All entries of a table to a larger one, which is empty."""
    moved(table, larger)


@part
def _look_up(n, highs, lows, n_terms, high_of, low_of, table, first_here, before, nnz, terms, counts):
    """Count n n-grams of a document whose entries begin at first_here; returns (n_terms, nnz). All arrays have room."""
    slots = table.shape[0]
    places = np.empty(_CHUNK, np.int64)
    for t in range(n):
        places[t] = slot(highs[t], lows[t], slots)
        prefetch(table, places[t])
    for t in range(n):
        high, low, at = highs[t], lows[t], places[t]
        while table[at, TERM] != 0 and (table[at, FIRST] != high or table[at, SECOND] != low):
            at = (at + 1) & (slots - 1)
        if table[at, TERM] == 0:
            high_of[n_terms], low_of[n_terms] = high, low
            n_terms += 1
            table[at, FIRST], table[at, SECOND], table[at, TERM], table[at, PLACE] = high, low, n_terms, 0
        last = np.int64(table[at, PLACE])
        if last > first_here:  # places count from 1: this document has the n-gram already
            counts[last - before - 1] += 1
        else:
            terms[nnz], counts[nnz] = np.int64(table[at, TERM]) - 1, 1
            nnz += 1
            table[at, PLACE] = before + nnz
    return n_terms, nnz


@kernel
def count_ngrams(numbers, place, starts, bits, shortest, longest, whole, before, n_terms, high_of, low_of, table):
    """Count the distinct n-grams of every document, adding to a table of n-grams.

    numbers   (m,) int32 the terms of all documents, one after the other
    place     (t,) int32 what counts in place of their numbers; negative where no n-gram goes across
    starts    (n+1,) int64 document i is numbers[starts[i]:starts[i+1]]
    bits      each term + 1 takes so many in a key: as many of them as fit, from the top, in its high word, the
              others in its low one. Shorter n-grams have zeros there, so keys sort as the sequences of terms do
    whole     whether a document shorter than `shortest` counts as one n-gram
    before    how many entries earlier calls have returned: places go on from there
    table     see _table.py; it has room
    high_of, low_of   the key of every n-gram by number, in order of first appearance; both have room

    Returns (n_terms, indptr, terms, counts): document i has terms[indptr[i]:indptr[i+1]], each with its count.
    """
    n, in_a_word = starts.size - 1, 64 // bits
    most = (starts[n] - starts[0]) * (longest - shortest + 1)
    terms, counts = np.empty(most, np.int32), np.empty(most, np.int32)
    indptr = np.zeros(n + 1, np.int64)
    highs, lows = np.empty(_CHUNK, np.uint64), np.empty(_CHUNK, np.uint64)
    longest_document = np.int64(0)
    for doc in range(n):
        longest_document = max(longest_document, starts[doc + 1] - starts[doc])
    items = np.empty(longest_document, np.int32)
    nnz = np.int64(0)
    for doc in range(n):
        size, first_here = starts[doc + 1] - starts[doc], before + nnz
        least = min(shortest, size) if whole else shortest
        for k in range(size):
            items[k] = place[numbers[starts[doc] + k]]
        waiting = np.int64(0)
        for first in range(size):
            high = low = np.uint64(0)
            for k in range(min(longest, size - first)):
                if items[first + k] < 0:
                    break
                item = np.uint64(items[first + k] + 1)
                if k < in_a_word:
                    high |= item << np.uint64(64 - bits * (k + 1))
                else:
                    low |= item << np.uint64(64 - bits * (k - in_a_word + 1))
                if k + 1 < least:
                    continue
                highs[waiting], lows[waiting] = high, low
                waiting += 1
                if waiting == _CHUNK:
                    n_terms, nnz = _look_up(
                        waiting, highs, lows, n_terms, high_of, low_of, table, first_here, before, nnz, terms, counts
                    )
                    waiting = np.int64(0)
        n_terms, nnz = _look_up(
            waiting, highs, lows, n_terms, high_of, low_of, table, first_here, before, nnz, terms, counts
        )
        indptr[doc + 1] = nnz
    return n_terms, indptr, terms[:nnz].copy(), counts[:nnz].copy()


@kernel
def merge(high, low, other_high, other_low):
    """Two lists of distinct n-grams, each in the order of their keys, as one.

    Returns the keys of all, and the place there of each n-gram of the one list and of the other.
    """
    n, m = high.size, other_high.size
    highs, lows = np.empty(n + m, np.uint64), np.empty(n + m, np.uint64)
    place, other_place = np.empty(n, np.int32), np.empty(m, np.int32)
    a = b = t = 0
    while a < n or b < m:
        mine = b == m or (a < n and (high[a] < other_high[b] or (high[a] == other_high[b] and low[a] <= other_low[b])))
        theirs = a == n or (
            b < m and (other_high[b] < high[a] or (other_high[b] == high[a] and other_low[b] <= low[a]))
        )
        highs[t], lows[t] = (high[a], low[a]) if mine else (other_high[b], other_low[b])
        if mine:
            place[a] = t
            a += 1
        if theirs:
            other_place[b] = t
            b += 1
        t += 1
    return highs[:t], lows[:t], place, other_place
