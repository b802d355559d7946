"""Newton steps of polytomous models with Gaussian priors, by conjugate gradients (solvers/multinomial.py).

    H = Σ_i c_i x_i x_iᵀ ⊗ (diag(p_i) - p_i p_iᵀ) + diag(l2)

K classes, p_ik the probability that document i is of class k. Arrays are (features, K) and (documents, K): a pass over
X takes all classes along.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, kernel, part
from lapwing.kernels.loss import few


def _axpy(x, row, out):
    for k in range(out.size):
        out[k] += x * row[k]


_axpy = part(_axpy, fastmath=REASSOCIATING)


@part
def _hessian_times(rows, offset, weight, proba, documents, small, p, out):
    """out = H p over `documents`, + small p. Returns p·out."""
    indptr, indices, data = rows
    d, K = p.shape[0] - 1, p.shape[1]
    common, total, u = p[d].copy(), np.zeros(K), np.empty(K)
    for j in range(d + 1):
        for k in range(K):
            out[j, k] = small[j, k] * p[j, k]
        if j < d and offset[j] != 0.0:
            _axpy(offset[j], p[j], common)
    for i in documents:
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


@kernel
def diagonals(rows, weight, proba, bends, spare, small, out):
    """`out`: the diagonal of the Hessian; to `small`, l2 at first, the part of documents that hold a share `spare` of
    the curvature `bends` is added. Returns the cut below which these are.
    """
    cut = few(bends, spare)
    indptr, indices, data = rows
    d, K = out.shape[0] - 1, out.shape[1]
    for j in range(d + 1):
        for k in range(K):
            out[j, k] = 0.0
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
    return cut


@kernel
def conjugate_gradients(rows, offset, weight, proba, documents, small, scale, residual, left, most):
    """H⁻¹ residual to a share `left` of its norm, preconditioned by `scale`; `residual` is overwritten."""
    size, K = small.shape
    x, p, Hp = np.zeros((size, K)), np.zeros((size, K)), np.empty((size, K))
    rho, goal = np.inf, 0.0
    for turn in range(most):
        fresh = 0.0
        for j in range(size):
            for k in range(K):
                fresh += residual[j, k] * residual[j, k] * scale[j, k]
        if turn == 0:
            goal = left * left * fresh
        if fresh <= goal:
            break
        for j in range(size):
            for k in range(K):
                p[j, k] = residual[j, k] * scale[j, k] + fresh / rho * p[j, k]
        rho = fresh
        product = _hessian_times(rows, offset, weight, proba, documents, small, p, Hp)
        if product <= 0.0:
            break
        for j in range(size):
            for k in range(K):
                x[j, k] += rho / product * p[j, k]
                residual[j, k] -= rho / product * Hp[j, k]
    return x
