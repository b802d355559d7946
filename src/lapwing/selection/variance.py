"""Choosing the prior variance by cross-validation: over a grid, or by a search that needs none.

Held-out log-likelihood decides, as in GLM07 section 4.4. Folds are weights 0 and 1 over one shared matrix;
within a fold each fit starts from the solution under the next stronger prior, or, with Gaussian priors, those of
all folds and variances go through the matrix together. A validation set takes the
place of folds where there is one. For Selected Ridge (AAGBD11) what is scored is the pruned solution, and its
penalty α can be chosen along with the variance.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.errors import ConvergenceWarning, SettingsError
from lapwing.kernels.nouns import Documents
from lapwing.selection.folds import Folds, shuffled
from lapwing.solvers import multinomial
from lapwing.solvers.newton import is_smooth, minimise, minimise_many
from lapwing.solvers.problem import Problem
from lapwing.solvers.selected_ridge import prune
from lapwing.stats.links import as_link, log_sum_exp
from lapwing.stats.objective import PriorArrays
from lapwing.stats.prior_table import PriorTable
from lapwing.stats.priors import Columns, Laplace, Prior, check_variance

BRACKET = 100.0  # factor in variance by which the search steps out
GAIN = 0.01  # the search ends when a step gains less than this, relative to the log-likelihood
CLOSEST = 1.5  # or when it would step by less than this factor
TOGETHER = 16  # fits with Gaussian priors in a block


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
        if self.variances is not None and not len(self.variances):
            raise SettingsError("cv_variances must be some numbers to choose from, got none; leave it out for the grid")
        for value in self.variances or ():
            check_variance(value, "cv_variances")
        if self.one_se and self.runs < 2:
            raise SettingsError("the one-standard-error rule needs 2 or more runs")


@dataclass(frozen=True)
class VarianceCurve:
    """Held-out log-likelihood for every variance tried, ascending; one column per run.

    alpha   Selected Ridge: the penalty chosen, with which these log-likelihoods are; 0 without
    """

    variances: np.ndarray
    log_likelihood: np.ndarray
    chosen: float
    alpha: float = 0.0

    @property
    def total(self) -> np.ndarray:
        return self.log_likelihood.sum(axis=1)


def default_grid(prior: Prior) -> tuple[float, ...]:
    """GLM07 section 4.4: λ from 0.01 to 316 by √10 for Laplace, variance from 0.0001 to 10000 by 10 otherwise."""
    if isinstance(prior.shape, Laplace):
        return tuple(sorted(2.0 / 10.0 ** (2 * (k / 2 - 2)) for k in range(10)))
    return tuple(10.0**k for k in range(-4, 5))


class Validation(NamedTuple):
    """Documents to choose by that no fit sees: X (m, d) over features, labels ±1 and weights (m,)."""

    X: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray

    def log_likelihood(self, weights: np.ndarray, link: str) -> float:
        margin = self.y * (self.X @ weights[:-1] + weights[-1])
        return -float(np.sum(self.weight * as_link(link).loss(margin, self.y)))

    def joint_log_likelihood(self, weights: np.ndarray) -> float:
        """Of a polytomous model, weights (K, d+1); y then holds class numbers."""
        scores = np.asarray(self.X @ weights[:, :-1].T) + weights[:, -1]
        return -float(np.sum(self.weight * (log_sum_exp(scores) - scores[np.arange(len(self.y)), self.y])))


def parts_of(
    weight: np.ndarray, plan: CrossValidation, chosen_by: Folds | np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The documents' weights to fit with and to choose by, run by run: of folds, or those of a validation set."""
    if not isinstance(chosen_by, Folds):
        return [weight], [chosen_by]
    turns = chosen_by.turns(plan.runs)
    held_out = [np.where(chosen_by.fold == k, weight, 0.0) for k in turns]
    return [chosen_by.training(k, weight) for k in turns], held_out


class HeldOut(ABC):
    """Held-out log-likelihoods of one category; remembers what was fitted and starts from the nearest.

    `chosen_by` are folds, or the weights of documents to choose by in their place.
    """

    def __init__(
        self,
        y: np.ndarray,
        weight: np.ndarray,
        plan: CrossValidation,
        chosen_by: Folds | np.ndarray,
        alphas: Sequence[float] = (0.0,),
    ) -> None:
        self.y, self.plan, self.folded = y, plan, isinstance(chosen_by, Folds)
        self.alphas = sorted(alphas, reverse=True)
        self.training, self.validation = parts_of(weight, plan, chosen_by)
        self.fitted: list[dict[float, Any]] = [{} for _ in self.training]
        self.values: dict[float, np.ndarray] = {}  # (alphas, runs), for every variance
        self.behind: set[float] = set()  # variances with a fit that did not converge: nothing is chosen by them

    @abstractmethod
    def fit(self, variance: float, run: int, start: Any) -> tuple[Any, list[float]]:
        """A fit to the training part of a run, from that under a stronger prior or None; and its log-likelihoods."""

    def prepare(self, variances: Sequence[float]) -> None:
        """Fit all of them, from the strongest prior on."""
        for variance in sorted(variances):
            self(variance)

    def __call__(self, variance: float) -> float:
        """Σ over runs of the log-likelihood of the documents left out, with the best α."""
        if variance not in self.values:
            results = np.empty((len(self.alphas), len(self.training)))
            for run, fitted in enumerate(self.fitted):
                stronger = [v for v in fitted if v < variance]
                fitted[variance], results[:, run] = self.fit(variance, run, fitted[max(stronger)] if stronger else None)
            self.values[variance] = results
        return -math.inf if variance in self.behind else max(_sums(self.values[variance]))

    def curve(self, chosen: float, alpha: float | None = None) -> VarianceCurve:
        """`alpha` is the best at the variance chosen unless given; the largest among equals."""
        at = int(np.argmax(_sums(self.values[chosen]))) if alpha is None else self.alphas.index(alpha)
        variances = np.array(sorted(self.values))
        values = np.array([self.values[v][at] for v in variances.tolist()])
        return VarianceCurve(variances, values, chosen, self.alphas[at])


class _OverMatrix(HeldOut):
    """Fits to one matrix: folds are weights of its documents."""

    def __init__(
        self,
        problem: Problem,
        prior: Prior,
        intercept_variance: float | None,
        tol: float,
        max_iter: int,
        link: str,
        hessian: str,
        validation: Validation | None,
        alphas: Sequence[float],
        y: np.ndarray,
        weight: np.ndarray,
        plan: CrossValidation,
        folds: Folds,
    ) -> None:
        super().__init__(y, weight, plan, folds if validation is None else validation.weight, alphas)
        self.problem, self.tol, self.max_iter, self.link = problem, tol, max_iter, link
        self.prior, self.intercept_variance = prior, intercept_variance
        self.hessian, self.apart = hessian, validation

        self.last: tuple[float, PriorArrays] | None = None
        self.sums: dict[int, np.ndarray] = {}  # of all columns, per run: see `known` of `minimise`

    def arrays(self, variance: float) -> PriorArrays:
        """The prior's; those of the last variance are kept for the next run."""
        if self.last is None or self.last[0] != variance:
            self.last = variance, self._merged(variance)
        return self.last[1]

    def _merged(self, variance: float) -> PriorArrays:
        return self.problem.merge(self.prior.compile(variance, len(self.problem.group), self.intercept_variance))

    def _minimise(self, train: np.ndarray, arrays: PriorArrays, beta: np.ndarray, known: np.ndarray) -> bool:
        return minimise(self.problem, self.y, train, arrays, beta, self.tol, self.max_iter, self.link, known).converged

    def _pruned(self, train: np.ndarray, arrays: PriorArrays, beta: np.ndarray, alpha: float) -> np.ndarray:
        return prune(self.problem, self.y, train, arrays, beta, alpha, self.hessian, self.link)[0]

    def fit(
        self, variance: float, run: int, start: tuple[np.ndarray, np.ndarray] | None
    ) -> tuple[tuple[np.ndarray, np.ndarray], list[float]]:
        """What is started from is a solution and the loss's gradient there."""
        arrays, train = self.arrays(variance), self.training[run]
        beta, gradient = _without_gradient(arrays.mode) if start is None else start
        beta = np.clip(beta, arrays.lower, arrays.upper)
        known = np.array([gradient, self.sums.get(run, _without_gradient(beta)[1])])
        if not self._minimise(train, arrays, beta, known):
            self.behind.add(variance)
        self.sums[run] = known[1]
        return (beta, known[0].copy()), self._log_likelihoods(run, arrays, beta)

    def prepare(self, variances: Sequence[float]) -> None:
        """Those with Gaussian priors together."""
        arrays = {v: self.arrays(v) for v in variances if v not in self.values}
        if self.link == "softmax" or not all(is_smooth(one) for one in arrays.values()):
            super().prepare(variances)
            return
        for v in arrays:
            self.values[v] = np.empty((len(self.alphas), len(self.training)))
        jobs = [(v, run) for v in arrays for run in range(len(self.training))]
        for first in range(0, len(jobs), TOGETHER):
            some = jobs[first : first + TOGETHER]
            betas = np.array([arrays[v].mode for v, _ in some])
            results = minimise_many(
                self.problem, np.tile(self.y, (len(some), 1)), np.array([self.training[run] for _, run in some]),
                [arrays[v] for v, _ in some], betas, self.tol, self.max_iter, self.link,
            )  # fmt: skip
            self.behind |= {v for (v, _), result in zip(some, results, strict=True) if not result.converged}
            for (v, run), beta in zip(some, betas, strict=True):
                self.fitted[run][v] = _without_gradient(beta.copy())
                self.values[v][:, run] = self._log_likelihoods(run, arrays[v], beta)

    def _log_likelihoods(self, run: int, arrays: PriorArrays, beta: np.ndarray) -> list[float]:
        """One for each α."""
        pruned = (self._pruned(self.training[run], arrays, beta, alpha) for alpha in self.alphas)
        return [self._log_likelihood(run, one) for one in pruned]

    def _log_likelihood(self, run: int, beta: np.ndarray) -> float:
        from lapwing.kernels.loss import log_likelihood

        if self.apart is not None:
            return self.apart.log_likelihood(self.problem.spread(beta), self.link)
        link = as_link(self.link)
        if link.code is None:
            loss = link.loss(self.y * self.problem.column_scores(beta), self.y)
            return -float(np.sum(self.validation[run] * loss))
        return float(log_likelihood(self.problem.matrix, Documents(self.y, self.validation[run], link.code), beta))


def _without_gradient(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return beta, np.full(beta.shape, np.nan)


class _JointOverMatrix(_OverMatrix):
    """Of a polytomous model: y holds class numbers, the prior compiles to a row for every class."""

    def _merged(self, variance: float) -> PriorArrays:
        prior = self.prior.compile(variance, len(self.problem.group), self.intercept_variance)
        return multinomial.merge(self.problem, prior)

    def _minimise(self, train: np.ndarray, arrays: PriorArrays, beta: np.ndarray, known: np.ndarray) -> bool:
        return multinomial.minimise(self.problem, self.y, train, arrays, beta, self.tol, self.max_iter).converged

    def _pruned(self, train: np.ndarray, arrays: PriorArrays, beta: np.ndarray, alpha: float) -> np.ndarray:
        return beta

    def _log_likelihood(self, run: int, beta: np.ndarray) -> float:
        if self.apart is not None:
            return self.apart.joint_log_likelihood(multinomial.spread(self.problem, beta))
        return multinomial.log_likelihood(self.problem, self.y, self.validation[run], beta)


def choose_prior(
    names: Sequence[str],
    X: sp.csr_matrix,
    y: np.ndarray,
    priors: Sequence[Prior],
    plan: CrossValidation,
    *,
    weight: np.ndarray | None = None,
    seed: int = 0,
    tol: float = 1e-4,
    max_iter: int = 500,
    link: str = "logit",
) -> tuple[int, VarianceCurve]:
    """Which of several priors over named columns, and which variance under it, held-out documents like best.

    Priors that differ in the variances of groups of features (`lapwing.priors.by_group`) have these chosen together.
    """
    columns = Columns(names, X)
    best: tuple[int, VarianceCurve] | None = None
    for k, prior in enumerate(priors):
        problem = Problem(X, kinds=prior.kinds(columns) if isinstance(prior, PriorTable) else None)
        curve = choose_variance(
            problem, y, np.ones(len(y)) if weight is None else weight, prior.bind(columns, None), plan, method="cv",
            start=1.0, seed=np.random.SeedSequence(seed), tol=tol, max_iter=max_iter, link=link,
        )  # fmt: skip
        if best is None or curve.total.max() > best[1].total.max():
            best = k, curve
    if best is None:
        raise SettingsError("expected one or more priors to choose from, got none")
    return best


def _sums(values: np.ndarray) -> list[float]:
    """Over runs, one for each α."""
    return [sum(row) for row in values.tolist()]


def choose_variance(
    problem: Problem,
    y: np.ndarray,
    weight: np.ndarray,
    prior: Prior,
    plan: CrossValidation,
    *,
    method: str,
    start: float,
    seed: np.random.SeedSequence | None = None,
    folds: Folds | None = None,
    intercept_variance: float | None = None,
    tol: float = 1e-4,
    max_iter: int = 500,
    link: str = "logit",
    alphas: Sequence[float] = (0.0,),
    hessian: str = "diagonal",
    validation: Validation | None = None,
) -> VarianceCurve:
    """The variance of one category: method "cv" over a grid, "auto" by a search that begins at `start`.

    With several `alphas` (Selected Ridge) the pair is chosen that is best. Folds not given are dealt by chance.
    """
    folds = folds or shuffled(y, plan.folds, seed or np.random.SeedSequence(0))
    held_out = (_JointOverMatrix if link == "softmax" else _OverMatrix)(
        problem, prior, intercept_variance, tol, max_iter, link, hessian, validation, alphas, y, weight, plan, folds
    )
    return choose(held_out, prior, method=method, start=start)


def choose(held_out: HeldOut, prior: Prior, *, method: str, start: float) -> VarianceCurve:
    """The same from held-out log-likelihoods of any kind of fit."""
    if method == "auto":
        chosen = held_out.curve(_search(held_out, start))
    else:
        chosen = _best_of(held_out, sorted(held_out.plan.variances or default_grid(prior)))
    if held_out.behind:
        listed = ", ".join(f"{v:g}" for v in sorted(held_out.behind))
        warnings.warn(
            f"held-out fits at variance {listed} did not reach their tolerance; "
            + ("none did" if held_out.behind == held_out.values.keys() else "the choice was among the others")
            + "; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return chosen


def _best_of(held_out: HeldOut, grid: list[float]) -> VarianceCurve:
    plan = held_out.plan
    held_out.prepare(grid)
    values = np.array([held_out(v) for v in grid])
    if not np.isfinite(values).any():  # none converged, and something is to be chosen
        values = np.array([max(_sums(held_out.values[v])) for v in grid])
    best = int(np.argmax(values))  # the strongest prior among equals
    if plan.one_se and held_out.folded:
        at = held_out.values[grid[best]]
        runs = at[int(np.argmax(_sums(at)))]
        margin = float(runs.std(ddof=1)) * math.sqrt(len(runs))  # of the sum over runs
        for k, alpha in enumerate(held_out.alphas):  # the largest α first, then the strongest prior
            near = np.array([_sums(held_out.values[v])[k] for v in grid]) >= values[best] - margin
            near &= np.isfinite(values)
            if near.any():
                return held_out.curve(grid[int(np.argmax(near))], alpha)
    return held_out.curve(grid[best])


def _search(value: HeldOut, start: float) -> float:
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
    if not np.isfinite(values).all():
        return variances[1]
    x = np.log(variances) - math.log(variances[1])
    curve = np.polyfit(x, values, 2)
    if not curve[0] < 0.0:
        return variances[1]
    return float(math.exp(math.log(variances[1]) + float(np.clip(-curve[1] / (2 * curve[0]), x[0], x[2]))))
