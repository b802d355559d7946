"""From a ridge solution to a sparse one near it: AAGBD11 Eq. 6 and Eq. 4.

β*      (d+1,) the ridge solution over columns, the constant feature last
w       (n,) curvature of the loss at β*: c_i loss''(r_i)
H       Xᵀ diag(w) X + diag(l2), the Hessian of the objective at β*; never formed
offset  (d+1,) added to every entry of a column; that of the constant feature, which has no entries, is 1
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels import wide
from lapwing.kernels._jit import kernel, part
from lapwing.kernels.loss import bend, loss_theta, violation


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


@kernel
def near(indptr, indices, data, offset, w, l2, star, alpha, beta, tol, most):
    """min_β (β-β*)ᵀ H (β-β*) + α‖β‖₁, AAGBD11 Eq. 4; from `beta`, which is overwritten. X by columns.

    Half of it is a quadratic with a Laplace prior and, since l2(b-β*)²/2 is l2 b²/2 - l2 β* b but for a constant, a
    Gaussian one: kernels/wide.py, over the coefficients that are not zero or would leave zero. Ends when the largest
    violation of the optimality conditions
        2(H(β-β*))_j = -α sign β_j, or |2(H(β-β*))_j| ≤ α where β_j = 0
    over all coordinates is at most tol. Returns (that violation, rounds).
    """
    n, size = w.size, beta.size
    plain, diagonal = sums(indptr, indices, data, offset, w)
    total = np.sum(w)
    s = np.empty(n)
    working = np.empty(size, np.int32)
    gradient = np.empty(size)
    worst = np.inf
    for rounds in range(most):
        for i in range(n):
            s[i] = 0.0
        common = weighted = 0.0
        for j in range(size):
            away = beta[j] - star[j]
            common += offset[j] * away
            weighted += plain[j] * away
            if j < size - 1 and away != 0.0:
                for k in range(indptr[j], indptr[j + 1]):
                    s[indices[k]] += data[k] * away
        worst = 0.0
        m = np.int64(0)
        for j in range(size - 1, -1, -1):  # the constant first
            slope = _slope(indptr, indices, data, offset, w, plain, j, s, common, weighted, total)
            gradient[j] = slope + l2[j] * (beta[j] - star[j])
            v = violation(beta[j], 2.0 * gradient[j], 0.0, alpha, 0.0, -np.inf, np.inf)
            worst = max(worst, v)
            if j == size - 1 or (diagonal[j] + l2[j] > 0.0 and (v > 0.0 or beta[j] != 0.0)):
                working[m] = j
                m += 1
        if worst <= tol:
            return worst, rounds
        o, g, b, own = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
        for a in range(m):
            j = working[a]
            o[a], b[a], own[a] = offset[j], beta[j], l2[j]
            g[a] = gradient[j] - l2[j] * beta[j]
        nowhere, slopes = np.zeros(m), np.full(m, 0.5 * alpha)
        lists = wide.rows(indptr, indices, data, working, m, n)
        Z = wide.columns(indptr, indices, data, o, working, w, 0.0)
        wide.solve(lists, w, 0.0, o, Z, g, b, nowhere, slopes, own, nowhere - np.inf, nowhere + np.inf, 0.0)
        for a in range(m):
            beta[working[a]] = b[a]
    return worst, most
