"""One category after the other over one matrix: features, variance, fit, pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from lapwing.model.linear import LinearModel
from lapwing.selection.squeezer import Budget, Squeezed
from lapwing.selection.variance import VarianceCurve, default_grid
from lapwing.solvers import newton
from lapwing.solvers.rare import Start
from lapwing.stats.priors import Columns, Laplace, Prior
from lapwing.stats.result import FitResult
from lapwing.text import Design
from lapwing.training.category import Category, CategoryFits, ChoiceDocuments
from lapwing.training.fit import CategoryFit
from lapwing.training.leave_one_out import reference
from lapwing.training.memory import remember
from lapwing.training.over_matrix import HELD_OUT_TOL, OverMatrix, ValidationMatrix
from lapwing.training.paths import FoldOfUnit, Path
from lapwing.training.rare import RareCategories
from lapwing.training.task import Task, check_flat

COUNTING_TOL = 1e-8  # of fits whose features are counted: a fit that is merely close may lack half of them
LITTLE = 20_000  # entries of a matrix up to which that is not worth saving
TOGETHER = 16  # units on one path under a Gaussian prior


class OneVsRest(CategoryFits, OverMatrix):
    """A unit is a category, which is a row of the model."""

    def __init__(self, task: Task, design: Design, validation: ValidationMatrix | None = None) -> None:
        OverMatrix.__init__(self, task, design, validation)

    @property
    def units(self) -> int:
        return len(self.task)

    def prepare(self) -> None:
        if self.settings.select_features is None:
            problem = self.whole
            newton.lay_out(problem, smooth=self.smooth)  # here, once: files are made of what is stored, and read by all
            self.rare.prepare()

    @cached_property
    def rare(self) -> RareCategories:
        return RareCategories(self)

    @cached_property
    def shares_columns(self) -> bool:
        """Whether all categories have the same features and prior."""
        settings = self.settings
        return settings.select_features is None and settings.max_features is None and self.kinds is None

    @cached_property
    def smooth(self) -> bool:
        """Whether the prior is Gaussian and the same for all, so that fits go through the matrix together."""
        prior, settings = self.prior, self.settings
        if not self.shares_columns or not prior.convex or settings.intercept_variance == np.inf:
            return False
        return newton.is_smooth(prior.compile(1.0, self.X.shape[1], settings.intercept_variance))

    @property
    def at_a_time(self) -> int:
        return TOGETHER if self.smooth else 1

    @cached_property
    def together(self) -> bool:
        settings = self.settings
        alone = settings.variance in ("cv", "auto") or settings.alpha == "cv" or settings.solver != "auto"
        return self.smooth and not alone

    def category(self, row: int, weight: np.ndarray) -> Category:
        """With its features selected, and squeezed, by documents of these weights."""
        y = self.task.signs(row)
        one = self._over(row, y, weight, self.selected(y, weight))
        if self.settings.max_features is None:
            return one
        squeezed, support = self._squeeze(one)
        features = support if one.features is None else one.features[support]
        return self._over(row, y, weight, features)._replace(squeezed=squeezed)

    def _over(self, row: int, y: np.ndarray, weight: np.ndarray, features: np.ndarray | None) -> Category:
        columns, problem = self.part(features)
        return Category(row, y, weight, columns, problem, self._bound(columns, row), features)

    def _bound(self, columns: Columns, row: int) -> Prior:
        classes = self.task.targets.classes
        opposite = classes[0] if len(self.task) < len(classes) else None
        return self.prior.bind(columns, self.task.label(row), opposite)

    def _squeeze(self, one: Category) -> tuple[Squeezed, np.ndarray]:
        """The weakest prior within the budget of features, and the columns it keeps."""
        k = self.settings.max_features or 0
        tol = min(self.settings.tol, COUNTING_TOL)
        budget = Budget(lambda v, start: self.solve(one, v, tol, start), k, self.task.label(one.row))
        search = budget.follow if isinstance(one.prior.shape, Laplace) else budget.limit
        limit = search(max(self.settings.cv.variances or default_grid(one.prior)))
        return limit, np.flatnonzero(budget.results[limit.variance].weights[:-1])

    def fit(self, units: Sequence[int], variance: float | None) -> list[CategoryFit]:
        fits = []
        for row, ready in zip(units, self._fit_together(units, variance), strict=True):
            rare, start = self.rare.fit(row, variance) if ready is None else (None, None)
            if rare is not None:
                fits.append(rare)
                continue
            one = self.category(row, self.task.document_weights(row))
            first = self.first_variance(row, variance, None if one.features is None else one.columns)
            check_flat(self.task, row, one.columns, one.prior, one.y, one.weight, first)
            if not one.prior.convex:
                first = float("nan")  # there is none to choose
            alphas = self.alphas(one.problem)
            curve = self._curve(one, first, alphas)
            first, alpha = (first, alphas[0]) if curve is None else (curve.chosen, curve.alpha)
            result, pruned_objective = self.pruned(one, ready or self.solve(one, first, start=start), alpha)
            threshold = self.task.threshold(row, partial(one.problem.scores, result.weights))
            kept, squeezed, nan = np.flatnonzero(result.weights[:-1]), one.squeezed, float("nan")
            fits.append(
                CategoryFit.of(
                    result, kept if one.features is None else one.features[kept], result.weights[kept], threshold,
                    keep_dual=self.task.keep_duals, curve=curve, alpha=alpha if self.pruning else nan,
                    pruned_objective=pruned_objective, limit=nan if squeezed is None else squeezed.kept,
                    beyond=nan if squeezed is None else squeezed.beyond,
                )
            )  # fmt: skip
        return fits

    def _fit_together(self, units: Sequence[int], variance: float | None) -> Sequence[FitResult | None]:
        """Fits that go through the matrix together; None for each that is made by itself."""
        if not self.together:
            return [None] * len(units)
        Y = np.array([self.task.signs(row) for row in units])
        weights = np.array([self.task.document_weights(row) for row in units])
        variances = [self.first_variance(row, variance) for row in units]
        compiled = {v: self.compiled(self.prior, self.whole, v) for v in set(variances)}
        return newton.fit_many(
            self.whole, Y, weights, [compiled[v] for v in variances], variances=variances, tol=self.settings.tol,
            max_iter=self.settings.max_iter, link=self.settings.link,
        )  # fmt: skip

    def first_variance(self, row: int, variance: float | None, columns: Columns | None = None) -> float:
        """The one chosen, the one given, or that by the norms of these columns; None for all."""
        if variance is not None:
            return variance
        if self.task.given is not None:
            return float(self.task.given[row])
        return self.norm_variance if columns is None else self.default_variance(columns.matrix)

    def finish(self, model: LinearModel, fits: list[CategoryFit], curvature: str | int) -> LinearModel:
        """With what the distribution of held-out scores says of new documents, and what updates need."""
        if model.held_out:
            model = replace(model, held_out={**model.held_out, **reference(self, fits, model)})
        return replace(model, memory=remember(self, fits, curvature))

    def _curve(self, one: Category, variance: float, alphas: list[float]) -> VarianceCurve | None:
        """The variance and α that the category's own held-out documents prefer; None where none is to be chosen."""
        plan, method = self.settings.cv, str(self.settings.variance)
        if one.squeezed is not None and self.task.given is None:
            # no stronger a prior than the one that chose the features
            grid = {v for v in plan.variances or default_grid(one.prior) if v > one.squeezed.variance}
            plan, method = replace(plan, variances=(one.squeezed.variance, *grid)), "cv"
        elif method not in ("cv", "auto"):
            if len(alphas) == 1:
                return None
            plan, method = replace(plan, variances=(variance,)), "cv"
        folds = self.task.own_folds(one.row, one.y, one.weight)
        validation = self._validation(one.row, one.features)
        return self.choose(one, folds, plan, method=method, start=variance, alphas=alphas, validation=validation)

    def _validation(self, row: int, features: np.ndarray | None) -> ChoiceDocuments | None:
        if self.validation is None:
            return None
        X, targets, weights = self.validation
        y = targets.signs(self.task.targets.fitted[row])
        return ChoiceDocuments(X if features is None else X[:, features], y, weights)

    @property
    def held_out_tol(self) -> float:
        """Where little is to be done it is done well: kernels for other shapes then give the same scores."""
        return max(self.settings.tol, HELD_OUT_TOL) if self.X.nnz > LITTLE else min(self.settings.tol, 1e-8)

    def category_without(self, path: Path, part: FoldOfUnit) -> Category:
        if part.problem is not None:
            return super().category_without(path, part)
        one = self.category(part.unit, path.folds.training(part.fold, self.task.document_weights(part.unit)))
        if one.features is not None:
            part.problem = one
        return one

    def scores_without(self, path: Path, part: FoldOfUnit, variance: float) -> np.ndarray:
        """By a fit at the cost of the documents that are touched, where one can be made."""
        if not path.chooses_alone and (part.last is None or isinstance(part.last, Start)):
            rare = self.rare.held_out(part.unit, path.folds, part.fold, variance, part.last)
            if rare is not None and rare.converged:
                part.last = Start(rare.columns, rare.weights, rare.intercept)
                return self.whole.scores_of_few(*part.last)
            part.last = rare and (np.append(rare.columns, -1), np.append(rare.weights, rare.intercept))
        return super().scores_without(path, part, variance)
