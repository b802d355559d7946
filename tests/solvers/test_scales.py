"""Columns of very different scales: the optimum whatever they are, or word that it was not reached; never NaN."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits

from lapwing import MAPClassifier
from lapwing.errors import ConvergenceWarning, InputError
from lapwing.selection.variance import CrossValidation
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats import priors
from lapwing.stats.links import LINKS
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.priors import Gaussian, Prior
from lapwing.stats.result import FitResult
from lapwing.training.category import choose_variance

both_links = pytest.mark.parametrize("link", [name for name, link in LINKS.items() if link.code is not None])
PRIORS = [kind() for kind in priors.PRIORS.values() if kind.convex]
mp = mpmath.mp.clone()
mp.dps = 40
exact = np.vectorize(mp.mpf, otypes=[object])


def losses(margins: np.ndarray, link: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each loss and its first two derivatives, in forty digits."""
    rows = []
    for r in margins:
        if link == "logit":
            p = 1 / (1 + mp.exp(r))
            rows.append((mp.log1p(mp.exp(-r)), -p, p * (1 - p)))
        else:
            cdf = mp.erfc(-r / mp.sqrt(2)) / 2
            theta = mp.exp(-r * r / 2) / mp.sqrt(2 * mp.pi) / cdf
            rows.append((-mp.log(cdf), -theta, theta * (theta + r)))
    value, slope, bend = np.array(rows, dtype=object).T
    return value, slope, bend


class Exact:
    """The objective of `stats/objective.py`, without bounds, in forty digits."""

    def __init__(self, X: np.ndarray, y: np.ndarray, prior: PriorArrays, link: str) -> None:
        self.Z, self.link = exact(y[:, None] * np.column_stack([X, np.ones(len(y))])), link
        self.mode, self.l1, self.l2 = map(exact, prior[:3])

    def at(self, beta: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """Objective, gradient without that of l1|β-m|, and Hessian."""
        value, slope, bend = losses(self.Z @ beta, self.link)
        away = beta - self.mode
        total = value.sum() + (self.l1 * abs(away) + self.l2 * away * away / 2).sum()
        return total, self.Z.T @ slope + self.l2 * away, self.Z.T @ (bend[:, None] * self.Z) + np.diag(self.l2)

    def least(self, weights: np.ndarray) -> float:
        """The minimum, by Newton's method over coordinates off their mode; none is sought where signs settle late."""
        beta = exact(weights)
        for _ in range(12):
            away = beta - self.mode
            sign = np.where(self.l1 == 0, 0, np.sign(away.astype(float)))
            free = np.flatnonzero((sign != 0) | (self.l1 == 0))
            beta = self._along(beta, free, sign)
            crossed = [j for j in free if sign[j] != 0 and (beta[j] - self.mode[j]) * sign[j] <= 0]
            beta[crossed] = self.mode[crossed]
            value, gradient, _ = self.at(beta)
            at_mode = (beta == self.mode) & (self.l1 != 0)
            left = [j for j in np.flatnonzero(at_mode) if abs(gradient[j]) > self.l1[j] * (1 + mp.mpf(10) ** -12)]
            if not crossed and not left:
                return float(value)
            if not crossed:  # let the worst leave its mode, a little
                j = max(left, key=lambda j: abs(gradient[j]) / self.l1[j])
                beta[j] -= mp.sign(gradient[j]) * mp.mpf(10) ** -20
        pytest.skip("signs did not settle")

    def _along(self, beta: np.ndarray, free: np.ndarray, sign: np.ndarray) -> np.ndarray:
        value, gradient, H = self.at(beta)
        for _ in range(300):
            slope = (gradient + self.l1 * sign)[free]
            H = H + np.diag(np.diag(H)) * mp.mpf(10) ** -25  # of columns that are alike, any
            step = mp.lu_solve(mp.matrix(H[np.ix_(free, free)].tolist()), mp.matrix((-slope).tolist()))
            t = mp.mpf(1)
            while True:
                trial = beta.copy()
                trial[free] += t * np.array(list(step), dtype=object)
                new = self.at(trial)
                if new[0] <= value or t < 1e-15:
                    break
                t /= 2
            fell = value - new[0]
            beta, (value, gradient, H) = trial, new
            if fell <= mp.mpf(10) ** -20 * value:
                break
        return beta


def fit(X: np.ndarray, y: np.ndarray, prior: PriorArrays, link: str, tol: float, *, sparse: bool) -> FitResult:
    with pytest.MonkeyPatch.context() as patched:
        if sparse:  # the kernels of sparse matrices, whatever comes
            patched.setattr("lapwing.solvers.dense.MOST", -1)
            patched.setattr("lapwing.solvers.dense.WIDEST", -1)
        problem = Problem(sp.csr_matrix(X), merge=False)
        return newton.fit(problem, y, np.ones(len(y)), prior, variance=1.0, tol=tol, link=link)


def optimum_or_word(X: np.ndarray, y: np.ndarray, arrays: PriorArrays, link: str, *, sparse: bool) -> FitResult:
    """Within a millionth of Newton's method in forty digits, or not said to have converged; and never NaN."""
    result = fit(X, y, arrays, link, 1e-8, sparse=sparse)
    assert np.isfinite(result.weights).all()
    assert np.isfinite([result.objective, result.kkt, result.kkt_bound]).all()
    assert np.isfinite(result.gap) or arrays.flat.any()
    if result.converged:
        assert result.objective <= Exact(X, y, arrays, link).least(result.weights) * (1 + 1e-6)
    return result


layouts = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
intercepts = pytest.mark.parametrize("intercept_variance", [None, 100.0, np.inf], ids=str)


@layouts
@intercepts
@both_links
@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), log_variance=st.floats(-2, 4))
def test_columns_of_mixed_scales(
    prior: Prior, link: str, intercept_variance: float | None, sparse: bool, seed: int, log_variance: float
) -> None:
    rng = np.random.default_rng(seed)
    n, d = 14, 4
    X = (rng.normal(size=(n, d)) + rng.normal(size=d) * rng.integers(0, 2, d)) * 10.0 ** rng.uniform(-4, 4, d)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    result = optimum_or_word(X, y, prior.compile(10.0**log_variance, d, intercept_variance), link, sparse=sparse)
    assert result.converged or sparse


ODD = {
    "scales from 1e-8 to 1e8": (lambda X: X * 10.0 ** np.array([-8.0, -3.0, 3.0, 8.0]), 1.0),
    "a constant column": (lambda X: np.column_stack([X[:, :3], np.full(len(X), 7.0)]), 1.0),
    "a duplicate column": (lambda X: X[:, [0, 1, 2, 2]], 1.0),
    "columns nearly alike": (lambda X: np.column_stack([X[:, :3], X[:, 2] + 1e-6 * X[:, 3]]), 1e3),
    "far from zero": (lambda X: X + np.array([0.0, 1e3, 1e5, 0.0]), 10.0),
    "two documents": (lambda X: X[:2], 1.0),
    "one column": (lambda X: X[:, :1], 1.0),
    "separable": (
        lambda X: np.column_stack([X[:, :3], np.where(np.arange(len(X)) % 2, 1.0, -1.0)]),
        1e6,
    ),
}


@layouts
@intercepts
@both_links
@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@pytest.mark.parametrize("case", ODD)
def test_odd_columns(case: str, prior: Prior, link: str, intercept_variance: float | None, sparse: bool) -> None:
    change, variance = ODD[case]
    rng = np.random.default_rng(3)
    X = change(rng.normal(size=(14, 4)))
    y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    optimum_or_word(X, y, prior.compile(variance, X.shape[1], intercept_variance), link, sparse=sparse)


def newtons(X: np.ndarray, y: np.ndarray, variance: float, *, free_intercept: bool) -> float:
    """The least objective of ridge, by Newton's method on standardised columns in long double."""
    Z = np.column_stack([X, np.ones(len(y))]).astype(np.longdouble)
    mean, sd = Z[:, :-1].mean(axis=0), Z[:, :-1].std(axis=0)
    sd[sd == 0.0] = 1.0
    T = np.diag(np.append(1.0 / sd, 1.0).astype(np.longdouble))  # β = T γ
    T[-1, :-1] = -mean / sd
    Z, l2 = Z @ T, np.full(len(T), 1.0 / variance, dtype=np.longdouble)
    l2[-1] = 0.0 if free_intercept else l2[-1]
    P = T.T @ (l2[:, None] * T)
    gamma = np.zeros(len(T), dtype=np.longdouble)

    def value(gamma: np.ndarray) -> Any:
        return np.logaddexp(0, -y * (Z @ gamma)).sum() + gamma @ P @ gamma / 2

    for _ in range(100):
        theta = 1 / (1 + np.exp(y * (Z @ gamma)))
        gradient = P @ gamma - Z.T @ (y * theta)
        H = P + Z.T @ ((theta * (1 - theta))[:, None] * Z)
        step = np.linalg.lstsq(H.astype(float), -gradient.astype(float), rcond=1e-17)[0]
        t = 1.0
        while value(gamma + t * step) > value(gamma) and t > 1e-12:
            t /= 2
        gamma = gamma + t * step
    return float(value(gamma))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("intercept_variance", [None, np.inf], ids=str)
def test_breast_cancer_as_it_comes(seed: int, intercept_variance: float | None) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    part = np.random.default_rng(seed).permutation(len(y))[:426]
    X, signs = X[part], np.where(y[part], 1.0, -1.0)
    best = newtons(X, signs, 1000.0, free_intercept=intercept_variance == np.inf)
    before = np.inf
    for tol in (1e-2, 1e-4, 1e-8):
        model = MAPClassifier("gaussian", variance=1000.0, intercept_variance=intercept_variance, tol=tol)
        model.fit(X, y[part])
        assert model.converged_[0]
        assert model.objective_[0] <= before * (1 + 1e-12)  # a tighter tolerance never ends higher
        before = model.objective_[0]
    assert before == pytest.approx(best, rel=1e-6)


def test_the_recipe_for_an_unpenalised_intercept() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for link in ("logit", "probit"):
        model = MAPClassifier("gaussian", variance=100.0, intercept_variance=np.inf, link=link).fit(X, y)
        assert model.converged_[0]
        assert np.isfinite(model.coef_.data).all()
        assert model.score(X, y) > 0.97
        proof = certify(
            X, np.where(y, 1.0, -1.0), Gaussian().compile(100.0, 30, np.inf),
            np.append(model.coef_.toarray()[0], model.intercept_), model.dual_[0], link=link,
        )  # fmt: skip
        assert proof.objective == pytest.approx(model.objective_[0], rel=1e-10)
        assert proof.relative_gap <= 1e-4


def test_eights_among_digits() -> None:
    X, y = load_digits(return_X_y=True)
    model = MAPClassifier("gaussian", variance=1e3).fit(X, y == 8)
    assert model.converged_[0]
    best = newtons(X, np.where(y == 8, 1.0, -1.0), 1e3, free_intercept=False)
    assert best <= model.objective_[0] <= best * (1 + 1e-4)


@pytest.mark.parametrize("intercept_variance", [None, np.inf], ids=str)
@both_links
def test_a_column_of_lengths_beside_words(link: str, intercept_variance: float | None) -> None:
    rng = np.random.default_rng(0)
    lengths = rng.lognormal(5, 1, 300).astype(int) + 3
    share = 1.0 / np.arange(1, 401)
    words = sp.csr_matrix(np.vstack([rng.multinomial(k, share / share.sum()) for k in lengths]), dtype=float)
    words.data = 1.0 + np.log(words.data)
    words = sp.csr_matrix(words.multiply(1.0 / np.sqrt(words.multiply(words).sum(axis=1))))
    X = sp.hstack([words, sp.csr_matrix(lengths[:, None])], format="csr")
    y = words @ rng.normal(size=400) + 0.3 * np.log(lengths) + rng.normal(size=300) > 2
    for variance in (1.0, 100.0, 1e4):
        model = MAPClassifier("gaussian", variance=variance, intercept_variance=intercept_variance, link=link).fit(X, y)
        assert model.converged_[0]
        assert np.isfinite(model.coef_.data).all()


MEANS = {
    "2000 and 10": (2000.0, 10.0),
    "1e4 and 1": (1e4, 1.0),
    "mixed": (np.logspace(-1, 5, 12), np.logspace(-3, 1, 12)),
}


@layouts
@pytest.mark.parametrize("intercept_variance", [None, np.inf], ids=str)
@both_links
@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@pytest.mark.parametrize("case", MEANS)
def test_columns_whose_mean_is_large_beside_their_deviation(
    case: str, prior: Prior, link: str, intercept_variance: float | None, sparse: bool
) -> None:
    """The optimum of the stated objective, proven on the matrix as it was given, words beside them or not."""
    draw, n, (mean, deviation) = np.random.default_rng(5), 150, MEANS[case]
    Z = draw.normal(size=(n, 12))
    columns = [sp.csr_matrix(mean + deviation * Z), sp.csr_matrix(np.full((n, 1), 1e4))]
    words = sp.random(n, 60, 0.05, "csr", random_state=draw)
    X = sp.hstack([words, *columns], "csr") if sparse else sp.hstack(columns, "csr")
    y = np.where(Z @ draw.normal(size=12) + draw.normal(size=n) > 0.5, 1.0, -1.0)
    arrays = prior.compile(1.0, X.shape[1], intercept_variance)
    result = newton.fit(Problem(X), y, np.ones(n), arrays, variance=1.0, link=link)
    assert result.converged
    proof = certify(X, y, arrays, result.weights, result.dual, link=link)
    assert proof.relative_gap <= 1.01e-4
    assert proof.objective == pytest.approx(result.objective, rel=1e-9)


@pytest.mark.parametrize("prior", ["laplace", "elasticnet"])
def test_large_means_do_not_end_at_the_null_model(prior: str) -> None:
    """Under a free intercept the optimum of columns moved by a constant is theirs, and so is its objective."""
    draw = np.random.default_rng(1)
    Z = draw.normal(size=(500, 60))
    y = Z[:, :6].sum(axis=1) + draw.normal(size=500) > 0.0
    moved, plain = (MAPClassifier(prior, variance=1.0, intercept_variance=np.inf).fit(X, y) for X in (Z + 1e4, Z))
    assert moved.converged_[0]
    assert moved.objective_[0] == pytest.approx(plain.objective_[0], rel=2e-4)
    penalised = MAPClassifier(prior, variance=1.0).fit(Z + 1e4, y)
    assert penalised.converged_[0]
    assert penalised.coef_.nnz >= 6
    assert plain.objective_[0] < penalised.objective_[0] < 0.5 * 500 * np.log(2.0)


@pytest.mark.parametrize("prior", ["laplace", "elasticnet"])
def test_a_softmax_of_columns_whose_mean_is_large(prior: str) -> None:
    draw = np.random.default_rng(6)
    Z = draw.normal(size=(500, 60))
    y = np.digitize(Z[:, 0] + Z[:, 1] + draw.normal(size=500), [-0.8, 0.9])
    model = MAPClassifier(prior, variance=1.0, multi_class="multinomial", max_iter=100).fit(1e4 + Z, y)
    assert model.converged_[0]
    assert model.dual_gap_[0] <= 1e-4 * model.objective_[0]


def test_the_best_iterate_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where rounds run out, in the kernel of sparse matrices."""
    monkeypatch.setattr("lapwing.solvers.dense.MOST", -1)
    monkeypatch.setattr("lapwing.solvers.dense.WIDEST", -1)
    X, y = load_breast_cancer(return_X_y=True)
    problem, signs = Problem(sp.csr_matrix(X)), np.where(y, 1.0, -1.0)
    prior, before = Gaussian().compile(1e5, 30, np.inf), np.inf
    for rounds in (1, 2, 5, 10, 20, 40, 80, 160, 320):
        result = newton.fit(problem, signs, np.ones(len(y)), prior, variance=1e5, tol=1e-13, max_iter=rounds)
        assert result.objective <= before * (1 + 1e-9)
        before = result.objective


def test_what_is_not_finite_is_said_and_refused() -> None:
    X, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    prior = Gaussian().compile(1.0, 3)
    with np.errstate(invalid="ignore"):
        assert np.isnan(certify(X, y, prior, np.full(4, np.nan)).kkt)
    with pytest.raises(InputError, match="not finite"):
        FitResult(np.full(4, np.nan), 1.0, 0.0, 0.0, 0.0, 1, True, 1.0, np.ones(3))


def test_no_variance_is_chosen_by_fits_that_did_not_converge() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    problem, signs, plan = Problem(sp.csr_matrix(X)), np.where(y, 1.0, -1.0), CrossValidation((1e-4, 1.0, 1e3), 5, 5)
    seed = np.random.SeedSequence(0)

    def choose(max_iter: int) -> Any:
        return choose_variance(
            problem, signs, np.ones(len(y)), Gaussian(), plan, method="cv", start=1.0, seed=seed, max_iter=max_iter
        )  # fmt: skip

    assert choose(500).chosen == 1e3
    with pytest.warns(ConvergenceWarning, match="variance .*1000.* did not reach their tolerance"):
        assert choose(6).chosen < 1e3
