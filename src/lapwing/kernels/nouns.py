"""What crosses into kernels whole: a matrix, its documents, the prior; and what comes back.

Symbols as in stats/objective.py. Tuples of arrays, and no classes of Numba's: they take no longer to compile than the
arrays by themselves, and a call from Python five microseconds more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ARMIJO = 0.01  # share of what a step promises that it must bring, in every line search
ROUNDING = 1e-13  # relative: a sum over documents is not known better


class Sparse(NamedTuple):
    """A matrix in one direction: the entries of column (or row) k are indptr[k] … indptr[k+1]."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class Matrix(NamedTuple):
    """X (n, d+1) in both directions.

    The constant feature is coordinate d: it has no stored entries, and an offset of 1. Other features have an offset
    where they are centred, which so does not fill the matrix.

    offset  (d+1,) added to every entry of a column, stored or not
    """

    columns: Sparse
    rows: Sparse
    offset: np.ndarray


class Documents(NamedTuple):
    """Labels y ±1, weights c ≥ 0, and which loss: `Link.code` of stats/links.py."""

    y: np.ndarray
    weight: np.ndarray
    link: int


class PriorArrays(NamedTuple):
    """A convex prior, coordinate by coordinate, intercept last: all that a kernel sees of it."""

    mode: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def flat(self) -> np.ndarray:
        """Coordinates with neither penalty nor bound on some side: no multiplier z ≠ 0 is feasible there."""
        unbounded = np.isinf(self.lower) | np.isinf(self.upper)
        return (self.l1 == 0.0) & (self.l2 == 0.0) & unbounded


class Result(NamedTuple):
    """How every solver ends, as in `Certificate` of stats/objective.py; the coefficients are where it was started from.

    gap   NaN if no dual point is feasible
    dual  θ at which the gap was measured
    """

    objective: float
    gap: float
    kkt: float
    kkt_bound: float
    rounds: int
    converged: bool
    dual: np.ndarray
