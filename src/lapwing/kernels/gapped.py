"""All n-grams with gaps as a tree: tokens in their order, up to so many others between each and the next.

A node is an n-gram. Below it are those that go on from it, by a gap of 0 … `gap` tokens and then one; they are in some
of its documents, so that the bound of kernels/ngrams.py holds for the whole subtree, and its search goes through this
tree as through the other.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part

LEFT, RIGHT, PARENT, CODE, LENGTH, DEPTH = range(6)  # what is known of a node
BEGIN, STOP, END, ABOVE, LAST = range(5)  # of one that waits: its occurrences, where those of all that wait end, codes


@part
def _room(array, size):
    """The array, or a longer one that begins with it."""
    if size <= len(array):
        return array
    longer = np.zeros((max(size, 2 * len(array)),) + array.shape[1:], array.dtype)  # noqa: RUF005
    longer[: len(array)] = array
    return longer


@part
def _wait(stack, waiting, begin, stop, end, above, code):
    """The stack with one node more on it."""
    stack = _room(stack, waiting + 1)
    one = stack[waiting]
    one[BEGIN], one[STOP], one[END], one[ABOVE], one[LAST] = begin, stop, end, above, code
    return stack


@part
def _places(codes, counts, top, place):
    """Where the occurrences of each code will begin, one code after another from `top`. Returns where they end."""
    for code in codes:
        place[code] = top
        top += counts[code]
    return top


@part
def _singles(numbers, width, counts, place, occurrences):
    """Occurrences of single tokens, token by token. Returns how many there are."""
    for token in numbers:
        if token >= 0:
            counts[token] += 1
    top = _places(np.arange(width), counts, 0, place)
    for i in range(numbers.size):
        if numbers[i] >= 0:
            occurrences[place[numbers[i]]] = i
            place[numbers[i]] += 1
    return top


@part
def _count(numbers, end, occurrences, gap, reach, width, counts, codes):
    """How often the tokens behind some occurrences follow, by code gap · width + token; the codes in order of sight.

    counts  (width · (gap+1),) zeros; left filled
    """
    count = 0
    for at in occurrences:
        for g in range(gap + 1):
            q = at + 1 + g
            if q >= end[at] or g > reach or numbers[q] < 0:
                break
            code = g * width + numbers[q]
            if counts[code] == 0:
                codes[count] = code
                count += 1
            counts[code] += 1
    return codes[:count]


@part
def _put(numbers, end, occurrences, begin, stop, gap, reach, width, place):
    """The occurrences of what goes on from those at begin : stop, each behind the others of its code."""
    for k in range(begin, stop):
        at = occurrences[k]
        for g in range(gap + 1):
            q = at + 1 + g
            if q >= end[at] or g > reach or numbers[q] < 0:
                break
            code = g * width + numbers[q]
            occurrences[place[code]] = q
            place[code] += 1


@part
def _documents(occurrences, document, key, out):
    """The documents of occurrences, once each, and their number and the sum of their keys: occurrences rise."""
    count, total = 0, np.uint64(0)
    for at in occurrences:
        i = document[at]
        if count == 0 or out[count - 1] != i:
            out[count] = i
            total += key[i]
            count += 1
    return count, total


@kernel
def tree(numbers, document, end, key, width, least, longest, gap):
    """Nodes in `least` documents or more and of at most `longest` tokens, gaps included.

    numbers   (N,) tokens, -1 where none may be part of an n-gram
    document  (N,) where each stands; end (N,) where its document, or what is before the next -1, ends
    key       (n,) uint64 a random number per document: a set of documents is known by the sum of theirs

    Returns (left, right, doc_at, parent, code, length, depth, keys), nodes before their subtrees, the first being the
    root: a node's documents are doc_at[left:right], ascending; its last token and the gap before that are in `code`.
    """
    node, keys, doc_at = np.zeros((1024, 6), np.int64), np.zeros(1024, np.uint64), np.empty(1024, np.int32)
    counts, codes = np.zeros(width * (gap + 1), np.int64), np.empty(width * (gap + 1), np.int64)
    place = np.zeros(width * (gap + 1), np.int64)
    stack = np.zeros((1024, 5), np.int64)  # what is still to be visited, the last first
    nodes, docs, waiting = 1, 0, 0

    # Single tokens, below the root.
    occurrences = np.empty(max(1024, 2 * numbers.size), np.int64)
    top = _singles(numbers, width, counts, place, occurrences)
    for token in range(width - 1, -1, -1):
        if counts[token] > 0:
            stack = _wait(stack, waiting, place[token] - counts[token], place[token], top, 0, token)
            waiting += 1
        counts[token] = 0

    while waiting > 0:
        waiting -= 1
        one = stack[waiting]
        begin, stop, top, above, code = one[BEGIN], one[STOP], one[END], one[ABOVE], one[LAST]
        doc_at = _room(doc_at, docs + stop - begin)
        size, total = _documents(occurrences[begin:stop], document, key, doc_at[docs:])
        if size < least:
            continue
        v = nodes
        nodes += 1
        node, keys = _room(node, nodes), _room(keys, nodes)
        one, keys[v] = node[v], total
        one[LEFT], one[RIGHT], one[PARENT], one[CODE] = docs, docs + size, above, code
        one[LENGTH], one[DEPTH] = node[above, LENGTH] + 1 + code // width, node[above, DEPTH] + 1
        docs += size
        reach = longest - one[LENGTH] - 1  # the longest gap that still leaves room for a token
        if reach < 0:
            continue
        # What goes on from it, after all that waits.
        children = _count(numbers, end, occurrences[begin:stop], gap, reach, width, counts, codes)
        top = _places(children, counts, top, place)
        occurrences = _room(occurrences, top)
        _put(numbers, end, occurrences, begin, stop, gap, reach, width, place)
        for code in children[::-1]:
            if counts[code] >= least:
                stack = _wait(stack, waiting, place[code] - counts[code], place[code], top, v, code)
                waiting += 1
            counts[code] = 0
    of = node[:nodes].T.copy()
    return of[LEFT], of[RIGHT], doc_at[:docs].copy(), of[PARENT], of[CODE], of[LENGTH], of[DEPTH], keys[:nodes].copy()


@kernel
def ends(depth):
    """Where the subtree of every node ends, nodes standing before theirs."""
    m = depth.size
    after = np.empty(m, np.int32)
    for v in range(m - 1, -1, -1):
        after[v] = v + 1
        while after[v] < m and depth[after[v]] > depth[v]:
            after[v] = after[after[v]]
    return after
