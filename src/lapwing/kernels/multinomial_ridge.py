"""Newton's method with conjugate gradients for polytomous models with Gaussian priors.

    min_β Σ_i c_i [ ln Σ_k exp(x_i·β_k) - x_i·β_{y_i} ] + Σ_jk l2_jk (β_jk-m_jk)²/2

K classes, y_i that of document i, p_ik = exp(x_i·β_k) / Σ_l exp(x_i·β_l) the probability that it is k. Arrays
are (features, K) and (documents, K): a pass over X takes all classes along.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, inlined, kernel, part
from lapwing.kernels.loss import dot, few, has, penalty_conjugate
from lapwing.kernels.nouns import PriorArrays, Result

SPARE = 0.005  # share of the curvature that is left out at most
ROUGH, FINEST = 0.3, 1e-6  # of the first residual may be left by conjugate gradients, far from the solution and near it
ITERATIONS = 200  # of conjugate gradients in a round at most
HALVINGS = 40  # of a step; a shorter one is rounding
ARMIJO = 0.01  # share of what a step promises that it must bring
ROUNDING = 1e-13  # a sum over documents is not known better


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
def _scores(rows, offset, B, out):
    """out_i = (x_i + offset)·B, the constant feature last; X by rows."""
    indptr, indices, data = rows
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
def _gradient(rows, offset, labels, weight, proba, B, mode, l2, out):
    """out = Xᵀ diag(c)(P - Y) + l2(B - m)"""
    indptr, indices, data = rows
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
def _hessian_times(rows, offset, weight, proba, kept, small, p, out):
    """out = H p over the documents kept, + small p. Returns p·out."""
    indptr, indices, data = rows
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
def _diagonals(rows, weight, proba, bends, cut, l2, small, out):
    """`out`: the diagonal of the Hessian; `small`: l2 and the part of it that documents under the cut have."""
    indptr, indices, data = rows
    d, K = out.shape[0] - 1, out.shape[1]
    for j in range(d + 1):
        for k in range(K):
            small[j, k], out[j, k] = l2[j, k], 0.0
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


@inlined
def _certify(weight, proba, prior, fixed, B, gradient, objective, flat):
    """(gap, kkt, kkt_bound), the gap NaN if no dual point is feasible; the gradient becomes 0 where B is fixed."""
    dual = kkt = kkt_bound = 0.0
    for i in range(weight.size):
        if weight[i] > 0.0:
            for k in range(B.shape[1]):
                if proba[i, k] > 0.0:
                    dual -= weight[i] * proba[i, k] * np.log(proba[i, k])
    for j in range(B.shape[0]):
        for k in range(B.shape[1]):
            away = B[j, k] - prior.mode[j, k]
            dual -= penalty_conjugate(prior, (j, k), prior.l2[j, k] * away - gradient[j, k])
            if fixed[j, k]:
                gradient[j, k] = 0.0
            kkt = max(kkt, abs(gradient[j, k]))
            kkt_bound += abs(gradient[j, k]) * max(abs(away), 1.0)
    return np.nan if flat else max(objective - dual, 0.0), kkt, kkt_bound


@inlined
def _bends(weight, proba, out):
    """out_i = c_i (1 - Σ_k p_ik²), how much a document bends the loss in all."""
    for i in range(weight.size):
        square = 0.0
        for k in range(proba.shape[1]):
            square += proba[i, k] * proba[i, k]
        out[i] = weight[i] * max(1.0 - square, 0.0)


@inlined
def _direction(rows, offset, weight, proba, kept, small, diagonal, fixed, gradient, precision, step):
    """step ← H⁻¹(-gradient) by conjugate gradients, to a share `precision` of the first residual.

    diagonal   that of H; overwritten by what preconditions
    """
    size, K = step.shape
    residual, p, Hp = np.empty((size, K)), np.empty((size, K)), np.empty((size, K))
    rho = 0.0
    for j in range(size):
        for k in range(K):
            step[j, k] = 0.0
            diagonal[j, k] = 0.0 if fixed[j, k] or diagonal[j, k] <= 0.0 else 1.0 / diagonal[j, k]
            residual[j, k] = -gradient[j, k]
            p[j, k] = residual[j, k] * diagonal[j, k]
            rho += residual[j, k] * p[j, k]
    goal = precision * precision * rho
    for _ in range(ITERATIONS):
        if rho <= goal or rho <= 0.0:
            break
        product = _hessian_times(rows, offset, weight, proba, kept, small, p, Hp)
        if product <= 0.0:
            break
        alpha = rho / product
        fresh = 0.0
        for j in range(size):
            for k in range(K):
                step[j, k] += alpha * p[j, k]
                residual[j, k] -= alpha * Hp[j, k]
                fresh += residual[j, k] * residual[j, k] * diagonal[j, k]
        ratio = fresh / rho
        rho = fresh
        for j in range(size):
            for k in range(K):
                p[j, k] = residual[j, k] * diagonal[j, k] + ratio * p[j, k]


@part
def _penalty(prior, B, step, t):
    """Σ_kj l2(β + t·step - m)²/2"""
    total = 0.0
    for j in range(B.shape[0]):
        for k in range(B.shape[1]):
            away = B[j, k] + t * step[j, k] - prior.mode[j, k]
            total += prior.l2[j, k] * (away * away)
    return 0.5 * total


@inlined
def _losses(score, shift, t, labels, weight, there, proba):
    """Σ_i c_i [ln Σ_k e^{s_ik} - s_i,y_i] at the scores `there` = score + t shift, and the probabilities."""
    total = 0.0
    for i in range(weight.size):
        for k in range(score.shape[1]):
            there[i, k] = score[i, k] + t * shift[i, k]
        value = _softmax(there[i], labels[i], proba[i])
        if weight[i] > 0.0:
            total += weight[i] * value
    return total


@kernel
def fit(rows, offset, labels, weight, prior, beta, tol, max_rounds):
    """min_β Σ_i c_i [ln Σ_k e^{s_ik} - s_i,y_i] + Σ_kj l2(β-m)²/2; coefficients are free or, lower = upper, fixed.

    rows     X by rows, the constant feature without entries
    prior    (K, d+1) without l1
    beta     (K, d+1) start; overwritten by the solution
    """
    n, d, K = weight.size, beta.shape[1] - 1, beta.shape[0]
    B, mode, l2 = beta.T.copy(), prior.mode.T.copy(), prior.l2.T.copy()
    lower, upper = prior.lower.T.copy(), prior.upper.T.copy()
    step = np.empty(B.shape)
    across = PriorArrays(mode, np.zeros(mode.shape), l2, lower, upper)
    fixed = np.empty(B.shape, np.bool_)
    flat = False
    for j in range(d + 1):
        for k in range(K):
            fixed[j, k], step[j, k] = lower[j, k] == upper[j, k], 0.0
            if fixed[j, k]:
                B[j, k] = lower[j, k]
            flat = flat or (l2[j, k] == 0.0 and not fixed[j, k])
    score, proba, shift = np.empty((n, K)), np.empty((n, K)), np.empty((n, K))
    trial, new_proba = np.empty((n, K)), np.empty((n, K))
    bends, documents = np.empty(n), np.empty(n, np.int64)
    gradient, diagonal, small = np.empty((d + 1, K)), np.empty((d + 1, K)), np.empty((d + 1, K))
    _scores(rows, offset, B, score)
    loss = 0.0
    for i in range(n):
        loss += weight[i] * _softmax(score[i], labels[i], proba[i])
    penalty = _penalty(across, B, step, 0.0)
    fall = 1.0  # of the objective in the round before, relatively
    rounds = 0
    while True:
        objective = loss + penalty
        _gradient(rows, offset, labels, weight, proba, B, mode, l2, gradient)
        gap, kkt, kkt_bound = _certify(weight, proba, across, fixed, B, gradient, objective, flat)
        converged = (kkt_bound if flat else gap) <= tol * objective
        if converged or rounds == max_rounds:
            break
        rounds += 1

        # The Newton step, from the documents that bend the loss.
        _bends(weight, proba, bends)
        cut = 0.0 if has(offset[:d]) else few(bends, min(SPARE, fall))
        count = 0
        for i in range(n):
            if bends[i] >= cut:
                documents[count] = i
                count += 1
        kept = documents[:count]
        _diagonals(rows, weight, proba, bends, cut, l2, small, diagonal)
        precision = min(ROUGH, max(FINEST, np.sqrt(fall)))
        _direction(rows, offset, weight, proba, kept, small, diagonal, fixed, gradient, precision, step)

        # A search along it.
        slope = dot(step.ravel(), gradient.ravel())
        _scores(rows, offset, step, shift)
        t = 1.0
        accepted = False
        for _ in range(HALVINGS):
            new_loss = _losses(score, shift, t, labels, weight, trial, new_proba)
            new_penalty = _penalty(across, B, step, t)
            if new_loss + new_penalty <= objective + ARMIJO * t * slope + ROUNDING * objective:
                accepted = True
                break
            t *= 0.5
        if not accepted:
            break
        score, trial = trial, score
        proba, new_proba = new_proba, proba
        for j in range(d + 1):
            for k in range(K):
                B[j, k] += t * step[j, k]
        fall = (objective - new_loss - new_penalty) / max(objective, 1e-300)
        loss, penalty = new_loss, new_penalty
    for k in range(K):
        for j in range(d + 1):
            beta[k, j] = B[j, k]
    return Result(loss + penalty, gap, kkt, kkt_bound, rounds, converged, proba.T.copy())
