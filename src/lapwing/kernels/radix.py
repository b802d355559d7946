"""Sort numbers of 64 bits by their digits, the lowest first (LSD radix sort): a few passes, whatever they are."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel

_BITS = 11  # of a digit: that many places are written to in turn, and stay in the cache
_DIGITS = np.uint64((1 << _BITS) - 1)


@kernel
def in_order(given):
    """(numbers, order): uint64, the smallest first, and which they were; those that are the same as they came."""
    n = given.size
    varies = np.uint64(0)
    for k in range(n):
        varies |= given[k] ^ given[0]
    numbers, order = np.empty(n, np.uint64), np.empty(n, np.int32)
    for k in range(n):
        numbers[k], order[k] = given[k], k
    others, other_order = np.empty(n, np.uint64), np.empty(n, np.int32)
    begin = np.empty((1 << _BITS) + 1, np.int64)
    shift = np.uint64(0)
    while shift < np.uint64(64) and varies >> shift != 0:
        if varies >> shift & np.uint64(1) == 0:  # where all have the same bits there is nothing to do
            shift += np.uint64(1)
            continue
        for k in range(begin.size):
            begin[k] = 0
        for k in range(n):
            begin[np.int64(numbers[k] >> shift & _DIGITS) + 1] += 1
        for k in range(begin.size - 1):
            begin[k + 1] += begin[k]
        for k in range(n):
            digit = np.int64(numbers[k] >> shift & _DIGITS)
            others[begin[digit]], other_order[begin[digit]] = numbers[k], order[k]
            begin[digit] += 1
        numbers, others = others, numbers
        order, other_order = other_order, order
        shift += np.uint64(_BITS)
    return numbers, order
