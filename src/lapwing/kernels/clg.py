"""CLG and CLG-lasso: cyclic coordinate descent inside trust regions (GLM07, Figures 4 and 5), as corrected."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part
from lapwing.kernels.loss import assign, bend, loss_theta, primal_objective

NARROWEST = 1e-6  # no trust region gets smaller


@kernel
def curvature_bound(r, delta, link):
    """F(r, δ) ≥ f''(r + Δr) for all |Δr| ≤ δ (GLM07 Eq. 25), δ ≥ 0. 1/(2+e^x+e^-x) is e^-x/(1+e^-x)².

    The probit loss curves less and less as r grows, so there the bound is f''(r - δ).
    """
    if link != 0:
        return bend(r - delta, loss_theta(r - delta, link)[1], link)
    beyond = abs(r) - delta
    if beyond <= 0.0:
        return 0.25
    decay = np.exp(-beyond)
    return decay / ((1.0 + decay) * (1.0 + decay))


@part
def _quotient(pull, curvature):
    """pull/curvature; where nothing curves, as far as the trust region lets it."""
    if curvature > 0.0:
        return pull / curvature
    return np.inf * pull if pull != 0.0 else 0.0


@kernel
def tentative_step(b, pull, curvature, mode, l1):
    """Δv_j: where ĝ, on the side of the mode that β_j is on, has its minimum, but no further than the mode.

    pull is minus the derivative of the smooth terms, Σ_i c_i x_ij y_i θ_i - l2 (β_j-m_j), and
    curvature is G = Σ_i c_i x_ij² F(r_i, Δ_j|x_ij|) + l2. At the mode the side is the direction tried.
    """
    if l1 == 0.0:
        return _quotient(pull, curvature)  # Eq. 26
    if b == mode:  # (4.1)
        step = _quotient(pull - l1, curvature)  # (4.2, 4.3) Eq. 28 with s = 1
        if step <= 0.0:  # (4.4)
            step = _quotient(pull + l1, curvature)  # (4.5, 4.6) Eq. 28 with s = -1
            if step >= 0.0:  # (4.7)
                step = 0.0  # (4.8)
        return step
    s = 1.0 if b > mode else -1.0  # (4.12)
    step = _quotient(pull - s * l1, curvature)  # (4.13) Eq. 28
    if s * (b + step - mode) < 0.0:  # (4.14) it would cross over the mode
        step = mode - b  # (4.15)
    return step


@kernel
def fit(columns, documents, prior, beta, tol, max_cycles):
    """min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ], lower ≤ β ≤ upper.

    columns   X by columns, the constant feature with its entries
    beta      start, within the bounds; overwritten by the solution

    GLM07 Figure 4, with Figure 5 wherever l1_j > 0; corrected in signs and factors, and widened to document
    weights, modes other than 0, both penalties at once, and bounds, at which a step stops. F bounds f''
    over the whole trust region, so ĝ lies above g there and no step makes the objective rise.

    One thing is not in the paper: Δ_j stays at NARROWEST or above. The print halves it in every cycle that
    leaves β_j where it is; a feature that has to move after hundreds of them would need as many to get
    going, its moves meanwhile too small for the rule that stops the cycles to see.

    Stops after a cycle with Σ_i c_i|Δr_i| ≤ tol (1 + Σ_i c_i|r_i|), Δr_i the change over the whole cycle, if the
    objective, too, fell by no more than tol times itself: two columns that are alike but for their priors can
    trade weight without moving a score.

    Returns (objective, cycles, converged, trace); trace[k] is the objective after k cycles.
    """
    indptr, indices, data = columns
    y, weight, link = documents
    mode, l1, l2, lower, upper = prior
    n, size = y.size, beta.size
    radius = np.ones(size)  # (1) Δ_j
    margin = np.zeros(n)  # r_i
    theta = np.empty(n)  # -f'(r_i), kept up to date with r_i
    before = np.empty(n)  # r_i when the cycle began
    for j in range(size):
        if beta[j] != 0.0:
            for k in range(indptr[j], indptr[j + 1]):
                margin[indices[k]] += beta[j] * data[k] * y[indices[k]]
    for i in range(n):
        theta[i] = loss_theta(margin[i], link)[1]
    trace = np.empty(max_cycles + 1)
    trace[0] = primal_objective(margin, weight, link, beta, prior)

    cycles = 0
    converged = False
    while not converged and cycles < max_cycles:  # (2)
        assign(before, margin)
        for j in range(size):  # (3)
            column = range(indptr[j], indptr[j + 1])
            pull = -l2[j] * (beta[j] - mode[j])  # -g'(β_j), Eq. 15, without l1
            for k in column:
                i = indices[k]
                pull += weight[i] * data[k] * y[i] * theta[i]
            if beta[j] == mode[j] and abs(pull) <= l1[j]:
                step = 0.0  # (4.8), whatever G is
            else:
                G = l2[j]  # Eq. 21
                for k in column:
                    i = indices[k]
                    G += weight[i] * data[k] * data[k] * curvature_bound(margin[i], radius[j] * abs(data[k]), link)
                step = tentative_step(beta[j], pull, G, mode[j], l1[j])  # (4)
            step = min(max(step, -radius[j]), radius[j])  # (5) Eq. 27
            step = min(max(step, lower[j] - beta[j]), upper[j] - beta[j])
            if step != 0.0:
                for k in column:  # (6)
                    i = indices[k]
                    margin[i] += step * data[k] * y[i]
                    theta[i] = loss_theta(margin[i], link)[1]
                reached = mode[j] if step == mode[j] - beta[j] else beta[j] + step  # a mode is met exactly
                beta[j] = min(max(reached, lower[j]), upper[j])  # (7)
            radius[j] = max(2.0 * abs(step), 0.5 * radius[j], NARROWEST)  # (8) Eq. 19
        cycles += 1
        trace[cycles] = primal_objective(margin, weight, link, beta, prior)
        change = total = 0.0
        for i in range(n):
            change += weight[i] * abs(margin[i] - before[i])
            total += weight[i] * abs(margin[i])
        fell = trace[cycles - 1] - trace[cycles]
        converged = change <= tol * (1.0 + total) and fell <= tol * trace[cycles]
    return trace[cycles], cycles, converged, trace[: cycles + 1]
