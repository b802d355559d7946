"""Ridge for many categories at once: Newton's method, eight categories to a pass over X.

    min_β Σ_i c_i loss(r_i) + Σ_j l2_j (β_j-m_j)²/2      for each category its own y, c, m, l2

A pass computes Q = X P, W = A∘Q + B and out = Xᵀ W, all of LANES columns. A lane may be at one of three things:
STEP, P is the step it goes along, found before: Q tells how margins change, the step's length follows, and with
B = the residuals there `out` is the gradient; GRADIENT, the same without a step; DIRECTION, conjugate gradients for
the next step, A the curvatures and P the search direction: `out` is the Hessian times P. So every pass serves every
lane, whatever each is at; a lane whose category is done takes the next one. A lane's arithmetic does not depend on
the others: alone or in company, the answer is the same to the bit.

At first every document bends the loss, and directions may be rough. Later few do: all others are far from the
boundary. Then the direction is had from those few alone (`from_few`), without a pass. After every step the constant
feature is brought to its optimum (`level`): a step leaves it too far off, and with a weak prior it alone would make
nearly all of the duality gap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, inlined, kernel, part
from lapwing.kernels._lanes import LANES
from lapwing.kernels.loss import assign, dot, has, in_turn, intercept_only
from lapwing.kernels.nouns import Documents, PriorArrays
from lapwing.kernels.ridge_few import across_last, from_few, proof, reaches, squares_of, sums_of, that_bend
from lapwing.kernels.ridge_passes import back, forth, join, lanes_of, split, split_by, those
from lapwing.kernels.ridge_search import arrive, curvatures, level, line_search, slant

FEW = 0.1  # the most of X's entries that the documents which bend may have to give a direction;
CLOSE = 2.0  # and below this gap any number of them
BENDS = 2.0  # a document counts among the few whose curvature weighs this much more than the prior
NEARER = 1.0  # relative gap below which such directions are made conjugate to the last step
SLOW = 12  # directions from few documents after which more of them are taken
EARLY = 1e3  # relative gap above which a direction may be rough
PATIENCE = 20  # rounds without a fall of the objective after which a fit is given up
RISE = 1e-9  # relative rise of the objective that rounding does not explain
FULL, CONJUGATE, NONE = range(3)  # directions a lane may take: any; of conjugate gradients only; or it ends at its best
# What a lane is at. A part is compiled for every plain number it is called with, and once for these.
IDLE, GRADIENT, STEP, BEGIN, DIRECTION, FOUND = (np.int64(k) for k in range(6))


@part
def _start(indptr, indices, data, offset, y, weight, link, mode, l2, beta, margin):
    """The margins at β; from a start at 0, the constant feature is first given its own optimum."""
    d = beta.size - 1
    if not has(beta[:d]):
        free = np.full(1, np.inf)
        beta[d] = intercept_only(
            Documents(y, weight, link), PriorArrays(mode[d:], np.zeros(1), l2[d:], -free, free), beta[d]
        )
        for i in range(y.size):
            margin[i] = y[i] * beta[d]
        return
    common = dot(offset, beta)
    for i in range(y.size):
        total = common
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * beta[indices[k]]
        margin[i] = y[i] * total


@part
def _again(indptr, indices, data, offset, y, weight, link, best, beta, margin, shift, theta, pull):
    """Go back to the best β there was. Returns the loss."""
    common = dot(offset, best)
    for i in range(y.size):
        total = common
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * best[indices[k]]
        margin[i], shift[i] = y[i] * total, 0.0
    assign(beta, best)
    return arrive(margin, shift, 0.0, y, 0.0, weight, link, theta, pull)


def _gap(gradient, beta, mode, l2):
    """The loss's gradient becomes that of the objective; returns the penalty and the duality gap."""
    penalty = gap = 0.0
    for j in range(beta.size):
        away = beta[j] - mode[j]
        gradient[j] += l2[j] * away
        penalty += 0.5 * l2[j] * away * away
        gap += gradient[j] * gradient[j] / (2.0 * l2[j])
    return penalty, gap


_gap = part(_gap, fastmath=REASSOCIATING)


@part
def _violation(gradient, beta, mode):
    """(kkt, kkt_bound): see `Certificate` in stats/objective.py."""
    worst = bound = 0.0
    for j in range(beta.size):
        worst = max(worst, abs(gradient[j]))
        bound += abs(gradient[j]) * max(abs(beta[j] - mode[j]), 1.0)
    return worst + 0.0 * bound, bound  # NaN where the bound is


class Search(NamedTuple):
    """Where a lane's conjugate gradients are: rᵀM⁻¹r, at what it ends, its last ratio, iterations still allowed."""

    rho: np.ndarray
    goal: np.ndarray
    ratio: np.ndarray
    left: np.ndarray


@inlined
def _descend(at, lanes, P, out, l2, step, residual, inverse, search):
    """A step of conjugate gradients, all lanes alike: α is 0 for those at something else. `out` is the Hessian × P."""
    product, fresh, alpha = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    for j in range(P.shape[0]):
        for lane in range(LANES):
            product[lane] += P[j, lane] * (out[j, lane] + l2[j, lane] * P[j, lane])
    for lane in range(LANES):
        alpha[lane] = search.rho[lane] / product[lane] if at[lane] == DIRECTION and product[lane] > 0.0 else 0.0
    for j in range(P.shape[0]):
        for lane in range(LANES):
            step[j, lane] += alpha[lane] * P[j, lane]
            residual[j, lane] -= alpha[lane] * (out[j, lane] + l2[j, lane] * P[j, lane])
            fresh[lane] += residual[j, lane] * residual[j, lane] * inverse[j, lane]
    for lane in those(at, DIRECTION, lanes):
        search.left[lane] -= 1
        if alpha[lane] > 0.0 and fresh[lane] > search.goal[lane] and search.left[lane] > 0:
            search.ratio[lane] = fresh[lane] / search.rho[lane]
            search.rho[lane] = fresh[lane]
        else:
            at[lane] = FOUND


@inlined
def _begin(beginning, l2, diagonal, gradient, step, residual, inverse, search):
    """Conjugate gradients begin, from a step of 0; the goal was relative."""
    for j in range(step.shape[0]):
        for lane in beginning:
            curved = l2[j, lane] + diagonal[lane, j]
            inverse[j, lane] = 1.0 / curved if curved > 0.0 else 1.0
            residual[j, lane] = -gradient[lane, j]
            step[j, lane] = 0.0
            search.rho[lane] += gradient[lane, j] * gradient[lane, j] * inverse[j, lane]
    for lane in beginning:
        search.goal[lane] *= search.rho[lane]


@inlined
def _turn(at, P, residual, inverse, search):
    """P = M⁻¹ residual + ratio P, for those looking for a direction."""
    alpha, ratio = np.zeros(LANES), np.ones(LANES)
    for lane in range(LANES):
        if at[lane] == DIRECTION:
            alpha[lane], ratio[lane] = 1.0, search.ratio[lane]
    for j in range(P.shape[0]):
        for lane in range(LANES):
            P[j, lane] = alpha[lane] * (residual[j, lane] * inverse[j, lane]) + ratio[lane] * P[j, lane]


@kernel
def fit(rows, offset, Y, weights, weighs, link, modes, l2s, which, betas, turns, tol, max_rounds):
    """Fit K categories.

    rows                X by rows, the constant feature with its entries: it goes through the same vector instructions
    offset              (d+1,) added to every entry of a column
    Y                   (K, n) labels ±1
    weights, weighs     (·, n) document weights c, and (K,) which of them a category has
    modes, l2s, which   (·, d+1) the priors, and (K,) which of them a category has
    betas               (K, d+1) starts; overwritten by the solutions
    turns               (K,) the order in which categories take lanes

    Returns (objective, gap, kkt, kkt_bound, rounds, converged, dual points), a row or entry per category. With
    θ = -loss'(r) the duality gap is Σ_j g_j²/(2 l2_j), NaN where some l2 is 0; towards the end see `proof`.
    """
    indptr, indices, data = rows
    K, n = Y.shape
    size = betas.shape[1]
    objective, gap, kkt, kkt_bound = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    rounds, converged = np.zeros(K, np.int64), np.zeros(K, np.bool_)
    thetas = np.empty((K, n))
    centred = has(offset)

    # What a pass reads and writes: the lanes of a document or feature together.
    A, B, Q, W = lanes_of(n), lanes_of(n), lanes_of(n), lanes_of(n)  # A is 0 but for lanes at DIRECTION
    P, out, step, l2 = lanes_of(size), lanes_of(size), lanes_of(size), lanes_of(size)
    residual, inverse = lanes_of(size), lanes_of(size)
    # What a lane does alone: a row each.
    margin, shift = np.empty((LANES, n)), np.empty((LANES, n))
    pull, curvature = np.empty((LANES, n)), np.empty((LANES, n))
    steps, gradient, diagonal = np.empty((LANES, size)), np.empty((LANES, size)), np.empty((LANES, size))
    alike = len(weights) <= LANES  # then lanes share the sums that go with their weights
    sums, squares, summed = np.empty((LANES, size)), np.empty((LANES, size)), np.full(LANES, -1)
    reach, flat = np.empty((len(l2s), n)), np.empty(len(l2s), np.bool_)
    for k in range(len(l2s)):
        reaches(indptr, indices, data, l2s[k], reach[k])
        flat[k] = False
        for j in range(size):
            flat[k] = flat[k] or l2s[k, j] == 0.0
    loss, stuck = np.zeros(LANES), np.zeros(LANES, np.int64)
    cut, refined = np.empty(LANES), np.empty(LANES, np.int64)  # what counts as bending, and how often it was used
    best, lowest, trust = np.empty((LANES, size)), np.empty(LANES), np.empty(LANES, np.int64)
    work, newton, before = np.empty((5, size)), np.empty(size), np.empty((LANES, size))
    zeros, room, documents = np.zeros(size), np.empty(n), np.empty(n, np.int64)

    at, category, lanes = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.empty(LANES, np.int64)
    search = Search(np.zeros(LANES), np.zeros(LANES), np.zeros(LANES), np.zeros(LANES, np.int64))
    waiting = 0
    while True:
        # A free lane takes the next category.
        for lane in range(LANES):
            if at[lane] == IDLE and waiting < K:
                c = category[lane] = turns[waiting]
                waiting += 1
                w = weighs[c]
                _start(
                    indptr, indices, data, offset, Y[c], weights[w], link, modes[which[c]], l2s[which[c]], betas[c],
                    margin[lane],
                )  # fmt: skip
                for i in range(n):
                    shift[lane, i] = 0.0
                loss[lane] = arrive(margin[lane], shift[lane], 0.0, Y[c], 0.0, weights[w], link, thetas[c], pull[lane])
                slot = w if alike else lane
                if summed[slot] != w:
                    sums_of(indptr, indices, data, weights[w], sums[slot])
                    squares_of(indptr, indices, data, weights[w], squares[slot])
                    summed[slot] = w
                for j in range(size):
                    l2[j, lane], P[j, lane] = l2s[which[c], j], 0.0
                stuck[lane], objective[c] = 0, np.inf
                cut[lane], refined[lane] = BENDS, 0
                lowest[lane], trust[lane] = np.inf, FULL
                at[lane] = GRADIENT
        if those(at, IDLE, lanes).size == LANES:
            return objective, gap, kkt, kkt_bound, rounds, converged, thetas

        join(those(at, STEP, lanes), steps, P)
        forth(indptr, indices, data, offset, P, Q)

        # Go along the steps found, and ask for the gradient there.
        split_by(those(at, STEP, lanes), Q, Y, category, shift)
        for lane in those(at, STEP, lanes):
            c = category[lane]
            mode, penalty = modes[which[c]], l2s[which[c]]
            weight = weights[weighs[c]]
            slope, curve, first = slant(betas[c], mode, penalty, gradient[lane], steps[lane])
            t, lift, lifts = line_search(
                margin[lane], shift[lane], Y[c], weight, link, slope, curve, first, objective[c]
            )
            for j in range(size):
                betas[c, j] += t * steps[lane, j]
            away = betas[c, size - 1] - mode[size - 1]
            more = level(margin[lane], shift[lane], t, Y[c], weight, link, away, penalty[size - 1], lift, lifts)
            betas[c, size - 1] += more
            loss[lane] = arrive(margin[lane], shift[lane], t, Y[c], more, weight, link, thetas[c], pull[lane])
            at[lane] = GRADIENT
        join(those(at, GRADIENT, lanes), pull, B)

        searching = those(at, DIRECTION, lanes).size > 0
        back(indptr, indices, data, offset, A if searching else A[:0], B, Q, W, out)

        if searching:
            _descend(at, lanes, P, out, l2, step, residual, inverse, search)
            split(those(at, FOUND, lanes), step, steps)
            for lane in those(at, FOUND, lanes):
                for i in range(n):
                    A[i, lane] = 0.0
                at[lane] = STEP

        # Where a gradient has come: measure the gap; if it is too wide, find the next direction or begin to.
        split(those(at, GRADIENT, lanes), out, gradient)
        for lane in those(at, GRADIENT, lanes):
            c = category[lane]
            mode, penalty = modes[which[c]], l2s[which[c]]
            added, duality = _gap(gradient[lane], betas[c], mode, penalty)
            total = loss[lane] + added
            if trust[lane] != NONE and not total <= lowest[lane] * (1.0 + RISE):  # NaN, too, is no fall
                trust[lane] = CONJUGATE if trust[lane] == FULL else NONE
                if lowest[lane] < np.inf:
                    loss[lane] = _again(
                        indptr, indices, data, offset, Y[c], weights[weighs[c]], link, best[lane], betas[c],
                        margin[lane], shift[lane], thetas[c], pull[lane],
                    )  # fmt: skip
                    continue
            stuck[lane] = 0 if total < objective[c] else stuck[lane] + 1  # within rounding nothing falls any more
            if total < lowest[lane]:
                lowest[lane] = total
                assign(best[lane], betas[c])
            objective[c], gap[c] = total, duality
            relative = duality / max(total, 1e-300)
            if flat[which[c]]:
                gap[c] = np.nan
                relative = _violation(gradient[lane], betas[c], mode)[1] / max(total, 1e-300)
            converged[c] = relative <= tol
            given_up = rounds[c] >= max_rounds or stuck[lane] == PATIENCE
            if given_up and not converged[c] and total > lowest[lane]:
                trust[lane] = NONE
                loss[lane] = _again(
                    indptr, indices, data, offset, Y[c], weights[weighs[c]], link, best[lane], betas[c], margin[lane],
                    shift[lane], thetas[c], pull[lane],
                )  # fmt: skip
                continue
            if converged[c] or given_up or trust[lane] == NONE:
                kkt[c], kkt_bound[c] = _violation(gradient[lane], betas[c], mode)
                at[lane] = IDLE
                continue
            rounds[c] += 1
            w = weighs[c]
            weight, slot = weights[w], w if alike else lane
            curvatures(margin[lane], thetas[c], weight, link, curvature[lane])
            if trust[lane] == FULL and not centred:
                if refined[lane] >= SLOW:
                    cut[lane] *= 0.3  # the others do bend
                count, entries, share = that_bend(
                    indptr, weight, curvature[lane], reach[which[c]], cut[lane], documents
                )
                if count >= 0 and (relative < CLOSE or share <= FEW):
                    some = documents[:count]
                    promise = from_few(
                        indptr, indices, data, weight, curvature[lane], sums[slot], squares[slot], penalty,
                        gradient[lane], some, entries,
                        0.1 if relative > 1.0 else 0.03, zeros, work, newton, room,
                    )  # fmt: skip
                    if promise <= tol * total and link == 0 and not flat[which[c]]:
                        duality = proof(
                            indptr, indices, data, Y[c], weight, curvature[lane], thetas[c], penalty, some, room,
                            work, tol * total,
                        )  # fmt: skip
                        if duality <= tol * total:
                            gap[c], converged[c], at[lane] = duality, True, IDLE
                            kkt[c], kkt_bound[c] = _violation(gradient[lane], betas[c], mode)
                            continue
                    if relative > NEARER or rounds[c] == 1:
                        assign(steps[lane], newton)
                    else:
                        across_last(gradient[lane], before[lane], newton, steps[lane])
                    assign(before[lane], gradient[lane])
                    refined[lane] += 1
                    at[lane] = STEP
                    continue
            if relative > EARLY:  # one curvature for all is near enough
                share = in_turn(curvature[lane]) / in_turn(weight)
                for j in range(size):
                    diagonal[lane, j] = share * squares[slot, j]
            else:
                squares_of(indptr, indices, data, curvature[lane], diagonal[lane])
            assign(before[lane], gradient[lane])
            search.rho[lane] = search.ratio[lane] = 0.0
            search.goal[lane] = 0.25 if relative > 1.0 else 0.04
            search.left[lane] = 5 if relative > EARLY else 15 if relative > CLOSE else 200
            at[lane] = BEGIN

        beginning = those(at, BEGIN, lanes)
        if beginning.size > 0:
            _begin(beginning, l2, diagonal, gradient, step, residual, inverse, search)
            join(beginning, curvature, A)
        for lane in beginning:
            for i in range(n):
                B[i, lane] = 0.0
            at[lane] = DIRECTION
        if those(at, DIRECTION, lanes).size > 0:
            _turn(at, P, residual, inverse, search)
