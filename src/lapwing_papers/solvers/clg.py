"""CLG for Gaussian and CLG-lasso for sparse priors, as GLM07 has them: one category in, a FitResult out.

The default solver (solvers/newton.py) finds the same optimum much sooner. This one is here to do what the
paper did: its steps, in its order, and its rule for stopping.
"""

from __future__ import annotations

import numpy as np

from lapwing.errors import SettingsError
from lapwing.kernels.nouns import Documents
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays, penalty
from lapwing.stats.result import FitResult

MOST_GAP = 0.5  # of the objective: on texts it is 0.08 at most where scores have settled


def fit(
    problem: Problem,
    y: np.ndarray,
    sample_weight: np.ndarray,
    prior: PriorArrays,
    *,
    variance: float,
    tol: float = 5e-4,
    max_iter: int = 1000,
    start: np.ndarray | None = None,
    link: str = "logit",
) -> FitResult:
    """Minimise the objective of stats/objective.py over one category.

    tol bounds the change of the scores over a cycle, relative to their size (GLM07 §4.2), and `converged`
    says that it was met, and that the gap, computed afresh at the result, does not belie it: where columns have
    a mean that is large beside their deviation scores settle because every step is short.
    """
    from lapwing.kernels import clg
    from lapwing.kernels.loss import optimality

    if problem.centred:
        raise SettingsError("solver='clg' goes by stored entries and cannot standardize; use solver='auto'")
    arrays = problem.merge(prior)
    beta = problem.start(arrays, start)
    documents = Documents(y, sample_weight, as_link(link).kernel_code)
    _, cycles, converged, _ = clg.fit(problem.columns_with_constant, documents, arrays, beta, tol, max_iter)
    objective, gap, theta = _certified(problem, y, sample_weight, arrays, beta, link)
    converged = converged and not gap > MOST_GAP * objective
    kkt, kkt_bound = optimality(problem.matrix, documents, arrays, beta)
    weights = problem.spread(beta, prior, arrays)
    return FitResult(weights, objective, gap, kkt, kkt_bound, cycles, converged, variance, theta)


def _certified(
    problem: Problem, y: np.ndarray, sample_weight: np.ndarray, arrays: PriorArrays, beta: np.ndarray, link: str
) -> tuple[float, float, np.ndarray]:
    """(objective, gap, θ) at β from its own margins; the gap is NaN where no dual point is feasible."""
    from lapwing.kernels.loss import dual_objective, feasible_scale, loss_gradient, scores

    form = as_link(link)
    margin = y * scores(problem.matrix, beta)
    objective = float(np.sum(sample_weight * form.loss(margin, y))) + penalty(arrays, beta)
    theta = form.theta(margin, y)
    if np.any(arrays.flat):
        return objective, float("nan"), theta
    gradient = np.empty(len(beta))
    loss_gradient(problem.matrix, sample_weight * y * theta, gradient)
    scale = feasible_scale(-gradient, arrays)
    dual = dual_objective(theta, sample_weight, form.kernel_code, -gradient, scale, arrays)
    return objective, max(objective - dual, 0.0), theta
