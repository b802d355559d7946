"""link="probit" from the estimators to the model file, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_ndtr, ndtr, ndtri

import lapwing
from lapwing import MAPClassifier, TextClassifier
from lapwing.errors import SettingsError
from lapwing.stats.priors import Laplace

TEXTS = ["wheat and corn", "corn rose", "oil and gas", "gas fell", "wheat fell", "oil rose"] * 3
LABELS = ["grain", "grain", "energy", "energy", "grain", "energy"] * 3


def data(seed: int = 0, n: int = 80, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0.5).astype(int)


@pytest.mark.parametrize("prior", ["laplace", "gaussian", "elasticnet"])
@pytest.mark.parametrize("solver", ["auto", "clg"])
def test_probabilities_are_normal_and_the_certificate_holds(prior: str, solver: str) -> None:
    X, y = data()
    tol = 1e-8 if solver == "auto" else 1e-10
    model = MAPClassifier(prior, link="probit", variance=2.0, solver=solver, tol=tol, max_iter=20_000).fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], ndtr(scores))
    assert model.converged_.all()
    assert model.dual_gap_[0] <= 1e-5 * model.objective_[0]
    sign = np.where(y == 1, 1.0, -1.0)
    arrays = lapwing.stats.priors.as_prior(prior).compile(2.0, X.shape[1])
    beta = np.append(model.coef_.toarray()[0], model.intercept_)
    penalty = np.sum(arrays.l1 * np.abs(beta) + arrays.l2 * beta**2 / 2)
    assert model.objective_[0] == pytest.approx(-log_ndtr(sign * scores).sum() + penalty, rel=1e-10)
    proof = lapwing.certify(sp.csr_matrix(X), sign, arrays, beta, model.dual_[0], link="probit")
    assert proof.gap == pytest.approx(model.dual_gap_[0], abs=1e-10 * proof.objective)


def test_an_unknown_link() -> None:
    X, y = data(3)
    with pytest.raises(SettingsError, match="link must be one of logit, probit"):
        MAPClassifier(link="loglog").fit(X, y)


def test_variance_and_thresholds_follow_the_link() -> None:
    X, y = data(5)
    Y = np.column_stack([y, 1 - y])
    fixed = MAPClassifier(link="probit", variance=1.0, threshold=0.3).fit(X, Y)
    np.testing.assert_allclose(fixed.model_.thresholds, ndtri(0.3))
    np.testing.assert_allclose(fixed.thresholds_, 0.3)
    chosen = MAPClassifier(link="probit", variance="cv", threshold="error", threshold_data="cv", cv_folds=3).fit(X, Y)
    curve = chosen.variance_curves_[0]
    rng = lapwing.selection.folds.shuffled(np.where(y == 1, 1.0, -1.0), 3, np.random.SeedSequence(0).spawn(2)[0]).fold
    total = 0.0
    for run in range(2):  # held-out log-likelihood once more, by hand
        out = rng == run
        fit = MAPClassifier(link="probit", variance=curve.variances[3], tol=1e-4).fit(X[~out], y[~out])
        total += log_ndtr(np.where(y[out] == 1, 1.0, -1.0) * fit.decision_function(X[out])).sum()
    assert curve.total[3] == pytest.approx(total, rel=2e-2)


def test_saved_loaded_explained(tmp_path: Path) -> None:
    model = TextClassifier(link="probit", variance=100.0).fit(TEXTS, LABELS)
    path = tmp_path / "probit.lapwing"
    model.save(path)
    loaded = lapwing.load(path)
    assert loaded.link == "probit"
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    explained = loaded.explain("corn and gas").categories[0]
    assert explained.probability == ndtr(explained.score)
    assert explained.score == pytest.approx(explained.intercept + sum(c.contribution for c in explained.contributions))


def test_the_norm_variance_is_the_same_for_both_links() -> None:
    X, y = data(7)
    probit = MAPClassifier(Laplace(), variance="norm", link="probit").fit(X, y)
    assert probit.variance_[0] == MAPClassifier(Laplace(), variance="norm").fit(X, y).variance_[0]
