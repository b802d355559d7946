"""Proximal Newton with coordinate descent: for small matrices, and where Newton's method stalls.

    min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ],   lower ≤ β ≤ upper

Each round builds the quadratic model of the loss at β, runs coordinate descent on it over the coordinates that are away
from their mode or violate the optimality conditions, and goes along the direction found as far as the objective falls
enough (Armijo).
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import inlined, kernel
from lapwing.kernels.loss import (
    add_column,
    argmin,
    assign,
    bend,
    dual_objective,
    feasible_scale,
    is_flat,
    loss_theta,
    primal_objective,
    violation,
)
from lapwing.kernels.nouns import ARMIJO, Result

SWEEPS = 200  # of coordinate descent in a round at most,
ENOUGH = 0.1  # or until violations are this share of what the round began with
HALVINGS = 40  # of a step; a shorter one is rounding


@inlined
def _model(columns, documents, prior, beta, margin, theta, curvature, gradient, diagonal, active):
    """θ and curvature of every document, gradient and diagonal of every coordinate; the active ones, constant first.

    Returns (how many are active, kkt, kkt_bound).
    """
    indptr, indices, data = columns
    y, weight, link = documents
    for i in range(y.size):
        theta[i] = loss_theta(margin[i], link)[1]
        curvature[i] = weight[i] * bend(margin[i], theta[i], link)
    kkt = kkt_bound = 0.0
    count = 0
    for j in range(beta.size - 1, -1, -1):
        g = h = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            g -= data[k] * weight[i] * y[i] * theta[i]
            h += data[k] * data[k] * curvature[i]
        gradient[j], diagonal[j] = g, h
        v = violation(prior, j, beta[j], g)
        kkt = max(kkt, v)
        kkt_bound += v * max(abs(beta[j] - prior.mode[j]), 1.0)
        if (v > 0.0 and h + prior.l2[j] > 0.0) or beta[j] != prior.mode[j]:
            active[count] = j
            count += 1
    return count, kkt, kkt_bound


@inlined
def _descend(columns, prior, curvature, gradient, diagonal, active, enough, trial, shift):
    """Coordinate descent on the quadratic model, from `trial`, to violations of `enough`; shift = X(trial - β)."""
    indptr, indices, data = columns
    for _ in range(SWEEPS):
        largest = 0.0
        for a in range(active.size):
            j = np.int64(active[a])
            g = gradient[j]
            for k in range(indptr[j], indptr[j + 1]):
                i = indices[k]
                g += data[k] * curvature[i] * shift[i]
            v = violation(prior, j, trial[j], g)
            largest = max(largest, v)
            best = argmin(prior, j, trial[j], g, max(diagonal[j], 1e-12 * max(1.0, prior.l1[j])))
            step = best - trial[j]
            if v == 0.0 or step == 0.0:
                continue
            trial[j] = best
            add_column(columns, j, step, shift)
        if largest <= enough:
            return


@inlined
def _promise(prior, gradient, active, beta, trial):
    """First-order change of the objective along trial - β, negative."""
    total = 0.0
    for a in range(active.size):
        j = np.int64(active[a])
        new, old = trial[j] - prior.mode[j], beta[j] - prior.mode[j]
        total += gradient[j] * (trial[j] - beta[j])
        total += prior.l1[j] * (abs(new) - abs(old)) + 0.5 * prior.l2[j] * (new * new - old * old)
    return total


@inlined
def _search(documents, prior, active, trial, shift, objective, promise, beta, margin, candidate, there):
    """Half the step from β to `trial` until it wins enough of what it promises: the objective there.

    β and the margins are then there; or, if no step does, where they were, and the objective is returned as it was.
    """
    y, weight, link = documents
    assign(candidate, beta)
    t = 1.0
    for _ in range(HALVINGS):
        for i in range(y.size):
            there[i] = margin[i] + t * y[i] * shift[i]
        for a in range(active.size):
            j = np.int64(active[a])
            candidate[j] = trial[j] if t == 1.0 else beta[j] + t * (trial[j] - beta[j])
        value = primal_objective(there, weight, link, candidate, prior)
        if value <= objective + ARMIJO * t * promise and value < objective:
            assign(beta, candidate)
            assign(margin, there)
            return value
        t *= 0.5
    return objective


@kernel
def fit(columns, documents, prior, beta, tol, max_rounds):
    """Minimise the objective of the heading.

    columns   X by columns, the constant feature with its entries: this solver goes by stored entries
    beta      start; overwritten by the solution

    Stops when the duality gap, or where there is none the KKT bound, is at most tol × objective.
    """
    y, weight, link = documents
    n, size = y.size, beta.size
    margin, there, theta, curvature, shift = np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    gradient, diagonal, z = np.empty(size), np.empty(size), np.empty(size)
    trial, candidate, active = np.empty(size), np.empty(size), np.empty(size, np.int32)
    add_column(columns, size - 1, beta[size - 1], margin)
    for j in range(size - 1):
        if beta[j] != 0.0:
            add_column(columns, j, beta[j], margin)
    for i in range(n):
        margin[i] *= y[i]
    objective = primal_objective(margin, weight, link, beta, prior)
    rounds, flat = 0, is_flat(prior)
    while True:
        count, kkt, kkt_bound = _model(
            columns, documents, prior, beta, margin, theta, curvature, gradient, diagonal, active
        )
        for j in range(size):
            z[j] = -gradient[j]
        gap, scale = np.nan, 1.0
        if not flat:
            scale = feasible_scale(z, prior)
            gap = max(objective - dual_objective(theta, weight, link, z, scale, prior), 0.0)
        converged = (kkt_bound if flat else gap) <= tol * objective
        if converged or rounds == max_rounds:
            break
        rounds += 1
        assign(trial, beta)
        for i in range(n):
            shift[i] = 0.0
        some = active[:count]
        _descend(columns, prior, curvature, gradient, diagonal, some, ENOUGH * kkt, trial, shift)
        promise = _promise(prior, gradient, some, beta, trial)
        value = _search(documents, prior, some, trial, shift, objective, promise, beta, margin, candidate, there)
        if value == objective:  # rounding is all that is left
            break
        objective = value
    for i in range(n):
        theta[i] *= scale  # the point that the gap was measured at
    return Result(objective, gap, kkt, kkt_bound, rounds, converged, theta)
