"""Newton's method with conjugate gradients for polytomous models with Gaussian priors.

Arrays are (features, K) and (documents, K): a pass over X takes all classes along.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, kernel, part
from lapwing.kernels.loss import few, penalty_conjugate
from lapwing.kernels.nouns import PriorArrays


def _axpy(x, row, out):
    for k in range(out.size):
        out[k] += x * row[k]


_axpy = part(_axpy, fastmath=REASSOCIATING)


@part
def _softmax(score, label, proba):
    """ln Σ_k e^{s_k} - s_y of one document, and its probabilities."""
    top = score[0]
    for k in range(1, score.size):
        top = max(top, score[k])
    total = 0.0
    for k in range(score.size):
        proba[k] = np.exp(score[k] - top)
        total += proba[k]
    for k in range(score.size):
        proba[k] /= total
    return np.log(total) + top - score[label]


@part
def _scores(indptr, indices, data, offset, B, out):
    """out_i = (x_i + offset)·B, the constant feature last; X by rows."""
    d, K = B.shape[0] - 1, B.shape[1]
    common = B[d].copy()
    for j in range(d):
        if offset[j] != 0.0:
            _axpy(offset[j], B[j], common)
    for i in range(out.shape[0]):
        row = out[i]
        for k in range(K):
            row[k] = common[k]
        for e in range(indptr[i], indptr[i + 1]):
            _axpy(data[e], B[indices[e]], row)


@part
def _gradient(indptr, indices, data, offset, labels, weight, proba, B, mode, l2, out):
    """out = Xᵀ diag(c)(P - Y) + l2(B - m)"""
    d, K = B.shape[0] - 1, B.shape[1]
    for j in range(d + 1):
        for k in range(K):
            out[j, k] = l2[j, k] * (B[j, k] - mode[j, k])
    total, pull = np.zeros(K), np.empty(K)
    for i in range(proba.shape[0]):
        rest = 0.0  # 1 - p by its own sum: near 1 the difference would be all rounding
        for k in range(K):
            pull[k] = weight[i] * proba[i, k]
            if k != labels[i]:
                rest += pull[k]
        if rest == 0.0:
            continue
        pull[labels[i]] = -rest
        for e in range(indptr[i], indptr[i + 1]):
            _axpy(data[e], pull, out[indices[e]])
        _axpy(1.0, pull, total)
    for j in range(d):
        if offset[j] != 0.0:
            _axpy(offset[j], total, out[j])
    _axpy(1.0, total, out[d])


@part
def _hessian_times(indptr, indices, data, offset, weight, proba, kept, small, p, out):
    """out = H p over the documents kept, + small p. Returns p·out."""
    d, K = p.shape[0] - 1, p.shape[1]
    common, total, u = p[d].copy(), np.zeros(K), np.empty(K)
    for j in range(d + 1):
        for k in range(K):
            out[j, k] = small[j, k] * p[j, k]
        if j < d and offset[j] != 0.0:
            _axpy(offset[j], p[j], common)
    for i in kept:
        for k in range(K):
            u[k] = common[k]
        for e in range(indptr[i], indptr[i + 1]):
            _axpy(data[e], p[indices[e]], u)
        mean = 0.0
        for k in range(K):
            mean += proba[i, k] * u[k]
        for k in range(K):
            u[k] = weight[i] * proba[i, k] * (u[k] - mean)
        for e in range(indptr[i], indptr[i + 1]):
            _axpy(data[e], u, out[indices[e]])
        _axpy(1.0, u, total)
    for j in range(d):
        if offset[j] != 0.0:
            _axpy(offset[j], total, out[j])
    _axpy(1.0, total, out[d])
    product = 0.0
    for j in range(d + 1):
        for k in range(K):
            product += p[j, k] * out[j, k]
    return product


@part
def _diagonals(indptr, indices, data, weight, proba, bends, cut, l2, small, out):
    """`out`: the diagonal of the Hessian; `small`: l2 and the part of it that documents under the cut have."""
    d, K = out.shape[0] - 1, out.shape[1]
    small[:] = l2
    out[:] = 0.0
    q = np.empty(K)
    for i in range(weight.size):
        target = out if bends[i] >= cut else small
        for k in range(K):
            q[k] = weight[i] * proba[i, k] * (1.0 - proba[i, k])
        for e in range(indptr[i], indptr[i + 1]):
            _axpy(data[e] * data[e], q, target[indices[e]])
        _axpy(1.0, q, target[d])
    for j in range(d + 1):
        for k in range(K):
            out[j, k] += small[j, k]


@kernel
def fit(indptr, indices, data, offset, labels, weight, mode, l2, lower, upper, beta, tol, max_rounds):
    """min_β Σ_i c_i [ln Σ_k e^{s_ik} - s_i,y_i] + Σ_kj l2(β-m)²/2; coefficients are free or, lower = upper, fixed.

    indptr, indices, data   X by rows (CSR); the other arguments as in kernels/multinomial.py
    Returns (objective, gap, kkt, kkt_bound, rounds, converged, dual point (K, n)).
    """
    n, d, K = weight.size, beta.shape[1] - 1, beta.shape[0]
    B, mode, l2 = beta.T.copy(), mode.T.copy(), l2.T.copy()
    lower, upper = lower.T.copy(), upper.T.copy()
    prior = PriorArrays(mode, np.zeros(mode.shape), l2, lower, upper)
    fixed = lower == upper
    flat = False
    for j in range(d + 1):
        for k in range(K):
            if fixed[j, k]:
                B[j, k] = lower[j, k]
            flat = flat or (l2[j, k] == 0.0 and not fixed[j, k])
    score, proba, shift = np.empty((n, K)), np.empty((n, K)), np.empty((n, K))
    trial, new_proba = np.empty((n, K)), np.empty((n, K))
    bends = np.empty(n)
    gradient, diagonal, small = np.empty((d + 1, K)), np.empty((d + 1, K)), np.empty((d + 1, K))
    step, residual, p, Hp = np.empty((d + 1, K)), np.empty((d + 1, K)), np.empty((d + 1, K)), np.empty((d + 1, K))
    _scores(indptr, indices, data, offset, B, score)
    loss = 0.0
    for i in range(n):
        loss += weight[i] * _softmax(score[i], labels[i], proba[i])
    penalty = 0.5 * np.sum(l2 * (B - mode) ** 2)
    gap = kkt = kkt_bound = np.nan
    converged = False
    reached = 1.0  # relative fall of the objective in the round before
    rounds = 0
    while True:
        objective = loss + penalty
        _gradient(indptr, indices, data, offset, labels, weight, proba, B, mode, l2, gradient)
        dual = kkt = kkt_bound = 0.0
        for i in range(n):
            if weight[i] > 0.0:
                for k in range(K):
                    if proba[i, k] > 0.0:
                        dual -= weight[i] * proba[i, k] * np.log(proba[i, k])
        for j in range(d + 1):
            for k in range(K):
                z = l2[j, k] * (B[j, k] - mode[j, k]) - gradient[j, k]
                dual -= penalty_conjugate(prior, (j, k), z)
                if fixed[j, k]:
                    gradient[j, k] = 0.0
                kkt = max(kkt, abs(gradient[j, k]))
                kkt_bound += abs(gradient[j, k]) * max(abs(B[j, k] - mode[j, k]), 1.0)
        gap = np.nan if flat else max(objective - dual, 0.0)
        converged = (kkt_bound if flat else gap) <= tol * objective
        if converged or rounds == max_rounds:
            break
        rounds += 1
        for i in range(n):
            square = 0.0
            for k in range(K):
                square += proba[i, k] * proba[i, k]
            bends[i] = weight[i] * max(1.0 - square, 0.0)
        cut = 0.0 if np.any(offset[:d]) else few(bends, min(0.005, reached))
        kept = np.flatnonzero(bends >= cut)
        _diagonals(indptr, indices, data, weight, proba, bends, cut, l2, small, diagonal)

        # Preconditioned conjugate gradients for H step = -gradient.
        precision = min(0.3, max(1e-6, np.sqrt(reached)))
        step[:] = 0.0
        rho = 0.0
        for j in range(d + 1):
            for k in range(K):
                diagonal[j, k] = 0.0 if fixed[j, k] or diagonal[j, k] <= 0.0 else 1.0 / diagonal[j, k]
                residual[j, k] = -gradient[j, k]
                p[j, k] = residual[j, k] * diagonal[j, k]
                rho += residual[j, k] * p[j, k]
        target = precision * precision * rho
        for _ in range(200):
            if rho <= target or rho <= 0.0:
                break
            product = _hessian_times(indptr, indices, data, offset, weight, proba, kept, small, p, Hp)
            if product <= 0.0:
                break
            alpha = rho / product
            fresh = 0.0
            for j in range(d + 1):
                for k in range(K):
                    step[j, k] += alpha * p[j, k]
                    residual[j, k] -= alpha * Hp[j, k]
                    fresh += residual[j, k] * residual[j, k] * diagonal[j, k]
            ratio = fresh / rho
            rho = fresh
            for j in range(d + 1):
                for k in range(K):
                    p[j, k] = residual[j, k] * diagonal[j, k] + ratio * p[j, k]

        slope = np.sum(step * gradient)
        _scores(indptr, indices, data, offset, step, shift)
        t = 1.0
        accepted = False
        for _ in range(40):
            new_loss = 0.0
            for i in range(n):
                for k in range(K):
                    trial[i, k] = score[i, k] + t * shift[i, k]
                value = _softmax(trial[i], labels[i], new_proba[i])
                if weight[i] > 0.0:
                    new_loss += weight[i] * value
            new_penalty = 0.5 * np.sum(l2 * (B + t * step - mode) ** 2)
            if new_loss + new_penalty <= objective + 0.01 * t * slope + 1e-13 * objective:
                accepted = True
                break
            t *= 0.5
        if not accepted:
            break
        score, trial = trial, score
        proba, new_proba = new_proba, proba
        B += t * step
        reached = (objective - new_loss - new_penalty) / max(objective, 1e-300)
        loss, penalty = new_loss, new_penalty
    beta[:] = B.T
    return loss + penalty, gap, kkt, kkt_bound, rounds, converged, proba.T.copy()
