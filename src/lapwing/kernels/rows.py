"""Counts of terms by document, put in order and weighed, document by document.

In come numbered tokens or terms as they were read, and the place of each number among the sorted terms; out come the
rows of a CSR matrix, columns rising.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part

_COUNT = (1 << 32) - 1


@part
def _sort(given, n, begin, out):
    """Sort n numbers, of which the upper halves decide: in about as many buckets as numbers, then by insertion.

    Where one bucket has many of them, the steps of Shell's sort come first. `begin` has 2n + 2 places.
    """
    low = high = given[0]
    for k in range(1, n):
        low, high = min(low, given[k]), max(high, given[k])
    shift = np.int64(32)
    while (high - low) >> shift >= 2 * n:
        shift += 1
    buckets = ((high - low) >> shift) + 1
    for bucket in range(buckets + 1):
        begin[bucket] = 0
    for k in range(n):
        begin[((given[k] - low) >> shift) + 1] += 1
    most = 0
    for bucket in range(buckets):
        most = max(most, begin[bucket + 1])
        begin[bucket + 1] += begin[bucket]
    for k in range(n):
        bucket = (given[k] - low) >> shift
        out[begin[bucket]] = given[k]
        begin[bucket] += 1
    gap = 1
    while 3 * gap + 1 < most // 4:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            number, at = out[k], k
            while at >= gap and out[at - gap] > number:
                out[at] = out[at - gap]
                at -= gap
            out[at] = number
        gap //= 3


@kernel
def in_order(ends, terms, counts, rank, starts, indices, data):
    """Documents as counts of columns, in order: document i has terms[ends[i]:ends[i+1]], the columns rank[term].

    Negative ranks are left out, and those of one document that are the same added up. `indices` and `data` are filled
    from starts[i] on.

    Returns how many entries each has there.
    """
    n, most = ends.size - 1, np.int64(0)
    for doc in range(n):
        most = max(most, ends[doc + 1] - ends[doc])
    given, ordered = np.empty(most, np.int64), np.empty(most, np.int64)  # column << 32 | count
    begin = np.empty(2 * most + 2, np.int32)
    sizes = np.empty(n, np.int64)
    for doc in range(n):
        size, nnz = np.int64(0), starts[doc]
        for k in range(ends[doc], ends[doc + 1]):
            column = np.int64(rank[terms[k]])
            given[size] = column << 32 | counts[k]
            size += column >= 0
        if size > 0:
            _sort(given, size, begin, ordered)
        last = np.int64(-1)
        for k in range(size):
            column, count = ordered[k] >> 32, np.int32(ordered[k] & _COUNT)
            if column == last:
                data[nnz - 1] += count
            else:
                last = column
                indices[nnz], data[nnz] = column, count
                nnz += 1
        sizes[doc] = nnz - starts[doc]
    return sizes


@kernel
def close_up(starts, indptr, indices, data):
    """Move the entries of every row, which begin at starts[row], to where they begin without gaps: indptr[row]."""
    for row in range(indptr.size - 1):
        gap = starts[row] - indptr[row]
        if gap > 0:
            for k in range(indptr[row], indptr[row + 1]):
                indices[k], data[k] = indices[k + gap], data[k + gap]


@kernel
def frequencies(indices, width):
    """How often each of `width` columns occurs."""
    out = np.zeros(width, np.int32)
    for k in range(indices.size):
        out[indices[k]] += 1
    return out


@kernel
def weigh(indptr, indices, counts, tf, idf, cosine, weights):
    """text/weighting.py in one pass: tf[count] · idf[term], over the norm of the row; sums in the order of the terms.

    `weights` is filled from indptr[0] to indptr[-1].
    """
    for row in range(indptr.size - 1):
        norm = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            weight = tf[counts[k]] * idf[indices[k]]
            norm += weight * weight
            weights[k] = weight
        if cosine and norm > 0.0:
            norm = np.sqrt(norm)
            for k in range(indptr[row], indptr[row + 1]):
                weights[k] /= norm


@kernel
def keep(indptr, indices, column_of, columns, weights):
    """Rows without the terms of negative columns, one after the other from indptr[0] on: `columns` is filled.

    Returns how many entries each has.
    """
    sizes = np.empty(indptr.size - 1, np.int32)
    nnz = np.int64(indptr[0])
    for row in range(sizes.size):
        first = nnz
        for k in range(indptr[row], indptr[row + 1]):
            columns[nnz], weights[nnz] = column_of[indices[k]], weights[k]
            nnz += column_of[indices[k]] >= 0
        sizes[row] = nnz - first
    return sizes
