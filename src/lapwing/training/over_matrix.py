"""What strategies over one matrix share: its columns, the prior over them, and what they say of it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from lapwing.model.linear import LinearModel
from lapwing.selection import SCORES
from lapwing.selection.features import best_features
from lapwing.shards.matrix import is_stored
from lapwing.solvers import newton
from lapwing.solvers.dense import WIDEST
from lapwing.solvers.problem import Problem
from lapwing.stats.prior_table import PriorTable
from lapwing.stats.priors import Columns, Gaussian, Prior, norm_variance
from lapwing.text import Design
from lapwing.training.fit import CategoryFit
from lapwing.training.label_words import prior_in_terms
from lapwing.training.targets import Targets
from lapwing.training.task import Task

HELD_OUT_TOL = 1e-3  # relative gap of fits that only score held-out documents

ValidationMatrix = tuple[sp.csr_matrix, Targets, np.ndarray]


class OverMatrix:
    """What strategies over one matrix share: its columns and the prior over them.

    validation   documents to choose by, as the training documents are seen, their labels and weights
    """

    def __init__(self, task: Task, design: Design, validation: ValidationMatrix | None = None) -> None:
        self.task, self.settings, self.given_design, self.validation = task, task.settings, design, validation
        self.X, self.width = design.matrix, int(design.matrix.shape[1])
        self.columns = Columns(design.feature_names, design.matrix)
        text = None if design.weighting is None else design.weighting.settings
        self.prior: Prior = prior_in_terms(task.settings, task.targets.classes, design.feature_names, text)
        self.kinds: np.ndarray | None = None
        self.insisting = np.empty(0, dtype=np.int64)  # columns that no selection may leave out
        if isinstance(self.prior, PriorTable):
            self.prior.check(design.feature_names, task.targets.classes)
            self.kinds = self.prior.kinds(self.columns)
            self.insisting = np.array([self.columns.index[name] for name in self.prior.insisting], dtype=np.int64)

    def problem(self, X: sp.csr_matrix, kinds: np.ndarray | None, **how: bool) -> Problem:
        return Problem(X, self.task.weights if self.task.settings.standardize else None, kinds=kinds, **how)

    @cached_property
    def whole(self) -> Problem:
        return self.problem(self.X, self.kinds, once=self._once)

    @property
    def _once(self) -> bool:
        """Whether all there is to do is one fit with a Gaussian prior, over many sparse columns."""
        settings = self.task.settings
        plain = (settings.method, settings.solver, settings.standardize) == ("map", "auto", False)
        single = len(self.task) == 1 and not settings.holds_out and not settings.chooses_alone
        large = self.X.nnz > newton.SMALL and self.X.shape[1] > WIDEST and not is_stored(self.X)
        return plain and single and large and type(self.prior) is Gaussian and settings.intercept_variance != np.inf

    @cached_property
    def norm_variance(self) -> float:
        return self.default_variance(self.X)

    @cached_property
    def mean_square(self) -> float:
        return (self._seen(self.X) + 1.0) / self.norm_variance

    def default_variance(self, X: sp.csr_matrix) -> float:
        """GLM07 Eq. 29; standardised features have a mean squared norm of their number, and BBR takes v = d.

        Features that are there by the prior's will only do not count among the d.
        """
        seen = self._seen(X)
        return seen + 1.0 if self.task.settings.standardize else norm_variance(X, self.task.weights, seen)

    def _seen(self, X: sp.csr_matrix) -> int:
        if not len(self.insisting):
            return int(X.shape[1])
        return int(X.shape[1] - np.count_nonzero(self.columns.frequency[self.insisting] == 0))

    def selected(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """The columns kept before a fit; None for all."""
        settings = self.task.settings
        if settings.select_features is None:
            return None
        scores = SCORES[settings.feature_score](self.X, y, sample_weight=weight)
        return np.union1d(best_features(scores, settings.select_features), self.insisting)

    def part(self, features: np.ndarray | None) -> tuple[Columns, Problem]:
        """These columns, and the problem over them; None for all."""
        if features is None:
            return self.columns, self.whole
        columns = self.columns.take(features)
        return columns, self.problem(columns.matrix, None if self.kinds is None else self.kinds[features])

    def design(self, fits: list[CategoryFit]) -> tuple[Design, list[CategoryFit]]:
        return self.given_design, fits

    def finish(self, model: LinearModel, fits: list[CategoryFit], curvature: str | int) -> LinearModel:
        return model
