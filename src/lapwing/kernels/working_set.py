"""The working set: the features that a round of Newton's method goes over, and their part of the matrix.

features   (d+1,) the first m are in the set; the first of them is the constant feature
inside     (d+1,) 0 or 1 for every feature: an array of bool is one more kind of array to compile for
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels._jit import part
from lapwing.kernels.loss import violation
from lapwing.kernels.nouns import PriorArrays

STAYS = 0.9  # share of the penalty's slope which the gradient must have for a feature at its mode to stay
VIOLATES = 1e-9  # share of the penalty's slope by which it must be exceeded
FINEST = 64.0  # the violators to add are told apart by no less than the largest violation over this


@part
def begin(X, prior, beta):
    """(features, inside, m): the constant, coefficients away from their mode, and those that nothing holds there."""
    indptr, d = X.columns.indptr, beta.size - 1
    features, inside = np.empty(d + 1, np.int32), np.empty(d + 1, np.int32)
    m = np.int64(0)
    for j in range(d, -1, -1):
        inside[j] = j == d or beta[j] != prior.mode[j] or (prior.l1[j] == 0.0 and indptr[j + 1] > indptr[j])
        if inside[j]:
            features[m] = j
            m += 1
    return features, inside, m


@part
def prune(features, m, inside, prior, beta, gradient):
    """Let go of features at their mode that are far from moving, but not of the constant; returns how many stay."""
    kept = 1
    for a in range(1, m):
        j = features[a]
        if beta[j] != prior.mode[j] or prior.l1[j] == 0.0 or abs(gradient[j]) > STAYS * prior.l1[j]:
            features[kept] = j
            kept += 1
        else:
            inside[j] = 0
    return kept


@part
def grow(features, m, inside, prior, beta, gradient, most):
    """Add the features that violate their optimality condition most, about `most` of them; returns how many are in."""
    violators = np.empty(inside.size, np.int32)
    excess = np.empty(inside.size)
    count = 0
    top = 0.0
    for j in range(inside.size):
        if not inside[j]:
            v = violation(prior, j, beta[j], gradient[j])
            if v > VIOLATES * prior.l1[j]:
                violators[count], excess[count] = j, v / (prior.l1[j] + 1e-300)
                top = max(top, excess[count])
                count += 1
    cut = 0.0
    above = count
    while above > most:  # raise the cut until few enough are above it
        cut = max(2.0 * cut, top / FINEST)
        above = 0
        for k in range(count):
            above += excess[k] > cut
        if above == 0:
            cut *= 0.5
            break
    for k in range(count):
        if excess[k] > cut:
            features[m] = violators[k]
            inside[violators[k]] = 1
            m += 1
    return m


@part
def stronger(prior, strength):
    """The prior with its penalties so many times as large."""
    l1, l2 = np.empty(prior.l1.size), np.empty(prior.l2.size)
    for j in range(l1.size):
        l1[j], l2[j] = strength * prior.l1[j], strength * prior.l2[j]
    return PriorArrays(prior.mode, l1, l2, prior.lower, prior.upper)


@part
def taken(values, features, m):
    """Those of the working set. Indexing by an array would take longer to compile."""
    out = np.empty(m)
    for a in range(m):
        out[a] = values[features[a]]
    return out


@part
def local_prior(prior, features, m):
    """The prior of the working set."""
    return PriorArrays(
        taken(prior.mode, features, m),
        taken(prior.l1, features, m),
        taken(prior.l2, features, m),
        taken(prior.lower, features, m),
        taken(prior.upper, features, m),
    )


class Lists(NamedTuple):
    """The working set's entries by document; a document without any has no list.

    document  (l,) whose list it is
    pointer   (l+1,) list e is pointer[e] … pointer[e+1]
    column    the feature's place in the working set
    value     the entry
    """

    document: np.ndarray
    pointer: np.ndarray
    column: np.ndarray
    value: np.ndarray


@part
def lists(columns, features, m, n):
    """`Lists` of the first m of `features`, columns rising within a document; the constant, first, has no entries."""
    indptr, indices, data = columns
    count = np.empty(n, indptr.dtype)
    for i in range(n):
        count[i] = 0
    for a in range(1, m):
        j = features[a]
        for k in range(indptr[j], indptr[j + 1]):
            count[np.uint32(indices[k])] += 1
    filled = 0
    for i in range(n):
        filled += count[i] > 0
    document, pointer = np.empty(filled, np.int32), np.empty(filled + 1, indptr.dtype)
    pointer[0] = e = 0
    for i in range(n):
        if count[i] > 0:
            document[e], pointer[e + 1] = i, pointer[e] + count[i]
            count[i] = pointer[e]  # from here on the place of its next entry
            e += 1
    column = np.empty(pointer[filled], np.int32)
    value = np.empty(pointer[filled])
    for a in range(1, m):
        j = features[a]
        for k in range(indptr[j], indptr[j + 1]):
            place = np.uint64(count[np.uint32(indices[k])])
            column[place], value[place] = a, data[k]
            count[np.uint32(indices[k])] += 1
    return Lists(document, pointer, column, value)
