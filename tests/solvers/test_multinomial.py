"""The polytomous solver over random problems: its certificate recomputed in plain NumPy, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lapwing.solvers import multinomial
from lapwing.solvers.problem import Problem
from lapwing.stats import priors
from lapwing.stats.links import log_sum_exp
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.priors import Gaussian, Laplace, Prior
from lapwing.stats.result import FitResult

TOL = 1e-8
PRIORS = [kind() for kind in priors.PRIORS.values() if kind.convex]
seeds = st.integers(0, 10**6)


def random_problem(seed: int) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray, int]:
    rng = np.random.default_rng(seed)
    n, d, classes = rng.integers(5, 50), rng.integers(1, 25), rng.integers(2, 6)
    X = sp.random(n, d, density=rng.uniform(0.05, 0.8), random_state=rng, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.uniform(-1, 1)
    y = np.argmax(X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes)), axis=1)
    return X, y, rng.integers(0, 4, size=n) + 0.25 * rng.random(), int(classes)


def stacked(prior: Prior, variance: float, features: int, classes: int, intercept: float | None = None) -> PriorArrays:
    row = prior.compile(variance, features, intercept)
    return PriorArrays(*(np.tile(part, (classes, 1)) for part in row))


def fit(X: sp.csr_matrix, y: np.ndarray, c: np.ndarray, prior: PriorArrays, **options: float) -> FitResult:
    problem = Problem(X, merge=bool(options.pop("merge", True)))
    return multinomial.fit(problem, y, c, prior, **{"tol": TOL, **options})


def assert_certified(
    X: sp.csr_matrix, y: np.ndarray, c: np.ndarray, prior: PriorArrays, result: FitResult, tol: float = TOL
) -> None:
    proof = certify(X, y, prior, result.weights, result.dual, c)
    assert result.converged
    assert proof.objective == pytest.approx(result.objective, rel=1e-9)
    assert proof.relative_gap <= tol * (1 + 1e-6) + 1e-12
    assert proof.kkt == pytest.approx(result.kkt, abs=1e-8 * (1 + np.abs(X).sum()))


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@settings(max_examples=60, deadline=None)
@given(seed=seeds, log_variance=st.floats(-4, 4))
@example(seed=6846, log_variance=3.0)  # quadratic models solved too roughly: hundreds of rounds
def test_certified_optimum(prior: Prior, seed: int, log_variance: float) -> None:
    X, y, c, classes = random_problem(seed)
    arrays = stacked(prior, 10.0**log_variance, X.shape[1], classes)
    assert_certified(X, y, c, arrays, fit(X, y, c, arrays))


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_priors_of_every_kind_at_once(seed: int) -> None:
    """Modes, one-sided signs, both penalties, fixed rows: every coordinate of every class by itself."""
    X, y, c, classes = random_problem(seed)
    rng = np.random.default_rng(seed + 1)
    shape = (classes, X.shape[1] + 1)
    kind = rng.integers(0, 3, size=shape)
    size = 10.0 ** rng.uniform(-2, 1, size=shape)
    mode = np.where(rng.random(shape) < 0.3, rng.normal(size=shape), 0.0)
    side = rng.integers(-1, 2, size=shape)
    prior = PriorArrays(
        mode,
        np.where(kind != 1, size, 0.0),
        np.where(kind != 0, size, 0.0),
        np.where(side > 0, mode, -np.inf),
        np.where(side < 0, mode, np.inf),
    )
    if seed % 3 == 0:
        for part in (prior.mode, prior.lower, prior.upper):
            part[0] = 0.0
    result = fit(X, y, c, prior, merge=False)
    assert_certified(X, y, c, prior, result)
    assert np.all((result.weights >= prior.lower) & (result.weights <= prior.upper))


def subgradient_distances(
    X: sp.csr_matrix, y: np.ndarray, c: np.ndarray, prior: PriorArrays, weights: np.ndarray
) -> np.ndarray:
    """How far 0 is from the subdifferential, coordinate by coordinate, from the definitions alone."""
    dense = np.column_stack([X.toarray(), np.ones(len(y))])
    scores = dense @ weights.T
    proba = np.exp(scores - log_sum_exp(scores)[:, None])
    slope = ((proba - np.eye(len(weights))[y]) * c[:, None]).T @ dense + prior.l2 * (weights - prior.mode)
    low = slope + np.where(weights > prior.mode, prior.l1, -prior.l1)
    high = slope + np.where(weights < prior.mode, -prior.l1, prior.l1)
    low = np.where(weights <= prior.lower, -np.inf, low)  # at a bound any multiplier that holds it there
    high = np.where(weights >= prior.upper, np.inf, high)
    return np.maximum(np.maximum(low, -high), 0.0)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_optimality_with_modes_signs_infinite_and_tiny_variances(seed: int) -> None:
    """In plain NumPy; a coefficient of tiny variance is its mode, one of infinite variance has no slope."""
    X, y, c, classes = random_problem(seed)
    rng = np.random.default_rng(seed + 2)
    y[:classes], c = np.arange(classes)[: len(y)], c + 0.5
    shape = (classes, X.shape[1] + 1)
    mode = np.where(rng.random(shape) < 0.3, rng.normal(size=shape), 0.0)
    side = rng.integers(-1, 2, size=shape)
    l1 = 10.0 ** rng.uniform(-1, 1, size=shape)
    flat = np.zeros(shape, dtype=bool)
    flat[0, -1] = seed % 2 == 0
    tiny = (rng.random(shape) < 0.1) & ~flat
    l1[tiny], l1[flat], side[flat] = 1e9, 0.0, 0
    prior = PriorArrays(mode, l1, np.zeros(shape), np.where(side > 0, mode, -np.inf), np.where(side < 0, mode, np.inf))
    result = fit(X, y, c, prior, merge=False)
    assert result.converged
    np.testing.assert_array_equal(result.weights[tiny], mode[tiny])
    assert np.all((result.weights >= prior.lower) & (result.weights <= prior.upper))
    distance = subgradient_distances(X, y, c, prior, result.weights)
    assert np.all(distance <= 0.01 * np.maximum(l1, 0.1))


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_infinite_variance(seed: int) -> None:
    """No dual point: the KKT bound stands in, and the intercepts' gradients are zero."""
    X, y, c, classes = random_problem(seed)
    y[:classes], c = np.arange(classes)[: len(y)], c + 0.5
    arrays = stacked(Laplace(), 1.0, X.shape[1], classes, np.inf)
    result = fit(X, y, c, arrays)
    proof = certify(X, y, arrays, result.weights, result.dual, c)
    assert np.isnan(result.gap)
    assert np.isnan(proof.gap)
    assert result.converged
    assert proof.relative_gap <= TOL * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("variance", [1e-12, 1e12], ids=["tiny", "huge"])
@pytest.mark.parametrize("prior", [Laplace(), Gaussian()], ids=lambda p: p.name)
def test_one_coefficient_told_its_mode(prior: Prior, variance: float) -> None:
    """Of variance → 0 it gets the mode; of variance → ∞ what it would have without a prior."""
    X, y, c, classes = random_problem(5)
    arrays = stacked(prior, 1.0, X.shape[1], classes)
    l1, l2 = prior.strengths(np.array(variance))
    arrays.l1[1, 0], arrays.l2[1, 0], arrays.mode[1, 0] = l1, l2, 0.7
    free = PriorArrays(*(part.copy() for part in arrays))
    free.l1[1, 0] = free.l2[1, 0] = 0.0
    result = fit(X, y, c, arrays, merge=False).weights[1, 0]
    if variance < 1.0:
        assert result == pytest.approx(0.7, abs=1e-6)
    else:
        assert result == pytest.approx(fit(X, y, c, free, merge=False).weights[1, 0], abs=1e-2)


def test_against_a_general_optimiser() -> None:
    X, y, c, classes = random_problem(11)
    arrays = stacked(Gaussian(), 2.0, X.shape[1], classes)
    dense = np.column_stack([X.toarray(), np.ones(len(y))])

    def objective(flat: np.ndarray) -> float:
        beta = flat.reshape(arrays.mode.shape)
        scores = dense @ beta.T
        return float(c @ (log_sum_exp(scores) - scores[np.arange(len(y)), y]) + 0.25 * np.sum(beta**2))

    best = minimize(objective, np.zeros(arrays.mode.size), method="BFGS", options={"gtol": 1e-7})
    result = fit(X, y, c, arrays)
    assert result.objective == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(result.weights.ravel(), best.x, atol=1e-3)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
def test_a_document_twice_is_weight_two(prior: Prior) -> None:
    X, y, c, classes = random_problem(21)
    arrays = stacked(prior, 1.0, X.shape[1], classes)
    twice = fit(sp.vstack([X, X], format="csr"), np.append(y, y), np.append(c, c), arrays)
    once = fit(X, y, 2.0 * c, arrays)
    assert twice.objective == pytest.approx(once.objective, rel=1e-7)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
def test_order_of_classes_and_columns_does_not_matter(prior: Prior) -> None:
    X, y, c, classes = random_problem(31)
    rng = np.random.default_rng(0)
    arrays = stacked(prior, 1.0, X.shape[1], classes)
    order, columns = rng.permutation(classes), rng.permutation(X.shape[1])
    result = fit(X, y, c, arrays)
    other = fit(X[:, columns].tocsr(), np.argsort(order)[y], c, arrays)
    assert other.objective == pytest.approx(result.objective, rel=1e-7)
    scores = X @ result.weights[:, :-1].T + result.weights[:, -1]
    again = X[:, columns] @ other.weights[:, :-1].T + other.weights[:, -1]
    relative = scores - scores.mean(axis=1, keepdims=True)
    np.testing.assert_allclose((again - again.mean(axis=1, keepdims=True)), relative[:, order], atol=2e-2)


def test_a_strong_prior_gives_all_zeros() -> None:
    X, y, c, classes = random_problem(41)
    assert not fit(X, y, c, stacked(Laplace(), 1e-9, X.shape[1], classes)).weights.any()


def test_two_classes_with_one_for_reference_are_the_binary_model() -> None:
    """Softmax over (0, s) is the logistic function of s."""
    from lapwing.solvers import newton

    X, y, c, _ = random_problem(51)
    y = (y > 0).astype(int)
    for prior in PRIORS:
        arrays = stacked(prior, 1.0, X.shape[1], 2)
        for part in (arrays.mode, arrays.lower, arrays.upper):
            part[0] = 0.0
        result = fit(X, y, c, arrays)
        binary = newton.fit(Problem(X), 2.0 * y - 1.0, c, prior.compile(1.0, X.shape[1]), variance=1.0, tol=TOL)
        assert not result.weights[0].any()
        assert result.objective == pytest.approx(binary.objective, rel=1e-7)
        np.testing.assert_allclose(result.weights[1], binary.weights, atol=1e-3)


def test_centred_columns_without_filling_the_matrix() -> None:
    X, y, c, classes = random_problem(61)
    arrays = stacked(Laplace(), 1.0, X.shape[1], classes)
    weight = np.ones(len(y))
    problem = Problem(X, weight, merge=False)
    result = multinomial.fit(problem, y, c, arrays, tol=TOL)
    dense = X.toarray()
    scale = np.where(dense.std(axis=0) > 0, dense.std(axis=0), 1.0)
    other = fit(sp.csr_matrix((dense - dense.mean(axis=0)) / scale), y, c, arrays, merge=False)
    assert result.converged
    assert result.objective == pytest.approx(other.objective, rel=1e-7)
