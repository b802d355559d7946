"""A table of terms by keys of two words of 64 bits: one entry is half a line of the processor's cache.

(slots, 4) uint64, slots a power of two, at most half of them in use: FIRST and SECOND, the key; TERM, the term's number
plus 1, 0 where there is none; PLACE, where it was last counted. An entry stands in its slot or in the next free one.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import part
from lapwing.kernels._words import zeros

FIRST, SECOND, TERM, PLACE = range(4)


@part
def slot(first, second, size):
    """Where the search for a key starts in a table of `size` slots. Keys may differ in their highest bits only.

    The highest bits of what is mixed decide: in a larger table keys are in the same order, and moved there one after
    the other.
    """
    mixed = (first ^ (second * np.uint64(0xD6E8FEB86659FD93))) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> (np.uint64(64) - zeros(np.uint64(size))))


@part
def moved(table, larger):
    """All entries of a table to a larger one, which is empty."""
    slots = larger.shape[0]
    for old in range(table.shape[0]):
        if table[old, TERM] != 0:
            at = slot(table[old, FIRST], table[old, SECOND], slots)
            while larger[at, TERM] != 0:
                at = (at + 1) & (slots - 1)
            for k in range(4):
                larger[at, k] = table[old, k]


@part
def table_with_room(table, n_terms, more):
    """The table, or a larger one with the same entries, at most half full with `more` terms than it has."""
    slots = table.shape[0]
    if 2 * (n_terms + more) <= slots:
        return table
    while 2 * (n_terms + more) > slots:
        slots *= 2
    larger = np.zeros((slots, 4), np.uint64)
    moved(table, larger)
    return larger
