"""EM: the optimum where there is one, a stationary point where there is none, and never a step back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfcx, expit, log_ndtr

from lapwing.errors import SettingsError
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats import PriorArrays, certify, certify_stationary
from lapwing.stats.links import LINKS
from lapwing.stats.priors import ElasticNet, Gaussian, Jeffreys, Laplace, Prior
from lapwing.stats.result import FitResult
from lapwing_papers.solvers import probit_em

both_links = pytest.mark.parametrize("link", [name for name, link in LINKS.items() if link.code is not None])
CONVEX = [Laplace(), Gaussian(), ElasticNet(0.5)]


def random_problem(seed: int, n: int | None = None, d: int | None = None) -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(1, 60)), d if d is not None else int(rng.integers(0, 60))
    X = sp.random(n, d, density=rng.uniform(0.1, 0.7), random_state=rng, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.uniform(-1, 0.5)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > rng.normal(), 1.0, -1.0)


def fit(X: sp.csr_matrix, y: np.ndarray, prior: PriorArrays, c: np.ndarray | None = None, **options) -> FitResult:
    c = np.ones(len(y)) if c is None else c
    return probit_em.fit(Problem(sp.csr_matrix(X)), y, c, prior, variance=1.0, **options)


def jeffreys(X: sp.csr_matrix, y: np.ndarray, **options) -> FitResult:
    d = X.shape[1]
    return fit(X, y, Jeffreys().compile(1.0, d), jeffreys=np.ones(d + 1, dtype=bool), **options)


@both_links
@pytest.mark.parametrize("prior", CONVEX, ids=lambda p: p.name)
@settings(max_examples=70, deadline=None)
@given(seed=st.integers(0, 10**6), log_variance=st.floats(-2, 3), block=st.sampled_from([1000, 1000, 7]))
def test_the_objective_is_the_default_solvers(
    prior: Prior, link: str, seed: int, log_variance: float, block: int
) -> None:
    X, y = random_problem(seed)
    c = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    c[0] = 1.0
    arrays, trace = prior.compile(10.0**log_variance, X.shape[1]), []
    best = newton.fit(Problem(X), y, c, arrays, variance=1.0, tol=1e-9, link=link)
    result = fit(X, y, arrays, c, tol=1e-7, link=link, block=block, trace=trace)
    assert result.converged
    assert result.objective == pytest.approx(best.objective, rel=1e-6)
    proof = certify(X, y, arrays, result.weights, result.dual, c, link)
    assert proof.objective == pytest.approx(result.objective, rel=1e-9)
    assert proof.relative_gap <= 1.01e-7 + 1e-12
    assert np.all(np.diff(trace) <= 1e-12 * (1.0 + np.abs(trace[:-1])))


@pytest.mark.parametrize("gamma", [4.0, 9.0])
def test_the_fixed_point_has_lambda_root_gamma(gamma: float) -> None:
    """EGJLM03 with the E-step √γ/|β|: KKT conditions in plain NumPy with SciPy's log_ndtr, no acceleration.

    With the printed γ/|β| the slopes would be γ, not √γ.
    """
    X, y = random_problem(5, n=80, d=10)
    lam = np.sqrt(gamma)
    prior = Laplace().compile(2.0 / gamma, 10)
    np.testing.assert_allclose(prior.l1, lam)
    result = fit(X, y, prior, link="probit", accelerate=False, tol=1e-7, max_iter=100_000)
    assert result.converged
    Z, beta = np.column_stack([X.toarray(), np.ones(80)]), result.weights
    for j in range(11):
        step = np.zeros(11)
        step[j] = 1e-5
        slope = (np.sum(log_ndtr(y * (Z @ (beta - step)))) - np.sum(log_ndtr(y * (Z @ (beta + step))))) / 2e-5
        if beta[j] != 0.0:
            assert slope == pytest.approx(-lam * np.sign(beta[j]), abs=1e-3 * lam)
        else:
            assert abs(slope) <= lam * (1 + 1e-3)
    assert 0 < np.count_nonzero(beta) <= 11


def plain_em(X: np.ndarray, y: np.ndarray, beta: np.ndarray, precision, iterations: int) -> np.ndarray:
    """Eq. 10 and 13, corrected, as they stand: no coefficient may be zero."""
    Z = np.column_stack([X, np.ones(len(y))])
    for _ in range(iterations):
        s = Z @ beta
        v = s + y * np.sqrt(2 / np.pi) / erfcx(-y * s / np.sqrt(2))
        beta = np.linalg.solve(np.diag(precision(beta)) + Z.T @ Z, Z.T @ v)
    return beta


@pytest.mark.parametrize("n", [60, 6])  # d×d and, for d > n, n×n
def test_the_steps_are_the_papers(n: int) -> None:
    rng = np.random.default_rng(1)
    X, y, start = rng.normal(size=(n, 12)), rng.choice([-1.0, 1.0], size=n), rng.normal(size=13)
    options = {"link": "probit", "start": start, "accelerate": False, "max_iter": 3, "tol": 1e-30}
    result = fit(X, y, Laplace().compile(2.0, 12), **options).weights
    np.testing.assert_allclose(result, plain_em(X, y, start, lambda b: 1.0 / abs(b), 3), rtol=1e-6)
    result = jeffreys(X, y, **options).weights
    true = plain_em(X, y, start, lambda b: 1.0 / b**2, 3)
    alive = result != 0.0
    assert alive.sum() >= 3
    np.testing.assert_allclose(result[alive], true[alive], rtol=1e-6)
    assert np.all(np.abs(true[~alive]) < 1e-8)


def test_the_logistic_step_is_polya_gammas() -> None:
    """β = (Ω + XᵀWX)⁻¹ Xᵀ y/2 with W = tanh(s/2)/2s, once."""
    X, y = random_problem(4, n=30, d=5)
    start = np.random.default_rng(2).normal(size=6)
    prior = Gaussian().compile(0.5, 5)
    result = fit(X, y, prior, link="logit", start=start, accelerate=False, max_iter=1)
    Z = np.column_stack([X.toarray(), np.ones(30)])
    s = Z @ start
    true = np.linalg.solve(2.0 * np.eye(6) + Z.T @ (Z * (np.tanh(s / 2) / (2 * s))[:, None]), Z.T @ y / 2)
    np.testing.assert_allclose(result.weights, true, rtol=1e-10)


@both_links
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), block=st.sampled_from([1000, 1000, 7]))
def test_jeffreys_is_stationary_and_a_local_minimum(link: str, seed: int, block: int) -> None:
    X, y = random_problem(seed)
    result = jeffreys(X, y, link=link, block=block)
    assert result.converged
    assert np.isnan(result.gap)
    Z, alive = np.column_stack([X.toarray(), np.ones(len(y))]), np.flatnonzero(result.weights)
    beta, margin = result.weights[alive], y * (Z @ result.weights)
    theta = expit(-margin) if link == "logit" else np.sqrt(2 / np.pi) / erfcx(-margin / np.sqrt(2))
    bend = theta * (1 - theta) if link == "logit" else theta * (theta + margin)
    slope = -Z[:, alive].T @ (y * theta) + 1 / beta
    assert np.all(np.abs(slope * beta) <= 1e-6)
    H = Z[:, alive].T @ (Z[:, alive] * bend[:, None]) - np.diag(beta**-2)
    if len(alive):
        assert np.linalg.eigvalsh(H * np.outer(abs(beta), abs(beta)))[0] > 0
        assert result.curvature > 0.0
    proof = certify_stationary(X, y, result.weights, link=link)
    assert proof.local_minimum
    assert proof.alive == len(alive)
    assert proof.objective == pytest.approx(result.objective, rel=1e-9, abs=1e-9)
    assert proof.curvature == pytest.approx(result.curvature, rel=1e-6, abs=1e-9)


@both_links
def test_under_jeffreys_the_posterior_of_those_alive_never_falls(link: str) -> None:
    """Between two deaths the objective, over the same coefficients, goes down only."""
    X, y = random_problem(8, n=60, d=30)
    problem, c = Problem(X), np.ones(60)
    arrays, mask = Jeffreys().compile(1.0, 30), np.ones(31, dtype=bool)
    em = probit_em._EM(problem, y, c, problem.merge(arrays), mask, link, 1000, None)
    em.begin(None)
    deaths = 0
    for _ in range(60):
        alive, before = em.alive.copy(), em.objective
        em._step(True)
        assert em.objective <= before + 1e-10 * (1 + abs(before))
        em._drop(em.gradient())
        deaths += alive.sum() - em.alive.sum()
    assert deaths > 10


def test_the_start_decides_under_jeffreys() -> None:
    X, y = random_problem(11, n=50, d=20)
    far = jeffreys(X, y, link="probit")
    again = jeffreys(X, y, link="probit", start=far.weights)
    np.testing.assert_allclose(again.weights, far.weights, rtol=1e-6)
    one = np.zeros(21)
    one[-1] = 1.0
    alone = jeffreys(X, y, link="probit", start=one)
    assert not alone.weights[:-1].any()
    assert certify_stationary(X, y, alone.weights, link="probit").local_minimum


def test_coefficients_that_were_let_go_come_back() -> None:
    """A start that has only the intercept, which for Laplace is no obstacle."""
    X, y = random_problem(13, n=50, d=20)
    start = np.zeros(21)
    start[-1] = 0.5
    arrays = Laplace().compile(5.0, 20)
    best = newton.fit(Problem(X), y, np.ones(50), arrays, variance=5.0, tol=1e-10, link="probit")
    result = fit(X, y, arrays, start=start, link="probit", tol=1e-8)
    assert np.count_nonzero(best.weights) > 3
    assert result.objective == pytest.approx(best.objective, rel=1e-7)


@both_links
def test_modes_and_standardised_columns_and_a_free_intercept(link: str) -> None:
    X, y = random_problem(21, n=70, d=15)
    rng = np.random.default_rng(0)
    c = np.ones(70)
    prior = Laplace().compile(3.0, 15, np.inf)
    prior.mode[:] = rng.normal(size=16)
    for problem in (Problem(X, merge=False), Problem(X, c, merge=False)):
        best = newton.fit(problem, y, c, prior, variance=3.0, tol=1e-9, link=link)
        result = probit_em.fit(problem, y, c, prior, variance=3.0, tol=1e-7, link=link)
        assert result.converged
        assert np.isnan(result.gap)
        assert result.objective == pytest.approx(best.objective, rel=1e-6)
        np.testing.assert_allclose(problem.scores(result.weights), problem.scores(best.weights), atol=2e-3)


def test_what_em_cannot_do_is_said() -> None:
    X, y = random_problem(2, n=10, d=3)
    flat = PriorArrays(*np.zeros((3, 4)), np.full(4, -np.inf), np.full(4, np.inf))
    with pytest.raises(SettingsError, match="finite variance on every feature"):
        fit(X, y, flat)
    bounded = Laplace().compile(1.0, 3)
    bounded.lower[0] = 0.0
    with pytest.raises(SettingsError, match="no bounds"):
        fit(X, y, bounded)
    with pytest.raises(SettingsError, match="block must be"):
        fit(X, y, Laplace().compile(1.0, 3), block=0)
    with pytest.raises(SettingsError, match="start must be least_squares"):
        Jeffreys(start="zero")


HARD = {
    "separable": lambda X, y: (sp.hstack([X, sp.csr_matrix(y[:, None])], format="csr"), y),
    "constant column": lambda X, y: (sp.hstack([X, sp.csr_matrix(np.ones((len(y), 1)))], format="csr"), y),
    "twins": lambda X, y: (sp.hstack([X, X], format="csr"), y),
    "one document": lambda X, y: (X[:1], y[:1]),
    "all labels equal": lambda X, y: (X, np.ones(len(y))),
    "empty columns": lambda X, y: (sp.hstack([X, sp.csr_matrix((len(y), 5))], format="csr"), y),
    "no column": lambda X, y: (sp.csr_matrix((len(y), 0)), y),
    "huge": lambda X, y: (X * 1e6, y),
    "tiny": lambda X, y: (X * 1e-6, y),
}


@both_links
@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("prior", [*CONVEX, Jeffreys()], ids=lambda p: p.name)
def test_what_breaks_others(prior: Prior, case: str, link: str) -> None:
    X, y = HARD[case](*random_problem(17, n=30, d=12))
    d = X.shape[1]
    arrays = prior.compile(1.0, d)
    if prior.convex:
        result = fit(X, y, arrays, link=link)
        assert result.converged
        assert certify(X, y, arrays, result.weights, result.dual, link=link).relative_gap <= 1.01e-4
    else:
        result = jeffreys(X, y, link=link)
        assert result.converged
        assert certify_stationary(X, y, result.weights, link=link).local_minimum
    assert np.isfinite(result.weights).all()


@pytest.mark.parametrize("ratio", [0.2, 0.3, 0.8])
def test_where_it_does_not_arrive_it_says_so(ratio: float) -> None:
    """Columns of a million under an elastic net: for some ratios EM ends far away. What it says is what is proved."""
    X, y = HARD["huge"](*random_problem(17, n=30, d=12))
    arrays = ElasticNet(ratio).compile(1.0, X.shape[1])
    result = fit(X, y, arrays, link="probit")
    assert result.converged == (
        certify(X, y, arrays, result.weights, result.dual, link="probit").relative_gap <= 1.01e-4
    )
    best = newton.fit(Problem(X), y, np.ones(len(y)), arrays, variance=1.0, link="probit")
    assert best.converged  # and the default solver arrives
    assert best.objective <= result.objective * (1 + 1e-4)
