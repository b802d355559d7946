"""Every category over the space of all n-grams, and the n-grams that they kept as one design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.selection.variance import HeldOut, VarianceCurve, choose, deal_parts
from lapwing.solvers.ngrams import NgramFit, ascend, exact, greedy
from lapwing.stats.links import as_link
from lapwing.stats.priors import Laplace, norm_variance
from lapwing.stats.result import FitResult
from lapwing.text import Design
from lapwing.text.matching import NgramWeighting
from lapwing.text.ngrams import NgramSpace
from lapwing.text.sequences import Sequences
from lapwing.training.category import Categories, CategoryFit
from lapwing.training.settings import STEP_GRID, TrainSettings
from lapwing.training.targets import Targets

Losses = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class StepCurve:
    """Held-out log-likelihood after so many steps of SLR; one column per run."""

    steps: np.ndarray
    log_likelihood: np.ndarray
    chosen: int


class _OverSpace(HeldOut):
    """Exact fits over one space: folds are weights of its documents."""

    def __init__(self, solve: Callable[..., NgramFit], losses: Losses, *of_category: Any) -> None:
        super().__init__(*of_category)
        self.solve, self.losses = solve, losses

    def fit(self, variance: float, run: int, start: NgramFit | None) -> tuple[NgramFit, list[float]]:
        fit = self.solve(self.training[run], variance=variance, start=start)
        return fit, [-float(self.validation[run] @ self.losses(fit.classes, fit.result.weights))]


class NgramCategories(Categories):
    """All categories of a corpus against one space of n-grams; `features` of a fit are classes of the space.

    validation   documents to choose by, as the sequences of the space's reading, their labels and weights
    """

    def __init__(
        self,
        space: NgramSpace,
        told: Targets,
        weights: np.ndarray,
        settings: TrainSettings,
        validation: tuple[Sequences, Targets, np.ndarray] | None = None,
        keep_duals: bool = False,
    ) -> None:
        nothing = Design(sp.csr_matrix((space.n_documents, 0)), [], None)
        super().__init__(nothing, told, weights, settings, keep_duals=keep_duals)
        assert settings.ngrams is not None
        self.space, self.ngrams, self.documents_apart = space, settings.ngrams, validation

    @property
    def width(self) -> int:
        return len(self.space.node)

    def prepare(self) -> None:
        self.norm_variance  # noqa: B018

    @cached_property
    def norm_variance(self) -> float:
        """GLM07 Eq. 29 on the single tokens."""
        return norm_variance(self.space.unigrams(self.ngrams.min_support), self.weights)

    @cached_property
    def together(self) -> bool:
        """Every category has n-grams of its own."""
        return False

    def fit(self, row: int, ready: FitResult | None = None) -> CategoryFit:
        y, weight = self.labels(row)
        settings = self.settings
        variance = self.norm_variance if self.given is None else float(self.given[row])
        self._check_flat(self.told.fitted[row], self.columns, self.prior, y, weight, variance)
        curve: VarianceCurve | None = None
        tried: StepCurve | None = None
        if settings.solver == "greedy":
            steps = self.ngrams.steps
            if isinstance(steps, str):
                tried = self._choose_steps(row, y, weight, variance)
                steps = tried.chosen
            solve = partial(
                greedy, self.space, y, variance=variance, intercept_variance=settings.intercept_variance, steps=steps,
            )  # fmt: skip
        else:
            solve = partial(
                exact, self.space, y, intercept_variance=settings.intercept_variance, tol=settings.tol,
                max_iter=settings.max_iter, link=settings.link,
            )  # fmt: skip
            if settings.variance in ("cv", "auto"):
                held_out = _OverSpace(solve, self._losses(row, y), *self._of_category(row, y, weight))
                curve = choose(held_out, self.prior, method=str(settings.variance), start=variance)
                variance = curve.chosen
            solve = partial(solve, variance=variance)
        fit = solve(weight)
        threshold = self._threshold(
            row, y, weight, lambda: fit.scores(self.space), lambda weight: solve(weight).scores(self.space)
        )
        return self._summary(fit.result, fit.classes, fit.result.weights[:-1], threshold, curve, steps=tried)

    def _of_category(self, row: int, y: np.ndarray, weight: np.ndarray) -> tuple[Any, ...]:
        """What `deal_parts` and a `HeldOut` want to know."""
        apart = None if self.documents_apart is None else self.documents_apart[2]
        return y, weight, self.settings.cv, self.seeds[row], apart

    def _losses(self, row: int, y: np.ndarray) -> Losses:
        """The loss of every document by weights of classes, intercept last: of those to choose by, if there are any."""
        loss, space = as_link(self.settings.link).loss, self.space
        if self.documents_apart is None:
            return lambda classes, beta: loss(y * (space.columns(classes) @ beta[:-1] + beta[-1]))
        read, told, _ = self.documents_apart
        signs = told.signs(self.told.fitted[row])
        return lambda classes, beta: loss(signs * (weighting(space, classes).match(read) @ beta[:-1] + beta[-1]))

    def _choose_steps(self, row: int, y: np.ndarray, weight: np.ndarray, variance: float) -> StepCurve:
        """The number of steps with the largest held-out log-likelihood; the fewest among equals."""
        slope = float(Laplace().compile(variance, 0, self.settings.intercept_variance).l1[0])
        losses, (training, validation) = self._losses(row, y), deal_parts(*self._of_category(row, y, weight))
        values = np.empty((len(STEP_GRID), len(training)))
        for run, (train, held_out) in enumerate(zip(training, validation, strict=True)):
            weights: dict[int, float] = {}
            intercept, steps = 0.0, ascend(self.space, y, train, intercept_slope=slope)
            for k, more in enumerate(np.diff((0, *STEP_GRID)).tolist()):
                for step in islice(steps, more):
                    weights[step.chosen] = weights.get(step.chosen, 0.0) + step.by
                    intercept = step.intercept
                classes, beta = np.array(list(weights), np.int64), np.array([*weights.values(), intercept])
                values[k, run] = -float(held_out @ losses(classes, beta))
        return StepCurve(np.array(STEP_GRID), values, STEP_GRID[int(np.argmax(values.sum(axis=1)))])


def weighting(space: NgramSpace, classes: np.ndarray) -> NgramWeighting:
    """How texts become vectors of these classes of n-grams, whose names rise."""
    return NgramWeighting(
        replace(space.settings, ngrams=True), space.names(classes), space.docs[classes].astype(np.int64),
        space.n_documents, np.arange(len(classes)), longest=space.longest_names(classes),
        members=space.members[classes],
    )  # fmt: skip


def chosen_ngrams(space: NgramSpace, fits: list[CategoryFit]) -> tuple[Design, list[CategoryFit]]:
    """The n-grams that any category kept, as a design, and the fits with these as features."""
    kept = np.unique(np.concatenate([fit.features for fit in fits]))
    kept = kept[np.argsort(np.array(space.names(kept), dtype=object), kind="stable")]
    place = np.empty(len(space.node), dtype=np.int32)
    place[kept] = np.arange(len(kept))
    moved = []
    for fit in fits:
        features = place[fit.features]
        order = np.argsort(features)
        moved.append(replace(fit, features=features[order], weights=fit.weights[order]))
    told = weighting(space, kept)
    return Design(space.columns(kept).tocsr(), told.feature_names, told), moved
