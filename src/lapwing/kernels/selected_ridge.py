"""From a ridge solution to a sparse one near it: AAGBD11 Eq. 6 and Eq. 4.

β*      (d+1,) the ridge solution over columns, the constant feature last
w       (n,) curvature of the loss at β*: c_i loss''(r_i)
H       Xᵀ diag(w) X + diag(l2), the Hessian of the objective at β*; never formed
offset  (d+1,) added to every entry of a column; that of the constant feature, which has no entries, is 1
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part
from lapwing.kernels.loss import argmin, bend, loss_theta, penalty_at, violation


@kernel
def curvature(margin, weight, link):
    """w_i = c_i loss''(r_i)"""
    out = np.empty(margin.size)
    for i in range(margin.size):
        out[i] = weight[i] * bend(margin[i], loss_theta(margin[i], link)[1], link)
    return out


@kernel
def sums(indptr, indices, data, offset, w):
    """(Σ_i w_i x_ij, Σ_i w_i x_ij²) of every column as stored, and of the column with its offset."""
    size = offset.size
    plain = np.zeros(size)
    square = np.zeros(size)
    total = np.sum(w)
    for j in range(size):
        if j < size - 1:
            for k in range(indptr[j], indptr[j + 1]):
                part = w[indices[k]] * data[k]
                plain[j] += part
                square[j] += part * data[k]
        square[j] += offset[j] * (2.0 * plain[j] + offset[j] * total)
    return plain, square


@part
def _slope(indptr, indices, data, offset, w, plain, j, s, common, weighted, total):
    """Σ_i w_i x_ij u_i, with u_i = s_i + common, weighted = Σ w_i s_i and total = Σ w_i."""
    slope = plain[j] * common + offset[j] * (weighted + total * common)
    if j < offset.size - 1:
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            slope += data[k] * w[i] * s[i]
    return slope


@part
def _product(indptr, indices, data, offset, w, plain, l2, chosen, p, s, out):
    """out_a = (H p)_a over the columns `chosen`, p being zero elsewhere; s (n,) is scratch."""
    d = offset.size - 1
    s[:] = 0.0
    common = weighted = 0.0
    for a in range(chosen.size):
        j = chosen[a]
        common += offset[j] * p[a]
        weighted += plain[j] * p[a]
        if j < d:
            for k in range(indptr[j], indptr[j + 1]):
                s[indices[k]] += data[k] * p[a]
    total = np.sum(w)
    for a in range(chosen.size):
        j = chosen[a]
        out[a] = _slope(indptr, indices, data, offset, w, plain, j, s, common, weighted, total) + l2[j] * p[a]


@part
def _towards(indptr, indices, data, offset, w, plain, diagonal, l2, chosen, rhs, most, step):
    """Conjugate gradients, preconditioned by the diagonal, for 2 H step = rhs over the columns `chosen`."""
    m = chosen.size
    s = np.empty(w.size)
    p, Hp = np.empty(m), np.empty(m)
    residual = rhs.copy()
    step[:] = 0.0
    rho = 0.0
    for a in range(m):
        p[a] = residual[a] / diagonal[chosen[a]]
        rho += residual[a] * p[a]
    target = 1e-20 * rho
    for _ in range(most):
        if rho <= target or rho <= 0.0:
            break
        _product(indptr, indices, data, offset, w, plain, l2, chosen, p, s, Hp)
        length = rho / (2.0 * np.sum(p * Hp))
        fresh = 0.0
        for a in range(m):
            step[a] += length * p[a]
            residual[a] -= 2.0 * length * Hp[a]
            fresh += residual[a] * residual[a] / diagonal[chosen[a]]
        ratio = fresh / rho
        rho = fresh
        for a in range(m):
            p[a] = residual[a] / diagonal[chosen[a]] + ratio * p[a]


@kernel
def near(indptr, indices, data, offset, w, l2, star, alpha, beta, tol, most):
    """min_β (β-β*)ᵀ H (β-β*) + α‖β‖₁, AAGBD11 Eq. 4; from `beta`, which is overwritten. X by columns.

    Coordinate descent over the columns that are not zero or would leave zero, keeping u = X(β-β*). In
    between, with signs fixed, a step towards the solution of the linear system that is left; a coefficient
    on its way through zero stops there. Ends when the largest violation of the optimality conditions
        2(H(β-β*))_j = -α sign β_j, or |2(H(β-β*))_j| ≤ α where β_j = 0
    over all coordinates is at most tol. Returns (that violation, rounds).
    """
    n, size = w.size, beta.size
    plain, diagonal = sums(indptr, indices, data, offset, w)
    diagonal += l2
    total = np.sum(w)
    s = np.zeros(n)
    gradient = np.empty(size)
    active = np.empty(size, np.int64)
    worst = np.inf
    for rounds in range(most):
        # u afresh, so that rounding does not pile up; the gradient everywhere.
        s[:] = 0.0
        common = weighted = 0.0
        for j in range(size):
            away = beta[j] - star[j]
            common += offset[j] * away
            weighted += plain[j] * away
            if j < size - 1 and away != 0.0:
                for k in range(indptr[j], indptr[j + 1]):
                    s[indices[k]] += data[k] * away
        worst = 0.0
        count = 0
        for j in range(size):
            slope = _slope(indptr, indices, data, offset, w, plain, j, s, common, weighted, total)
            gradient[j] = 2.0 * (slope + l2[j] * (beta[j] - star[j]))
            v = violation(beta[j], gradient[j], 0.0, alpha, 0.0, -np.inf, np.inf)
            worst = max(worst, v)
            if diagonal[j] > 0.0 and (v > 0.0 or beta[j] != 0.0):
                active[count] = j
                count += 1
        if worst <= tol:
            return worst, rounds
        for sweep in range(20):
            moved = False
            for a in range(count):
                j = active[a]
                slope = _slope(indptr, indices, data, offset, w, plain, j, s, common, weighted, total)
                g = 2.0 * (slope + l2[j] * (beta[j] - star[j]))
                change = argmin(beta[j], g, 2.0 * diagonal[j], 0.0, alpha, 0.0, -np.inf, np.inf) - beta[j]
                if change != 0.0:
                    moved = moved or (beta[j] == 0.0) != (beta[j] + change == 0.0)
                    beta[j] += change
                    common += offset[j] * change
                    weighted += plain[j] * change
                    if j < size - 1:
                        for k in range(indptr[j], indptr[j + 1]):
                            s[indices[k]] += data[k] * change
            if not moved and sweep >= 3:
                break
        _signs_fixed(indptr, indices, data, offset, w, plain, diagonal, l2, star, alpha, beta, s, common, weighted)
    return worst, most


@part
def _signs_fixed(indptr, indices, data, offset, w, plain, diagonal, l2, star, alpha, beta, s, common, weighted):
    """Go towards the minimum over the coefficients that are not zero, none of them changing its sign.

    Those that would stop at zero; where the objective does not fall that way, all stop at the first.
    """
    free = np.flatnonzero((beta != 0.0) & (diagonal > 0.0))
    m = free.size
    if m == 0:
        return
    total = np.sum(w)
    slope, step, full = np.empty(m), np.empty(m), np.empty(m)
    for a in range(m):
        j = free[a]
        g = _slope(indptr, indices, data, offset, w, plain, j, s, common, weighted, total)
        slope[a] = 2.0 * (g + l2[j] * (beta[j] - star[j]))
    rhs = -slope - alpha * np.sign(beta[free])
    _towards(indptr, indices, data, offset, w, plain, diagonal, l2, free, rhs, 500, full)
    first = 1.0
    for a in range(m):
        b = beta[free[a]]
        step[a] = full[a]
        if (b + full[a]) * b < 0.0:
            step[a] = -b
            first = min(first, -b / full[a])
    scratch, bent = np.empty(w.size), np.empty(m)
    for _ in range(2):
        _product(indptr, indices, data, offset, w, plain, l2, free, step, scratch, bent)
        fall = 0.0
        for a in range(m):
            b = beta[free[a]]
            fall += step[a] * (slope[a] + bent[a])
            fall += penalty_at(b + step[a], 0.0, alpha, 0.0) - penalty_at(b, 0.0, alpha, 0.0)
        if fall < 0.0:
            for a in range(m):
                j = free[a]
                new = beta[j] + step[a]
                beta[j] = 0.0 if abs(new) <= 1e-14 * abs(beta[j]) else new
            return
        step[:] = first * full
