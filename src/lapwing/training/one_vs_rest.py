"""One category after the other over one matrix: features, variance, fit, pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lapwing.model.linear import LinearModel
from lapwing.plugins import plugin
from lapwing.selection.folds import Folds
from lapwing.selection.squeezer import Budget, Squeezed
from lapwing.selection.variance import Validation, VarianceCurve, choose_variance, default_grid
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.solvers.rare import Start
from lapwing.solvers.selected_ridge import prune, select, universal_penalty
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays
from lapwing.stats.priors import Columns, Jeffreys, Laplace, Prior, as_prior
from lapwing.stats.result import FitResult
from lapwing.training.fit import CategoryFit
from lapwing.training.left_out import reference
from lapwing.training.memory import remember
from lapwing.training.over_matrix import HELD_OUT_TOL, OverMatrix
from lapwing.training.rare import RareCategories
from lapwing.training.settings import ALPHAS
from lapwing.training.task import Travelling, check_flat

COUNTING_TOL = 1e-8  # of fits whose features are counted: a fit that is merely close may lack half of them
LITTLE = 20_000  # entries of a matrix up to which that is not worth saving
TOGETHER = 16  # units on one path under a Gaussian prior


class Category(NamedTuple):
    """The problem of one category, for some weights of the documents.

    features    the columns it is over; None for all
    squeezed    where features are limited: how they were chosen
    """

    row: int
    y: np.ndarray
    weight: np.ndarray
    columns: Columns
    problem: Problem
    prior: Prior
    features: np.ndarray | None
    squeezed: Squeezed | None


class OneVsRest(OverMatrix):
    """A unit is a category, which is a row of the model."""

    last: tuple[Problem, float, PriorArrays] | None = None

    @property
    def units(self) -> int:
        return len(self.task)

    def prepare(self) -> None:
        if self.settings.select_features is None:
            problem = self.features.whole
            newton.lay_out(problem, smooth=self.smooth)  # here, once: files are made of what is stored, and read by all
            self.rare.prepare()

    @cached_property
    def rare(self) -> RareCategories:
        return RareCategories(self)

    @cached_property
    def shares_columns(self) -> bool:
        """Whether all categories have the same features and prior."""
        settings = self.settings
        return settings.select_features is None and settings.max_features is None and self.features.kinds is None

    @cached_property
    def smooth(self) -> bool:
        """Whether the prior is Gaussian and the same for all, so that fits go through the matrix together."""
        prior, settings = self.features.prior, self.settings
        if not self.shares_columns or not prior.convex or settings.intercept_variance == np.inf:
            return False
        return newton.is_smooth(prior.compile(1.0, self.features.X.shape[1], settings.intercept_variance))

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
        y, squeezed = self.task.signs(row), None
        features = self.features.selected(y, weight)
        columns, problem = self.features.part(features)
        prior = self._bound(columns, row)
        if self.settings.max_features is not None:
            squeezed, support = self._squeeze(row, problem, prior, y, weight)
            features = support if features is None else features[support]
            columns, problem = self.features.part(features)
            prior = self._bound(columns, row)
        return Category(row, y, weight, columns, problem, prior, features, squeezed)

    def _bound(self, columns: Columns, row: int) -> Prior:
        classes = self.task.targets.classes
        opposite = classes[0] if len(self.task) < len(classes) else None
        return self.features.prior.bind(columns, self.task.label(row), opposite)

    def _squeeze(
        self, row: int, problem: Problem, prior: Prior, y: np.ndarray, weight: np.ndarray
    ) -> tuple[Squeezed, np.ndarray]:
        """The weakest prior within the budget of features, and the columns it keeps."""
        k = self.settings.max_features or 0
        tol = min(self.settings.tol, COUNTING_TOL)
        budget = Budget(lambda v, start: self._solve(problem, prior, y, weight, v, tol, start), k, self.task.label(row))
        search = budget.follow if isinstance(prior.shape, Laplace) else budget.limit
        limit = search(max(self.settings.cv.variances or default_grid(prior)))
        return limit, np.flatnonzero(budget.results[limit.variance].weights[:-1])

    def fit(self, units: Sequence[int], variance: float | None) -> list[CategoryFit]:
        if not self.together:
            return [self._alone(row, variance) for row in units]
        Y = np.array([self.task.signs(row) for row in units])
        weights = np.array([self.task.document_weights(row) for row in units])
        variances = [self.first_variance(row, variance) for row in units]
        problem, prior, settings = self.features.whole, self.features.prior, self.settings
        compiled = {v: self._compile(prior, problem, v) for v in set(variances)}
        results = newton.fit_many(
            problem, Y, weights, [compiled[v] for v in variances], variances=variances, tol=settings.tol,
            max_iter=settings.max_iter, link=settings.link,
        )  # fmt: skip
        return [self._fit(row, variance, ready) for row, ready in zip(units, results, strict=True)]

    def _alone(self, row: int, variance: float | None) -> CategoryFit:
        rare, start = self.rare.fit(row, variance)
        return rare or self._fit(row, variance, start=start)

    def first_variance(self, row: int, variance: float | None, columns: Columns | None = None) -> float:
        """The one chosen, the one given, or that by the norms of these columns; None for all."""
        if variance is not None:
            return variance
        if self.task.given is not None:
            return float(self.task.given[row])
        return self.norm_variance if columns is None else self.features.default_variance(columns.matrix)

    def _fit(
        self, row: int, variance: float | None, ready: FitResult | None = None, start: np.ndarray | None = None
    ) -> CategoryFit:
        """`ready` is the fit where that was made together with others, `start` where another solver came to."""
        one = self.category(row, self.task.document_weights(row))
        first = self.first_variance(row, variance, None if one.features is None else one.columns)
        check_flat(self.task, row, one.columns, one.prior, one.y, one.weight, first)
        if not one.prior.convex:
            first = float("nan")  # there is none to choose
        alphas = self._alphas(one.problem)
        curve = self._curve(one, first, alphas)
        first, alpha = (first, alphas[0]) if curve is None else (curve.chosen, curve.alpha)
        result = ready or self.solve(one, first, start)
        result, pruned_objective = self._prune(one, result, alpha)
        threshold = self.task.threshold(row, lambda: one.problem.scores(result.weights))
        kept, squeezed, nan = np.flatnonzero(result.weights[:-1]), one.squeezed, float("nan")
        return CategoryFit.of(
            result, kept if one.features is None else one.features[kept], result.weights[kept], threshold,
            keep_dual=self.task.keep_duals, curve=curve, alpha=alpha if self.pruning else nan,
            pruned_objective=pruned_objective, limit=nan if squeezed is None else squeezed.kept,
            beyond=nan if squeezed is None else squeezed.beyond,
        )  # fmt: skip

    def finish(self, model: LinearModel, fits: list[CategoryFit], curvature: str | int) -> LinearModel:
        """With what the distribution of held-out scores says of new documents, and what updates need."""
        if model.held_out:
            model = replace(model, held_out={**model.held_out, **reference(self, fits, model)})
        return replace(model, memory=remember(self, fits, curvature))

    @property
    def pruning(self) -> bool:
        return self.settings.method == "selected-ridge"

    def _alphas(self, problem: Problem) -> list[float]:
        """The penalties among which to choose; 0 where nothing is pruned."""
        if not self.pruning:
            return [0.0]
        universal, given = universal_penalty(len(problem.group)), self.settings.alpha
        return [universal] if given is None else [universal, *ALPHAS] if isinstance(given, str) else [given]

    def _curve(self, one: Category, variance: float, alphas: list[float]) -> VarianceCurve | None:
        """The variance and α that the category's own held-out documents prefer; None where none is to be chosen."""
        settings, plan, method = self.settings, self.settings.cv, str(self.settings.variance)
        if one.squeezed is not None and self.task.given is None:
            # no stronger a prior than the one that chose the features
            grid = {v for v in plan.variances or default_grid(one.prior) if v > one.squeezed.variance}
            plan, method = replace(plan, variances=(one.squeezed.variance, *grid)), "cv"
        elif method not in ("cv", "auto"):
            if len(alphas) == 1:
                return None
            plan, method = replace(plan, variances=(variance,)), "cv"
        return choose_variance(
            one.problem, one.y, one.weight, one.prior, plan, method=method, start=variance,
            folds=self.task.own_folds(one.row, one.y, one.weight) if self.validation is None else None,
            intercept_variance=settings.intercept_variance, tol=settings.tol,
            max_iter=settings.max_iter, link=settings.link, alphas=alphas, hessian=settings.hessian,
            validation=self._apart(one.row, one.features),
        )  # fmt: skip

    def _apart(self, row: int, features: np.ndarray | None) -> Validation | None:
        if self.validation is None:
            return None
        X, targets, weights = self.validation
        y = targets.signs(self.task.targets.fitted[row])
        return Validation(X if features is None else X[:, features], y, weights)

    def _compile(self, prior: Prior, problem: Problem, variance: float) -> PriorArrays:
        return prior.compile(variance, len(problem.group), self.settings.intercept_variance)

    def merged(self, prior: Prior, problem: Problem, variance: float) -> PriorArrays:
        """The prior of the columns; where all categories share it, the last is kept, as it is mostly the next."""
        if not self.shares_columns:
            return problem.merge(self._compile(prior, problem, variance))
        last = self.last  # read once: other threads set it
        if last is None or last[0] is not problem or last[1] != variance:
            last = self.last = (problem, variance, problem.merge(self._compile(prior, problem, variance)))
        return last[2]

    def solve(self, one: Category, variance: float, start: np.ndarray | None = None) -> FitResult:
        return self._solve(one.problem, one.prior, one.y, one.weight, variance, start=start)

    def _solve(
        self,
        problem: Problem,
        prior: Prior,
        y: np.ndarray,
        weight: np.ndarray,
        variance: float,
        tol: float | None = None,
        start: np.ndarray | None = None,
    ) -> FitResult:
        settings = self.settings
        arrays = self._compile(prior, problem, variance)
        if isinstance(prior, Jeffreys):
            return self._solve_jeffreys(problem, y, weight, prior, arrays)
        solve = newton.fit if settings.solver == "auto" else plugin("solvers", settings.solver)
        return solve(
            problem, y, weight, arrays, variance=variance, tol=tol or settings.tol, max_iter=settings.max_iter,
            link=settings.link, start=start,
        )  # fmt: skip

    def _solve_jeffreys(
        self, problem: Problem, y: np.ndarray, weight: np.ndarray, jeffreys: Jeffreys, arrays: PriorArrays
    ) -> FitResult:
        settings, d = self.settings, len(problem.group)
        start = None
        if jeffreys.start != "least_squares":
            first = as_prior(jeffreys.start).compile(jeffreys.start_variance, d, settings.intercept_variance)
            start = newton.fit(problem, y, weight, first, variance=jeffreys.start_variance, link=settings.link).weights
        return plugin("solvers", "em")(
            problem, y, weight, arrays, variance=float("nan"), tol=settings.tol, max_iter=settings.max_iter,
            start=start, link=settings.link, jeffreys=jeffreys.logarithmic(d, settings.intercept_variance),
        )  # fmt: skip

    def _prune(self, one: Category, result: FitResult, alpha: float) -> tuple[FitResult, float]:
        """The fit, pruned where that is asked for, and the objective at the pruned weights, else NaN."""
        if not self.pruning:
            return result, float("nan")
        settings, arrays = self.settings, self.merged(one.prior, one.problem, result.variance)
        selected = select(
            one.problem, one.y, one.weight, arrays, result.weights, alpha, settings.hessian, settings.link
        )
        return replace(result, weights=selected.weights), selected.objective

    def path(self, units: Sequence[int], folds: Folds) -> _SmoothPath | _Path:
        if self.smooth:
            return _SmoothPath(self, units, folds)
        return _Path(self, units, folds)

    def held_out_scores(self, one: Category, beta: np.ndarray, variance: float) -> np.ndarray:
        """Of all documents, by weights of columns; pruned first where the method is."""
        if self.pruning:
            arrays = self.merged(one.prior, one.problem, variance)
            alpha = self._alphas(one.problem)[0]  # where α is to be chosen, the variance is chosen for the universal
            beta = prune(
                one.problem, one.y, one.weight, arrays, beta, alpha, self.settings.hessian, self.settings.link
            )[0]
        return one.problem.column_scores(beta)

    @property
    def held_out_tol(self) -> float:
        """Where little is to be done it is done well: kernels for other shapes then give the same scores."""
        return max(self.settings.tol, HELD_OUT_TOL) if self.features.X.nnz > LITTLE else min(self.settings.tol, 1e-8)


class _Path(Travelling):
    """Sparse priors: unit by unit and fold by fold, each fit from the last."""

    def __init__(self, strategy: OneVsRest, units: Sequence[int], folds: Folds) -> None:
        self.strategy, self.units, self.folds = strategy, units, folds
        self.last: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}  # where it is not at its mode, and what
        self.rare: dict[tuple[int, int], Start] = {}  # the same of fits that are lists
        self.selected: dict[tuple[int, int], Category] = {}  # where features are selected: with those of each fold

    def advance(self, variance: np.ndarray) -> np.ndarray:
        out = np.full((len(self.folds.fold), len(self.units)), np.nan)
        for column, (row, v) in enumerate(zip(self.units, variance.tolist(), strict=True)):
            for k in range(self.folds.portions):
                held_out = self.folds.fold == k
                out[held_out, column] = self._scores(row, k, v)[held_out]
        return out

    def _category(self, row: int, k: int) -> Category:
        if (row, k) in self.selected:
            return self.selected[row, k]
        one = self.strategy.category(row, self.folds.training(k, self.strategy.task.document_weights(row)))
        if one.features is not None:
            self.selected[row, k] = one
        return one

    def _scores(self, row: int, k: int, variance: float) -> np.ndarray:
        strategy, settings = self.strategy, self.strategy.settings
        few = None
        if (row, k) not in self.last:
            few = strategy.rare.held_out(row, self.folds, k, variance, self.rare.get((row, k)))
        if few is not None and few.converged:
            self.rare[row, k] = few.columns, few.weights, few.intercept
            return strategy.features.whole.scores_of_few(few.columns, few.weights, few.intercept)
        one = self._category(row, k)
        if not one.prior.convex:
            return one.problem.scores(strategy.solve(one, variance).weights)
        arrays = strategy.merged(one.prior, one.problem, variance)
        if one_sided(one.y, one.weight) and arrays.flat[-1]:  # there is no finite intercept
            return np.full(len(one.y), as_link(settings.link).quantile(share(one.y, one.weight)))
        beta = np.clip(arrays.mode, arrays.lower, arrays.upper)
        if (row, k) in self.last:
            at, values = self.last[row, k]
            beta[at] = np.clip(values, arrays.lower[at], arrays.upper[at])
        elif few is not None:
            beta[few.columns], beta[-1] = few.weights, few.intercept
        newton.minimise(
            one.problem, one.y, one.weight, arrays, beta, strategy.held_out_tol, settings.max_iter, settings.link
        )
        at = np.flatnonzero(beta != arrays.mode)
        self.last[row, k] = at, beta[at]
        return strategy.held_out_scores(one, beta, variance)


def one_sided(y: np.ndarray, weight: np.ndarray) -> bool:
    """Whether all documents with a weight have the same label."""
    labels = y[weight > 0.0]
    return len(labels) == 0 or bool((labels == labels[0]).all())


def share(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Of positives, a document of each side added."""
    return np.asarray((weight[y > 0.0].sum() + 0.5) / (weight.sum() + 1.0))


class _SmoothPath(Travelling):
    """Gaussian priors: all units and folds through the matrix together."""

    def __init__(self, strategy: OneVsRest, units: Sequence[int], folds: Folds) -> None:
        self.strategy, self.units, self.folds = strategy, units, folds
        self.beta: np.ndarray | None = None

    def advance(self, variance: np.ndarray) -> np.ndarray:
        strategy, settings, folds = self.strategy, self.strategy.settings, self.folds
        problem, prior = strategy.features.whole, strategy.features.prior
        jobs = [
            (row, v, k) for row, v in zip(self.units, variance.tolist(), strict=True) for k in range(folds.portions)
        ]
        Y = np.array([strategy.task.signs(row) for row, _, _ in jobs])
        weights = np.array([folds.training(k, strategy.task.document_weights(row)) for row, _, k in jobs])
        arrays = [strategy.merged(prior, problem, v) for _, v, _ in jobs]
        beta = np.array([one.mode for one in arrays]) if self.beta is None else self.beta
        newton.minimise_many(problem, Y, weights, arrays, beta, strategy.held_out_tol, settings.max_iter, settings.link)
        self.beta = beta
        out = np.full((len(folds.fold), len(self.units)), np.nan)
        for at, (row, v, k) in enumerate(jobs):
            one = Category(row, Y[at], weights[at], strategy.features.columns, problem, prior, None, None)
            held_out = folds.fold == k
            out[held_out, at // folds.portions] = strategy.held_out_scores(one, beta[at], v)[held_out]
        return out
