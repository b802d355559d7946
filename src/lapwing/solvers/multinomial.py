"""Polytomous models: all classes in one problem, a certified FitResult out.

One loop of Newton steps. Sparse priors: a working set of (class, feature) pairs and the minimum of its quadratic model
(kernels/softmax_quadratic.py). Gaussian ones: all pairs, by conjugate gradients (kernels/softmax_ridge.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels.nouns import ARMIJO, ROUNDING, Matrix, Result
from lapwing.solvers.problem import Problem
from lapwing.stats.objective import PriorArrays, penalty
from lapwing.stats.result import FitResult

COLD = 0.3  # a stronger prior begins at this share of the one under which every penalised coefficient is at its mode,
RELAX = 0.4  # is relaxed by this factor,
LOOSE = 0.2  # and left when a round lets the objective fall by less than this, relatively
ROUGH = 0.1  # violations, relative to the penalty's slope, at which a quadratic model far from the optimum is left
FINE = 0.2  # the same near the optimum, relative to tol
TURNS = 30  # in a quadratic model at most, where a step to its rough minimum failed; elsewhere one, and
SLOW = 0.7  # twice as many as before where a round leaves more than this share of the gap; after as many
MOST_WHOLE = 1000  # pairs, the model is solved on one dense matrix
FALLS = 0.005  # relative fall of the objective in a whole step above which it is far
FEWEST = 20  # features of a class that are added at least,
POOR = 0.5  # and an eighth, not half, of those there are after a step of which no more than this share was taken
HALVINGS = 6  # of a step at most; of a Gaussian one, which has no second try,
HALVINGS_GAUSSIAN = 40
ENOUGH = 0.3  # share of what a step promises that ends the search for a shorter one
SPARE = 0.005  # share of the curvature that a Gaussian step leaves out at most
LEFT_FAR, LEFT_NEAR = 0.3, 1e-6  # of the first residual, by its conjugate gradients far from the optimum and near it
ITERATIONS = 200  # of conjugate gradients in a round at most


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
    result = minimise(problem, labels, sample_weight, arrays, beta, tol, max_iter)
    return FitResult(spread(problem, beta), variance=variance, **result._asdict())


def minimise(
    problem: Problem,
    labels: np.ndarray,
    sample_weight: np.ndarray,
    arrays: PriorArrays,
    beta: np.ndarray,
    tol: float,
    max_iter: int,
) -> Result:
    """From `beta`, which is overwritten, over columns and not features: `arrays` comes from `merge`."""
    return _newton(problem, labels.astype(np.int32), sample_weight, arrays, beta, tol, max_iter)


class _Point(NamedTuple):
    """Coefficients of the working set, and what follows from all coefficients: scores, probabilities, the loss."""

    b: np.ndarray
    score: np.ndarray
    proba: np.ndarray
    loss: float


def _newton(
    problem: Problem,
    labels: np.ndarray,
    weight: np.ndarray,
    prior: PriorArrays,
    beta: np.ndarray,
    tol: float,
    max_rounds: int,
) -> Result:
    """Newton's method on a growing working set of pairs, as kernels/newton.py for one category.

    A working set grows by the worst violators; the loss is replaced by its quadratic model with all its terms between
    classes (kernels/softmax_quadratic.py), and the probabilities which that model predicts at its minimum are the dual
    point. From a cold start the prior is first taken stronger (`strength` times) and relaxed step by step.
    Longer than a screen for the reason that kernels/newton.py's is.
    """
    from lapwing.kernels import multinomial as steps
    from lapwing.kernels import softmax as loss_of

    X, K = problem.matrix, len(beta)
    np.clip(beta, prior.lower, prior.upper, out=beta)
    fixed, free = prior.lower == prior.upper, np.isinf(prior.lower) & np.isinf(prior.upper)
    gaussian = not prior.l1.any() and bool(np.all(free | fixed))
    inside = ~fixed if gaussian else _begin(X, prior, beta)
    flat = bool(prior.flat.any())
    score, proba = np.empty((K, len(weight))), np.empty((K, len(weight)))
    loss_of.scores(X, beta, score)
    here = _Point(beta[inside], score, proba, loss_of.softmax(score, labels, weight, proba))
    gradient = np.empty(beta.shape)
    loss_of.price(X, labels, weight, proba, gradient)
    strength = 1.0 if gaussian else max(1.0, COLD * steps.worst_slope(beta, gradient, prior))
    best, best_dual = proba, -np.inf
    gap, bound, converged, cautious = float("nan"), np.inf, False, not gaussian
    precision, t, turns, fall = ROUGH, 1.0, 1, 1.0
    rounds = 0
    while rounds < max_rounds:
        rounds += 1
        # Grow the working set.
        m = int(np.count_nonzero(inside))
        strong = _stronger(prior, strength)
        if not gaussian:
            steps.choose(inside, beta, gradient, strong, max(FEWEST * K, m // 2 if t > POOR else m // 8))
        local = PriorArrays(*(part[inside] for part in strong))
        here = here._replace(b=beta[inside])
        objective = here.loss + strength * penalty(prior, beta)

        # The quadratic model of the loss, its minimum, and a search along the step to it.
        if gaussian:
            step = _gaussian_step(problem, here, weight, prior, beta, gradient, inside, fall)
        else:
            step = _step(X, inside, here, labels, weight, local, objective, cautious, precision, turns)
        promise = step.slope + penalty(local, step.b) - penalty(local, here.b)
        halvings = HALVINGS_GAUSSIAN if gaussian else HALVINGS
        t, lowest, there = _search(here, step.b, step.shift, labels, weight, local, objective, promise, halvings)
        accepted = lowest <= objective + ARMIJO * t * promise + ROUNDING * objective
        fell = 0.0
        if accepted:
            here, fell, objective = there, objective - lowest, lowest
            beta[inside] = here.b
            fall = fell / max(objective, 1e-300)

        # Price every pair, at the dual point.
        source = step.predicted if accepted and not flat and not gaussian else here.proba
        loss_of.price(X, labels, weight, source, gradient)
        if not accepted and not gaussian and not (cautious and precision <= FINE * tol):
            cautious, precision = True, FINE * tol
            continue
        cautious = strength > 1.0 or t < 0.25
        if strength > 1.0:
            precision = ROUGH
            if not accepted or (t >= 0.5 and fell <= LOOSE * objective):
                strength = max(1.0, RELAX * strength)
            continue

        # Certify.
        before = bound
        if flat:
            best, bound = here.proba, loss_of.kkt_bounds(beta, gradient, prior)[1]
        else:
            best, best_dual = _dual(source, labels, weight, gradient, prior, best, best_dual)
            bound = gap = max(objective - best_dual, 0.0)
        converged = bound <= tol * objective
        if converged or not accepted:
            break
        turns = min(2 * turns, TURNS) if bound > SLOW * before else 1
        far = fell > (FALLS if t == 1.0 else tol) * objective
        precision = ROUGH if far else max(FINE * tol, 2.0 * fall)
    loss_of.price(X, labels, weight, here.proba, gradient)
    kkt, kkt_bound = loss_of.kkt_bounds(beta, gradient, prior)
    return Result(here.loss + penalty(prior, beta), gap, kkt, kkt_bound, rounds, converged, best)


def _begin(X: Matrix, prior: PriorArrays, beta: np.ndarray) -> np.ndarray:
    """The first working set: constants, coefficients away from their mode, and those that nothing holds there."""
    unheld = (prior.l1 == 0.0) & ((np.diff(X.columns.indptr) > 0) | (X.offset != 0.0))
    inside = (beta != prior.mode) | unheld
    inside[:, -1] = True
    return np.asarray(inside & (prior.lower < prior.upper))


def _stronger(prior: PriorArrays, strength: float) -> PriorArrays:
    return prior if strength == 1.0 else prior._replace(l1=strength * prior.l1, l2=strength * prior.l2)


def _pairs(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first, feature): pairs of class k are first[k] : first[k+1]."""
    classes, feature = np.nonzero(inside)
    return np.searchsorted(classes, np.arange(len(inside) + 1)), feature.astype(np.int32)


class _Step(NamedTuple):
    """To the minimum b of the quadratic model: the loss's slope along it, how it shifts the scores, and the
    probabilities that the model predicts after it."""

    b: np.ndarray
    slope: float
    shift: np.ndarray
    predicted: np.ndarray


def _step(
    X: Matrix,
    inside: np.ndarray,
    here: _Point,
    labels: np.ndarray,
    weight: np.ndarray,
    prior: PriorArrays,
    objective: float,
    cautious: bool,
    precision: float,
    turns: int,
) -> _Step:
    """The quadratic model of the loss over the pairs of the working set, solved to `precision`."""
    from lapwing.kernels import multinomial as steps
    from lapwing.kernels.softmax_quadratic import solve, solve_whole

    first, feature = _pairs(inside)
    gradient, shift, b = np.empty(len(here.b)), np.empty(here.score.shape), here.b.copy()
    steps.collect(X, first, feature, steps.residuals(here.proba, labels, weight), gradient)
    unit = objective / max(float(np.sum(np.maximum(np.abs(here.b - prior.mode), 1.0))), 1.0)
    bent = steps.cautious(here.proba, labels) if cautious else here.proba
    if turns == TURNS and len(b) <= MOST_WHOLE:
        change = solve_whole(X, first, feature, bent, weight, gradient, prior, precision, b)
    else:
        turns = TURNS if cautious and precision < ROUGH else turns
        change = solve(X, first, feature, bent, weight, gradient, prior, unit, precision, turns, b)
    steps.spread_step(X, first, feature, b - here.b, shift)
    return _Step(b, float(np.sum(gradient * (b - here.b))), shift, steps.predicted(here.proba, change))


def _gaussian_step(
    problem: Problem,
    here: _Point,
    weight: np.ndarray,
    prior: PriorArrays,
    beta: np.ndarray,
    gradient: np.ndarray,
    inside: np.ndarray,
    fall: float,
) -> _Step:
    """H⁻¹(-gradient) by preconditioned conjugate gradients, over the documents that bend the loss.

    `fall` of the objective in the round before, relatively: what is left of the residual falls with its root.
    """
    from lapwing.kernels import softmax as loss_of
    from lapwing.kernels.softmax_ridge import conjugate_gradients, diagonals

    def across(values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values[:, order].T)

    order, rows, offset = problem.frequent_first
    proba = np.ascontiguousarray(here.proba.T)
    bends = weight * np.maximum(1.0 - np.sum(proba * proba, axis=1), 0.0)
    small = across(prior.l2)
    residual = -across(np.where(inside, gradient + prior.l2 * (beta - prior.mode), 0.0))
    diagonal = np.empty(small.shape)
    spare = 0.0 if offset[:-1].any() else min(SPARE, fall)
    documents = np.flatnonzero(bends >= diagonals(rows, weight, proba, bends, spare, small, diagonal))
    scale = np.divide(1.0, diagonal, out=np.zeros(small.shape), where=across(inside) & (diagonal > 0.0))
    left = min(LEFT_FAR, max(LEFT_NEAR, fall**0.5))
    x = conjugate_gradients(rows, offset, weight, proba, documents, small, scale, residual, left, ITERATIONS)
    change, shift = np.empty(beta.shape), np.empty(here.score.shape)
    change[:, order] = x.T
    loss_of.scores(problem.matrix, change, shift)
    return _Step(here.b + change[inside], float(np.sum(gradient * change)), shift, here.proba)


def _dual(
    theta: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    gradient: np.ndarray,
    prior: PriorArrays,
    best: np.ndarray,
    best_dual: float,
) -> tuple[np.ndarray, float]:
    """The better of two dual points and its objective: `best`, or θ drawn towards the labels until it is feasible."""
    from lapwing.kernels import softmax as loss_of

    scale = loss_of.feasible(gradient, prior)
    dual = loss_of.dual_objective(theta, labels, weight, gradient, scale, prior)
    if not dual > best_dual:
        return best, best_dual
    drawn = scale * theta
    drawn[labels, np.arange(len(labels))] += 1.0 - scale
    return drawn, dual


def _search(
    here: _Point,
    b: np.ndarray,
    shift: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    prior: PriorArrays,
    objective: float,
    promise: float,
    most: int,
) -> tuple[float, float, _Point]:
    """Half the step until it brings enough, as long as that leads lower: (share taken, objective, point) there."""
    from lapwing.kernels.softmax import softmax

    t, lowest, there = 1.0, np.inf, here
    for halvings in range(most):
        share, proba = 0.5**halvings, np.empty(here.proba.shape)
        trial = b if halvings == 0 else here.b + share * (b - here.b)
        score = here.score + share * shift
        loss = softmax(score, labels, weight, proba)
        value = loss + penalty(prior, trial)
        if value > lowest:
            break
        t, lowest, there = share, value, _Point(trial, score, proba, loss)
        if value <= objective + ENOUGH * t * promise + ROUNDING * objective:
            break
    return t, lowest, there


def log_likelihood(problem: Problem, labels: np.ndarray, sample_weight: np.ndarray, beta: np.ndarray) -> float:
    """Σ_i c_i ln p(y_i | x_i, β), β over columns."""
    from lapwing.kernels.softmax import loss_at

    return -float(loss_at(problem.matrix, labels.astype(np.int32), sample_weight, beta))
