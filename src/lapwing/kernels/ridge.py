"""Newton's method with conjugate gradients, where the objective is smooth: Gaussian priors."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import bend, dual_objective, feasible_scale, few, loss_theta, majorant


@kernel
def _gradient(indptr, indices, data, offset, pull, beta, mode, l2, out):
    """out = -Xᵀ pull + l2(β-m), the constant feature last; X by rows."""
    d = beta.size - 1
    for j in range(d + 1):
        out[j] = l2[j] * (beta[j] - mode[j])
    total = 0.0
    for i in range(pull.size):
        p = pull[i]
        if p != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] -= data[k] * p
            total += p
    for j in range(d):
        out[j] -= offset[j] * total
    out[d] -= total


@kernel
def _hessian_times(indptr, indices, data, offset, curvature, kept, small, p, out):
    """out = Xᵀ diag(curvature) X p + small p over the documents kept, in one pass. Returns p·out."""
    d = p.size - 1
    common = p[d]
    for j in range(d + 1):
        out[j] = small[j] * p[j]
        common += offset[j] * p[j]
    everywhere = 0.0
    for i in kept:
        if curvature[i] > 0.0:
            total = common
            for k in range(indptr[i], indptr[i + 1]):
                total += data[k] * p[indices[k]]
            total *= curvature[i]
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += data[k] * total
            everywhere += total
    for j in range(d):
        out[j] += offset[j] * everywhere
    out[d] += everywhere
    product = 0.0
    for j in range(d + 1):
        product += p[j] * out[j]
    return product


@kernel
def _diagonals(indptr, indices, data, curvature, cut, l2, small, out):
    """`out`: the diagonal of the Hessian; `small`: l2 and the part of it that documents under the cut have.

    Offsets are left out: this is the preconditioner, and with offsets no document is under the cut.
    """
    d = out.size - 1
    small[:] = l2
    out[:] = 0.0
    for i in range(curvature.size):
        c = curvature[i]
        target = out if c >= cut else small
        if c > 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                target[indices[k]] += c * data[k] * data[k]
            target[d] += c
    for j in range(d + 1):
        out[j] += small[j]
        if out[j] <= 0.0:
            out[j] = 1.0


@kernel
def _direction(indptr, indices, data, offset, curvature, kept, small, gradient, precision, most, step, diagonal):
    """Preconditioned conjugate gradients for H step = -gradient. Returns the iterations taken."""
    size = gradient.size
    residual = -gradient
    p = np.empty(size)
    Hp = np.empty(size)
    step[:] = 0.0
    rho = 0.0
    for j in range(size):
        p[j] = residual[j] / diagonal[j]
        rho += residual[j] * p[j]
    target = precision * precision * rho
    for iteration in range(most):
        if rho <= target or rho <= 0.0:
            return iteration
        product = _hessian_times(indptr, indices, data, offset, curvature, kept, small, p, Hp)
        if product <= 0.0:
            return iteration
        alpha = rho / product
        fresh = 0.0
        for j in range(size):
            step[j] += alpha * p[j]
            residual[j] -= alpha * Hp[j]
            fresh += residual[j] * residual[j] / diagonal[j]
        ratio = fresh / rho
        rho = fresh
        for j in range(size):
            p[j] = residual[j] / diagonal[j] + ratio * p[j]
    return most


@kernel
def fit(indptr, indices, data, offset, y, weight, link, mode, l1, l2, lower, upper, beta, tol, max_rounds):
    """min_β Σ_i c_i loss(r_i) + Σ_j l2_j(β_j-m_j)²/2; l1 is 0 and there are no bounds.

    indptr, indices, data   X by rows (CSR); offset and the other arguments as in kernels/newton.py
    Returns (objective, gap, kkt_bound, rounds, converged, dual point); the gap is Σ_j g_j²/(2 l2_j).
    """
    n, d = y.size, beta.size - 1
    margin = np.empty(n)
    common = beta[d] + np.sum(offset * beta)
    for i in range(n):
        total = common
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * beta[indices[k]]
        margin[i] = y[i] * total
    theta = np.empty(n)
    pull = np.empty(n)
    shift = np.empty(n)
    trial = np.empty(n)
    curvature = np.empty(n)
    gradient = np.empty(d + 1)
    diagonal = np.empty(d + 1)
    small = np.empty(d + 1)
    step = np.empty(d + 1)
    loss = 0.0
    for i in range(n):
        value, theta[i] = loss_theta(margin[i], link)
        loss += weight[i] * value
    penalty = 0.5 * np.sum(l2 * (beta - mode) ** 2)
    gap = kkt_bound = np.nan
    converged = cautious = False
    reached = 1.0  # relative fall of the objective in the round before
    rounds = 0
    while True:
        objective = loss + penalty
        for i in range(n):
            pull[i] = weight[i] * y[i] * theta[i]
        _gradient(indptr, indices, data, offset, pull, beta, mode, l2, gradient)
        kkt_bound = 0.0
        for j in range(d + 1):
            kkt_bound += abs(gradient[j]) * max(abs(beta[j] - mode[j]), 1.0)
        z = l2 * (beta - mode) - gradient
        scale = feasible_scale(z, l1, l2, lower, upper)
        if np.isnan(scale):
            gap = np.nan
            converged = kkt_bound <= tol * objective
        else:
            gap = max(objective - dual_objective(theta, weight, link, z, scale, mode, l1, l2, lower, upper), 0.0)
            converged = gap <= tol * objective
        if converged or rounds == max_rounds:
            break
        rounds += 1
        for i in range(n):
            bends = majorant(margin[i], link) if cautious else bend(margin[i], theta[i], link)
            curvature[i] = weight[i] * max(bends, 1e-12)
        cut = 0.0 if np.any(offset) else few(curvature)
        kept = np.flatnonzero(curvature >= cut)
        _diagonals(indptr, indices, data, curvature, cut, l2, small, diagonal)
        precision = min(0.3, max(0.01, np.sqrt(reached)))
        _direction(indptr, indices, data, offset, curvature, kept, small, gradient, precision, 200, step, diagonal)
        slope = np.sum(step * gradient)
        common = step[d] + np.sum(offset * step)
        for i in range(n):
            total = common
            for k in range(indptr[i], indptr[i + 1]):
                total += data[k] * step[indices[k]]
            shift[i] = y[i] * total
        t = 1.0
        accepted = False
        for _ in range(8):
            new_loss = 0.0
            for i in range(n):
                trial[i] = margin[i] + t * shift[i]
                value, theta[i] = loss_theta(trial[i], link)
                new_loss += weight[i] * value
            new_penalty = 0.5 * np.sum(l2 * (beta + t * step - mode) ** 2)
            if new_loss + new_penalty <= objective + 0.01 * t * slope + 1e-13 * objective:
                accepted = True
                break
            t *= 0.5
        if not accepted:
            for i in range(n):
                theta[i] = loss_theta(margin[i], link)[1]
            if cautious:
                break
            cautious = True
            continue
        cautious = t < 0.25
        margin[:] = trial
        for j in range(d + 1):
            beta[j] += t * step[j]
        reached = (objective - new_loss - new_penalty) / max(objective, 1e-300)
        loss, penalty = new_loss, new_penalty
    return loss + penalty, gap, kkt_bound, rounds, converged, theta
