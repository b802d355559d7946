"""Links without kernels: complementary log-log and Student's, against SciPy, statsmodels and their own conditions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.stats import gumbel_l, t

import lapwing
from lapwing.errors import SettingsError
from lapwing.estimators import MAPClassifier
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.links import LINKS, Link, as_link
from lapwing.stats.objective import certify, kkt_violation
from lapwing.stats.priors import PRIORS, Gaussian

NEW = ("cloglog", "robit:4")
new_links = pytest.mark.parametrize("link", NEW)
LOSSES = {
    "cloglog": lambda score, y: -np.where(y > 0, gumbel_l.logcdf(score), gumbel_l.logsf(score)),
    "robit:4": lambda score, y: -t.logcdf(y * score, 4),
}
SCORES = np.concatenate([-np.logspace(2, -4, 60), [0.0], np.logspace(-4, 2, 60)])


def problem(n: int = 80, d: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0.4, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=n).astype(float)


@new_links
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_functions_of_a_link(link: str, sign: float) -> None:
    """Losses are SciPy's, θ their slope, curvature that of θ, and probability and quantile undo each other."""
    form, r = as_link(link), SCORES[SCORES > -30] if sign < 0 else SCORES
    np.testing.assert_allclose(form.loss(r, sign), LOSSES[link](sign * r, sign), rtol=1e-9, atol=1e-14)
    h = 1e-5 * np.maximum(1.0, np.abs(r))
    slope = (form.loss(r - h, sign) - form.loss(r + h, sign)) / (2 * h)
    theta = form.theta(r, sign)
    np.testing.assert_allclose(theta, slope, rtol=1e-4, atol=1e-7)
    bend = (form.theta(r - h, sign) - form.theta(r + h, sign)) / (2 * h)
    np.testing.assert_allclose(form.curvature(r, theta, sign), np.maximum(bend, 0.0), rtol=1e-3, atol=1e-7)
    p = np.array([1e-9, 0.2, 0.5, 0.975])
    np.testing.assert_allclose(form.probability(form.quantile(p)), p, rtol=1e-9)
    assert form.convex == (link == "cloglog")


def test_the_conjugate_of_cloglog_is_the_supremum() -> None:
    form, r = LINKS["cloglog"], np.linspace(-60.0, 40.0, 400_001)
    for sign, values in ((1.0, [1e-9, 0.01, 0.3, 0.99, 1.0]), (-1.0, [1e-9, 0.01, 0.3, 3.0, 500.0])):
        for theta in values:
            supremum = float(np.max(-theta * r - form.loss(r, sign)))
            assert float(form.conjugate(np.array([theta]), sign)[0]) == pytest.approx(supremum, abs=1e-6 * (1 + theta))
        assert float(form.conjugate(np.zeros(1), sign)[0]) == 0.0


@new_links
@pytest.mark.parametrize("prior", [kind() for kind in PRIORS.values() if kind.convex], ids=lambda p: p.name)
def test_optimality(link: str, prior: PRIORS) -> None:  # type: ignore[valid-type]
    X, y, c = problem()
    arrays = prior.compile(1.0, X.shape[1])
    result = newton.fit(Problem(sp.csr_matrix(X)), y, c, arrays, variance=1.0, tol=1e-9, link=link)
    proof = certify(X, y, arrays, result.weights, result.dual, c, link)
    assert result.converged
    assert proof.relative_gap <= 1e-9
    assert np.isnan(proof.gap) == np.isnan(result.gap) == (link != "cloglog")
    Z = np.column_stack([X, np.ones(len(y))])
    slope = np.empty(len(arrays.mode))
    for j in range(len(slope)):  # nothing of ours
        step = np.zeros(len(slope))
        step[j] = 1e-6
        up, down = (np.sum(c * LOSSES[link](Z @ (result.weights + side * step), y)) for side in (1.0, -1.0))
        slope[j] = (up - down) / 2e-6
    assert kkt_violation(arrays, result.weights, slope).max() <= 1e-3


@pytest.mark.parametrize("seed", range(12))
def test_modes_and_bounds_far_from_the_boundary(seed: int) -> None:
    """Modes at which a document costs e to the power of hundreds."""
    rng = np.random.default_rng(seed)
    X, y, c = problem(40, 25, seed)
    X *= 10.0 ** rng.uniform(0, 2)
    base = [kind() for kind in PRIORS.values() if kind.convex][seed % 3].compile(10.0 ** rng.uniform(-2, 3), 25)
    mode = np.where(rng.random(26) < 0.5, rng.normal(size=26), 0.0)
    lower = np.where(rng.random(26) < 0.3, mode - rng.random(26), -np.inf)
    upper = np.where(rng.random(26) < 0.3, mode + rng.random(26), np.inf)
    arrays = base._replace(mode=mode, lower=lower, upper=upper)
    result = newton.fit(
        Problem(sp.csr_matrix(X), merge=False), y, c, arrays, variance=1.0, tol=1e-9, link="cloglog"
    )  # fmt: skip
    assert result.converged
    assert np.all((result.weights >= lower) & (result.weights <= upper))
    assert certify(X, y, arrays, result.weights, result.dual, c, "cloglog").relative_gap <= 1e-9


@new_links
@pytest.mark.parametrize("d", [12, 700])
def test_ridge_agrees_with_scipy(link: str, d: int) -> None:
    """Few columns, whose matrix is factorised, and many, where conjugate gradients go."""
    X, y, c = problem(40, d)
    arrays = Gaussian().compile(0.1, d)

    def objective(beta: np.ndarray) -> tuple[float, np.ndarray]:
        score = X @ beta[:-1] + beta[-1]
        pull = c * y * as_link(link).theta(y * score, y)
        value = np.sum(c * LOSSES[link](score, y)) + 5.0 * beta @ beta
        return float(value), 10.0 * beta - np.append(X.T @ pull, pull.sum())

    theirs = minimize(objective, np.zeros(d + 1), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    result = newton.fit(Problem(sp.csr_matrix(X)), y, c, arrays, variance=0.1, tol=1e-10, link=link)
    assert result.objective == pytest.approx(theirs.fun, rel=1e-8)
    np.testing.assert_allclose(result.weights, theirs.x, atol=1e-4)


def test_cloglog_is_that_of_statsmodels() -> None:
    """Coefficients of GLM(…, Binomial(CLogLog())).fit() of statsmodels 0.15, which has no prior."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = np.where(rng.random(60) < 1 - np.exp(-np.exp(X @ [1.0, -0.5, 0.0] - 0.3)), 1.0, -1.0)
    prior = Gaussian().compile(1e9, 3)
    result = newton.fit(Problem(sp.csr_matrix(X)), y, np.ones(60), prior, variance=1e9, tol=1e-12, link="cloglog")
    np.testing.assert_allclose(result.weights, STATSMODELS, atol=2e-6)


STATSMODELS = [0.83233323, -0.94146622, -0.31959644, -0.21844204]


@new_links
def test_weights_columns_and_centring(link: str) -> None:
    """A document of weight 2 is that document twice; permuted columns permute the answer; centred, the same optimum."""
    X, y, _ = problem()
    weight = np.ones(len(y))
    weight[:10] = 2.0
    arrays = PRIORS["elasticnet"]().compile(1.0, X.shape[1])
    result = newton.fit(Problem(sp.csr_matrix(X)), y, weight, arrays, variance=1.0, tol=1e-10, link=link).weights
    again, twice = np.vstack([X, X[:10]]), np.append(y, y[:10])
    repeated = newton.fit(Problem(sp.csr_matrix(again)), twice, np.ones(90), arrays, variance=1.0, tol=1e-10, link=link)
    np.testing.assert_allclose(repeated.weights, result, atol=1e-5)
    order = np.random.default_rng(1).permutation(X.shape[1])
    permuted = newton.fit(Problem(sp.csr_matrix(X[:, order])), y, weight, arrays, variance=1.0, tol=1e-10, link=link)
    np.testing.assert_allclose(permuted.weights[:-1], result[:-1][order], atol=1e-5)
    centred = MAPClassifier("laplace", variance=1.0, standardize=True, link=link, tol=1e-8, calibrate=False).fit(X, y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    other = MAPClassifier("laplace", variance=1.0, link=link, tol=1e-8, calibrate=False).fit(scaled, y)
    np.testing.assert_allclose(centred.decision_function(X), other.decision_function(scaled), atol=1e-4)


def test_wrong_labels_pull_less_under_robit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    truth = np.where(X @ [2.0, -2.0, 1.0, 0.0, 0.0] > 0, 1.0, -1.0)
    y = truth * np.where(rng.random(400) < 0.1, -1.0, 1.0)
    right = {}
    for link in ("logit", "robit:1"):
        model = MAPClassifier("gaussian", variance=10.0, link=link, calibrate=False).fit(X, y)
        right[link] = np.mean(model.predict(X) == truth)
    assert right["robit:1"] >= right["logit"]


@new_links
@pytest.mark.parametrize("variance", ["pooled", "cv", 1.0])
def test_everything_around_a_fit_works(link: str, variance: str | float) -> None:
    X, y, _ = problem(120)
    model = MAPClassifier("laplace", variance=variance, link=link, threshold="f1").fit(X, y)
    assert model.score(X, y) > 0.7
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    classes = MAPClassifier("laplace", variance=variance, link=link).fit(X, np.arange(120) % 2 + (X[:, 0] > 0.5))
    np.testing.assert_allclose(classes.predict_proba(X).sum(axis=1), 1.0)


def test_a_link_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An entry of LINKS is all it takes: log-log, e^(-e^-s), which is cloglog with the labels exchanged."""
    other = LINKS["cloglog"]
    own = Link(
        None, lambda s: 1.0 - other.probability(-s), lambda p: -other.quantile(1.0 - p), other.negative, other.positive
    )
    monkeypatch.setitem(LINKS, "loglog", own)
    X, y, _ = problem(120)
    kept = {"prior": "laplace", "variance": "pooled", "tol": 1e-10}
    here, there = MAPClassifier(**kept, link="loglog").fit(X, y), MAPClassifier(**kept, link="cloglog").fit(X, -y)
    assert here.dual_gap_[0] <= 1e-10 * here.objective_[0]
    assert here.variance_[0] == there.variance_[0]
    np.testing.assert_allclose(here.coef_.toarray(), -there.coef_.toarray(), atol=1e-5)
    np.testing.assert_allclose(here.predict_proba(X), there.predict_proba(X)[:, ::-1], atol=1e-4)
    here.save(tmp_path / "m.lapwing")
    np.testing.assert_allclose(lapwing.load(tmp_path / "m.lapwing").predict_proba(X), here.predict_proba(X))


def test_half_is_not_a_score_of_zero_under_cloglog() -> None:
    X, y, _ = problem(120)
    model = MAPClassifier("gaussian", variance=1.0, link="cloglog", calibrate=False).fit(X, y)
    assert model.thresholds_[0] == pytest.approx(0.5)
    assert np.array_equal(model.predict(X) == 1.0, model.predict_proba(X)[:, 1] > 0.5)


@pytest.mark.parametrize("name", ["robit", "robit:0.2", "robit:100", "robit:four", "cloglog:4"])
def test_what_is_no_link(name: str) -> None:
    with pytest.raises(SettingsError, match=r"robit:"):
        as_link(name)


@pytest.mark.parametrize("options", [{"solver": "em"}, {"solver": "clg"}, {"prior": "jeffreys"}])
def test_what_does_not_go_together(options: dict[str, str]) -> None:
    X, y, _ = problem()
    with pytest.raises(SettingsError, match="link='cloglog' goes with"):
        MAPClassifier(**{"variance": "norm", "link": "cloglog", **options}).fit(X, y)
