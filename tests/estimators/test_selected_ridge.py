"""SelectedRidgeClassifier, and `lapwing train --method selected-ridge`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from cli.run import new_process

from lapwing import LogTfidfVectorizer, MAPClassifier, SelectedRidgeClassifier, certify, load
from lapwing.corpus import stdlib_docstrings
from lapwing.errors import SettingsError
from lapwing.stats.priors import Gaussian
from lapwing.training import TrainSettings

from .data import indicator, matrix


def wide(n: int = 150, d: int = 60) -> tuple[sp.csr_matrix, np.ndarray]:
    X, y = matrix(n, 8)
    noise = sp.random(n, d, 0.1, random_state=1)
    return sp.hstack([sp.csr_matrix(X), noise]).tocsr(), y


def test_nothing_pruned_is_ridge_exactly() -> None:
    X, y = wide()
    pruned = SelectedRidgeClassifier(variance=5.0, alpha=0.0).fit(X, y)
    plain = MAPClassifier("gaussian", variance=5.0).fit(X, y)
    assert pruned.coef_.toarray().tobytes() == plain.coef_.toarray().tobytes()
    assert pruned.intercept_.tobytes() == plain.intercept_.tobytes()
    assert pruned.objective_.tobytes() == plain.objective_.tobytes()
    np.testing.assert_allclose(pruned.pruned_objective_, plain.objective_, rtol=1e-12)


@pytest.mark.parametrize("hessian", ["diagonal", "full"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_what_it_reports(hessian: str, link: str) -> None:
    X, y = wide()
    model = SelectedRidgeClassifier(link=link, variance=5.0, hessian=hessian).fit(X, y)
    d = X.shape[1]
    assert model.alpha_.tolist() == [np.sqrt(2 * np.log(d) / d)] * 3
    assert model.sparsity_ == 1.0 - np.mean(np.diff(model.coef_.indptr)) / d
    assert 0.0 < model.sparsity_ < 1.0
    assert (model.pruned_objective_ > model.objective_).all()
    assert model.converged_.all()
    prior = Gaussian().compile(5.0, d)
    weights = np.append(model.coef_[0].toarray().ravel(), model.intercept_[0])
    signs = np.where(y == 0, 1.0, -1.0)
    assert certify(X, signs, prior, weights, link=link).objective == pytest.approx(
        model.pruned_objective_[0], rel=1e-10
    )
    # The dual point proves how far below the ridge solution the optimum can be at most.
    gap = certify(X, signs, prior, weights, model.dual_[0], link=link)
    assert model.objective_[0] - gap.dual_objective == pytest.approx(model.dual_gap_[0], abs=1e-9)


def test_a_variance_that_works_without_being_told_one() -> None:
    """Pruned ridge with all defaults is about as good as the default on the docstrings of the standard library."""
    corpus = stdlib_docstrings()
    kept = {label for label, _ in Counter(label for (label,) in corpus.labels).most_common(6)}
    corpus = corpus.select([i for i, (label,) in enumerate(corpus.labels) if label in kept])
    train, test = corpus.part("train"), corpus.part("test")
    words = LogTfidfVectorizer()
    X, new = words.fit_transform(train.documents), words.transform(test.documents)
    y, truth = [label for (label,) in train.labels], np.array([label for (label,) in test.labels])

    def macro(model: MAPClassifier) -> float:
        answer = model.fit(X, y).predict(new)
        return float(
            np.mean([2 * np.sum((answer == k) & (truth == k)) / np.sum((answer == k) * 1 + (truth == k)) for k in kept])
        )

    pruned = SelectedRidgeClassifier()
    assert macro(pruned) > macro(MAPClassifier("laplace")) - 0.05
    assert 0.0 < pruned.sparsity_ < 1.0


def test_penalty_and_variance_chosen_together() -> None:
    X, y = wide()
    grid = (0.1, 1.0, 10.0, 100.0)
    model = SelectedRidgeClassifier(variance="cv", alpha="cv", cv_variances=grid).fit(X, y)
    for row, curve in enumerate(model.variance_curves_):
        assert (model.variance_[row], model.alpha_[row]) == (curve.chosen, curve.alpha)
        assert curve.total.max() == curve.total[list(grid).index(curve.chosen)]
        for alpha in (None, 0.0, 0.1):  # no other penalty of the grid does better at any variance
            other = SelectedRidgeClassifier(variance="cv", alpha=alpha, cv_variances=grid).fit(X, y)
            assert other.variance_curves_[row].total.max() <= curve.total.max()
    best, near = (
        SelectedRidgeClassifier(variance="cv", alpha="cv", cv_variances=grid, cv_runs=5, one_se=one_se).fit(X, y)
        for one_se in (False, True)
    )
    assert (near.alpha_ >= best.alpha_).all()
    assert near.alpha_.sum() > best.alpha_.sum()
    fixed = SelectedRidgeClassifier(variance=1.0, alpha="cv").fit(X, y)
    assert fixed.variance_.tolist() == [1.0] * 3


def test_a_validation_set_takes_the_place_of_folds() -> None:
    X, y = wide(300)
    train, held_out = slice(0, 200), slice(200, 300)
    grid = (0.01, 1.0, 100.0)
    # To the same fit from whatever start: at the default tolerance scores may differ in the third digit.
    chosen = SelectedRidgeClassifier(variance="cv", cv_variances=grid, tol=1e-8).fit(
        X[train], y[train], validation=(X[held_out], y[held_out])
    )
    for row in range(3):
        values = {}
        for variance in grid:
            one = SelectedRidgeClassifier(variance=variance, tol=1e-8).fit(X[train], y[train])
            proba = one.category_proba(X[held_out])[:, row]
            values[variance] = np.log(np.where(y[held_out] == row, proba, 1.0 - proba)).sum()
        assert chosen.variance_[row] == max(values, key=lambda v: values[v])
        np.testing.assert_allclose(chosen.variance_curves_[row].total, list(values.values()), rtol=1e-3)
    final = SelectedRidgeClassifier(variance=chosen.variance_, tol=1e-8).fit(X[train], y[train])
    assert final.coef_.toarray().tobytes() == chosen.coef_.toarray().tobytes()


def test_label_sets_threads_and_the_file(tmp_path: Path) -> None:
    X, Y = indicator()
    one = SelectedRidgeClassifier(variance=10.0, threshold="f1").fit(X, Y)
    two = SelectedRidgeClassifier(variance=10.0, threshold="f1", n_jobs=2).fit(X, Y)
    one.save(tmp_path / "one")
    two.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    again = load(tmp_path / "one")
    assert again.sparsity == one.sparsity_
    assert again.provenance["selected_ridge"]["objective"] == one.pruned_objective_.tolist()
    np.testing.assert_array_equal(again.scores(X), one.decision_function(X))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": "best"}, "alpha must be"),
        ({"alpha": float("nan")}, "alpha must be"),
        ({"hessian": "block"}, "hessian must be one of"),
    ],
)
def test_bad_settings(wrong: dict, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        SelectedRidgeClassifier(**wrong).fit(*matrix())


def test_settings_that_contradict_each_other() -> None:
    with pytest.raises(SettingsError, match="gaussian"):
        TrainSettings(method="selected-ridge")
    with pytest.raises(SettingsError, match="selected-ridge"):
        TrainSettings(alpha=0.1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("selected") / "c.jsonl"
    with path.open("w") as stream:
        for i in range(120):
            label = "abc"[i % 3]
            words = [f"{label}{k}" for k in draw.integers(0, 6, 4)] + [f"w{k}" for k in draw.integers(0, 40, 6)]
            part = ("train", "train", "validation", "test")[i // 3 % 4]
            stream.write(json.dumps({"text": " ".join(words), "label": label, "split": part}) + "\n")
    return path


def test_the_command(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "m"
    ran = new_process(
        "train", corpus, "-o", output, "--method", "selected-ridge", "--variance", "cv", "--validation", "--json"
    )
    assert ran.code == 0, ran.err
    model = load(output)
    assert ran.json["sparsity"] == model.sparsity
    assert ran.json["selected_ridge"]["objective"] > ran.json["selected_ridge"]["ridge_objective"]
    assert "Selected Ridge" in new_process("inspect", output).out
    shown = new_process("train", corpus, "-o", output, "--method", "selected-ridge", "--alpha", "0").out
    assert "sparsity" in shown
    refused = new_process("train", corpus, "-o", output, "--method", "selected-ridge", "--prior", "laplace")
    assert refused.code == 2
    assert "gaussian" in refused.complaint
