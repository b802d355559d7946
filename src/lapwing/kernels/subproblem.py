"""The inner problem of solvers/sequential.py, whose matrix is made outside of a kernel, or never.

min_b  g·(b-β) + (b-β)ᵀH(b-β)/2 + Σ_a [ l1_a|b_a-m_a| + l2_a(b_a-m_a)²/2 ],   lower ≤ b ≤ upper

`solve` takes H written out. `descend` takes H = XᵀDX + FFᵀ + diag(q), X sparse with few documents and F with few
columns, so that a step costs what a feature has documents, and not what there are features.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels import quadratic
from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import argmin, violation

SWEEPS = 500  # of coordinate descent at most


@kernel
def solve(H, G, b, prior, tol):
    """min_b from b, which is overwritten, as G is; H (k, k) symmetric. Returns the sweeps."""
    return quadratic.solve(H, G, b, prior, tol, np.empty_like(H))


@kernel
def descend(columns, D, F, q, g, b, prior, enough, tol):
    """Coordinate descent from b, which is overwritten, until violations relative to the penalty's slope are at most
    `enough` times what they began with, or tol. Returns the sweeps.

    columns   X (n, k), `Sparse` by columns; D (n,), F (k, r), q (k,)
    """
    indptr, indices, data = columns
    k, r = F.shape
    shift, along = np.zeros(D.size), np.zeros(r)
    h, start = np.empty(k), b.copy()
    for a in range(k):
        h[a] = q[a]
        for e in range(indptr[a], indptr[a + 1]):
            h[a] += D[indices[e]] * data[e] * data[e]
        for f in range(r):
            h[a] += F[a, f] * F[a, f]
    bound = tol
    for sweep in range(SWEEPS):
        worst = 0.0
        for a in range(k):
            slope = g[a] + q[a] * (b[a] - start[a])
            for e in range(indptr[a], indptr[a + 1]):
                slope += data[e] * D[indices[e]] * shift[indices[e]]
            for f in range(r):
                slope += F[a, f] * along[f]
            v = violation(prior, a, b[a], slope)
            if v == 0.0:
                continue
            worst = max(worst, v / (prior.l1[a] + prior.l2[a] * abs(b[a] - prior.mode[a]) + 1e-300))
            best = argmin(prior, a, b[a], slope, h[a])
            step = best - b[a]
            if step != 0.0:
                b[a] = best
                for e in range(indptr[a], indptr[a + 1]):
                    shift[indices[e]] += step * data[e]
                for f in range(r):
                    along[f] += step * F[a, f]
        if sweep == 0:
            bound = max(tol, enough * worst)
        if worst <= bound:
            return sweep + 1
    return SWEEPS
