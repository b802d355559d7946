"""In how many halves of the data a feature stays: what there is to say of how sure a sparse fit is of its features.

The documents are cut at random into two halves, of either label one half each, B times; each half is fitted by itself
with the same prior. With π̂_j the share of the 2B fits that keep feature j, and q the mean number they keep of p
features, choosing those of π̂_j ≥ π makes

    E[features chosen that a half keeps no more often than by chance, q/p]  ≤  q² / ((2π − 1) p)

(complementary pairs stability selection, Shah and Samworth 2013, Theorem 1; the bound of Meinshausen and Bühlmann 2010,
without their exchangeability). Features of π̂_j = 1 are those of Bach's Bolasso, with halves in place of bootstrap
samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lapwing.engine import run_all
from lapwing.errors import InputError, SettingsError
from lapwing.stats.priors import Prior


@dataclass(frozen=True)
class Stability:
    """share   (d,) of the halves in which each feature has a weight;  kept   how many have one on average."""

    share: np.ndarray
    kept: float
    halves: int

    def expected_false(self, threshold: float) -> float:
        """The bound on the features of at least that share that are kept no more often than by chance."""
        if not 0.5 < threshold <= 1.0:
            raise SettingsError(f"threshold must be over 0.5 and at most 1, got {threshold!r}")
        return self.kept**2 / ((2.0 * threshold - 1.0) * max(len(self.share), 1))


def stability(
    X: sp.csr_matrix,
    y: np.ndarray,
    prior: Prior,
    variance: float,
    *,
    link: str = "logit",
    intercept_variance: float | None = None,
    halves: int = 100,
    tol: float = 1e-4,
    seed: int | None = 0,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Stability:
    """X (n, d), labels y ±1 (n,); `halves` is made even. Answers do not depend on `n_jobs`."""
    from lapwing.solvers import newton
    from lapwing.solvers.problem import Problem

    if halves < 2:
        raise SettingsError(f"halves must be 2 or more, got {halves}")
    if min(np.count_nonzero(y > 0), np.count_nonzero(y < 0)) < 2:
        raise InputError("expected two or more documents of either label, or a half would have none")
    problem = Problem(X)
    compiled = prior.compile(variance, X.shape[1], intercept_variance)

    def kept(weight: np.ndarray) -> np.ndarray:
        fit = newton.fit(problem, y, weight, compiled, variance=variance, tol=tol, start=start, link=link)
        return fit.weights[:-1] != 0.0

    pairs = [_halves(y, child) for child in np.random.SeedSequence(seed).spawn((halves + 1) // 2)]
    fits = run_all(kept, [weight for pair in pairs for weight in pair], n_jobs=n_jobs)
    count = np.sum(fits, axis=0)
    return Stability(count / len(fits), float(count.sum()) / len(fits), len(fits))


def _halves(y: np.ndarray, seed: np.random.SeedSequence) -> tuple[np.ndarray, np.ndarray]:
    """Weights 0 and 1 of two halves; of an odd number of a label the larger part is either's by chance."""
    rng = np.random.default_rng(seed)
    first = np.zeros(len(y))
    for label in (1.0, -1.0):
        rows = rng.permutation(np.flatnonzero(y == label))
        first[rows[: (len(rows) + int(rng.integers(2))) // 2]] = 1.0
    return first, 1.0 - first
