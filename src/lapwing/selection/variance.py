"""Choosing the prior variance by held-out documents; the fits are made in training/paths.py.

One category by itself: over a grid, or by a search that needs none, by held-out log-likelihood as in GLM07 section 4.4
(`choose`). All categories together: along a path from a strong prior to weaker ones (`ascend`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lapwing.errors import ConvergenceWarning, SettingsError
from lapwing.params import CrossValidationParameters, described
from lapwing.stats.priors import Laplace, Prior, check_variance

BRACKET = 100.0  # factor in variance by which the search steps out
GAIN = 0.01  # the search ends when a step gains less than this, relative to the log-likelihood
CLOSEST = 1.5  # or when it would step by less than this factor
STEP = math.sqrt(10.0)  # factor in variance from one step of `ascend` to the next
MOST_STEPS = 12  # either way: six powers of ten
LEVEL = 1e-3  # relative difference of losses that is none: the stronger prior is taken
WORSE = 1.005  # times the least loss at which `ascend` ends
LEAST_GAIN = 0.0025  # relative fall of the loss below which two steps in a row end it,
CERTAIN = 0.002  # share of the same below which there is nothing left to gain
LEARNED = 0.98  # once it is below this share of the loss of predicting how frequent each category is


@described
@dataclass(frozen=True)
class CrossValidation(CrossValidationParameters):
    """How variances are compared. GLM07's partial 10-fold with 2 runs by default."""

    def __post_init__(self) -> None:
        if not self.folds >= 2 or not 1 <= self.runs <= self.folds:
            raise SettingsError(f"expected 2 or more folds and 1 to {self.folds} runs, got {self.folds}, {self.runs}")
        if self.variances is not None and not len(self.variances):
            raise SettingsError("cv_variances must be some numbers to choose from, got none; leave it out for the grid")
        if self.variances is not None:
            object.__setattr__(self, "variances", tuple(float(value) for value in self.variances))
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


@dataclass(frozen=True)
class PooledCurve:
    """The loss of all categories on held-out documents under each variance, calibrated by the best line."""

    variances: tuple[float, ...]
    loss: tuple[float, ...]
    chosen: float

    @classmethod
    def of(cls, losses: dict[float, float]) -> PooledCurve:
        """Losses in the order in which they were measured; of two that are level the stronger prior is chosen."""
        best: float | None = None
        for variance, loss in losses.items():
            if best is None or loss < losses[best] * (1.0 if variance < best else 1.0 - LEVEL):
                best = variance
        assert best is not None
        variances = sorted(losses)
        return cls(tuple(variances), tuple(losses[v] for v in variances), best)


def default_grid(prior: Prior) -> tuple[float, ...]:
    """GLM07 section 4.4: λ from 0.01 to 316 by √10 for Laplace, variance from 0.0001 to 10000 by 10 otherwise."""
    if isinstance(prior.shape, Laplace):
        return tuple(sorted(2.0 / 10.0 ** (2 * (k / 2 - 2)) for k in range(10)))
    return tuple(10.0**k for k in range(-4, 5))


class Measured(NamedTuple):
    """Held-out log-likelihoods (alphas, runs) under one variance, and whether all fits reached their tolerance."""

    log_likelihood: np.ndarray
    converged: bool


class VarianceComparison:
    """Held-out log-likelihoods by variance, each measured once; a variance with an unconverged fit is not chosen.

    measure   gives those of some variances, which rise
    alphas    Selected Ridge: penalties to choose from, which fall
    """

    def __init__(self, measure: Callable[[list[float]], list[Measured]], alphas: Sequence[float] = (0.0,)) -> None:
        self.measure, self.alphas = measure, list(alphas)
        self.values: dict[float, np.ndarray] = {}
        self.unconverged: set[float] = set()

    def __call__(self, *variances: float) -> float:
        """The log-likelihood over all runs under the last of them, with the best α."""
        missing = sorted(set(variances).difference(self.values))
        for variance, measured in zip(missing, self.measure(missing) if missing else (), strict=True):
            self.values[variance] = measured.log_likelihood
            if not measured.converged:
                self.unconverged.add(variance)
        return -math.inf if variances[-1] in self.unconverged else max(_sums(self.values[variances[-1]]))

    def curve(self, chosen: float, alpha: float | None = None) -> VarianceCurve:
        """`alpha` is the best at the variance chosen unless given; the largest among equals."""
        at = int(np.argmax(_sums(self.values[chosen]))) if alpha is None else self.alphas.index(alpha)
        variances = np.array(sorted(self.values))
        values = np.array([self.values[v][at] for v in variances.tolist()])
        return VarianceCurve(variances, values, chosen, self.alphas[at])


def _sums(values: np.ndarray) -> list[float]:
    """Over runs, one for each α."""
    return [sum(row) for row in values.tolist()]


def choose(
    compared: VarianceComparison, grid: Sequence[float] | None, start: float, *, one_se: bool = False
) -> VarianceCurve:
    """The variance with the largest held-out log-likelihood: of a grid, or by a search that begins at `start`.

    With several alphas (Selected Ridge) the pair is chosen that is best.
    """
    if grid is None:
        chosen = compared.curve(_search(compared, start))
    else:
        chosen = _best_of(compared, sorted(grid), one_se)
    if compared.unconverged:
        listed = ", ".join(f"{v:g}" for v in sorted(compared.unconverged))
        every = compared.unconverged == compared.values.keys()
        warnings.warn(
            f"held-out fits at variance {listed} did not reach their tolerance; "
            f"{'none did' if every else 'the choice was among the others'}; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return chosen


def _best_of(compared: VarianceComparison, grid: list[float], one_se: bool) -> VarianceCurve:
    compared(*grid)
    values = np.array([compared(v) for v in grid])
    if not np.isfinite(values).any():  # none converged, and something is to be chosen
        values = np.array([max(_sums(compared.values[v])) for v in grid])
    best = int(np.argmax(values))  # the strongest prior among equals
    if one_se:
        at = compared.values[grid[best]]
        runs = at[int(np.argmax(_sums(at)))]
        margin = float(runs.std(ddof=1)) * math.sqrt(len(runs))  # of the sum over runs
        for k, alpha in enumerate(compared.alphas):  # the largest α first, then the strongest prior
            near = np.array([_sums(compared.values[v])[k] for v in grid]) >= values[best] - margin
            near &= np.isfinite(values)
            if near.any():
                return compared.curve(grid[int(np.argmax(near))], alpha)
    return compared.curve(grid[best])


def ascend(loss_of: Callable[[float], float], grid: Sequence[float] | None, first: float, base: float) -> PooledCurve:
    """The variance with the least loss: of a grid, or from `first`, a strong prior, to weaker ones until the loss has
    risen, or falls no more; and, if the first is the best, to stronger ones.

    base   the loss of predicting how frequent each category is
    """
    losses: dict[float, float] = {}
    first = _rounded(first)

    def lose(variance: float) -> float:
        losses[variance] = loss_of(variance)
        return losses[variance]

    if grid is not None:
        for variance in sorted(grid):
            lose(variance)
        return PooledCurve.of(losses)
    gains = []
    for k in range(MOST_STEPS):
        before = min(losses.values(), default=math.inf)
        loss = lose(_rounded(first * STEP**k))
        gains.append((before - loss) / before if before < math.inf else 1.0)
        stalled = loss < LEARNED * base and max(gains[-2:]) < LEAST_GAIN
        if loss > WORSE * before or stalled or loss <= CERTAIN * base:
            break
    if min(losses, key=lambda v: losses[v]) == first:
        for k in range(1, MOST_STEPS):
            if lose(_rounded(first * STEP**-k)) > min(losses.values()):
                break
    return PooledCurve.of(losses)


def _rounded(variance: float) -> float:
    return float(f"{variance:.3g}")


def _search(value: VarianceComparison, start: float) -> float:
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
