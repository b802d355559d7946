from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import InputError
from lapwing.stats import PriorArrays, certify
from lapwing.stats.links import log_loss, sigmoid
from lapwing.stats.objective import kkt_violation, log_prior_constant, penalty

INF = np.inf


def prior(mode=0.0, l1=0.0, l2=0.0, lower=-INF, upper=INF, *, size: int) -> PriorArrays:
    values = (mode, l1, l2, lower, upper)
    return PriorArrays(*(np.broadcast_to(np.asarray(v, dtype=float), size).copy() for v in values))


class Problem:
    """A few documents, and a prior of any of the kinds there are."""

    def __init__(self, X, y, c, prior):
        self.X, self.y, self.c, self.prior = X, y, c, prior

    def objective(self, beta: np.ndarray) -> float:
        """The formula as it stands in the heading of objective.py, written out."""
        total = 0.0
        for x, y, c in zip(self.X, self.y, self.c, strict=True):
            total += c * np.log1p(np.exp(-y * (x @ beta[:-1] + beta[-1])))
        for b, m, l1, l2, low, high in zip(beta, *self.prior, strict=True):
            total += l1 * abs(b - m) + l2 * (b - m) ** 2 / 2 if low <= b <= high else INF
        return float(total)

    def certify(self, beta: np.ndarray, dual: np.ndarray | None = None):
        return certify(self.X, self.y, self.prior, beta, dual, self.c)

    def minimise(self) -> np.ndarray:
        """An optimum by SciPy: β = m + p - q with p, q ≥ 0, so that |β - m| is smooth."""
        m, l1, l2, lower, upper = self.prior
        size = len(m)

        def value(pq):
            p, q = pq[:size], pq[size:]
            beta = m + p - q
            margin = self.y * (self.X @ beta[:-1] + beta[-1])
            pull = self.c * self.y * sigmoid(-margin)
            smooth = -np.append(self.X.T @ pull, pull.sum()) + l2 * (p - q)
            total = self.c @ log_loss(margin) + l1 @ (p + q) + l2 @ (p - q) ** 2 / 2
            return total, np.append(smooth + l1, -smooth + l1)

        bounds = [(max(low - c, 0.0), max(high - c, 0.0)) for c, low, high in zip(m, lower, upper, strict=True)]
        bounds += [(max(c - high, 0.0), max(c - low, 0.0)) for c, low, high in zip(m, lower, upper, strict=True)]
        result = scipy.optimize.minimize(
            value, [low for low, _ in bounds], jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-10},
        )  # fmt: skip
        return np.clip(m + result.x[:size] - result.x[size:], lower, upper)


floats = st.floats(-3.0, 3.0).map(lambda v: round(v, 3))
strengths = st.sampled_from([0.0, 0.0, 0.05, 0.5, 1.0, 3.0])


@st.composite
def problems(draw: st.DrawFn, flat: bool = False) -> Problem:
    n, d = draw(st.integers(1, 5)), draw(st.integers(0, 3))

    def array(elements, size):
        return np.array(draw(st.lists(elements, min_size=size, max_size=size)), dtype=float)

    size = d + 1
    l1, l2 = array(strengths, size), array(strengths, size)
    ends = np.sort(array(floats, 2 * size).reshape(2, size), axis=0)
    lower = np.where(array(st.booleans(), size) > 0, -INF, ends[0])
    upper = np.where(array(st.booleans(), size) > 0, INF, ends[1])
    if not flat:
        bare = (l1 == 0.0) & (l2 == 0.0) & (np.isinf(lower) | np.isinf(upper))
        l2[bare] = 0.3
    table = PriorArrays(array(floats, size), l1, l2, lower, upper)
    y = array(st.sampled_from([-1.0, 1.0]), n)
    c = array(st.sampled_from([0.0, 0.5, 1.0, 2.0]), n)
    return Problem(array(floats, n * d).reshape(n, d), y, c, table)


@settings(max_examples=300, deadline=None)
@given(problem=problems(), data=st.data())
def test_the_dual_never_exceeds_the_primal(problem: Problem, data: st.DataObject) -> None:
    n, size = len(problem.y), len(problem.prior.mode)
    point = st.lists(floats, min_size=size, max_size=size).map(np.array)
    theta = np.array(data.draw(st.lists(st.floats(-0.1, 1.1), min_size=n, max_size=n))).round(9)
    first, second = (np.clip(data.draw(point), *problem.prior[3:]) for _ in range(2))
    for dual in (theta, None):
        certificate = problem.certify(first, dual)
        assert certificate.objective == pytest.approx(problem.objective(first), rel=1e-12)
        assert certificate.dual_objective <= problem.objective(second) + 1e-9
        assert certificate.gap == max(certificate.objective - certificate.dual_objective, 0.0)
        assert certificate.kkt >= 0.0


@settings(max_examples=120, deadline=None)
@given(problem=problems())
def test_at_the_optimum_everything_vanishes(problem: Problem) -> None:
    best = problem.minimise()
    certificate = problem.certify(best)
    assert certificate.objective == pytest.approx(problem.objective(best), rel=1e-12)
    # Near a kink SciPy stops a hair away: the gap counts it squared, the KKT conditions in full.
    assert certificate.gap <= 1e-4 * (1.0 + certificate.objective)
    zero = problem.certify(np.clip(problem.prior.mode, *problem.prior[3:]))
    assert zero.objective - zero.gap <= certificate.objective + 1e-9
    assert zero.objective >= certificate.objective - 1e-9


@settings(max_examples=100, deadline=None)
@given(problem=problems(), scale=st.sampled_from([0.3, 1.0]))
def test_the_gap_bounds_the_distance_from_a_grid_search(problem: Problem, scale: float) -> None:
    """Whatever point a search over the first and last coefficient finds, none is further below."""
    beta = np.clip(problem.prior.mode * scale, *problem.prior[3:])
    certificate = problem.certify(beta)
    grid = np.linspace(-4.0, 4.0, 33)
    lowest = INF
    for a in grid:
        for b in grid:
            point = beta.copy()
            point[0], point[-1] = a, b
            lowest = min(lowest, problem.objective(np.clip(point, *problem.prior[3:])))
    assert lowest >= certificate.objective - certificate.gap - 1e-9


@settings(max_examples=200, deadline=None)
@given(problem=problems(flat=True), data=st.data())
def test_kkt_is_the_steepest_way_down(problem: Problem, data: st.DataObject) -> None:
    """Against one-sided differences of the objective, coordinate by coordinate."""
    size = len(problem.prior.mode)
    away = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.0, -0.5, 1.0]), min_size=size, max_size=size)))
    beta = np.clip(problem.prior.mode + away, *problem.prior[3:])
    here, step = problem.objective(beta), 1e-6
    steepest, bound = [], 0.0
    for j in range(size):
        slopes = [0.0]
        for sign in (-1.0, 1.0):
            there = beta.copy()
            there[j] += sign * step
            slopes.append((here - problem.objective(there)) / step)
        near_kink = 0.0 < abs(beta[j] - problem.prior.mode[j]) < 2 * step
        near_bound = any(0.0 < abs(beta[j] - end[j]) < 2 * step for end in problem.prior[3:])
        if near_kink or near_bound:
            return
        steepest.append(max(slopes))
        bound += max(slopes) * max(abs(beta[j] - problem.prior.mode[j]), 1.0)
    certificate = problem.certify(beta)
    assert certificate.kkt == pytest.approx(max(steepest), abs=1e-4)
    assert certificate.kkt_bound == pytest.approx(bound, abs=1e-3)
    assert np.isnan(certificate.gap) == bool(np.any(problem.prior.flat))


def test_smooth_optimum_against_scipy() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 4)), rng.choice([-1.0, 1.0], size=30)
    ridge = prior(l2=0.5, size=5)
    problem = Problem(X, y, np.ones(30), ridge)
    result = scipy.optimize.minimize(problem.objective, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    certificate = certify(X, y, ridge, result.x)
    assert certificate.objective == pytest.approx(result.fun, rel=1e-12)
    assert 0.0 <= certificate.gap < 1e-8
    assert certificate.kkt < 1e-5
    worse = certify(X, y, ridge, result.x + 0.1)
    assert worse.gap >= worse.objective - certificate.objective > 1e-3


def test_lasso_by_hand() -> None:
    """One feature, two opposite documents: with l1 at the largest gradient the optimum is all zeros."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    for l1, kkt in ((1.0, 0.0), (1.5, 0.0), (0.4, 0.6)):
        certificate = certify(X, y, prior(l1=l1, size=2), np.zeros(2))
        assert certificate.objective == pytest.approx(2 * np.log(2))
        assert certificate.kkt == pytest.approx(kkt)
        assert (certificate.gap < 1e-12) == (kkt == 0.0)


def test_a_dual_point_of_ones_own_is_used_and_clipped() -> None:
    X, y, ridge = np.array([[1.0]]), np.array([1.0]), prior(l2=1.0, size=2)
    half = certify(X, y, ridge, np.zeros(2), np.array([0.5]))
    assert half.dual_objective == pytest.approx(np.log(2) - 2 * 0.5**2 / 2)
    assert certify(X, y, ridge, np.zeros(2), np.array([7.0])).dual_objective == pytest.approx(-1.0)
    assert certify(X, y, ridge, np.zeros(2), np.array([-7.0])).dual_objective == 0.0


def test_a_flat_coordinate_leaves_no_gap_but_a_bound() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(6, 2)), np.array([1.0, -1, 1, -1, 1, -1])
    flat = prior(l1=[1.0, 1.0, 0.0], size=3)
    assert flat.flat.tolist() == [False, False, True]
    certificate = certify(X, y, flat, np.array([0.5, 0.0, 2.0]))
    assert np.isnan(certificate.gap)
    assert np.isnan(certificate.dual_objective)
    assert 0.0 < certificate.kkt_bound < INF
    assert certificate.relative_gap == certificate.kkt_bound / certificate.objective
    held = prior(l1=[1.0, 1.0, 0.0], lower=-1.0, upper=3.0, size=3)
    assert not np.isnan(certify(X, y, held, np.array([0.5, 0.0, 2.0])).gap)


def test_outside_the_bounds_the_objective_is_infinite() -> None:
    boxed = prior(l2=1.0, lower=0.0, upper=1.0, size=2)
    certificate = certify(np.array([[1.0]]), np.array([1.0]), boxed, np.array([-0.1, 0.5]))
    assert certificate.objective == certificate.gap == INF


def test_at_a_bound_only_the_way_inside_counts() -> None:
    boxed = prior(l2=1.0, lower=0.0, upper=1.0, size=2)
    ends = np.array([0.0, 1.0])
    assert kkt_violation(boxed, ends, np.array([5.0, -5.0])).tolist() == [0.0, 0.0]
    assert kkt_violation(boxed, ends, np.array([-5.0, 5.0])).tolist() == [5.0, 6.0]


def test_sparse_and_dense_and_weights() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(8, 3)) * (rng.random((8, 3)) < 0.5)
    y, beta = rng.choice([-1.0, 1.0], size=8), rng.normal(size=4)
    lasso = prior(l1=0.7, l2=0.1, size=4)
    dense, sparse = (certify(kind, y, lasso, beta) for kind in (X, sp.csr_matrix(X)))
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-14)
    assert sparse.gap == pytest.approx(dense.gap, rel=1e-12)
    counts = np.array([2, 0, 1, 3, 1, 0, 1, 1])
    rows = np.repeat(np.arange(8), counts)
    repeated = certify(X[rows], y[rows], lasso, beta)
    weighted = certify(X, y, lasso, beta, sample_weight=counts)
    for part in ("objective", "dual_objective", "gap", "kkt", "kkt_bound"):
        assert getattr(weighted, part) == pytest.approx(getattr(repeated, part), rel=1e-12)


@pytest.mark.parametrize(("n", "size"), [(2, 3), (3, 2), (3, 4), (0, 3)])
def test_shapes_that_do_not_fit(n: int, size: int) -> None:
    with pytest.raises(InputError, match=r"expected (labels|weights)"):
        certify(np.zeros((3, 2)), np.ones(n), prior(l2=1.0, size=3), np.zeros(size))


def test_the_log_prior_against_scipy() -> None:
    beta = np.array([0.3, -1.2, 0.7])
    laplace = prior(mode=0.1, l1=[0.5, 2.0, 1.0], size=3)
    density = scipy.stats.laplace(0.1, 1 / laplace.l1).logpdf(beta).sum()
    assert log_prior_constant(laplace) - penalty(laplace, beta) == pytest.approx(density)
    gaussian = prior(mode=-0.2, l2=[0.5, 2.0, 1.0], size=3)
    density = scipy.stats.norm(-0.2, gaussian.l2**-0.5).logpdf(beta).sum()
    assert log_prior_constant(gaussian) - penalty(gaussian, beta) == pytest.approx(density)
    one_sided = prior(l1=[0.5, 2.0, 1.0], lower=0.0, size=3)
    density = scipy.stats.expon(scale=1 / one_sided.l1).logpdf(abs(beta)).sum()
    assert log_prior_constant(one_sided) - penalty(one_sided, abs(beta)) == pytest.approx(density)


def test_flat_and_mixed_coordinates_add_no_constant() -> None:
    assert log_prior_constant(prior(size=3)) == 0.0
    assert log_prior_constant(prior(l1=1.0, l2=1.0, size=2)) == 0.0
    assert log_prior_constant(prior(l1=[2.0, 0.0], size=2)) == 0.0


def test_large_scores_do_not_overflow() -> None:
    assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]
    assert log_loss(np.array([-1e4, 0.0, 1e4])).tolist() == [1e4, np.log(2.0), 0.0]
