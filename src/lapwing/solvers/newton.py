"""The default solver's face: a problem in, a certified FitResult out."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lapwing.model.objective import PriorArrays
from lapwing.model.result import FitResult


def fit(
    X: sp.csc_matrix,
    y: np.ndarray,
    sample_weight: np.ndarray,
    prior: PriorArrays,
    *,
    variance: float,
    tol: float = 1e-4,
    max_iter: int = 200,
    start: np.ndarray | None = None,
) -> FitResult:
    """Minimise the objective of model/objective.py over one category; X by columns, int32 indices."""
    from lapwing.kernels import descent

    beta = np.clip(prior.mode, prior.lower, prior.upper) if start is None else start.copy()
    objective, gap, kkt, kkt_bound, rounds, converged, theta = descent.fit(
        X.indptr, X.indices, X.data, y, sample_weight, *prior, beta, tol, max_iter
    )
    return FitResult(beta, objective, gap, kkt, kkt_bound, rounds, converged, variance, theta)
