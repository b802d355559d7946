"""Fits over the space of all n-grams, none of which is written down before it is wanted.

exact    the Laplace MAP. Solve the problem of the n-grams found so far (solvers/newton.py), search the whole
         space for n-grams whose derivative exceeds λ, add the steepest, until there is none or the gap is
         within tolerance. The dual point is scaled by the largest derivative of all, which the bound of the
         search proves: the certificate covers the n-grams that were never looked at.
greedy   SLR (IBW08): one step of coordinate ascent on the likelihood after the other, each along the n-gram
         with the steepest derivative. n-grams have no prior here; that fits end early stands in its place, and
         that steps go part of the way only (shrinkage, Friedman 2001): others may then share in what one says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.kernels.nouns import Documents
from lapwing.ngrams.space import NgramSpace
from lapwing.solvers.newton import minimise
from lapwing.solvers.problem import Problem
from lapwing.stats.links import Link, as_loss, log_loss, sigmoid
from lapwing.stats.objective import PriorArrays, kkt_violation, summed
from lapwing.stats.priors import Laplace
from lapwing.stats.result import FitResult

SHARE = 0.3  # a search takes what exceeds this share of the largest derivative ...
MOST = 300  # ... but no more than this, or as many as there are already
FIRST, SMALLER = 0.1, 0.1  # relative gap of the fit between two searches: at first, and as a share of what is left,
FINE = 0.3  # but no smaller than this share of the tolerance,
EXHAUSTED = 0.01  # unless no n-gram is new: then down to this
LEVEL = 1e-12  # derivatives this close, relatively, are equal: the shortest n-gram goes first
FALLEN = 0.1  # a line search ends where the slope has fallen to this part of itself,
SHORTENED = 0.3  # and a step goes so much of that way
CHANGE = 0.005  # SLR ends when Σ|change of score| / (1 + Σ|score|) is no more than this
STEPS = 5000  # after so many steps at the latest
NOTHING = 1e-6  # and where no derivative exceeds this, per document: beyond lies infinity


@dataclass(frozen=True, eq=False)
class NgramFit:
    """Weights of some classes of n-grams: `result.weights` has one for each of `classes`, then the intercept."""

    classes: np.ndarray
    result: FitResult

    @property
    def kept(self) -> np.ndarray:
        """The classes whose weight is not 0."""
        return self.classes[np.flatnonzero(self.result.weights[:-1])]

    def scores(self, space: NgramSpace) -> np.ndarray:
        """Linear scores of the documents of the space."""
        return np.asarray(space.columns(self.classes) @ self.result.weights[:-1] + self.result.weights[-1])


def search(space: NgramSpace, pull: np.ndarray, floor: float, *, rising: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The classes with |Σ pull| > floor and these sums; if `rising`, only the steepest and those level with it."""
    from lapwing.kernels import ngrams as kernels

    slack = LEVEL if rising else 0.0
    tree = (space.left, space.right, space.after, space.doc_at)
    nodes, slopes = kernels.search(*tree, pull, floor, rising, slack)
    if rising and len(slopes):
        level = np.abs(slopes) >= (1.0 - slack) * np.abs(slopes).max()
        nodes, slopes = nodes[level], slopes[level]
    classes, first = np.unique(space.class_of[nodes], return_index=True)
    return classes, slopes[first]


def exact(
    space: NgramSpace,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    variance: float,
    intercept_variance: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
    start: NgramFit | None = None,
    link: str = "logit",
) -> NgramFit:
    """The Laplace MAP of one category over every n-gram of the space, the objective of stats/objective.py.

    link   a link, or another loss of stats/links.py
    """
    form = as_loss(link)
    classes = np.empty(0, np.int64) if start is None else start.classes
    beta = np.zeros(1) if start is None else start.result.weights.copy()
    slope = float(np.sqrt(2.0 / variance))
    rounds, inner, best_dual, best_theta = 0, FIRST, -np.inf, np.zeros(len(y))
    while True:
        problem = Problem(space.columns(classes).tocsr(), merge=False)
        prior = Laplace().compile(variance, len(classes), intercept_variance)
        result = minimise(problem, y, weight, prior, beta, inner, max(max_iter - rounds, 1), link)
        objective, kkt_bound, theta = result.objective, result.kkt_bound, result.dual
        rounds += result.rounds
        pull = weight * y * theta
        steepest = float(np.abs(search(space, pull, slope, rising=True)[1]).max(initial=slope))
        if prior.flat[-1]:
            kkt_bound += _outside(space, pull, slope, classes)
            gap, relative, best_theta = float("nan"), kkt_bound / objective, theta
        else:
            scale = min(1.0, slope / steepest, prior.l1[-1] / max(abs(float(pull.sum())), 1e-300))
            dual = _dual(form, scale * theta, y, weight)
            if dual > best_dual:
                best_dual, best_theta = dual, scale * theta
            gap = max(objective - best_dual, 0.0)
            relative = gap / objective
        if relative <= tol or rounds >= max_iter:
            break
        steep, slopes = search(space, pull, max(slope, SHARE * steepest))
        new = ~np.isin(steep, classes)
        steep, slopes = steep[new], slopes[new]
        if len(steep):
            inner = min(inner, max(SMALLER * relative, FINE * tol))
        elif inner < EXHAUSTED * tol:  # rounding is all that is left
            break
        else:
            inner *= SMALLER
        most = max(MOST, len(classes))
        if len(steep) > most:
            steep = np.sort(steep[np.argpartition(-np.abs(slopes), most)[:most]])
        classes, beta = np.append(classes, steep), np.concatenate((beta[:-1], np.zeros(len(steep)), beta[-1:]))
    pull = weight * y * form.theta(y * problem.scores(beta), y)
    kkt, kkt_bound = _optimality(problem, form, y, weight, prior, beta, pull)
    steepest = float(np.abs(search(space, pull, slope, rising=True)[1]).max(initial=slope))
    kkt, kkt_bound = max(kkt, steepest - slope), kkt_bound + _outside(space, pull, slope, classes)
    kept = np.append(beta[:-1] != 0.0, True)
    proof = FitResult(beta[kept], objective, gap, kkt, kkt_bound, rounds, relative <= tol, variance, best_theta)
    return NgramFit(classes[kept[:-1]], proof)


def _dual(form: Link, theta: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """D(θ), θ feasible: the n-grams add nothing, as their prior is Laplace's around 0."""
    if form.code is None:
        return -float(np.sum(weight * form.conjugate(theta, y)))
    from lapwing.kernels.loss import dual_objective

    nothing = np.empty(0)
    return float(dual_objective(theta, weight, form.code, nothing, 1.0, PriorArrays(*[nothing] * 5)))


def _optimality(
    problem: Problem, form: Link, y: np.ndarray, weight: np.ndarray, prior: PriorArrays, beta: np.ndarray,
    pull: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """(kkt, kkt_bound) over the n-grams found; `pull` is that of their documents at β."""
    if form.code is None:
        indptr, indices, data = problem.matrix.rows
        X = sp.csr_matrix((data, indices, indptr), shape=(problem.n_documents, len(beta) - 1))
        violation = kkt_violation(prior, beta, -np.append(X.T @ pull, pull.sum()))
        return float(violation.max(initial=0.0)), float(np.sum(violation * np.maximum(np.abs(beta - prior.mode), 1.0)))
    from lapwing.kernels.loss import optimality

    kkt, kkt_bound = optimality(problem.matrix, Documents(y, weight, form.code), prior, beta)
    return float(kkt), float(kkt_bound)


def _outside(space: NgramSpace, pull: np.ndarray, slope: float, classes: np.ndarray) -> float:
    """By how much the derivatives of all other classes exceed the penalty's slope, added up."""
    steep, slopes = search(space, pull, slope)
    return float(np.sum(np.abs(slopes[~np.isin(steep, classes)]) - slope))


class Step(NamedTuple):
    """One step of SLR: the class taken, how far its weight went, and where that left everything."""

    chosen: int
    by: float
    scores: np.ndarray
    intercept: float
    change: float  # Σ|change of score| / (1 + Σ|score|)


def ascend(
    space: NgramSpace, y: np.ndarray, weight: np.ndarray, *, intercept_slope: float, share: float = SHORTENED
) -> Iterator[Step]:
    """SLR's steps, until no n-gram has a derivative worth following. The intercept follows each of them.

    share   of its line search that a step goes
    """
    intercept = _intercept(np.zeros(len(y)), y, weight, 0.0, intercept_slope)
    scores = np.full(len(y), intercept)
    while True:
        pull = weight * y * sigmoid(-y * scores)
        level, _ = search(space, pull, NOTHING * float(weight.sum()), rising=True)
        if not len(level):
            return
        chosen = int(level[0]) if len(level) == 1 else _shortest(space, level)
        rows = space.columns(np.array([chosen])).indices
        by = share * _line_search(scores[rows], y[rows], weight[rows])
        new = scores.copy()
        new[rows] += by
        moved = _intercept(new - intercept, y, weight, intercept, intercept_slope)
        new += moved - intercept
        change = summed(weight, np.abs(new - scores)) / (1.0 + summed(weight, np.abs(new)))
        scores, intercept = new, moved
        yield Step(chosen, by, scores, intercept, change)


def _shortest(space: NgramSpace, classes: np.ndarray) -> int:
    """The class of the shortest n-gram; the first in order among equals."""
    classes = classes[space.shortest[classes] == space.shortest[classes].min()]
    return int(min(zip(space.names(classes), classes.tolist(), strict=True))[1])


def _line_search(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """How far to go along an n-gram: to where the slope has fallen to a tenth of itself, or less.

    Not to the very minimum, which for n-grams that are found on one side only lies at infinity.
    """

    upward = float(np.sum(weight * y * sigmoid(-y * scores))) > 0.0

    def slope(by: float) -> float:
        """Of the log-likelihood, in the direction in which it begins by rising."""
        total = float(np.sum(weight * y * sigmoid(-y * (scores + by))))
        return total if upward else -total

    enough = FALLEN * slope(0.0)
    low, high = 0.0, 1.0 if upward else -1.0
    while slope(high) > enough:
        low, high = high, 2.0 * high
    while slope(high) < 0.0:
        middle = 0.5 * (low + high)
        if middle in (low, high):  # nothing lies between them
            break
        if slope(middle) > enough:
            low = middle
        else:
            high = middle
    return high


def _intercept(offset: np.ndarray, y: np.ndarray, weight: np.ndarray, start: float, slope: float) -> float:
    """argmin_b Σ c_i ln(1+e^{-y_i(s_i+b)}) + slope·|b|, by Newton's method."""
    b = start
    for _ in range(50):
        theta = sigmoid(-y * (offset + b))
        g = -float(np.sum(weight * y * theta))
        h = max(float(np.sum(weight * theta * (1.0 - theta))), 0.05 * abs(g) + 1e-300)  # steps of 20 at most
        away = b - g / h
        best = away - min(max(away, -slope / h), slope / h)
        if abs(best - b) <= 1e-9 * (1.0 + abs(b)):
            return best
        b = best
    return b


def greedy(
    space: NgramSpace,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    variance: float,
    intercept_variance: float | None = None,
    steps: int | None = None,
) -> NgramFit:
    """So many shortened `steps`; or SLR as the paper has it, whole ones until the scores change by `CHANGE` at most.

    `variance` is that of the intercept's prior, unless that has its own.
    """
    slope = float(Laplace().compile(variance, 0, intercept_variance).l1[0])
    weights: dict[int, float] = {}
    intercept = _intercept(np.zeros(len(y)), y, weight, 0.0, slope)
    scores = np.full(len(y), intercept)
    taken, converged = 0, True
    for step in ascend(space, y, weight, intercept_slope=slope, share=1.0 if steps is None else SHORTENED):
        weights[step.chosen] = weights.get(step.chosen, 0.0) + step.by
        scores, intercept = step.scores, step.intercept
        taken += 1
        if taken == (steps or STEPS):
            converged = steps is not None
            break
        if steps is None and step.change <= CHANGE:
            break
    theta = sigmoid(-y * scores)
    steepest = float(np.abs(search(space, weight * y * theta, 0.0, rising=True)[1]).max(initial=0.0))
    objective = summed(weight, log_loss(y * scores)) + slope * abs(intercept)
    classes = np.array(sorted(weights), dtype=np.int64)
    beta = np.array([*(weights[c] for c in classes.tolist()), intercept])
    unknown = float("nan")  # without a prior no dual point is feasible
    return NgramFit(classes, FitResult(beta, objective, unknown, steepest, unknown, taken, converged, np.inf, theta))
