"""The default solver: Newton's method on a growing working set, certified by duality.

    min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ],   lower ≤ β ≤ upper

A working set of features grows by those that violate their optimality condition most. On it, each round replaces the
loss by its quadratic model, solves that (kernels/quadratic.py, or kernels/wide.py where the set is wide) and goes along
the step as far as the objective falls. From a cold start the prior is first taken stronger (`strength` times) and
relaxed step by step, so that the set grows with the solution.

The residuals which the quadratic model predicts at its minimum, θ_i - loss''(r_i)Δr_i, satisfy the dual constraints of
the working set exactly: they converge as fast as β does, and give the gap.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels import quadratic
from lapwing.kernels._jit import inlined, kernel, part
from lapwing.kernels.loss import (
    assign,
    bend,
    dual_objective,
    feasible_scale,
    few,
    has,
    intercept_only,
    is_flat,
    loss_gradient,
    loss_gradient_from,
    losses,
    majorant,
    margins,
    penalty,
    penalty_at,
    violations,
)
from lapwing.kernels.nouns import ARMIJO, ROUNDING, Result
from lapwing.kernels.wide import model as wide_model
from lapwing.kernels.wide import solve as solve_wide
from lapwing.kernels.working_set import begin, grow, lists, local_prior, prune, stronger, taken

COLD = 0.3  # a stronger prior begins at this share of the one under which every penalised coefficient is at its mode,
RELAX = 0.3  # is relaxed by this factor,
LOOSE = 0.2  # and left when a round lets the objective fall by less than this, relatively
MANY = 120  # size of the working set from which pricing costs less than a round
FAR = 0.1  # relative fall of the objective at which the solution is far, and few of those that violate will be in it
SPARE, LEAST = 0.005, 2e-4  # share of the curvature that is left out, far from the solution and near to it
FEWEST, FEWEST_AFTER, SHARE_AFTER = 20, 5, 16  # features to add at least; after a poor step, one for so many in the set
POOR, CAUTIOUS = 0.5, 0.25  # share of a step below which it was poor, and the next model lies above the loss
FALLS, FALLS_WIDE = 0.05, 0.02  # relative fall of the objective above which rough models will do; in sets above `MANY`
FINE, FINE_WIDE = 0.1, 0.5  # precision at its finest, relative to tol; without a Hessian
HALVINGS = 6  # of a step, before a more cautious one is taken
ROUGH = 0.1  # violations, relative to the penalty's slope, at which a quadratic model far from the solution is left


@inlined
def _strength(prior, beta, gradient):
    """How many times the prior is taken as strong at first: 1 from a start near the solution."""
    strength = 1.0
    for j in range(beta.size - 1):
        if prior.l1[j] > 0.0 and beta[j] == prior.mode[j]:
            blocked = beta[j] >= prior.upper[j] if gradient[j] < 0.0 else beta[j] <= prior.lower[j]
            if not blocked:
                strength = max(strength, abs(gradient[j]) / prior.l1[j])
    return max(1.0, COLD * strength)


@inlined
def _most(kept, t, fell, objective):
    """How many features are added at most; t is the share of the last step that was taken."""
    if t < POOR:  # then the gradient says little of who belongs
        return max(FEWEST_AFTER, kept // SHARE_AFTER)
    return max(FEWEST, kept if kept <= MANY else kept // 4 if fell > FAR * objective else kept // 2)


@part
def _slopes(entries, documents, offset, theta, margin, cautious, spare, G, curvature):
    """G = gradient of the loss on the working set; curvature c_i loss''(r_i) of every document.

    Far on the wrong side of zero the loss is straight and its curvature tells nothing of where it bends.
    Then (`cautious`) one is taken instead with which the quadratic model lies above the loss.
    Returns a curvature below which documents hold at most the share `spare` of all.
    """
    document, pointer, column, value = entries
    y, weight, link = documents
    for a in range(G.size):
        G[a] = 0.0
    for i in range(y.size):
        bends = majorant(margin[i], link) if cautious else bend(margin[i], theta[i], link)
        curvature[i] = weight[i] * max(bends, 1e-12)
        G[0] -= weight[i] * y[i] * theta[i]
    for e in range(document.size):
        i = document[e]
        pull = weight[i] * y[i] * theta[i]
        for p in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            G[np.uint32(column[p])] -= pull * value[p]
    for a in range(1, G.size):
        G[a] += offset[a] * G[0]
    return few(curvature, spare) if spare > 0.0 else 0.0


@part
def _hessian(entries, curvature, cut, m, H):
    """H = Σ_i w_i x_i x_iᵀ on the working set; documents with a curvature w_i below the cut on its diagonal only."""
    document, pointer, column, value = entries
    for a in range(m):
        for b in range(a + 1):
            H[a, b] = 0.0
    for i in range(curvature.size):
        H[0, 0] += curvature[i]
    for e in range(document.size):
        i = document[e]
        counts = curvature[i] >= cut
        for p in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            at = np.uint32(column[p])
            scaled = curvature[i] * value[p]
            row = H[at]
            if counts:
                row[0] += scaled
                for q in range(np.uint64(pointer[e]), p + np.uint64(1)):
                    row[np.uint32(column[q])] += scaled * value[q]  # columns rise within a document: the lower half
            else:
                row[at] += scaled * value[p]
    for a in range(m):
        for b in range(a):
            H[b, a] = H[a, b]


@part
def _add_offsets(offset, H):
    """The Hessian for columns x_a + o_a, from that for x_a and the constant feature, the first, which has its own."""
    sums = H[0].copy()
    for a in range(offset.size):
        o = offset[a] if a > 0 else 0.0
        for b in range(offset.size):
            other = offset[b] if b > 0 else 0.0
            H[a, b] += o * sums[b] + other * sums[a] + o * other * sums[0]


@part
def _room(H, m, most):
    """H, or one that m features and some more have room in."""
    if m <= H.shape[0]:
        return H
    size = min(m + m // 2 + 64, most)
    return np.empty((size, size))


@inlined
def _promise(G, old, b, prior):
    """First-order change of the objective along a step, negative."""
    total = 0.0
    for a in range(b.size):
        total += G[a] * (b[a] - old[a])
        total += penalty_at(prior, a, b[a])
        total -= penalty_at(prior, a, old[a])
    return total


@part
def _predict(entries, documents, offset, old, b, margin, theta, curvature, cut, shift, predicted):
    """shift_i = y_i Δr_i of the whole step, and the residual θ_i - loss''(r_i)Δr_i that the model predicts after it."""
    document, pointer, column, value = entries
    y, _, link = documents
    largest = 1.0 if link == 0 else np.inf  # a dual point is between 0 and this
    move = np.empty(b.size)
    common = 0.0  # what the constant and centring add to every score
    for a in range(b.size):
        move[a] = b[a] - old[a]
        common += offset[a] * move[a]
    for i in range(y.size):
        shift[i] = common
    for e in range(document.size):
        for p in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            shift[document[e]] += value[p] * move[np.uint32(column[p])]
    for i in range(y.size):
        shift[i] *= y[i]
        bends = 0.0 if curvature[i] < cut else bend(margin[i], theta[i], link)
        predicted[i] = min(max(theta[i] - bends * shift[i], 0.0), largest)


@part
def _search(margin, shift, documents, old, b, prior, objective, promise, there, theta):
    """Half the step until the objective falls enough (Armijo): (share taken, loss, penalty); share 0 if it never does.

    Leaves the margins there in `there`, and the residuals in `theta`.
    """
    _, weight, link = documents
    t = 1.0
    for _ in range(HALVINGS):
        for i in range(margin.size):
            there[i] = margin[i] + t * shift[i]
        loss = losses(there, weight, link, theta)
        penalty = 0.0
        for a in range(b.size):
            penalty += penalty_at(prior, a, b[a] - (1.0 - t) * (b[a] - old[a]))
        if loss + penalty <= objective + ARMIJO * t * promise + ROUNDING * objective:
            return t, loss, penalty
        t *= 0.5
    return 0.0, loss, penalty


@inlined
def _precision(m, t, fall, tol, floor):
    """How well the next quadratic model is solved: its violations, relative to the penalty's slope."""
    if (t < 1.0 and fall > tol) or fall > (FALLS_WIDE if m > MANY else FALLS):
        return ROUGH
    return max(floor * tol, ROUGH * fall if m > MANY else 0.0)


@inlined
def _settled(strength, m, t, fell, objective, tol):
    """Whether it is time to look at all features again, or else for another round on the working set."""
    if m > MANY and (fell <= FAR * objective or strength > 1.0):
        return True
    return (t == 1.0 or fell <= tol * objective) and fell <= (LOOSE if strength > 1.0 else np.sqrt(tol)) * objective


@part
def _pulls(documents, theta, pull):
    """pull_i = c_i y_i θ_i, what documents add to minus the gradient per unit of a feature."""
    for i in range(pull.size):
        pull[i] = documents.weight[i] * documents.y[i] * theta[i]


@inlined
def _price_first(X, documents, theta, pull, sums, gradient):
    """The loss's gradient and the sums Σ_i c_i x_i of all columns, as far as they are not known: NaN."""
    d = gradient.size - 1
    if np.isnan(sums[d]):
        loss_gradient(X, documents.weight, sums)
        for j in range(d + 1):
            sums[j] = -sums[j]
    if np.isnan(gradient[d]):
        _pulls(documents, theta, pull)
        loss_gradient_from(X, pull, documents.weight, sums, gradient)


@inlined
def _dual(documents, prior, gradient, theta, best, best_theta):
    """The largest dual objective so far: `best`, or that at θ, scaled until it is feasible; then `best_theta` is it."""
    z = np.empty(gradient.size)
    for j in range(z.size):
        z[j] = -gradient[j]
    scale = feasible_scale(z, prior)
    dual = dual_objective(theta, documents.weight, documents.link, z, scale, prior)
    if not dual > best:
        return best
    for i in range(theta.size):
        best_theta[i] = scale * theta[i]
    return dual


@kernel
def fit(X, documents, prior, beta, tol, max_rounds, dense, matrix_free, known):
    """Minimise the objective of the heading.

    beta    start; overwritten by the solution
    dense   the most features in a working set whose Hessian is written out
    matrix_free   True: larger ones are solved without it. None takes a quarter less to compile, and ends there with an
            infinite gap, for another call to go on
    known   (2, d+1) the loss's gradient near the start and Σ_i c_i x_i, or NaN for either; overwritten by them, the
            gradient near the solution

    Longer than a screen because its rounds share a dozen arrays and as many numbers: each stage that can do with few of
    them is a part of its own, and the two nested loops are left.
    """
    y, weight, link = documents
    n, d = y.size, beta.size - 1
    gradient, sums = known[0], known[1]
    centred, flat = has(X.offset[:d]), is_flat(prior)
    features, inside, m = begin(X, prior, beta)
    if m == 1 and not has(beta[:d]):
        beta[d] = intercept_only(documents, prior, beta[d])
    margin = margins(X, y, beta)
    there, shift, curvature = np.empty(n), np.empty(n), np.empty(n)
    theta, predicted, best_theta, pull = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    loss = losses(margin, weight, link, theta)
    assign(best_theta, theta)
    _price_first(X, documents, theta, pull, sums, gradient)
    strength = _strength(prior, beta, gradient)
    strong = stronger(prior, strength)

    objective, best_dual = loss, -np.inf
    gap = kkt = kkt_bound = np.inf
    fell, t = 0.0, 1.0  # how far the objective fell in the last round, and the share of its step that was taken
    precision = ROUGH  # of the quadratic model's solution
    H, A = np.empty((0, 0)), np.empty((0, 0))
    rounds, converged, cautious, changed = 0, False, False, True
    while rounds < max_rounds:
        # Grow the working set.
        kept = prune(features, m, inside, strong, beta, gradient)
        grown = grow(features, kept, inside, strong, beta, gradient, _most(kept, t, fell, objective))
        changed = changed or kept < m or grown > kept
        m = grown
        wide = m > dense
        floor, least = (FINE_WIDE, LEAST) if wide else (FINE, 0.0)
        if wide:
            if matrix_free is None:
                gap = np.inf
                break
        else:
            H, A = _room(H, m, dense), _room(A, m, dense)
        if changed:
            entries, changed = lists(X.columns, features, m, n), False
        local, offset, G = local_prior(strong, features, m), taken(X.offset, features, m), np.empty(m)
        objective = loss + strength * penalty(prior, beta)

        # Newton rounds on it, until what they still promise is small.
        stalled, precise, fell = False, False, 0.0
        while rounds < max_rounds:
            rounds += 1
            # The quadratic model of the loss,
            spare = 0.0 if m <= MANY or centred else SPARE if precision > tol else least
            cut = _slopes(entries, documents, offset, theta, margin, cautious, spare, G, curvature)
            # its minimum b,
            old = taken(beta, features, m)
            b, slope = old.copy(), G.copy()
            if wide:
                if matrix_free is not None:
                    model = wide_model(X.columns, entries, offset, features, curvature, cut)
                    solve_wide(model, slope, b, local, precision)
            else:
                _hessian(entries, curvature, cut, m, H)
                if centred:
                    _add_offsets(offset, H)
                quadratic.solve(H, slope, b, local, precision, A)
            # and a search along the step to it.
            promise = _promise(G, old, b, local)
            _predict(entries, documents, offset, old, b, margin, theta, curvature, cut, shift, predicted)
            t, new_loss, new_penalty = _search(
                margin, shift, documents, old, b, local, objective, promise, there, theta
            )
            if t == 0.0:
                losses(margin, weight, link, theta)
                stalled, cautious = cautious, True
                if stalled:
                    break
                continue
            for a in range(m):
                beta[features[a]] = b[a] if t == 1.0 else old[a] + t * (b[a] - old[a])
            assign(margin, there)
            loss, fell, objective = new_loss, objective - (new_loss + new_penalty), new_loss + new_penalty
            cautious, precise = t < CAUTIOUS, precision <= tol
            if strength == 1.0:
                precision = _precision(m, t, fell / max(objective, 1e-300), tol, floor)
            if _settled(strength, m, t, fell, objective, tol):
                break

        # Price every feature at the dual point.
        source = theta if stalled or flat else predicted
        _pulls(documents, source, pull)
        priced = strength == 1.0 and (precise or stalled)
        if priced:  # what a certificate rests on is not the difference of large numbers
            loss_gradient(X, pull, gradient)
        else:
            loss_gradient_from(X, pull, weight, sums, gradient)
        if strength > 1.0 and fell <= LOOSE * objective:
            strength = max(1.0, RELAX * strength)
            strong = stronger(prior, strength)
            continue
        if not priced:
            continue

        # Certify.
        kkt, kkt_bound = violations(prior, beta, gradient)
        if flat:
            gap = np.nan
            assign(best_theta, theta)
        else:
            best_dual = _dual(documents, prior, gradient, source, best_dual, best_theta)
            gap = max(objective - best_dual, 0.0)
        converged = (kkt_bound if flat else gap) <= tol * objective
        if converged:
            break
        if stalled:
            grown = grow(features, m, inside, strong, beta, gradient, np.int64(1))
            if grown == m:
                break
            m, changed = grown, True
    return Result(loss + penalty(prior, beta), gap, kkt, kkt_bound, rounds, converged, best_theta)
