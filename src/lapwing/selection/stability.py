"""In how many halves of the data a feature stays: what there is to say of how sure a sparse fit is of its features.

The documents are cut at random into two halves, of either label one half each, B times; each half is fitted by itself
with the same prior. With π̂_j the share of the 2B fits that keep feature j, and q the mean number they keep of p
features, choosing those of π̂_j ≥ π makes

    E[features chosen that a half keeps no more often than by chance, q/p]  ≤  q² / ((2π − 1) p)

(complementary pairs stability selection, Shah and Samworth 2013, Theorem 1; the bound of Meinshausen and Bühlmann 2010,
without their exchangeability). With bootstrap samples in place of halves, features of π̂_j = 1 are those of Bach's
Bolasso (2008; AAGBD11 cites it), which is fitted anew on these alone; he found π̂_j ≥ 0.9 the safer rule.

As scores of features (`stable_halves`, `bolasso`; feature_score="stability" and "bolasso") both take a Laplace prior of
GLM07's norm-based variance, which needs no choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.engine import run_all
from lapwing.errors import InputError, SettingsError
from lapwing.selection._labels import positives, weights
from lapwing.stats.priors import Laplace, Prior, norm_variance

SAMPLES = 50  # halves, or bootstrap samples, by which features are scored


@dataclass(frozen=True)
class Stability:
    """share   (d,) of the halves in which each feature has a weight;  kept   how many have one on average.

    features   how many there were to choose from, where `share` is of some of them
    """

    share: np.ndarray
    kept: float
    halves: int
    features: int | None = None

    def expected_false(self, threshold: float) -> float:
        """The bound on the features of at least that share that are kept no more often than by chance."""
        if not 0.5 < threshold <= 1.0:
            raise SettingsError(f"threshold must be over 0.5 and at most 1, got {threshold!r}")
        p = len(self.share) if self.features is None else self.features
        return self.kept**2 / ((2.0 * threshold - 1.0) * max(p, 1))


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
    bootstrap: bool = False,
) -> Stability:
    """X (n, d), labels y ±1 (n,); `halves` is made even. Answers do not depend on `n_jobs`.

    bootstrap   samples of as many documents of either label as there are, drawn with replacement, and not halves
    """
    from lapwing.solvers import newton
    from lapwing.solvers.problem import Problem

    problem = Problem(X)
    compiled = prior.compile(variance, X.shape[1], intercept_variance)

    def kept(weight: np.ndarray) -> np.ndarray:
        fit = newton.fit(problem, y, weight, compiled, variance=variance, tol=tol, start=start, link=link)
        return np.flatnonzero(fit.weights[:-1])

    return stability_of(kept, X.shape[1], y, halves=halves, seed=seed, n_jobs=n_jobs, bootstrap=bootstrap)


def stability_of(
    kept: Callable[[np.ndarray], np.ndarray],
    features: int,
    y: np.ndarray,
    *,
    halves: int = 100,
    seed: int | None = 0,
    n_jobs: int | None = None,
    bootstrap: bool = False,
) -> Stability:
    """The same of any kind of fit: `kept` gives, for weights of the documents, which of so many features it keeps.

    y   (n,) labels, of which every half has its part
    """
    if halves < 2:
        raise SettingsError(f"halves must be 2 or more, got {halves}")
    counts = np.unique(y, return_counts=True)[1]
    if len(counts) < 2 or counts.min() < 2:
        raise InputError("expected two or more documents of either label, or a half would have none")
    draw = _bootstraps if bootstrap else _halves
    pairs = [draw(y, child) for child in np.random.SeedSequence(seed).spawn((halves + 1) // 2)]
    fits = run_all(kept, [weight for pair in pairs for weight in pair], n_jobs=n_jobs)
    count = np.bincount(np.concatenate(fits), minlength=features)
    return Stability(count / len(fits), float(count.sum()) / len(fits), len(fits))


def _halves(y: np.ndarray, seed: np.random.SeedSequence) -> tuple[np.ndarray, np.ndarray]:
    """Weights 0 and 1 of two halves; of an odd number of a label the larger part is either's by chance."""
    rng = np.random.default_rng(seed)
    first = np.zeros(len(y))
    for label in np.unique(y)[::-1]:
        rows = rng.permutation(np.flatnonzero(y == label))
        first[rows[: (len(rows) + int(rng.integers(2))) // 2]] = 1.0
    return first, 1.0 - first


def _bootstraps(y: np.ndarray, seed: np.random.SeedSequence) -> tuple[np.ndarray, np.ndarray]:
    """How often each document is drawn, in two samples."""
    rng = np.random.default_rng(seed)
    samples = np.zeros(len(y)), np.zeros(len(y))
    for sample in samples:
        for label in (1.0, -1.0):
            rows = np.flatnonzero(y == label)
            sample += np.bincount(rng.choice(rows, len(rows)), minlength=len(y))
    return samples


def stable_halves(X: Any, y: Any, *, sample_weight: Any = None) -> np.ndarray:
    """The share of halves in which each feature stays: a score for `select_features`."""
    return _share(X, y, sample_weight, bootstrap=False)


def bolasso(X: Any, y: Any, *, sample_weight: Any = None) -> np.ndarray:
    """The share of bootstrap samples in which each feature stays."""
    return _share(X, y, sample_weight, bootstrap=True)


def _share(X: Any, y: Any, sample_weight: Any, *, bootstrap: bool) -> np.ndarray:
    """0 for all where a half could be without a label. Documents count once, whatever they weigh."""
    inside = positives(y)
    counts = weights(sample_weight, len(inside)) > 0.0
    signs = np.where(inside, 1.0, -1.0)[counts]
    part = sp.csr_matrix(X, dtype=np.float64)[counts]
    if min(np.count_nonzero(signs > 0), np.count_nonzero(signs < 0)) < 2:
        return np.zeros(part.shape[1])
    return stability(part, signs, Laplace(), norm_variance(part), halves=SAMPLES, bootstrap=bootstrap, n_jobs=1).share
