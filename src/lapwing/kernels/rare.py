"""Newton's method for a rare category: at the cost of the documents that its words touch, not of all of them.

    min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j (β_j-m_j)²/2 ],   l1_j > 0 for every word, m_j = 0 for most

The problem and the plan are those of kernels/newton.py. But a document that is neither positive nor holds a word of the
working set has the score β_d, whatever it is: all such documents together are one, with the sum of their weights. Only
those that are *touched* have a margin of their own. They have places e = 0 … t-1, the p positives first.
Sums over them are in kernels/rare_documents.py (`touched`), prices of words in kernels/rare_prices.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels import quadratic
from lapwing.kernels import rare_documents as touched
from lapwing.kernels._jit import inlined, kernel, part
from lapwing.kernels.loss import (
    assign,
    bend,
    conjugate,
    intercept_between,
    loss_theta,
    losses,
    majorant,
    penalty,
    penalty_at,
    penalty_conjugate,
    violation,
)
from lapwing.kernels.newton import (
    CAUTIOUS,
    COLD,
    FALLS,
    FEWEST,
    FEWEST_AFTER,
    FINE,
    LOOSE,
    POOR,
    RELAX,
    ROUGH,
    SHARE_AFTER,
)
from lapwing.kernels.nouns import PriorArrays
from lapwing.kernels.rare_prices import price
from lapwing.kernels.working_set import FINEST, STAYS, VIOLATES, taken

AMPLE = 300  # words in a working set beyond which to go by touched documents no longer pays where half of all are
ENOUGH = 0.5  # share of the tolerance within which the working set alone must be for residuals to be the dual point
GLANCES = 3  # prices that are not exact, before a certificate is tried
MANY = 8  # one word that violates for so many in the working set
SHORT = 1000  # documents that a word may touch without waiting


class RareResult(NamedTuple):
    """`Result` of kernels/nouns.py; and the working set with its weights, the constant first, and the dual point.

    documents, theta   those touched, and their residuals; all others have the residual `elsewhere`
    """

    objective: float
    gap: float
    kkt: float
    kkt_bound: float
    rounds: int
    converged: bool
    features: np.ndarray
    weights: np.ndarray
    documents: np.ndarray
    theta: np.ndarray
    elsewhere: float


class Standing(NamedTuple):
    """Where a fit stands after some Newton rounds.

    margin, theta, predicted   of every document that is not touched: its residual, and what the last model said of it
    fell, share                how far the objective fell in the last round, and the share of its step that was taken
    precision, cautious        of the next quadratic model's solution; and whether that model lies above the loss
    precise, stalled           whether the last was solved as precisely as any will be, and no step led down
    """

    margin: float
    theta: float
    predicted: float
    loss: float
    objective: float
    fell: float
    share: float
    precision: float
    cautious: bool
    precise: bool
    stalled: bool
    rounds: int


@part
def _local(prior, features, m, strength):
    """The prior of the working set, its penalties so many times as large."""
    l1, l2 = taken(prior.l1, features, m), taken(prior.l2, features, m)
    for a in range(m):
        l1[a], l2[a] = strength * l1[a], strength * l2[a]
    mode, lower = taken(prior.mode, features, m), taken(prior.lower, features, m)
    return PriorArrays(mode, l1, l2, lower, taken(prior.upper, features, m))


@part
def _round(ground, desk, prior, m):
    """Weights of 24 bits for every feature (those that are alike share one): a model file has them in half the room."""
    for a in range(1, m):
        j = desk.features[a]
        if desk.beta[j] != prior.mode[j]:
            desk.beta[j] = np.float64(np.float32(desk.beta[j] / ground.alike[j])) * ground.alike[j]
    return taken(desk.beta, desk.features, m)


@part
def _prune(desk, m, held, prior, strength):
    """Let go of words without a weight that are far from having one, but for the first; returns how many stay."""
    kept = held
    for a in range(held, m):
        j = desk.features[a]
        if desk.beta[j] != 0.0 or abs(desk.gradient[j]) > STAYS * strength * prior.l1[j]:
            desk.features[kept] = j
            kept += 1
        else:
            desk.inside[j] = 0
    return kept


@part
def _above(indptr, desk, violators, cut, short):
    """How many violate by more than the cut, in no more than `short` documents."""
    above = 0
    for k in range(violators):
        j = desk.violators[k]
        above += desk.excess[k] > cut and indptr[j + 1] - indptr[j] <= short
    return above


@part
def _grow(columns, desk, m, violators, t, most):
    """Add the words that violate most, about `most` of them; returns how many are in.

    One in more documents than are touched yet would double the work: it waits while others are left to add.
    """
    indptr = columns.indptr
    short = max(t, SHORT)
    top = longer = 0.0
    for k in range(violators):
        j = desk.violators[k]
        if indptr[j + 1] - indptr[j] > short:
            longer = max(longer, desk.excess[k])
        else:
            top = max(top, desk.excess[k])
    if top <= VIOLATES:
        top, short = longer, np.int64(1) << 62
    cut = VIOLATES
    above = _above(indptr, desk, violators, cut, short)
    while above > most:  # raise the cut until few enough are above it
        higher = max(2.0 * cut, top / FINEST)
        above = _above(indptr, desk, violators, higher, short)
        if above == 0:
            break
        cut = higher
    for k in range(violators):
        j = desk.violators[k]
        if desk.excess[k] > cut and indptr[j + 1] - indptr[j] <= short:
            desk.features[m], desk.inside[j] = j, 1
            m += 1
    return m


@part
def _dual(desk, prior, link, m, violators, theta, elsewhere, t, rest, loss, margin):
    """(the dual objective at θ, scaled until it is feasible, and the scale)

    `loss` is that at θ where these are the residuals themselves, at which loss*(-θ) = -θ r - loss(r), else NaN.
    """
    scale, own = 1.0, not np.isnan(loss)
    for k in range(m + violators):
        j = desk.features[k] if k < m else desk.violators[k - m]
        z = abs(desk.gradient[j])
        if prior.l2[j] == 0.0 and z * scale > prior.l1[j]:
            scale = prior.l1[j] / z
    if own and scale == 1.0:
        dual = loss + rest * elsewhere * margin
        for e in range(t):
            dual += desk.weight[e] * theta[e] * desk.margin[e]
    else:
        dual = -rest * conjugate(scale * elsewhere, link)
        for e in range(t):
            if desk.weight[e] > 0.0:
                dual -= desk.weight[e] * conjugate(scale * theta[e], link)
    for k in range(m + violators):
        j = desk.features[k] if k < m else desk.violators[k - m]
        dual -= penalty_conjugate(prior, j, -scale * desk.gradient[j])
    return dual, scale


@part
def _violations(desk, prior, m, violators):
    """(kkt, kkt_bound) of stats/objective.py: words that are ruled out violate nothing."""
    kkt = kkt_bound = 0.0
    for k in range(m + violators):
        j = desk.features[k] if k < m else desk.violators[k - m]
        v = violation(prior, j, desk.beta[j], desk.gradient[j])
        kkt = max(kkt, v)
        kkt_bound += v * max(abs(desk.beta[j] - prior.mode[j]), 1.0)
    return kkt, kkt_bound


@inlined
def _strength(desk, violators):
    """How many times the prior is taken as strong at first."""
    strength = 1.0
    for k in range(violators):
        strength = max(strength, COLD * (1.0 + desk.excess[k]))
    return strength


@inlined
def _promise(G, old, b, local, move):
    """First-order change of the objective along the step `move` from `old` to b, negative."""
    total = 0.0
    for a in range(b.size):
        move[a] = b[a] - old[a]
        total += G[a] * move[a] + penalty_at(local, a, b[a]) - penalty_at(local, a, old[a])
    return total


@inlined
def _predicted_elsewhere(margin0, theta0, step, link):
    """The residual that the quadratic model predicts where only the constant counts."""
    predicted = max(theta0 + bend(margin0, theta0, link) * step, 0.0)
    return min(predicted, 1.0) if link == 0 else predicted


@inlined
def _accept(desk, t, old, b, move, share):
    """Go `share` of the step."""
    for a in range(b.size):
        desk.beta[desk.features[a]] = b[a] if share == 1.0 else old[a] + share * move[a]
    for e in range(t):
        desk.margin[e] = desk.there[e]


@part
def _begin(X, ground, desk, prior, category, words, values):
    """Touch the positives and the documents of the words to start from; returns (m, t, the margin elsewhere)."""
    positives, modes, up, down, link = category
    d = desk.beta.size - 1
    desk.mode[d] = prior.mode[d]
    for k in range(modes.size):
        desk.mode[words[k]] = modes[k]
    positive = 0.0
    for e in range(positives.size):
        weight = up * ground.weight[positives[e]]
        positive += weight
        touched.place(desk, positives[e], e, weight, 0.0, 0.0, 0.0)
    desk.features[0], desk.inside[d] = d, 1
    desk.beta[d] = values[0]
    if np.isnan(values[0]):
        negative = touched.rest(ground, desk, positives.size, down, positives.size)
        desk.beta[d] = intercept_between(positive, negative, link, prior, prior.mode[d])
    m, t = np.int64(1), np.int64(positives.size)
    for k in range(words.size):
        j = words[k]
        desk.features[m], desk.inside[j], desk.beta[j] = j, 1, values[k + 1]
        t = touched.touch(X.columns, ground, desk, down, j, t, 0.0, 0.0, 0.0)
        m += 1
    return m, t, -desk.beta[d]


@part
def _end(desk, m, t):
    """Leave the desk as it was."""
    for e in range(t):
        desk.place[desk.document[e]] = -1
    for a in range(m):
        desk.inside[desk.features[a]] = 0
        desk.mode[desk.features[a]] = 0.0
        desk.beta[desk.features[a]] = 0.0
    for k in range(desk.ends[0]):
        desk.begin[desk.seen[k]] = -1
    desk.ends[0] = 0


@part
def _room(H, m):
    return H if m <= H.shape[0] else np.empty((m + m // 2 + 32, m + m // 2 + 32))


@part
def _renew(columns, ground, desk, prior, category, strength, standing, best, m, t, violators):
    """Prune and grow the working set, touch the documents of words that are new; returns (m, t, whether it changed)."""
    kept = _prune(desk, m, 1 + category.modes.size, prior, strength) if violators > 0 else m
    most = max(FEWEST, kept) if standing.share >= POOR else max(FEWEST_AFTER, kept // SHARE_AFTER)
    grown = _grow(columns, desk, kept, violators, t, most)
    for a in range(kept, grown):
        j = desk.features[a]
        t = touched.touch(columns, ground, desk, category.down, j, t, standing.margin, standing.theta, best)
    return grown, t, kept < m or grown > kept


@part
def _first(entries, desk, category, t, rest, margin, G):
    """Where the fit stands at its start, all documents that are not touched at `margin`; G is the loss's gradient."""
    link, p = category.link, category.positives.size
    touched.margins(entries, p, taken(desk.beta, desk.features, G.size), desk.margin)
    loss, theta = loss_theta(margin, link)
    loss = losses(desk.margin[:t], desk.weight[:t], link, desk.theta[:t]) + rest * loss
    touched.gradient(entries, desk, p, desk.theta, rest * theta, G)
    return Standing(margin, theta, theta, loss, loss, 0.0, 1.0, ROUGH, False, False, False, 0)


@part
def _rounded(entries, ground, desk, prior, local, category, t, rest, margin):
    """Weights are rounded, and documents with them; returns (loss, objective)."""
    weights = _round(ground, desk, prior, local.mode.size)
    touched.margins(entries, category.positives.size, weights, desk.margin)
    loss = losses(desk.margin[:t], desk.weight[:t], category.link, desk.theta[:t])
    loss += rest * loss_theta(margin, category.link)[0]
    return loss, loss + penalty(local, weights)


@part
def _newton(entries, desk, local, category, t, rest, standing, loss, strength, tol, max_rounds, G, slope, H, A):
    """Newton rounds on the working set, from this loss on, until what they still promise is small.

    G, slope   overwritten: the loss's gradient before the last step, and what its model says of it afterwards
    """
    margin0, theta0, _, _, _, _, share, precision, cautious, _, _, rounds = standing
    link, p, m = category.link, category.positives.size, G.size
    objective = loss + penalty(local, taken(desk.beta, desk.features, m))
    stalled, precise, fell, predicted0 = False, False, 0.0, theta0
    while rounds < max_rounds:
        rounds += 1
        bends = majorant(margin0, link) if cautious else bend(margin0, theta0, link)
        touched.curvatures(desk, t, cautious, link)
        touched.model(entries, desk, p, rest, theta0, max(bends, 1e-12), m, G, H)
        old = taken(desk.beta, desk.features, m)
        b = old.copy()
        assign(slope, G)
        quadratic.solve(H, slope, b, local, precision, A)
        move = np.empty(m)
        promise = _promise(G, old, b, local, move)
        touched.predict(entries, desk, p, move, link)
        predicted0 = _predicted_elsewhere(margin0, theta0, move[0], link)
        share, new_loss, new_penalty = touched.search(
            desk, t, rest, margin0, move[0], link, old, b, local, objective, promise
        )
        if share == 0.0:
            losses(desk.margin[:t], desk.weight[:t], link, desk.theta[:t])
            stalled, cautious = cautious, True
            if stalled:
                break
            continue
        _accept(desk, t, old, b, move, share)
        margin0 -= share * move[0]
        theta0 = loss_theta(margin0, link)[1]
        loss, fell, objective = new_loss, objective - (new_loss + new_penalty), new_loss + new_penalty
        cautious, precise = share < CAUTIOUS, precision <= tol
        fall = fell / max(objective, 1e-300)
        if strength == 1.0:
            precision = ROUGH if (share < 1.0 and fall > tol) or fall > FALLS else FINE * tol
        if (share == 1.0 or fall <= tol) and fall <= (LOOSE if strength > 1.0 else np.sqrt(tol)):
            break
    return Standing(
        margin0, theta0, predicted0, loss, objective, fell, share, precision, cautious, precise, stalled, rounds
    )


@kernel
def fit(X, ground, desk, prior, category, words, values, tol, max_rounds, most):
    """Minimise the objective of the heading.

    prior           its modes but that of the constant are 0: a category has its own
    words, values   to start from, the value of the constant first, NaN where there is none yet
    most            words in a working set, beyond which the fit is given up; sooner where most documents are touched

    Longer than a screen for the reason that kernels/newton.py's is.
    """
    p, link = category.positives.size, category.link
    m, t, margin0 = _begin(X, ground, desk, prior, category, words, values)
    prior = PriorArrays(desk.mode, prior.l1, prior.l2, prior.lower, prior.upper)
    rest, entries = touched.rest(ground, desk, p, category.down, t), touched.lists(X.columns, desk, m, t)
    G = np.empty(m)
    standing = _first(entries, desk, category, t, rest, margin0, G)
    theta0, loss = standing.theta, standing.loss
    violators = price(X, ground, desk, prior, 1.0, category, desk.theta, theta0, t, False)
    strength = _strength(desk, violators)
    if strength > 1.0:
        violators = price(X, ground, desk, prior, strength, category, desk.theta, theta0, t, False)

    best_dual, best0, gap = -np.inf, theta0, np.inf
    H, A = np.empty((0, 0)), np.empty((0, 0))
    converged, itself, glances = False, False, GLANCES
    while standing.rounds < max_rounds:
        itself = False
        m, t, changed = _renew(X.columns, ground, desk, prior, category, strength, standing, best0, m, t, violators)
        if m > most or (m > AMPLE and 2 * t > ground.weight.size):
            break
        if changed:
            rest, entries = touched.rest(ground, desk, p, category.down, t), touched.lists(X.columns, desk, m, t)
        H, A, G, slope = _room(H, m), _room(A, m), np.empty(m), np.empty(m)
        local = _local(prior, desk.features, m, strength)
        standing = _newton(
            entries, desk, local, category, t, rest, standing, loss, strength, tol, max_rounds, G, slope, H, A
        )
        margin0, theta0, elsewhere, loss, objective, fell, _, _, _, precise, stalled, _ = standing

        # Price every word at the dual point: the residuals themselves where they will do, else those predicted.
        relaxed = strength > 1.0 and fell <= LOOSE * objective
        if relaxed:
            strength = max(1.0, RELAX * strength)
        exactly = not relaxed and strength == 1.0 and (precise or stalled)
        source = desk.predicted
        touched.keep(desk, slope)
        if exactly and glances > 0 and not stalled:  # many words that violate show without exact prices
            glances -= 1
            violators = price(X, ground, desk, prior, 1.0, category, source, elsewhere, t, False)
            if violators > m // MANY:
                continue
        if exactly:
            loss, objective = _rounded(entries, ground, desk, prior, local, category, t, rest, margin0)
            touched.gradient(entries, desk, p, desk.theta, rest * theta0, G)
            dual, _ = _dual(desk, prior, link, m, 0, desk.theta, theta0, t, rest, loss, margin0)
            itself = stalled or objective - dual <= ENOUGH * tol * objective
            if itself:
                source, elsewhere = desk.theta, theta0
            else:
                touched.gradient(entries, desk, p, source, rest * elsewhere, G)
        violators = price(X, ground, desk, prior, strength, category, source, elsewhere, t, exactly)
        if not exactly:
            continue

        # Certify.
        known = loss if itself else np.nan
        dual, scale = _dual(desk, prior, link, m, violators, source, elsewhere, t, rest, known, margin0)
        if dual > best_dual:
            best_dual, best0 = dual, scale * elsewhere
            for e in range(t):
                desk.best[e] = scale * source[e]
        gap = max(objective - best_dual, 0.0)
        converged = gap <= tol * objective
        if converged or (stalled and violators == 0):
            break

    # What the coefficients show by themselves.
    if not itself:
        touched.gradient(entries, desk, p, desk.theta, rest * theta0, G)
        violators = price(X, ground, desk, prior, 1.0, category, desk.theta, theta0, t, True)
    kkt, kkt_bound = _violations(desk, prior, m, violators)
    weights = taken(desk.beta, desk.features, m)
    objective = loss + penalty(_local(prior, desk.features, m, 1.0), weights)
    support = desk.features[:m].copy()
    documents, theta = desk.document[:t].copy(), desk.best[:t].copy()
    _end(desk, m, t)
    return RareResult(
        objective, gap, kkt, kkt_bound, standing.rounds, converged, support, weights, documents, theta, best0
    )
