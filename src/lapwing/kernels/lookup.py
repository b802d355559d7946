"""Numbered tokens to the vectors of a model, document by document, without sorting anything.

Every term has a rank, its place in the order of all terms. A document sets the bits of its ranks, and they are read off
in order: bits are found through groups, a bit for every 64 of them.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels._words import zeros

_ONE, _SIX, _TWELVE = np.uint64(1), np.uint64(6), np.uint64(12)
_LAST = np.uint64(63)


@kernel
def weigh(ends, tokens, rank_of, idf, column_of, tf, cosine, counts, bits, groups, columns, weights):
    """tf[count] · idf[rank] over the norm of the document, as text/weighting.py has it: sums in the order of the terms.

    ends, tokens   (n+1,), document i has tokens[ends[i]:ends[i+1]], one after the other
    rank_of        uint32, of every token; those that are no term have the last one, whose idf is 0
    idf, column_of, counts   of every rank; terms of negative columns count in the norm only
    counts, bits, groups     zeros, and left so: a bit of `bits` for each rank, of `groups` for each of `bits`
    columns, weights         are filled; there is room for all tokens

    Returns their indptr.
    """
    indptr = np.zeros(ends.size, np.int32)
    nnz = 0
    for doc in range(ends.size - 1):
        for k in range(ends[doc], ends[doc + 1]):
            rank = np.uint64(rank_of[np.uint32(tokens[k])])
            counts[rank] += 1
            bits[rank >> _SIX] |= _ONE << (rank & _LAST)
            groups[rank >> _TWELVE] |= _ONE << (rank >> _SIX & _LAST)
        norm = 0.0
        first = nnz
        for g in range(groups.size):
            group = groups[g]
            groups[g] = 0
            while group != 0:
                at = np.uint64(g) << _SIX | zeros(group)
                group &= group - _ONE
                word = bits[at]
                bits[at] = 0
                while word != 0:
                    rank = at << _SIX | zeros(word)
                    word &= word - _ONE
                    weight = tf[np.uint32(counts[rank])] * idf[rank]
                    counts[rank] = 0
                    norm += weight * weight
                    columns[nnz], weights[nnz] = column_of[rank], weight
                    nnz += column_of[rank] >= 0
        if cosine and norm > 0.0:
            norm = np.sqrt(norm)
            for k in range(first, nnz):
                weights[k] /= norm
        indptr[doc + 1] = nnz
    return indptr
