"""Simulated data, the methods, and all draws of all cells."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from lapwing.engine import run_all
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.irrepresentable import irrepresentable
from lapwing.stats.links import sigmoid
from lapwing.stats.priors import Gaussian, Laplace, norm_variance
from lapwing.stats.result import FitResult
from lapwing.training import Progress
from lapwing.training.category import choose_variance
from lapwing_papers.glm07 import svm
from lapwing_papers.lpr17.paper import COVARIATES, OBSERVATIONS, TRUE
from lapwing_papers.settings import PARTIAL
from lapwing_papers.solvers import clg

ZEROS = 0.4  # share of the coefficients that are 0
STEPS = 25  # of IRLS: where R's glm stops
CYCLES = 5_000
TEST = 1_000  # new observations on which decisions are counted
LOW_OBSERVATIONS = 1_000
PRIORS = {"ridge": Gaussian(), "lasso": Laplace()}
METHODS = ("ridge", "lasso", "ml", "svm")
# The paper has two rules for the variance, norm-based and cross-validated, says that it took "particular values"
# instead, and not which. "best" is what no rule can better: the least error, with the truth in view.
RULES = ("norm", "cv", "best", "fixed")
FIXED = {"ridge": 10**-1.5, "lasso": 0.2}
VARIANCES = tuple(10.0 ** (k / 2) for k in range(-4, 7))  # to find the best among


@dataclass(frozen=True)
class Fit:
    """One method on one draw. `mse` is over the covariates' coefficients, the constant left out."""

    mse: float
    signs_f1: float
    accuracy: float
    seconds: float
    rounds: int
    converged: bool
    variance: float = float("nan")
    kept: int = 0


@dataclass(frozen=True)
class Draw:
    """One data set, and every fit to it: "ridge/norm", "lasso/cv", "ml", "svm".

    condition   largest η of a covariate without effect (stats/irrepresentable.py), the truth and the fixed λ given;
                from 1 on no lasso is sure to leave them all out
    """

    observations: int
    covariates: int
    number: int
    fits: dict[str, Fit]
    condition: float = float("nan")


def simulate(n: int, truth: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d) standard normal, labels ±1 with P(y = 1 | x) = 1/(1+e^{-x·β})."""
    X = rng.normal(size=(n, len(truth)))
    return X, np.where(rng.random(n) < sigmoid(X @ truth), 1.0, -1.0)


def coefficients(d: int, rng: np.random.Generator) -> np.ndarray:
    """40 % zeros, the others uniform on [-1, 1]; which ones is drawn."""
    beta = rng.uniform(-1.0, 1.0, d)
    beta[rng.permutation(d)[: round(ZEROS * d)]] = 0.0
    return beta


def maximum_likelihood(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, int, bool]:
    """IRLS as R's glm does it, 25 steps at most: (β with the constant first and NaN where aliased, steps, converged).

    With more coefficients than observations the last columns are aliased, as in a QR decomposition that takes them
    in order.
    """
    n, d = X.shape
    A = np.column_stack([np.ones(n), X])[:, :n]
    success = (y > 0.0).astype(np.float64)
    mean = (success + 0.5) / 2.0
    score = np.log(mean / (1.0 - mean))
    deviance, beta = np.inf, np.zeros(A.shape[1])
    converged = False
    step = 0
    while step < STEPS and not converged:
        step += 1
        slope = np.maximum(mean * (1.0 - mean), np.finfo(float).eps)
        root = np.sqrt(slope)
        beta = np.linalg.lstsq(root[:, None] * A, root * (score + (success - mean) / slope), rcond=1e-11)[0]
        score = A @ beta
        mean = sigmoid(np.clip(score, -30.0, 30.0))
        before, deviance = deviance, float(2.0 * np.sum(np.logaddexp(0.0, -y * score)))
        converged = abs(deviance - before) < 1e-8 * (deviance + 0.1)
    return np.append(beta, np.full(d + 1 - len(beta), np.nan)), step, converged


def signs_f1(estimate: np.ndarray, truth: np.ndarray) -> float:
    """F1 of the non-zero signs: a true positive is a coefficient with the right one."""
    right = int(np.sum((estimate != 0.0) & (np.sign(estimate) == np.sign(truth))))
    return 2.0 * right / max(int(np.count_nonzero(estimate) + np.count_nonzero(truth)), 1)


def _clg(problem: Problem, y: np.ndarray, method: str, variance: float) -> tuple[np.ndarray, int, bool]:
    prior = PRIORS[method].compile(variance, len(problem.group))
    fit = clg.fit(problem, y, np.ones(len(y)), prior, variance=variance, max_iter=CYCLES)
    return fit.weights, fit.rounds, fit.converged


def _cross_validated(problem: Problem, y: np.ndarray, method: str, number: int) -> FitResult:
    """As GLM07: held-out log-likelihood of 2 of 10 folds over the paper's grid, then a fit to all."""
    weight = np.ones(len(y))
    seed = np.random.SeedSequence(number)
    curve = choose_variance(problem, y, weight, PRIORS[method], PARTIAL, method="cv", start=1.0, seed=seed, tol=1e-3)
    prior = PRIORS[method].compile(curve.chosen, len(problem.group))
    return newton.fit(problem, y, weight, prior, variance=curve.chosen)


def _best(problem: Problem, y: np.ndarray, method: str, truth: np.ndarray) -> FitResult:
    """Of the fits under all `VARIANCES` that with the least error."""
    fits: list[FitResult] = []
    for variance in VARIANCES:
        prior = PRIORS[method].compile(variance, len(problem.group))
        start = fits[-1].weights if fits else None
        fits.append(newton.fit(problem, y, np.ones(len(y)), prior, variance=variance, start=start))
    return min(fits, key=lambda one: float(np.sum((one.weights[:-1] - truth) ** 2)))


def draw(cell: tuple[int, int], number: int, seed: int) -> Draw:
    """Every method on one data set."""
    n, d = cell
    rng = np.random.default_rng([seed, n, d, number])
    truth = coefficients(d, rng)
    X, y = simulate(n, truth, rng)
    new_X, new_y = simulate(TEST, truth, rng)
    matrix = sp.csr_matrix(X)
    problem = Problem(matrix, merge=False)
    norm = norm_variance(matrix)

    def fit(beta: np.ndarray, constant: float, began: float, rounds: int, converged: bool, variance: float) -> Fit:
        seconds = time.perf_counter() - began
        known = ~np.isnan(beta)
        decided = new_X @ np.where(known, beta, 0.0) + constant > 0.0
        return Fit(
            float(np.mean((beta - truth)[known] ** 2)), signs_f1(np.where(known, beta, 0.0), truth),
            float(np.mean(decided == (new_y > 0.0))), seconds, rounds, converged, variance,
            int(np.count_nonzero(beta[known])),
        )  # fmt: skip

    fits = {}
    for method in PRIORS:
        for rule, variance in (("norm", norm), ("fixed", FIXED[method])):
            began = time.perf_counter()
            weights, rounds, converged = _clg(problem, y, method, variance)
            fits[f"{method}/{rule}"] = fit(weights[:-1], weights[-1], began, rounds, converged, variance)
        for rule, choose in (
            ("cv", lambda method: _cross_validated(problem, y, method, number)),
            ("best", lambda method: _best(problem, y, method, truth)),
        ):
            began = time.perf_counter()
            chosen = choose(method)
            weights = chosen.weights
            fits[f"{method}/{rule}"] = fit(
                weights[:-1], weights[-1], began, chosen.rounds, chosen.converged, chosen.variance
            )
    if d <= n:
        began = time.perf_counter()
        beta, rounds, converged = maximum_likelihood(X, y)
        fits["ml"] = fit(beta[1:], beta[0], began, rounds, converged, np.inf)
    began = time.perf_counter()
    weights, strength, rounds = svm.fit(matrix, y, np.ones(n), number)
    fits["svm"] = fit(weights[:-1], weights[-1], began, rounds, rounds < svm.MAX_ITER, strength)
    return Draw(n, d, number, fits, _condition(matrix, truth))


def _condition(X: sp.csr_matrix, truth: np.ndarray) -> float:
    prior = PRIORS["lasso"].compile(FIXED["lasso"], len(truth))
    mean = sigmoid(X @ truth)
    return float(np.nanmax(irrepresentable(X, mean * (1.0 - mean), np.append(truth, 0.0), prior)))


def low_dimensional(seed: int) -> dict[str, np.ndarray]:
    """Table 1: five covariates."""
    X, y = simulate(LOW_OBSERVATIONS, np.array(TRUE), np.random.default_rng([seed, 5]))
    matrix = sp.csr_matrix(X)
    problem, variance = Problem(matrix, merge=False), norm_variance(matrix)
    return {
        "ml": maximum_likelihood(X, y)[0][1:],
        **{method: _clg(problem, y, method, variance)[0][:-1] for method in PRIORS},
    }


def run_everything(
    *,
    draws: int,
    seed: int = 0,
    covariates: Sequence[int] = COVARIATES,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> list[Draw]:
    """All cells, each drawn `draws` times; run times are those of one thread where n_jobs is 1."""
    cells = [(n, d) for n in OBSERVATIONS for d in covariates]
    items = [(cell, number) for cell in cells for number in range(draws)]
    draw((20, 5), 0, seed)  # compiles: no run time is to have that in it
    step = None if progress is None else partial(_tell, progress, len(items))
    return run_all(lambda item: draw(*item, seed), items, n_jobs=n_jobs, progress=step)


def _tell(progress: Progress, total: int, done: int) -> None:
    progress("simulating", done, total)
