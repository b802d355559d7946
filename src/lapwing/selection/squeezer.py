"""At most k features per category (GLM07 section 7): those of the weakest prior that keeps no more.

So strong a prior also draws what it keeps towards zero, and a category would seldom be assigned. It serves to choose
the features; the weights are those of a fit to these alone, its variance chosen by cross-validation among that one
and weaker ones, which seldom let go of any.

The number of features a Laplace prior keeps rises with its variance, by and large. So the path is followed from the
strongest, each fit beginning where the last ended, until more than k are in, and between the last two variances by
halving on the scale of log v: fits stay as small as what is looked for (GLM07's outlook). An elastic net keeps many
under very strong priors, fewer again under weaker ones, and more at last; there it is the weakest prior that is looked
for, from the weak side. Whether k itself is met depends on the path: words that stand in the same documents enter
together, and others may leave as one enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from lapwing.errors import InputError
from lapwing.stats.result import FitResult

STEP = 10.0  # factor by which the variance is lowered, or raised, until it is known between which two to look
FINEST = 1e-4  # relative distance of two variances between which nothing more is looked for
STRONGEST = 1e-12  # times the first variance: features that are still there will not leave


class Squeezed(NamedTuple):
    """The weakest prior found with at most k features.

    kept    how many it has
    beyond  how many the next weaker one has, more than k; NaN if no variance tried has so many
    """

    variance: float
    kept: int
    beyond: float


class Budget:
    """Fits of one category by variance, counted."""

    def __init__(self, solve: Callable[[float, np.ndarray | None], FitResult], k: int, category: object) -> None:
        """solve   the fit under a variance, from given weights or from none"""
        self.solve, self.k, self.category = solve, k, category
        self.results: dict[float, FitResult] = {}

    def kept(self, variance: float, near: float | None = None) -> int:
        """How many features the fit under this variance has; from that under the variance `near` if it is not known."""
        if variance not in self.results:
            self.results[variance] = self.solve(variance, None if near is None else self.results[near].weights)
        return int((self.results[variance].weights[:-1] != 0.0).sum())

    def follow(self, weakest: float) -> Squeezed:
        """Along the path from the strongest prior, to the variance `weakest` at most."""
        low = STRONGEST * weakest
        if self.kept(low) > self.k:
            self._fail(low)
        while low < weakest:
            high = min(low * STEP, weakest)
            if self.kept(high, low) > self.k:
                return self._between(low, high)
            low = high
        return Squeezed(low, self.kept(low), float("nan"))

    def limit(self, weakest: float) -> Squeezed:
        """From the variance `weakest` down."""
        high = low = weakest
        while self.kept(low) > self.k:
            if low < STRONGEST * weakest:
                self._fail(low)
            high, low = low, low / STEP
        return Squeezed(low, self.kept(low), float("nan")) if low == weakest else self._between(low, high)

    def _between(self, low: float, high: float) -> Squeezed:
        """Where the number of features passes k: it does not exceed k at `low`, and does at `high`."""
        while self.kept(low) < self.k and high - low > FINEST * high:
            middle = math.sqrt(low * high)
            if self.kept(middle, low) > self.k:
                high = middle
            else:
                low = middle
        return Squeezed(low, self.kept(low), float(self.kept(high)))

    def _fail(self, strongest: float) -> NoReturn:
        raise InputError(
            f"class {self.category!r} keeps {self.kept(strongest)} features however strong the prior, and "
            f"max_features={self.k} allows fewer; raise it, or name fewer features in the prior"
        )


def explain(k: int, kept: int, limit: float, beyond: float) -> str:
    """Why a category has `kept` features where k were allowed: `limit` and `beyond` from `Squeezed`; "" if k."""
    if kept == k or math.isnan(limit):
        return ""
    if kept < limit:
        return f"{kept} of {k}: of the {limit:.0f} chosen, the fit to them alone leaves some out"
    if math.isnan(beyond):
        return f"{kept} of {k}: the weakest prior tried has no more"
    return f"{kept} of {k}: the next weaker prior has {beyond:.0f}"
