"""Links against SciPy's special functions, in NumPy and in the kernels that some have, out to scores of ±1e8."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import minimize_scalar
from scipy.special import erfcx, expit, log_expit, log_ndtr, logit, ndtr, ndtri

from lapwing.errors import SettingsError
from lapwing.kernels import loss as kernel
from lapwing.kernels._numba import KernelCompiler
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.links import LINKS, as_link
from lapwing.stats.objective import certify
from lapwing.stats.priors import PRIORS, Prior

every_size = pytest.mark.usefixtures("size")
FAR = np.concatenate([-np.logspace(8, -3, 400), [0.0], np.logspace(-3, 8, 400)])
both_links = pytest.mark.parametrize("link", [name for name, link in LINKS.items() if link.code is not None])


@njit(pipeline_class=KernelCompiler)
def pieces(margin, link):  # type: ignore[no-untyped-def]
    """(loss, θ, curvature, majorant): parts of kernels are called from compiled code only."""
    loss, theta = kernel.loss_theta(margin, link)
    return loss, theta, kernel.bend(margin, theta, link), kernel.majorant(margin, link)


@njit(pipeline_class=KernelCompiler)
def conjugate(theta, link):  # type: ignore[no-untyped-def]
    return kernel.conjugate(theta, link)


def true_loss(link: str, margin: np.ndarray) -> np.ndarray:
    return -(log_expit(margin) if link == "logit" else log_ndtr(margin))


def true_theta(link: str, margin: np.ndarray) -> np.ndarray:
    if link == "logit":
        return expit(-margin)
    with np.errstate(over="ignore"):
        return np.sqrt(2 / np.pi) / erfcx(-margin / np.sqrt(2))


@both_links
def test_loss_and_slope_far_out(link: str) -> None:
    form = LINKS[link]
    np.testing.assert_allclose(form.loss(FAR, 1.0), true_loss(link, FAR), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(form.theta(FAR, 1.0), true_theta(link, FAR), rtol=1e-12, atol=1e-300)
    compiled = np.array([pieces(r, form.code) for r in FAR])
    np.testing.assert_allclose(compiled[:, 0], true_loss(link, FAR), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(compiled[:, 1], true_theta(link, FAR), rtol=1e-12, atol=1e-300)


@both_links
def test_curvature_is_the_derivative_of_theta_and_the_majorant_lies_above(link: str) -> None:
    code = LINKS[link].code
    for r in FAR[np.abs(FAR) < 1e6]:
        h = 1e-5 * max(1.0, abs(r))
        difference = (true_theta(link, r - h) - true_theta(link, r + h)) / (2 * h)
        _, _, here, bound = pieces(r, code)
        assert here == pytest.approx(difference, rel=2e-4, abs=1e-8)
        theta = true_theta(link, r)
        there = r + np.linspace(-8, 8, 33) * max(1.0, 0.5 * abs(r))
        parabola = true_loss(link, r) - theta * (there - r) + bound * (there - r) ** 2 / 2
        assert np.all(true_loss(link, there) <= parabola + 1e-9 * (1.0 + abs(parabola)))


@both_links
@settings(max_examples=200, deadline=None)
@given(exponent=st.floats(-12, 5))
def test_the_conjugate_is_the_supremum(link: str, exponent: float) -> None:
    theta = 10.0**exponent
    if link == "logit":
        theta = theta / (1.0 + theta)
    result = minimize_scalar(
        lambda r: float(true_loss(link, np.array(r)) + theta * r), bounds=(-2 * theta - 40, 60), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    form = LINKS[link]
    value = float(form.conjugate(np.array([theta]), 1.0)[0])
    assert conjugate(theta, form.code) == pytest.approx(value, rel=1e-11, abs=1e-14)
    assert value >= -result.fun - 1e-12 * (1.0 + theta**2)
    assert value == pytest.approx(-result.fun, rel=1e-6, abs=1e-7)


@both_links
def test_no_slope_costs_nothing(link: str) -> None:
    form = LINKS[link]
    np.testing.assert_allclose(form.conjugate(np.array([0.0, 5e-324]), 1.0), 0.0, atol=1e-300)
    assert conjugate(0.0, form.code) == 0.0


def test_probabilities_and_quantiles() -> None:
    score, p = np.array([-40.0, -1.0, 0.0, 2.0]), np.array([1e-9, 0.2, 0.5, 0.975])
    np.testing.assert_allclose(LINKS["logit"].probability(score), expit(score), rtol=1e-15)
    np.testing.assert_array_equal(LINKS["probit"].probability(score), ndtr(score))
    np.testing.assert_allclose(LINKS["logit"].quantile(p), logit(p), rtol=1e-14)
    np.testing.assert_array_equal(LINKS["probit"].quantile(p), ndtri(p))
    with pytest.raises(SettingsError, match="cloglog, robit:ν, got 'cauchit'"):
        as_link("cauchit")


@every_size
@pytest.mark.parametrize("prior", [kind() for kind in PRIORS.values() if kind.convex], ids=lambda p: p.name)
@pytest.mark.parametrize("variance", [0.01, 1.0, 1e4])
def test_probit_optimum_by_its_conditions_in_plain_numpy(prior: Prior, variance: float) -> None:
    """Nothing of ours: the slope of Σ -log_ndtr(r) by differences, against the penalty's subdifferential."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.4), np.where(rng.random(60) < 0.4, 1.0, -1.0)
    arrays = prior.compile(variance, 12)
    problem = Problem(sp.csr_matrix(X))
    result = newton.fit(problem, y, np.ones(60), arrays, variance=variance, tol=1e-12, link="probit")
    Z, beta = np.column_stack([X, np.ones(60)]), result.weights
    for j in range(13):
        step = np.zeros(13)
        step[j] = 1e-5
        total = [-np.sum(log_ndtr(y * (Z @ (beta + sign * step)))) for sign in (1.0, -1.0)]
        slope = (total[0] - total[1]) / 2e-5 + arrays.l2[j] * beta[j]
        if beta[j] != 0.0:
            proven = np.sqrt(2.0 * arrays.l2[j] * result.gap)  # each g²/2l2 is part of the gap
            assert slope == pytest.approx(-arrays.l1[j] * np.sign(beta[j]), abs=2e-5 + proven)
        else:
            assert abs(slope) <= arrays.l1[j] + 1e-6


@every_size
def test_huge_scores_are_certified() -> None:
    """Documents a hundred million away from the boundary, on both sides of it."""
    X, y = np.array([[1e8], [-1e8], [1e8], [1.0]]), np.array([1.0, -1.0, -1.0, 1.0])
    arrays = PRIORS["gaussian"]().compile(1.0, 1)
    proof = certify(X, y, arrays, np.array([1.0, 0.0]), link="probit")
    assert proof.objective == pytest.approx(0.5e16, rel=1e-6)
    assert np.isfinite([proof.gap, proof.kkt, proof.dual_objective]).all()
    result = newton.fit(Problem(sp.csr_matrix(X)), y, np.ones(4), arrays, variance=1.0, link="probit")
    assert result.converged
    assert certify(X, y, arrays, result.weights, result.dual, link="probit").relative_gap <= 1.1e-4
