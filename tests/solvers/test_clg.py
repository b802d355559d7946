"""CLG and CLG-lasso: the paper's steps, its stopping rule, and the optimum that other solvers find."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfcx

from lapwing import corpus, priors
from lapwing.errors import SettingsError
from lapwing.kernels import clg as kernel
from lapwing.kernels.nouns import Documents
from lapwing.priors import norm_variance
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem, identical_columns
from lapwing.stats.objective import PriorArrays, certify, log_prior_constant
from lapwing.stats.result import FitResult
from lapwing.text import TextSettings, design
from lapwing_papers.solvers import clg

INF = np.inf
BBR = Path(__file__).resolve().parents[1] / "data" / "bbr"


class Case:
    """A matrix, its labels and weights, and a prior."""

    def __init__(self, X: np.ndarray, y: np.ndarray, c: np.ndarray, prior: PriorArrays) -> None:
        self.X, self.y, self.c, self.prior = sp.csr_matrix(X), y, c, prior

    def __repr__(self) -> str:
        return f"X={self.X.toarray().tolist()}\ny={self.y.tolist()}\nc={self.c.tolist()}\n{self.prior}"

    def fit(self, tol: float = 1e-10, max_iter: int = 100_000, start: np.ndarray | None = None) -> FitResult:
        problem = Problem(self.X)
        return clg.fit(problem, self.y, self.c, self.prior, variance=1.0, tol=tol, max_iter=max_iter, start=start)

    def newton(self) -> FitResult:
        return newton.fit(Problem(self.X), self.y, self.c, self.prior, variance=1.0, tol=1e-9)

    def cycles(self, max_iter: int, tol: float = 0.0) -> tuple[np.ndarray, tuple[float, int, bool, np.ndarray]]:
        """β, and what the kernel returns, on the columns as they are."""
        columns = Problem(self.X, merge=False).columns_with_constant
        beta = np.clip(self.prior.mode, self.prior.lower, self.prior.upper)
        return beta, kernel.fit(columns, Documents(self.y, self.c, 0), self.prior, beta, tol, max_iter)


def same(size: int, mode=0.0, l1=0.0, l2=0.0, lower=-INF, upper=INF) -> PriorArrays:
    """A prior with these values for every coordinate, or one of an array each."""
    values = (mode, l1, l2, lower, upper)
    return PriorArrays(*(np.broadcast_to(np.asarray(v, dtype=float), size).copy() for v in values))


def random_case(seed: int, prior: PriorArrays, n: int = 40) -> Case:
    draw = np.random.default_rng(seed)
    d = len(prior.mode) - 1
    X = draw.normal(size=(n, d)) * (draw.random((n, d)) < 0.5)
    y = np.where(X @ draw.normal(size=d) + draw.normal(size=n) > 0.3, 1.0, -1.0)
    return Case(X, y, draw.choice([0.0, 0.5, 1.0, 2.0], size=n), prior)


KINDS: dict[str, priors.Prior] = {
    "laplace": priors.Laplace(),
    "gaussian": priors.Gaussian(),
    "elasticnet": priors.ElasticNet(0.4),
}
numbers = st.floats(-3.0, 3.0).map(lambda v: round(v, 2))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Sparse, small, with any prior, modes away from zero, bounds that may leave the mode outside."""
    n, d = draw(st.integers(1, 8)), draw(st.integers(0, 4))

    def array(elements: st.SearchStrategy, size: int) -> np.ndarray:
        return np.array(draw(st.lists(elements, min_size=size, max_size=size)), dtype=float)

    kind = draw(st.sampled_from(sorted(KINDS)))
    _, l1, l2, _, _ = KINDS[kind].compile(draw(st.sampled_from([0.1, 1.0, 20.0])), d)
    mode = array(st.one_of(st.just(0.0), numbers), d + 1)
    ends = np.sort(array(numbers, 2 * d + 2).reshape(2, d + 1), axis=0)
    lower = np.where(array(st.booleans(), d + 1) > 0, -INF, ends[0])
    upper = np.where(array(st.booleans(), d + 1) > 0, INF, ends[1])
    one_sided = array(st.booleans(), d + 1) > 0
    lower, upper = np.where(one_sided, mode, lower), np.where(one_sided, INF, upper)
    X = array(st.one_of(st.just(0.0), numbers), n * d).reshape(n, d)
    y = array(st.sampled_from([-1.0, 1.0]), n)
    c = array(st.sampled_from([0.0, 0.5, 1.0, 2.0]), n)
    c[0] = 1.0  # a fit has at least one document
    group = identical_columns(sp.csr_matrix(X))
    first = np.append(np.unique(group, return_index=True)[1][group], d)  # features that are alike share a prior
    return Case(X, y, c, PriorArrays(*(part[first] for part in (mode, l1, l2, lower, upper))))


# The pieces


def second_derivative(r: float) -> float:
    return float(np.exp(-abs(r)) / (1.0 + np.exp(-abs(r))) ** 2)


@settings(deadline=None)
@given(r=st.floats(-60.0, 60.0), delta=st.floats(0.0, 40.0), t=st.floats(-1.0, 1.0))
def test_the_bound_on_the_curvature_holds_and_is_reached(r: float, delta: float, t: float) -> None:
    bound = kernel.curvature_bound(r, delta, 0)
    assert second_derivative(r + t * delta) <= bound * (1.0 + 1e-12)
    flattest = 0.0 if abs(r) <= delta else abs(r) - delta
    assert bound == pytest.approx(second_derivative(flattest), rel=1e-12)


def test_the_bound_far_out() -> None:
    assert kernel.curvature_bound(1e4, 1.0, 0) == kernel.curvature_bound(-1e4, 1.0, 0) == 0.0
    assert kernel.curvature_bound(-1e4, 1e5, 0) == 0.25


@settings(deadline=None)
@given(r=st.floats(-60.0, 60.0), delta=st.floats(0.0, 40.0), t=st.floats(-1.0, 1.0))
def test_the_bound_for_the_probit_link(r: float, delta: float, t: float) -> None:
    """Against erfcx: θ = √(2/π)/erfcx(-r/√2), loss'' = θ(θ+r)."""
    theta = np.sqrt(2 / np.pi) / erfcx(-(r + t * delta) / np.sqrt(2))
    assert theta * (theta + r + t * delta) <= kernel.curvature_bound(r, delta, 1) * (1.0 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_probit_falls_in_every_cycle_to_the_optimum_of_newton(seed: int, kind: str) -> None:
    case = random_case(seed, KINDS[kind].compile(2.0, 7))
    problem = Problem(case.X)
    result = clg.fit(problem, case.y, case.c, case.prior, variance=2.0, tol=1e-10, max_iter=50_000, link="probit")
    best = newton.fit(problem, case.y, case.c, case.prior, variance=2.0, tol=1e-10, link="probit")
    assert result.objective == pytest.approx(best.objective, rel=1e-8)
    columns, beta = Problem(case.X, merge=False).columns_with_constant, case.prior.mode.copy()
    trace = kernel.fit(columns, Documents(case.y, case.c, 1), case.prior, beta, 0.0, 40)[3]
    assert np.all(np.diff(trace) <= 1e-12 * trace[:-1])


@pytest.mark.parametrize("mode", [0.0, 0.7])
@pytest.mark.parametrize(
    ("away", "pull", "step"),
    [
        (0.0, 1.5, 0.25),  # up: (1.5 - 1)/2
        (0.0, -1.5, -0.25),  # down: (-1.5 + 1)/2
        (0.0, 1.0, 0.0),  # neither
        (0.0, -1.0, 0.0),
        (0.0, 0.3, 0.0),
        (0.5, 0.8, -0.1),  # on the positive side: (0.8 - 1)/2
        (-0.5, 0.8, 0.5),  # (0.8 + 1)/2 would cross over
        (0.5, -0.8, -0.5),
        (-0.5, -1.2, -0.1),
    ],
)
def test_the_tentative_step_of_the_lasso(mode: float, away: float, pull: float, step: float) -> None:
    assert kernel.tentative_step(mode + away, pull, 2.0, mode, 1.0) == pytest.approx(step)


def test_the_tentative_step_without_curvature() -> None:
    """Nothing holds it but the trust region; with nothing to gain it stays."""
    assert kernel.tentative_step(1.0, 0.5, 0.0, 0.0, 0.0) == INF
    assert kernel.tentative_step(1.0, 0.0, 0.0, 0.0, 0.0) == 0.0
    assert kernel.tentative_step(1.0, 0.0, 0.0, 0.0, 0.3) == -1.0
    assert kernel.tentative_step(0.0, 0.0, 0.0, 0.0, 0.3) == 0.0


def plain_cycles(case: Case, cycles: int) -> np.ndarray:
    """Figures 4 and 5 once more, with dense arrays; no weights, modes or bounds."""
    X = np.column_stack([case.X.toarray(), np.ones(len(case.y))])
    beta, radius, r = np.zeros(X.shape[1]), np.ones(X.shape[1]), np.zeros(len(case.y))
    for _ in range(cycles):
        for j, x in enumerate(X.T):
            inner = np.abs(r) - radius[j] * np.abs(x)
            F = np.where(inner <= 0, 0.25, 1 / (2 + np.exp(inner) + np.exp(-inner)))
            slope = np.sum(x * case.y / (1 + np.exp(r))) - case.prior.l2[j] * beta[j]
            G, lam = np.sum(x**2 * F) + case.prior.l2[j], case.prior.l1[j]
            if beta[j] == 0.0:
                step = max((slope - lam) / G, 0.0) + min((slope + lam) / G, 0.0)
            else:
                step = (slope - lam * np.sign(beta[j])) / G
                if lam > 0 and np.sign(beta[j] + step) == -np.sign(beta[j]):
                    step = -beta[j]
            step = float(np.clip(step, -radius[j], radius[j]))
            r += step * x * case.y
            beta[j] += step
            radius[j] = max(2 * abs(step), radius[j] / 2)
    return beta


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("cycles", [1, 2, 3, 12])
def test_the_path_is_the_papers(kind: str, cycles: int) -> None:
    case = random_case(7, KINDS[kind].compile(2.0, 6))
    case.c = np.ones(len(case.y))
    beta, (_, done, converged, trace) = case.cycles(cycles)
    assert (done, converged, len(trace)) == (cycles, False, cycles + 1)
    np.testing.assert_allclose(beta, plain_cycles(case, cycles), rtol=1e-10, atol=1e-14)


# The fit


@settings(max_examples=300, deadline=None)
@given(case=cases())
def test_the_objective_never_rises(case: Case) -> None:
    beta, (objective, cycles, _, trace) = case.cycles(60, 1e-12)
    assert len(trace) == cycles + 1
    assert np.all(np.diff(trace) <= 1e-13 * (1.0 + trace[:-1]))
    assert np.all((case.prior.lower <= beta) & (beta <= case.prior.upper))
    start = np.clip(case.prior.mode, case.prior.lower, case.prior.upper)
    assert trace[0] == pytest.approx(certify(case.X, case.y, case.prior, start, None, case.c).objective)
    assert objective == trace[-1]


@settings(max_examples=200, deadline=None)
@given(case=cases())
def test_run_long_it_finds_the_optimum(case: Case) -> None:
    result, best = case.fit(), case.newton()
    assert result.converged
    assert result.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-9)
    proof = certify(case.X, case.y, case.prior, result.weights, result.dual, case.c)
    assert result.objective == pytest.approx(proof.objective, rel=1e-12, abs=1e-12)
    assert result.gap == pytest.approx(proof.gap, rel=1e-6, abs=1e-9)
    assert result.kkt == pytest.approx(proof.kkt, rel=1e-6, abs=1e-9)
    assert result.objective - result.gap <= best.objective + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_rule_for_stopping(kind: str) -> None:
    case = random_case(3, KINDS[kind].compile(5.0, 6))
    signed = case.y[:, None] * np.column_stack([case.X.toarray(), np.ones(len(case.y))])
    ends = [signed @ case.cycles(k)[0] for k in range(60)]
    change = [np.sum(case.c * abs(b - a)) / (1 + np.sum(case.c * abs(b))) for a, b in pairwise(ends)]
    first = next(k for k, moved in enumerate(change, 1) if moved <= 5e-4)
    assert first > 2
    result = case.fit(tol=5e-4)
    assert (result.rounds, result.converged) == (first, True)
    short = case.fit(tol=5e-4, max_iter=first - 1)
    assert (short.rounds, short.converged) == (first - 1, False)
    assert short.objective > result.objective
    assert short.gap > 0.0
    none = case.fit(max_iter=0)
    assert (none.rounds, none.converged) == (0, False)
    assert not none.weights.any()


@pytest.mark.parametrize("kind", KINDS)
def test_weight_2_is_the_document_twice(kind: str) -> None:
    case = random_case(5, KINDS[kind].compile(3.0, 6))
    case.c = np.random.default_rng(0).integers(0, 4, len(case.y)).astype(float)
    rows = np.repeat(np.arange(len(case.y)), case.c.astype(int))
    twice = Case(case.X[rows].toarray(), case.y[rows], np.ones(len(rows)), case.prior)
    one, other = case.fit(tol=5e-4), twice.fit(tol=5e-4)
    assert one.rounds == other.rounds
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-12)
    assert one.objective == pytest.approx(other.objective, rel=1e-12)
    assert one.gap == pytest.approx(other.gap, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_empty_constant_and_equal_columns(kind: str) -> None:
    case = random_case(9, KINDS[kind].compile(30.0, 7))
    X = case.X.toarray()
    X[:, 1], X[:, 2], X[:, 5] = 0.0, 1.0, X[:, 4]
    case.X = sp.csr_matrix(X)
    result = case.fit()
    assert result.weights[1] == 0.0
    assert result.weights[4] == result.weights[5] != 0.0
    if kind == "gaussian":
        assert result.weights[2] == pytest.approx(result.weights[-1], rel=1e-4)
    assert result.objective == pytest.approx(case.newton().objective, rel=1e-6)
    away = case.fit(start=np.full(8, 0.5))
    assert away.weights[1] == pytest.approx(0.0, abs=1e-9)
    assert away.objective == pytest.approx(result.objective, rel=1e-6)


def test_no_features_at_all() -> None:
    y, c = np.array([1.0, 1.0, 1.0, -1.0]), np.ones(4)
    result = Case(np.zeros((4, 0)), y, c, same(1)).fit()
    assert result.weights == pytest.approx([np.log(3.0)])


def test_scores_that_settle_far_from_the_optimum_have_not_converged() -> None:
    draw = np.random.default_rng(0)
    Z = draw.normal(size=(300, 20))
    y = np.where(Z[:, :6].sum(axis=1) + draw.normal(size=300) > 0.5, 1.0, -1.0)
    problem, prior = Problem(sp.csr_matrix(1e4 + Z)), priors.Laplace().compile(1.0, 20)
    result = clg.fit(problem, y, np.ones(300), prior, variance=1.0)
    best = newton.fit(problem, y, np.ones(300), prior, variance=1.0)
    assert best.converged
    assert result.objective > 1.1 * best.objective
    assert not result.converged


def test_an_intercept_of_infinite_variance() -> None:
    case = random_case(11, same(7, l1=[0.5] * 6 + [0.0]))
    result = case.fit()
    assert np.isnan(result.gap)
    assert result.kkt < 1e-6
    assert result.objective == pytest.approx(case.newton().objective, rel=1e-9)


def test_a_prior_strong_enough_leaves_the_mode() -> None:
    case = random_case(2, same(7, mode=0.3, l1=1e3))
    result = case.fit()
    assert result.weights.tolist() == [0.3] * 7
    assert (result.rounds, result.converged, result.kkt) == (1, True, 0.0)
    assert result.gap == pytest.approx(0.0, abs=1e-9)


def test_one_sided_priors_keep_to_their_side() -> None:
    case = random_case(4, same(7, l1=0.3, lower=0.0))
    free = random_case(4, same(7, l1=0.3)).fit()
    result = case.fit()
    assert free.weights.min() < -0.1
    assert result.weights.min() == 0.0
    assert result.weights.max() > 0.1
    assert result.kkt < 1e-6
    assert case.fit(start=np.full(7, -1.0)).objective == pytest.approx(result.objective, rel=1e-9)


def test_margins_beyond_the_exponential() -> None:
    """Features in the thousands, and a start where no document curves the loss any more."""
    case = random_case(6, same(4, l1=1.0))
    case.X = case.X * 1e4
    result = case.fit(start=np.array([5.0, -5.0, 5.0, 0.0]))
    assert np.isfinite(result.weights).all()
    assert result.objective == pytest.approx(case.newton().objective, rel=1e-6)


def test_standardized_features_are_refused() -> None:
    case = random_case(8, same(7, l1=0.3))
    problem = Problem(case.X, np.ones(len(case.y)))
    with pytest.raises(SettingsError, match="cannot standardize"):
        clg.fit(problem, case.y, case.c, case.prior, variance=1.0)


# Other programs, other solvers


@pytest.mark.parametrize(
    ("prior", "variance", "log_posterior"),
    [(priors.Laplace(), 1.0, -198.402097144), (priors.Gaussian(), 0.5, -202.50905288)],
    ids=["laplace_v1", "gauss_v05"],
)
def test_the_log_posterior_of_bbr(prior: priors.Prior, variance: float, log_posterior: float) -> None:
    train = corpus.read(BBR / "train.dat", format="svmlight")
    X = sp.csr_matrix(train.documents)
    y = np.array([float(labels[0]) for labels in train.labels])
    arrays = prior.compile(variance, X.shape[1])
    result = clg.fit(Problem(X), y, np.ones(len(y)), arrays, variance=variance, tol=1e-8)
    assert result.converged
    assert -result.objective + log_prior_constant(arrays) == pytest.approx(log_posterior, rel=1e-6)


@pytest.fixture(scope="module")
def modapte(real: Callable[[str], Path]) -> tuple[Problem, float, int, list[tuple[str, ...]]]:
    """The training part, its norm-based variance, its number of features, its labels."""
    train = corpus.read(real("reuters21578.tar.xz")).part("train")
    X = design(train.documents, TextSettings()).matrix
    return Problem(X), norm_variance(X), X.shape[1], list(train.labels)


@pytest.mark.parametrize(
    ("kind", "category"), [("laplace", "corn"), ("laplace", "wheat"), ("laplace", "ship"), ("gaussian", "ship")]
)
def test_categories_of_reuters(
    modapte: tuple[Problem, float, int, list[tuple[str, ...]]], kind: str, category: str
) -> None:
    problem, variance, d, labels = modapte
    y = np.array([1.0 if category in row else -1.0 for row in labels])
    ones, arrays = np.ones(len(y)), KINDS[kind].compile(variance, d)
    best = newton.fit(problem, y, ones, arrays, variance=variance, tol=1e-8)
    result = clg.fit(problem, y, ones, arrays, variance=variance, tol=1e-6, max_iter=5000)
    assert result.converged
    assert result.objective == pytest.approx(best.objective, rel=1e-6)
