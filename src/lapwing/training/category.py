"""Fits of one category at a time, over the columns of a problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.errors import SettingsError
from lapwing.plugins import plugin
from lapwing.selection.folds import Folds, shuffled
from lapwing.selection.squeezer import Squeezed
from lapwing.selection.variance import CrossValidation, VarianceCurve, default_grid
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.solvers.selected_ridge import prune, select, universal_penalty
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays
from lapwing.stats.prior_table import PriorTable
from lapwing.stats.priors import Columns, Jeffreys, Prior, as_prior
from lapwing.stats.result import FitResult
from lapwing.training.paths import FoldOfUnit, Path, choose_for_unit
from lapwing.training.settings import ALPHAS, TrainSettings


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
    features: np.ndarray | None = None
    squeezed: Squeezed | None = None


class ChoiceDocuments(NamedTuple):
    """Documents to choose by that no fit is made to: X (m, d) over features, labels and weights (m,)."""

    X: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray


class CategoryFits:
    """Fits as the settings ask for, whatever they are fits to."""

    settings: TrainSettings
    last: tuple[Problem, Prior, float, PriorArrays] | None = None

    def __init__(self, settings: TrainSettings) -> None:
        self.settings = settings

    @property
    def pruning(self) -> bool:
        return self.settings.method == "selected-ridge"

    def alphas(self, problem: Problem) -> list[float]:
        """The penalties among which to choose; 0 where nothing is pruned."""
        if not self.pruning:
            return [0.0]
        universal, given = universal_penalty(len(problem.group)), self.settings.alpha
        return [universal] if given is None else [universal, *ALPHAS] if isinstance(given, str) else [given]

    def compiled(self, prior: Prior, problem: Problem, variance: float) -> PriorArrays:
        return prior.compile(variance, len(problem.group), self.settings.intercept_variance)

    def merged(self, prior: Prior, problem: Problem, variance: float) -> PriorArrays:
        """The prior of the columns; the last is kept, as it is mostly the next."""
        last = self.last  # read once: other threads set it
        if last is None or last[0] is not problem or last[1] is not prior or last[2] != variance:
            arrays = problem.merge(self.compiled(prior, problem, variance))
            last = self.last = problem, prior, variance, arrays
        return last[3]

    def solve(
        self, one: Category, variance: float, tol: float | None = None, start: np.ndarray | None = None
    ) -> FitResult:
        settings, prior, problem = self.settings, one.prior, one.problem
        arrays = self.compiled(prior, problem, variance)
        if isinstance(prior, Jeffreys):
            return self._solve_jeffreys(one, prior, arrays)
        solve = newton.fit if settings.solver == "auto" else plugin("solvers", settings.solver)
        return solve(
            problem, one.y, one.weight, arrays, variance=variance, tol=tol or settings.tol, max_iter=settings.max_iter,
            link=settings.link, start=start,
        )  # fmt: skip

    def _solve_jeffreys(self, one: Category, jeffreys: Jeffreys, arrays: PriorArrays) -> FitResult:
        settings, d = self.settings, len(one.problem.group)
        documents, start = (one.problem, one.y, one.weight), None
        if jeffreys.start != "least_squares":
            first = as_prior(jeffreys.start).compile(jeffreys.start_variance, d, settings.intercept_variance)
            start = newton.fit(*documents, first, variance=jeffreys.start_variance, link=settings.link).weights
        return plugin("solvers", "em")(
            *documents, arrays, variance=float("nan"), tol=settings.tol, max_iter=settings.max_iter,
            start=start, link=settings.link, jeffreys=jeffreys.logarithmic(d, settings.intercept_variance),
        )  # fmt: skip

    def pruned(self, one: Category, result: FitResult, alpha: float) -> tuple[FitResult, float]:
        """The fit, pruned where that is asked for, and the objective at the pruned weights, else NaN."""
        if not self.pruning:
            return result, float("nan")
        settings, arrays = self.settings, self.merged(one.prior, one.problem, result.variance)
        selected = select(
            one.problem, one.y, one.weight, arrays, result.weights, alpha, settings.hessian, settings.link
        )
        return replace(result, weights=selected.weights), selected.objective

    def choose(
        self,
        one: Category,
        folds: Folds,
        plan: CrossValidation,
        *,
        method: str,
        start: float,
        alphas: Sequence[float] = (0.0,),
        validation: ChoiceDocuments | None = None,
    ) -> VarianceCurve:
        """The variance and α that its own held-out documents prefer: method "cv" over a grid, "auto" by a search."""
        y, weight, link = one.y, one.weight, as_link(self.settings.link)
        if validation is not None:
            y, weight, folds = validation.y, validation.weight, Folds.none(len(y))
        grid = None if method == "auto" else plan.variances or default_grid(one.prior)
        return choose_for_unit(
            self, one.row, one, lambda scores, at: link.loss(y[at, None] * scores, y[at, None]), weight, folds, plan,
            grid=grid, start=start, tol=self.settings.tol, alphas=alphas,
            smooth=newton.is_smooth(self.merged(one.prior, one.problem, start)),
            new=None if validation is None else validation.X,
        )  # fmt: skip

    def held_out_scores(self, path: Path, variances: np.ndarray) -> Iterable[np.ndarray]:
        if path.together:
            return self._scores_together(path, variances.tolist())
        pairs = zip(path.parts, variances.tolist(), strict=True)
        return (self.scores_without(path, part, variance) for part, variance in pairs)

    def category_without(self, path: Path, part: FoldOfUnit) -> Category:
        """The problem, weights of documents held out 0."""
        one: Category = part.problem
        return one._replace(weight=path.folds.training(part.fold, one.weight))

    def scores_without(self, path: Path, part: FoldOfUnit, variance: float) -> np.ndarray:
        """By one fit under a prior of any kind."""
        one, settings = self.category_without(path, part), self.settings
        if not one.prior.convex:
            return one.problem.scores(self.solve(one, variance).weights)
        arrays = self.merged(one.prior, one.problem, variance)
        if arrays.flat[-1] and one_sided(one.y, one.weight):  # there is no finite intercept
            return np.full(len(one.y), as_link(settings.link).quantile(share(one.y, one.weight)))
        beta = np.clip(arrays.mode, arrays.lower, arrays.upper)
        if part.last is not None:
            at, values = part.last
            beta[at] = np.clip(values, arrays.lower[at], arrays.upper[at])
        if path.chooses_alone and part.gradient is None:
            part.gradient = np.full((2, len(beta)), np.nan)
        result = newton.minimise(
            one.problem, one.y, one.weight, arrays, beta, path.tol, settings.max_iter, settings.link, part.gradient
        )
        path.note(variance, result.converged)
        at = np.flatnonzero(beta != arrays.mode)
        part.last = at, beta[at]
        return self._scores(path, one, arrays, beta)

    def _scores_together(self, path: Path, variances: list[float]) -> Iterable[np.ndarray]:
        """By fits under Gaussian priors, which go through one matrix together."""
        ones = [self.category_without(path, part) for part in path.parts]
        arrays = [self.merged(one.prior, one.problem, variance) for one, variance in zip(ones, variances, strict=True)]
        betas = np.array([
            prior.mode if part.last is None else part.last for part, prior in zip(path.parts, arrays, strict=True)
        ])  # fmt: skip
        results = newton.minimise_many(
            ones[0].problem, np.array([one.y for one in ones]), np.array([one.weight for one in ones]), arrays, betas,
            path.tol, self.settings.max_iter, self.settings.link,
        )  # fmt: skip
        for part, one, prior, variance, beta, result in zip(
            path.parts, ones, arrays, variances, betas, results, strict=True
        ):
            part.last = beta
            path.note(variance, result.converged)
            yield self._scores(path, one, prior, beta)

    def _scores(self, path: Path, one: Category, arrays: PriorArrays, beta: np.ndarray) -> np.ndarray:
        """Of the documents of the path, by weights of columns; pruned first where the method is."""
        columns = []
        # Where α is to be chosen, all categories choose their variance for the universal one.
        for alpha in path.alphas or self.alphas(one.problem)[:1]:
            weights = beta if alpha == 0.0 else prune(
                one.problem, one.y, one.weight, arrays, beta, alpha, self.settings.hessian, self.settings.link
            )[0]  # fmt: skip
            if path.new is None:
                columns.append(one.problem.column_scores(weights))
            else:
                spread = one.problem.spread(weights)
                columns.append(path.new @ spread[:-1] + spread[-1])
        return np.column_stack(columns)


def one_sided(y: np.ndarray, weight: np.ndarray) -> bool:
    """Whether all documents with a weight have the same label."""
    labels = y[weight > 0.0]
    return len(labels) == 0 or bool((labels == labels[0]).all())


def share(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Of positives, a document of each side added."""
    return np.asarray((weight[y > 0.0].sum() + 0.5) / (weight.sum() + 1.0))


def choose_variance(
    problem: Problem, y: np.ndarray, weight: np.ndarray, prior: Prior, plan: CrossValidation, *, method: str = "cv",
    start: float = 1.0, seed: np.random.SeedSequence | None = None, tol: float = 1e-4, max_iter: int = 500,
    link: str = "logit",
) -> VarianceCurve:  # fmt: skip
    """The variance of one problem, by documents held out by chance: method "cv" over a grid, "auto" by a search that
    begins at `start`."""
    fits = CategoryFits(TrainSettings(link=link, tol=tol, max_iter=max_iter))
    folds = shuffled(y, plan.folds, seed or np.random.SeedSequence(0))
    return fits.choose(
        Category(0, y, weight, Columns([], problem.by_rows), problem, prior), folds, plan, method=method, start=start
    )


def choose_prior(
    names: Sequence[str], X: sp.csr_matrix, y: np.ndarray, priors: Sequence[Prior], plan: CrossValidation, *,
    weight: np.ndarray | None = None, seed: int = 0, tol: float = 1e-4, max_iter: int = 500, link: str = "logit",
) -> tuple[int, VarianceCurve]:  # fmt: skip
    """Which of several priors over named columns, and which variance under it, held-out documents like best.

    Priors that differ in the variances of groups of features (`lapwing.priors.by_group`) have these chosen together.
    """
    if not priors:
        raise SettingsError("expected one or more priors to choose from, got none")
    columns, weight = Columns(names, X), np.ones(len(y)) if weight is None else weight
    curves = []
    for prior in priors:
        problem = Problem(X, kinds=prior.kinds(columns) if isinstance(prior, PriorTable) else None)
        curves.append(
            choose_variance(
                problem, y, weight, prior.bind(columns, None), plan, seed=np.random.SeedSequence(seed), tol=tol,
                max_iter=max_iter, link=link,
            )
        )  # fmt: skip
    best = int(np.argmax([curve.total.max() for curve in curves]))
    return best, curves[best]
