"""A problem whose documents are in blocks: the optimum of the whole, certified, and the same bits wherever they are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.solvers import newton, spread
from lapwing.solvers.problem import Problem
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.priors import as_prior
from lapwing.training.spread import fit_rows


def data(n: int = 900, d: int = 120) -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(1)
    X = sp.random(n, d, 0.1, "csr", random_state=rng)
    beta = np.where(rng.random(d) < 0.1, rng.normal(0.0, 6.0, d), 0.0)
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-(X @ beta) + 0.5)), 1.0, -1.0)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("prior", ["laplace", "elasticnet", "gaussian"])
def test_the_optimum_of_the_whole(prior: str, link: str) -> None:
    X, y = data()
    result = fit_rows(X, y, prior=prior, variance=1.0, documents=200, tol=1e-8, link=link)
    arrays = as_prior(prior).compile(1.0, X.shape[1])
    whole = newton.fit(Problem(X), y, np.ones(len(y)), arrays, variance=1.0, tol=1e-10, link=link)
    assert result.converged
    assert result.gap <= 1e-8 * result.objective
    assert result.objective == pytest.approx(whole.objective, rel=2e-8)
    assert np.allclose(result.weights, whole.weights, atol=1e-3)
    seen = certify(X, y, arrays, result.weights, link=link)
    assert seen.objective == pytest.approx(result.objective, rel=1e-12)
    assert seen.gap <= 2e-8 * seen.objective + 1e-9


def test_bounds_and_modes_are_kept() -> None:
    X, y = data()
    arrays = as_prior("laplace").compile(1.0, X.shape[1])
    arrays.lower[:40], arrays.upper[40:60], arrays.mode[60:70] = 0.0, 0.0, 0.5
    blocks = spread.Here([spread.Block(X[a : a + 300], y[a : a + 300], np.ones(300)) for a in (0, 300, 600)])
    result = spread.fit(blocks, arrays, variance=1.0, tol=1e-8)
    whole = newton.fit(Problem(X, merge=False), y, np.ones(len(y)), arrays, variance=1.0, tol=1e-10)
    assert result.converged
    assert (result.weights[:40] >= 0.0).all()
    assert (result.weights[40:60] <= 0.0).all()
    assert result.objective == pytest.approx(whole.objective, rel=2e-8)


def test_a_minimum_of_a_quadratic() -> None:
    """Where nothing is penalised but by squares it is a linear system's solution."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 5))
    H, slope, at = A.T @ A, rng.normal(size=5), rng.normal(size=5)
    prior = PriorArrays(np.zeros(5), np.zeros(5), np.full(5, 0.7), np.full(5, -np.inf), np.full(5, np.inf))
    result = spread.minimum(H, slope, at, prior)
    assert np.allclose(result, np.linalg.solve(H + 0.7 * np.eye(5), H @ at - slope), atol=1e-8)


def test_labels_that_are_none() -> None:
    X, y = data(50)
    with pytest.raises(InputError, match=r"\+1 and -1"):
        fit_rows(X, (y > 0).astype(float), variance=1.0)
    with pytest.raises(InputError, match="each of 50 documents"):
        fit_rows(X, y[:10], variance=1.0)
