"""Laplace's approximation: its algebra by hand, its coverage under the model, and the posterior itself by MCMC."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.posterior import Posterior, mean_probability, quantile
from lapwing.stats.priors import Gaussian


def fitted(X: np.ndarray, y: np.ndarray, variance: float, link: str = "logit") -> tuple[np.ndarray, Posterior]:
    matrix = sp.csr_matrix(X)
    prior = Gaussian().compile(variance, X.shape[1])
    ones = np.ones(len(y))
    beta = newton.fit(Problem(matrix), y, ones, prior, variance=variance, tol=1e-9, link=link).weights
    margin = y * (X @ beta[:-1] + beta[-1])
    return beta, Posterior.at(matrix, y, margin, ones, prior.l2, link)


def drawn(
    rng: np.random.Generator, n: int, d: int, variance: float, link: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients from the prior, labels from the model."""
    X, beta = rng.normal(size=(n, d)), rng.normal(0.0, np.sqrt(variance), d + 1)
    p = as_link(link).probability(X @ beta[:-1] + beta[-1])
    return X, beta, np.where(rng.random(n) < p, 1.0, -1.0)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_variance_is_that_of_the_inverse_hessian(link: str) -> None:
    rng = np.random.default_rng(0)
    X, _, y = drawn(rng, 60, 5, 1.0, link)
    beta, posterior = fitted(X, y, 2.0, link)

    def objective(b: np.ndarray) -> float:
        return float(as_link(link).loss(y * (X @ b[:-1] + b[-1]), y).sum() + b @ b / 4.0)

    step, size = 1e-4, len(beta)
    eye = np.eye(size) * step
    H = np.array(
        [
            [
                (objective(beta + eye[i] + eye[j]) - objective(beta + eye[i] - eye[j])
                 - objective(beta - eye[i] + eye[j]) + objective(beta - eye[i] - eye[j])) / (4 * step * step)
                for j in range(size)
            ]
            for i in range(size)
        ]
    )  # fmt: skip
    inverse = np.linalg.inv(H)
    for j in range(size):
        assert posterior.coefficient_variance(j) == pytest.approx(inverse[j, j], rel=1e-4)
    new = rng.normal(size=(3, 5))
    wanted = [np.append(x, 1) @ inverse @ np.append(x, 1) for x in new]
    np.testing.assert_allclose(posterior.score_variances(sp.csr_matrix(new)), wanted, rtol=1e-4)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_intervals_cover_what_was_drawn_at_their_rate(link: str) -> None:
    """Coefficients from the prior, 120 data sets of 8: 90 % intervals hold them 90 % of the time, within 3 errors."""
    rng = np.random.default_rng(1)
    held = []
    for _ in range(120):
        X, truth, y = drawn(rng, 250, 7, 1.0, link)
        beta, posterior = fitted(X, y, 1.0, link)
        error = np.sqrt([posterior.coefficient_variance(j) for j in range(8)])
        held.append(np.abs(beta - truth) <= quantile(0.9) * error)
    assert np.mean(held) == pytest.approx(0.9, abs=3 * np.sqrt(0.09 / np.size(held)))


def polya_gamma(z: np.ndarray, rng: np.random.Generator, terms: int = 100) -> np.ndarray:
    """PG(1, z) as its sum of exponential variables (Polson, Scott and Windle 2013), the rest by its mean."""
    k = np.arange(1, terms + 1) - 0.5
    scale = 2.0 * np.pi**2 * (k**2 + (z[:, None] / (2.0 * np.pi)) ** 2)
    drawn = (rng.exponential(size=(len(z), terms)) / scale).sum(axis=1)
    half = np.maximum(np.abs(z), 1e-8) / 2.0
    return np.asarray(drawn + np.tanh(half) / (4.0 * half) - (1.0 / scale).sum(axis=1))


def gibbs(X: np.ndarray, y: np.ndarray, variance: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws, d+1) from the posterior itself."""
    A = np.column_stack([X, np.ones(len(X))])
    beta, result = np.zeros(A.shape[1]), []
    for _ in range(draws + 200):
        omega = polya_gamma(A @ beta, rng)
        L = np.linalg.cholesky(A.T @ (omega[:, None] * A) + np.eye(len(beta)) / variance)
        mean = np.linalg.solve(L.T, np.linalg.solve(L, A.T @ (y / 2.0)))
        beta = mean + np.linalg.solve(L.T, rng.normal(size=len(beta)))
        result.append(beta)
    return np.array(result[200:])


def test_weights_and_probabilities_against_the_posterior_itself() -> None:
    """Where there is data enough, standard deviations agree to a tenth and ends of intervals to a fifth of one."""
    rng = np.random.default_rng(2)
    X, _, y = drawn(rng, 400, 5, 1.0, "logit")
    beta, posterior = fitted(X, y, 1.0)
    sample = gibbs(X, y, 1.0, 4000, rng)
    error = np.sqrt([posterior.coefficient_variance(j) for j in range(6)])
    np.testing.assert_allclose(error, sample.std(axis=0), rtol=0.1)
    new = rng.normal(size=(40, 5))
    scores = sample[:, :-1] @ new.T + sample[:, -1:]
    variance = posterior.score_variances(sp.csr_matrix(new))
    score = new @ beta[:-1] + beta[-1]
    for side, level in ((-1.0, 0.05), (1.0, 0.95)):
        end = score + side * quantile(0.9) * np.sqrt(variance)
        assert np.mean(np.abs(end - np.quantile(scores, level, axis=0)) / scores.std(axis=0)) < 0.2
    p = 1.0 / (1.0 + np.exp(-scores))
    np.testing.assert_allclose(mean_probability(score, variance, "logit"), p.mean(axis=0), atol=0.02)


def test_a_mean_probability_is_less_sure() -> None:
    score, none, much = np.array([-3.0, 0.0, 3.0]), np.zeros(3), np.full(3, 4.0)
    np.testing.assert_allclose(mean_probability(score, none, "logit"), 1 / (1 + np.exp(-score)), rtol=1e-12)
    less = mean_probability(score, much, "probit")
    np.testing.assert_allclose(less, as_link("probit").probability(score / np.sqrt(5.0)), atol=2e-3)  # in closed form
    assert less[1] == pytest.approx(0.5)


def test_what_nothing_tells_of_has_no_interval() -> None:
    X = sp.csr_matrix(np.array([[1.0, 0.0], [2.0, 0.0]]))
    posterior = Posterior.at(X, np.ones(2), np.zeros(2), np.ones(2), np.array([1.0, 0.0, 1.0]), "logit")
    with pytest.raises(InputError, match="neither a prior nor a document"):
        posterior.coefficient_variance(0)
    with pytest.raises(InputError, match="level must be between 0 and 1"):
        quantile(1.0)
