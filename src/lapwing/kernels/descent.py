"""Proximal Newton with coordinate descent, one category at a time."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import (
    argmin,
    assign,
    bend,
    dual_objective,
    feasible_scale,
    loss_theta,
    primal_objective,
    scores,
    violation,
)


@kernel
def fit(indptr, indices, data, offset, y, weight, link, mode, l1, l2, lower, upper, beta, tol, max_iter):
    """min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ], lower ≤ β ≤ upper.

    offset                  must be zero: this solver goes by stored entries
    indptr, indices, data   X by columns (CSC), d of them; the constant feature is coordinate d
    y, weight, link         labels ±1, document weights c, which loss
    mode … upper            the prior, d+1 entries each
    beta                    start; overwritten by the solution

    Each round builds the quadratic model of the loss at β, runs coordinate descent on it over the
    coordinates that are away from their mode or violate the optimality conditions, and goes along the
    direction found as far as the objective falls enough (Armijo). Stops when the duality gap, or where
    there is none the KKT bound, is at most tol × objective.

    Returns (objective, gap, kkt_bound, rounds, converged, dual point).
    """
    n, d = y.size, beta.size - 1
    margin = np.empty(n)
    theta = np.empty(n)
    curvature = np.empty(n)
    shift = np.empty(n)  # X δ, the change of the scores along the direction
    score = scores(indptr, indices, data, offset, beta, n)
    for i in range(n):
        margin[i] = y[i] * score[i]
    gradient, diagonal, z = np.empty(d + 1), np.empty(d + 1), np.empty(d + 1)
    trial, candidate = np.empty(d + 1), np.empty(d + 1)
    active = np.empty(d + 1, np.int32)
    objective = primal_objective(margin, weight, link, beta, mode, l1, l2)
    gap = kkt = kkt_bound = np.nan
    converged = False
    rounds = 0
    while True:
        for i in range(n):
            theta[i] = loss_theta(margin[i], link)[1]
            curvature[i] = weight[i] * bend(margin[i], theta[i], link)
            shift[i] = 0.0
        # Gradient everywhere; the active coordinates and their second derivatives.
        kkt = kkt_bound = 0.0
        n_active = 0
        for j in range(d, -1, -1):  # the intercept first
            g = h = 0.0
            if j == d:
                for i in range(n):
                    g -= weight[i] * y[i] * theta[i]
                    h += curvature[i]
            else:
                for k in range(indptr[j], indptr[j + 1]):
                    i = indices[k]
                    g -= data[k] * weight[i] * y[i] * theta[i]
                    h += data[k] * data[k] * curvature[i]
            gradient[j], diagonal[j], z[j] = g, h, -g
            v = violation(beta[j], g, mode[j], l1[j], l2[j], lower[j], upper[j])
            kkt = max(kkt, v)
            kkt_bound += v * max(abs(beta[j] - mode[j]), 1.0)
            if (v > 0.0 and h + l2[j] > 0.0) or beta[j] != mode[j]:
                active[n_active] = j
                n_active += 1
        scale = feasible_scale(z, l1, l2, lower, upper)
        gap = np.nan
        if not np.isnan(scale):
            dual = dual_objective(theta, weight, link, z, scale, mode, l1, l2, lower, upper)
            gap = max(objective - dual, 0.0)
        bound = kkt_bound if np.isnan(gap) else gap
        converged = bound <= tol * objective
        if converged or rounds == max_iter:
            break
        rounds += 1

        # Coordinate descent on the quadratic model, to a tenth of the violation the round began with.
        assign(trial, beta)
        assign(candidate, beta)
        for _ in range(200):
            largest = 0.0
            for a in range(n_active):
                j = active[a]
                g = gradient[j]
                if j == d:
                    for i in range(n):
                        g += curvature[i] * shift[i]
                else:
                    for k in range(indptr[j], indptr[j + 1]):
                        i = indices[k]
                        g += data[k] * curvature[i] * shift[i]
                v = violation(trial[j], g, mode[j], l1[j], l2[j], lower[j], upper[j])
                largest = max(largest, v)
                h = max(diagonal[j], 1e-12 * max(1.0, l1[j]))
                best = argmin(trial[j], g, h, mode[j], l1[j], l2[j], lower[j], upper[j])
                step = best - trial[j]
                if v == 0.0 or step == 0.0:
                    continue
                trial[j] = best
                if j == d:
                    for i in range(n):
                        shift[i] += step
                else:
                    for k in range(indptr[j], indptr[j + 1]):
                        shift[indices[k]] += data[k] * step
            if largest <= 0.1 * kkt:
                break

        # Armijo: accept a step t that wins at least a hundredth of what the model promises.
        promise = 0.0
        for a in range(n_active):
            j = active[a]
            new, old = trial[j] - mode[j], beta[j] - mode[j]
            promise += gradient[j] * (trial[j] - beta[j])
            promise += l1[j] * (abs(new) - abs(old)) + 0.5 * l2[j] * (new * new - old * old)
        t = 1.0
        improved = False
        for _ in range(40):
            for i in range(n):
                score[i] = margin[i] + t * y[i] * shift[i]
            for a in range(n_active):
                j = active[a]
                candidate[j] = trial[j] if t == 1.0 else beta[j] + t * (trial[j] - beta[j])
            value = primal_objective(score, weight, link, candidate, mode, l1, l2)
            if value <= objective + 0.01 * t * promise and value < objective:
                improved = True
                break
            t *= 0.5
        if not improved:  # rounding is all that is left
            break
        assign(beta, candidate)
        assign(margin, score)
        objective = value
    if not np.isnan(scale):  # the point that the gap was measured at
        for i in range(n):
            theta[i] *= scale
    return objective, gap, kkt_bound, rounds, converged, theta
