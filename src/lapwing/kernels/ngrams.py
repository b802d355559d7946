"""The space of all n-grams of a corpus as a tree, and the search in it.

Occurrences of one n-gram are neighbours in the order of suffixes. Those of n-grams that always go on alike
are the same, so that a node of the tree stands for all of them: the interval [left, right) of suffixes, with
n-grams from `above` + 1 to `depth` tokens. A node's subtree is every n-gram that begins with its own.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, kernel, part
from lapwing.kernels.loss import assign

_LONGEST = np.iinfo(np.int32).max


@kernel
def _enlarged(array, size):
    larger = np.zeros(size, array.dtype)
    assign(larger[: array.size], array)
    return larger


@part
def _holder(lefts, top, k):
    """The deepest of the open intervals 0 … top, nested, that begins at or before k."""
    low, high = 0, top
    while low < high:
        middle = (low + high + 1) >> 1
        if lefts[middle] <= k:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def tree(common, doc_at, rest, key, least, longest):
    """Every node whose n-grams are in `least` ≥ 2 documents or more, and what single documents have alone.

    common   (N,) letters in common with the suffix before; common[0] = 0
    doc_at   (N,) int32 document of each suffix
    rest     (N,) int32 how many tokens the suffix has to the end of its document
    key      (n,) uint64 a random number per document: a set of documents is known by the sum of theirs
    longest  n-grams of more tokens are left out

    An interval's documents are counted once each: where two suffixes of one document follow each other
    (others between them), one is taken off again in the smallest interval that holds both (Hui 1992).

    Returns (left, right, after, docs, above, depth, keys): nodes, each before its subtree, which ends before
    `after`; the first is the root. And (alone, above, depth, number, deepest): per document the suffix
    whose n-grams from above + 1 tokens it has for itself, of the shortest such; how many such n-grams there
    are, their longest and its suffix. alone is -1 for a document that has none.
    """
    N, n = doc_at.size, key.size
    left, right = np.empty(N + 1, np.int32), np.empty(N + 1, np.int32)
    after, docs = np.empty(N + 1, np.int32), np.empty(N + 1, np.int32)
    above, depth = np.empty(N + 1, np.int32), np.empty(N + 1, np.int32)
    keys = np.empty(N + 1, np.uint64)
    own = np.full(n, -1, np.int32)
    own_above, own_depth = np.full(n, _LONGEST, np.int32), np.zeros(n, np.int32)
    own_number, own_deepest = np.zeros(n, np.int64), np.full(n, -1, np.int32)
    last = np.full(n, -1, np.int32)
    # The open intervals, with what has been gathered of each so far.
    room = 64
    o_left, o_depth = np.zeros(room, np.int32), np.zeros(room, np.int32)
    o_docs, o_size, o_keys = np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room, np.uint64)
    top = 0
    at = N + 1  # nodes are written from the end, so that each comes to stand before its subtree
    for k in range(N + 1):
        shared = common[k] if k < N else 0
        while o_depth[top] > shared:
            begin, deep, count, size, sum_ = o_left[top], o_depth[top], o_docs[top], o_size[top], o_keys[top]
            top -= 1
            start = max(o_depth[top], shared)
            end = min(deep if deep < _LONGEST else rest[begin], longest)
            if count == 1 and start < end:
                i = doc_at[begin]
                own_number[i] += end - start
                if start < own_above[i] or (start == own_above[i] and begin < own[i]):
                    own[i], own_above[i] = begin, start
                if end > own_depth[i] or (end == own_depth[i] and begin < own_deepest[i]):
                    own_deepest[i], own_depth[i] = begin, end
            if count >= least and start < end:
                at -= 1
                size += 1
                left[at], right[at], after[at], docs[at] = begin, k, at + size, count
                above[at], depth[at], keys[at] = start, end, sum_
            if o_depth[top] < shared:
                top += 1
                o_left[top], o_depth[top], o_docs[top], o_size[top], o_keys[top] = begin, shared, count, size, sum_
            else:
                o_docs[top] += count
                o_size[top] += size
                o_keys[top] += sum_
        if k == N:
            break
        i = doc_at[k]
        if last[i] >= 0:
            both = _holder(o_left, top, last[i])
            o_docs[both] -= 1
            o_keys[both] -= key[i]
        last[i] = k
        if top + 2 >= room:  # a suffix is open until the next, below an interval that may be new
            room *= 2
            o_left, o_depth = _enlarged(o_left, room), _enlarged(o_depth, room)
            o_docs, o_size, o_keys = _enlarged(o_docs, room), _enlarged(o_size, room), _enlarged(o_keys, room)
        top += 1
        o_left[top], o_depth[top], o_docs[top], o_size[top], o_keys[top] = k, _LONGEST, 1, 0, key[i]
    at -= 1
    left[at], right[at], after[at], docs[at] = 0, N, at + 1 + o_size[0], o_docs[0]
    above[at], depth[at], keys[at] = 0, 0, o_keys[0]
    for v in range(at, N + 1):
        after[v] -= at
    nodes = (left[at:], right[at:], after[at:], docs[at:], above[at:], depth[at:], keys[at:])
    return nodes, (own, own_above, own_depth, own_number, own_deepest)


@kernel
def condense(left, right, after, docs, above, depth, keys, own, own_above, own_depth, own_number, own_deepest):
    """Nodes that are in the same documents as one class, from what `tree` returns.

    A node in the same documents as the one above it adds nothing to a search, and is left out. Documents'
    own n-grams follow at the end, below the root.

    Returns (left, right, after, class): nodes as before, class -1 for the root; and for every class (node,
    docs, suffix, above, deepest, depth, number): of its shortest n-gram, first in order among equals, a node,
    a suffix that begins with it, and its number of tokens less 1; of its longest a suffix and the number of
    tokens; and how many n-grams it has. Documents as `keys` say.
    """
    m, n = left.size, own.size
    slots = 16
    while slots < 2 * m:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    c_node, c_docs = np.empty(m + n, np.int32), np.empty(m + n, np.int32)
    c_suffix, c_above = np.empty(m + n, np.int32), np.empty(m + n, np.int32)
    c_deepest, c_depth, c_number = np.empty(m + n, np.int32), np.empty(m + n, np.int32), np.empty(m + n, np.int64)
    first = np.empty(m, np.int32)  # a node of each class
    classes = np.full(m + n, -1, np.int32)
    place = np.empty(m + 1, np.int32)  # where a node goes; one that is left out: where the next one does
    ends, outer = np.empty(64, np.int32), np.empty(64, np.int32)  # the nodes around the present one
    ends[0], outer[0] = m, docs[0] + 1
    top = kept = count = 0
    for v in range(m):
        while ends[top] <= v:
            top -= 1
        place[v] = kept
        stays = docs[v] < outer[top]
        if v > 0:
            slot = np.int64((keys[v] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & (slots - 1)
            while table[slot] >= 0 and (keys[first[table[slot]]] != keys[v] or docs[first[table[slot]]] != docs[v]):
                slot = (slot + 1) & (slots - 1)
            c = table[slot]
            if c < 0:
                c = table[slot] = count
                first[c] = v
                c_above[c], c_depth[c], c_number[c], c_docs[c] = _LONGEST, 0, 0, docs[v]
                count += 1
            c_number[c] += depth[v] - above[v]
            if above[v] < c_above[c] or (above[v] == c_above[c] and left[v] < c_suffix[c]):
                c_node[c], c_suffix[c], c_above[c] = kept, left[v], above[v]
            if depth[v] > c_depth[c] or (depth[v] == c_depth[c] and left[v] < c_deepest[c]):
                c_deepest[c], c_depth[c] = left[v], depth[v]
            if stays:
                classes[kept] = c
        if stays:
            if top + 1 == ends.size:
                ends, outer = _enlarged(ends, 2 * top + 2), _enlarged(outer, 2 * top + 2)
            top += 1
            ends[top], outer[top] = after[v], docs[v] if v > 0 else docs[v] + 1
            kept += 1
    place[m] = kept
    n_left, n_right, n_after = np.empty(kept + n, np.int32), np.empty(kept + n, np.int32), np.empty(kept + n, np.int32)
    for v in range(m):
        if place[v + 1] > place[v]:
            n_left[place[v]], n_right[place[v]], n_after[place[v]] = left[v], right[v], place[after[v]]
    for i in range(n):
        if own[i] >= 0:
            n_left[kept], n_right[kept], n_after[kept] = own[i], own[i] + 1, kept + 1
            classes[kept] = count
            c_node[count], c_docs[count], c_suffix[count], c_above[count] = kept, 1, own[i], own_above[i]
            c_deepest[count], c_depth[count], c_number[count] = own_deepest[i], own_depth[i], own_number[i]
            kept += 1
            count += 1
    n_after[0] = kept
    nodes = (n_left[:kept].copy(), n_right[:kept].copy(), n_after[:kept].copy(), classes[:kept].copy())
    of_classes = (c_node, c_docs, c_suffix, c_above, c_deepest, c_depth)
    return nodes, of_classes, c_number[:count].copy(), count


@kernel
def shorten(left, right, docs, doc_at, n):
    """Lists in place of intervals for nodes that some of n documents has more than once.

    Each list has a node's documents once; `left` and `right` are made to point to it. Returns `doc_at` with
    all the lists behind it.
    """
    size = doc_at.size
    for v in range(left.size):
        if right[v] - left[v] > docs[v]:
            size += docs[v]
    longer = np.empty(size, np.int32)
    assign(longer[: doc_at.size], doc_at)
    seen = np.full(n, -1, np.int32)
    at = doc_at.size
    for v in range(left.size):
        if right[v] - left[v] > docs[v]:
            begin = at
            for k in range(left[v], right[v]):
                if seen[doc_at[k]] != v:
                    seen[doc_at[k]] = v
                    longer[at] = doc_at[k]
                    at += 1
            left[v], right[v] = begin, at
    return longer


def sums(docs, pull):
    """Σ of the positive and -Σ of the negative pulls of some documents.

    Their difference is the derivative of the log-likelihood; the larger of them bounds that of every n-gram
    that begins with this one, for it is in some of these documents (the theorem of IBW08).
    """
    up = down = 0.0
    for k in range(docs.size):
        p = pull[docs[k]]
        up += max(p, 0.0)  # no branches: signs come as they like
        down -= min(p, 0.0)
    return up, down


sums = kernel(sums, fastmath=REASSOCIATING)


@kernel
def search(left, right, after, doc_at, pull, floor, rising, slack):
    """The nodes v with |Σ_{i in v} pull_i| > floor, and these sums.

    pull     (n,) c_i y_i θ_i, so that the sum is minus the derivative of the loss
    rising   the floor follows the largest sum found, less the fraction `slack` of it: the steepest n-gram
             and those level with it. What was found below the final floor is returned too

    What lies below a node is looked at only if the bound of `sums` exceeds the floor.
    """
    m = left.size
    most = 0.0
    for i in range(pull.size):
        most = max(most, abs(pull[i]))
    waiting, bound = np.empty(m, np.int32), np.empty(m)
    steep, value = np.empty(64, np.int32), np.empty(64)
    count = 0
    head, tail = 0, 1
    waiting[0], bound[0] = 0, np.inf
    while head < tail:
        v, limit = waiting[head], bound[head]
        head += 1
        if limit <= floor:  # it has risen since
            continue
        child = v + 1
        while child < after[v]:
            if (right[child] - left[child]) * most <= floor:  # no sum over so few documents can exceed it
                child = after[child]
                continue
            up, down = sums(doc_at[left[child] : right[child]], pull)
            slope = up - down
            if abs(slope) > floor:
                if count == steep.size:
                    steep, value = _enlarged(steep, 2 * count), _enlarged(value, 2 * count)
                steep[count], value[count] = child, slope
                count += 1
                if rising:
                    floor = max(floor, (1.0 - slack) * abs(slope))
            if max(up, down) > floor and after[child] > child + 1:
                waiting[tail], bound[tail] = child, max(up, down)
                tail += 1
            child = after[child]
    return steep[:count], value[:count]


@kernel
def match(numbers, starts, width, begin, terms, states, fallback, feature, shorter):
    """Which n-grams every document has, by the automaton of text/matching.py: (indptr, indices), CSR, in no order.

    Document i is numbers[starts[i]:starts[i+1]]. From state s, terms[begin[s]:begin[s+1]], ascending, lead to
    the `states` beside them; any other term is tried from fallback[s].
    """
    n = starts.size - 1
    indptr = np.zeros(n + 1, np.int32)
    indices = np.empty(1024, np.int32)
    seen = np.full(width, -1, np.int64)
    count = 0
    for i in range(n):
        state = 0
        for k in range(starts[i], starts[i + 1]):
            while True:
                low, high = begin[state], begin[state + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if terms[middle] < numbers[k]:
                        low = middle + 1
                    else:
                        high = middle
                if low < begin[state + 1] and terms[low] == numbers[k]:
                    state = states[low]
                    break
                if state == 0:
                    break
                state = fallback[state]
            here = state if feature[state] >= 0 else shorter[state]
            while here > 0:
                if seen[feature[here]] != i:
                    seen[feature[here]] = i
                    if count == indices.size:
                        indices = _enlarged(indices, 2 * count)
                    indices[count] = feature[here]
                    count += 1
                here = shorter[here]
        indptr[i + 1] = count
    return indptr, indices[:count].copy()
