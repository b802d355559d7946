"""One model over all classes: estimators, model file and variance by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import lapwing
from estimators import data
from lapwing.errors import SettingsError
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.priors import Laplace


def joint(**params: Any) -> lapwing.MAPClassifier:
    return lapwing.MAPClassifier(**{"multi_class": "multinomial", "variance": 1.0, **params})


def test_probabilities_are_the_softmax_of_the_scores() -> None:
    X, y = data.matrix()
    model = joint().fit(X, y)
    scores = X @ model.coef_.toarray().T + model.intercept_
    np.testing.assert_allclose(model.predict_proba(X), softmax(scores, axis=1), atol=1e-14)
    np.testing.assert_array_equal(model.category_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), np.argmax(scores, axis=1))
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)


def test_certificate_of_the_estimator() -> None:
    X, y = data.matrix()
    model = joint(prior="laplace", tol=1e-7).fit(X, y)
    row = Laplace().compile(1.0, X.shape[1])
    weights = np.column_stack([model.coef_.toarray(), model.intercept_])
    proof = certify(X, y, PriorArrays(*(np.tile(part, (3, 1)) for part in row)), weights, model.dual_)
    assert proof.relative_gap <= 1e-7
    assert (model.objective_ == model.objective_[0]).all()
    assert model.converged_.all()


def test_ridge_is_scikit_learns() -> None:
    X, y = data.matrix()
    model = joint(prior="gaussian", variance=3.0, tol=1e-12).fit(X, y)
    constant = np.column_stack([X, np.ones(len(X))])
    peer = LogisticRegression(C=3.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(constant, y)
    np.testing.assert_allclose(np.column_stack([model.coef_.toarray(), model.intercept_]), peer.coef_, atol=1e-4)


def test_reference_class_is_zero() -> None:
    X, y = data.matrix()
    model = joint(reference_class=1).fit(X, y)
    assert model.coef_[1].nnz == 0
    assert model.intercept_[1] == 0.0
    assert model.coef_.nnz > 0
    assert model.score(X, y) > 0.6
    with pytest.raises(SettingsError, match="no class"):
        joint(reference_class="maize").fit(X, y)


@pytest.mark.parametrize("prior", ["laplace", "gaussian"])
def test_two_classes_have_two_rows(prior: str) -> None:
    X, y = data.matrix(classes=2)
    model = joint(prior=prior).fit(X, y)
    assert model.coef_.shape == (2, X.shape[1])
    scores = X @ model.coef_.toarray().T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores[:, 1] - scores[:, 0], atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


@pytest.mark.parametrize("variance", ["cv", "auto"])
def test_one_variance_for_all_classes_by_cross_validation(variance: str) -> None:
    X, y = data.matrix(120)
    model = joint(variance=variance, cv_folds=5, tol=1e-9).fit(X, y)
    curve = model.variance_curves_[0]
    assert (model.variance_ == curve.chosen).all()
    assert curve.chosen == curve.variances[np.argmax(curve.total)]
    # The log-likelihood of a fold, once more by hand.
    from lapwing.selection.folds import shuffled

    fold = shuffled(y, 5, np.random.SeedSequence(0).spawn(3)[0]).fold
    out = fold == 0
    fit = joint(variance=curve.chosen, tol=1e-9).fit(X[~out], y[~out])
    likelihood = np.log(fit.predict_proba(X[out])[np.arange(out.sum()), y[out]]).sum()
    at = list(curve.variances).index(curve.chosen)
    assert curve.log_likelihood[at, 0] == pytest.approx(likelihood, rel=1e-3)


def test_selected_features_and_variances_of_classes() -> None:
    X, y = data.matrix()
    model = joint(select_features=2).fit(X, y)
    assert (np.diff(model.coef_.indptr) <= 2).all()
    strict = joint(variance=[1.0, 1.0, 1e-9]).fit(X, y)
    assert strict.coef_[2].nnz == 0
    assert strict.coef_[0].nnz > 0
    np.testing.assert_array_equal(strict.variance_, [1.0, 1.0, 1e-9])


def test_weight_zero_leaves_a_class_out() -> None:
    X, y = data.matrix()
    model = joint().fit(X, y, sample_weight=(y != 2).astype(float))
    assert not (model.predict(X) == 2).any()


def test_text_model_saves_loads_and_explains(tmp_path: Path) -> None:
    texts, labels = data.texts()
    model = lapwing.TextClassifier(multi_class="multinomial", variance=10.0).fit(texts, labels)
    model.save(tmp_path / "m.lapwing")
    again = lapwing.load(tmp_path / "m.lapwing")
    assert again.link == "softmax"
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    explanation = again.explain("wheat harvest")
    assert explanation.categories[0].category == "grain"
    assert sum(one.probability for one in explanation.categories) == pytest.approx(1.0)
    best = explanation.categories[0]
    assert best.score == pytest.approx(best.intercept + sum(part.contribution for part in best.contributions))


@pytest.mark.parametrize(
    "bad",
    [{"link": "probit"}, {"solver": "clg"}, {"threshold": 0.3}, {"max_features": 3}],
    ids=lambda bad: next(iter(bad)),
)
def test_what_does_not_go_with_it_is_named(bad: dict[str, Any]) -> None:
    X, y = data.matrix()
    with pytest.raises(SettingsError, match=next(iter(bad))):
        joint(**bad).fit(X, y)


def test_label_sets_and_stray_reference_are_refused() -> None:
    X, Y = data.indicator()
    with pytest.raises(SettingsError, match="exclusive"):
        joint().fit(X, Y)
    with pytest.raises(SettingsError, match="reference_class"):
        lapwing.MAPClassifier(reference_class=0).fit(*data.matrix())
