"""solver="em" and prior="jeffreys" through the estimators: what is fitted, what is claimed, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from lapwing import MAPClassifier, TextClassifier
from lapwing.errors import InputError, SettingsError
from lapwing.priors import Jeffreys
from lapwing.stats import certify_stationary


def data(seed: int = 0, n: int = 80, d: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, :3] @ [2.0, -1.5, 1.0] + rng.normal(size=n) > 0.3).astype(int)


@pytest.mark.parametrize("prior", ["laplace", "gaussian", "elasticnet"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_em_is_the_default_solver_by_other_means(prior: str, link: str) -> None:
    X, y = data()
    em, auto = (
        MAPClassifier(prior, link=link, variance=1.0, solver=solver, tol=1e-8).fit(X, y) for solver in ("em", "auto")
    )
    assert em.converged_.all()
    assert em.objective_[0] == pytest.approx(auto.objective_[0], rel=1e-7)
    np.testing.assert_allclose(em.predict_proba(X), auto.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("start", ["least_squares", "gaussian", "laplace"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_jeffreys_says_what_was_checked(link: str, start: str, tmp_path: Path) -> None:
    X, y = data()
    model = MAPClassifier(Jeffreys(start, 2.0), link=link).fit(X, y)
    beta = np.append(model.coef_.toarray()[0], model.intercept_)
    assert 1 <= np.count_nonzero(beta) < 10
    assert np.isnan(model.dual_gap_[0])
    assert np.isnan(model.variance_[0])
    proof = certify_stationary(X, np.where(y == 1, 1.0, -1.0), beta, link=link)
    assert proof.local_minimum
    assert model.kkt_[0] == pytest.approx(proof.slope, abs=1e-7)
    assert model.converged_.all()
    model.save(tmp_path / "m")
    loaded = lapwing.load(tmp_path / "m")
    assert loaded.provenance["prior"] == "jeffreys"
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_jeffreys_keeps_one_of_two_that_are_alike() -> None:
    X, y = data()
    doubled = np.column_stack([X, X])
    model = MAPClassifier("jeffreys").fit(doubled, y)
    beta = model.coef_.toarray()[0]
    assert not np.any((beta[:12] != 0) & (beta[12:] != 0))
    sign = np.where(y == 1, 1.0, -1.0)
    assert certify_stationary(doubled, sign, np.append(beta, model.intercept_)).local_minimum


def test_an_intercept_with_a_prior_of_its_own() -> None:
    X, y = data(1)
    free = MAPClassifier("jeffreys", intercept_variance=np.inf, link="probit").fit(X, y)
    held = MAPClassifier("jeffreys", intercept_variance=1e-6, link="probit").fit(X, y)
    assert abs(held.intercept_[0]) < 1e-3 < abs(free.intercept_[0])
    assert free.converged_.all()


def test_what_jeffreys_has_not() -> None:
    X, y = data()
    with pytest.raises(SettingsError, match="no variance to choose"):
        MAPClassifier("jeffreys", variance=2.0).fit(X, y)
    with pytest.raises(SettingsError, match="fitted by EM"):
        MAPClassifier("jeffreys", solver="clg").fit(X, y)
    with pytest.raises(SettingsError, match="prior must be one of laplace, gaussian, elasticnet, jeffreys"):
        MAPClassifier("jeffrey").fit(X, y)


@pytest.mark.parametrize("prior", ["laplace", "gaussian", "jeffreys"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_documented_behaviour_on_bad_input(prior: str, link: str) -> None:
    """Separable data, a constant column, one document, all labels equal: a finite answer, or a sentence."""
    X, y = data(3)

    def options(**more: object) -> MAPClassifier:
        return MAPClassifier(prior, link=link, solver="em", **more)

    separable = options().fit(np.column_stack([X, y]), y)
    assert separable.converged_.all()
    assert separable.score(np.column_stack([X, y]), y) == 1.0
    constant = options().fit(np.column_stack([X, np.full(len(y), 3.0)]), y)
    assert constant.converged_.all()
    one = options().fit(X[:1], np.array([[1, 0]]))
    assert one.converged_.all()
    if prior == "jeffreys":  # one document holds no coefficient away from 0
        assert one.coef_.nnz == 0
        assert not one.intercept_.any()
    else:
        assert one.predict(X[:1]).tolist() == [[1, 0]]  # without a positive document: "no"
    equal = options().fit(X, np.ones((len(y), 2), dtype=int))
    assert equal.predict(X).all()
    with pytest.raises(InputError, match="no finite estimate"):
        options(intercept_variance=np.inf).fit(X, np.ones((len(y), 2), dtype=int))


def test_texts(tmp_path: Path) -> None:
    texts = ["wheat and corn", "corn rose", "oil and gas", "gas fell", "wheat fell", "oil rose"] * 5
    labels = ["grain", "grain", "energy", "energy", "grain", "energy"] * 5
    model = TextClassifier(prior="jeffreys", link="probit").fit(texts, labels)
    assert model.score(texts, labels) > 0.6
    assert sp.issparse(model.coef_)
