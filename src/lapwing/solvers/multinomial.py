"""Polytomous models: all classes in one problem, a certified FitResult out. Which kernel depends on the prior's shape.

Sparse priors: Newton on a working set of (class, feature) pairs (kernels/multinomial.py). Gaussian ones: Newton with
conjugate gradients (kernels/multinomial_ridge.py).
"""

from __future__ import annotations

import numpy as np

from lapwing.model.objective import PriorArrays
from lapwing.model.result import FitResult
from lapwing.solvers.newton import Problem


def merge(problem: Problem, prior: PriorArrays) -> PriorArrays:
    """The prior of the columns, class by class."""
    rows = [problem.merge(PriorArrays(*(part[k] for part in prior))) for k in range(len(prior.mode))]
    return PriorArrays(*(np.array(part) for part in zip(*rows, strict=True)))


def spread(problem: Problem, beta: np.ndarray) -> np.ndarray:
    """Weights of columns to weights of raw features, class by class."""
    return np.array([problem.spread(row) for row in beta])


def fit(
    problem: Problem,
    labels: np.ndarray,
    sample_weight: np.ndarray,
    prior: PriorArrays,
    *,
    variance: float = float("nan"),
    tol: float = 1e-4,
    max_iter: int = 500,
    start: np.ndarray | None = None,
) -> FitResult:
    """Minimise the polytomous objective of model/objective.py.

    labels (n,) class numbers; prior (K, d+1). The result's weights are (K, d+1), its dual point (K, n).
    """
    begin = np.clip(prior.mode if start is None else start, prior.lower, prior.upper)
    beta = np.array([problem.gather(row) for row in begin])
    arrays = merge(problem, prior)
    objective, gap, kkt, kkt_bound, rounds, converged, dual = minimise(
        problem, labels, sample_weight, arrays, beta, tol, max_iter
    )
    return FitResult(spread(problem, beta), objective, gap, kkt, kkt_bound, rounds, converged, variance, dual)


def minimise(
    problem: Problem,
    labels: np.ndarray,
    sample_weight: np.ndarray,
    arrays: PriorArrays,
    beta: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[float, float, float, float, int, bool, np.ndarray]:
    """From `beta`, which is overwritten, over columns and not features: `arrays` comes from `merge`.

    Returns (objective, gap, kkt, kkt_bound, rounds, converged, dual point).
    """
    from lapwing.kernels import multinomial, multinomial_ridge

    labels = labels.astype(np.int32)
    free = np.isinf(arrays.lower) & np.isinf(arrays.upper)
    if not arrays.l1.any() and np.all(free | (arrays.lower == arrays.upper)):
        order, by_row = problem.frequent_first
        mode, _, l2, lower, upper = (np.ascontiguousarray(part[:, order]) for part in arrays)
        ordered = np.ascontiguousarray(beta[:, order])
        found = multinomial_ridge.fit(*by_row, labels, sample_weight, mode, l2, lower, upper, ordered, tol, max_iter)
        beta[:, order] = ordered
        return found
    return multinomial.fit(*problem.by_column, labels, sample_weight, *arrays, beta, tol, max_iter)


def log_likelihood(problem: Problem, labels: np.ndarray, sample_weight: np.ndarray, beta: np.ndarray) -> float:
    """Σ_i c_i ln p(y_i | x_i, β), β over columns."""
    from lapwing.kernels.softmax import loss_at

    return -float(loss_at(*problem.by_column, labels.astype(np.int32), sample_weight, beta))
