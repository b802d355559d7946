"""The parts of an EM iteration that go through the documents (solvers/probit_em.py)."""

from __future__ import annotations

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import bend, fill, loss_theta, majorant


@kernel
def e_step(score, y, weight, link, pull, latent, observed):
    """pull_i = c_i y_i θ_i, latent_i = c_i w_i, observed_i = c_i loss''(r_i) are written; returns Σ c_i loss(r_i)."""
    total = 0.0
    for i in range(y.size):
        margin = y[i] * score[i]
        loss, theta = loss_theta(margin, link)
        total += weight[i] * loss
        pull[i] = weight[i] * y[i] * theta
        latent[i] = weight[i] * majorant(margin, link)
        observed[i] = weight[i] * bend(margin, theta, link)
    return total


@kernel
def weighted_gram(indptr, indices, data, weight, out):
    """out = Σ_i w_i x_i x_iᵀ, (m, m); X by rows (CSR), columns rising within a row."""
    for a in range(out.shape[0]):
        fill(out[a], 0.0)
    for i in range(weight.size):
        for p in range(indptr[i], indptr[i + 1]):
            row = out[indices[p]]
            scaled = weight[i] * data[p]
            for q in range(indptr[i], p + 1):
                row[indices[q]] += scaled * data[q]
    for a in range(out.shape[0]):
        for b in range(a):
            out[b, a] = out[a, b]
