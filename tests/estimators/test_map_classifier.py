"""MAPClassifier: labels of every kind, weights, certificates."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from scipy.optimize import Bounds, minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import lapwing
from estimators import data
from lapwing import MAPClassifier, priors
from lapwing.errors import ConvergenceWarning, InputError, SettingsError

every_size = pytest.mark.usefixtures("size")
PRIORS: list[Any] = ["laplace", "gaussian", "elasticnet", priors.ElasticNet(0.3)]


def prior_object(prior: Any) -> priors.Prior:
    kinds = {"laplace": priors.Laplace, "gaussian": priors.Gaussian, "elasticnet": priors.ElasticNet}
    result: priors.Prior = kinds[prior]() if isinstance(prior, str) else prior
    return result


# Labels


@pytest.mark.parametrize(
    "names",
    [["a", "b", "c"], [3, 1, 2], [-1, 0, 7], [2.0, 5.0, 1.0]],
    ids=["strings", "integers", "with a negative", "whole floats"],
)
def test_labels_keep_their_type(names: list[Any]) -> None:
    X, y = data.matrix()
    labels = np.array(names)[y]
    fitted = MAPClassifier(variance=10.0).fit(X, labels)
    assert fitted.classes_.tolist() == sorted(names)
    assert fitted.predict(X).dtype == labels.dtype
    assert set(fitted.predict(X).tolist()) <= set(names)
    assert fitted.score(X, labels) > 0.6
    assert fitted.coef_.shape == (3, X.shape[1])
    from_list = MAPClassifier(variance=10.0).fit(X, labels.tolist())
    assert from_list.classes_.tolist() == sorted(names)
    np.testing.assert_array_equal(from_list.coef_.toarray(), fitted.coef_.toarray())
    assert from_list.model_.provenance["documents_with_labels"] == len(X)


def test_boolean_labels() -> None:
    X, y = data.matrix(classes=2)
    fitted = MAPClassifier().fit(X, y == 1)
    assert fitted.classes_.tolist() == [False, True]
    assert fitted.predict(X).dtype == bool
    assert fitted.coef_.shape == (1, X.shape[1])
    assert fitted.decision_function(X).shape == (len(X),)
    np.testing.assert_array_equal(fitted.predict(X), fitted.decision_function(X) > 0)
    np.testing.assert_array_equal(fitted.coef_.toarray(), MAPClassifier().fit(X, y).coef_.toarray())


@pytest.mark.parametrize("as_array", [False, True])
def test_labels_of_several_types_stay_what_they_are(as_array: bool, tmp_path: Path) -> None:
    X, y = data.matrix()
    kinds: list[Any] = ["a", 1, 2.5]
    labels = [kinds[k] for k in y]
    given = np.array(labels, dtype=object) if as_array else labels
    fitted = MAPClassifier(variance=10.0).fit(X, given)
    assert set(fitted.classes_.tolist()) == {"a", 1, 2.5}
    assert {type(label) for label in fitted.classes_} == {str, int, float}
    predicted = fitted.predict(X).tolist()
    assert fitted.score(X, labels) == np.mean([p == t for p, t in zip(predicted, labels, strict=True)])
    fitted.save(tmp_path / "m")
    assert lapwing.load(tmp_path / "m").predict(X) == predicted


@pytest.mark.parametrize("bad", [None, float("nan"), (1, 2)], ids=["None", "NaN", "a tuple"])
def test_labels_that_are_none(bad: Any) -> None:
    X, _ = data.matrix(n=6)
    labels = np.array(["a", "b", "a", "b", "a", "b"], dtype=object)
    labels[2] = bad
    with pytest.raises(ValueError, match="label"):
        MAPClassifier().fit(X, labels)


@pytest.mark.parametrize(("only", "shown"), [("yes", "'yes'"), (7, "7")])
def test_one_class_is_an_error_that_names_it(only: Any, shown: str) -> None:
    X, _ = data.matrix(n=6)
    with pytest.raises(ValueError, match=rf"at least two classes, got 1 class \({shown}\)"):
        MAPClassifier().fit(X, [only] * 6)


def test_labels_of_the_wrong_length() -> None:
    X, y = data.matrix()
    with pytest.raises(InputError, match="labels for 60 documents, got 59"):
        MAPClassifier().fit(X, y[:-1])


# Label sets


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array])
def test_indicator_matrices(form: Any) -> None:
    X, Y = data.indicator()
    fitted = MAPClassifier(variance=5.0).fit(X, form(Y))
    reference = MAPClassifier(variance=5.0).fit(X, Y)
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(fitted.coef_.toarray(), reference.coef_.toarray())
    assert fitted.predict(X).shape == Y.shape
    assert fitted.decision_function(X).shape == Y.shape
    assert (fitted.predict(X)[:, :3] == Y[:, :3]).mean() > 0.8
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.category_proba(X))


@every_size
def test_each_column_is_its_own_two_class_problem() -> None:
    X, Y = data.indicator()
    together = MAPClassifier(variance=5.0).fit(X, Y)
    for k in range(3):
        alone = MAPClassifier(variance=5.0).fit(X, Y[:, k])
        np.testing.assert_array_equal(together.coef_[k].toarray(), alone.coef_.toarray())
        assert together.objective_[k] == alone.objective_[0]


def test_a_column_without_positives_is_never_predicted(tmp_path: Path) -> None:
    X, Y = data.indicator()
    fitted = MAPClassifier(variance=5.0).fit(X, Y)
    assert not fitted.predict(X)[:, 3].any()
    assert not fitted.predict(1e6 * X)[:, 3].any()
    assert fitted.thresholds_[3] == 1.0
    assert np.isfinite(fitted.predict_proba(X)).all()
    fitted.save(tmp_path / "m")
    assert all(3 not in row for row in lapwing.load(tmp_path / "m").predict(X))


def test_an_indicator_of_other_numbers() -> None:
    X, Y = data.indicator()
    with pytest.raises(InputError, match="zeros and ones"):
        MAPClassifier().fit(X, 2 * Y)
    with pytest.raises(ValueError):
        MAPClassifier().fit(X, [["a"], ["a", "b"]] * 30)


def test_a_single_column_of_a_sparse_indicator_is_a_category() -> None:
    X, Y = data.indicator()
    fitted = MAPClassifier(variance=5.0).fit(X, sp.csr_matrix(Y[:, :1]))
    assert fitted.predict(X).shape == (len(X), 1)


# Weights


@every_size
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_weight_two_is_the_row_twice(prior: Any) -> None:
    X, y = data.matrix()
    weights = np.ones(len(X))
    weights[::3] = 2.0
    weights[5] = 0.0
    twice = np.repeat(np.arange(len(X)), weights.astype(int))
    for variance in ("norm", 3.0):
        settings: dict[str, Any] = {"prior": prior, "variance": variance, "tol": 1e-10}
        weighted = MAPClassifier(**settings).fit(X, y, sample_weight=weights)
        repeated = MAPClassifier(**settings).fit(X[twice], y[twice])
        np.testing.assert_allclose(weighted.variance_, repeated.variance_, rtol=1e-12)
        np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-9)
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_balanced_classes() -> None:
    X, y = data.matrix(n=60, classes=2)
    kept = np.flatnonzero((y == 0) | (np.arange(60) % 6 == 1))
    X, y = X[kept], y[kept]
    n, counts = len(y), np.bincount(y)
    assert counts[0] != counts[1]
    balanced = MAPClassifier(variance=3.0, class_weight="balanced", tol=1e-9).fit(X, y)
    by_hand = n / (2.0 * counts)
    result = MAPClassifier(variance=3.0, class_weight={0: by_hand[0], 1: by_hand[1]}, tol=1e-9).fit(X, y)
    weighted = MAPClassifier(variance=3.0, tol=1e-9).fit(X, y, sample_weight=by_hand[y])
    for other in (result, weighted):
        np.testing.assert_allclose(balanced.decision_function(X), other.decision_function(X), atol=1e-6)
    plain = MAPClassifier(variance=3.0).fit(X, y)
    assert balanced.decision_function(X).mean() > plain.decision_function(X).mean()  # the rare class gains


def test_balanced_gives_each_of_three_classes_the_same_total() -> None:
    X, y = data.matrix()
    y = np.where(np.arange(len(y)) % 5 == 0, 2, y)
    weight = (len(y) / (3.0 * np.bincount(y)))[y]
    assert np.allclose(np.bincount(y, weight), len(y) / 3.0)
    balanced = MAPClassifier(variance=3.0, class_weight="balanced", tol=1e-9).fit(X, y)
    weighted = MAPClassifier(variance=3.0, tol=1e-9).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(balanced.decision_function(X), weighted.decision_function(X), atol=1e-6)


def test_class_weights_of_label_sets_count_for_the_positives() -> None:
    X, Y = data.indicator()
    settings: dict[str, Any] = {"variance": 3.0, "tol": 1e-9}
    weighted = MAPClassifier(class_weight={1: 3.0}, **settings).fit(X, Y)
    alone = MAPClassifier(**settings).fit(X, Y[:, 1], sample_weight=np.where(Y[:, 1], 3.0, 1.0))
    np.testing.assert_allclose(weighted.coef_[1].toarray(), alone.coef_.toarray(), atol=1e-6)
    untouched = MAPClassifier(**settings).fit(X, Y)
    np.testing.assert_array_equal(weighted.coef_[0].toarray(), untouched.coef_[0].toarray())


@pytest.mark.parametrize(
    ("class_weight", "said"),
    [
        ({"zebra": 2.0}, "'zebra'"),
        ({0: -1.0}, "not negative"),
        ({0: np.nan}, "finite"),
        ({0: 1e308}, "added up"),
        ("even", "'even'"),
    ],
)
def test_class_weights_that_cannot_be(class_weight: Any, said: str) -> None:
    X, y = data.matrix()
    with pytest.raises(SettingsError, match=said):
        MAPClassifier(class_weight=class_weight).fit(X, y)


@pytest.mark.parametrize("weights", [[-1.0] * 60, [np.nan] * 60, [np.inf] * 60, [0.0] * 60, [1.0] * 59])
def test_sample_weights_that_cannot_be(weights: list[float]) -> None:
    X, y = data.matrix()
    with pytest.raises(ValueError):
        MAPClassifier().fit(X, y, sample_weight=weights)


# Inputs


@every_size
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array, np.asfortranarray])
def test_every_kind_of_matrix_gives_the_same_answer(form: Any) -> None:
    X, y = data.matrix()
    reference = MAPClassifier().fit(X, y)
    fitted = MAPClassifier().fit(form(X), y)
    np.testing.assert_array_equal(fitted.coef_.toarray(), reference.coef_.toarray())
    np.testing.assert_array_equal(fitted.predict_proba(form(X)), reference.predict_proba(X))
    assert sp.issparse(fitted.coef_)
    assert fitted.coef_.format == "csr"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_numbers_that_are_none(bad: float, form: Any) -> None:
    X, y = data.matrix()
    fitted = MAPClassifier().fit(X, y)
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|infinity"):
        MAPClassifier().fit(form(X), y)
    with pytest.raises(ValueError, match=r"(?i)nan|infinity"):
        fitted.predict(form(X))


def test_feature_names_are_kept_and_shown(tmp_path: Path) -> None:
    X, y = data.matrix()
    names = [f"word{j}" for j in range(X.shape[1])]
    fitted = MAPClassifier(variance=5.0).fit(X, y, feature_names=names)
    for row in range(3):
        weights = fitted.coef_[row].toarray().ravel()
        expected = sorted(((n, w) for n, w in zip(names, weights, strict=True) if w), key=lambda p: -abs(p[1]))
        assert fitted.model_.row_features(row) == [(n, float(w)) for n, w in expected]
    fitted.save(tmp_path / "m")
    assert list(lapwing.load(tmp_path / "m").feature_names) == names
    with pytest.raises(InputError, match="8 feature names, got 2"):
        MAPClassifier().fit(X, y, feature_names=["a", "b"])


def test_save_then_load_predicts_the_same(tmp_path: Path) -> None:
    X, y = data.matrix()
    labels = np.array(["x", "y", "z"])[y]
    fitted = MAPClassifier().fit(X, labels)
    fitted.save(tmp_path / "m")
    loaded = lapwing.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.category_proba(X), fitted.category_proba(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.predict(X) == fitted.predict(X).tolist()
    with pytest.raises(InputError, match="not texts"):
        loaded.predict(["some words"])


def test_probabilities_of_exclusive_classes_add_up() -> None:
    X, y = data.matrix()
    np.testing.assert_allclose(MAPClassifier().fit(X, y).predict_proba(X).sum(axis=1), 1.0)
    fitted = MAPClassifier(calibrate=False).fit(X, y)
    own = fitted.category_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X), own / own.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(own, 1.0 / (1.0 + np.exp(-fitted.decision_function(X))))


def test_a_threshold_moves_decisions() -> None:
    X, Y = data.indicator()
    for threshold in (0.2, 0.5, 0.8):
        fitted = MAPClassifier(variance=5.0, threshold=threshold).fit(X, Y[:, :3])
        np.testing.assert_array_equal(fitted.predict(X), (fitted.category_proba(X) > threshold).astype(int))
        np.testing.assert_allclose(fitted.thresholds_, threshold)


# Settings


def test_a_prior_object_survives_clone() -> None:
    prior = priors.ElasticNet(0.3)
    estimator = MAPClassifier(prior, variance=2.0)
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert copy.prior == prior
    X, y = data.matrix()
    np.testing.assert_array_equal(copy.fit(X, y).coef_.toarray(), estimator.fit(X, y).coef_.toarray())
    different = MAPClassifier(priors.ElasticNet(0.9), variance=2.0).fit(X, y)
    assert different.coef_.nnz < copy.coef_.nnz


@every_size
@pytest.mark.parametrize(("ratio", "name"), [(0.0, "gaussian"), (1.0, "laplace")])
def test_the_ends_of_the_elastic_net(ratio: float, name: str) -> None:
    X, y = data.matrix()
    net = MAPClassifier(priors.ElasticNet(ratio), variance=2.0, tol=1e-9).fit(X, y)
    pure = MAPClassifier(name, variance=2.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(net.coef_.toarray(), pure.coef_.toarray(), atol=1e-6)


def test_one_variance_per_category() -> None:
    X, y = data.matrix()
    variances = [0.1, 1.0, 10.0]
    fitted = MAPClassifier(variance=variances, tol=1e-8).fit(X, y)
    assert fitted.variance_.tolist() == variances
    for k, variance in enumerate(variances):
        alone = MAPClassifier(variance=variance, tol=1e-8).fit(X, y == k)
        np.testing.assert_allclose(fitted.coef_[k].toarray(), alone.coef_.toarray(), atol=1e-6)
    with pytest.raises(SettingsError, match="each of 3 categories, got 2"):
        MAPClassifier(variance=[1.0, 2.0]).fit(X, y)


@every_size
@pytest.mark.parametrize("prior", ["laplace", "gaussian"])
@hypothesis.settings(max_examples=15, deadline=None)
@hypothesis.given(seed=st.integers(0, 10**6), log_variance=st.floats(-3, 4))
def test_the_number_of_threads_changes_nothing(prior: str, seed: int, log_variance: float) -> None:
    rng = np.random.default_rng(seed)
    X = sp.random(60, 30, density=0.2, random_state=rng, format="csr")
    y = np.append(np.arange(6), rng.integers(0, 6, size=54))
    one, more = (MAPClassifier(prior=prior, variance=10.0**log_variance, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_.toarray(), more.coef_.toarray())
    np.testing.assert_array_equal(one.dual_gap_, more.dual_gap_)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"variance": -1.0}, 'variance must be > 0, got -1.0; use variance="norm"'),
        ({"variance": np.nan}, "variance must be > 0, got nan"),
        ({"variance": "large"}, "'large'"),
        ({"prior": "cauchy"}, "'cauchy'"),
        ({"tol": 0.0}, "tol must be between 0 and 1"),
        ({"max_iter": 0}, "max_iter must be a whole number of 1 or more"),
        ({"threshold": 2.0}, "threshold"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"intercept_variance": -1.0}, "intercept_variance must be > 0"),
    ],
    ids=str,
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    X, y = data.matrix()
    with pytest.raises(SettingsError, match=said):
        MAPClassifier(**settings).fit(X, y)


@every_size
def test_a_fit_cut_short_warns_with_gap_tolerance_and_rounds() -> None:
    X, y = data.matrix()
    with pytest.warns(ConvergenceWarning, match=r"tol=1e-09.* relative gap of \S+ after 1 rounds.*max_iter"):
        fitted = MAPClassifier(variance=100.0, max_iter=1, tol=1e-9).fit(X, y)
    assert not fitted.converged_.all()
    assert fitted.n_iter_.max() == 1
    assert np.any(fitted.dual_gap_ > 1e-9 * fitted.objective_)


def test_grid_search_and_cross_validation() -> None:
    X, y = data.matrix()
    search = GridSearchCV(MAPClassifier(), {"variance": ["norm", 0.01], "prior": ["laplace", "gaussian"]}, cv=3)
    search.fit(sp.csr_matrix(X), y)
    assert search.best_score_ > 0.5
    assert search.predict(X).shape == y.shape
    scores = cross_val_score(MAPClassifier(), X, y, cv=3, scoring="neg_log_loss")
    assert np.isfinite(scores).all()
    X, Y = data.indicator()
    assert cross_val_score(MAPClassifier(variance=3.0), X, Y[:, :3], cv=3, scoring="f1_macro").mean() > 0.5


# Certificates


@every_size
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_every_category_is_certified(prior: Any, tol: float) -> None:
    X, Y = data.indicator(n=80, d=12)
    fitted = MAPClassifier(prior, variance=2.0, tol=tol).fit(X, Y)
    assert fitted.converged_.all()
    assert np.all(fitted.dual_gap_ <= tol * fitted.objective_)
    arrays = prior_object(prior).compile(2.0, X.shape[1])
    for k in range(Y.shape[1]):
        weights = np.append(fitted.coef_[k].toarray().ravel(), fitted.intercept_[k])
        proof = lapwing.certify(sp.csr_matrix(X), np.where(Y[:, k], 1.0, -1.0), arrays, weights)
        assert proof.objective == pytest.approx(fitted.objective_[k], rel=1e-10)
        assert proof.kkt == pytest.approx(fitted.kkt_[k], rel=1e-6, abs=1e-9)
        assert proof.dual_objective <= proof.objective * (1 + 1e-14)  # both are rounded sums
        # Without the solver's own dual point the gap is at worst looser; both bound the same distance.
        best = MAPClassifier(prior, variance=2.0, tol=1e-11).fit(X, Y[:, k] if k < 3 else Y).objective_
        optimum = best[0] if k < 3 else best[3]
        assert fitted.objective_[k] - optimum <= fitted.dual_gap_[k] + 1e-9
        assert fitted.objective_[k] - optimum <= proof.gap + 1e-9


@every_size
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_the_certificate_knows_weights(prior: Any) -> None:
    X, y = data.matrix(classes=2)
    weights = np.linspace(0.5, 2.0, len(X))
    fitted = MAPClassifier(prior, variance=1.5, tol=1e-7).fit(X, y, sample_weight=weights)
    beta = np.append(fitted.coef_.toarray().ravel(), fitted.intercept_)
    arrays = prior_object(prior).compile(1.5, X.shape[1])
    proof = lapwing.certify(X, np.where(y == 1, 1.0, -1.0), arrays, beta, sample_weight=weights)
    assert proof.objective == pytest.approx(fitted.objective_[0], rel=1e-10)
    assert proof.kkt == pytest.approx(fitted.kkt_[0], rel=1e-6, abs=1e-9)
    assert proof.relative_gap < 1e-3


@every_size
def test_an_intercept_of_infinite_variance_has_a_bound_instead_of_a_gap() -> None:
    X, y = data.matrix(classes=2)
    fitted = MAPClassifier(intercept_variance=np.inf, variance=1.0, tol=1e-7).fit(X, y)
    assert fitted.converged_.all()
    assert np.isnan(fitted.dual_gap_).all()
    # Nothing holds the intercept back, so the mean probability is the share of positives.
    assert fitted.category_proba(X).mean() == pytest.approx(y.mean(), abs=1e-5)


@every_size
def test_a_strong_prior_leaves_nothing_and_a_weak_one_separates() -> None:
    X, y = data.matrix(classes=2)
    nothing = MAPClassifier(variance=1e-6).fit(X, y)
    assert nothing.coef_.nnz == 0
    np.testing.assert_allclose(nothing.predict_proba(X), 0.5, atol=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        weak = MAPClassifier(variance=1e4).fit(X, y)
    assert weak.score(X, y) > nothing.score(X, y)


@every_size
def test_permuting_rows_and_columns_permutes_the_answer() -> None:
    X, y = data.matrix()
    draw = np.random.default_rng(5)
    rows, columns = draw.permutation(X.shape[0]), draw.permutation(X.shape[1])
    straight = MAPClassifier(variance=10.0, tol=1e-10).fit(X, y)
    permuted = MAPClassifier(variance=10.0, tol=1e-10).fit(X[rows][:, columns], y[rows])
    np.testing.assert_allclose(permuted.coef_.toarray(), straight.coef_.toarray()[:, columns], atol=1e-5)
    np.testing.assert_allclose(permuted.objective_, straight.objective_, rtol=1e-9)


# Priors of one's own


class Uniform(priors.Prior):
    """No penalty between -√(3v) and √(3v), the density of variance v."""

    def strengths(self, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(variance)), np.zeros(len(variance))

    def reach(self, variance: np.ndarray) -> np.ndarray:
        return np.sqrt(3.0 * variance)


@pytest.mark.parametrize("table", [False, True])
def test_a_prior_of_ones_own_is_fitted_and_certified(table: bool) -> None:
    """Against L-BFGS-B, under the same bounds."""
    X, y = data.matrix(classes=2)
    prior = priors.PriorTable((), base=Uniform()) if table else Uniform()
    fitted = MAPClassifier(prior=prior, variance=0.03, tol=1e-8, calibrate=False).fit(X, y)
    sign = np.where(y == fitted.classes_[1], 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(len(X))])
    result = minimize(lambda b: np.logaddexp(0.0, -sign @ b).sum(), np.zeros(X.shape[1] + 1), bounds=Bounds(-0.3, 0.3))
    assert fitted.objective_[0] == pytest.approx(result.fun, rel=1e-6)
    assert fitted.dual_gap_[0] <= 1e-8 * fitted.objective_[0]
    assert np.abs(fitted.coef_.data).max() == pytest.approx(0.3)
