"""All classes of a corpus in one polytomous model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lapwing.errors import SettingsError
from lapwing.model.objective import PriorArrays
from lapwing.model.priors import Prior
from lapwing.selection.variance import Validation, VarianceCurve, choose_variance, default_grid
from lapwing.solvers import multinomial, newton
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
    """The same settings and matrix as for one category after the other, and one fit."""

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
        for k in np.flatnonzero(~prior.closed[:, -1]).tolist():
            self._check_flat(k, self.columns, prior.rows[k], self.told.signs(k), weight, float(variance[k]))
        curve = self._joint_curve(problem, prior, variance)
        if curve is not None:
            variance = np.full(len(self), curve.chosen)
        arrays = prior.compile(variance, len(problem.group), settings.intercept_variance)
        result = multinomial.fit(problem, labels, weight, arrays, tol=settings.tol, max_iter=settings.max_iter)
        fits = []
        for k, row in enumerate(result.weights):
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

    def _joint_problem(self, prior: JointPrior) -> newton.Problem:
        if self.settings.select_features is None:
            return self.problem
        # Of identical columns some may have been selected and some not.
        return newton.Problem(self.X, self.weights if self.settings.standardize else None, merge=False)

    def _joint_curve(self, problem: newton.Problem, prior: JointPrior, start: np.ndarray) -> VarianceCurve | None:
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
