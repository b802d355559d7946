"""All classes of a corpus in one polytomous model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lapwing.errors import InputError, SettingsError
from lapwing.selection.variance import Validation, VarianceCurve, choose_variance, default_grid
from lapwing.solvers import multinomial
from lapwing.solvers.problem import Problem
from lapwing.stats.objective import PriorArrays
from lapwing.stats.prior_table import INTERCEPT
from lapwing.stats.priors import Prior
from lapwing.training.category import Categories, CategoryFit


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


class Polytomous(Categories):
    """The same settings and matrix as for one category after the other, and one fit.

    Coefficients of a feature that has an infinite variance in every class are determined up to a constant common to
    all of them: differences between classes are those of the estimate without a prior, and the deviations from the
    modes add up to 0, which is where Gaussian priors of ever larger variance lead.
    """

    @cached_property
    def weight(self) -> np.ndarray:
        return np.asarray(self.weights * self.factor(0, self.told.numbers), dtype=np.float64)

    @cached_property
    def documents(self) -> np.ndarray:
        """Of every class, by weight."""
        return np.bincount(self.told.numbers, weights=self.weight, minlength=len(self.told.classes))

    def fit_all(self) -> list[CategoryFit]:
        labels, weight, settings = self.told.numbers, self.weight, self.settings
        prior = JointPrior(tuple(self.prior.bind(self.columns, label) for label in self.told.classes), self._closed())
        problem = self._joint_problem(prior)
        variance = np.full(len(self), self.norm_variance) if self.given is None else np.asarray(self.given)
        self._check_all_flat(prior, prior.compile(variance, len(problem.group), settings.intercept_variance))
        curve = self._joint_curve(problem, prior, variance)
        if curve is not None:
            variance = np.full(len(self), curve.chosen)
        arrays = prior.compile(variance, len(problem.group), settings.intercept_variance)
        result = multinomial.fit(problem, labels, weight, arrays, tol=settings.tol, max_iter=settings.max_iter)
        common = np.all(arrays.flat & np.isinf(arrays.lower) & np.isinf(arrays.upper), axis=0)
        weights = result.weights - np.where(common, (result.weights - arrays.mode).mean(axis=0), 0.0)
        fits = []
        for k, row in enumerate(weights):
            kept = np.flatnonzero(row[:-1])
            fits.append(
                CategoryFit(
                    features=kept.astype(np.int32),
                    weights=row[kept],
                    intercept=float(row[-1]),
                    threshold=0.0 if self.documents[k] > 0.0 else float("inf"),
                    variance=float(variance[k]),
                    objective=result.objective,
                    gap=result.gap,
                    kkt=result.kkt,
                    kkt_bound=result.kkt_bound,
                    rounds=result.rounds,
                    converged=result.converged,
                    curve=curve,
                    dual=result.dual[k] if self.keep_duals else None,
                )
            )
        return fits

    def _check_all_flat(self, prior: JointPrior, arrays: PriorArrays) -> None:
        """A feature of infinite variance must not tell some classes from all others: no estimate is finite then."""
        seen = np.flatnonzero(self.weight > 0.0)
        X, labels = self.X[seen].tocsc(), self.told.numbers[seen]
        for j in np.flatnonzero(arrays.flat.any(axis=0)).tolist():
            if j == X.shape[1]:
                values, classes, name, called = np.ones(len(labels)), labels, INTERCEPT, "the intercept"
            else:
                part, name = slice(*X.indptr[j : j + 2]), self.columns.names[j]
                values, classes, called = X.data[part], labels[X.indices[part]], f"the feature {name!r}"
            above, below = (np.isin(np.arange(len(self)), classes[side]) for side in (values > 0.0, values < 0.0))
            open_up, open_down = (arrays.flat[:, j] & np.isinf(end[:, j]) for end in (arrays.upper, arrays.lower))
            if moving := _moving(above, below, open_up) or _moving(below, above, open_down):
                told = ", ".join(repr(self.told.classes[k]) for k in moving)
                raise InputError(
                    f"{prior.rows[moving[0]].where(name)}{called} tells {told} from all other classes, and with an "
                    "infinite variance no finite estimate then; give it a variance that is a number"
                )

    def _closed(self) -> np.ndarray:
        """Coefficients of the reference class, and of features that were not selected."""
        classes, features, reference = self.told.classes, self.X.shape[1], self.settings.reference_class
        closed = np.zeros((len(classes), features + 1), dtype=bool)
        if self.settings.select_features is not None:
            closed[:, :-1] = True
            for k in range(len(classes)):
                closed[k, self._features(self.told.signs(k), self.weight)] = False
        if reference is not None:
            if reference not in classes:
                raise SettingsError(f"reference_class={reference!r} is no class of the training data")
            closed[classes.index(reference)] = True
        return closed

    def _joint_problem(self, prior: JointPrior) -> Problem:
        if self.settings.select_features is None:
            return self.problem
        # Of identical columns some may have been selected and some not.
        return Problem(self.X, self.weights if self.settings.standardize else None, merge=False)

    def _joint_curve(self, problem: Problem, prior: JointPrior, start: np.ndarray) -> VarianceCurve | None:
        """One variance for all classes, by the held-out log-likelihood of the whole model."""
        settings, method = self.settings, str(self.settings.variance)
        if method not in ("cv", "auto"):
            return None
        plan = replace(settings.cv, variances=settings.cv.variances or default_grid(self.prior))
        return choose_variance(
            problem, self.told.numbers, self.weight, prior, plan, method=method, start=float(start[0]),
            seed=self.seeds[0], intercept_variance=settings.intercept_variance, tol=settings.tol,
            max_iter=settings.max_iter, link="softmax", validation=self._joint_validation(),
        )  # fmt: skip

    def _joint_validation(self) -> Validation | None:
        """The documents to choose by that have a class of the training data."""
        if self.apart is None:
            return None
        X, told, weights = self.apart
        known = np.flatnonzero(np.diff(told.member.tocsr().indptr))
        return Validation(X[known], told.numbers, weights[known])


def _moving(most: np.ndarray, least: np.ndarray, free: np.ndarray) -> list[int]:
    """Classes whose coefficients of one feature can grow together for ever, the loss falling; none where it will not.

    most    classes of the documents that have it, and must then have the largest score
    least   classes of those with a value below 0, which must not grow
    free    classes whose coefficients nothing holds from growing
    """
    moving = most if most.any() else free & ~least & least.any()
    grows = not (most & least).any() and bool(free[moving].all()) and not moving.all()
    return np.flatnonzero(moving).tolist() if grows else []
