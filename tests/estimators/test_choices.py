"""What is chosen around a fit: variance, threshold, features, standardising; and that threads change nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from lapwing.errors import SettingsError
from lapwing.evaluate import Tables
from lapwing.selection import top_features
from lapwing.selection.features import bns
from lapwing.selection.variance import CrossValidation, default_grid


@pytest.fixture(scope="module")
def data() -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(1)
    X = sp.random(300, 60, density=0.2, random_state=rng, format="csr")
    X.data = 1.0 + rng.random(X.nnz)
    truth = np.zeros((60, 3))
    truth[:5] = rng.normal(size=(5, 3)) * 2
    return X, (X @ truth + rng.normal(size=(300, 3)) > 1.0).astype(int)


@pytest.mark.parametrize("method", ["cv", "auto"])
@pytest.mark.parametrize("prior", ["laplace", "gaussian", "elasticnet"])
def test_variance_is_the_best_held_out(data: tuple[sp.csr_matrix, np.ndarray], method: str, prior: str) -> None:
    model = lapwing.MAPClassifier(prior, variance=method).fit(*data)
    for curve, variance in zip(model.variance_curves_, model.variance_, strict=True):
        assert curve.chosen == variance
        assert curve.total[list(curve.variances).index(variance)] == curve.total.max()
        assert curve.log_likelihood.shape == (len(curve.variances), 2)
        assert np.all(np.diff(curve.variances) > 0)


def test_held_out_log_likelihood_is_that_of_a_fit_without_the_fold(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    grid = [0.1, 10.0]
    model = lapwing.MAPClassifier(variance="cv", cv_variances=grid, cv_folds=3, cv_runs=3, tol=1e-8).fit(X, Y[:, 0])
    total = model.variance_curves_[0].total
    for k, variance in enumerate(grid):
        # Every document is held out once, by a fit on the other two folds: rebuild the folds from the seed.
        from lapwing.selection.folds import shuffled

        y = np.where(Y[:, 0] == 1, 1.0, -1.0)
        fold = shuffled(y, 3, np.random.SeedSequence(0).spawn(1)[0]).fold
        value = 0.0
        for run in range(3):
            fitted = lapwing.MAPClassifier(variance=variance, tol=1e-8).fit(X[fold != run], Y[fold != run, 0])
            proba = fitted.predict_proba(X[fold == run])
            value += np.log(proba[np.arange(len(proba)), Y[fold == run, 0]]).sum()
        assert total[k] == pytest.approx(value, rel=1e-3)


def test_one_standard_error_takes_a_stronger_prior(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    plan = {"variance": "cv", "cv_runs": 10, "cv_variances": np.logspace(-2, 2, 25)}
    best = lapwing.MAPClassifier(**plan).fit(X, Y)
    cautious = lapwing.MAPClassifier(**plan, one_se=True).fit(X, Y)
    assert np.all(cautious.variance_ <= best.variance_)
    assert np.any(cautious.variance_ < best.variance_)


def test_grids_are_those_of_the_paper() -> None:
    laplace = default_grid(lapwing.priors.Laplace())
    np.testing.assert_allclose(np.sqrt(2 / np.array(laplace))[::-1], 10.0 ** np.arange(-2, 3, 0.5))
    np.testing.assert_allclose(default_grid(lapwing.priors.Gaussian()), 10.0 ** np.arange(-4.0, 5))


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("error", lambda t: -(t.fp + t.fn)),
        ("f1", lambda t: t.f1()),
        ("t11u", lambda t: 2 * t.tp - t.fp),
        ("t13u", lambda t: 20 * t.tp - t.fp),
        (lapwing.Utility(tp=3, fn=-5, fp=-1), lambda t: 3 * t.tp - 5 * t.fn - t.fp),
    ],
)
def test_tuned_thresholds_are_best_on_training_scores(
    data: tuple[sp.csr_matrix, np.ndarray], rule: object, value: object
) -> None:
    X, Y = data
    model = lapwing.MAPClassifier(threshold=rule, threshold_data="train").fit(X, Y)
    got = value(Tables.of(Y == 1, model.predict(X) == 1))  # type: ignore[operator]
    scores = model.decision_function(X)
    for k in range(3):
        cuts = np.append(scores[:, k], [-np.inf, np.inf])
        tables = [Tables.of(Y[:, [k]] == 1, scores[:, [k]] > cut) for cut in cuts]
        best = max(value(t)[0] for t in tables)  # type: ignore[operator]
        assert got[k] == pytest.approx(best)


def test_held_out_thresholds_differ_from_training_ones(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    on_train = lapwing.MAPClassifier(threshold="f1", variance=1e4, threshold_data="train").fit(X, Y)
    held_out = lapwing.MAPClassifier(threshold="f1", variance=1e4, threshold_data="cv").fit(X, Y)
    assert not np.allclose(on_train.thresholds_, held_out.thresholds_)
    np.testing.assert_array_equal(on_train.coef_.toarray(), held_out.coef_.toarray())


def test_expected_f1_decides_the_batch_and_survives_the_file(
    data: tuple[sp.csr_matrix, np.ndarray], tmp_path: Path
) -> None:
    X, Y = data
    model = lapwing.MAPClassifier(threshold="expected_f1").fit(X, Y)
    chosen = model.predict(X)
    proba = model.predict_proba(X)
    for k in range(3):
        inside = chosen[:, k] == 1
        assert proba[inside, k].min() >= proba[~inside, k].max()
    assert not np.array_equal(chosen, proba > 0.5)
    model.save(tmp_path / "m")
    again = lapwing.load(tmp_path / "m")
    np.testing.assert_array_equal(again.decide(again.scores(X)), chosen == 1)


def test_feature_selection_is_per_category(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    model = lapwing.MAPClassifier("gaussian", select_features=7).fit(X, Y)
    for k in range(3):
        np.testing.assert_array_equal(model.coef_[k].indices, top_features(bns(X, Y[:, k]), 7))


def test_standardising_equals_a_standardised_matrix(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    dense = X.toarray()
    raw = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    for prior in ("laplace", "gaussian", "elasticnet"):
        ours = lapwing.MAPClassifier(prior, variance=0.5, standardize=True, tol=1e-10).fit(X, Y)
        theirs = lapwing.MAPClassifier(prior, variance=0.5, tol=1e-10).fit(raw, Y)
        np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=1e-9)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(raw), atol=1e-4)


@pytest.mark.parametrize("variance", ["norm", "cv", "auto"])
def test_threads_change_nothing(data: tuple[sp.csr_matrix, np.ndarray], variance: str) -> None:
    X, Y = data
    one, two = (lapwing.MAPClassifier(variance=variance, threshold="f1", n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    for name in ("coef_", "intercept_", "variance_", "objective_", "dual_gap_", "thresholds_"):
        a, b = getattr(one, name), getattr(two, name)
        a, b = (a.toarray(), b.toarray()) if sp.issparse(a) else (a, b)
        np.testing.assert_array_equal(a, b)


def test_clg_through_the_classifier(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    clg = lapwing.MAPClassifier(solver="clg", tol=1e-8, max_iter=10_000).fit(X, Y)
    auto = lapwing.MAPClassifier(tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(clg.objective_, auto.objective_, rtol=1e-6)


@pytest.mark.parametrize(
    "bad",
    [
        {"variance": "best"},
        {"threshold": "f2"},
        {"threshold": 1.5},
        {"threshold_data": "test"},
        {"solver": "sgd"},
        {"select_features": 0},
        {"feature_score": "luck"},
        {"cv_folds": 1},
        {"cv_runs": 11},
        {"one_se": True, "cv_runs": 1},
        {"cv_variances": [1.0, -1.0]},
        {"solver": "clg", "standardize": True},
    ],
)
def test_bad_choices_are_named(data: tuple[sp.csr_matrix, np.ndarray], bad: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        lapwing.MAPClassifier(**bad).fit(*data)


def test_a_plan_says_what_it_needs() -> None:
    with pytest.raises(SettingsError, match="2 or more runs"):
        CrossValidation(runs=1, one_se=True)


def test_a_threshold_for_many_exclusive_classes_is_refused(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    with pytest.raises(SettingsError, match="most probable is taken"):
        lapwing.MAPClassifier(threshold=0.3).fit(X, Y[:, 0] + Y[:, 1])


def test_the_gap_can_be_recomputed_from_what_is_kept(data: tuple[sp.csr_matrix, np.ndarray]) -> None:
    X, Y = data
    model = lapwing.MAPClassifier("laplace", variance=100.0, tol=1e-4).fit(X, Y)
    prior = lapwing.priors.Laplace().compile(100.0, X.shape[1])
    assert model.dual_ is not None
    for k in range(3):
        weights = np.append(model.coef_[k].toarray().ravel(), model.intercept_[k])
        proof = lapwing.certify(X, 2.0 * Y[:, k] - 1.0, prior, weights, model.dual_[k])
        assert proof.objective == pytest.approx(model.objective_[k], rel=1e-12)
        assert proof.gap == pytest.approx(model.dual_gap_[k], abs=1e-9 * proof.objective)
        assert proof.relative_gap <= 1e-4


@pytest.mark.parametrize(
    "bad",
    [
        {"tol": None},
        {"tol": "small"},
        {"max_iter": 2.5},
        {"max_iter": "a"},
        {"n_jobs": "x"},
        {"threshold": None},
        {"variance": None},
        {"random_state": -1},
    ],
)
def test_values_of_the_wrong_kind_are_named(data: tuple[sp.csr_matrix, np.ndarray], bad: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(bad))):
        lapwing.MAPClassifier(**bad).fit(*data)
