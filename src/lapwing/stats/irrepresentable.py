"""Which absent features a sparse fit could not have told from those it kept.

With D the loss's curvature at the margins, H = Xᵀ D X, S the features kept, and λ|β| + μβ²/2 the penalty: were the
features of S all there is, a fit would leave feature j out, however many the documents, only if

    η_j = | H_jS (H_SS + μ_S)⁻¹ (λ_S sign β_S + μ_S β_S) | / λ_j  <  1

(the irrepresentable condition, Zhao and Yu 2006; with μ, Jia and Yu 2010). It fails where j goes with kept features so
closely that it says much the same: chance then decides which of them is kept. With whom it goes is told by the
correlation of two columns under the weights D.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lapwing.stats.objective import PriorArrays

DENSE = 0.1  # share of entries from which columns are multiplied as dense ones


def irrepresentable(X: sp.csr_matrix, curvature: np.ndarray, beta: np.ndarray, prior: PriorArrays) -> np.ndarray:
    """η (d,) of the heading; NaN for features that are kept or have no λ. X (n, d), curvature D (n,), beta (d+1,)."""
    kept = np.flatnonzero(beta != prior.mode)
    columns = sp.hstack([X, np.ones((X.shape[0], 1))], format="csc")[:, kept]
    H = _gram(columns, curvature) + np.diag(prior.l2[kept])
    away = beta[kept] - prior.mode[kept]
    pull = np.linalg.lstsq(H, prior.l1[kept] * np.sign(away) + prior.l2[kept] * away, rcond=None)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        eta = np.abs(X.T @ (curvature * (columns @ pull))) / prior.l1[:-1]
    eta[kept[kept < X.shape[1]]] = np.nan
    return np.where(prior.l1[:-1] > 0.0, eta, np.nan)


def _gram(columns: sp.csc_matrix, curvature: np.ndarray) -> np.ndarray:
    if columns.nnz > DENSE * columns.shape[0] * columns.shape[1]:
        dense = columns.toarray()
        return np.asarray(dense.T @ (curvature[:, None] * dense))
    return np.asarray((columns.T @ columns.multiply(curvature[:, None])).todense())


def correlations(X: sp.csr_matrix, curvature: np.ndarray, some: np.ndarray) -> np.ndarray:
    """(d, len(some)): of every column with some of them, documents weighing as D says."""
    total = max(float(curvature.sum()), 1e-300)
    mean = np.asarray(X.T @ curvature) / total
    square = np.asarray(X.multiply(X).T @ curvature)
    deviation = np.sqrt(np.maximum(square / total - mean**2, 0.0))
    chosen = X.tocsc()[:, some]
    both = np.asarray((X.T @ chosen.multiply(curvature[:, None])).todense()) / total - np.outer(mean, mean[some])
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = both / np.outer(deviation, deviation[some])
    return np.nan_to_num(correlation)
