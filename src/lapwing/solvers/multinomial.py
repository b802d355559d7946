"""Polytomous models: all classes in one problem, a certified FitResult out. Which kernel depends on the prior's shape.

Sparse priors: Newton on a working set of (class, feature) pairs (kernels/softmax_quadratic.py). Gaussian ones: Newton
with conjugate gradients (kernels/multinomial_ridge.py).
"""

from __future__ import annotations

import numpy as np

from lapwing.solvers.problem import Problem
from lapwing.stats.objective import PriorArrays, penalty
from lapwing.stats.result import FitResult

RELAX = 0.4  # factor by which a stronger prior is relaxed
LOOSE = 0.2  # relative fall of the objective at which a stronger prior is left
ROUGH = 0.1  # violations, relative to the penalty's slope, at which a quadratic model far from the optimum is left
TURNS = 30  # in a quadratic model near the optimum; elsewhere one
ROUNDING = 1e-13  # a sum over documents is not known better


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
    """Minimise the polytomous objective of stats/objective.py.

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
    from lapwing.kernels import multinomial_ridge

    labels = labels.astype(np.int32)
    free = np.isinf(arrays.lower) & np.isinf(arrays.upper)
    if not arrays.l1.any() and np.all(free | (arrays.lower == arrays.upper)):
        order, by_row = problem.frequent_first
        mode, _, l2, lower, upper = (np.ascontiguousarray(part[:, order]) for part in arrays)
        ordered = np.ascontiguousarray(beta[:, order])
        found = multinomial_ridge.fit(*by_row, labels, sample_weight, mode, l2, lower, upper, ordered, tol, max_iter)
        beta[:, order] = ordered
        return found
    return _newton(problem, labels, sample_weight, arrays, beta, tol, max_iter)


def _newton(
    problem: Problem,
    labels: np.ndarray,
    weight: np.ndarray,
    prior: PriorArrays,
    beta: np.ndarray,
    tol: float,
    max_rounds: int,
) -> tuple[float, float, float, float, int, bool, np.ndarray]:
    """Newton's method on a growing working set of pairs, as kernels/newton.py for one category.

    A working set grows by the worst violators; the loss is replaced by its quadratic model with all its terms between
    classes (kernels/softmax_quadratic.py), and the probabilities which that model predicts at its minimum are the dual
    point. From a cold start the prior is first taken stronger (`strength` times) and relaxed step by step.
    """
    from lapwing.kernels import multinomial as steps
    from lapwing.kernels import softmax as loss_of
    from lapwing.kernels.softmax_quadratic import Columns, solve

    shape = (len(beta), len(weight))
    indptr, indices, data, offset = problem.by_column
    X = Columns(np.append(indptr, indptr[-1]).astype(np.int64), indices, data, np.append(offset[:-1], 1.0))
    np.clip(beta, prior.lower, prior.upper, out=beta)
    unheld = (prior.l1 == 0.0) & ((np.diff(X.ends) > 0) | (X.offset != 0.0))
    inside = (beta != prior.mode) | unheld
    inside[:, -1] = True
    inside &= prior.lower < prior.upper
    flat = bool(prior.flat.any())

    score, proba = np.empty(shape), np.empty(shape)
    loss_of.scores(*X, beta, score)
    loss = loss_of.softmax(score, labels, weight, proba)
    gradient = np.empty(beta.shape)
    loss_of.price(*X, labels, weight, proba, gradient)
    strength = max(1.0, 0.3 * steps.worst_slope(beta, gradient, prior))
    best, best_dual = proba, -np.inf
    gap, converged, careful = float("nan"), False, True
    precision, t = ROUGH, 1.0
    rounds = 0
    while rounds < max_rounds:
        rounds += 1
        m = int(np.count_nonzero(inside))
        steps.choose(inside, beta, gradient, prior, strength, max(20 * len(beta), m // 2 if t > 0.5 else m // 8))
        classes, feature = np.nonzero(inside)
        first = np.searchsorted(classes, np.arange(len(beta) + 1))
        feature = feature.astype(np.int32)
        mode, l1, l2, lower, upper = (part[inside] for part in prior)
        local = PriorArrays(mode, strength * l1, strength * l2, lower, upper)
        old = beta[inside]
        objective = loss + strength * penalty(prior, beta)
        slope = np.empty(len(old))
        steps.collect(X, first, feature, steps.residuals(proba, labels, weight), slope)
        unit = objective / max(float(np.sum(np.maximum(np.abs(old - mode), 1.0))), 1.0)
        bent = steps.cautious(proba, labels) if careful else proba
        b = old.copy()
        turns = 1 if precision == ROUGH else TURNS
        change = solve(X, first, feature, bent, weight, slope, local, unit, precision, turns, b)
        S = np.empty(shape)
        steps.spread_step(X, first, feature, b - old, S)
        promise = float(np.sum(slope * (b - old))) + penalty(local, b) - penalty(local, old)
        theta = steps.predicted(proba, change)
        t, reached = 1.0, np.inf
        for halvings in range(6):  # as long as that leads lower
            trial_proba = np.empty(shape)
            there = b if halvings == 0 else old + 0.5**halvings * (b - old)
            trial = score + 0.5**halvings * S
            trial_loss = loss_of.softmax(trial, labels, weight, trial_proba)
            found = trial_loss + penalty(local, there)
            if found > reached:
                break
            t, reached = 0.5**halvings, found
            moved = there, trial, trial_proba, trial_loss
            if found <= objective + 0.3 * t * promise + ROUNDING * objective:
                break
        fell = 0.0
        accepted = reached <= objective + 0.01 * t * promise + ROUNDING * objective
        if accepted:
            beta[inside], score, proba, loss = moved
            fell, objective = objective - reached, reached
        source = theta if accepted and not flat else proba
        loss_of.price(*X, labels, weight, source, gradient)
        if not accepted and not (careful and precision <= 0.2 * tol):
            careful, precision = True, 0.2 * tol
            continue
        careful = strength > 1.0 or t < 0.25
        if strength > 1.0:
            precision = ROUGH
            if not accepted or (t >= 0.5 and fell <= LOOSE * objective):
                strength = max(1.0, RELAX * strength)
            continue
        if flat:
            best = proba
            _, kkt_bound = loss_of.kkt_bounds(beta, gradient, *prior)
            converged = kkt_bound <= tol * objective
        else:
            scale = loss_of.feasible(gradient, prior)
            dual = loss_of.dual_objective(source, labels, weight, gradient, scale, *prior)
            if dual > best_dual:
                best_dual = dual
                best = scale * source
                best[labels, np.arange(shape[1])] += 1.0 - scale
            gap = max(objective - best_dual, 0.0)
            converged = gap <= tol * objective
        if converged or not accepted:
            break
        far = fell > (0.005 if t == 1.0 else tol) * objective
        precision = ROUGH if far else max(0.2 * tol, 2.0 * fell / objective)
    loss_of.price(*X, labels, weight, proba, gradient)
    kkt, kkt_bound = loss_of.kkt_bounds(beta, gradient, *prior)
    return loss + penalty(prior, beta), gap, kkt, kkt_bound, rounds, converged, best


def log_likelihood(problem: Problem, labels: np.ndarray, sample_weight: np.ndarray, beta: np.ndarray) -> float:
    """Σ_i c_i ln p(y_i | x_i, β), β over columns."""
    from lapwing.kernels.softmax import loss_at

    return -float(loss_at(*problem.by_column, labels.astype(np.int32), sample_weight, beta))
