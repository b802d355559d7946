"""What is known of words and features, from the estimators' parameters to the model and its file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing
from estimators.data import indicator, matrix, text_sets, texts
from lapwing import MAPClassifier, TextClassifier, priors
from lapwing.errors import InputError, PriorError, SettingsError
from lapwing.priors import INTERCEPT, PriorTable
from lapwing.stats.priors import Columns


def weight(model: Any, feature: str, category: Any) -> float:
    row = model.model_.categories.index(category)
    return float(model.coef_[row, model.model_.feature_names.index(feature)])


def test_modes_of_one_category_and_of_all() -> None:
    X, Y = indicator()
    table = PriorTable({"0": {"mode": 2.0, "variance": 1e-20}, (1, "3"): {"mode": -1.0, "variance": 1e-20}})
    model = MAPClassifier(table, variance=1.0).fit(X, Y)
    plain = MAPClassifier(variance=1.0).fit(X, Y)
    assert model.coef_[:, [0]].toarray().ravel().tolist() == [2.0] * 4
    assert model.coef_[1, 3] == -1.0
    assert model.coef_[2, 3] != -1.0
    assert model.converged_.all()
    for row in range(4):
        y = np.where(Y[:, row] > 0, 1.0, -1.0)
        arrays = table.bind(Columns([str(j) for j in range(8)], model.coef_), row).compile(1.0, 8)
        weights = np.append(model.coef_[[row]].toarray(), model.intercept_[row])
        proof = lapwing.certify(X, y, arrays, weights, model.dual_[row])
        assert proof.relative_gap <= 1e-4 * (1 + 1e-6)
    assert plain.coef_[0, 0] != 2.0


@pytest.mark.parametrize("solver", ["auto", "clg"])
@pytest.mark.parametrize("base", ["laplace", "gaussian", priors.ElasticNet(0.2)])
def test_signs_hold(base: Any, solver: str) -> None:
    X, y = matrix()
    names = [f"w{j}" for j in range(8)]
    free = MAPClassifier(base, variance=5.0, tol=1e-6, solver=solver, max_iter=10_000).fit(X, y, feature_names=names)
    table = PriorTable({"*": {"sign": "+"}, "w4": {"sign": "-"}, "w5": {}}, base)
    held = MAPClassifier(table, variance=5.0, tol=1e-6, solver=solver, max_iter=10_000)
    held.fit(X, y, feature_names=names)
    weights = held.coef_.toarray()
    assert np.all(weights[:, [0, 1, 2, 3, 6, 7]] >= 0.0)
    assert np.all(weights[:, 4] <= 0.0)
    assert (free.coef_.toarray() < 0).any()
    assert held.converged_.all()


def test_two_classes_may_both_be_named() -> None:
    known, labels = texts()
    keep = [i for i, label in enumerate(labels) if label != "money"]
    words = priors.from_words({"energy": "oil gas", "grain": ["wheat"]}, mode=3.0, variance=1e-20)
    model = TextClassifier(prior=words).fit([known[i] for i in keep], [labels[i] for i in keep])
    assert model.classes_.tolist() == ["energy", "grain"]
    assert [weight(model, word, "grain") for word in ("oil", "ga", "wheat")] == [-3.0, -3.0, 3.0]


def test_a_word_that_training_never_saw_speaks(tmp_path: Path) -> None:
    known, labels = texts()
    table = PriorTable({("grain", "Barley"): {"mode": 2.5, "variance": "0.5x"}, "oils": {"sign": ">= 0"}})
    model = TextClassifier(prior=table, min_df=2, stop_words="smart", variance="norm").fit(known, labels)
    assert "barlei" in model.model_.feature_names
    assert weight(model, "barlei", "grain") == 2.5
    assert weight(model, "barlei", "money") == 0.0
    with_word, without = model.decision_function(["the barley", "the"])[:, 1]
    idf = math.log(len(known) + 1)  # in none of them
    assert with_word - without == pytest.approx(2.5 * idf / idf)
    model.save(tmp_path / "m")
    again = lapwing.load(tmp_path / "m")
    assert np.array_equal(again.scores(["the barley and oil"]), model.model_.scores(["the barley and oil"]))
    assert again.weighting.columns.tolist() == model.model_.weighting.columns.tolist()
    assert again.provenance["prior_rows"] == ["Barley\t2.5\t0.5x\t0\tgrain", "oils\t0.0\t1.0x\t+"]
    assert model.explain("barley").categories[0].contributions[0].feature == "barlei"


def test_unseen_features_change_nothing_else() -> None:
    """Neither the norm-based variance nor any weight."""
    known, labels = texts()
    plain = TextClassifier(prior="laplace", variance="norm", tol=1e-10).fit(known, labels)
    result = TextClassifier(prior=PriorTable({"zebra": 1.0}), variance="norm", tol=1e-10).fit(known, labels)
    assert result.variance_.tolist() == plain.variance_.tolist()
    assert len(result.model_.feature_names) == len(plain.model_.feature_names) + 1
    np.testing.assert_allclose(result.coef_[:, :-1].toarray(), plain.coef_.toarray(), atol=1e-4)
    assert result.coef_[:, [-1]].toarray().ravel().tolist() == [1.0] * 3


def test_named_words_pass_the_cut_and_the_selection() -> None:
    known, sets = text_sets()
    known[0] += " sorghum"
    table = priors.from_words({"grain": "sorghum wheat"}, mode=1.0)
    model = TextClassifier(prior=table, min_df=3, select_features=2).fit(known, sets)
    assert {"sorghum", "wheat"} <= set(model.model_.feature_names)
    assert weight(model, "sorghum", "grain") != 0.0
    assert all(kept <= 4 for kept in model.model_.n_kept)


def test_identical_columns_with_and_without_knowledge() -> None:
    X, y = matrix()
    X = np.column_stack([X, X[:, 0], X[:, 0], X[:, 0]])
    table = PriorTable({"0": {"mode": 0.1, "sign": "+"}, "8": {"mode": 0.1, "sign": "+"}})
    model = MAPClassifier(table, variance=2.0, tol=1e-8).fit(X, y)
    weights = model.coef_.toarray()
    np.testing.assert_array_equal(weights[:, 0], weights[:, 8])
    np.testing.assert_array_equal(weights[:, 9], weights[:, 10])
    assert model.converged_.all()


def test_an_intercept_of_its_own() -> None:
    X, y = matrix(classes=2)
    same = MAPClassifier(PriorTable({INTERCEPT: {"variance": 8.0}}), variance=2.0).fit(X, y)
    given = MAPClassifier("laplace", variance=2.0, intercept_variance=8.0).fit(X, y)
    np.testing.assert_array_equal(same.intercept_, given.intercept_)
    fixed = MAPClassifier(PriorTable({INTERCEPT: {"mode": -1.5, "variance": 0.0}}), variance=2.0).fit(X, y)
    assert fixed.intercept_[0] == -1.5
    with pytest.raises(SettingsError, match="leave intercept_variance at None"):
        MAPClassifier(PriorTable({INTERCEPT: 1.0}), intercept_variance=2.0).fit(X, y)


@pytest.mark.parametrize("variance", ["cv", "auto"])
def test_variances_are_chosen_around_it(variance: str) -> None:
    X, y = matrix()
    table = PriorTable({"0": {"mode": 1.0, "variance": "2x"}, "5": {"variance": math.inf}})
    model = MAPClassifier(table, variance=variance, cv_folds=3).fit(X, y)
    assert model.converged_.all()
    assert len(model.variance_curves_[0].variances) >= 3
    tuned = MAPClassifier(table, threshold="f1", threshold_data="cv").fit(X, y == 1)
    assert np.isfinite(tuned.thresholds_).all()


def test_modes_are_of_raw_features_when_standardized() -> None:
    X, y = matrix(classes=2)
    X[:, 1] *= 7.0
    table = PriorTable({"1": {"mode": 0.3, "variance": 1e-20}, "2": {"sign": "-"}})
    model = MAPClassifier(table, standardize=True).fit(X, y)
    assert model.coef_[0, 1] == 0.3
    assert model.coef_[0, 2] <= 0.0


def test_variances_by_idf_are_values_times_idf() -> None:
    known, labels = texts()
    common = {"cosine": False, "variance": 3.0, "intercept_variance": 1.0, "tol": 1e-10}
    valued = TextClassifier(prior="laplace", **common).fit(known, labels)
    weighed = TextClassifier(idf=False, prior=priors.by_idf(), **common)
    weighed.fit(known, labels)
    # The multiples average to 1; the same model needs the variance scaled back.
    vectors = weighed.model_.vectors(known)
    bare = Columns(weighed.model_.feature_names, vectors)
    idf = np.log((len(known) + 1) / (bare.frequency + 1))
    scale = bare.idf_squared[0] / idf[0] ** 2
    weighed.set_params(variance=3.0 / scale).fit(known, labels)
    np.testing.assert_allclose(weighed.decision_function(known), valued.decision_function(known), atol=1e-4)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"oil": 1.0, "crudd": {"sign": "+"}}, "no training document has the feature 'crudd'"),
        ({("metals", "oil"): 1.0}, "'metals' is no category"),
        ({"the": 1.0}, "stop word"),
    ],
)
def test_what_is_not_there(table: dict[Any, Any], message: str) -> None:
    with pytest.raises(PriorError, match=message):
        TextClassifier(prior=PriorTable(table), stop_words="smart").fit(*texts())


def test_a_matrix_has_the_columns_it_has() -> None:
    X, y = matrix()
    with pytest.raises(PriorError, match="the matrix has no feature 'w1'"):
        MAPClassifier(PriorTable({"w1": 1.0})).fit(X, y)


def test_no_finite_estimate() -> None:
    X, y = matrix(classes=2)
    X[:, 3] = np.where(np.arange(len(y)) == 0, 1.0, 0.0)
    with pytest.raises(InputError, match="the feature '3' has documents on one side only"):
        MAPClassifier(PriorTable({"3": {"variance": math.inf}})).fit(X, y)
    bounded = MAPClassifier(PriorTable({"3": {"variance": math.inf, "sign": "+"}})).fit(X, y)  # pulled down to 0
    assert bounded.coef_[0, 3] == 0.0


def test_clone_and_repr() -> None:
    from sklearn.base import clone

    model = MAPClassifier(PriorTable({"0": 1.0}))
    assert clone(model).prior == model.prior
    assert "PriorTable" in repr(model)
