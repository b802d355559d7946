"""The default solver over random problems: optimal, invariant, and proof against what breaks others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats import priors
from lapwing.stats.links import LINKS
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.priors import ElasticNet, Gaussian, Laplace, Prior
from lapwing.stats.result import FitResult

pytestmark = pytest.mark.usefixtures("size")
both_links = pytest.mark.parametrize("link", [name for name, link in LINKS.items() if link.code is not None])
PRIORS = [kind() for kind in priors.PRIORS.values() if kind.convex]


def random_problem(seed: int, n: int = 40, d: int = 25) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=rng.uniform(0.05, 0.6), random_state=rng, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.uniform(-1, 1)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > rng.normal(), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, rng.integers(0, 4, size=n).astype(float) + 0.25 * rng.random()


def fit(
    X: sp.csr_matrix, y: np.ndarray, c: np.ndarray, prior: PriorArrays, tol: float = 1e-9, link: str = "logit"
) -> FitResult:
    return newton.fit(Problem(sp.csr_matrix(X)), y, c, prior, variance=1.0, tol=tol, link=link)


def assert_certified(
    X: sp.csr_matrix,
    y: np.ndarray,
    c: np.ndarray,
    prior: PriorArrays,
    result: FitResult,
    tol: float,
    link: str = "logit",
) -> None:
    proof = certify(X, y, prior, result.weights, result.dual, c, link)
    assert result.converged
    assert proof.objective == pytest.approx(result.objective, rel=1e-10)
    assert proof.relative_gap <= tol * (1 + 1e-6) + 1e-13
    assert proof.kkt == pytest.approx(result.kkt, abs=1e-8 * (1 + np.abs(X).sum()))


@pytest.mark.parametrize("seed", range(20))
def test_the_dual_point_is_that_of_the_gap(seed: int) -> None:
    """Feasible as it is, also far from the optimum."""
    X, y, c = random_problem(seed)
    prior = Laplace().compile(1.0, X.shape[1])
    result = fit(X, y, c, prior, tol=1e-2)
    z = np.append(X.T @ (c * y * result.dual), np.sum(c * y * result.dual))
    assert np.all(np.abs(z) <= prior.l1 * (1.0 + 1e-9))


@both_links
@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), log_variance=st.floats(-4, 5))
def test_certified_optimum(prior: Prior, link: str, seed: int, log_variance: float) -> None:
    X, y, c = random_problem(seed)
    arrays = prior.compile(10.0**log_variance, X.shape[1])
    assert_certified(X, y, c, arrays, fit(X, y, c, arrays, link=link), 1e-9, link)


@both_links
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_modes_and_bounds(link: str, seed: int) -> None:
    X, y, c = random_problem(seed)
    rng = np.random.default_rng(seed)
    size = X.shape[1] + 1
    mode = np.where(rng.random(size) < 0.5, 0.0, rng.normal(size=size))
    lower = np.where(rng.random(size) < 0.3, mode, -np.inf)
    upper = np.where((rng.random(size) < 0.3) & np.isinf(lower), mode, np.inf)
    prior = PriorArrays(mode, rng.uniform(0.1, 2, size), rng.choice([0.0, 0.5], size), lower, upper)
    result = newton.fit(Problem(X, merge=False), y, c, prior, variance=1.0, tol=1e-9, link=link)
    assert np.all(result.weights >= lower)
    assert np.all(result.weights <= upper)
    assert_certified(X, y, c, prior, result, 1e-9, link)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_weight_two_is_the_row_twice_and_order_is_nothing(prior: Prior, seed: int) -> None:
    X, y, _ = random_problem(seed)
    n, d = X.shape
    arrays = prior.compile(1.0, d)
    plain = fit(sp.vstack([X, X[:5]], format="csr"), np.append(y, y[:5]), np.ones(n + 5), arrays)
    weighted = fit(X, y, np.append(np.full(5, 2.0), np.ones(n - 5)), arrays)
    assert weighted.objective == pytest.approx(plain.objective, rel=1e-8)
    np.testing.assert_allclose(X @ weighted.weights[:-1], X @ plain.weights[:-1], atol=2e-3)

    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(n), rng.permutation(d)
    base = fit(X, y, np.ones(n), arrays)
    mixed = fit(X[rows][:, columns], y[rows], np.ones(n), arrays)
    assert mixed.objective == pytest.approx(base.objective, rel=1e-8)
    scores = X @ base.weights[:-1] + base.weights[-1]
    np.testing.assert_allclose(X[:, columns] @ mixed.weights[:-1] + mixed.weights[-1], scores, atol=2e-3)


def test_identical_columns_share_their_weight() -> None:
    X, y, c = random_problem(3)
    doubled = sp.hstack([X, X[:, :4], X[:, :4]], format="csr")
    for prior in PRIORS:
        result = fit(doubled, y, c, prior.compile(1.0, doubled.shape[1]))
        d = X.shape[1]
        np.testing.assert_array_equal(result.weights[:4], result.weights[d : d + 4])
        np.testing.assert_array_equal(result.weights[:4], result.weights[d + 4 : d + 8])
        assert_certified(doubled, y, c, prior.compile(1.0, doubled.shape[1]), result, 1e-9)


@both_links
@pytest.mark.parametrize("seed", range(8))
def test_a_ridge_fit_that_is_the_only_one(link: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own kernel, over columns that are not merged: the same optimum, and equal weights for equal columns."""
    monkeypatch.setattr("lapwing.solvers.dense.is_better", lambda problem, smooth: False)
    X, y, c = random_problem(seed)
    X = sp.hstack([X, X[:, :4]], format="csr")
    prior = Gaussian().compile(10.0 ** (seed - 4), X.shape[1])
    prior.mode[:] = np.random.default_rng(seed).choice([0.0, 0.5], X.shape[1] + 1)
    prior.mode[-5:-1] = prior.mode[:4]
    alone = newton.fit(Problem(X, once=True), y, c, prior, variance=1.0, tol=1e-10, link=link)
    assert_certified(X, y, c, prior, alone, 1e-10, link)
    np.testing.assert_allclose(alone.weights[-5:-1], alone.weights[:4], rtol=1e-12)
    assert alone.objective == pytest.approx(fit(X, y, c, prior, link=link).objective, rel=1e-8)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_strong_enough_prior_leaves_the_intercept_only(seed: int) -> None:
    X, y, c = random_problem(seed)
    free = fit(sp.csr_matrix((X.shape[0], 0)), y, c, Laplace().compile(1.0, 0), tol=1e-13)  # the pull is of its root
    pull = c * y / (1 + np.exp(y * free.weights[-1]))
    largest = np.abs(X.T @ pull).max()
    prior = Laplace().compile(1.0, X.shape[1])
    prior.l1[:-1] = largest * (1 + 1e-6)
    result = fit(X, y, c, prior)
    assert not result.weights[:-1].any()
    assert result.weights[-1] == pytest.approx(free.weights[-1], abs=1e-4)
    prior.l1[:-1] = largest * 0.9
    assert fit(X, y, c, prior).weights[:-1].any()


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
def test_warm_and_cold_starts_agree_along_a_coarse_grid(prior: Prior) -> None:
    X, y, c = random_problem(11, n=120, d=80)
    problem, start = Problem(X), None
    for variance in 10.0 ** np.arange(-4, 7, 1.0):
        arrays = prior.compile(variance, X.shape[1])
        cold = newton.fit(problem, y, c, arrays, variance=variance, tol=1e-9)
        warm = newton.fit(problem, y, c, arrays, variance=variance, tol=1e-9, start=start)
        assert cold.converged
        assert warm.converged
        assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
        start = warm.weights


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), before=st.floats(-4, 5), log_variance=st.floats(-4, 5))
def test_warm_and_cold_starts_agree(prior: Prior, seed: int, before: float, log_variance: float) -> None:
    X, y, c = random_problem(seed)
    problem, (first, then) = Problem(X), (prior.compile(10.0**v, X.shape[1]) for v in (before, log_variance))
    start = newton.fit(problem, y, c, first, variance=1.0, tol=1e-4).weights
    cold, warm = (newton.fit(problem, y, c, then, variance=1.0, tol=1e-9, start=s) for s in (None, start))
    assert_certified(X, y, c, then, warm, 1e-9)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)


@pytest.mark.parametrize(("value", "weight"), [(1e12, 1.0), (1e10, 1.0), (1.0, 1e12)])
@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
def test_many_documents_alike_blur_no_certificate(value: float, weight: float, tol: float) -> None:
    """Two thirds have no word. What they pull is large beside that of a document with a large value or weight."""
    rng = np.random.default_rng(0)
    words = rng.random((40, 6)) * (rng.random((40, 6)) < 0.4)
    y = np.append(np.where(words @ [1, 1, -1, 0, 0, 0] + 0.3 * rng.normal(size=40) > 0.3, 1.0, -1.0), -np.ones(80))
    X, positive = np.zeros((120, 7)), np.flatnonzero(y > 0)
    X[:40, :6], X[positive[:3], 6] = words, value * np.array([1.0, 1.3, 0.7])
    c = np.where(np.arange(120) == positive[0], weight, 1.0)
    arrays = Laplace().compile(2.0 / 0.3**2, 7)
    result = fit(sp.csr_matrix(X), y, c, arrays, tol)
    assert result.converged
    assert certify(sp.csr_matrix(X), y, arrays, result.weights, result.dual, c).relative_gap <= tol * (1 + 1e-6)


HARD = {
    "one positive": lambda X, y: (X, np.where(np.arange(len(y)) == 3, 1.0, -1.0)),
    "no positive": lambda X, y: (X, -np.ones(len(y))),
    "separable": lambda X, y: (sp.hstack([X, sp.csr_matrix(y[:, None])], format="csr"), y),
    "constant column": lambda X, y: (sp.hstack([X, sp.csr_matrix(np.ones((len(y), 2)))], format="csr"), y),
    "empty columns": lambda X, y: (sp.hstack([X, sp.csr_matrix((len(y), 5))], format="csr"), y),
    "dense column": lambda X, y: (sp.hstack([X, sp.csr_matrix(np.arange(len(y))[:, None])], format="csr"), y),
    "tiny and huge": lambda X, y: (
        sp.csr_matrix(X @ sp.diags_array(10.0 ** np.linspace(-12, 12, X.shape[1]))),
        y,
    ),
    "all zero": lambda X, y: (sp.csr_matrix(X.shape), y),
    "no column": lambda X, y: (sp.csr_matrix((X.shape[0], 0)), y),
}


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@pytest.mark.parametrize("variance", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("case", HARD)
@both_links
def test_what_breaks_others(link: str, case: str, variance: float, prior: Prior) -> None:
    X, y, _ = random_problem(5, n=60, d=30)
    X, y = HARD[case](X, y)
    arrays = prior.compile(variance, X.shape[1])
    result = fit(X, y, np.ones(len(y)), arrays, tol=1e-6, link=link)
    proof = certify(X, y, arrays, result.weights, result.dual, link=link)
    # Beyond 1e10 a gradient, and so the dual constraint or the gap, is only known to the rounding of a column's sum.
    noise = np.finfo(float).eps * np.append(np.asarray(abs(X).sum(axis=0)), len(y))
    rounding = (
        4 * noise.max() / arrays.l1.min() if arrays.l1.all() else np.sum(noise**2 / (2 * arrays.l2)) / result.objective
    )
    assert result.converged or rounding > 1e-6
    assert proof.relative_gap <= max(1.001e-6, rounding)


@both_links
@pytest.mark.parametrize("standardize", [False, True])
def test_categories_fitted_together_are_those_fitted_alone(standardize: bool, link: str) -> None:
    """Eleven, with priors and weights of their own, on eight lanes: to the bit, and the proof with it."""
    X, _, _ = random_problem(3, n=80, d=40)
    draw = np.random.default_rng(1)
    Y = np.where(draw.random((11, 80)) < draw.uniform(0.02, 0.6, (11, 1)), 1.0, -1.0)
    weights = draw.choice([0.0, 0.5, 1.0, 2.0], size=(11, 80))
    problem = Problem(X, np.ones(80) if standardize else None)
    variances = draw.choice([0.01, 1.0, 1e4], size=11).tolist()
    given_priors = [Gaussian().compile(v, 40) for v in variances]
    together = newton.fit_many(problem, Y, weights, given_priors, variances=variances, tol=1e-8, link=link)
    for k, result in enumerate(together):
        alone = newton.fit(problem, Y[k], weights[k], given_priors[k], variance=variances[k], tol=1e-8, link=link)
        assert result.converged
        assert np.array_equal(result.weights, alone.weights)
        assert (result.objective, result.gap, result.rounds) == (alone.objective, alone.gap, alone.rounds)
        if not standardize:
            proof = certify(X, Y[k], given_priors[k], result.weights, result.dual, weights[k], link=link)
            assert proof.relative_gap <= 1.001e-8


def test_a_free_intercept_has_no_gap_but_a_kkt_bound() -> None:
    X, y, c = random_problem(8)
    for prior in PRIORS:
        arrays = prior.compile(1.0, X.shape[1], np.inf)
        result = fit(X, y, c, arrays, tol=1e-8)
        proof = certify(X, y, arrays, result.weights, result.dual, c)
        assert result.converged
        assert np.isnan(result.gap)
        assert proof.kkt_bound <= 1.01e-8 * proof.objective
        assert abs(np.sum(c * y / (1 + np.exp(y * (X @ result.weights[:-1] + result.weights[-1]))))) < 1e-5


def test_wide_and_very_wide() -> None:
    rng = np.random.default_rng(0)
    X = sp.random(200, 100_000, density=0.0005, random_state=rng, format="csr")
    y = np.where(rng.random(200) < 0.3, 1.0, -1.0)
    for prior, variance in ((Laplace(), 100.0), (Gaussian(), 10.0), (ElasticNet(0.01), 1e4)):
        arrays = prior.compile(variance, X.shape[1])
        assert_certified(X, y, np.ones(200), arrays, fit(X, y, np.ones(200), arrays, tol=1e-5), 1e-5)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_wide_working_set_needs_no_matrix(standardize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it matter that a kernel without that way began, and ended when the set grew too wide for it."""
    rng = np.random.default_rng(1)
    words = rng.zipf(1.3, size=(1500, 40)) % 3000
    X = sp.csr_matrix((np.ones(words.size), (np.repeat(np.arange(1500), 40), words.ravel())), shape=(1500, 3000))
    c = np.ones(1500)
    y = np.where(X @ rng.normal(size=3000) + 6.0 * rng.normal(size=1500) > 0, 1.0, -1.0)
    problem = Problem(X, c if standardize else None)
    arrays = Laplace().compile(1e4, 3000)
    objectives = []
    for dense in (200, 10**6):
        monkeypatch.setattr(newton, "SMALL", -1)
        monkeypatch.setattr(newton, "DENSE", dense)
        monkeypatch.setattr(newton, "WIDER", dense)
        result = newton.fit(problem, y, c, arrays, variance=1e4, tol=1e-6)
        assert result.converged
        assert np.count_nonzero(result.weights) > 400
        if not standardize:
            assert_certified(X, y, c, arrays, result, 1e-6)
        objectives.append(result.objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)


def test_a_start_at_features_of_documents_that_weigh_nothing() -> None:
    """As in a fold of cross-validation that begins where another ended."""
    X, y, c = random_problem(3)
    c[:10] = 0.0
    X = sp.csr_matrix(sp.hstack([X, sp.random(40, 5, 0.9, random_state=0).multiply(np.arange(40)[:, None] < 10)]))
    for prior in PRIORS:
        arrays = prior.compile(10.0, X.shape[1])
        start = np.clip(np.ones(X.shape[1] + 1), arrays.lower, arrays.upper)
        result = newton.fit(Problem(X), y, c, arrays, variance=10.0, tol=1e-9, start=start)
        assert_certified(X, y, c, arrays, result, 1e-9)
        assert np.abs(result.weights[-6:-1]).max() <= 1e-5
