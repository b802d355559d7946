"""Which absent features a lasso could not have told from kept ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.priors import ElasticNet, Laplace
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.irrepresentable import correlations, irrepresentable
from lapwing.stats.links import LINKS
from lapwing.stats.priors import Prior


def curvature(X: np.ndarray, y: np.ndarray, beta: np.ndarray) -> np.ndarray:
    link = LINKS["logit"]
    margin = y * (X @ beta[:-1] + beta[-1])
    return link.curvature(margin, link.theta(margin, 1.0), 1.0)


@pytest.mark.parametrize("prior", [Laplace(), ElasticNet(0.4)])
def test_the_formula_against_plain_algebra(prior: Prior) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 12))
    truth = np.concatenate([[2.0, -1.5, 1.0], np.zeros(9)])
    y = np.where(rng.random(200) < 1.0 / (1.0 + np.exp(-X @ truth)), 1.0, -1.0)
    arrays = prior.compile(0.03, 12)
    beta = newton.fit(Problem(sp.csr_matrix(X)), y, np.ones(200), arrays, variance=0.03, tol=1e-10).weights
    D = curvature(X, y, beta)
    result = irrepresentable(sp.csr_matrix(X), D, beta, arrays)
    whole = np.column_stack([X, np.ones(200)])
    S = np.flatnonzero(beta)
    H = whole.T @ (D[:, None] * whole)
    right = arrays.l1[S] * np.sign(beta[S]) + arrays.l2[S] * beta[S]
    expected = np.abs(H[:, S] @ np.linalg.solve(H[np.ix_(S, S)] + np.diag(arrays.l2[S]), right))[:-1] / arrays.l1[:-1]
    absent = np.setdiff1d(np.arange(12), S)
    assert len(absent) > 2
    np.testing.assert_allclose(result[absent], expected[absent], rtol=1e-8)
    assert np.isnan(result[S[S < 12]]).all()


def test_a_column_that_is_nearly_another_is_found_and_a_lone_one_is_not() -> None:
    """Twins of a kept column cannot be told from it, columns orthogonal to all can: whichever matrix holds them."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 6))
    X[:, 1] = 1.2 * X[:, 0] + 0.05 * rng.normal(size=400)
    beta, arrays = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.2]), Laplace().compile(1.0, 6)
    D = curvature(X, np.ones(400), beta)
    for matrix in (sp.csr_matrix(X), sp.block_diag([X, sp.csr_matrix((4000, 1))], format="csr")[:, :6]):
        weights = np.pad(D, (0, matrix.shape[0] - 400))
        eta = irrepresentable(matrix, weights, beta, arrays)
        assert eta[1] > 1.0
        assert max(eta[3:]) < 1.0
        alike = correlations(matrix, weights, np.array([0, 2]))
        assert alike[0, 0] == pytest.approx(1.0)
        assert alike[1, 0] > 0.99
        covariance = np.cov(X.T, aweights=D, ddof=0)
        deviation = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(alike[:, 1], covariance[:, 2] / (deviation * deviation[2]), atol=1e-9)
