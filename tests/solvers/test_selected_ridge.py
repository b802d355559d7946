"""Theorem 3.1 and Eq. 4 of AAGBD11 against what a generic solver finds, and against their optimality conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.solvers.selected_ridge import Selected, select, universal_penalty
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.priors import Gaussian


@dataclass
class Ridge:
    """A random problem with its ridge solution, and the Hessian there in full."""

    X: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray
    prior: PriorArrays
    problem: Problem
    star: np.ndarray

    @property
    def hessian(self) -> np.ndarray:
        X = np.hstack([self.X.toarray(), np.ones((self.X.shape[0], 1))])
        p = 1.0 / (1.0 + np.exp(-X @ self.star))
        return X.T @ ((self.weight * p * (1.0 - p))[:, None] * X) + np.diag(self.prior.l2)

    def select(self, alpha: float, hessian: str) -> Selected:
        return select(self.problem, self.y, self.weight, self.problem.merge(self.prior), self.star, alpha, hessian)


def ridge(
    n: int = 60, d: int = 12, variance: float = 2.0, seed: int = 0, *, alike: int = 0, merge: bool = True
) -> Ridge:
    draw = np.random.default_rng(seed)
    X = sp.random(n, d, 0.3, random_state=seed, format="csr")
    if alike:
        X = sp.hstack([X, X[:, :alike], X[:, :1]]).tocsr()
    truth = draw.standard_normal(X.shape[1]) * (draw.random(X.shape[1]) < 0.5)
    y = np.where(X @ truth + 0.5 * draw.standard_normal(n) > 0, 1.0, -1.0)
    weight = draw.choice([0.0, 1.0, 2.5], n, p=[0.1, 0.7, 0.2])
    prior = Gaussian().compile(variance, X.shape[1], intercept_variance=3.0 * variance)
    problem = Problem(X, merge=merge)
    star = newton.fit(problem, y, weight, prior, variance=variance, tol=1e-10).weights
    return Ridge(X, y, weight, prior, problem, star)


def generic(H: np.ndarray, star: np.ndarray, alpha: float) -> np.ndarray:
    """argmin (β-β*)ᵀH(β-β*) + α Σ|β|, with β = p - q and p, q ≥ 0, by L-BFGS-B."""
    size = len(star)

    def value(pq: np.ndarray) -> tuple[float, np.ndarray]:
        away = pq[:size] - pq[size:] - star
        slope = 2.0 * H @ away
        return float(0.5 * away @ slope + alpha * pq.sum()), np.concatenate([slope, -slope]) + alpha

    start = np.concatenate([np.maximum(star, 0.0), np.maximum(-star, 0.0)])
    options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 20_000, "maxfun": 200_000}
    result = minimize(value, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * (2 * size), options=options)
    return np.asarray(result.x[:size] - result.x[size:])


def surrogate(H: np.ndarray, star: np.ndarray, alpha: float, beta: np.ndarray) -> float:
    return float((beta - star) @ H @ (beta - star) + alpha * np.abs(beta).sum())


def violation(result: Ridge, answer: Selected) -> float:
    slope = 2.0 * result.hessian @ (answer.weights - result.star)
    return float(
        np.where(
            answer.weights == 0.0,
            np.maximum(np.abs(slope) - answer.alpha, 0.0),
            np.abs(slope + answer.alpha * np.sign(answer.weights)),
        ).max()
    )


@pytest.mark.parametrize("hessian", ["diagonal", "full"])
@pytest.mark.parametrize("seed", range(6))
def test_against_a_generic_convex_solver(hessian: str, seed: int) -> None:
    case = ridge(variance=[0.3, 2.0, 30.0][seed % 3], seed=seed)
    H = case.hessian if hessian == "full" else np.diag(np.diag(case.hessian))
    for alpha in (0.01, 0.1, 0.5, 2.0):
        result, other = case.select(alpha, hessian).weights, generic(H, case.star, alpha)
        best = surrogate(H, case.star, alpha, result)
        assert best <= surrogate(H, case.star, alpha, other) + 1e-12
        np.testing.assert_allclose(result, other, atol=2e-5)


def test_the_closed_form_by_hand() -> None:
    """Theorem 3.1, line by line."""
    case = ridge()
    H, alpha = np.diag(case.hessian), 1.0
    result = case.select(alpha, "diagonal").weights
    cut = alpha / (2.0 * H)
    expected = np.where(case.star > cut, case.star - cut, np.where(case.star < -cut, case.star + cut, 0.0))
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert 0 < np.count_nonzero(result) < len(result)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(5, 60), st.integers(1, 40), st.integers(0, 3), st.floats(-2, 4), st.floats(-4, 1), st.integers(0, 10**6)
)
def test_optimality_of_eq_4(n: int, d: int, alike: int, log_variance: float, log_alpha: float, seed: int) -> None:
    case = ridge(n, d, 10.0**log_variance, seed, alike=min(alike, d))
    result = case.select(10.0**log_alpha, "full")
    assert violation(case, result) <= 1e-8
    assert result.kkt <= 1e-8


def test_optimality_of_eq_4_where_features_outnumber_documents() -> None:
    case = ridge(200, 900, variance=500.0, seed=4)
    for alpha in (universal_penalty(900), 0.01, 1e-4):
        assert violation(case, case.select(alpha, "full")) <= 1e-8


@pytest.mark.parametrize("hessian", ["diagonal", "full"])
def test_no_penalty_is_ridge_to_the_bit(hessian: str) -> None:
    case = ridge(alike=3)
    result = case.select(0.0, hessian)
    assert result.weights.tobytes() == case.star.tobytes()
    expected = certify(case.X, case.y, case.prior, case.star, sample_weight=case.weight).objective
    assert result.objective == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("hessian", ["diagonal", "full"])
def test_a_larger_penalty_keeps_less_and_costs_more(hessian: str) -> None:
    case = ridge(100, 40)
    objectives, kept = [], []
    for alpha in (0.0, 1e-3, 1e-2, 0.1, 1.0, 1e3):
        result = case.select(alpha, hessian)
        expected = certify(case.X, case.y, case.prior, result.weights, sample_weight=case.weight).objective
        assert result.objective == pytest.approx(expected, rel=1e-10)
        objectives.append(result.objective)
        kept.append(np.count_nonzero(result.weights))
    assert objectives == sorted(objectives)
    assert kept[0] == 41
    assert kept[-1] == 0
    if hessian == "diagonal":
        assert kept == sorted(kept, reverse=True)


@pytest.mark.parametrize("hessian", ["diagonal", "full"])
def test_features_alike_are_as_good_as_separate(hessian: str) -> None:
    """Merged columns are a matter of speed."""
    merged, apart = ridge(alike=4), ridge(alike=4, merge=False)
    apart.star = merged.star
    for alpha in (0.05, 0.5):
        np.testing.assert_allclose(
            merged.select(alpha, hessian).weights, apart.select(alpha, hessian).weights, atol=1e-8
        )


@pytest.mark.parametrize("hessian", ["diagonal", "full"])
def test_standardised_features_are_pruned_on_their_own_scale(hessian: str) -> None:
    case = ridge(80, 10)
    dense = case.X.toarray()
    mean = np.average(dense, axis=0, weights=case.weight)
    sd = np.sqrt(np.average((dense - mean) ** 2, axis=0, weights=case.weight))
    by_hand = Problem(sp.csr_matrix((dense - mean) / sd))
    problem = Problem(case.X, case.weight)
    answers = []
    for one in (by_hand, problem):
        star = newton.fit(one, case.y, case.weight, case.prior, variance=2.0, tol=1e-12).weights
        answers.append(select(one, case.y, case.weight, one.merge(case.prior), star, 3.0, hessian))
    hand, ours = answers
    assert 0 < np.count_nonzero(hand.weights[:-1]) < 10
    np.testing.assert_allclose(ours.weights[:-1], hand.weights[:-1] / sd, atol=1e-5)
    np.testing.assert_allclose(ours.weights[-1], hand.weights[-1] - mean @ (hand.weights[:-1] / sd), atol=1e-5)
    assert ours.objective == pytest.approx(hand.objective, rel=1e-6)


def test_the_universal_penalty() -> None:
    assert universal_penalty(133_348) == pytest.approx(0.0133, abs=5e-5)  # AAGBD11 Table 6
    assert universal_penalty(6_760) == pytest.approx(np.sqrt(2 * np.log(6_760) / 6_760))
    assert universal_penalty(1) == 0.0
