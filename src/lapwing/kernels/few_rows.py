"""Ridge on fewer documents than features: Newton's method among the documents.

    min_β Σ_i c_i loss(r_i) + Σ_j l2_j (β_j-m_j)²/2

At the optimum β = m + D⁻¹Xᵀa, D = diag(l2), with one number a_i = c_i y_i θ_i for each document. With K = X D⁻¹ Xᵀ,
p_i = c_i y_i θ_i and W the curvatures at scores f = Xm + Ka + b, Newton's next a and b satisfy

    a' = p - W(K(a'-a) + δ),   b' = b + δ,   Σ_i a'_i = l2_d (b'-m_d)

(Rasmussen and Williams, Gaussian Processes for Machine Learning, Algorithm 3.1, with a constant), by the factor of
I + W^½ K W^½, which no scale of the columns upsets.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, kernel, part
from lapwing.kernels.gram import SHORTEST
from lapwing.kernels.loss import assign, bend, fill, in_turn, intercept_only, losses, majorant
from lapwing.kernels.nouns import ARMIJO, ROUNDING, Result
from lapwing.kernels.quadratic import add_products, cholesky, substitute

CHUNK = 512  # features of the documents that lie in the cache together


def _dot(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


_dot = part(_dot, fastmath=REASSOCIATING)


@part
def _times(K, x, out):
    for i in range(x.size):
        out[i] = _dot(K[i, : x.size], x)


@part
def _kernel_matrix(X, l2, K):
    """K = X D⁻¹ Xᵀ, a chunk of features at a time; K has rows and columns of zeros up to a multiple of four."""
    n, d, whole = X.shape[0], X.shape[1], K.shape[0]
    sums, chunk = np.empty((4, 4)), np.zeros((whole, CHUNK))
    for a in range(whole):
        fill(K[a], 0.0)
    for first in range(0, d, CHUNK):
        width = min(CHUNK, d - first)
        for j in range(width):
            root = 1.0 / np.sqrt(l2[first + j])
            for i in range(n):
                chunk[i, j] = X[i, first + j] * root
        add_products(chunk, width, sums, K)
    for a in range(n):
        for b in range(a):
            K[b, a] = K[a, b]


@part
def _next(K, A, a, Ka, pull, curvature, room, out):
    """out = (I + WK)⁻¹ x for x = pull + W Ka, by the factor of I + W^½KW^½ in A; Ka may be what is to be left out."""
    n = a.size
    for i in range(n):
        out[i] = pull[i] + curvature[i] * Ka[i]
    _times(K, out, room)
    for i in range(n):
        room[i] *= np.sqrt(curvature[i])
    substitute(A, room, n)
    for i in range(n):
        out[i] -= np.sqrt(curvature[i]) * room[i]


@part
def _violation(X, a, left, l2, gradient, away):
    """Σ_j |g_j| max(|β_j-m_j|, 1), g = Xᵀ left and β - m = D⁻¹Xᵀa."""
    total = 0.0
    for j in range(l2.size - 1):
        gradient[j] = away[j] = 0.0
    for i in range(a.size):
        row = X[i]
        for j in range(row.size):
            gradient[j] += left[i] * row[j]
            away[j] += a[i] * row[j]
    for j in range(l2.size - 1):
        total += abs(gradient[j]) * max(abs(away[j]) / l2[j], 1.0)
    return total


@part
def _factor(K, margin, theta, documents, cautious, curvature, A):
    """The curvatures W, and the factor of I + W^½KW^½ in A."""
    _, weight, link = documents
    n = margin.size
    for i in range(n):
        bends = majorant(margin[i], link) if cautious else bend(margin[i], theta[i], link)
        curvature[i] = weight[i] * max(bends, 1e-12)
    for i in range(n):
        for j in range(i):
            A[i, j] = np.sqrt(curvature[i] * curvature[j]) * K[i, j]
        A[i, i] = 1.0 + curvature[i] * K[i, i]
    cholesky(A, n, 0.0)


@part
def _search(margin, shift, rise, documents, objective, promise, penalty, after, theta):
    """The share t of the step at which the objective falls enough (Armijo), 0 if it never does.

    penalty   (its value before, first and second derivative along the step)
    """
    y, weight, link = documents
    before, slope, curve = penalty
    t = 1.0
    while t > SHORTEST:
        for i in range(margin.size):
            after[i] = margin[i] + t * y[i] * (shift[i] + rise)
        value = losses(after, weight, link, theta) + before + t * (slope + 0.5 * t * curve)
        if value <= objective + ARMIJO * t * promise:
            return t
        t *= 0.5
    return 0.0


@part
def _coefficients(X, prior, a, common, beta):
    """β = m + D⁻¹Xᵀa"""
    assign(beta, prior.mode)
    for i in range(a.size):
        row = X[i]
        for j in range(row.size):
            beta[j] += a[i] * row[j] / prior.l2[j]
    beta[row.size] = common


@part
def _prove(X, documents, prior, beta, tol, rounds, theta):
    """What the coefficients prove by themselves; θ becomes the residuals there."""
    y, weight, link = documents
    d = beta.size - 1
    margin, gradient = np.empty(y.size), np.zeros(d + 1)
    for i in range(y.size):
        margin[i] = y[i] * (_dot(X[i], beta[:d]) + beta[d])
    objective = losses(margin, weight, link, theta)
    for i in range(y.size):
        pull, row = weight[i] * y[i] * theta[i], X[i]
        gradient[d] -= pull
        for j in range(d):
            gradient[j] -= pull * row[j]
    flat = prior.l2[d] == 0.0
    gap = kkt = kkt_bound = 0.0
    for j in range(d + 1):
        l2, away = prior.l2[j], beta[j] - prior.mode[j]
        gradient[j] += l2 * away
        objective += 0.5 * l2 * away * away
        gap += gradient[j] * gradient[j] / (2.0 * l2) if l2 > 0.0 else np.nan
        kkt = max(kkt, abs(gradient[j]))
        kkt_bound += abs(gradient[j]) * max(abs(away), 1.0)
    converged = (kkt_bound if flat else gap) <= tol * objective
    return Result(objective, gap, kkt, kkt_bound, rounds, converged, theta)


@kernel
def fit(X, documents, prior, beta, tol, max_rounds):
    """X (n, d) dense, offsets and all; the prior has modes and l2 only, and the constant alone may have an l2 of 0.

    `beta` is overwritten: all but its constant is no start, as the optimum is sought among the documents. The gap is
    NaN where the constant's l2 is 0.
    """
    y, weight, link = documents
    mode, l2 = prior.mode, prior.l2
    n, d = X.shape
    whole = n + (4 - n % 4) % 4
    K, A = np.empty((whole, whole)), np.empty((whole, whole))
    _kernel_matrix(X, l2, K)
    a, Ka, base, zeros = np.zeros(n), np.zeros(n), np.empty(n), np.zeros(n)
    margin, theta, pull, curvature = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, v, room, shift, gradient = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(d)
    common, flat = intercept_only(documents, prior, beta[d]), l2[d] == 0.0
    for i in range(n):
        base[i] = _dot(X[i], mode[:d])
        margin[i] = y[i] * (base[i] + common)
    away = common - mode[d]
    objective = losses(margin, weight, link, theta) + 0.5 * l2[d] * away * away
    rounds, cautious, ending = 0, False, False
    while True:
        # The gradient among the documents, and the gap.
        slope = l2[d] * away
        for i in range(n):
            pull[i] = weight[i] * y[i] * theta[i]
            room[i] = a[i] - pull[i]
            slope -= pull[i]
        if flat:  # without a feasible dual point the optimality conditions count
            gap = abs(slope) * max(abs(away), 1.0) + _violation(X, a, room, l2, gradient, beta)
        else:
            _times(K, room, shift)
            gap = 0.5 * _dot(room, shift) + slope * slope / (2.0 * l2[d])  # Σ_j g_j²/(2 l2_j)
        if gap <= 0.5 * tol * objective or ending or rounds >= max_rounds:
            _coefficients(X, prior, a, common, beta)
            return _prove(X, documents, prior, beta, tol, rounds, theta)
        rounds += 1

        # Newton's step: u of a, and `rise` of the constant.
        _factor(K, margin, theta, documents, cautious, curvature, A)
        _next(K, A, a, Ka, pull, curvature, room, u)
        _next(K, A, a, zeros, curvature, curvature, room, v)
        rise = (in_turn(u) - l2[d] * away) / (in_turn(v) + l2[d])
        for i in range(n):
            u[i] -= rise * v[i] + a[i]
        _times(K, u, shift)

        # A search along it.
        before = 0.5 * _dot(a, Ka) + 0.5 * l2[d] * away * away
        first, second = _dot(a, shift) + l2[d] * away * rise, _dot(u, shift) + l2[d] * rise * rise
        promise = first + 0.5 * second
        for i in range(n):
            promise -= pull[i] * (shift[i] + rise)
        t = _search(margin, shift, rise, documents, objective, promise, (before, first, second), room, theta)
        if t == 0.0 or not promise < 0.0:
            losses(margin, weight, link, theta)
            ending = cautious or not -promise > ROUNDING * objective
            cautious = True
            continue
        cautious = t < 0.25
        common += t * rise
        for i in range(n):
            a[i] += t * u[i]
        _times(K, a, Ka)
        for i in range(n):
            margin[i] = y[i] * (base[i] + Ka[i] + common)
        away = common - mode[d]
        objective = losses(margin, weight, link, theta) + 0.5 * _dot(a, Ka) + 0.5 * l2[d] * away * away
