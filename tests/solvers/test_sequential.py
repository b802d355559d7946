"""Fits to new documents and to the past."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.solvers import sequential
from lapwing.stats import certify
from lapwing.stats.objective import PriorArrays
from lapwing.stats.past import Past, low_rank
from lapwing.stats.priors import ElasticNet, Gaussian, Laplace, Prior


def problem(n: int, d: int, seed: int) -> tuple[sp.csr_matrix, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.4, random_state=seed, format="csr")
    truth = np.where(np.arange(d) < 4, 3.0, 0.0)
    y = np.where(generator.random(n) < 1.0 / (1.0 + np.exp(-(X @ truth - 1.0))), 1.0, -1.0)
    return X, y


def of_rank(height: float, centre: np.ndarray, slope: np.ndarray, A: np.ndarray, rank: int) -> Past:
    """The diagonal of A, and between coordinates what a rank holds of it."""
    factor, left = low_rank(np.diagonal(A), lambda a: A[a], rank)
    return Past(height, np.arange(len(centre)), centre, slope, left, factor)


def curvature(past: Past) -> np.ndarray:
    return np.asarray(np.diag(past.bend) + past.factor @ past.factor.T)


def of_documents(X: sp.csr_matrix, y: np.ndarray, beta: np.ndarray) -> Past:
    """The loss of documents at β as a quadratic, written down densely."""
    Z = np.hstack([X.toarray(), np.ones((X.shape[0], 1))])
    margin = y * (Z @ beta)
    theta = 1.0 / (1.0 + np.exp(margin))
    H = Z.T @ ((theta * (1 - theta))[:, None] * Z)
    return of_rank(float(np.logaddexp(0.0, -margin).sum()), beta, -Z.T @ (y * theta), H, len(beta))


def random_curvature(d: int, seed: int) -> np.ndarray:
    root = np.random.default_rng(seed).standard_normal((d, 2 * d))
    return np.asarray(root @ root.T / d)


def random_quadratic(d: int, seed: int, rank: int | None = None) -> Past:
    generator = np.random.default_rng(seed)
    centre, slope = generator.standard_normal((2, d))
    return of_rank(5.0, centre, slope, random_curvature(d, seed), d if rank is None else rank)


def together(one: Past, other: Past) -> Past:
    """The sum, of the rank of all coordinates."""
    A = curvature(other)
    whole = replace(other, bend=np.diagonal(A), factor=other.factor[:, :0])
    return one.plus(whole, lambda a: A[a], len(other.index))


PRIORS = [Laplace(), ElasticNet(), Gaussian()]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
@pytest.mark.parametrize("rank", [0, 3, 13])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_updates_are_certified(prior: Prior, rank: int, link: str) -> None:
    X, y = problem(80, 12, 1)
    arrays = prior.compile(2.0, 12)
    past = random_quadratic(13, 2, rank)
    weight = np.ones(80)
    result = sequential.fit(X, y, weight, arrays, past, np.zeros(13), variance=2.0, link=link, tol=1e-9)
    assert result.converged
    proof = certify(X, y, arrays, result.weights, result.dual, weight, link, past)
    assert 0.0 <= proof.gap <= 1e-9 * abs(proof.objective)
    generator = np.random.default_rng(3)
    for _ in range(50):  # the bound is one: nothing is below it
        other = result.weights + 10.0 ** generator.uniform(-6, 0) * generator.standard_normal(13)
        assert certify(X, y, arrays, other, None, weight, link, past).objective >= proof.objective - proof.gap


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
@pytest.mark.parametrize("rank", [4, 9])
def test_the_gap_bounds_the_distance_anywhere(prior: Prior, rank: int) -> None:
    X, y = problem(60, 8, 4)
    arrays, past, weight = prior.compile(1.0, 8), random_quadratic(9, 5, rank), np.ones(60)
    best = sequential.fit(X, y, weight, arrays, past, np.zeros(9), variance=1.0, tol=1e-11).objective
    generator = np.random.default_rng(6)
    for _ in range(30):
        proof = certify(X, y, arrays, best + generator.standard_normal(9), None, weight, "logit", past)
        assert np.isnan(proof.gap) or proof.dual_objective <= best + 1e-8 * abs(best)


def test_ridge_with_full_curvature_is_newton_from_the_old_posterior() -> None:
    """Show 1: one batch; the same objective minimised by plain Newton steps on dense matrices."""
    X, y = problem(300, 6, 7)
    arrays, d = Gaussian().compile(4.0, 6), 7
    Z = np.hstack([X.toarray(), np.ones((300, 1))])
    old, new = slice(0, 200), slice(200, 300)

    def newton(beta: np.ndarray, rows: slice, past: Past | None) -> np.ndarray:
        for _ in range(50):
            margin = y[rows] * (Z[rows] @ beta)
            theta = 1.0 / (1.0 + np.exp(margin))
            gradient = -Z[rows].T @ (y[rows] * theta) + arrays.l2 * beta
            H = Z[rows].T @ ((theta * (1 - theta))[:, None] * Z[rows]) + np.diag(arrays.l2)
            if past is not None:
                gradient, H = gradient + past.slope + curvature(past) @ (beta - past.centre), H + curvature(past)
            beta = beta - np.linalg.solve(H, gradient)
        return beta

    before = newton(np.zeros(d), old, None)
    past = of_documents(X[old], y[old], before)
    expected = newton(before, new, past)
    result = sequential.fit(X[new], y[new], np.ones(100), arrays, past, before, variance=4.0, tol=1e-14, max_iter=50)
    assert np.abs(result.weights - expected).max() <= 1e-8


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
def test_ten_updates_are_one_fit_where_the_loss_is_quadratic(prior: Prior) -> None:
    """Show 2: the posterior is known; each batch's loss is a quadratic, and what it leaves behind is exact."""
    d, none = 9, sp.csr_matrix((1, 8))
    arrays: PriorArrays = prior.compile(0.5, d - 1)
    batches = [random_quadratic(d, seed) for seed in range(10)]
    nothing = np.zeros(1)  # no document: one of weight 0

    def fit(past: Past, start: np.ndarray) -> np.ndarray:
        return sequential.fit(none, np.ones(1), nothing, arrays, past, start, variance=0.5, tol=1e-15).weights

    beta, past = np.zeros(d), Past.none()
    for batch in batches:
        past = together(past.recentred(beta), batch.recentred(beta))
        beta = fit(past, beta)
        past = past.recentred(beta)
    A = sum(curvature(one) for one in batches)
    slope = sum(one.slope - curvature(one) @ one.centre for one in batches)
    joint = fit(of_rank(1e3, np.zeros(d), slope, A, d), np.zeros(d))
    assert np.abs(beta - joint).max() <= 1e-9 * max(np.abs(joint).max(), 1.0)
    if prior.name == "gaussian":
        expected = -np.linalg.solve(A + np.diag(arrays.l2), slope)
        assert np.abs(beta - expected).max() <= 1e-9


def test_what_a_rank_leaves_out_shrinks_and_stays_on_the_diagonal() -> None:
    A, lost = random_curvature(13, 2), []
    for rank in range(14):
        factor, left = low_rank(np.diagonal(A), lambda a: A[a], rank)
        about = factor @ factor.T + np.diag(left)
        assert np.allclose(np.diagonal(about), np.diagonal(A), rtol=1e-12)
        assert np.linalg.eigvalsh(A - factor @ factor.T)[0] >= -1e-12  # what is left is no negative curvature
        lost.append(left.sum())
    assert np.all(np.diff(lost) < 0.0)
    assert lost[-1] <= 1e-12 * lost[0]
    assert np.allclose(about, A, atol=1e-12)


def test_many_documents_make_updates_exact() -> None:
    """The same with the logistic loss, in the limit of many documents."""
    apart = []
    for n in (200, 20_000):
        X, y = problem(n, 5, 8)
        arrays = Gaussian().compile(4.0, 5)
        joint = sequential.fit(X, y, np.ones(n), arrays, Past.none(), np.zeros(6), variance=4.0, tol=1e-13).weights
        beta, past = np.zeros(6), Past.none()
        for rows in np.array_split(np.arange(n), 10):
            one = np.ones(len(rows))
            beta = sequential.fit(X[rows], y[rows], one, arrays, past, beta, variance=4.0, tol=1e-13).weights
            past = together(past.recentred(beta), of_documents(X[rows], y[rows], beta))
        apart.append(np.abs(beta - joint).max())
    assert apart[1] < apart[0] / 20.0
