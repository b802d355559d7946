"""Parameters by cross-validation, the final fits, and the sweep over α."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lapwing.engine import run_all
from lapwing.evaluate import evaluate
from lapwing.model import LinearModel
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.solvers.selected_ridge import prune, universal_penalty
from lapwing.stats.links import log_loss
from lapwing.stats.objective import PriorArrays
from lapwing.stats.priors import as_prior
from lapwing.stats.result import FitResult
from lapwing.training import Progress, TrainSettings, train
from lapwing_papers.aagbd11.collection import Collection
from lapwing_papers.aagbd11.paper import SWEEP
from lapwing_papers.settings import training

FOLDS, RUNS = 10, 2  # of ten folds two take a turn, as GLM07 does
GRID = {
    "laplace": tuple(2.0 / 10.0**k for k in (1, 0, -1, -2, -3, -4)),  # λ from 3.16 to 0.01 by √10
    "gaussian": tuple(10.0 ** (k / 2) for k in range(9)),  # the paper's λ = 1/(2 variance), 0.5 to 0.00005
}
BLOCK = 10  # categories fitted together
CV_TOL = 1e-3  # a fit that is only compared with others
REPEATS = 5  # predictions are timed so often, and the fastest counts


@dataclass(frozen=True)
class Method:
    """prior, and which Hessian prunes the solution; None where it is not pruned."""

    name: str
    prior: str
    hessian: str | None = None

    def settings(self, variance: float, n_jobs: int | None, alpha: float | None = None) -> TrainSettings:
        pruned: dict[str, Any] = {}
        if self.hessian is not None:
            pruned = {"method": "selected-ridge", "hessian": self.hessian, "alpha": alpha}
        return training(prior=self.prior, variance=variance, n_jobs=n_jobs, **pruned)


METHODS = (
    Method("lasso", "laplace"),
    Method("ridge", "gaussian"),
    Method("Selected Ridge", "gaussian", "diagonal"),
    Method("Selected Ridge, full Hessian", "gaussian", "full"),
)
RIDGE, SELECTED = METHODS[1], METHODS[2]


@dataclass(frozen=True, eq=False)
class Result:
    """One model and what it does to the test documents; seconds of its fit and of predicting all of them.

    multiplications   of words of the test documents by weights that are not zero
    """

    method: Method
    variance: float
    alpha: float
    model: LinearModel
    micro: float
    macro: float
    weighted: float
    training: float
    prediction: float
    multiplications: int

    @property
    def sparsity(self) -> float:
        return self.model.sparsity


@dataclass(frozen=True, eq=False)
class Runs:
    """log_likelihood: of held-out documents over all categories, for every variance of a method's grid."""

    results: dict[str, Result]
    sweep: tuple[Result, ...]
    log_likelihood: dict[str, dict[float, float]]


class _CrossValidation:
    """One variance for all categories, the best by the log-likelihood of held-out documents, summed over them."""

    def __init__(self, collection: Collection, n_jobs: int | None, seed: int, progress: Progress | None) -> None:
        self.collection, self.n_jobs, self.progress = collection, n_jobs, progress
        self.problem = Problem(collection.X)
        self.fold = np.random.default_rng(seed).permutation(collection.X.shape[0]) % FOLDS
        self.values: dict[str, dict[float, float]] = {method.name: {} for method in METHODS}

    def run(self) -> dict[str, dict[float, float]]:
        columns = list(self.collection.targets.fitted)
        blocks = [columns[first : first + BLOCK] for first in range(0, len(columns), BLOCK)]
        for prior, grid in GRID.items():
            methods = [method for method in METHODS if method.prior == prior]
            items = [(variance, block) for variance in grid for block in blocks]
            work = partial(self._held_out, methods)
            likelihoods = run_all(work, items, n_jobs=self.n_jobs, progress=self._teller(prior, len(items)))
            for (variance, _), values in zip(items, likelihoods, strict=True):
                for method, value in zip(methods, values, strict=True):
                    sums = self.values[method.name]
                    sums[variance] = sums.get(variance, 0.0) + value
        return self.values

    def _teller(self, prior: str, total: int) -> Callable[[int], None] | None:
        progress = self.progress
        return None if progress is None else (lambda done: progress(f"cross-validation, {prior}", done, total))

    def _held_out(self, methods: list[Method], item: tuple[float, list[int]]) -> list[float]:
        """Log-likelihood with each method, summed over runs and a few categories; ridge is fitted once for all
        that prune it."""
        (variance, columns), problem, X = item, self.problem, self.collection.X
        prior = as_prior(methods[0].prior).compile(variance, len(problem.group))
        arrays, alpha = problem.merge(prior), universal_penalty(len(problem.group))
        Y = np.array([self.collection.targets.signs(column) for column in columns])
        totals = np.zeros(len(methods))
        for run in range(RUNS):
            out = self.fold == run
            weight = np.where(out, 0.0, self.collection.train.weights)
            for y, fit in zip(Y, self._fits(Y, weight, prior, variance), strict=True):
                star = problem.gather(fit.weights)
                for k, method in enumerate(methods):
                    weights = fit.weights
                    if method.hessian is not None:
                        pruned, _ = prune(problem, y, weight, arrays, star, alpha, method.hessian, "logit")
                        weights = problem.spread(pruned)
                    margin = y[out] * (X[out] @ weights[:-1] + weights[-1])
                    totals[k] -= float(np.sum(log_loss(margin)))
        return totals.tolist()

    def _fits(self, Y: np.ndarray, weight: np.ndarray, prior: PriorArrays, variance: float) -> list[FitResult]:
        if newton.is_smooth(prior):
            many = len(Y)
            weights = np.broadcast_to(weight, Y.shape).copy()
            return newton.fit_many(self.problem, Y, weights, [prior] * many, variances=[variance] * many, tol=CV_TOL)
        return [newton.fit(self.problem, y, weight, prior, variance=variance, tol=CV_TOL) for y in Y]


def run_everything(
    collection: Collection, *, n_jobs: int | None = 1, seed: int = 0, progress: Progress | None = None
) -> Runs:
    values = _CrossValidation(collection, n_jobs, seed, progress).run()
    best = {name: max(curve, key=lambda v: (curve[v], -v)) for name, curve in values.items()}
    results = {method.name: _result(collection, method, best[method.name], None, n_jobs) for method in METHODS}
    if progress is not None:
        progress("sweep over α", 0, len(SWEEP))
    universal = universal_penalty(collection.X.shape[1])
    alphas = sorted({alpha for alpha in SWEEP if alpha not in (0.0, 0.0133)} | {universal}, reverse=True)
    sweep = [_result(collection, SELECTED, best[SELECTED.name], alpha, n_jobs) for alpha in alphas]
    # Without a penalty it is ridge, and has ridge's own variance, as in the paper.
    return Runs(results, (*sweep, results[RIDGE.name]), values)


def _result(collection: Collection, method: Method, variance: float, alpha: float | None, n_jobs: int | None) -> Result:
    start = time.perf_counter()
    model = train(collection.train, method.settings(variance, n_jobs, alpha), classes=collection.categories)
    training = time.perf_counter() - start
    test = collection.test
    averages = evaluate(model, [(test.documents, test.labels)], undefined=0.0).averages()
    pruned = model.provenance.get("selected_ridge")
    return Result(
        method=method,
        variance=variance,
        alpha=0.0 if pruned is None else float(pruned["alpha"][0]),
        model=model,
        micro=averages["micro"]["f1"],
        macro=averages["macro"]["f1"],
        weighted=averages["weighted"]["f1"],
        training=training,
        prediction=min(_seconds(model, test.documents) for _ in range(REPEATS)),
        multiplications=model.scorer.multiplications(test.documents),
    )


def _seconds(model: LinearModel, documents: Any) -> float:
    start = time.process_time()  # there is one thread, and others may want its core
    model.predict(documents)
    return time.process_time() - start
