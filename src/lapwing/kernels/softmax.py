"""The polytomous loss ln Σ_k e^{s_ik} - s_i,y_i: its value, gradient, dual and optimality conditions.

Symbols: k class, i document, j column; p_ik the class probabilities. Arrays over classes and documents are (K, n): one
class at a time fits the cache.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel, part
from lapwing.kernels.loss import feasible_scale, fill, penalty_conjugate, violation
from lapwing.kernels.nouns import PriorArrays


@kernel
def scores(X, beta, out):
    """out_ik = x_i·β_k"""
    indptr, indices, data = X.columns
    for k in range(beta.shape[0]):
        row = out[k]
        shift = 0.0
        for j in range(beta.shape[1]):
            shift += X.offset[j] * beta[k, j]
        fill(row, shift)
        for j in range(beta.shape[1]):
            if beta[k, j] != 0.0:
                for e in range(indptr[j], indptr[j + 1]):
                    row[indices[e]] += data[e] * beta[k, j]


@kernel
def softmax(score, labels, weight, proba):
    """Σ_i c_i [ ln Σ_k e^{s_ik} - s_i,y_i ], and p_ik."""
    K, n = score.shape
    top = score[0].copy()
    for k in range(1, K):
        for i in range(n):
            top[i] = max(top[i], score[k, i])
    total = np.zeros(n)
    for k in range(K):
        for i in range(n):
            value = np.exp(score[k, i] - top[i])
            proba[k, i] = value
            total[i] += value
    loss = 0.0
    for i in range(n):
        if weight[i] > 0.0:
            loss += weight[i] * (np.log(total[i]) + top[i] - score[labels[i], i])
        total[i] = 1.0 / total[i]
    for k in range(K):
        for i in range(n):
            proba[k, i] *= total[i]
    return loss


@kernel
def loss_at(X, labels, weight, beta):
    """Σ_i c_i [ ln Σ_k e^{s_ik} - s_i,y_i ] at β."""
    score = np.empty((beta.shape[0], weight.size))
    scores(X, beta, score)
    return softmax(score, labels, weight, np.empty_like(score))


@kernel
def price(X, labels, weight, theta, gradient):
    """gradient_kj = Σ_i c_i (θ_ik - 1[y_i = k]) x_ij, all classes in one pass over X."""
    indptr, indices, data = X.columns
    K, n = theta.shape
    pull = np.empty((n, K))
    total = np.zeros(K)
    for k in range(K):
        for i in range(n):
            pull[i, k] = weight[i] * theta[k, i]
    for i in range(n):
        # 1 - θ by its own sum: near 1 the difference would be all rounding
        rest = 0.0
        for k in range(K):
            if k != labels[i]:
                rest += pull[i, k]
        pull[i, labels[i]] = -rest
        for k in range(K):
            total[k] += pull[i, k]
    sums = np.empty(K)
    for j in range(gradient.shape[1]):
        for k in range(K):
            sums[k] = X.offset[j] * total[k]
        for e in range(indptr[j], indptr[j + 1]):
            x = data[e]
            row = pull[indices[e]]
            for k in range(K):
                sums[k] += x * row[k]
        for k in range(K):
            gradient[k, j] = sums[k]


@kernel
def dual_objective(theta, labels, weight, gradient, scale, prior):
    """D(y + s(θ - y)) of stats/objective.py; gradient = -z."""
    K, n = theta.shape
    dual = 0.0
    for i in range(n):
        if weight[i] > 0.0:
            rest = entropy = 0.0
            for k in range(K):
                if k != labels[i]:
                    t = scale * theta[k, i]
                    rest += t
                    if t > 0.0:
                        entropy -= t * np.log(t)
            if rest < 1.0:
                entropy -= (1.0 - rest) * np.log1p(-rest)
            dual += weight[i] * entropy
    for k in range(K):
        for j in range(gradient.shape[1]):
            dual -= penalty_conjugate(prior, (k, j), -scale * gradient[k, j])
    return dual


@part
def of_class(prior, k):
    """Row k of a prior."""
    return PriorArrays(prior.mode[k], prior.l1[k], prior.l2[k], prior.lower[k], prior.upper[k])


@kernel
def feasible(gradient, prior):
    """The largest s ≤ 1 with -s·gradient dual feasible in every class."""
    scale = 1.0
    z = np.empty(gradient.shape[1])
    for k in range(gradient.shape[0]):
        for j in range(z.size):
            z[j] = -gradient[k, j]
        scale = min(scale, feasible_scale(z, of_class(prior, k)))
    return scale


@kernel
def kkt_bounds(beta, gradient, prior):
    """(kkt, kkt_bound) of `Certificate`, from the gradient of the loss."""
    worst = bound = 0.0
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            v = violation(prior, (k, j), beta[k, j], gradient[k, j])
            worst = max(worst, v)
            bound += v * max(abs(beta[k, j] - prior.mode[k, j]), 1.0)
    return worst, bound
