"""Distinct tokens or n-grams in order: every thread sorts those that it met, and the lists are merged, two at a time.

Tokens are in the order of their code points, which in UTF-8 is that of their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

Placed = tuple[Sequence[np.ndarray], list[np.ndarray]]  # items in order; of one list or several, the places among them
Merge = Callable[..., tuple[np.ndarray, ...]]


def in_order(n: int, spelling: np.ndarray, ends: np.ndarray, *, distinct: bool = True) -> Placed:
    """The first n tokens of spelling[ends[t]:ends[t+1]]: their keys, which they are, and spelling and ends.

    Where they need not be distinct, those that are the same have one place.
    """
    from lapwing.kernels import radix
    from lapwing.kernels.tokens import LONG, keys

    first, second = keys(spelling, ends[: n + 1])
    key, order = radix.in_order(first)
    alike = np.concatenate(([False], key[1:] == key[:-1], [False]))
    among = np.flatnonzero(alike[1:] | alike[:-1])  # those that share their first eight bytes with others
    some = order[among]
    order[among] = some[np.lexsort((second[some], first[some]))]
    is_long = second[some] & LONG == LONG
    if is_long.any():  # what follows is a hash: their spelling decides, and that of all that begin as they do
        places = among[np.isin(key[among], np.unique(first[some[is_long]]))]
        content, tokens = spelling[: ends[n]].tobytes(), order[places]
        words = [content[start:end] for start, end in np.column_stack((ends[tokens], ends[tokens + 1])).tolist()]
        order[places] = tokens[sorted(range(len(words)), key=words.__getitem__)]
    place = np.empty(n, np.int32)
    if distinct:
        place[order] = np.arange(n, dtype=np.int32)
    else:
        new = ~_same(order, first, second, spelling, ends)
        place[order] = np.cumsum(new, dtype=np.int32) - 1
        order, key = order[new], key[new]
    return (key, second[order], order, spelling[: ends[n]], ends[: n + 1]), [place]


def merge_tokens(
    first: np.ndarray,
    second: np.ndarray,
    tokens: np.ndarray,
    spelling: np.ndarray,
    ends: np.ndarray,
    *other: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Two lists of tokens, as `in_order` has them, as one; and the places there of the tokens of both."""
    from lapwing.kernels.tokens import merge

    other_first, other_second, others, other_spelling, other_ends = other
    others = others + np.int32(len(ends) - 1)
    ends = np.concatenate((ends, other_ends[1:] + ends[-1]))
    spelling = np.concatenate((spelling, other_spelling))
    *keys, place, other_place = merge(first, second, tokens, other_first, other_second, others, spelling, ends)
    return *keys, spelling, ends, place, other_place


def _same(
    order: np.ndarray, first: np.ndarray, second: np.ndarray, spelling: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """Which of the tokens in order are the same as the one before."""
    from lapwing.kernels.tokens import LONG

    here, before = order[1:], order[:-1]
    same = np.zeros(len(order), np.bool_)
    same[1:] = (first[here] == first[before]) & (second[here] == second[before])
    for k in np.flatnonzero(same & (second[order] & LONG == LONG)).tolist():
        one, other = (spelling[ends[t] : ends[t + 1]].tobytes() for t in order[k - 1 : k + 1])
        same[k] = one == other
    return same


def without_empty(placed: Placed) -> Placed:
    """What is left empty stands first, and is no token: its place is -1."""
    (first, second, tokens, spelling, ends), places = placed
    if not len(tokens) or ends[tokens[0]] < ends[tokens[0] + 1]:
        return placed
    return (first[1:], second[1:], tokens[1:], spelling, ends), [place - np.int32(1) for place in places]


def spelled(tokens: np.ndarray, spelling: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The bytes of these tokens one after the other, a line feed, which no token has, after each."""
    from lapwing.kernels import tokens as kernels

    return kernels.spelled(tokens[:, None] + np.int32(1), np.empty(0, np.uint8), spelling, ends)


def names(written: np.ndarray) -> list[str]:
    """Of tokens that are spelled so, as strings."""
    return written.tobytes().decode().split("\n")[:-1]


def merged(lists: Sequence[Placed], merge: Merge, run: Callable[..., Iterable[Placed]]) -> Placed:
    """All of them as one, with the places of those in each.

    merge   two lists in order to one, and the places there of the items of both
    run     `map`, perhaps on several threads
    """

    def both(one: Placed, other: Placed) -> Placed:
        *items, place, other_place = merge(*one[0], *other[0])
        return items, [*(place[own] for own in one[1]), *(other_place[own] for own in other[1])]

    while len(lists) > 1:
        lists = [*(run if len(lists) > 3 else map)(both, lists[:-1:2], lists[1::2]), *lists[len(lists) // 2 * 2 :]]
    return lists[0]
