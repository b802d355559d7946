"""Fits that leave documents out, under one prior variance after another.

A unit (a category, or all classes together) is fitted without each fold in turn, every fit starting where the last one
of that unit and fold ended. `HeldOutFits` makes them for many units on a pool: their scores choose one variance for
all, calibrate, and tune thresholds. `choose_for_unit` makes them for one unit that chooses for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lapwing.engine import Pool, Threads
from lapwing.selection.folds import Folds
from lapwing.selection.variance import CrossValidation, Measured, VarianceComparison, VarianceCurve, choose
from lapwing.stats.objective import summed

LANES = 16  # fits under Gaussian priors that go through the matrix together

Progress = Callable[[str, int, int], None]  # stage, how many more are done, how many in all
Losses = Callable[[np.ndarray, np.ndarray], np.ndarray]  # scores of some documents, these → (documents, alphas)


class Fitter(Protocol):
    """Who makes the fits of a path.

    Where its rows are scored by `HeldOutFits` it has a `task`, too, `held_out_tol`, the relative gap of such fits, and
    `at_a_time`, the number of units on one path.
    """

    def held_out_scores(self, path: Path, variances: np.ndarray) -> Iterable[np.ndarray]:
        """For each part of the path under its variance: scores of all its documents, (n,) or (n, columns)."""
        ...


@dataclass(eq=False)
class FoldOfUnit:
    """One unit without one fold: its problem, where it has one of its own, and where its last fit ended."""

    unit: int
    fold: int
    problem: Any = None
    last: Any = None
    gradient: np.ndarray | None = None  # where its category chooses for itself: as `known` of solvers/newton.py


class Path:
    """Fits of some units to all documents outside each fold.

    tol       relative gap of the fits
    problem   of a unit that chooses for itself, which is then not made anew without each fold
    alphas    Selected Ridge: the penalties under which the scores are given
    new       documents to score in place of those held out
    together  whether all fits, under Gaussian priors, go through one matrix together
    """

    def __init__(
        self,
        fitter: Fitter,
        units: Sequence[int],
        folds: Folds,
        tol: float,
        *,
        problem: Any = None,
        alphas: Sequence[float] | None = None,
        new: Any = None,
        together: bool = False,
    ) -> None:
        self.fitter, self.folds, self.tol, self.alphas, self.new = fitter, folds, tol, alphas, new
        self.together = together
        self.chooses_alone = problem is not None
        self.parts = [FoldOfUnit(unit, k, problem) for unit in units for k in range(folds.portions)]
        self.unconverged: set[float] = set()  # variances under which a fit did not reach its tolerance

    def __getstate__(self) -> dict[str, Any]:
        """The fitter stays where it is when a path goes elsewhere."""
        return vars(self) | {"fitter": None}

    def note(self, variance: float, converged: bool) -> None:
        if not converged:
            self.unconverged.add(variance)

    def advance(self, variances: Sequence[float] | np.ndarray) -> np.ndarray:
        """(documents, columns of the units) scores under a variance for each unit; NaN where never held out."""
        blocks: list[np.ndarray] = []
        every = np.repeat(np.asarray(variances, dtype=float), self.folds.portions)
        for part, scores in zip(self.parts, self.fitter.held_out_scores(self, every), strict=True):
            scores = scores.reshape(len(scores), -1)
            if part.fold == 0:
                blocks.append(np.full(scores.shape, np.nan))
            at = self.folds.fold == part.fold if self.new is None else slice(None)
            blocks[-1][at] = scores[at]
        return np.hstack(blocks)


class HeldOutFits:
    """Paths of some rows of the model, on a pool."""

    def __init__(
        self, strategy: Any, folds: Folds, rows: np.ndarray, pool: Pool, progress: Progress | None = None
    ) -> None:
        self.strategy, self.rows, self.pool, self.progress = strategy, rows, pool, progress
        self.joint = strategy.task.settings.joint
        units, size = [0] if self.joint else rows.tolist(), strategy.at_a_time
        self.blocks = [units[first : first + size] for first in range(0, len(units), size)]
        self.paths = [Path(strategy, block, folds, strategy.held_out_tol, together=size > 1) for block in self.blocks]

    def scores(self, variance: np.ndarray, stage: str) -> np.ndarray:
        """(n, rows) out-of-fold scores under a variance for each row."""
        parts = [variance[:1]] if self.joint else np.split(variance, np.cumsum([len(b) for b in self.blocks])[:-1])
        total, progress = len(self.rows), self.progress
        sizes = iter([total] if self.joint else [len(block) for block in self.blocks])

        def step(done: int) -> None:
            if progress is not None:
                progress(stage, sum(next(sizes) for _ in range(done)), total)

        work = list(zip(self.paths, parts, strict=True))
        pool = self.pool if len(work) > 1 else Threads()
        advanced = pool.run_all(_advance, self.strategy, work, progress=step)
        self.paths = [path for path, _ in advanced]
        return np.hstack([columns for _, columns in advanced])


def _advance(strategy: Fitter, one: tuple[Path, np.ndarray]) -> tuple[Path, np.ndarray]:
    """The path as it is afterwards, and its columns."""
    path, variance = one
    path.fitter = strategy
    return path, path.advance(variance)


def choose_for_unit(
    fitter: Fitter,
    unit: int,
    problem: Any,
    losses: Losses,
    weight: np.ndarray,
    folds: Folds,
    plan: CrossValidation,
    *,
    grid: Sequence[float] | None,
    start: float,
    tol: float,
    alphas: Sequence[float] = (0.0,),
    smooth: bool = False,
    new: Any = None,
) -> VarianceCurve:
    """The variance that one unit's held-out documents prefer.

    losses   of documents by their scores: of those held out, or of those in `new`
    weight   of these documents
    folds    all of them, of which as many are held out as the plan has runs; `Folds.none` where `new` ones decide
    grid     variances to compare; None to search from `start`
    smooth   whether the prior is Gaussian: fits under several variances then go through the data together
    """
    alphas = sorted(alphas, reverse=True)
    folds = folds.turns(plan.runs)
    runs = held_out_documents(folds, weight, new)

    def path(count: int) -> Path:
        return Path(fitter, [unit] * count, folds, tol, problem=problem, alphas=alphas, new=new, together=smooth)

    single, size = path(1), max(LANES // folds.portions, 1) if smooth else 1

    def measure(variances: list[float]) -> list[Measured]:
        measured = []
        for first in range(0, len(variances), size):
            several = variances[first : first + size]
            at = path(len(several)) if smooth else single
            for variance, scores in zip(several, np.split(at.advance(several), len(several), axis=1), strict=True):
                lost = [(weight[run], losses(scores[run], run).T) for run in runs]
                values = np.array([[-summed(own, column) for column in columns] for own, columns in lost]).T
                measured.append(Measured(values, variance not in at.unconverged))
        return measured

    return choose(VarianceComparison(measure, alphas), grid, start, one_se=plan.one_se and new is None)


def held_out_documents(folds: Folds, weight: np.ndarray, new: Any) -> list[np.ndarray]:
    """For each fit, the documents that decide: those held out from it, or all of the new ones."""
    return [np.flatnonzero(folds.fold == k if new is None else weight >= 0.0) for k in range(folds.portions)]
