"""Modes, signs, infinite and tiny variances over random problems: the optimality conditions, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from lapwing.priors import INTERCEPT, ElasticNet, Gaussian, Laplace, Prior, PriorTable
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.objective import PriorArrays
from lapwing.stats.priors import Columns
from lapwing.stats.result import FitResult
from lapwing_papers.solvers import clg

every_size = pytest.mark.usefixtures("size")
INF = np.inf
SHAPES = [Laplace(), Gaussian(), ElasticNet(0.3)]
VARIANCES = [1e-30, 1e-10, "0.01x", "1x", 3.0, "100x"]


def random_rows(draw: np.random.Generator, names: list[str], free: int) -> dict[str, dict[str, Any]]:
    """Knowledge of about half of the features, and sometimes of the intercept; `free` of infinite variance."""
    rows: dict[str, dict[str, Any]] = {}
    for name in [n for n in names if draw.random() < 0.5] + [INTERCEPT] * int(draw.random() < 0.5):
        sign = int(draw.choice([-1, 0, 1]))
        mode = float(draw.choice([0.0, abs(draw.normal()) * (sign or draw.choice([-1, 1]))]))
        variance = VARIANCES[draw.integers(len(VARIANCES))]
        rows[name] = {"mode": mode, "variance": variance, "sign": sign}
    for name in draw.choice(names, free, replace=False).tolist():
        rows[name] = {"mode": float(draw.normal()), "variance": INF}
    return rows


def gradient(X: np.ndarray, y: np.ndarray, c: np.ndarray, weights: np.ndarray, link: str = "logit") -> np.ndarray:
    """Σ_i c_i ∂/∂β ln(1+e^{-r_i}), or -ln Φ(r_i), the constant feature last."""
    full = np.column_stack([X, np.ones(len(y))])
    r = y * (full @ weights)
    theta = 1.0 / (1.0 + np.exp(r)) if link == "logit" else np.exp(-r * r / 2.0 - log_ndtr(r)) / np.sqrt(2 * np.pi)
    return -full.T @ (c * y * theta)


def left_open(X: np.ndarray, c: np.ndarray, prior: PriorArrays, weights: np.ndarray, gap: float) -> np.ndarray:
    """How far from 0 a slope may be: a step of a float64 changes it so much, and one that is steeper than the second
    term would lead further down than the gap. Of both links the loss curves by 1 at most."""
    bends = prior.l2 + np.append(c @ X**2, c.sum())
    return prior.l2 * np.spacing(np.abs(weights)) + np.sqrt(2.0 * bends * gap)


def assert_optimal(
    X: np.ndarray, y: np.ndarray, c: np.ndarray, prior: PriorArrays, weights: np.ndarray, link: str, tol: float,
    gap: float = 0.0,
) -> None:  # fmt: skip
    """0 in the subdifferential at every coordinate, to `tol` and what a `gap` leaves open; bounds kept to the bit."""
    slope = gradient(X, y, c, weights, link) + prior.l2 * (weights - prior.mode)
    rooms = tol + left_open(X, c, prior, weights, gap)
    for j, (b, g, room) in enumerate(zip(weights, slope, rooms, strict=True)):
        mode, l1, lower, upper = prior.mode[j], prior.l1[j], prior.lower[j], prior.upper[j]
        assert lower <= b <= upper
        right = g + (l1 if b >= mode else -l1)  # the derivative to the right, and to the left
        left = g + (l1 if b > mode else -l1)
        assert b == upper or right >= -room, (j, b, mode, right)
        assert b == lower or left <= room, (j, b, mode, left)


def problem(seed: int, shape: Prior, free: int = 0, n: int = 60, d: int = 12) -> tuple[Any, ...]:
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d)) * (draw.random((n, d)) < 0.6)
    X[:, 3] = X[:, 4] = X[:, 5]  # that are alike, whatever is known of each
    y = np.where(X @ draw.normal(size=d) + 3.0 * draw.normal(size=n) > 0.5, 1.0, -1.0)
    names = [f"w{j}" for j in range(d)]
    table = PriorTable(random_rows(draw, [m for m in names if m not in ("w3", "w4")], free), shape)
    if draw.random() < 0.5:
        table = table + PriorTable({m: {"mode": 0.7, "variance": "0.5x", "sign": "+"} for m in ("w3", "w4")}, shape)
    columns = Columns(names, sp.csr_matrix(X))
    arrays = table.bind(columns, "yes").compile(float(10.0 ** draw.uniform(-2, 2)), d)
    case = Problem(columns.matrix, kinds=table.kinds(columns))
    return X, y, draw.choice([0.5, 1.0, 2.0], size=n), arrays, case


def solved(solver: Any, result: Problem, y: np.ndarray, c: np.ndarray, arrays: PriorArrays, link: str) -> FitResult:
    options: dict[str, Any] = (
        {"tol": 1e-7 if arrays.flat.any() else 1e-10} if solver is newton else {"tol": 1e-9, "max_iter": 100_000}
    )
    fit: FitResult = solver.fit(result, y, c, arrays, variance=1.0, link=link, **options)
    assert fit.converged
    return fit


@every_size
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda prior: prior.name)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), free=st.integers(0, 1))
def test_the_optimality_conditions(shape: Prior, link: str, seed: int, free: int) -> None:
    conditions(newton, shape, link, seed, free)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda prior: prior.name)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), free=st.integers(0, 1))
def test_the_optimality_conditions_of_clg(shape: Prior, link: str, seed: int, free: int) -> None:
    conditions(clg, shape, link, seed, free)


def conditions(solver: Any, shape: Prior, link: str, seed: int, free: int) -> None:
    X, y, c, arrays, case = problem(seed, shape, free)
    result = solved(solver, case, y, c, arrays, link)
    gap = float(np.nan_to_num(result.gap))
    assert_optimal(X, y, c, arrays, result.weights, link, 2e-3, gap)
    assert result.kkt <= 2e-3 + np.max(left_open(X, c, arrays, arrays.mode, gap))
    assert np.isnan(result.gap) == bool(free)
    tight = (arrays.l1 > 1e5) | (arrays.l2 > 1e11)
    np.testing.assert_allclose(result.weights[tight], arrays.mode[tight], atol=1e-8)
    if solver is newton:
        assert_optimal(X, y, c, arrays, result.weights, link, 5e-4, gap)


@every_size
@pytest.mark.parametrize("shape", SHAPES, ids=lambda prior: prior.name)
@pytest.mark.parametrize("mode", [0.0, 1.7, -0.3])
def test_from_fixed_to_free(shape: Prior, mode: float) -> None:
    """Variance → 0 gives the mode, to the bit; variance inf the estimate without a prior."""
    draw = np.random.default_rng(7)
    X = draw.normal(size=(80, 2))
    y = np.where(X[:, 0] + 2.0 * draw.normal(size=80) > 0.2, 1.0, -1.0)
    c = np.ones(80)
    columns = Columns(["a", "b"], sp.csr_matrix(X))

    def fit(rows: dict[str, Any]) -> np.ndarray:
        prior = PriorTable(rows, shape).bind(columns, 1).compile(1.0, 2)
        return newton.fit(Problem(columns.matrix, merge=False), y, c, prior, variance=1.0, tol=1e-12).weights

    before = np.inf
    for variance in (1e-2, 1e-4, 1e-8, 1e-16, 1e-40, 1e-310, 0.0):
        away = abs(fit({"a": {"mode": mode, "variance": variance}})[0] - mode)
        assert away <= before
        before = away
    assert before == 0.0
    free = fit({name: {"mode": mode, "variance": INF} for name in ("a", "b", INTERCEPT)})
    np.testing.assert_allclose(gradient(X, y, c, free), 0.0, atol=1e-7)
    known = np.zeros(3)
    full = np.column_stack([X, np.ones(80)])
    for _ in range(50):  # Newton's method for maximum likelihood
        p = 1.0 / (1.0 + np.exp(-full @ known))
        known += np.linalg.solve((full.T * (p * (1 - p))) @ full, full.T @ ((y > 0) - p))
    np.testing.assert_allclose(free, known, atol=1e-6)


@every_size
def test_three_alike_with_a_mode_are_at_it_to_the_bit() -> None:
    """0.1 + 0.1 + 0.1 is not 0.3: going to columns and back must not lose what was known exactly."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(30, 1))
    X = sp.csr_matrix(np.hstack([x, x, x, draw.normal(size=(30, 1))]))
    y = np.where(draw.random(30) < 0.5, 1.0, -1.0)
    for mode, lower, l1 in ((0.1, -INF, 1e4), (0.7, 0.7, 0.5), (0.1, 0.1, 1e4)):
        arrays = PriorArrays(
            np.array([mode] * 3 + [0, 0]), np.array([l1] * 3 + [1.0, 1.0]), np.zeros(5),
            np.array([lower] * 3 + [-INF] * 2), np.full(5, INF),
        )  # fmt: skip
        for solver in (newton, clg):
            result = solver.fit(Problem(X), y, np.ones(30), arrays, variance=1.0, tol=1e-6)
            assert np.all(result.weights[:3] >= lower)
            if l1 > 1e3:
                assert result.weights[:3].tolist() == [mode] * 3
            again = solver.fit(Problem(X), y, np.ones(30), arrays, variance=1.0, tol=1e-6, start=result.weights)
            assert np.all(again.weights[:3] >= lower)
