"""One finished fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.errors import InputError
from lapwing.stats.objective import Proven


@dataclass(frozen=True, eq=False)
class FitResult(Proven):
    """Weights with the proof of their quality.

    weights     (d+1,) dense, intercept last; (K, d+1) of a polytomous model, whose dual point is (K, n)
    dual        θ (n,), the point the gap was measured at; `certify` scales it where rounding asks for it
    gap, kkt, kkt_bound   as in `Certificate`
    rounds      outer iterations
    curvature   under Jeffreys' prior as in `Stationarity`, else NaN
    """

    weights: np.ndarray
    objective: float
    gap: float
    kkt: float
    kkt_bound: float
    rounds: int
    converged: bool
    variance: float
    dual: np.ndarray
    curvature: float = float("nan")

    def __post_init__(self) -> None:
        if not np.isfinite(self.weights).all():
            raise InputError(
                "the fit left the range of float64: its coefficients are not finite; scale columns of very large "
                "values, or give a smaller variance"
            )
