"""Newton's method with the Gram matrix of the columns written out.

    min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ],   lower ≤ β ≤ upper

Whatever the scales of the columns: a factorised matrix does not feel them, as conjugate gradients and coordinate
descent do. Sums are taken in an order of our own: products of BLAS would depend on the number of its threads.

Symbols of this file: Z (d+1, n) the features, one a row, the last all ones; w (n,) curvatures c_i loss''(r_i);
H = Z diag(w) Zᵀ over the working set; b the minimum of the quadratic model, g·(b-β) + (b-β)ᵀH(b-β)/2 + penalty(b).
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, inlined, kernel, part
from lapwing.kernels.loss import (
    assign,
    bend,
    dual_objective,
    feasible_scale,
    fill,
    has,
    intercept_only,
    is_flat,
    losses,
    majorant,
    penalty,
    penalty_at,
    violation,
    violations,
)
from lapwing.kernels.nouns import ARMIJO, ROUNDING, Result
from lapwing.kernels.quadratic import active_set, add_products, cholesky, newton_step, substitute, sweep
from lapwing.kernels.working_set import local_prior, taken

CHUNK = 256  # documents whose weighted features lie in the cache together
LEAST = 32  # features that may enter a working set at once,
MORE = 512  # and where X is sparse, so that a larger one costs little
LOST = 1e-15  # share of a pivot that is all rounding
POLISH = 3  # steps that may be taken within that
SHORTEST = 1e-9  # share of a step that is still tried
VIOLATES = 1e-9  # relative violation below which a feature stays out of the working set
FINEST, RAISE = 256.0, 1.3  # violators are told apart by the largest over this, and then by this factor
PLAIN = 6  # turns before the active-set method, which columns that all but depend on one another need
TURNS = 60  # of descent and a step on the free coordinates
SWEEPS, PER_SWEEP = 15, 60  # of descent in a turn at most: as many as take the time of the step
FINE, ROUGH = 0.01, 0.1  # precision of the quadratic model's solution, of the tolerance at its finest; at its roughest
CAUTIOUS = 0.25  # share of a step below which the next model lies above the loss
NEAR = 0.01  # relative fall of the objective from which on the residuals that the model predicts are near the dual


def _forth(Z, rows, beta, out):
    """out = Zᵀβ"""
    if rows is not None:
        indptr, indices, data = rows
        for i in range(out.size):
            total = 0.0
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                total += data[k] * beta[np.uint32(indices[k])]
            out[i] = total
    if Z is not None:
        for i in range(out.size):
            out[i] = 0.0
        for j in range(beta.size):
            if beta[j] != 0.0:
                row = Z[j]
                for i in range(out.size):
                    out[i] += beta[j] * row[i]


def _back(Z, rows, pull, out):
    """out = -Z pull"""
    if rows is not None:
        indptr, indices, data = rows
        for j in range(out.size):
            out[j] = 0.0
        for i in range(pull.size):
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                out[np.uint32(indices[k])] -= data[k] * pull[i]
    if Z is not None:
        for j in range(out.size):
            row = Z[j]
            total = 0.0
            for i in range(pull.size):
                total += row[i] * pull[i]
            out[j] = -total


_forth = part(_forth, fastmath=REASSOCIATING)
_back = part(_back, fastmath=REASSOCIATING)


@part
def _gram(Z, working, m, curvature, chunk, H):
    """H = Z diag(w) Zᵀ over the working set, `chunk` documents at a time; both of its halves."""
    whole = chunk.shape[0]  # m, and what is missing to a multiple of four
    sums = np.empty((4, 4))
    for i in range(whole):
        for j in range(whole):
            H[i, j] = 0.0
    root = np.sqrt(curvature)
    for first in range(0, root.size, CHUNK):
        width = min(CHUNK, root.size - first)
        for a in range(m):
            row, weighted = Z[working[a]], chunk[a]
            for i in range(width):
                weighted[i] = root[first + i] * row[first + i]
        add_products(chunk, width, sums, H)
    for a in range(m):
        for b in range(a):
            H[b, a] = H[a, b]


@part
def _gram_of_rows(rows, working, m, size, curvature, H):
    """The same from X by rows, columns rising in each; `working` rises, too."""
    indptr, indices, data = rows
    place = np.full(size, -1, np.int32)
    for a in range(m):
        place[working[a]] = a
        for b in range(m):
            H[a, b] = 0.0
    most = 0
    for i in range(curvature.size):
        most = max(most, indptr[i + 1] - indptr[i])
    at, value = np.empty(most, np.int32), np.empty(most)
    for i in range(curvature.size):
        count = 0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            a = place[np.uint32(indices[k])]
            if a >= 0:
                at[count], value[count] = a, data[k]
                count += 1
        for p in range(count):
            scaled, row = curvature[i] * value[p], H[at[p]]
            for q in range(p + 1):
                row[np.uint32(at[q])] += scaled * value[q]
    for a in range(m):
        for b in range(a):
            H[b, a] = H[a, b]


@part
def _select(prior, beta, gradient, least, working):
    """The working set: what is off its mode or free to leave it, and those that violate their condition most."""
    m = np.int64(0)
    top = 0.0
    excess = np.zeros(beta.size)
    for j in range(beta.size):
        if beta[j] != prior.mode[j] or prior.l1[j] == 0.0:
            working[m] = j
            m += 1
        else:
            excess[j] = violation(prior, j, beta[j], gradient[j]) / prior.l1[j]
            top = max(top, excess[j])
    if top <= VIOLATES:
        return m
    most, cut, count = max(least, m), 0.0, beta.size
    while count > most:  # raise the cut until few enough are above it
        cut = max(RAISE * cut, top / FINEST)
        count = 0
        for j in range(beta.size):
            count += excess[j] > cut
    if count == 0:
        cut /= RAISE
    cut, m = max(cut, VIOLATES), np.int64(0)
    for j in range(beta.size):  # in rising order
        if beta[j] != prior.mode[j] or prior.l1[j] == 0.0 or excess[j] > cut:
            working[m] = j
            m += 1
    return m


@part
def _least(H, G, b, prior, smooth, precision, slack, bound, A):
    """b ← the quadratic model's minimum; G ← its gradient there.

    Until no coordinate violates its condition by more than a share `precision` of its l1, or where it has none by what
    would gain `slack`; nor by more than `bound` for its own size, or 1.
    """
    m = b.size
    rhs, free, change, slope = np.empty(m), np.empty(m, np.int32), np.empty(m), np.empty(m)
    if smooth:
        for i in range(m):
            rhs[i] = -(G[i] + prior.l2[i] * (b[i] - prior.mode[i]))
            for j in range(i):
                A[i, j] = H[i, j]
            A[i, i] = H[i, i] + prior.l2[i]
        cholesky(A, m, LOST)
        substitute(A, rhs, m)
        for i in range(m):
            b[i] += rhs[i]
        return
    between = max(2, min(SWEEPS, m // PER_SWEEP))
    for turn in range(TURNS):
        if turn == PLAIN:
            active_set(H, G, b, prior, precision, A, rhs, free, change)
        for _ in range(between):
            sweep(H, G, b, prior)
        done = True
        for a in range(m):
            v = violation(prior, a, b[a], G[a])
            if v > precision * prior.l1[a] and (prior.l1[a] > 0.0 or v * v > 2.0 * slack * (H[a, a] + prior.l2[a])):
                done = False
            if v * max(abs(b[a] - prior.mode[a]), 1.0) > bound:
                done = False
        if done:
            return
        count = newton_step(H, G, b, prior, A, rhs, free, change, slope)
        between = max(1, min(SWEEPS, count // PER_SWEEP))


@part
def _gradient(Z, rows, documents, theta, pull, out):
    """out = -Z (c∘y∘θ), the loss's gradient where its residuals are θ"""
    for i in range(pull.size):
        pull[i] = documents.weight[i] * documents.y[i] * theta[i]
    _back(Z, rows, pull, out)


@part
def _move(beta, gradient, working, b, prior, step):
    """The step from β to b on the working set; returns the first-order change of the objective along it, negative."""
    promise = 0.0
    fill(step, 0.0)
    for a in range(b.size):
        j = working[a]
        step[j] = b[a] - beta[j]
        promise += gradient[j] * step[j] + penalty_at(prior, a, b[a])
        promise -= penalty_at(prior, a, beta[j])
    return promise


@part
def _search(margin, shift, documents, beta, step, prior, objective, promise, slack, after, theta):
    """(the share of the step at which the objective falls enough (Armijo), 0 if it never does; the objective there).

    Leaves the margins there in `after`, and θ.
    """
    _, weight, link = documents
    t = 1.0
    while t > SHORTEST:
        for i in range(margin.size):
            after[i] = margin[i] + t * shift[i]
        value = losses(after, weight, link, theta)
        for j in range(beta.size):
            value += penalty_at(prior, j, beta[j] + t * step[j])
        if value <= objective + ARMIJO * t * promise + slack:
            return t, value
        t *= 0.5
    return 0.0, objective


@part
def _predict(documents, margin, theta, shift, linear):
    """`shift` of scores becomes that of margins; `linear` the residuals that the quadratic model predicts."""
    y, _, link = documents
    most = 0.0 + (1.0 if link == 0 else np.inf)  # a dual point is between 0 and this
    for i in range(margin.size):
        shift[i] *= y[i]
        linear[i] = min(max(theta[i] - bend(margin[i], theta[i], link) * shift[i], 0.0), most)


@part
def _improve(documents, prior, theta, gradient, z, best, best_theta):
    """The largest dual objective so far: `best`, or that at θ, which leaves this gradient, scaled until it is feasible;
    then `best_theta` is it."""
    for j in range(z.size):
        z[j] = -gradient[j]
    scale = feasible_scale(z, prior)
    dual = dual_objective(theta, documents.weight, documents.link, z, scale, prior)
    if not dual > best:  # NaN where no multiple of θ is feasible
        return best
    for i in range(theta.size):
        best_theta[i] = scale * theta[i]
    return dual


@part
def _losses_at(Z, rows, documents, prior, beta, margin, theta):
    """The objective at β; its margins and residuals."""
    _forth(Z, rows, beta, margin)
    for i in range(margin.size):
        margin[i] *= documents.y[i]
    return losses(margin, documents.weight, documents.link, theta) + penalty(prior, beta)


@inlined
def _is_smooth(prior):
    """Whether the penalty is a parabola everywhere."""
    smooth = True
    for j in range(prior.l1.size):
        smooth = smooth and prior.l1[j] == 0.0 and np.isinf(prior.lower[j]) and np.isinf(prior.upper[j])
    return smooth


@inlined
def _curvatures(documents, margin, theta, cautious, curvature):
    """c_i loss''(r_i); or, cautiously, that of a parabola which lies above the loss."""
    for i in range(curvature.size):
        bends = majorant(margin[i], documents.link) if cautious else bend(margin[i], theta[i], documents.link)
        curvature[i] = documents.weight[i] * max(bends, 1e-12)


@kernel
def fit(Z, rows, documents, prior, beta, tol, max_rounds):
    """One of Z (d+1, n) features by rows, the last all ones, and `rows`, the same as a sparse matrix with a row for
    each document, is None. The rest as in kernels/newton.py; `beta` is overwritten.

    The objective never rises. Without a feasible dual point a fit has converged when neither its optimality conditions
    nor the Newton step promise a fall of more than tol.
    """
    y, weight, link = documents
    size, n = beta.size, y.size
    margin, shift, theta, linear = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    pull, curvature, after, best_theta = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    gradient, z, step, working = np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int32)
    H, A, chunk = np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0))
    smooth, flat = _is_smooth(prior), is_flat(prior)
    if not has(beta[: size - 1]):
        beta[size - 1] = intercept_only(documents, prior, beta[size - 1])
    objective = _losses_at(Z, rows, documents, prior, beta, margin, theta)
    assign(best_theta, theta)
    best_dual, gap, fell, rounds, polished = -np.inf, np.nan, np.inf, 0, 0
    converged = cautious = ending = False
    while True:
        # Price every feature, and certify.
        _gradient(Z, rows, documents, theta, pull, gradient)
        kkt, kkt_bound = violations(prior, beta, gradient)
        if flat:
            assign(best_theta, theta)
            converged = kkt_bound <= tol * objective and (fell <= tol * objective or kkt_bound == 0.0)
        else:
            best_dual = _improve(documents, prior, theta, gradient, z, best_dual, best_theta)
            gap = max(objective - best_dual, 0.0)
            converged = gap <= tol * objective
        if converged or ending or rounds >= max_rounds:
            return Result(objective, gap, kkt, kkt_bound, rounds, converged, best_theta)
        rounds += 1

        # The quadratic model on the working set,
        m = _select(prior, beta, gradient, LEAST if rows is None else MORE, working)
        whole = m + (4 - m % 4) % 4
        if whole > H.shape[0]:
            room = min(whole + whole // 2, size + (4 - size % 4) % 4)
            H, A = np.empty((room, room)), np.empty((room, room))
        _curvatures(documents, margin, theta, cautious, curvature)
        if rows is not None:
            _gram_of_rows(rows, working, m, size, curvature, H)
        if Z is not None:
            if whole != chunk.shape[0]:
                chunk = np.zeros((whole, CHUNK))
            _gram(Z, working, m, curvature, chunk, H)
        # its minimum b,
        local = local_prior(prior, working, m)
        b, G = taken(beta, working, m), taken(gradient, working, m)
        precision = max(FINE * tol, min(ROUGH, ROUGH * fell / objective))
        slack, bound = ROUGH * precision * tol * objective / m, ROUGH * max(tol * objective, fell) / m
        _least(H, G, b, local, smooth, precision, slack, bound if flat else np.inf, A)
        promise = _move(beta, gradient, working, b, local, step)
        _forth(Z, rows, step, shift)
        _predict(documents, margin, theta, shift, linear)
        # and a search along the step. Too short a one to tell by the objective may still be what optimality asks for.
        slack = 0.0
        if -promise <= ROUNDING * objective and polished < POLISH:
            slack = ROUNDING * objective
            polished += 1
        t, value = _search(margin, shift, documents, beta, step, prior, objective, promise, slack, after, theta)
        if t == 0.0 or not promise < slack:  # rounding is left, or the loss is too straight for its curvature
            losses(margin, weight, link, theta)
            ending = cautious or not -promise > ROUNDING * objective
            cautious = True
            fell = 0.0 if ending else np.inf
            continue
        cautious = t < CAUTIOUS
        for a in range(m):
            j = working[a]
            beta[j] = b[a] if t == 1.0 else beta[j] + t * step[j]
        fell = max(objective - value, -promise)
        objective = value
        assign(margin, after)
        if t == 1.0 and not flat and fell <= NEAR * objective:  # the residuals that the model predicts
            _gradient(Z, rows, documents, linear, pull, gradient)
            best_dual = _improve(documents, prior, linear, gradient, z, best_dual, best_theta)
