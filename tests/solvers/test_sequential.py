"""Fits to new documents and to the past."""

from __future__ import annotations

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


def full(height: float, centre: np.ndarray, slope: np.ndarray, A: np.ndarray) -> Past:
    index = np.arange(len(centre))
    return Past(height, index, centre, slope, np.zeros(len(centre)), index, A)


def of_documents(X: sp.csr_matrix, y: np.ndarray, beta: np.ndarray) -> Past:
    """The loss of documents at β as a quadratic, written down densely."""
    Z = np.hstack([X.toarray(), np.ones((X.shape[0], 1))])
    margin = y * (Z @ beta)
    theta = 1.0 / (1.0 + np.exp(margin))
    H = Z.T @ ((theta * (1 - theta))[:, None] * Z)
    return full(float(np.logaddexp(0.0, -margin).sum()), beta, -Z.T @ (y * theta), H)


def random_quadratic(d: int, seed: int) -> Past:
    generator = np.random.default_rng(seed)
    root = generator.standard_normal((d, 2 * d))
    return full(5.0, generator.standard_normal(d), generator.standard_normal(d), root @ root.T / d)


def of_rank(past: Past, rank: int) -> Past:
    """Its diagonal, and between coordinates what a rank holds of it."""
    factor, left = low_rank(np.diagonal(past.block), lambda a: past.block[a], rank)
    return Past(past.height, past.index, past.centre, past.slope, left, past.places, np.empty((0, 0)), factor)


PRIORS = [Laplace(), ElasticNet(), Gaussian()]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
@pytest.mark.parametrize("rank", [0, 3, 13, None])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_updates_are_certified(prior: Prior, rank: int | None, link: str) -> None:
    X, y = problem(80, 12, 1)
    arrays = prior.compile(2.0, 12)
    past = random_quadratic(13, 2)
    if rank is not None:
        past = of_rank(past, rank)
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
@pytest.mark.parametrize("rank", [4, None])
def test_the_gap_bounds_the_distance_anywhere(prior: Prior, rank: int | None) -> None:
    X, y = problem(60, 8, 4)
    arrays, past, weight = prior.compile(1.0, 8), random_quadratic(9, 5), np.ones(60)
    past = past if rank is None else of_rank(past, rank)
    best = sequential.fit(X, y, weight, arrays, past, np.zeros(9), variance=1.0, tol=1e-11).objective
    generator = np.random.default_rng(6)
    for _ in range(30):
        proof = certify(X, y, arrays, best + generator.standard_normal(9), None, weight, "logit", past)
        assert np.isnan(proof.gap) or proof.dual_objective <= best + 1e-8 * abs(best)


@pytest.mark.parametrize("rank", [0, 4, None])
def test_the_curvature_in_parts_is_the_curvature(rank: int | None) -> None:
    """Of some coordinates, known and not, what the inner problem is given."""
    past = random_quadratic(9, 5) if rank is None else of_rank(random_quadratic(9, 5), rank)
    if rank is None:  # one more that is known on its diagonal
        past = past.joined(Past(0.0, np.array([12]), *np.ones((3, 1)), past.places[:0], np.empty((0, 0))))
    columns = np.array([1, 2, 5, 8, 10, 12])
    block, place, factor, bend = past.over(columns)
    A = np.diag(bend) + factor @ factor.T
    inside = place >= 0
    A[np.ix_(inside, inside)] += block[np.ix_(place[inside], place[inside])]
    assert np.allclose(A, past.curvature(columns), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rank", [4, None])
@pytest.mark.parametrize("bare", [[8], [0, 3, 8], list(range(9))])
def test_what_is_spared_for_a_tangent_leaves_no_negative_curvature(rank: int | None, bare: list[int]) -> None:
    """A prior without curvature in some coordinates takes its share from the past's, which stays convex."""
    past = random_quadratic(9, 5) if rank is None else of_rank(random_quadratic(9, 5), rank)
    l2 = np.ones(9)
    l2[bare] = 0.0
    arrays = Laplace().compile(1.0, 8)._replace(l2=l2)
    spared = past.bound(arrays, np.ones(9))[0].l2 - l2
    assert np.all(spared[bare] >= 0.0)
    assert np.linalg.eigvalsh(past.between + np.diag(past.bend - spared))[0] >= -1e-12


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
                gradient, H = gradient + past.slope + past.block @ (beta - past.centre), H + past.block
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
        past = past.recentred(beta).joined(batch.recentred(beta))
        beta = fit(past, beta)
        past = past.recentred(beta)
    A = sum(one.block for one in batches)
    slope = sum(one.slope - one.block @ one.centre for one in batches)
    joint = fit(full(1e3, np.zeros(d), slope, A), np.zeros(d))
    assert np.abs(beta - joint).max() <= 1e-9 * max(np.abs(joint).max(), 1.0)
    if prior.name == "gaussian":
        expected = -np.linalg.solve(A + np.diag(arrays.l2), slope)
        assert np.abs(beta - expected).max() <= 1e-9


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
def test_a_curvature_of_whole_rank_is_the_whole_of_it(prior: Prior) -> None:
    """Solved by the entries of documents in place of a matrix, to the same optimum."""
    X, y = problem(80, 12, 1)
    arrays, past = prior.compile(2.0, 12), random_quadratic(13, 2)
    one, other = (
        sequential.fit(X, y, np.ones(80), arrays, kind, np.zeros(13), variance=2.0, tol=1e-13).weights
        for kind in (past, of_rank(past, 13))
    )
    assert np.abs(one - other).max() <= 1e-6


def test_what_a_rank_leaves_out_shrinks_and_stays_on_the_diagonal() -> None:
    A, lost = random_quadratic(13, 2).block, []
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
            past = past.recentred(beta).joined(of_documents(X[rows], y[rows], beta))
        apart.append(np.abs(beta - joint).max())
    assert apart[1] < apart[0] / 20.0
