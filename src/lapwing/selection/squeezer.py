"""At most k features per category (GLM07 section 7): those of the weakest prior that keeps no more.

So strong a prior also draws what it keeps towards zero, and a category would seldom be assigned. It serves to choose
the features; the weights are those of a fit to these alone, its variance chosen by cross-validation among that one
and weaker ones, which seldom let go of any.

The number of features a sparse prior keeps falls as its variance does, by and large. Where it passes k is found by
halving on the scale of log v. Whether k itself is met depends on the path: words that stand in the same documents
enter together, and others may leave as one enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from lapwing.errors import InputError
from lapwing.stats.result import FitResult

STEP = 10.0  # factor by which the variance is lowered until few enough features are left
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

    def __init__(self, solve: Callable[[float], FitResult], k: int, category: object) -> None:
        self.solve, self.k, self.category = solve, k, category
        self.results: dict[float, FitResult] = {}

    def kept(self, variance: float) -> int:
        if variance not in self.results:
            self.results[variance] = self.solve(variance)
        return int((self.results[variance].weights[:-1] != 0.0).sum())

    def limit(self, weakest: float) -> Squeezed:
        """From the variance `weakest` down."""
        high, beyond = weakest, float("nan")
        low = high
        while self.kept(low) > self.k:
            if low < STRONGEST * weakest:
                raise InputError(
                    f"class {self.category!r} keeps {self.kept(low)} features however strong the prior, and "
                    f"max_features={self.k} allows fewer; raise it, or name fewer features in the prior"
                )
            high, beyond = low, float(self.kept(low))
            low /= STEP
        while self.kept(low) < self.k and not math.isnan(beyond) and high - low > FINEST * high:
            middle = math.sqrt(low * high)
            if self.kept(middle) > self.k:
                high, beyond = middle, float(self.kept(middle))
            else:
                low = middle
        return Squeezed(low, self.kept(low), beyond)


def explain(k: int, kept: int, limit: float, beyond: float) -> str:
    """Why a category has `kept` features where k were allowed: `limit` and `beyond` from `Squeezed`; "" if k."""
    if kept == k or math.isnan(limit):
        return ""
    if kept < limit:
        return f"{kept} of {k}: of the {limit:.0f} chosen, the fit to them alone leaves some out"
    if math.isnan(beyond):
        return f"{kept} of {k}: the weakest prior tried has no more"
    return f"{kept} of {k}: the next weaker prior has {beyond:.0f}"
