"""Priors on coefficients, and how each becomes five arrays.

The user speaks in variances v; a kernel sees mode, l1, l2, lower and upper of every coordinate:
Gaussian l2 = 1/v; Laplace l1 = √(2/v); infinite variance no penalty at all. To add a prior whose penalty is
l1|β−m| + l2(β−m)²/2 within bounds, add a class here that says `strengths` and, if it has bounds, `reach`, and put it in
PRIORS: no kernel changes. What these arrays cannot say needs a solver of its own (CONTRIBUTING.md). Priors that differ
between features are in prior_table.py, and ask the same two questions of the prior they are based on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, SettingsError
from lapwing.shards.sums import column_lengths, squared_norms
from lapwing.stats.objective import PriorArrays


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a design, as far as a prior can ask about them."""

    names: Sequence[str]
    matrix: sp.csr_matrix

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    @cached_property
    def frequency(self) -> np.ndarray:
        """Documents with each feature."""
        return column_lengths(self.matrix)

    @cached_property
    def idf_squared(self) -> np.ndarray:
        """ln²((|D|+1)/(n(j)+1)), its mean over all squared values scaled to 1."""
        squares = np.log((self.matrix.shape[0] + 1) / (self.frequency + 1)) ** 2
        energy = np.bincount(self.matrix.indices, weights=self.matrix.data**2, minlength=self.matrix.shape[1])
        total = float(np.sum(energy * squares))
        return squares * (float(energy.sum()) / total) if total > 0.0 else np.ones(len(squares))

    def take(self, columns: np.ndarray) -> Columns:
        return Columns([self.names[j] for j in columns.tolist()], self.matrix[:, columns])


@dataclass(frozen=True)
class Prior:
    """A prior with the same shape for every coefficient, the intercept included unless told otherwise."""

    name: ClassVar[str] = ""
    convex: ClassVar[bool] = True  # there is one optimum, which a certificate can prove

    @property
    def shape(self) -> Prior:
        """The prior of the features about which nothing in particular is known."""
        return self

    def bind(self, columns: Columns, category: Hashable, opposite: Hashable | None = None) -> Prior:
        """The prior of one category over these columns; `opposite` is the other of two exclusive classes."""
        return self

    def where(self, feature: str) -> str:
        """Where the prior of this feature was read, to begin a message with; "" where it was not."""
        return ""

    def strengths(self, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(l1, l2) for these variances."""
        raise SettingsError(f"{type(self).__name__} has no density; use one of {', '.join(PRIORS)}")

    def reach(self, variance: np.ndarray) -> np.ndarray:
        """How far from its mode a coefficient of such a variance can be."""
        return np.full(len(variance), np.inf)

    def compile(self, variance: float, n_features: int, intercept_variance: float | None = None) -> PriorArrays:
        """Arrays of n_features + 1 coordinates, intercept last."""
        variances = np.full(n_features + 1, check_variance(variance))
        if intercept_variance is not None:
            variances[-1] = check_variance(intercept_variance, "intercept_variance", allow_infinite=True)
        l1, l2 = self.strengths(variances)
        reach = self.reach(variances)
        return PriorArrays(np.zeros(n_features + 1), l1, l2, -reach, reach)


@dataclass(frozen=True)
class Gaussian(Prior):
    """N(0, v): ridge. Keeps every feature."""

    name: ClassVar[str] = "gaussian"

    def strengths(self, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros_like(variance), 1.0 / variance


@dataclass(frozen=True)
class Laplace(Prior):
    """Double exponential of variance v, λ = √(2/v): lasso. Most coefficients are exactly zero."""

    name: ClassVar[str] = "laplace"

    def strengths(self, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.sqrt(2.0 / variance), np.zeros_like(variance)


@dataclass(frozen=True)
class ElasticNet(Prior):
    """ratio × the Laplace penalty + (1 - ratio) × the Gaussian one, both of variance v."""

    name: ClassVar[str] = "elasticnet"
    ratio: float = 0.3

    def __post_init__(self) -> None:
        if not 0.0 <= self.ratio <= 1.0:
            raise SettingsError(f"ratio must be between 0 and 1, got {self.ratio!r}")

    def strengths(self, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.ratio * np.sqrt(2.0 / variance), (1.0 - self.ratio) / variance


@dataclass(frozen=True)
class Jeffreys(Prior):
    """p(β_j) ∝ 1/|β_j| (EGJLM03 Eq. 6 with the variances integrated out): sparse, and nothing to choose.

    Its density has no maximum: it is infinite wherever a coefficient is 0. What EM finds is a stationary point
    on the coefficients that did not go to 0, and which one depends on where it starts, so the start is part of
    the method:

    start   "least_squares": one M-step from 0 under a prior of variance 1e6, all but a regression of the labels
            on the features (Figueiredo and Jain's); "gaussian" or "laplace": the optimum under that prior, of
            variance `start_variance`. Weaker starts leave more coefficients.

    There is no certificate of optimality. What is checked is that the log-posterior is level along every
    coefficient left, and curves downwards from there in every direction (`lapwing.stats.certify_stationary`).
    On data that a plane separates ln|β_j| still holds every coefficient finite; a document or two hold none of
    them away from 0, and then all go there.
    """

    name: ClassVar[str] = "jeffreys"
    convex: ClassVar[bool] = False
    start: str = "least_squares"
    start_variance: float = 1.0

    def __post_init__(self) -> None:
        if self.start not in ("least_squares", "gaussian", "laplace"):
            raise SettingsError(f"start must be least_squares, gaussian or laplace, got {self.start!r}")
        check_variance(self.start_variance, "start_variance")

    def strengths(self, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The convex part of the penalty, of which there is none but the intercept's own where it has one."""
        return np.zeros_like(variance), np.zeros_like(variance)

    def compile(self, variance: float, n_features: int, intercept_variance: float | None = None) -> PriorArrays:
        arrays = super().compile(1.0, n_features, intercept_variance)
        if intercept_variance is not None:
            arrays.l2[-1] = 1.0 / intercept_variance
        return arrays

    def logarithmic(self, n_features: int, intercept_variance: float | None = None) -> np.ndarray:
        """(n_features + 1,) the coefficients this prior is on: all, or all but an intercept with one of its own."""
        mask = np.ones(n_features + 1, dtype=bool)
        mask[-1] = intercept_variance is None
        return mask


PRIORS: dict[str, type[Prior]] = {kind.name: kind for kind in (Laplace, Gaussian, ElasticNet, Jeffreys)}


def as_prior(prior: str | Prior) -> Prior:
    """A prior by name, or itself."""
    if isinstance(prior, Prior):
        return prior
    if prior not in PRIORS:
        raise SettingsError(f"prior must be one of {', '.join(PRIORS)} or a prior object, got {prior!r}")
    return PRIORS[prior]()


CONVEX = ", ".join(kind.name for kind in PRIORS.values() if kind.convex)


def check_variance(value: object, name: str = "variance", *, allow_infinite: bool = False) -> float:
    ok = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not ok or not (0.0 < float(value) < np.inf or (allow_infinite and value == np.inf)):  # type: ignore[arg-type]
        raise SettingsError(f'{name} must be > 0, got {value!r}; use variance="norm" to choose it from the data')
    return float(value)  # type: ignore[arg-type]


def norm_variance(X: sp.csr_matrix, sample_weight: np.ndarray | None = None, n_features: int | None = None) -> float:
    """GLM07 Eq. 29, corrected: v = d/u, u the mean squared norm of the documents without the constant
    feature, d the number of features (columns, unless told) with it. 1 where every document is empty."""
    squares = squared_norms(X)
    mean = float(np.average(squares, weights=sample_weight))
    if not np.isfinite(mean):
        raise InputError("the squared norms of the documents overflow; scale the features down first")
    if mean == 0.0 and (np.any(squares) or not np.any(X.data)):  # what weighs anything is empty
        return 1.0
    if mean < np.finfo(np.float64).tiny:
        raise InputError(
            f"the squared norms of the documents, {mean:g} on average, are too small; scale the features up"
        )
    return ((X.shape[1] if n_features is None else n_features) + 1) / mean
