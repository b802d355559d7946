"""Suffix arrays over integers, and the common prefixes of neighbouring suffixes: both in linear time.

Symbols: s text, n its length, suffix i is s[i:]; "S" a suffix smaller than the next one, "L" a larger one;
"LMS" an S suffix after an L suffix.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import assign


def suffix_array(s: np.ndarray, largest: int) -> np.ndarray:
    """The suffixes of s (int32, 0 ≤ s ≤ largest) in order, by SA-IS (Nong, Zhang, Chan 2009).

    Between LMS suffixes the order of all others follows from theirs; and theirs is that of a text at most
    half as long, whose letters stand for the stretches between them.
    """
    small, lows, highs, lms = _classify(s, largest)
    order = _induce(s, small, lows, highs, lms)
    if lms.size > 1:
        names, distinct = _name(s, order, lms)
        if distinct == lms.size:
            ranked = np.empty(lms.size, np.int32)
            ranked[names] = np.arange(lms.size, dtype=np.int32)
        else:
            ranked = suffix_array(names, distinct - 1)
        order = _induce(s, small, lows, highs, lms[ranked])
    return order


@kernel
def _classify(s, largest):
    """(whether each suffix is S, where L and S suffixes of each first letter begin, the LMS suffixes)."""
    n = s.size
    small = np.zeros(n, np.bool_)
    lows = np.zeros(largest + 2, np.int32)
    highs = np.zeros(largest + 2, np.int32)
    for i in range(n - 2, -1, -1):
        small[i] = small[i + 1] if s[i] == s[i + 1] else s[i] < s[i + 1]
    n_lms = 0
    for i in range(n):
        if small[i]:
            lows[s[i] + 1] += 1
        else:
            highs[s[i]] += 1
        n_lms += i > 0 and small[i] and not small[i - 1]
    for letter in range(largest + 1):
        highs[letter] += lows[letter]
        lows[letter + 1] += highs[letter]
    lms = np.empty(n_lms, np.int32)
    k = 0
    for i in range(1, n):
        if small[i] and not small[i - 1]:
            lms[k] = i
            k += 1
    return small, lows, highs, lms


@kernel
def _induce(s, small, lows, highs, lms):
    """All suffixes in order, given the LMS suffixes in order (of their stretches, where they are in none)."""
    n = s.size
    order = np.full(n, -1, np.int32)
    place = highs.copy()
    for k in range(lms.size):
        letter = s[lms[k]]
        order[place[letter]] = lms[k]
        place[letter] += 1
    assign(place, lows)
    order[place[s[n - 1]]] = n - 1
    place[s[n - 1]] += 1
    for k in range(n):
        i = order[k] - 1
        if i >= 0 and not small[i]:
            order[place[s[i]]] = i
            place[s[i]] += 1
    assign(place, lows)
    for k in range(n - 1, -1, -1):
        i = order[k] - 1
        if i >= 0 and small[i]:
            place[s[i] + 1] -= 1
            order[place[s[i] + 1]] = i
    return order


@kernel
def _name(s, order, lms):
    """The stretch from each LMS suffix to the next as a number, in their order; and how many there are."""
    n, m = s.size, lms.size
    number = np.full(n, -1, np.int32)
    for k in range(m):
        number[lms[k]] = k
    names = np.empty(m, np.int32)
    name = -1
    before = -1
    for k in range(n):
        here = number[order[k]]
        if here < 0:
            continue
        same = False
        if before >= 0:
            a, b = lms[before], lms[here]
            end_a = lms[before + 1] if before + 1 < m else n - 1
            end_b = lms[here + 1] if here + 1 < m else n - 1
            if end_a - a == end_b - b:
                size = end_a - a + 1
                same = before + 1 < m and here + 1 < m
                j = 0
                while same and j < size:
                    same = s[a + j] == s[b + j]
                    j += 1
        name += not same
        names[here] = name
        before = here
    return names, name + 1


@kernel
def common_prefixes(s, order):
    """out[k]: how many letters the suffixes order[k-1] and order[k] have in common (Kärkkäinen et al. 2009)."""
    n = s.size
    before = np.empty(n, np.int32)
    before[order[0]] = -1
    for k in range(1, n):
        before[order[k]] = order[k - 1]
    length = 0
    for i in range(n):  # before[i] is overwritten by the answer for suffix i
        j = before[i]
        if j < 0:
            length = 0
        else:
            while i + length < n and j + length < n and s[i + length] == s[j + length]:
                length += 1
        before[i] = length
        length = max(length - 1, 0)
    out = np.empty(n, np.int32)
    for k in range(n):
        out[k] = before[order[k]]
    return out
