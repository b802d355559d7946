"""Count all n-grams of some lengths, document by document: each is looked up by what it consists of."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part

HIGH, LOW, TERM, PLACE = range(4)  # the columns of a table of n-grams


@part
def _slot(high, low, size):
    """Where the search for a key starts in a table of `size` slots, a power of two."""
    mixed = (high ^ (low * np.uint64(0xD6E8FEB86659FD93))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))


@kernel
def enlarged(table, slots):
    """The same entries in a table of `slots` slots."""
    larger = np.zeros((slots, table.shape[1]), np.uint64)
    for old in range(table.shape[0]):
        if table[old, TERM] != 0:
            at = _slot(table[old, HIGH], table[old, LOW], slots)
            while larger[at, TERM] != 0:
                at = (at + 1) & (slots - 1)
            for k in range(table.shape[1]):
                larger[at, k] = table[old, k]
    return larger


@kernel
def count_ngrams(numbers, starts, bits, shortest, longest, whole, before, n_terms, high_of, low_of, table):
    """Count the distinct n-grams of every document, adding to a table of n-grams.

    numbers   (m,) int32 the terms of all documents, one after the other; negative where no n-gram goes across
    starts    (n+1,) int64 document i is numbers[starts[i]:starts[i+1]]
    bits      each term + 1 takes so many in a key: as many of them as fit, from the top, in its high word, the
              others in its low one. Shorter n-grams have zeros there, so keys sort as the sequences of terms do
    whole     whether a document shorter than `shortest` counts as one n-gram
    before    how many entries earlier calls have returned: places go on from there
    table     (slots, 4) uint64, slots a power of two, with room: HIGH and LOW, the key; TERM, the n-gram's
              number plus 1; PLACE, where it was last counted
    high_of, low_of   the key of every n-gram by number, in order of first appearance; both have room

    Returns (n_terms, indptr, terms, counts): document i has terms[indptr[i]:indptr[i+1]], each with its count.
    """
    n, slots, in_a_word = starts.size - 1, table.shape[0], 64 // bits
    most = (starts[n] - starts[0]) * (longest - shortest + 1)
    terms, counts = np.empty(most, np.int32), np.empty(most, np.int32)
    indptr = np.zeros(n + 1, np.int64)
    nnz = 0
    for doc in range(n):
        first_here = np.uint64(before + nnz)
        end = starts[doc + 1]
        least = min(shortest, end - starts[doc]) if whole else shortest
        for first in range(starts[doc], end):
            high = low = np.uint64(0)
            for k in range(min(longest, end - first)):
                if numbers[first + k] < 0:
                    break
                item = np.uint64(numbers[first + k] + 1)
                if k < in_a_word:
                    high |= item << np.uint64(64 - bits * (k + 1))
                else:
                    low |= item << np.uint64(64 - bits * (k - in_a_word + 1))
                if k + 1 < least:
                    continue
                at = _slot(high, low, slots)
                while table[at, TERM] != 0 and (table[at, HIGH] != high or table[at, LOW] != low):
                    at = (at + 1) & (slots - 1)
                if table[at, TERM] == 0:
                    high_of[n_terms], low_of[n_terms] = high, low
                    n_terms += 1
                    table[at, HIGH], table[at, LOW], table[at, TERM], table[at, PLACE] = high, low, n_terms, 0
                if table[at, PLACE] > first_here:  # places count from 1: this document has the n-gram already
                    counts[np.int64(table[at, PLACE]) - before - 1] += 1
                else:
                    terms[nnz], counts[nnz] = np.int64(table[at, TERM]) - 1, 1
                    nnz += 1
                    table[at, PLACE] = before + nnz
        indptr[doc + 1] = nnz
    return n_terms, indptr, terms[:nnz].copy(), counts[:nnz].copy()
