"""Prices of words in the problem of a rare category, by bounds as far as these will do.

Documents that are neither positive nor hold a word of the working set all have one residual θ₀. The others are
*touched*, and have places e = 0 … t-1, the p positives first. The price of word j is then

    z_j = Σ_i c_i θ_i y_i x_ij = -θ₀ Σ_i c_i x_ij + Σ_e q_e x_ej,   q_e = c_e (y_e θ_e + θ₀)

and its first sum is shared by all categories. Of most touched documents |q_e| is a few times c_e θ₀ at most; the others
are *hot*. By the hot ones alone z_j is known up to what the rest can come to, at most

    (HOT - 1) θ₀ Σ_i c_i |x_ij|   and   (Σ_e q_e²/c_e)^½ (Σ_i c_i x_ij²)^½   (Cauchy and Schwarz).

Words which that leaves within their penalty need no price: they neither violate their condition nor have a part in the
dual objective. All but a few are ruled out so, most of them unread, as words are asked in the order of what they can
come to at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels._jit import part

HOT = 6.0  # times the residual elsewhere from which a document is hot,
HOTTEST = 60.0  # where it need not be exact
LISTED = 2  # mark of a word that is looked at


class Ground(NamedTuple):
    """What all categories share, for one set of weights of the documents and one prior.

    weight  (n,) c
    total   Σ_i c_i
    sums    (d,) Σ_i c_i x_ij
    bulk    (d,) Σ_i c_i |x_ij|
    norm    (d,) √Σ_i c_i x_ij²
    order   (d,) words by falling bulk_j / l1_j
    alike   (d,) features that share a word's weight
    """

    weight: np.ndarray
    total: float
    sums: np.ndarray
    bulk: np.ndarray
    norm: np.ndarray
    order: np.ndarray
    alike: np.ndarray


class Desk(NamedTuple):
    """Room for one fit at a time, left as it was: nothing of the size of the data is made anew for each.

    place       (n,) of every document, -1 where it is not touched
    document    (n,) the touched ones, in their places; as are
    weight … best   weights, margins, residuals, those predicted, and those of the best dual point
    beta, mode, gradient  (d+1,) zeros; zeros; minus the price z, as far as it is known
    inside      (d+1,) 1 in the working set, LISTED on its way there, else 0
    features    (d+1,) the working set, the constant first
    hot         (d,) zeros: Σ_e q_e x_ej of the hot documents
    deviation   (n,) zeros: q of every document
    begin       (d,) where the places of a word's documents are in
    places      (entries of X,); -1 for those never in the working set
    seen        (d,) the words that were,
    ends        (d+2,) how many, and where their places end
    listed      (d,) words that a hot document holds
    violators   (d,) words outside the working set whose price exceeds the penalty,
    excess      (d,) by how much, relative to it
    """

    place: np.ndarray
    document: np.ndarray
    weight: np.ndarray
    margin: np.ndarray
    there: np.ndarray
    shift: np.ndarray
    theta: np.ndarray
    predicted: np.ndarray
    curvature: np.ndarray
    best: np.ndarray
    beta: np.ndarray
    mode: np.ndarray
    gradient: np.ndarray
    inside: np.ndarray
    features: np.ndarray
    hot: np.ndarray
    deviation: np.ndarray
    begin: np.ndarray
    places: np.ndarray
    seen: np.ndarray
    ends: np.ndarray
    listed: np.ndarray
    violators: np.ndarray
    excess: np.ndarray


class Category(NamedTuple):
    """positives   documents; `up` and `down` are factors of the weights of positives and of all others
    modes       of the first words to start from; they never leave the working set. All others have the mode 0
    """

    positives: np.ndarray
    modes: np.ndarray
    up: float
    down: float
    link: int


@part
def _deviations(ground, desk, p, down, theta, elsewhere, t):
    """q of every touched document, into `there`."""
    for e in range(t):
        desk.there[e] = desk.weight[e] * (elsewhere - theta[e])
    for e in range(p):
        desk.there[e] = desk.weight[e] * theta[e] + down * ground.weight[desk.document[e]] * elsewhere


@part
def _list_hot(rows, desk, p, theta, hot, elsewhere, t):
    """Sums over the hot documents of their words outside the working set, which are listed.

    Returns how many, and Σ_e q_e²/c_e of the other documents.
    """
    indptr, indices, data = rows
    count, mild = np.int64(0), 0.0
    for e in range(t):
        q = desk.there[e]
        if e >= p and theta[e] <= hot:
            mild += q * (elsewhere - theta[e])
            continue
        i = desk.document[e]
        for k in range(indptr[i], indptr[i + 1]):
            j = np.uint32(indices[k])
            if desk.inside[j] == 0:
                desk.inside[j] = LISTED
                desk.listed[count] = j
                count += 1
            if desk.inside[j] == LISTED:
                desk.hot[j] += q * data[k]
    return count, mild


@part
def _lay_out(desk, t):
    """q of every touched document, for words to be asked."""
    for e in range(t):
        desk.deviation[desk.document[e]] = desk.there[e]


@part
def _ask(columns, ground, desk, level, j):
    """The price of word j, from its documents."""
    indptr, indices, data = columns
    z = -level * ground.sums[j]
    for k in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
        z += desk.deviation[np.uint32(indices[k])] * data[k]
    return z


@part
def _clear(desk, t):
    for e in range(t):
        desk.deviation[desk.document[e]] = 0.0


@part
def _rule_out(ground, desk, prior, strength, level, spread, count):
    """Of the words listed, keep those whose price may exceed the penalty; returns how many."""
    kept = np.int64(0)
    for k in range(count):
        j = desk.listed[k]
        unknown = min((HOT - 1.0) * level * ground.bulk[j], spread * ground.norm[j])
        if abs(desk.hot[j] - level * ground.sums[j]) + unknown > strength * prior.l1[j]:
            desk.listed[kept] = j
            kept += 1
        else:
            desk.inside[j], desk.hot[j] = 0, 0.0
    return kept


@part
def price(X, ground, desk, prior, strength, category, theta, elsewhere, t, exactly):
    """All words outside the working set that violate their condition at a dual point; returns how many.

    Unless `exactly` documents that are not hot are passed over: that may be wrong by a few words.
    """
    p, level = category.positives.size, category.down * elsewhere
    _deviations(ground, desk, p, category.down, theta, elsewhere, t)
    hot = (HOT if exactly else HOTTEST) * elsewhere
    count, mild = _list_hot(X.rows, desk, p, theta, hot, elsewhere, t)
    for j in ground.order:
        if HOT * level * ground.bulk[j] <= strength * prior.l1[j]:
            break
        if desk.inside[j] == 0:
            desk.inside[j], desk.listed[count] = LISTED, j
            count += 1
    spread = np.sqrt(category.down * mild) if exactly else 0.0
    count = _rule_out(ground, desk, prior, strength, level, spread, count)
    if exactly:
        _lay_out(desk, t)
    violators = np.int64(0)
    for k in range(count):
        j = desk.listed[k]
        z = _ask(X.columns, ground, desk, level, j) if exactly else desk.hot[j] - level * ground.sums[j]
        desk.inside[j], desk.hot[j] = 0, 0.0
        if abs(z) > strength * prior.l1[j]:
            desk.gradient[j], desk.violators[violators] = -z, j
            desk.excess[violators] = abs(z) / (strength * prior.l1[j]) - 1.0
            violators += 1
    if exactly:
        _clear(desk, t)
    return violators
