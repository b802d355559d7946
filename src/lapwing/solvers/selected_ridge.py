"""Selected Ridge (AAGBD11): a ridge solution, thresholded by what the data know of each coefficient.

The penalty λ‖β‖² of the paper is a Gaussian prior of variance 1/(2λ), so that H carries l2 = 2λ. The
constant is thresholded like every other coefficient (Algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays

HESSIANS = ("diagonal", "full")
KKT = 1e-9  # violation of Eq. 4's optimality conditions at which hessian="full" stops
ROUNDS = 200  # of descent at most


@dataclass(frozen=True, eq=False)
class Selected:
    """The sparse solution.

    weights    (d+1,) of features, intercept last
    objective  that of the ridge problem (Eq. 2), at these weights
    kkt        largest violation of Eq. 4's optimality conditions; 0 for the closed form
    """

    weights: np.ndarray
    alpha: float
    objective: float
    kkt: float


def universal_penalty(n_features: int) -> float:
    """AAGBD11 Property 3.1: α = √(2 ln p / p); for 133,348 features 0.0133."""
    return float(np.sqrt(2.0 * np.log(n_features) / n_features)) if n_features > 1 else 0.0


def select(
    problem: Problem,
    y: np.ndarray,
    sample_weight: np.ndarray,
    arrays: PriorArrays,
    weights: np.ndarray,
    alpha: float,
    hessian: str = "diagonal",
    link: str = "logit",
) -> Selected:
    """Prune the ridge solution `weights`; α = 0 returns it as it is.

    arrays   the Gaussian prior of the columns, as `problem.merge` makes it
    """
    from lapwing.kernels.loss import primal_objective, scores

    beta, kkt = prune(problem, y, sample_weight, arrays, problem.gather(weights), alpha, hessian, link)
    margin = y * scores(problem.matrix, beta)
    objective = primal_objective(margin, sample_weight, as_link(link).kernel_code, beta, arrays)
    return Selected(weights if alpha == 0.0 else problem.spread(beta), alpha, float(objective), kkt)


def prune(
    problem: Problem,
    y: np.ndarray,
    sample_weight: np.ndarray,
    arrays: PriorArrays,
    star: np.ndarray,
    alpha: float,
    hessian: str,
    link: str,
) -> tuple[np.ndarray, float]:
    """The same over columns: (coefficients, violation of the optimality conditions).

    With k features alike the paper's β_i is B/k, its |β_i| summed over them |B|, its 2λ the column's l2 × k.
    """
    from lapwing.kernels import selected_ridge as kernel
    from lapwing.kernels.loss import scores

    if alpha == 0.0:
        return star.copy(), 0.0
    margin = y * scores(problem.matrix, star)
    curvature = kernel.curvature(margin, sample_weight, as_link(link).kernel_code)
    information = kernel.sums(problem.matrix, curvature)[1]
    if hessian == "full":
        # From the closed form: most of what it drops stays dropped.
        beta = _threshold(star, information + arrays.l2, alpha)
        kkt, _ = kernel.near(problem.matrix, curvature, arrays.l2, star, alpha, beta, KKT, ROUNDS)
        return beta, float(kkt)
    return _threshold(star / problem.alike, information + arrays.l2 * problem.alike, alpha) * problem.alike, 0.0


def _threshold(star: np.ndarray, H: np.ndarray, alpha: float) -> np.ndarray:
    """AAGBD11 Theorem 3.1: argmin_b (b - β*)² H + α|b|; 0 where H is 0."""
    with np.errstate(divide="ignore"):
        shift = alpha / (2.0 * H)
    return np.sign(star) * np.maximum(np.abs(star) - shift, 0.0)
