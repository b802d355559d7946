"""All classes of a corpus in one polytomous model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.errors import InputError, SettingsError
from lapwing.selection.folds import Folds
from lapwing.selection.variance import VarianceCurve, default_grid
from lapwing.solvers import multinomial
from lapwing.solvers.problem import Problem
from lapwing.stats.links import log_sum_exp
from lapwing.stats.objective import PriorArrays
from lapwing.stats.prior_table import INTERCEPT
from lapwing.stats.priors import Prior
from lapwing.training.fit import CategoryFit
from lapwing.training.over_matrix import HELD_OUT_TOL, OverMatrix
from lapwing.training.paths import Path, choose_for_unit


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
        bound = tuple(self.prior.bind(self.columns, label) for label in self.task.targets.classes)
        prior = JointPrior(bound, self._closed(weight))
        if self.settings.select_features is None:
            return self.whole, prior
        # Of identical columns some may have been selected and some not.
        return self.problem(self.X, None, merge=False), prior

    def fit(self, units: Sequence[int], variance: float | None) -> list[CategoryFit]:
        labels, weight, settings = self.task.targets.numbers, self.task.joint_weights, self.settings
        problem, prior = self.joint(weight)
        given = self.task.given if variance is None else np.full(len(self.task), variance)
        variances = np.full(len(self.task), self.norm_variance) if given is None else np.asarray(given)
        self._check_all_flat(prior, prior.compile(variances, len(problem.group), settings.intercept_variance))
        curve = self._curve(problem, prior, float(variances[0]))
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

    @property
    def held_out_tol(self) -> float:
        return max(self.settings.tol, HELD_OUT_TOL)

    def held_out_scores(self, path: Path, variances: np.ndarray) -> Iterator[np.ndarray]:
        task, settings = self.task, self.settings
        for part, variance in zip(path.parts, variances.tolist(), strict=True):
            weight = path.folds.training(part.fold, task.joint_weights)
            problem, prior = part.problem = part.problem or self.joint(weight)
            arrays = multinomial.merge(
                problem, prior.compile(variance, len(problem.group), settings.intercept_variance)
            )
            beta = np.clip(arrays.mode if part.last is None else part.last, arrays.lower, arrays.upper)
            result = multinomial.minimise(
                problem, task.targets.numbers, weight, arrays, beta, path.tol, settings.max_iter
            )
            path.note(variance, result.converged)
            part.last = beta
            if path.new is None:
                yield np.column_stack([problem.column_scores(row) for row in beta])
            else:
                weights = multinomial.spread(problem, beta)
                yield np.asarray(path.new @ weights[:, :-1].T) + weights[:, -1]

    def _check_all_flat(self, prior: JointPrior, arrays: PriorArrays) -> None:
        """A feature of infinite variance must not tell some classes from all others: no estimate is finite then."""
        seen = np.flatnonzero(self.task.joint_weights > 0.0)
        X, labels = self.X[seen].tocsc(), self.task.targets.numbers[seen]
        for j in np.flatnonzero(arrays.flat.any(axis=0)).tolist():
            if j == X.shape[1]:
                values, classes, name, called = np.ones(len(labels)), labels, INTERCEPT, "the intercept"
            else:
                part, name = slice(*X.indptr[j : j + 2]), self.columns.names[j]
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
        targets, features, reference = self.task.targets, self.X.shape[1], self.settings.reference_class
        closed = np.zeros((len(targets.classes), features + 1), dtype=bool)
        if self.settings.select_features is not None:
            closed[:, :-1] = True
            for k in range(len(targets.classes)):
                closed[k, self.selected(targets.signs(k), weight)] = False
        if reference is not None:
            if reference not in targets.classes:
                raise SettingsError(f"reference_class={reference!r} is no class of the training data")
            closed[targets.classes.index(reference)] = True
        return closed

    def _curve(self, problem: Problem, prior: JointPrior, start: float) -> VarianceCurve | None:
        """One variance for all classes, by the held-out log-likelihood of the whole model."""
        settings, labels, weight, new = self.settings, self.task.targets.numbers, self.task.joint_weights, None
        if settings.variance not in ("cv", "auto"):
            return None
        if self.validation is None:
            folds = self.task.own_folds(0, labels, weight)
        else:
            folds, (new, targets, weight) = Folds.none(len(labels)), self.validation
            known = np.flatnonzero(np.diff(targets.member.tocsr().indptr))  # with a class of the training data
            new, labels, weight = new[known], targets.numbers, weight[known]

        def losses(scores: np.ndarray, at: np.ndarray) -> np.ndarray:
            return np.asarray(log_sum_exp(scores) - scores[np.arange(len(at)), labels[at]])[:, None]

        grid = None if settings.variance == "auto" else settings.cv.variances or default_grid(self.prior)
        return choose_for_unit(
            self, 0, (problem, prior), losses, weight, folds, settings.cv, grid=grid, start=start,
            tol=settings.tol, new=new,
        )  # fmt: skip


def _moving(most: np.ndarray, least: np.ndarray, free: np.ndarray) -> list[int]:
    """Classes whose coefficients of one feature can grow together for ever, the loss falling; none where it will not.

    most    classes of the documents that have it, and must then have the largest score
    least   classes of those with a value below 0, which must not grow
    free    classes whose coefficients nothing holds from growing
    """
    moving = most if most.any() else free & ~least & least.any()
    grows = not (most & least).any() and bool(free[moving].all()) and not moving.all()
    return np.flatnonzero(moving).tolist() if grows else []
