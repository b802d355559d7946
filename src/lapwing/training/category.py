"""One category from labels to weights and threshold: features, variance, fit, cut-off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, SettingsError
from lapwing.selection import SCORES, top_features, tune
from lapwing.selection.squeezer import Budget, Squeezed, explain
from lapwing.selection.variance import (
    Validation,
    VarianceCurve,
    choose_variance,
    deal_folds,
    default_grid,
)
from lapwing.solvers import clg, newton, probit_em
from lapwing.solvers.problem import Problem
from lapwing.solvers.selected_ridge import select, universal_penalty
from lapwing.stats.objective import PriorArrays, Proven
from lapwing.stats.prior_table import INTERCEPT, PriorTable
from lapwing.stats.priors import Columns, Gaussian, Jeffreys, Laplace, Prior, as_prior, norm_variance
from lapwing.stats.result import FitResult
from lapwing.text import Design
from lapwing.training.settings import ALPHAS, TrainSettings
from lapwing.training.targets import Targets, class_weights

_NUMBERS = (
    "intercept", "threshold", "variance", "objective", "gap", "kkt", "kkt_bound", "rounds", "converged", "alpha",
    "pruned_objective", "limit", "beyond",
)  # fmt: skip
EM_ROUND = 20  # iterations of EM, which are short, that count as one round


@dataclass(frozen=True, eq=False)
class CategoryFit(Proven):
    """What one category came to: little enough to keep thousands of them.

    features, weights   those that are not zero, features rising
    objective … converged   as in `FitResult`: where a ridge solution was pruned, those of the ridge solution
    limit, beyond       where features are limited: as `kept` and `beyond` of selection/squeezer.py; else NaN
    alpha, pruned_objective   Selected Ridge: its penalty, and the objective at the weights; else NaN
    curve               where the variance was chosen by one
    dual, steps         for those who ask; not kept in a checkpoint: the steps of SLR where these were chosen
    """

    features: np.ndarray
    weights: np.ndarray
    intercept: float
    threshold: float
    variance: float
    objective: float
    gap: float
    kkt: float
    kkt_bound: float
    rounds: int
    converged: bool
    alpha: float = float("nan")
    pruned_objective: float = float("nan")
    limit: float = float("nan")
    beyond: float = float("nan")
    curve: VarianceCurve | None = None
    dual: np.ndarray | None = None
    steps: Any = None

    def shortfall(self, k: int | None) -> str:
        """Why there are fewer features than the k allowed; "" where there are as many, or any number is allowed."""
        return "" if k is None else explain(k, len(self.features), self.limit, self.beyond)

    def to_bytes(self) -> bytes:
        curve = (
            np.empty((0, 0))
            if self.curve is None
            else np.column_stack([self.curve.variances, self.curve.log_likelihood])
        )
        numbers = np.array([*(getattr(self, name) for name in _NUMBERS), *curve.shape], dtype="<f8")
        parts = (numbers, curve.astype("<f8"), self.weights.astype("<f8"), self.features.astype("<i4"))
        return b"".join(part.tobytes() for part in parts)

    @classmethod
    def from_bytes(cls, content: bytes) -> CategoryFit:
        *values, rows, columns = np.frombuffer(content, "<f8", len(_NUMBERS) + 2).tolist()
        numbers = dict(zip(_NUMBERS, values, strict=True))
        numbers |= {"rounds": int(numbers["rounds"]), "converged": bool(numbers["converged"])}
        at = 8 * (len(_NUMBERS) + 2)
        head = at + 8 * int(rows) * int(columns)
        kept, rest = divmod(len(content) - head, 12)
        if rest or kept < 0:
            raise ValueError("a category's record is not whole")
        curve = None
        if rows:
            grid = np.frombuffer(content, "<f8", int(rows * columns), at).reshape(int(rows), int(columns))
            alpha = 0.0 if np.isnan(numbers["alpha"]) else numbers["alpha"]
            curve = VarianceCurve(grid[:, 0], grid[:, 1:], numbers["variance"], alpha)
        return cls(
            features=np.frombuffer(content, "<i4", kept, head + 8 * kept),
            weights=np.frombuffer(content, "<f8", kept, head),
            curve=curve,
            **numbers,
        )


class Categories:
    """All categories of a corpus against one matrix."""

    def __init__(
        self,
        made: Design,
        told: Targets,
        weights: np.ndarray,
        settings: TrainSettings,
        *,
        validation: tuple[sp.csr_matrix, Targets, np.ndarray] | None = None,
        keep_duals: bool = False,
    ) -> None:
        self.X, self.told, self.weights, self.settings = made.matrix, told, weights, settings
        self.apart, self.keep_duals = validation, keep_duals
        self.columns = Columns(made.feature_names, made.matrix)
        self.prior: Prior = as_prior(settings.prior)
        self.kinds: np.ndarray | None = None
        self.insisting = np.empty(0, dtype=np.int64)  # columns that no selection may leave out
        if isinstance(self.prior, PriorTable):
            table = self.prior.in_terms(None if made.weighting is None else made.weighting.settings)
            table.check(made.feature_names, told.classes)
            self.prior, self.kinds = table, table.kinds(self.columns)
            self.insisting = np.array([self.columns.index[name] for name in table.insisting], dtype=np.int64)
        self.factor: Callable[[int, np.ndarray], np.ndarray | float] = class_weights(
            told, weights, settings.class_weight
        )
        self.seeds = np.random.SeedSequence(settings.random_state).spawn(len(told.fitted))
        self.last: tuple[Problem, float, PriorArrays] | None = None
        self.given = None
        if not isinstance(settings.variance, str):
            self.given = np.asarray(settings.variance, dtype=np.float64).ravel()
            if self.given.size not in (1, len(told.fitted)):
                raise SettingsError(
                    f"variance must be one number or one for each of {len(told.fitted)} categories, "
                    f"got {self.given.size}"
                )
            self.given = np.broadcast_to(self.given, len(told.fitted))

    @cached_property
    def problem(self) -> Problem:
        return self._problem(self.X, self.kinds)

    def _problem(self, X: sp.csr_matrix, kinds: np.ndarray | None) -> Problem:
        return Problem(X, self.weights if self.settings.standardize else None, kinds=kinds)

    @cached_property
    def norm_variance(self) -> float:
        return self._default_variance(self.X)

    def _default_variance(self, X: sp.csr_matrix) -> float:
        """GLM07 Eq. 29; standardised features have a mean squared norm of their number, and BBR takes v = d.

        Features that are there by the prior's will only do not count among the d.
        """
        seen = X.shape[1]
        if len(self.insisting):
            seen -= np.count_nonzero(self.columns.frequency[self.insisting] == 0)
        return seen + 1.0 if self.settings.standardize else norm_variance(X, self.weights, seen)

    def __len__(self) -> int:
        return len(self.told.fitted)

    @cached_property
    def together(self) -> bool:
        """Whether categories can be fitted in blocks, which saves passes over X; the numbers are the same."""
        settings = self.settings
        searched = isinstance(settings.variance, str) and settings.variance != "norm"
        if searched or settings.alpha == "cv" or settings.select_features is not None or settings.solver != "auto":
            return False
        if isinstance(self.prior, PriorTable) or settings.intercept_variance == np.inf:
            return False
        return self.prior.convex and newton.is_smooth(
            self.prior.compile(1.0, self.X.shape[1], settings.intercept_variance)
        )

    def labels(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels ±1 and weights of the documents in the problem of one category, by row of the model."""
        column = self.told.fitted[row]
        y = self.told.signs(column)
        weight = np.asarray(self.weights * self.factor(column, y), dtype=np.float64)
        return y, weight

    def prepare(self) -> None:
        """What all categories share, made once, before threads ask for it."""
        if self.settings.select_features is None:
            self.problem  # noqa: B018

    @property
    def width(self) -> int:
        """Features that a fit chooses from."""
        return int(self.X.shape[1])

    def stored(self, row: int, content: bytes) -> CategoryFit:
        """A fit from a checkpoint; ValueError for what cannot be one of these categories'."""
        one = CategoryFit.from_bytes(content)
        features, width = one.features, self.width
        if not 0 <= row < len(self) or not np.isfinite(one.weights).all() or not np.isfinite(one.intercept):
            raise ValueError(f"record {row} is no category's")
        if len(features) and (features.min() < 0 or features.max() >= width or np.any(np.diff(features) <= 0)):
            raise ValueError(f"record {row} has features that there are not")
        return one

    def fit_block(self, rows: Sequence[int]) -> list[CategoryFit]:
        """Categories by row of the model."""
        if not self.together:
            return [self.fit(row) for row in rows]
        Y, weights = map(np.array, zip(*map(self.labels, rows), strict=True))
        variances = [self.norm_variance if self.given is None else float(self.given[row]) for row in rows]
        compiled = {v: self._compile(self.prior, self.problem, v) for v in set(variances)}
        settings = self.settings
        results = newton.fit_many(
            self.problem, Y, weights, [compiled[v] for v in variances], variances=variances, tol=settings.tol,
            max_iter=settings.max_iter, link=settings.link,
        )  # fmt: skip
        return [self.fit(row, result) for row, result in zip(rows, results, strict=True)]

    def fit(self, row: int, ready: FitResult | None = None) -> CategoryFit:
        """Category by row of the model; `ready` is its fit where that was made together with others."""
        column = self.told.fitted[row]
        y, weight = self.labels(row)
        features = self._features(y, weight)
        columns, problem, default = self._part(features)
        prior = self._bound(columns, column)
        squeezed = None
        if self.settings.max_features is not None:
            squeezed, support = self._squeeze(column, problem, prior, y, weight)
            features = support if features is None else features[support]
            columns, problem, default = self._part(features)
            prior = self._bound(columns, column)
        variance = default if self.given is None else float(self.given[row])
        self._check_flat(column, columns, prior, y, weight, variance)
        if not self.prior.convex:
            variance = float("nan")  # there is none to choose
        alphas = self._alphas(problem)
        curve = self._curve(row, problem, prior, y, weight, variance, alphas, features, squeezed)
        variance, alpha = (variance, alphas[0]) if curve is None else (curve.chosen, curve.alpha)
        result = ready or self._solve(problem, prior, y, weight, variance)
        result, pruned_objective = self._prune(problem, prior, y, weight, result, alpha)

        def refit(weight: np.ndarray) -> np.ndarray:
            fit = self._solve(problem, prior, y, weight, result.variance)
            return problem.scores(self._prune(problem, prior, y, weight, fit, alpha)[0].weights)

        threshold = self._threshold(row, y, weight, lambda: problem.scores(result.weights), refit)
        kept = np.flatnonzero(result.weights[:-1])
        return self._summary(
            result, kept if features is None else features[kept], result.weights[kept], threshold, curve,
            alpha=alpha if self.pruning else float("nan"), pruned_objective=pruned_objective,
            limit=float("nan") if squeezed is None else squeezed.kept,
            beyond=float("nan") if squeezed is None else squeezed.beyond,
        )  # fmt: skip

    def _summary(
        self, result: FitResult, features: np.ndarray, weights: np.ndarray, threshold: float, curve: Any, **more: Any
    ) -> CategoryFit:
        return CategoryFit(
            features=features.astype(np.int32),
            weights=weights,
            intercept=float(result.weights[-1]),
            threshold=threshold,
            curve=curve,
            dual=result.dual if self.keep_duals else None,
            **{f.name: getattr(result, f.name) for f in fields(FitResult) if f.name in _NUMBERS},
            **more,
        )

    def _part(self, features: np.ndarray | None) -> tuple[Columns, Problem, float]:
        """These columns, the problem over them, and the variance by their norms; None for all."""
        if features is None:
            return self.columns, self.problem, self.norm_variance
        columns = self.columns.take(features)
        problem = self._problem(columns.matrix, None if self.kinds is None else self.kinds[features])
        return columns, problem, self._default_variance(columns.matrix)

    def _bound(self, columns: Columns, column: int) -> Prior:
        opposite = self.told.classes[0] if len(self.told.fitted) < len(self.told.classes) else None
        return self.prior.bind(columns, self.told.classes[column], opposite)

    def _squeeze(
        self, column: int, problem: Problem, prior: Prior, y: np.ndarray, weight: np.ndarray
    ) -> tuple[Squeezed, np.ndarray]:
        """The weakest prior within the budget of features, and the columns it keeps."""
        k = self.settings.max_features or 0
        budget = Budget(lambda v: self._solve(problem, prior, y, weight, v), k, self.told.classes[column])
        found = budget.limit(max(self.settings.cv.variances or default_grid(prior)))
        return found, np.flatnonzero(budget.results[found.variance].weights[:-1])

    @property
    def pruning(self) -> bool:
        return self.settings.method == "selected-ridge"

    def _alphas(self, problem: Problem) -> list[float]:
        """The penalties among which to choose; 0 where nothing is pruned."""
        if not self.pruning:
            return [0.0]
        universal, given = universal_penalty(len(problem.group)), self.settings.alpha
        return [universal] if given is None else [universal, *ALPHAS] if isinstance(given, str) else [given]

    def _check_flat(
        self, column: int, columns: Columns, prior: Prior, y: np.ndarray, weight: np.ndarray, variance: float
    ) -> None:
        """A coefficient of infinite variance needs documents on both sides, or it has no finite estimate."""
        if isinstance(prior, Gaussian | Laplace) and self.settings.intercept_variance != np.inf:
            return
        arrays = prior.compile(variance, len(columns.names), self.settings.intercept_variance)
        flat = arrays.flat
        if isinstance(prior, Jeffreys):  # ln|β_j| holds the others
            flat &= ~prior.logarithmic(len(columns.names), self.settings.intercept_variance)
        for j in np.flatnonzero(flat).tolist():
            if j == len(columns.names):
                pull, name, where = y[weight > 0], "the intercept", prior.where(INTERCEPT)
            else:
                part = columns.matrix[:, [j]].tocoo()
                pull, name = (y[part.row] * part.data)[weight[part.row] > 0], f"the feature {columns.names[j]!r}"
                where = prior.where(columns.names[j])
            runs_up = len(pull) > 0 and bool(np.all(pull >= 0)) and arrays.upper[j] == np.inf
            runs_down = len(pull) > 0 and bool(np.all(pull <= 0)) and arrays.lower[j] == -np.inf
            if runs_up or runs_down:
                raise InputError(
                    f"{where}{name} has documents on one side only of class "
                    f"{self.told.classes[column]!r}, and with an infinite variance no finite estimate then; give it a "
                    "variance that is a number"
                )

    def _features(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """The columns kept before the fit; None for all."""
        if self.settings.select_features is None:
            return None
        scores = SCORES[self.settings.feature_score](self.X, y, sample_weight=weight)
        return np.union1d(top_features(scores, self.settings.select_features), self.insisting)

    def _curve(
        self, row: int, problem: Problem, prior: Prior, y: np.ndarray, weight: np.ndarray, variance: float,
        alphas: list[float], features: np.ndarray | None, squeezed: Squeezed | None,
    ) -> VarianceCurve | None:  # fmt: skip
        """The variance and α that held-out documents prefer; None where none is to be chosen."""
        settings, plan, method = self.settings, self.settings.cv, str(self.settings.variance)
        if squeezed is not None and self.given is None:  # no stronger a prior than the one that chose the features
            grid = {v for v in plan.variances or default_grid(prior) if v > squeezed.variance}
            plan, method = replace(plan, variances=(squeezed.variance, *grid)), "cv"
        if method not in ("cv", "auto"):
            if len(alphas) == 1:
                return None
            plan, method = replace(plan, variances=(variance,)), "cv"
        return choose_variance(
            problem, y, weight, prior, plan, method=method, start=variance, seed=self.seeds[row],
            intercept_variance=settings.intercept_variance, tol=settings.tol, max_iter=settings.max_iter,
            link=settings.link, alphas=alphas, hessian=settings.hessian, validation=self._validation(row, features),
        )  # fmt: skip

    def _validation(self, row: int, features: np.ndarray | None) -> Validation | None:
        if self.apart is None:
            return None
        X, told, weights = self.apart
        return Validation(X if features is None else X[:, features], told.signs(self.told.fitted[row]), weights)

    def _compile(self, prior: Prior, problem: Problem, variance: float) -> PriorArrays:
        return prior.compile(variance, len(problem.group), self.settings.intercept_variance)

    def _merged(self, prior: Prior, problem: Problem, variance: float) -> PriorArrays:
        """The Gaussian prior of the columns; that of the last category is kept, as it is mostly that of the next."""
        last = self.last  # read once: other threads set it
        if last is None or last[0] is not problem or last[1] != variance:
            last = self.last = (problem, variance, problem.merge(self._compile(prior, problem, variance)))
        return last[2]

    def _solve(self, problem: Problem, prior: Prior, y: np.ndarray, weight: np.ndarray, variance: float) -> FitResult:
        settings = self.settings
        arrays = self._compile(prior, problem, variance)
        if isinstance(prior, Jeffreys):
            return self._solve_jeffreys(problem, y, weight, prior, arrays)
        solve = {"auto": newton.fit, "clg": clg.fit, "em": probit_em.fit}[settings.solver]
        most = settings.max_iter * (EM_ROUND if settings.solver == "em" else 1)
        return solve(
            problem, y, weight, arrays, variance=variance, tol=settings.tol, max_iter=most, link=settings.link
        )  # fmt: skip

    def _solve_jeffreys(
        self, problem: Problem, y: np.ndarray, weight: np.ndarray, jeffreys: Jeffreys, arrays: PriorArrays
    ) -> FitResult:
        settings, d = self.settings, len(problem.group)
        start = None
        if jeffreys.start != "least_squares":
            first = as_prior(jeffreys.start).compile(jeffreys.start_variance, d, settings.intercept_variance)
            start = newton.fit(problem, y, weight, first, variance=jeffreys.start_variance, link=settings.link).weights
        return probit_em.fit(
            problem, y, weight, arrays, variance=float("nan"), tol=settings.tol, max_iter=EM_ROUND * settings.max_iter,
            start=start, link=settings.link, jeffreys=jeffreys.logarithmic(d, settings.intercept_variance),
        )  # fmt: skip

    def _prune(
        self, problem: Problem, prior: Prior, y: np.ndarray, weight: np.ndarray, result: FitResult, alpha: float
    ) -> tuple[FitResult, float]:
        """The fit, pruned where that is asked for, and the objective at the pruned weights, else NaN."""
        if not self.pruning:
            return result, float("nan")
        settings, arrays = self.settings, self._merged(prior, problem, result.variance)
        selected = select(problem, y, weight, arrays, result.weights, alpha, settings.hessian, settings.link)
        return replace(result, weights=selected.weights), selected.objective

    def _threshold(
        self,
        row: int,
        y: np.ndarray,
        weight: np.ndarray,
        training_scores: Callable[[], np.ndarray],
        refit: Callable[[np.ndarray], np.ndarray],
    ) -> float:
        """The cut-off of one category; `refit` gives all scores of a fit to other weights of the documents."""
        if not np.any(y[weight > 0] > 0):
            return float("inf")  # GLM07 section 5.2.2: without a positive document, say "no"
        fixed = self.settings.fixed_threshold
        if fixed is not None:
            return fixed
        if self.settings.threshold_data == "train":
            scores = training_scores()
        else:
            scores = np.empty(len(y))
            fold = deal_folds(y, self.settings.cv.folds, self.seeds[row])
            for out in (fold == k for k in np.unique(fold)):
                scores[out] = refit(np.where(out, 0.0, weight))[out]  # each from a fit that did not see it
        return tune(self.settings.threshold, scores, y, sample_weight=weight)  # type: ignore[arg-type]
