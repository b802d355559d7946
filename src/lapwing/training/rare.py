"""Rare categories of one-vs-rest, at the cost of the documents that their words touch (solvers/rare.py).

Nothing here is of the size of the data: a fit is a list of words with weights from beginning to end.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lapwing.selection.folds import Folds
from lapwing.solvers.rare import RareFit, RareSolver, Start, takes
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays
from lapwing.stats.prior_table import PriorTable
from lapwing.stats.priors import Prior
from lapwing.training.fit import CategoryFit

if TYPE_CHECKING:
    from lapwing.training.one_vs_rest import OneVsRest

LEAST = 20_000  # documents from which it is worth to go by those that are touched: another kernel is to be compiled;
PAIRS = 10_000_000  # or documents times categories;
SHARE = 0.05  # and for categories of at most this share of the documents


class RareCategories:
    """The fits of a strategy that can be made this way; None where one cannot."""

    def __init__(self, strategy: OneVsRest) -> None:
        self.strategy, self.task, self.settings = strategy, strategy.task, strategy.settings
        self._of_folds: tuple[Folds, dict[int, RareSolver]] | None = None

    @cached_property
    def possible(self) -> bool:
        """Whether the data and the settings permit it."""
        strategy, settings = self.strategy, self.settings
        everything = settings.select_features is None and settings.max_features is None and settings.solver == "auto"
        documents = self.task.weights.size
        few = documents < LEAST and documents * len(self.task.targets.classes) < PAIRS
        if not everything or strategy.pruning or few or as_link(settings.link).code is None:
            return False
        if not self.prior.convex or strategy.smooth or (isinstance(strategy.prior, PriorTable) and self.own is None):
            return False
        if settings.class_weight is not None and self.task.targets.exclusive:
            return False
        problem = strategy.whole
        return takes(problem, self._arrays(1.0))

    @cached_property
    def prior(self) -> Prior:
        """Of all words but those of a category's own name."""
        prior = self.strategy.prior
        return prior.shape if isinstance(prior, PriorTable) else prior

    @cached_property
    def own(self) -> dict[Hashable, tuple[np.ndarray, np.ndarray]] | None:
        """Category → columns of the words of its name, and their modes; None where the prior is of another kind."""
        prior, strategy = self.strategy.prior, self.strategy
        if not self.settings.label_words or not isinstance(prior, PriorTable) or len(self.task) == 1:
            return None
        problem = strategy.whole
        named: dict[Hashable, dict[int, float]] = {}
        for one in prior.rows:
            named.setdefault(one.category, {})[int(problem.group[strategy.columns.index[one.feature]])] = one.mode
        return {
            label: (np.array(list(modes), np.int32), np.array(list(modes.values())) * problem.alike[list(modes)])
            for label, modes in named.items()
        }

    def _arrays(self, variance: float) -> PriorArrays:
        return self.strategy.merged(self.prior, self.strategy.whole, variance)

    def may_fit(self, row: int) -> bool:
        return self.possible and len(self.task.positives(row)) <= SHARE * self.task.weights.size

    @cached_property
    def solver(self) -> RareSolver:
        return RareSolver(self.strategy.whole, self.task.weights)

    def prepare(self) -> None:
        if any(map(self.may_fit, range(len(self.task)))):
            self.solver, self.own  # noqa: B018

    def _solve(self, solver: RareSolver, row: int, variance: float, tol: float, start: Start | None) -> RareFit:
        settings = self.settings
        modes = None if self.own is None else self.own.get(self.task.label(row))
        return solver.fit(
            self.task.positives(row), self._arrays(variance), modes=modes, factors=self.task.factors(row), start=start,
            tol=tol, max_iter=settings.max_iter, link=settings.link,
        )  # fmt: skip

    def fit(self, row: int, variance: float | None) -> tuple[CategoryFit | None, np.ndarray | None]:
        """(the fit to all documents, None), or (None, weights from which another solver goes on, if there are any)."""
        settings = self.settings
        chooses = variance is None and settings.variance in ("cv", "auto")
        if chooses or not self.may_fit(row) or (settings.fixed_threshold is None and settings.threshold_data != "cv"):
            return None, None
        v = self.strategy.first_variance(row, variance)
        one = self._solve(self.solver, row, v, settings.tol, None)
        features, weights = self.strategy.whole.spread_few(one.columns, one.weights)
        if not one.converged:
            start = np.zeros(self.strategy.width + 1)
            start[features], start[-1] = weights, one.intercept
            return None, start
        known = bool(self.task.weights[self.task.positives(row)].any())
        fixed = np.nan if settings.fixed_threshold is None else settings.fixed_threshold
        fit = CategoryFit(
            features=features,
            weights=weights,
            intercept=one.intercept,
            threshold=fixed if known else np.inf,
            variance=v,
            dual=one.dual(self.task.weights.size) if self.task.keep_duals else None,
            **{name: getattr(one, name) for name in ("objective", "gap", "kkt", "kkt_bound", "rounds", "converged")},
        )
        return fit, None

    def held_out(self, row: int, folds: Folds, k: int, variance: float, start: Start | None) -> RareFit | None:
        """To all documents but those of fold k; it may have ended early, as `RareSolver.fit` says."""
        if not self.may_fit(row):
            return None
        known = self._of_folds  # read once: other threads set it
        if known is None or known[0] is not folds:
            known = self._of_folds = folds, {}
        if k not in known[1]:
            known[1][k] = self.solver.reweighted(folds.training(k, self.task.weights))
        return self._solve(known[1][k], row, variance, self.strategy.held_out_tol, start)
