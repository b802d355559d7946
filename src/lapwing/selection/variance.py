"""Choosing the prior variance by cross-validation: over a grid, or by a search that needs none.

Held-out log-likelihood decides, as in GLM07 section 4.4. Folds are weights 0 and 1 over one shared matrix;
within a fold each fit starts from the solution under the next stronger prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lapwing.errors import SettingsError
from lapwing.model.links import as_link
from lapwing.model.objective import PriorArrays
from lapwing.model.priors import Laplace, Prior, check_variance
from lapwing.solvers.newton import Problem, minimise

BRACKET = 100.0  # factor in variance by which the search steps out
GAIN = 0.01  # the search ends when a step gains less than this, relative to the log-likelihood
CLOSEST = 1.5  # or when it would step by less than this factor


@dataclass(frozen=True)
class CrossValidation:
    """How variances are compared. GLM07's partial 10-fold with 2 runs by default.

    variances  the grid; None for GLM07's
    folds      in how many portions documents are dealt out, positives and negatives each evenly
    runs       how many of them take a turn as the validation portion
    one_se     take the strongest prior within one standard error of the best
    """

    variances: tuple[float, ...] | None = None
    folds: int = 10
    runs: int = 2
    one_se: bool = False

    def __post_init__(self) -> None:
        if not self.folds >= 2 or not 1 <= self.runs <= self.folds:
            raise SettingsError(f"expected 2 or more folds and 1 to {self.folds} runs, got {self.folds}, {self.runs}")
        for value in self.variances or ():
            check_variance(value, "cv_variances")
        if self.one_se and self.runs < 2:
            raise SettingsError("the one-standard-error rule needs 2 or more runs")


@dataclass(frozen=True)
class VarianceCurve:
    """Held-out log-likelihood for every variance tried, ascending; one column per run."""

    variances: np.ndarray
    log_likelihood: np.ndarray
    chosen: float

    @property
    def total(self) -> np.ndarray:
        return self.log_likelihood.sum(axis=1)


def default_grid(prior: Prior) -> tuple[float, ...]:
    """GLM07 section 4.4: λ from 0.01 to 316 by √10 for Laplace, variance from 0.0001 to 10000 by 10 otherwise."""
    if isinstance(prior, Laplace):
        return tuple(sorted(2.0 / 10.0 ** (2 * (k / 2 - 2)) for k in range(10)))
    return tuple(10.0**k for k in range(-4, 5))


def deal_folds(y: np.ndarray, folds: int, seed: np.random.SeedSequence) -> np.ndarray:
    """A fold for every document: positives and negatives shuffled and dealt out in turn."""
    rng = np.random.default_rng(seed)
    fold = np.empty(len(y), dtype=np.int64)
    for side in (y > 0, y <= 0):
        rows = rng.permutation(np.flatnonzero(side))
        fold[rows] = np.arange(len(rows)) % folds
    return fold


class _HeldOut:
    """Held-out log-likelihoods of one category; remembers what was fitted and starts from the nearest."""

    def __init__(
        self,
        problem: Problem,
        y: np.ndarray,
        weight: np.ndarray,
        prior: Prior,
        intercept_variance: float | None,
        plan: CrossValidation,
        seed: np.random.SeedSequence,
        tol: float,
        max_iter: int,
        link: str,
    ) -> None:
        fold = deal_folds(y, plan.folds, seed)
        self.problem, self.y, self.tol, self.max_iter, self.link = problem, y, tol, max_iter, link
        self.prior, self.intercept_variance = prior, intercept_variance
        self.training = [np.where(fold == run, 0.0, weight) for run in range(plan.runs)]
        self.validation = [np.where(fold == run, weight, 0.0) for run in range(plan.runs)]
        self.fitted: list[dict[float, np.ndarray]] = [{} for _ in range(plan.runs)]
        self.values: dict[float, list[float]] = {}

    def arrays(self, variance: float) -> PriorArrays:
        return self.problem.merge(self.prior.compile(variance, len(self.problem.group), self.intercept_variance))

    def __call__(self, variance: float) -> float:
        """Σ over runs of the log-likelihood of the documents left out."""
        from lapwing.kernels.loss import log_likelihood

        if variance not in self.values:
            arrays = self.arrays(variance)
            results, code = [], as_link(self.link).code
            for run, (train, held_out) in enumerate(zip(self.training, self.validation, strict=True)):
                stronger = [v for v in self.fitted[run] if v < variance]
                beta = self.fitted[run][max(stronger)].copy() if stronger else np.zeros(len(arrays.mode))
                minimise(self.problem, self.y, train, arrays, beta, self.tol, self.max_iter, self.link)
                self.fitted[run][variance] = beta
                results.append(log_likelihood(*self.problem.by_column, self.y, held_out, code, beta))
            self.values[variance] = results
        return sum(self.values[variance])

    def curve(self, chosen: float) -> VarianceCurve:
        variances = np.array(sorted(self.values))
        return VarianceCurve(variances, np.array([self.values[v] for v in variances.tolist()]), chosen)


def choose_variance(
    problem: Problem,
    y: np.ndarray,
    weight: np.ndarray,
    prior: Prior,
    plan: CrossValidation,
    *,
    method: str,
    start: float,
    seed: np.random.SeedSequence,
    intercept_variance: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
    link: str = "logit",
) -> VarianceCurve:
    """The variance of one category: method "cv" over a grid, "auto" by a search that begins at `start`."""
    held_out = _HeldOut(problem, y, weight, prior, intercept_variance, plan, seed, tol, max_iter, link)
    if method == "auto":
        return held_out.curve(_search(held_out, start))
    grid = sorted(plan.variances or default_grid(prior))
    values = np.array([held_out(v) for v in grid])
    best = int(np.argmax(values))  # the strongest prior among equals
    if plan.one_se:
        runs = np.array(held_out.values[grid[best]])
        margin = float(runs.std(ddof=1)) * math.sqrt(len(runs))  # of the sum over runs
        best = int(np.argmax(values >= values[best] - margin))
    return held_out.curve(grid[best])


def _search(value: _HeldOut, start: float) -> float:
    """Step out by a factor of 100 until the best lies inside, then follow a quadratic in the logarithm."""
    low, middle, high = start / BRACKET, start, start * BRACKET
    for _ in range(6):
        value(low), value(middle), value(high)
        if value(low) > value(middle):
            low, middle, high = low / BRACKET, low, middle
        elif value(high) > value(middle):
            low, middle, high = middle, high, high * BRACKET
        else:
            break
    best = max(value.values, key=lambda v: (value(v), -v))
    for _ in range(10):
        tried = sorted(value.values)
        at = tried.index(best)
        if at in (0, len(tried) - 1):
            return best
        candidate = _vertex([tried[at - 1], best, tried[at + 1]], [value(v) for v in tried[at - 1 : at + 2]])
        nearest = min(abs(math.log(candidate / v)) for v in tried)
        if nearest < math.log(CLOSEST):
            return best
        before = value(best)
        if value(candidate) > before:
            best = candidate
        if value(best) - before < GAIN * abs(before):
            return best
    return best


def _vertex(variances: list[float], values: list[float]) -> float:
    """Where the parabola through three points in log variance is highest; the middle where it is flat."""
    x = np.log(variances) - math.log(variances[1])
    curve = np.polyfit(x, values, 2)
    if not curve[0] < 0.0:
        return variances[1]
    return float(math.exp(math.log(variances[1]) + float(np.clip(-curve[1] / (2 * curve[0]), x[0], x[2]))))
