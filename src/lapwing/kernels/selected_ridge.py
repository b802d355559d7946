"""From a ridge solution to a sparse one near it: AAGBD11 Eq. 6 and Eq. 4.

β*      (d+1,) the ridge solution over columns, the constant feature last
w       (n,) curvature of the loss at β*: c_i loss''(r_i)
H       Xᵀ diag(w) X + diag(l2), the Hessian of the objective at β*; never formed
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels import wide
from lapwing.kernels._jit import kernel, part
from lapwing.kernels.loss import add_column, bend, in_turn, loss_theta, violation
from lapwing.kernels.nouns import PriorArrays
from lapwing.kernels.working_set import lists, taken


@kernel
def curvature(margin, weight, link):
    """w_i = c_i loss''(r_i)"""
    out = np.empty(margin.size)
    for i in range(margin.size):
        out[i] = weight[i] * bend(margin[i], loss_theta(margin[i], link)[1], link)
    return out


@kernel
def sums(X, w):
    """(Σ_i w_i x_ij, Σ_i w_i x_ij²) of every column as stored, and of the column with its offset."""
    indptr, indices, data = X.columns
    offset, size = X.offset, X.offset.size
    plain = np.zeros(size)
    square = np.zeros(size)
    total = in_turn(w)
    for j in range(size):
        for k in range(indptr[j], indptr[j + 1]):
            part = w[indices[k]] * data[k]
            plain[j] += part
            square[j] += part * data[k]
        square[j] += offset[j] * (2.0 * plain[j] + offset[j] * total)
    return plain, square


@part
def _slope(X, w, plain, j, s, common, weighted, total):
    """Σ_i w_i x_ij u_i, with u_i = s_i + common, weighted = Σ w_i s_i and total = Σ w_i."""
    indptr, indices, data = X.columns
    slope = plain[j] * common + X.offset[j] * (weighted + total * common)
    for k in range(indptr[j], indptr[j + 1]):
        i = indices[k]
        slope += data[k] * w[i] * s[i]
    return slope


@part
def _laplace(size, l1):
    """A Laplace prior: no mode but 0, no bounds."""
    return PriorArrays(np.zeros(size), np.full(size, l1), np.zeros(size), np.full(size, -np.inf), np.full(size, np.inf))


@part
def _solve(X, w, l2, alpha, gradient, features, m, beta):
    """Half of Eq. 4 over the first m of `features`, from β, where its smooth part has that gradient."""
    g, b = np.empty(m), taken(beta, features, m)
    for a in range(m):
        g[a] = gradient[features[a]] - l2[features[a]] * b[a]
    mode, l1, _, lower, upper = _laplace(m, 0.5 * alpha)
    prior = PriorArrays(mode, l1, taken(l2, features, m), lower, upper)
    entries = lists(X.columns, features, m, w.size)
    model = wide.model(X.columns, entries, taken(X.offset, features, m), features, w, 0.0)
    wide.solve(model, g, b, prior, 0.0)
    for a in range(m):
        beta[features[a]] = b[a]


@kernel
def near(X, w, l2, star, alpha, beta, tol, max_rounds):
    """min_β (β-β*)ᵀ H (β-β*) + α‖β‖₁, AAGBD11 Eq. 4; from `beta`, which is overwritten.

    Half of it is a quadratic with a Laplace prior and, since l2(b-β*)²/2 is l2 b²/2 - l2 β* b but for a constant, a
    Gaussian one: kernels/wide.py, over the coefficients that are not zero or would leave zero. Ends when the largest
    violation of the optimality conditions
        2(H(β-β*))_j = -α sign β_j, or |2(H(β-β*))_j| ≤ α where β_j = 0
    over all coordinates is at most tol. Returns (that violation, rounds).
    """
    n, size = w.size, beta.size
    plain, diagonal = sums(X, w)
    total = in_turn(w)
    s = np.empty(n)
    features, gradient = np.empty(size, np.int32), np.empty(size)
    laplace = _laplace(size, alpha)
    worst = np.inf
    for rounds in range(max_rounds):
        for i in range(n):
            s[i] = 0.0
        common = weighted = 0.0
        for j in range(size):
            away = beta[j] - star[j]
            common += X.offset[j] * away
            weighted += plain[j] * away
            if away != 0.0:
                add_column(X.columns, j, away, s)
        worst = 0.0
        m = np.int64(0)
        for j in range(size - 1, -1, -1):  # the constant first
            gradient[j] = _slope(X, w, plain, j, s, common, weighted, total) + l2[j] * (beta[j] - star[j])
            v = violation(laplace, j, beta[j], 2.0 * gradient[j])
            worst = max(worst, v)
            if j == size - 1 or (diagonal[j] + l2[j] > 0.0 and (v > 0.0 or beta[j] != 0.0)):
                features[m] = j
                m += 1
        if worst <= tol:
            return worst, rounds
        _solve(X, w, l2, alpha, gradient, features, m, beta)
    return worst, max_rounds
