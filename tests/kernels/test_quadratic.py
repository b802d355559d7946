"""The inner problem of the Newton solver: on its matrix, and without it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.parts import matrix, opened, prior

from lapwing.kernels import quadratic, wide, working_set
from lapwing.stats.objective import PriorArrays, kkt_violation

SEEDS = range(6)


@pytest.mark.parametrize("size", [1, 3, 4, 17, 37])
def test_cholesky_solves(size: int) -> None:
    draw = np.random.default_rng(size)
    Z = draw.normal(size=(size, size + 3))
    H, right = Z @ Z.T, draw.normal(size=size)
    A, solution = H.copy(), right.copy()
    opened(quadratic.cholesky)(A, size, quadratic.LOST)
    opened(quadratic.substitute)(A, solution, size)
    assert np.tril(A) @ np.tril(A).T == pytest.approx(H)
    assert H @ solution == pytest.approx(right)


def test_a_lost_pivot_leaves_its_coordinate_at_nothing() -> None:
    A, solution = np.ones((2, 2)), np.ones(2)
    opened(quadratic.cholesky)(A, 2, quadratic.LOST)
    opened(quadratic.substitute)(A, solution, 2)
    assert solution == pytest.approx([1.0, 0.0])


def quadratic_of(seed: int, centred: bool) -> tuple:
    X, whole = matrix(seed, 25, 11, centred=centred)
    draw = np.random.default_rng(seed)
    w, g = draw.random(25) + 0.05, 3.0 * draw.normal(size=12)
    features = np.append(11, draw.permutation(11)).astype(np.int32)  # the constant first
    Z = whole[:, features]
    p = prior(seed, 12)
    flat = p.flat & (p.l1 == 0.0)
    p = p._replace(l2=np.where(flat, 0.1, p.l2))
    start = np.clip(p.mode, p.lower, p.upper)
    return X, features, w, g, Z.T @ (w[:, None] * Z), p, start


def violations(H: np.ndarray, g: np.ndarray, p: PriorArrays, start: np.ndarray, b: np.ndarray) -> np.ndarray:
    return kkt_violation(p, b, g + H @ (b - start))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_minimum_meets_its_conditions_with_a_matrix_or_without(seed: int, centred: bool) -> None:
    X, features, w, g, H, p, start = quadratic_of(seed, centred)
    b, G = start.copy(), g.copy()
    opened(quadratic.solve)(H, G, b, p, 1e-9, np.empty_like(H))
    assert violations(H, g, p, start, b).max() <= 1e-6
    assert pytest.approx(g + H @ (b - start), abs=1e-9) == G

    entries = opened(working_set.lists)(X.columns, features, 12, 25)
    model = opened(wide.model)(X.columns, entries, X.offset[features], features, w, 0.0)
    assert model.diagonal == pytest.approx(np.diag(H))
    times, p_out = np.random.default_rng(seed).normal(size=12), np.empty(12)
    opened(wide._times)(model, times, p_out)
    assert p_out == pytest.approx(H @ times)

    def objective(b: np.ndarray) -> float:
        away = b - p.mode
        return float(g @ (b - start) + 0.5 * (b - start) @ H @ (b - start) + p.l1 @ np.abs(away) + p.l2 @ away**2 / 2)

    free = start.copy()
    opened(wide.solve)(model, g, free, p, 1e-9)
    assert objective(free) <= objective(start)
    # It leaves a share of the first violations, as another quadratic model is worth more.
    assert violations(H, g, p, start, free).max() <= 0.1 * violations(H, g, p, start, start).max() + 1e-6
    assert np.all((free >= p.lower) & (free <= p.upper))


@pytest.mark.parametrize("mean", [0.0, 300.0, 1e4])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_active_set_method_finds_the_minimum_for_any_mean(seed: int, mean: float) -> None:
    draw, p = np.random.default_rng(seed), prior(seed, 13)
    p = p._replace(l2=np.where(p.l1 == 0.0, 0.5, p.l2))
    Z = draw.normal(size=(40, 13)) + np.append(0.0, np.full(12, mean))
    Z[:, 0] = 1.0
    H, g, start = Z.T @ Z, Z.T @ draw.normal(size=40), np.clip(p.mode, p.lower, p.upper)
    b, G, m = start.copy(), g.copy(), len(start)
    room = np.empty(m), np.empty(m, np.int32), np.empty(m)
    opened(quadratic.active_set)(H, G, b, p, 1e-6, np.empty_like(H), *room)
    assert violations(H, g, p, start, b).max() <= 1e-5 * max(1.0, p.l1.max())
    assert np.all((b >= p.lower) & (b <= p.upper))


def test_documents_under_the_cut_count_on_the_diagonal_only() -> None:
    X, features, w, _, _, _, _ = quadratic_of(1, False)
    _, whole = matrix(1, 25, 11)
    Z, cut = whole[:, features], float(np.median(w))
    entries = opened(working_set.lists)(X.columns, features, 12, 25)
    model = opened(wide.model)(X.columns, entries, X.offset[features], features, w, cut)
    some, rest = w >= cut, w < cut
    H = Z[some].T @ (w[some, None] * Z[some]) + np.diag((w[rest, None] * Z[rest] ** 2).sum(axis=0))
    out, p = np.empty(12), np.random.default_rng(1).normal(size=12)
    opened(wide._times)(model, p, out)
    assert out == pytest.approx(H @ p)
