"""What can be checked of a fit under Jeffreys' prior, whose log-posterior has no maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.stats.links import as_link


@dataclass(frozen=True)
class Stationarity:
    """A point against its own neighbourhood, over the coefficients that are not 0; nothing is claimed beyond.

    alive       how many those are, the intercept among them
    objective   Σ c loss(r) + Σ ln|β_j| over them
    slope       the largest |∂/∂β_j| of that
    relative_slope   the largest |β_j ∂/∂β_j|: what the objective gains, to first order, by a coefficient's own size
    curvature   the smallest eigenvalue of the Hessian over them, each β_j taken as unit: > 0 at a local minimum
    """

    alive: int
    objective: float
    slope: float
    relative_slope: float
    curvature: float

    @property
    def local_minimum(self) -> bool:
        """Level to a millionth, and rising in every direction."""
        return self.relative_slope <= 1e-6 and self.curvature > 0.0


def certify_stationary(
    X: sp.csr_matrix | np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    sample_weight: np.ndarray | None = None,
    link: str = "logit",
) -> Stationarity:
    """Recompute in plain NumPy what EM under Jeffreys' prior on all coefficients came to."""
    import scipy.linalg  # here: the command starts without it

    form = as_link(link)
    n, size = X.shape[0], X.shape[1] + 1
    weights = np.asarray(weights, dtype=np.float64)
    c = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if np.shape(y) != (n,) or c.shape != (n,) or weights.shape != (size,):
        raise InputError(f"expected {n} labels and weights and {size} coefficients, got {np.shape(y)}, {c.shape}, ...")
    alive = np.flatnonzero(weights)
    design = sp.csc_matrix(sp.hstack([sp.csc_matrix(X), np.ones((n, 1))]))[:, alive]
    beta = weights[alive]
    margin = y * (design @ beta)
    theta = form.theta(margin, y)
    slope = -(design.T @ (c * y * theta)) + 1.0 / beta
    bend = form.curvature(margin, theta, y)
    scaled = design @ sp.diags_array(np.abs(beta))
    H = (scaled.T @ scaled.multiply((c * bend)[:, None])).toarray() - np.eye(len(alive))
    lowest = scipy.linalg.eigvalsh(H, subset_by_index=[0, 0])[0] if len(alive) else np.inf
    return Stationarity(
        alive=len(alive),
        objective=float(np.sum(c * form.loss(margin, y)) + np.sum(np.log(np.abs(beta)))),
        slope=float(np.abs(slope).max(initial=0.0)),
        relative_slope=float(np.abs(slope * beta).max(initial=0.0)),
        curvature=float(lowest),
    )
