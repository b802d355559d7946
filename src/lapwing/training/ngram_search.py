"""Every category over the space of all n-grams, and the n-grams that they kept as one design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import islice

import numpy as np
import scipy.sparse as sp

from lapwing.model.linear import LinearModel
from lapwing.ngrams.solver import NgramFit, ascend, exact, greedy
from lapwing.ngrams.space import NgramSpace
from lapwing.selection.folds import Folds
from lapwing.selection.variance import VarianceCurve, default_grid
from lapwing.stats.links import as_loss
from lapwing.stats.objective import summed
from lapwing.stats.priors import Columns, Laplace, as_prior, norm_variance
from lapwing.text import Design
from lapwing.text.matching import NgramWeighting
from lapwing.text.sequences import Sequences
from lapwing.training.fit import CategoryFit
from lapwing.training.paths import Losses, Path, choose_for_unit, held_out_documents
from lapwing.training.settings import STEP_GRID
from lapwing.training.targets import Targets
from lapwing.training.task import Task, check_flat

SEARCH_TOL = 1e-2  # relative gap of fits that only score held-out documents: the search is most of the time

Solve = Callable[..., NgramFit]


@dataclass(frozen=True)
class StepCurve:
    """Held-out log-likelihood after so many steps of SLR; one column per run."""

    steps: np.ndarray
    log_likelihood: np.ndarray
    chosen: int


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
                curve = self._choose(row, y, weight, variance)
                variance = curve.chosen
            fit = solve(weight, variance=variance)
        threshold = self.task.threshold(row, lambda: self._scores(fit.classes, fit.result.weights, None))
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

    @property
    def held_out_tol(self) -> float:
        return max(self.settings.tol, SEARCH_TOL)

    def held_out_scores(self, path: Path, variances: np.ndarray) -> Iterator[np.ndarray]:
        """By exact fits from the last, or greedy ones, which always begin anew."""
        for part, v in zip(path.parts, variances.tolist(), strict=True):
            y, weight = self.task.signs(part.unit), self.task.document_weights(part.unit)
            training = path.folds.training(part.fold, weight)
            if self.settings.solver == "greedy":
                own, steps = v if np.isfinite(v) else self.norm_variance, self.ngrams.steps
                if steps == "cv":
                    steps = self._step_curve(part.unit, y, weight, own).chosen
                fit = self._greedy(y, own, steps)(training)
            else:
                part.last = fit = self._exact(y, path.tol)(training, variance=v, start=part.last)
                path.note(v, fit.result.converged)
            yield self._scores(fit.classes, fit.result.weights, path.new)

    def _scores(self, classes: np.ndarray, beta: np.ndarray, new: Sequences | None) -> np.ndarray:
        """Of the documents of the space, or of new ones, by weights of classes, intercept last."""
        X = self.space.columns(classes) if new is None else weighting(self.space, classes).match(new)
        return np.asarray(X @ beta[:-1] + beta[-1])

    def _deciding(
        self, row: int, y: np.ndarray, weight: np.ndarray
    ) -> tuple[Losses, np.ndarray, Folds, Sequences | None]:
        """The documents that a category chooses by: their losses by scores, their weights, in which folds they are held
        out, and the documents themselves where no fit is made to them."""
        loss, folds, new = as_loss(self.loss).loss, Folds.none(len(y)), None
        if self.validation is None:
            folds = self.task.own_folds(row, y, weight).turns(self.settings.cv.runs)
        else:
            new, targets, weight = self.validation
            y = targets.signs(self.task.targets.fitted[row])
        return lambda scores, at: loss(y[at, None] * scores, y[at, None]), weight, folds, new

    def _choose(self, row: int, y: np.ndarray, weight: np.ndarray, start: float) -> VarianceCurve:
        settings, (losses, weight, folds, new) = self.settings, self._deciding(row, y, weight)
        grid = None if settings.variance == "auto" else settings.cv.variances or default_grid(as_prior(settings.prior))
        return choose_for_unit(
            self, row, self.space, losses, weight, folds, settings.cv,
            grid=grid, start=start, tol=settings.tol, new=new,
        )  # fmt: skip

    def _step_curve(self, row: int, y: np.ndarray, weight: np.ndarray, variance: float) -> StepCurve:
        if row not in self.step_curves:
            self.step_curves[row] = self._choose_steps(row, y, weight, variance)
        return self.step_curves[row]

    def _choose_steps(self, row: int, y: np.ndarray, weight: np.ndarray, variance: float) -> StepCurve:
        """The number of steps with the largest held-out log-likelihood; the fewest among equals."""
        slope = float(Laplace().compile(variance, 0, self.settings.intercept_variance).l1[0])
        losses, judging, folds, new = self._deciding(row, y, weight)
        runs = held_out_documents(folds, judging, new)
        values = np.empty((len(STEP_GRID), len(runs)))
        for run, at in enumerate(runs):
            weights: dict[int, float] = {}
            intercept, steps = 0.0, ascend(self.space, y, folds.training(run, weight), intercept_slope=slope)
            for k, more in enumerate(np.diff((0, *STEP_GRID)).tolist()):
                for step in islice(steps, more):
                    weights[step.chosen] = weights.get(step.chosen, 0.0) + step.by
                    intercept = step.intercept
                classes, beta = np.array(list(weights), np.int64), np.array([*weights.values(), intercept])
                scores = self._scores(classes, beta, new)[at, None]
                values[k, run] = -summed(judging[at], losses(scores, at)[:, 0])
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


def weighting(space: NgramSpace, classes: np.ndarray) -> NgramWeighting:
    """How texts become vectors of these classes of n-grams, whose names rise."""
    return NgramWeighting(
        replace(space.settings, ngrams=True), space.names(classes), space.docs[classes].astype(np.int64),
        space.n_documents, np.arange(len(classes)), longest=space.longest_names(classes),
        members=space.members[classes],
    )  # fmt: skip
