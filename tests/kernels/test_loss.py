"""One coordinate and one pass over X, against their definitions written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.parts import INF, matrix, opened, prior

from lapwing.kernels import loss
from lapwing.kernels.nouns import Documents, PriorArrays
from lapwing.stats.objective import kkt_violation

SEEDS = range(6)


def at(p: PriorArrays, j: int, t: np.ndarray) -> np.ndarray:
    """The penalty, infinite outside its bounds."""
    away = t - p.mode[j]
    inside = (t >= p.lower[j]) & (t <= p.upper[j])
    return np.where(inside, p.l1[j] * np.abs(away) + 0.5 * p.l2[j] * away * away, INF)


@pytest.mark.parametrize("seed", SEEDS)
def test_argmin_is_lowest_and_violates_nothing(seed: int) -> None:
    argmin, violation = opened(loss.argmin), opened(loss.violation)
    p, draw = prior(seed, 30), np.random.default_rng(seed)
    grid = np.linspace(-6.0, 6.0, 2401)
    for j in range(30):
        b, g, h = float(np.clip(draw.normal(), p.lower[j], p.upper[j])), draw.normal(), draw.random() + 0.2
        best = argmin(p, j, b, g, h)

        def value(t: np.ndarray, j: int = j, b: float = b, g: float = g, h: float = h) -> np.ndarray:
            return g * (t - b) + 0.5 * h * (t - b) ** 2 + at(p, j, t)

        assert value(np.array([best]))[0] <= value(grid).min() + 1e-12
        assert violation(p, j, best, g + h * (best - b)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_violation_is_that_of_the_certificate(seed: int) -> None:
    violation = opened(loss.violation)
    p, draw = prior(seed, 40), np.random.default_rng(seed)
    beta = np.clip(np.where(draw.random(40) < 0.3, p.mode, draw.normal(size=40)), p.lower, p.upper)
    gradient = draw.normal(size=40)
    expected = kkt_violation(p, beta, gradient)
    assert [violation(p, j, beta[j], gradient[j]) for j in range(40)] == pytest.approx(expected.tolist())


@pytest.mark.parametrize("seed", SEEDS)
def test_conjugate_of_the_penalty_is_its_supremum(seed: int) -> None:
    conjugate, feasible_scale = opened(loss.penalty_conjugate), loss.feasible_scale
    p, draw = prior(seed, 30), np.random.default_rng(seed)
    grid = np.linspace(-30.0, 30.0, 12_001)
    z = draw.normal(size=30)
    for j in range(30):
        one = PriorArrays(*(part[j : j + 1] for part in p))
        scale = feasible_scale(z[j : j + 1], one)
        if np.isnan(scale):  # nothing holds the coefficient back
            assert p.l1[j] == p.l2[j] == 0.0
            continue
        slope = scale * z[j]
        highest = (slope * grid - at(p, j, grid)).max()
        assert conjugate(p, j, slope) == pytest.approx(highest, abs=1e-4)
        assert conjugate(p, j, slope) >= highest - 1e-12


def test_a_step_stops_at_the_mode_and_at_bounds() -> None:
    stop = opened(loss.stop)
    p = PriorArrays(*(np.array([v]) for v in (0.5, 1.0, 0.0, -1.0, 2.0)))
    assert stop(p, 0, 1.0, -0.3) == 0.7
    assert stop(p, 0, 1.0, -0.8) == 0.5
    assert stop(p, 0, 0.5, -0.8) == pytest.approx(-0.3)
    assert stop(p, 0, 0.0, -3.0) == -1.0
    assert stop(p, 0, 1.0, 3.0) == 2.0


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_passes_over_the_matrix_see_offsets_and_the_constant(seed: int, centred: bool) -> None:
    X, whole = matrix(seed, 20, 7, centred=centred)
    draw = np.random.default_rng(seed)
    beta, pull, out = draw.normal(size=8), draw.normal(size=20), np.empty(8)
    assert loss.scores(X, beta) == pytest.approx(whole @ beta)
    loss.loss_gradient(X, pull, out)
    assert out == pytest.approx(-whole.T @ pull)
    weight = draw.integers(1, 3, 20).astype(float)
    alike = np.where(draw.random(20) < 0.7, 0.4 * weight, pull)  # most documents pull alike
    again = np.empty(8)
    opened(loss.loss_gradient_from)(X, alike.copy(), weight, whole.T @ weight, again)
    assert again == pytest.approx(-whole.T @ alike)


@pytest.mark.parametrize("link", [0, 1])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_intercept_alone_is_optimal(seed: int, link: int) -> None:
    draw = np.random.default_rng(seed)
    y, weight = np.where(draw.random(30) < 0.3, 1.0, -1.0), draw.integers(1, 4, 30).astype(float)
    p, documents = prior(seed, 3), Documents(y, weight, link)
    X, _ = matrix(seed, 30, 2)
    only = opened(loss.intercept_only)(documents, p, float(np.clip(0.0, p.lower[2], p.upper[2])))
    gradient, theta = np.empty(3), np.empty(30)
    opened(loss.losses)(y * only, weight, link, theta)
    loss.loss_gradient(X, weight * y * theta, gradient)
    assert opened(loss.violation)(p, 2, only, gradient[2]) == pytest.approx(0.0, abs=1e-4 * weight.sum())


def test_what_most_documents_share() -> None:
    common = opened(loss.common)
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    assert common(0.25 * weight, weight) == 0.25
    assert common(np.array([0.25, 0.5, 0.9, 0.75, 0.1]), weight) == 0.25
    assert common(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), weight) == 0.0


@pytest.mark.parametrize("spare", [0.0001, 0.01, 0.3])
def test_documents_below_the_cut_hold_little(spare: float) -> None:
    curvature = np.random.default_rng(0).random(200) ** 8
    cut = opened(loss.few)(curvature, spare)
    assert curvature[curvature < cut].sum() <= spare * curvature.sum()
