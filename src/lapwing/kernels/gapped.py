"""All n-grams with gaps as a tree: tokens in their order, up to so many others between each and the next.

A node is an n-gram. Below it are those that go on from it, by a gap of 0 … `gap` tokens and then one; they are in some
of its documents, so that the bound of kernels/ngrams.py holds for the whole subtree, and its search goes through this
tree as through the other.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part
from lapwing.kernels.loss import assign


@part
def _room(array, size):
    """The array, or a longer one that begins with it."""
    if size <= array.size:
        return array
    longer = np.zeros(max(size, 2 * array.size), array.dtype)
    assign(longer[: array.size], array)
    return longer


@part
def _children(numbers, end, occurrences, begin, stop, gap, reach, width, counts, codes):
    """How often the tokens behind some occurrences follow, by code gap · width + token; the codes in order of sight.

    counts  (width · (gap+1),) zeros; left filled
    """
    count = 0
    for k in range(begin, stop):
        at = occurrences[k]
        for g in range(gap + 1):
            q = at + 1 + g
            if q >= end[at] or g > reach or numbers[q] < 0:
                break
            code = g * width + numbers[q]
            if counts[code] == 0:
                codes[count] = code
                count += 1
            counts[code] += 1
    return count


@kernel
def tree(numbers, document, end, key, width, least, longest, gap):
    """Nodes in `least` documents or more and of at most `longest` tokens, gaps included.

    numbers   (N,) tokens, -1 where none may be part of an n-gram
    document  (N,) where each stands; end (N,) where its document, or what is before the next -1, ends
    key       (n,) uint64 a random number per document: a set of documents is known by the sum of theirs

    Returns (left, right, doc_at, parent, code, length, depth, keys), nodes before their subtrees, the first being the
    root: a node's documents are doc_at[left:right], ascending; its last token and the gap before that are in `code`.
    """
    N = numbers.size
    left, right, parent = np.zeros(1024, np.int64), np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    code_of, length, depth = np.zeros(1024, np.int64), np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    keys = np.zeros(1024, np.uint64)
    doc_at = np.empty(1024, np.int32)
    occurrences = np.empty(max(1024, 2 * N), np.int64)
    counts, codes = np.zeros(width * (gap + 1), np.int64), np.empty(width * (gap + 1), np.int64)
    place = np.zeros(width * (gap + 1), np.int64)
    # What is still to be visited: the last first. Where its occurrences are, and where all that wait with it end.
    s_begin, s_stop, s_end = np.zeros(1024, np.int64), np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    s_parent, s_code = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    nodes, docs, waiting = 1, 0, 0

    # Single tokens, below the root.
    for i in range(N):
        if numbers[i] >= 0:
            counts[numbers[i]] += 1
    top = 0
    for t in range(width):
        place[t] = top
        top += counts[t]
    for i in range(N):
        if numbers[i] >= 0:
            occurrences[place[numbers[i]]] = i
            place[numbers[i]] += 1
    for t in range(width - 1, -1, -1):
        if counts[t] > 0:
            s_begin, s_stop, s_end = _room(s_begin, waiting + 1), _room(s_stop, waiting + 1), _room(s_end, waiting + 1)
            s_parent, s_code = _room(s_parent, waiting + 1), _room(s_code, waiting + 1)
            s_begin[waiting], s_stop[waiting], s_end[waiting] = place[t] - counts[t], place[t], top
            s_parent[waiting], s_code[waiting] = 0, t
            waiting += 1
        counts[t] = 0

    while waiting > 0:
        waiting -= 1
        begin, stop, last, above, code = (
            s_begin[waiting],
            s_stop[waiting],
            s_end[waiting],
            s_parent[waiting],
            s_code[waiting],
        )
        # Its documents, once each: occurrences rise.
        doc_at = _room(doc_at, docs + stop - begin)
        first, sum_ = docs, np.uint64(0)
        for k in range(begin, stop):
            i = document[occurrences[k]]
            if docs == first or doc_at[docs - 1] != i:
                doc_at[docs] = i
                sum_ += key[i]
                docs += 1
        if docs - first < least:
            docs = first
            continue
        v = nodes
        nodes += 1
        left, right, parent = _room(left, nodes), _room(right, nodes), _room(parent, nodes)
        code_of, length, depth = _room(code_of, nodes), _room(length, nodes), _room(depth, nodes)
        keys = _room(keys, nodes)
        left[v], right[v], parent[v], code_of[v], keys[v] = first, docs, above, code, sum_
        length[v], depth[v] = length[above] + 1 + code // width, depth[above] + 1
        reach = longest - length[v] - 1  # the longest gap that still leaves room for a token
        if reach < 0:
            continue
        # What goes on from it, after all that waits.
        n_children = _children(numbers, end, occurrences, begin, stop, gap, reach, width, counts, codes)
        top = last
        for c in range(n_children):
            place[codes[c]] = top
            top += counts[codes[c]]
        occurrences = _room(occurrences, top)
        for k in range(begin, stop):
            at = occurrences[k]
            for g in range(gap + 1):
                q = at + 1 + g
                if q >= end[at] or g > reach or numbers[q] < 0:
                    break
                follows = g * width + numbers[q]
                occurrences[place[follows]] = q
                place[follows] += 1
        for c in range(n_children - 1, -1, -1):
            follows = codes[c]
            if counts[follows] >= least:
                s_begin, s_stop = _room(s_begin, waiting + 1), _room(s_stop, waiting + 1)
                s_end, s_parent, s_code = (
                    _room(s_end, waiting + 1),
                    _room(s_parent, waiting + 1),
                    _room(s_code, waiting + 1),
                )
                s_begin[waiting], s_stop[waiting] = place[follows] - counts[follows], place[follows]
                s_end[waiting], s_parent[waiting], s_code[waiting] = top, v, follows
                waiting += 1
            counts[follows] = 0
    return (
        left[:nodes].copy(), right[:nodes].copy(), doc_at[:docs].copy(), parent[:nodes].copy(), code_of[:nodes].copy(),
        length[:nodes].copy(), depth[:nodes].copy(), keys[:nodes].copy(),
    )  # fmt: skip


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
