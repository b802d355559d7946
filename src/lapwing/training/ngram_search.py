"""Every category over the space of all n-grams, and the n-grams that they kept as one design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.model.linear import LinearModel
from lapwing.selection.folds import Folds
from lapwing.selection.variance import HeldOut, VarianceCurve, choose, parts_of
from lapwing.solvers.ngrams import NgramFit, ascend, exact, greedy
from lapwing.stats.links import as_loss
from lapwing.stats.objective import summed
from lapwing.stats.priors import Columns, Laplace, as_prior, norm_variance
from lapwing.text import Design
from lapwing.text.matching import NgramWeighting
from lapwing.text.ngrams import NgramSpace
from lapwing.text.sequences import Sequences
from lapwing.training.fit import CategoryFit
from lapwing.training.settings import STEP_GRID
from lapwing.training.targets import Targets
from lapwing.training.task import Task, Travelling, check_flat

SEARCH_TOL = 1e-2  # relative gap of fits that only score documents they did not see: the search is most of the time

Losses = Callable[[np.ndarray, np.ndarray], np.ndarray]
Solve = Callable[..., NgramFit]


@dataclass(frozen=True)
class StepCurve:
    """Held-out log-likelihood after so many steps of SLR; one column per run."""

    steps: np.ndarray
    log_likelihood: np.ndarray
    chosen: int


class _OverSpace(HeldOut):
    """Exact fits over one space: folds are weights of its documents."""

    def __init__(self, solve: Solve, losses: Losses, *of_category: Any) -> None:
        super().__init__(*of_category)
        self.solve, self.losses = solve, losses

    def fit(self, variance: float, run: int, start: NgramFit | None) -> tuple[NgramFit, list[float]]:
        fit = self.solve(self.training[run], variance=variance, start=start)
        return fit, [-summed(self.validation[run], self.losses(fit.classes, fit.result.weights))]


class NgramSearch:
    """A unit is a category; `features` of a fit are classes of the space until `design` names them.

    validation   documents to choose by, as the sequences of the space's reading, their labels and weights
    """

    together = False  # every category has n-grams of its own
    at_a_time = 1

    def __init__(
        self, task: Task, space: NgramSpace, validation: tuple[Sequences, Targets, np.ndarray] | None = None
    ) -> None:
        assert task.settings.ngrams is not None
        self.task, self.space, self.settings, self.ngrams = task, space, task.settings, task.settings.ngrams
        self.validation = validation
        self.step_curves: dict[int, StepCurve] = {}

    @property
    def loss(self) -> str:
        """What fits minimise, by its name in stats/links.py."""
        return self.settings.link if self.ngrams.loss == "likelihood" else self.ngrams.loss

    @property
    def units(self) -> int:
        return len(self.task)

    @property
    def width(self) -> int:
        return len(self.space.node)

    @cached_property
    def _tokens(self) -> sp.csr_matrix:
        """The documents by their single tokens."""
        return self.space.unigrams(self.ngrams.min_support)

    @cached_property
    def norm_variance(self) -> float:
        """GLM07 Eq. 29 on the single tokens."""
        return norm_variance(self._tokens, self.task.weights)

    @cached_property
    def mean_square(self) -> float:
        return (self._tokens.shape[1] + 1.0) / self.norm_variance

    def prepare(self) -> None:
        self.norm_variance  # noqa: B018

    def finish(self, model: LinearModel, fits: list[CategoryFit], curvature: str | int) -> LinearModel:
        size = {"ngrams": self.space.n_ngrams, "columns": len(self.space.node)}
        return replace(model, provenance={**model.provenance, "ngrams": asdict(self.ngrams) | size})

    def fit(self, units: Sequence[int], variance: float | None) -> list[CategoryFit]:
        return [self._fit(row, variance) for row in units]

    def _fit(self, row: int, variance: float | None) -> CategoryFit:
        y, weight = self.task.signs(row), self.task.document_weights(row)
        if variance is None:
            variance = self.norm_variance if self.task.given is None else float(self.task.given[row])
        nothing = Columns([], sp.csr_matrix((self.space.n_documents, 0)))
        check_flat(self.task, row, nothing, as_prior(self.settings.prior), y, weight, variance)
        curve: VarianceCurve | None = None
        tried: StepCurve | None = None
        if self.settings.solver == "greedy":
            steps = self.ngrams.steps
            if steps == "cv":
                tried = self._step_curve(row, y, weight, variance)
                steps = tried.chosen
            fit = self._greedy(y, variance, steps)(weight)
        else:
            solve = self._exact(y, self.settings.tol)
            if self.settings.variance in ("cv", "auto"):
                held_out = _OverSpace(solve, self._losses(row, y), *self._of_category(row, y, weight))
                curve = choose(
                    held_out, as_prior(self.settings.prior), method=str(self.settings.variance), start=variance
                )
                variance = curve.chosen
            fit = solve(weight, variance=variance)
        threshold = self.task.threshold(row, lambda: fit.scores(self.space))
        return CategoryFit.of(
            fit.result, fit.classes, fit.result.weights[:-1], threshold, keep_dual=self.task.keep_duals, curve=curve,
            steps=tried,
        )  # fmt: skip

    def _exact(self, y: np.ndarray, tol: float) -> Solve:
        settings = self.settings
        return partial(
            exact, self.space, y, intercept_variance=settings.intercept_variance, tol=tol, max_iter=settings.max_iter,
            link=self.loss,
        )  # fmt: skip

    def _greedy(self, y: np.ndarray, variance: float, steps: int | str | None) -> Solve:
        return partial(
            greedy,
            self.space,
            y,
            variance=variance,
            intercept_variance=self.settings.intercept_variance,
            steps=steps if isinstance(steps, int) else None,
        )

    def path(self, units: Sequence[int], folds: Folds) -> _SearchPath:
        return _SearchPath(self, units, folds)

    def _of_category(self, row: int, y: np.ndarray, weight: np.ndarray) -> tuple[Any, ...]:
        """What a `HeldOut` wants to know."""
        chosen_by = self.task.own_folds(row, y, weight) if self.validation is None else self.validation[2]
        return y, weight, self.settings.cv, chosen_by

    def _losses(self, row: int, y: np.ndarray) -> Losses:
        """The loss of every document by weights of classes, intercept last: of those to choose by, if there are any."""
        loss, space = as_loss(self.loss).loss, self.space
        if self.validation is None:
            return lambda classes, beta: loss(y * (space.columns(classes) @ beta[:-1] + beta[-1]), y)
        read, targets, _ = self.validation
        signs = targets.signs(self.task.targets.fitted[row])
        return lambda classes, beta: loss(signs * (weighting(space, classes).match(read) @ beta[:-1] + beta[-1]), signs)

    def _step_curve(self, row: int, y: np.ndarray, weight: np.ndarray, variance: float) -> StepCurve:
        if row not in self.step_curves:
            self.step_curves[row] = self._choose_steps(row, y, weight, variance)
        return self.step_curves[row]

    def _choose_steps(self, row: int, y: np.ndarray, weight: np.ndarray, variance: float) -> StepCurve:
        """The number of steps with the largest held-out log-likelihood; the fewest among equals."""
        slope = float(Laplace().compile(variance, 0, self.settings.intercept_variance).l1[0])
        losses, (training, validation) = self._losses(row, y), parts_of(*self._of_category(row, y, weight)[1:])
        values = np.empty((len(STEP_GRID), len(training)))
        for run, (train, held_out) in enumerate(zip(training, validation, strict=True)):
            weights: dict[int, float] = {}
            intercept, steps = 0.0, ascend(self.space, y, train, intercept_slope=slope)
            for k, more in enumerate(np.diff((0, *STEP_GRID)).tolist()):
                for step in islice(steps, more):
                    weights[step.chosen] = weights.get(step.chosen, 0.0) + step.by
                    intercept = step.intercept
                classes, beta = np.array(list(weights), np.int64), np.array([*weights.values(), intercept])
                values[k, run] = -summed(held_out, losses(classes, beta))
        return StepCurve(np.array(STEP_GRID), values, STEP_GRID[int(np.argmax(values.sum(axis=1)))])

    def design(self, fits: list[CategoryFit]) -> tuple[Design, list[CategoryFit]]:
        """The n-grams that any category kept, and the fits with these as features."""
        space = self.space
        kept = np.unique(np.concatenate([fit.features for fit in fits]))
        kept = kept[np.argsort(np.array(space.names(kept), dtype=object), kind="stable")]
        place = np.empty(len(space.node), dtype=np.int32)
        place[kept] = np.arange(len(kept))
        moved = []
        for fit in fits:
            features = place[fit.features]
            order = np.argsort(features)
            moved.append(replace(fit, features=features[order], weights=fit.weights[order]))
        chosen = weighting(space, kept)
        return Design(space.columns(kept).tocsr(), chosen.feature_names, chosen), moved


class _SearchPath(Travelling):
    """Unit by unit and fold by fold: exact fits start from the last, greedy ones anew."""

    def __init__(self, strategy: NgramSearch, units: Sequence[int], folds: Folds) -> None:
        self.strategy, self.units, self.folds = strategy, units, folds
        self.last: dict[tuple[int, int], NgramFit] = {}

    def advance(self, variance: np.ndarray) -> np.ndarray:
        strategy, settings = self.strategy, self.strategy.settings
        out = np.full((len(self.folds.fold), len(self.units)), np.nan)
        for column, (row, v) in enumerate(zip(self.units, variance.tolist(), strict=True)):
            y, weight = strategy.task.signs(row), strategy.task.document_weights(row)
            steps, own = strategy.ngrams.steps, v if np.isfinite(v) else strategy.norm_variance
            if settings.solver == "greedy" and steps == "cv":
                steps = strategy._step_curve(row, y, weight, own).chosen
            for k in range(self.folds.portions):
                training, held_out = self.folds.training(k, weight), self.folds.fold == k
                if settings.solver == "greedy":
                    fit = strategy._greedy(y, own, steps)(training)
                else:
                    start = self.last.get((row, k))
                    fit = strategy._exact(y, max(settings.tol, SEARCH_TOL))(training, variance=v, start=start)
                    self.last[row, k] = fit
                out[held_out, column] = fit.scores(strategy.space)[held_out]
        return out


def weighting(space: NgramSpace, classes: np.ndarray) -> NgramWeighting:
    """How texts become vectors of these classes of n-grams, whose names rise."""
    return NgramWeighting(
        replace(space.settings, ngrams=True), space.names(classes), space.docs[classes].astype(np.int64),
        space.n_documents, np.arange(len(classes)), longest=space.longest_names(classes),
        members=space.members[classes],
    )  # fmt: skip
