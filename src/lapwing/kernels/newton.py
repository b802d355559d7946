"""The default solver: Newton's method on a growing working set, certified by duality."""

from __future__ import annotations

import numpy as np

from lapwing.kernels import wide
from lapwing.kernels._jit import kernel, part
from lapwing.kernels.loss import (
    assign,
    bend,
    dual_objective,
    feasible_scale,
    few,
    has,
    intercept_only,
    loss_gradient,
    loss_gradient_from,
    losses,
    majorant,
    penalty_at,
    scores,
    violation,
    violations,
)
from lapwing.kernels.quadratic import solve

RELAX = 0.3  # factor by which a stronger prior is relaxed
WIDE = 120  # size of the working set from which pricing costs less than a round
ROUNDING = 1e-13  # a sum over documents is not known better
FAR = 0.1  # relative fall of the objective at which the solution is far, and few of those that violate will be in it
LOOSE = 0.2  # relative fall of the objective at which a stronger prior is left


@part
def _penalty(beta, mode, l1, l2, strength):
    total = 0.0
    for j in range(beta.size):
        if beta[j] != mode[j]:
            total += penalty_at(beta[j], mode[j], l1[j], l2[j])
    return strength * total


@part
def _prune(working, m, inside, beta, gradient, mode, l1, strength):
    """Let go of features at their mode that are far from moving, but not of the constant; returns how many stay."""
    kept = 1
    for a in range(1, m):
        j = working[a]
        if beta[j] != mode[j] or l1[j] == 0.0 or abs(gradient[j]) > 0.9 * strength * l1[j]:
            working[kept] = j
            kept += 1
        else:
            inside[j] = 0
    return kept


@part
def _grow(working, m, inside, beta, gradient, mode, l1, l2, lower, upper, strength, most):
    """Add the features that violate their optimality condition most, about `most` of them."""
    found = np.empty(inside.size, np.int32)
    excess = np.empty(inside.size)
    count = 0
    top = 0.0
    for j in range(inside.size):
        if not inside[j]:
            slope = strength * l1[j]
            v = violation(beta[j], gradient[j], mode[j], slope, strength * l2[j], lower[j], upper[j])
            if v > 1e-9 * slope:
                found[count], excess[count] = j, v / (slope + 1e-300)
                top = max(top, excess[count])
                count += 1
    cut = 0.0
    above = count
    while above > most:  # raise the cut until few enough are above it
        cut = max(2.0 * cut, top / 64.0)
        above = 0
        for k in range(count):
            above += excess[k] > cut
        if above == 0:
            cut *= 0.5
            break
    for k in range(count):
        if excess[k] > cut:
            working[m] = found[k]
            inside[found[k]] = 1
            m += 1
    return m


@part
def _taken(values, working, m):
    """Those of the working set. Indexing by an array would take longer to compile."""
    out = np.empty(m)
    for a in range(m):
        out[a] = values[working[a]]
    return out


@part
def _slopes(document, pointer, column, value, y, weight, link, theta, margin, cautious, spare, G, curvature):
    """G = gradient of the loss on the working set; curvature c_i loss''(r_i) of every document.

    Far on the wrong side of zero the loss is straight and its curvature tells nothing of where it bends.
    Then (`cautious`) one is taken instead with which the quadratic model lies above the loss.
    Returns a curvature below which documents hold at most the share `spare` of all.
    """
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
    return few(curvature, spare) if spare > 0.0 else 0.0


@part
def _hessian(document, pointer, column, value, curvature, cut, m, H):
    """H = Σ_i w_i x_i x_iᵀ on the working set; documents with a curvature w_i below the cut on its diagonal only."""
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
def _add_offsets(offset, working, m, H):
    """The Hessian for columns x_a + o_a, from that for x_a and the constant feature, the first of the set."""
    sums = H[0].copy()
    for a in range(m):
        o = offset[working[a]]
        for b in range(m):
            other = offset[working[b]]
            H[a, b] += o * sums[b] + other * sums[a] + o * other * sums[0]


@part
def _predict(
    document, pointer, column, value, move, common, y, link, margin, theta, curvature, cut, shift, linear_theta
):
    """shift_i = y_i Δr_i of the whole step, and the residual θ_i - loss''(r_i)Δr_i that the model predicts after it."""
    largest = 1.0 if link == 0 else np.inf  # a dual point is between 0 and this
    for i in range(y.size):
        shift[i] = common
    for e in range(document.size):
        for p in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            shift[document[e]] += value[p] * move[np.uint32(column[p])]
    for i in range(y.size):
        shift[i] *= y[i]
        bends = 0.0 if curvature[i] < cut else bend(margin[i], theta[i], link)
        linear_theta[i] = min(max(theta[i] - bends * shift[i], 0.0), largest)


@part
def _search(margin, shift, weight, link, b, move, mode, l1, l2, objective, promise, score, theta):
    """Half the step until the objective falls enough (Armijo): (share taken, loss, penalty); share 0 if it never does.

    Leaves the margins there in `score`, and the residuals in `theta`.
    """
    t = 1.0
    for _ in range(6):
        for i in range(margin.size):
            score[i] = margin[i] + t * shift[i]
        loss = losses(score, weight, link, theta)
        penalty = 0.0
        for a in range(b.size):
            penalty += penalty_at(b[a] - (1.0 - t) * move[a], mode[a], l1[a], l2[a])
        if loss + penalty <= objective + 0.01 * t * promise + ROUNDING * objective:
            return t, loss, penalty
        t *= 0.5
    return 0.0, loss, penalty


@kernel
def fit(
    indptr, indices, data, by_row, row_indices, row_data, offset, y, weight, link, mode, l1, l2, lower, upper, beta,
    tol, max_rounds, dense, without, known,
):  # fmt: skip
    """min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ], lower ≤ β ≤ upper.

    indptr, indices, data   X by columns (CSC), d of them; the constant feature is coordinate d
    by_row … row_data       X by rows (CSR)
    offset                  (d+1,) added to every entry of a column
    y, weight, link         labels ±1, document weights c, which loss
    mode … upper            the prior, d+1 entries each
    beta                    start; overwritten by the solution
    dense, without          one of them is None, and what hangs on it is not compiled: `dense`, the most features in a
                            working set whose Hessian is written out, and the fit is given up where more are needed;
                            or `without` it, however many there are
    known                   (2, d+1) the loss's gradient near the start and Σ_i c_i x_i, or NaN for either;
                            overwritten by them, the gradient near the solution

    A working set of features grows by those that violate their optimality condition most. On it, each
    round replaces the loss by its quadratic model, solves that (kernels/quadratic.py, or kernels/wide.py
    where the set is wide) and goes along the direction found as far as the objective falls. From a cold
    start the prior is first taken stronger (`strength` times) and relaxed step by step, so that the set
    grows with the solution.

    The residuals which the quadratic model predicts at its minimum, θ_i - loss''(r_i)Δr_i, satisfy the
    dual constraints of the working set exactly: they converge as fast as β does, and give the gap.

    Returns (objective, gap, kkt_bound, rounds, converged, dual point); gap is NaN if no dual is feasible.
    """
    n, d = y.size, beta.size - 1
    inside = np.empty(d + 1, np.int32)  # 0 or 1: an array of bool is one more kind of array to compile for
    working = np.empty(d + 1, np.int32)
    m = np.int64(0)
    for j in range(d, -1, -1):
        inside[j] = j == d or beta[j] != mode[j] or (l1[j] == 0.0 and indptr[j + 1] > indptr[j])
        if inside[j]:
            working[m] = j
            m += 1
    if m == 1 and not has(beta[:d]):
        beta[d] = intercept_only(y, weight, link, beta[d], mode[d], l1[d], l2[d], lower[d], upper[d])
    score = scores(indptr, indices, data, offset, beta, n)
    margin = np.empty(n)
    for i in range(n):
        margin[i] = y[i] * score[i]
    theta = np.empty(n)
    best_theta = np.empty(n)
    linear_theta = np.empty(n)
    pull = np.empty(n)
    shift = np.empty(n)
    curvature = np.empty(n)
    z = np.empty(d + 1)

    loss = losses(margin, weight, link, theta)
    for i in range(n):
        pull[i] = weight[i] * y[i] * theta[i]
    assign(best_theta, theta)
    gradient, sums = known[0], known[1]
    if np.isnan(sums[d]):
        loss_gradient(by_row, row_indices, row_data, offset, weight, sums)
        for j in range(d + 1):
            sums[j] = -sums[j]
    if np.isnan(gradient[d]):
        loss_gradient_from(by_row, row_indices, row_data, offset, pull, weight, sums, gradient)
    strength = 1.0
    for j in range(d):
        if l1[j] > 0.0 and beta[j] == mode[j]:
            strength = max(strength, violation(beta[j], gradient[j], mode[j], 0.0, 0.0, lower[j], upper[j]) / l1[j])
    strength = max(1.0, 0.3 * strength)

    flat = False  # without a feasible dual point the optimality conditions are checked at β itself
    for j in range(d + 1):
        flat = flat or (l1[j] == 0.0 and l2[j] == 0.0 and (np.isinf(lower[j]) or np.isinf(upper[j])))
    best_dual = -np.inf
    gap = kkt_bound = np.inf
    converged = False
    rounds = 0
    cautious = False
    objective = loss
    fell = 0.0
    t = 1.0  # the share of the last step that was taken
    precision = 0.1  # of the quadratic problem's solution, relative to the penalty's slope
    floor = 0.1 if without is None else 0.5  # at its finest, relative to tol
    least = 0.0 if without is None else 2e-4  # share of the curvature that is then left out
    if dense is not None:
        room = min(m, dense)
        H, A = np.empty((room, room)), np.empty((room, room))
    document, pointer, column, value = wide.rows(indptr, indices, data, working, m, n)
    changed = False
    while rounds < max_rounds:
        kept = _prune(working, m, inside, beta, gradient, mode, l1, strength)
        most = max(20, kept if kept <= WIDE else kept // 4 if fell > FAR * objective else kept // 2)
        if t < 0.5:  # after a poor step the gradient says little of who belongs
            most = max(5, kept // 16)
        grown = _grow(working, kept, inside, beta, gradient, mode, l1, l2, lower, upper, strength, most)
        changed = changed or kept < m or grown > kept
        m = grown
        if dense is not None:
            if m > dense:
                break
            if m > H.shape[0]:
                room = min(m + m // 2 + 64, dense)
                H, A = np.empty((room, room)), np.empty((room, room))
        if changed:
            document, pointer, column, value = wide.rows(indptr, indices, data, working, m, n)
            changed = False
        w_mode, w_l1, w_l2 = _taken(mode, working, m), _taken(l1, working, m), _taken(l2, working, m)
        w_lower, w_upper, w_offset = _taken(lower, working, m), _taken(upper, working, m), _taken(offset, working, m)
        w_offset[0] = 1.0  # the constant is an offset to nothing
        for a in range(m):
            w_l1[a] *= strength
            w_l2[a] *= strength
        b, G, move = np.empty(m), np.empty(m), np.empty(m)
        rhs, free = np.empty(m), np.empty(m, np.int32)
        objective = loss + _penalty(beta, mode, l1, l2, strength)

        # Newton rounds on the working set, until what they still promise is small.
        stalled = precise = False
        fell = 0.0
        while rounds < max_rounds:
            rounds += 1
            spare = 0.0 if m <= WIDE or has(offset) else 0.005 if precision > tol else least
            cut = _slopes(
                document, pointer, column, value, y, weight, link, theta, margin, cautious, spare, G, curvature
            )
            for a in range(m):
                b[a] = beta[working[a]]
                if a > 0:
                    G[a] += w_offset[a] * G[0]
            before = G.copy()
            if dense is not None:
                _hessian(document, pointer, column, value, curvature, cut, m, H)
                if has(offset):
                    _add_offsets(offset, working, m, H)
                solve(H, G, b, m, w_mode, w_l1, w_l2, w_lower, w_upper, precision, A, rhs, free)
            if without is not None:
                Z = wide.columns(indptr, indices, data, w_offset, working, curvature, cut)
                lists = document, pointer, column, value
                wide.solve(lists, curvature, cut, w_offset, Z, G, b, w_mode, w_l1, w_l2, w_lower, w_upper, precision)
            promise = 0.0  # first-order change of the objective along the step, negative
            for a in range(m):
                j = working[a]
                promise += before[a] * (b[a] - beta[j])
                promise += penalty_at(b[a], w_mode[a], w_l1[a], w_l2[a])
                promise -= penalty_at(beta[j], w_mode[a], w_l1[a], w_l2[a])
            common = b[0] - beta[d]  # what the constant and centring add to every score
            for a in range(m):
                move[a] = b[a] - beta[working[a]]
                common += offset[working[a]] * move[a]
            _predict(
                document, pointer, column, value, move, common, y, link, margin, theta, curvature, cut, shift,
                linear_theta,
            )  # fmt: skip
            t, new_loss, penalty = _search(
                margin, shift, weight, link, b, move, w_mode, w_l1, w_l2, objective, promise, score, theta
            )
            if t == 0.0:
                losses(margin, weight, link, theta)
                if cautious:
                    stalled = True
                    break
                cautious = True
                continue
            cautious = t < 0.25
            for a in range(m):
                j = working[a]
                beta[j] = b[a] if t == 1.0 else beta[j] + t * (b[a] - beta[j])
            assign(margin, score)
            loss = new_loss
            fell = objective - (new_loss + penalty)
            objective = new_loss + penalty
            precise = precision <= tol
            if strength == 1.0:
                reached = fell / max(objective, 1e-300)
                if (t < 1.0 and reached > tol) or reached > (0.02 if m > WIDE else 0.05):
                    precision = 0.1
                else:
                    precision = max(floor * tol, 0.1 * reached if m > WIDE else 0.0)
            if (m > WIDE and (fell <= FAR * objective or strength > 1.0)) or (
                (t == 1.0 or fell <= tol * objective)
                and fell <= (LOOSE if strength > 1.0 else np.sqrt(tol)) * objective
            ):
                break

        # Price every feature at the dual point, and measure the gap.
        for i in range(n):
            pull[i] = weight[i] * y[i] * (theta[i] if stalled or flat else linear_theta[i])
        priced = strength == 1.0 and (precise or stalled)
        if priced:  # what a certificate rests on is not the difference of large numbers
            loss_gradient(by_row, row_indices, row_data, offset, pull, gradient)
        else:
            loss_gradient_from(by_row, row_indices, row_data, offset, pull, weight, sums, gradient)
        if strength > 1.0 and fell <= LOOSE * objective:
            strength = max(1.0, RELAX * strength)
            continue
        if not priced:
            continue
        kkt_bound = violations(beta, gradient, mode, l1, l2, lower, upper)[1]
        if flat:
            gap = np.nan
            assign(best_theta, theta)
            converged = kkt_bound <= tol * objective
        else:
            for j in range(d + 1):
                z[j] = -gradient[j]
            scale = feasible_scale(z, l1, l2, lower, upper)
            source = theta if stalled else linear_theta
            dual = dual_objective(source, weight, link, z, scale, mode, l1, l2, lower, upper)
            if dual > best_dual:
                best_dual = dual
                for i in range(n):
                    best_theta[i] = scale * source[i]
            gap = max(objective - best_dual, 0.0)
            converged = gap <= tol * objective
        if converged:
            break
        if stalled:
            grown = _grow(working, m, inside, beta, gradient, mode, l1, l2, lower, upper, 1.0, np.int64(1))
            if grown == m:
                break
            m = grown
    return loss + _penalty(beta, mode, l1, l2, 1.0), gap, kkt_bound, rounds, converged, best_theta
