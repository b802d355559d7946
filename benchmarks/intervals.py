"""Intervals by Laplace's approximation beside the posterior itself, on two categories of Reuters-21578.

    LAPWING_CORPORA=… python benchmarks/intervals.py [--documents 1500] [--features 60] [--draws 1000]

A Gaussian prior over the most frequent features, the first training documents; the posterior by Gibbs sampling with
Pólya-Gamma variables (Polson, Scott and Windle 2013), each a sum of 100 exponential ones with the mean of the rest. Of
weights and of the probabilities of test documents: how much of the sample lies within the 90 % intervals, the ratio of
standard deviations, and how far the ends of the intervals are off, in standard deviations.
"""

from __future__ import annotations

import argparse
import time

import _corpora as corpora
import numpy as np

import lapwing.corpus
from lapwing.evaluate import membership
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.posterior import Posterior, mean_probability, quantile
from lapwing.stats.priors import Gaussian
from lapwing.text import design
from lapwing_papers.settings import text as glm07_text

CATEGORIES = ("crude", "wheat")
VARIANCE, LEVEL = 10.0, 0.9


def polya_gamma(z: np.ndarray, rng: np.random.Generator, terms: int = 100) -> np.ndarray:
    k = np.arange(1, terms + 1) - 0.5
    scale = 2.0 * np.pi**2 * (k**2 + (z[:, None] / (2.0 * np.pi)) ** 2)
    half = np.maximum(np.abs(z), 1e-8) / 2.0
    drawn = (rng.exponential(size=scale.shape) / scale).sum(axis=1)
    return np.asarray(drawn + np.tanh(half) / (4.0 * half) - (1.0 / scale).sum(axis=1))


def gibbs(X: np.ndarray, y: np.ndarray, start: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws, d+1); from the optimum, so that a tenth as many are enough to forget it."""
    A = np.column_stack([X, np.ones(len(X))])
    beta, result = start, []
    for _ in range(draws + draws // 10):
        omega = polya_gamma(A @ beta, rng)
        L = np.linalg.cholesky(A.T @ (omega[:, None] * A) + np.eye(len(beta)) / VARIANCE)
        mean = np.linalg.solve(L.T, np.linalg.solve(L, A.T @ (y / 2.0)))
        beta = mean + np.linalg.solve(L.T, rng.normal(size=len(beta)))
        result.append(beta)
    return np.array(result[draws // 10 :])


def compare(what: str, mean: np.ndarray, error: np.ndarray, sample: np.ndarray) -> None:
    """mean, error (m,) of the approximation; sample (draws, m)"""
    low, high = mean - quantile(LEVEL) * error, mean + quantile(LEVEL) * error
    within = np.mean((sample >= low) & (sample <= high), axis=0)
    ends = np.quantile(sample, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    off = np.abs(np.vstack([low, high]) - ends) / sample.std(axis=0)
    ratio = error / sample.std(axis=0)
    print(
        f"  {what:14} {100 * within.mean():5.1f} % within ({100 * within.min():.1f} to {100 * within.max():.1f}); "
        f"standard deviations {np.median(ratio):.3f} times ({ratio.min():.2f} to {ratio.max():.2f}); "
        f"ends off by {off.mean():.2f} on average"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--features", type=int, default=60)
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    corpus = lapwing.corpus.read(corpora.path("reuters21578.tar.xz"))
    train, test = corpus.part("train"), corpus.part("test")
    features = design(train.documents, glm07_text())
    assert features.weighting is not None
    frequent = np.argsort(-np.diff(features.matrix.tocsc().indptr), kind="stable")[: given.features]
    X = features.matrix[: given.documents][:, frequent].tocsr()
    new = features.weighting.vectors(test.documents[:200])[:, frequent].tocsr()
    rng = np.random.default_rng(0)
    for category in CATEGORIES:
        y = np.where(membership(train.labels[: given.documents], [category])[:, 0], 1.0, -1.0)
        prior = Gaussian().compile(VARIANCE, X.shape[1])
        ones = np.ones(len(y))
        beta = newton.fit(Problem(X), y, ones, prior, variance=VARIANCE, tol=1e-8).weights
        began = time.perf_counter()
        posterior = Posterior.at(X, y, y * (X @ beta[:-1] + beta[-1]), ones, prior.l2, "logit")
        error = np.sqrt([posterior.coefficient_variance(j) for j in range(len(beta))])
        score, variance = new @ beta[:-1] + beta[-1], posterior.score_variances(new)
        middle = time.perf_counter()
        sample = gibbs(X.toarray(), y, beta, given.draws, rng)
        scores = new @ sample[:, :-1].T + sample[:, -1]
        print(
            f"{category}: {int((y > 0).sum())} of {len(y)} documents, {X.shape[1]} features; Laplace "
            f"{middle - began:.1f} s, {given.draws} draws {time.perf_counter() - middle:.1f} s"
        )
        compare("weights", beta, error, sample)
        compare("scores", score, np.sqrt(variance), scores.T)
        p = (1.0 / (1.0 + np.exp(-scores))).mean(axis=1)
        apart = np.abs(mean_probability(score, variance, "logit") - p)
        print(f"  mean probabilities off by {apart.mean():.4f} on average, at most {apart.max():.4f}")


if __name__ == "__main__":
    main()
