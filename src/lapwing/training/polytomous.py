"""All classes of a corpus in one polytomous model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.errors import InputError, SettingsError
from lapwing.selection.folds import Folds
from lapwing.selection.variance import Validation, VarianceCurve, choose_variance, default_grid
from lapwing.solvers import multinomial
from lapwing.solvers.problem import Problem
from lapwing.stats.objective import PriorArrays
from lapwing.stats.prior_table import INTERCEPT
from lapwing.stats.priors import Prior
from lapwing.training.fit import CategoryFit
from lapwing.training.over_matrix import HELD_OUT_TOL, OverMatrix
from lapwing.training.task import Travelling


@dataclass(frozen=True, eq=False)
class JointPrior(Prior):
    """The priors of all classes, one row each; `closed` (K, d+1) are coefficients that stay 0."""

    rows: tuple[Prior, ...]
    closed: np.ndarray

    def compile(
        self, variance: float | np.ndarray, n_features: int, intercept_variance: float | None = None
    ) -> PriorArrays:
        variances = np.broadcast_to(variance, len(self.rows)).tolist()
        compiled = [
            row.compile(one, n_features, intercept_variance) for row, one in zip(self.rows, variances, strict=True)
        ]
        arrays = PriorArrays(*(np.array(part) for part in zip(*compiled, strict=True)))
        for part in (arrays.mode, arrays.lower, arrays.upper):
            part[self.closed] = 0.0
        return arrays


class Polytomous(OverMatrix):
    """One unit, with all rows of the model.

    Coefficients of a feature that has an infinite variance in every class are determined up to a constant common to
    all of them: differences between classes are those of the estimate without a prior, and the deviations from the
    modes add up to 0, which is where Gaussian priors of ever larger variance lead.
    """

    together = False
    at_a_time = 1
    units = 1

    def prepare(self) -> None:
        self.joint(self.task.joint_weights)

    def joint(self, weight: np.ndarray) -> tuple[Problem, JointPrior]:
        """The problem and the prior, with features selected by documents of these weights."""
        bound = tuple(self.features.prior.bind(self.features.columns, label) for label in self.task.targets.classes)
        prior = JointPrior(bound, self._closed(weight))
        if self.settings.select_features is None:
            return self.features.whole, prior
        # Of identical columns some may have been selected and some not.
        return self.features.problem(self.features.X, None, merge=False), prior

    def fit(self, units: Sequence[int], variance: float | None) -> list[CategoryFit]:
        labels, weight, settings = self.task.targets.numbers, self.task.joint_weights, self.settings
        problem, prior = self.joint(weight)
        given = self.task.given if variance is None else np.full(len(self.task), variance)
        variances = np.full(len(self.task), self.norm_variance) if given is None else np.asarray(given)
        self._check_all_flat(prior, prior.compile(variances, len(problem.group), settings.intercept_variance))
        curve = self._curve(problem, prior, variances)
        if curve is not None:
            variances = np.full(len(self.task), curve.chosen)
        arrays = prior.compile(variances, len(problem.group), settings.intercept_variance)
        result = multinomial.fit(problem, labels, weight, arrays, tol=settings.tol, max_iter=settings.max_iter)
        common = np.all(arrays.flat & np.isinf(arrays.lower) & np.isinf(arrays.upper), axis=0)
        weights = result.weights - np.where(common, (result.weights - arrays.mode).mean(axis=0), 0.0)
        documents = np.bincount(labels, weights=weight, minlength=len(self.task))
        fits = []
        for k, row in enumerate(weights):
            kept = np.flatnonzero(row[:-1])
            one = replace(result, weights=row, variance=float(variances[k]), dual=result.dual[k])
            threshold = 0.0 if documents[k] > 0.0 else float("inf")
            fits.append(CategoryFit.of(one, kept, row[kept], threshold, keep_dual=self.task.keep_duals, curve=curve))
        return fits

    def path(self, units: Sequence[int], folds: Folds) -> _JointPath:
        return _JointPath(self, folds)

    def _check_all_flat(self, prior: JointPrior, arrays: PriorArrays) -> None:
        """A feature of infinite variance must not tell some classes from all others: no estimate is finite then."""
        seen = np.flatnonzero(self.task.joint_weights > 0.0)
        X, labels = self.features.X[seen].tocsc(), self.task.targets.numbers[seen]
        for j in np.flatnonzero(arrays.flat.any(axis=0)).tolist():
            if j == X.shape[1]:
                values, classes, name, called = np.ones(len(labels)), labels, INTERCEPT, "the intercept"
            else:
                part, name = slice(*X.indptr[j : j + 2]), self.features.columns.names[j]
                values, classes, called = X.data[part], labels[X.indices[part]], f"the feature {name!r}"
            above, below = (np.isin(np.arange(len(self.task)), classes[side]) for side in (values > 0.0, values < 0.0))
            open_up, open_down = (arrays.flat[:, j] & np.isinf(end[:, j]) for end in (arrays.upper, arrays.lower))
            if moving := _moving(above, below, open_up) or _moving(below, above, open_down):
                names = ", ".join(repr(self.task.targets.classes[k]) for k in moving)
                raise InputError(
                    f"{prior.rows[moving[0]].where(name)}{called} tells {names} from all other classes, and with an "
                    "infinite variance no finite estimate then; give it a variance that is a number"
                )

    def _closed(self, weight: np.ndarray) -> np.ndarray:
        """Coefficients of the reference class, and of features that were not selected."""
        targets, features, reference = self.task.targets, self.features.X.shape[1], self.settings.reference_class
        closed = np.zeros((len(targets.classes), features + 1), dtype=bool)
        if self.settings.select_features is not None:
            closed[:, :-1] = True
            for k in range(len(targets.classes)):
                closed[k, self.features.selected(targets.signs(k), weight)] = False
        if reference is not None:
            if reference not in targets.classes:
                raise SettingsError(f"reference_class={reference!r} is no class of the training data")
            closed[targets.classes.index(reference)] = True
        return closed

    def _curve(self, problem: Problem, prior: JointPrior, start: np.ndarray) -> VarianceCurve | None:
        """One variance for all classes, by the held-out log-likelihood of the whole model."""
        settings, method = self.settings, str(self.settings.variance)
        if method not in ("cv", "auto"):
            return None
        labels, weight = self.task.targets.numbers, self.task.joint_weights
        plan = replace(settings.cv, variances=settings.cv.variances or default_grid(self.features.prior))
        return choose_variance(
            problem, labels, weight, prior, plan, method=method, start=float(start[0]),
            folds=self.task.own_folds(0, labels, weight) if self.validation is None else None,
            intercept_variance=settings.intercept_variance,
            tol=settings.tol, max_iter=settings.max_iter, link="softmax", validation=self._apart(),
        )  # fmt: skip

    def _apart(self) -> Validation | None:
        """The documents to choose by that have a class of the training data."""
        if self.validation is None:
            return None
        X, targets, weights = self.validation
        known = np.flatnonzero(np.diff(targets.member.tocsr().indptr))
        return Validation(X[known], targets.numbers, weights[known])


class _JointPath(Travelling):
    """Fold by fold, each fit from the last."""

    def __init__(self, strategy: Polytomous, folds: Folds) -> None:
        self.strategy, self.folds = strategy, folds
        self.started: dict[int, tuple[Problem, JointPrior, np.ndarray | None]] = {}

    def advance(self, variance: np.ndarray) -> np.ndarray:
        task, settings = self.strategy.task, self.strategy.settings
        out = np.full((len(self.folds.fold), len(task)), np.nan)
        for k in range(self.folds.portions):
            weight = self.folds.training(k, task.joint_weights)
            problem, prior, beta = self.started.get(k) or (*self.strategy.joint(weight), None)
            compiled = prior.compile(float(variance[0]), len(problem.group), settings.intercept_variance)
            arrays = multinomial.merge(problem, compiled)
            beta = np.clip(arrays.mode.copy() if beta is None else beta, arrays.lower, arrays.upper)
            tol = max(settings.tol, HELD_OUT_TOL)
            multinomial.minimise(problem, task.targets.numbers, weight, arrays, beta, tol, settings.max_iter)
            self.started[k] = problem, prior, beta
            held_out = self.folds.fold == k
            out[held_out] = np.column_stack([problem.column_scores(row) for row in beta])[held_out]
        return out


def _moving(most: np.ndarray, least: np.ndarray, free: np.ndarray) -> list[int]:
    """Classes whose coefficients of one feature can grow together for ever, the loss falling; none where it will not.

    most    classes of the documents that have it, and must then have the largest score
    least   classes of those with a value below 0, which must not grow
    free    classes whose coefficients nothing holds from growing
    """
    moving = most if most.any() else free & ~least & least.any()
    grows = not (most & least).any() and bool(free[moving].all()) and not moving.all()
    return np.flatnonzero(moving).tolist() if grows else []
