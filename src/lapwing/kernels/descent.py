"""Proximal Newton with coordinate descent, one category at a time."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel


@kernel
def _loss(margin):
    """ln(1+e^-r), without overflow."""
    if margin > 0.0:
        return np.log1p(np.exp(-margin))
    return np.log1p(np.exp(margin)) - margin


@kernel
def _theta(margin):
    """-loss'(r) = 1/(1+e^r), without overflow."""
    if margin > 0.0:
        decay = np.exp(-margin)
        return decay / (1.0 + decay)
    return 1.0 / (1.0 + np.exp(margin))


@kernel
def _argmin(b, g, h, mode, l1, l2, lower, upper):
    """argmin over lower ≤ t ≤ upper of g(t-b) + h(t-b)²/2 + l1|t-mode| + l2(t-mode)²/2."""
    curve = h + l2
    away = (h * (b - mode) - g) / curve
    shrunk = l1 / curve
    slack = 1e-14 * shrunk  # a coefficient of rounding errors is no coefficient
    if away > shrunk + slack:
        best = mode + away - shrunk
    elif away < -shrunk - slack:
        best = mode + away + shrunk
    else:
        best = mode
    return min(max(best, lower), upper)


@kernel
def _objective(margin, weight, beta, mode, l1, l2):
    total = 0.0
    for i in range(margin.size):
        if weight[i] > 0.0:
            total += weight[i] * _loss(margin[i])
    for j in range(beta.size):
        away = beta[j] - mode[j]
        total += l1[j] * abs(away) + 0.5 * l2[j] * away * away
    return total


@kernel
def _violation(b, g, mode, l1, l2, lower, upper):
    """Distance of 0 from the subdifferential in one coordinate; g is the derivative of the loss."""
    away = b - mode
    smooth = g + l2 * away
    worst = 0.0
    if b < upper:
        worst = max(worst, -(smooth + (l1 if away >= 0.0 else -l1)))
    if b > lower:
        worst = max(worst, smooth + (l1 if away > 0.0 else -l1))
    return worst


@kernel
def _duality_gap(theta, weight, z, objective, beta, mode, l1, l2, lower, upper):
    """P - D at the dual point s·θ, s ≤ 1 the largest feasible scale; see model/objective.py. NaN if a
    coordinate is flat."""
    scale = 1.0
    for j in range(z.size):
        if l2[j] == 0.0:
            open_side = (np.isinf(upper[j]) and z[j] > 0.0) or (np.isinf(lower[j]) and z[j] < 0.0)
            if open_side and l1[j] == 0.0:
                return np.nan
            if open_side and abs(z[j]) > l1[j]:
                scale = min(scale, l1[j] / abs(z[j]))
    dual = 0.0
    for i in range(theta.size):
        t = scale * theta[i]
        if weight[i] > 0.0 and 0.0 < t < 1.0:
            dual -= weight[i] * (t * np.log(t) + (1.0 - t) * np.log1p(-t))
    for j in range(z.size):
        zj = scale * z[j]
        if l2[j] == 0.0:
            best = mode[j]
            if zj > l1[j] and not np.isinf(upper[j]):
                best = upper[j]
            elif zj < -l1[j] and not np.isinf(lower[j]):
                best = lower[j]
            best = min(max(best, lower[j]), upper[j])
        else:
            best = _argmin(mode[j], -zj, 0.0, mode[j], l1[j], l2[j], lower[j], upper[j])
        away = best - mode[j]
        dual -= zj * best - l1[j] * abs(away) - 0.5 * l2[j] * away * away
    return max(objective - dual, 0.0)


@kernel
def fit(indptr, indices, data, y, weight, mode, l1, l2, lower, upper, beta, tol, max_iter):
    """min_β Σ_i c_i ln(1+e^{-r_i}) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ], lower ≤ β ≤ upper.

    indptr, indices, data   X by columns (CSC), d of them; the constant feature is coordinate d
    y, weight               labels ±1 and document weights c
    mode … upper            the prior, d+1 entries each
    beta                    start; overwritten by the solution

    Each round builds the quadratic model of the loss at β, runs coordinate descent on it over the
    coordinates that are away from their mode or violate the optimality conditions, and goes along the
    direction found as far as the objective falls enough (Armijo). Stops when the duality gap, or where
    there is none the KKT bound, is at most tol × objective.

    Returns (objective, gap, kkt, kkt_bound, rounds, converged, theta).
    """
    n, d = y.size, beta.size - 1
    margin = np.empty(n)
    theta = np.empty(n)
    curvature = np.empty(n)
    shift = np.empty(n)  # X δ, the change of the scores along the direction
    score = np.full(n, beta[d])
    for j in range(d):
        if beta[j] != 0.0:
            for k in range(indptr[j], indptr[j + 1]):
                score[indices[k]] += data[k] * beta[j]
    for i in range(n):
        margin[i] = y[i] * score[i]
    gradient = np.empty(d + 1)
    diagonal = np.empty(d + 1)
    trial = np.empty(d + 1)
    active = np.empty(d + 1, np.int64)
    objective = _objective(margin, weight, beta, mode, l1, l2)
    gap = kkt = kkt_bound = np.nan
    converged = False
    rounds = 0
    while True:
        for i in range(n):
            theta[i] = _theta(margin[i])
            curvature[i] = weight[i] * theta[i] * (1.0 - theta[i])
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
            gradient[j] = g
            diagonal[j] = h
            v = _violation(beta[j], g, mode[j], l1[j], l2[j], lower[j], upper[j])
            kkt = max(kkt, v)
            kkt_bound += v * max(abs(beta[j] - mode[j]), 1.0)
            if v > 0.0 and h + l2[j] > 0.0 or beta[j] != mode[j]:
                active[n_active] = j
                n_active += 1
        gap = _duality_gap(theta, weight, -gradient, objective, beta, mode, l1, l2, lower, upper)
        bound = kkt_bound if np.isnan(gap) else gap
        converged = bound <= tol * objective
        if converged or rounds == max_iter:
            break
        rounds += 1

        # Coordinate descent on the quadratic model, to a tenth of the violation the round began with.
        trial[:] = beta
        for sweep in range(200):
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
                v = _violation(trial[j], g, mode[j], l1[j], l2[j], lower[j], upper[j])
                largest = max(largest, v)
                h = max(diagonal[j], 1e-12 * max(1.0, l1[j]))
                best = _argmin(trial[j], g, h, mode[j], l1[j], l2[j], lower[j], upper[j])
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
        candidate = beta.copy()
        for halving in range(40):
            for i in range(n):
                score[i] = margin[i] + t * y[i] * shift[i]
            for a in range(n_active):
                j = active[a]
                candidate[j] = trial[j] if t == 1.0 else beta[j] + t * (trial[j] - beta[j])
            value = _objective(score, weight, candidate, mode, l1, l2)
            if value <= objective + 0.01 * t * promise and value < objective:
                improved = True
                break
            t *= 0.5
        if not improved:  # rounding is all that is left
            break
        beta[:] = candidate
        margin[:] = score
        objective = value
    return objective, gap, kkt, kkt_bound, rounds, converged, theta
