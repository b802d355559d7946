"""All runs over all categories, against one matrix; threads over categories."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from lapwing.engine import run_all
from lapwing.evaluate import Tables
from lapwing.selection import SCORES, top_features, tune
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import as_prior, norm_variance
from lapwing.training import Progress
from lapwing.training.category import choose_variance
from lapwing_papers.glm07 import svm
from lapwing_papers.glm07.collection import Collection
from lapwing_papers.glm07.paper import SIZES
from lapwing_papers.glm07.settings import (
    CLG_TOLERANCE,
    FULL,
    MEASURES,
    ON_SELECTED,
    PAPERS_SOLVER,
    PRIOR,
    Run,
)
from lapwing_papers.settings import PARTIAL
from lapwing_papers.solvers import clg

log = logging.getLogger(__name__)

CLG_CYCLES = 5_000


@dataclass(frozen=True, eq=False)
class Result:
    """One category of one run. `weights` (d+1,), over the features it was given.

    variance  of the prior; C for the SVM
    gap       relative duality gap; NaN for the SVM and for a category without positive documents
    default, tuned   (TP, FP, FN) on the test documents with either threshold
    """

    weights: np.ndarray
    variance: float
    threshold: float
    gap: float
    rounds: int
    converged: bool
    default: tuple[int, int, int]
    tuned: tuple[int, int, int]

    @property
    def kept(self) -> int:
        """Features with a weight, the constant not counted."""
        return int(np.count_nonzero(self.weights[:-1]))


@dataclass(frozen=True, eq=False)
class RunResult:
    """One run over all categories."""

    run: Run
    results: tuple[Result, ...]
    test_documents: int
    seconds: float

    def tables(self, threshold: str) -> Tables:
        counts = np.array([getattr(one, threshold) for one in self.results], dtype=np.int64).reshape(-1, 3)
        tp, fp, fn = counts.T
        return Tables(tp, fp, fn, self.test_documents - tp - fp - fn)

    def errors(self, threshold: str) -> np.ndarray:
        return self.tables(threshold).errors

    def macro_f1(self, threshold: str) -> float:
        """Times 100, F1 being 1 where there is nothing to find and nothing found (GLM07 section 5.4)."""
        return float(100.0 * self.tables(threshold).f1().mean())

    @property
    def kept(self) -> np.ndarray:
        return np.array([one.kept for one in self.results])

    @property
    def constants(self) -> int:
        """Categories whose constant is not zero."""
        return sum(one.weights[-1] != 0.0 for one in self.results)


class _Fitter:
    """One matrix, all features or selected ones, and what is fitted against it."""

    def __init__(self, train: sp.csr_matrix, test: sp.csr_matrix, weights: np.ndarray) -> None:
        self.train, self.test, self.weights = train, test, weights
        self.problem = Problem(train)
        self.norm = norm_variance(train, weights)

    @cached_property
    def as_given(self) -> Problem:
        """The same with a column for every feature: CLG is to see what BBR saw."""
        return Problem(self.train, merge=False)

    def fit(self, run: Run, y: np.ndarray, truth: np.ndarray, seed: np.random.SeedSequence) -> Result:
        if not np.any(y > 0):
            nothing = (0, 0, int(truth.sum()))
            none = np.zeros(self.train.shape[1] + 1)
            return Result(none, self.norm, np.inf, np.nan, 0, True, nothing, nothing)
        if run.method == "svm":
            draw = int(seed.generate_state(1)[0] % 2**31)
            beta, strength, rounds = svm.fit(self.train, y, self.weights, draw)
            gap, converged = float("nan"), rounds < svm.MAX_ITER
        else:
            fit = self._map(run, y, seed)
            beta, strength, rounds, gap, converged = (
                fit.weights, fit.variance, fit.rounds, fit.relative_gap, fit.converged,
            )  # fmt: skip
        # section 5.5: fewest errors on the training documents, whatever is measured afterwards
        threshold = tune("error", self.train @ beta[:-1] + beta[-1], y, sample_weight=self.weights)
        scores = self.test @ beta[:-1] + beta[-1]
        return Result(
            beta, strength, threshold, gap, rounds, converged,
            _counts(truth, scores > 0.0), _counts(truth, scores > threshold),
        )  # fmt: skip

    def _map(self, run: Run, y: np.ndarray, seed: np.random.SeedSequence) -> newton.FitResult:
        prior = as_prior(PRIOR[run.method])
        variance, weights = self.norm, self.weights
        if run.variance == "cv":
            variance = choose_variance(
                self.problem, y, weights, prior, PARTIAL, method="cv", start=variance, seed=seed
            ).chosen
        compiled = prior.compile(variance, self.train.shape[1])
        if run.solver in CLG_TOLERANCE:
            return clg.fit(
                self.as_given,
                y,
                weights,
                compiled,
                variance=variance,
                tol=CLG_TOLERANCE[run.solver],
                max_iter=CLG_CYCLES,
            )
        return newton.fit(self.problem, y, weights, compiled, variance=variance)


def _counts(truth: np.ndarray, chosen: np.ndarray) -> tuple[int, int, int]:
    tp = int(np.sum(truth & chosen))
    return tp, int(chosen.sum()) - tp, int(truth.sum()) - tp


def run_everything(
    collection: Collection, *, n_jobs: int | None = 1, seed: int = 0, progress: Progress | None = None
) -> dict[str, RunResult]:
    """Every run of settings.py by name. A category has the same folds in all of them."""
    rows = range(len(collection.categories))
    seeds = np.random.SeedSequence(seed).spawn(len(rows))
    whole = _Fitter(collection.train, collection.test, collection.weights)
    everything: dict[str, RunResult] = {}

    def one(run: Run, row: int) -> Result:
        return whole.fit(run, collection.targets.signs(row), collection.truth[:, row], seeds[row])

    whole.as_given  # noqa: B018  made once, before threads ask for it
    for run in (*FULL, *PAPERS_SOLVER):
        results, seconds = _timed(partial(one, run), rows, run.title, n_jobs, progress)
        everything[run.name] = RunResult(run, tuple(results), collection.test.shape[0], seconds)
    collection.train_columns, collection.test_columns  # noqa: B018  made once, before threads ask for them
    for measure in MEASURES:
        work = partial(_selected, collection, measure, seeds)
        by_category, seconds = _timed(work, rows, f"features by {measure}", n_jobs, progress)
        for run in by_category[0]:
            of_run = tuple(each[run] for each in by_category)
            everything[run.name] = RunResult(run, of_run, collection.test.shape[0], seconds / len(by_category[0]))
    _report_unconverged(everything.values(), collection)
    return everything


def _selected(collection: Collection, measure: str, seeds: list[np.random.SeedSequence], row: int) -> dict[Run, Result]:
    """All methods on the features that one measure selects for a category (section 6.3)."""
    y = collection.targets.signs(row)
    scores = SCORES[measure](collection.train_columns, y, sample_weight=collection.weights)
    results = {}
    for size in SIZES:
        features = top_features(scores, size)
        fitter = _Fitter(
            collection.train_columns[:, features].tocsr(), collection.test_columns[:, features].tocsr(),
            collection.weights,
        )  # fmt: skip
        for method, variance in ON_SELECTED:
            run = Run(method, variance, measure, size)
            results[run] = fitter.fit(run, y, collection.truth[:, row], seeds[row])
    return results


def _timed(
    work: Callable[[int], object], rows: range, stage: str, n_jobs: int | None, progress: Progress | None
) -> tuple[list, float]:
    began = time.perf_counter()
    step = None if progress is None else (lambda done: progress(stage, done, len(rows)))
    results = run_all(work, rows, n_jobs=n_jobs, progress=step)
    return results, time.perf_counter() - began


def _report_unconverged(runs: Iterable[RunResult], collection: Collection) -> None:
    for done in runs:
        behind = [k for k, one in enumerate(done.results) if not one.converged]
        if behind:
            log.warning(
                "%s: %d of %d fits stopped before their tolerance, the first for %r",
                done.run.name, len(behind), len(done.results), collection.categories[behind[0]],
            )  # fmt: skip
