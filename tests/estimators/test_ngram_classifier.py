"""NgramClassifier: what order tells that counts do not, and all that a text classifier does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import lapwing
from estimators import data
from lapwing import NgramClassifier, TextClassifier
from lapwing.errors import InputError, SettingsError

# IBW08: the same words, another order.
GOOD = "This product is not bad, it's actually quite good."
BAD = "This product is not good, it's actually quite bad."
FILLER = ["Delivered on Monday.", "The box was blue.", "I bought it for my brother.", "Two days late, as ever."]


def two_sentences() -> tuple[list[str], list[str]]:
    """The two in turn, with the same other sentences around both."""
    texts = [f"{FILLER[k % 4]} {s} {FILLER[(k + 1) % 4]}" for k in range(12) for s in (GOOD, BAD)]
    return texts, ["good", "bad"] * 12


@pytest.mark.parametrize("solver", ["exact", "greedy"])
@pytest.mark.parametrize("tokens", ["word", "char"])
def test_the_seeds_two_sentences(tokens: str, solver: str) -> None:
    texts, labels = two_sentences()
    ngrams = NgramClassifier(tokens=tokens, solver=solver).fit(texts, labels)
    assert ngrams.score(texts, labels) == 1.0
    assert ngrams.predict([GOOD, BAD]).tolist() == ["good", "bad"]
    for name, weight in ngrams.model_.row_features(0):
        blank = "" if tokens == "char" else " "
        length = len(name) if tokens == "char" else len(name.split(blank))
        assert weight != 0.0
        assert length > 1
    alone = NgramClassifier(tokens=tokens, solver=solver, max_length=1).fit(texts, labels)
    np.testing.assert_allclose(alone.predict_proba(texts), 0.5, atol=1e-6)
    assert TextClassifier(stop_words="none").fit(texts, labels).score(texts, labels) == 0.5


def test_unlimited_unigrams_are_the_text_classifier() -> None:
    """max_length=1 is presence of words: what the other classifier does when told to."""
    texts, labels = data.texts()
    bare = {"stop_words": "none", "stemmer": "none", "tf": "binary", "idf": False, "cosine": False}
    plain = TextClassifier(**bare, prior="laplace", variance="norm", tol=1e-9)
    ngrams = NgramClassifier(max_length=1, variance="norm", tol=1e-9).fit(texts, labels)
    plain.fit(texts, labels)
    np.testing.assert_allclose(ngrams.variance_, plain.variance_, rtol=1e-12)  # norm, on the single tokens
    np.testing.assert_allclose(ngrams.objective_, plain.objective_, rtol=1e-8)
    np.testing.assert_allclose(ngrams.predict_proba(texts), plain.predict_proba(texts), atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"solver": "greedy"}, {"tokens": "char", "min_support": 2}])
def test_label_sets_classes_and_files(settings: dict[str, Any], tmp_path: Path) -> None:
    texts, labels = data.texts()
    for given in (labels, [[label] if k % 5 else [label, "both"] for k, label in enumerate(labels)]):
        model = NgramClassifier(**settings, variance="norm").fit(texts, given)
        assert model.score(texts, given) > 0.9
        assert model.coef_.shape == (len(model.classes_), len(model.model_.feature_names))
        assert model.converged_.all()
        if "solver" not in settings:
            assert (model.dual_gap_ <= 1e-4 * model.objective_).all()
        model.save(tmp_path / "m.lapwing")
        loaded = lapwing.load(tmp_path / "m.lapwing")
        np.testing.assert_array_equal(loaded.scores(texts), model.model_.scores(texts))
        for method in ("plain", "kernel"):
            np.testing.assert_array_equal(loaded.scores(texts, method=method), model.model_.scores(texts))


def test_threads_change_nothing() -> None:
    texts, labels = data.texts()
    for solver in ("exact", "greedy"):
        one, other = (NgramClassifier(solver=solver, n_jobs=jobs).fit(texts, labels) for jobs in (1, 3))
        np.testing.assert_array_equal(one.coef_.toarray(), other.coef_.toarray())
        assert list(one.model_.feature_names) == list(other.model_.feature_names)


def test_choices_by_cross_validation() -> None:
    texts, labels = data.texts()
    for variance in ("cv", "auto"):
        model = NgramClassifier(variance=variance, cv_folds=3).fit(texts, labels)
        for curve, chosen in zip(model.variance_curves_, model.variance_, strict=True):
            assert chosen == curve.chosen
            assert curve.total.max() == curve.total[curve.variances == chosen]
    stepped = NgramClassifier(solver="greedy", steps="cv", cv_folds=3).fit(texts, labels)
    for curve, taken in zip(stepped.step_curves_, stepped.n_iter_, strict=True):
        assert curve.steps.tolist() == [200, 400, 600, 800, 1000]
        assert taken <= curve.chosen
    tuned = NgramClassifier(variance=1.0, threshold="f1", threshold_data="cv", cv_folds=4)
    tuned.fit(texts, [[label] for label in labels])
    assert not (tuned.thresholds_ == 0.5).all()
    search = GridSearchCV(NgramClassifier(), {"max_length": [1, 3], "tokens": ["word", "char"]}, cv=3)
    assert search.fit(texts, labels).best_score_ > 0.8


def test_unseen_documents_are_scored_after_as_many_steps() -> None:
    """Calibration is that of the model: the same as where the number of steps had been given."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 12)) for _ in range(40)]
    labels = [("a" in text) != (rng.random() < 0.2) for text in texts]
    chosen = NgramClassifier(solver="greedy", max_length=1, cv_folds=3).fit(texts, labels)
    given = NgramClassifier(solver="greedy", max_length=1, cv_folds=3, steps=int(chosen.step_curves_[0].chosen))
    np.testing.assert_array_equal(chosen.predict_proba(texts), given.fit(texts, labels).predict_proba(texts))
    assert chosen.model_.calibration is not None


def test_parameters() -> None:
    estimator = NgramClassifier(tokens="char", max_length=np.int64(3), min_support=2, steps="cv", stop_words=["a"])
    assert clone(estimator).get_params() == estimator.get_params()
    texts, labels = data.texts()
    for wrong, message in (
        ({"max_length": 0}, "max_length must be a whole number of 1 or more"),
        ({"min_support": 0}, "min_support must be"),
        ({"steps": "many"}, "steps must be a whole number"),
        ({"solver": "clg"}, "solver must be one of auto, exact, greedy"),
        ({"tokens": "syllable"}, "tokens must be one of"),
        ({"variance": -1.0}, "variance must be > 0"),
    ):
        with pytest.raises(SettingsError, match=message):
            NgramClassifier(**wrong).fit(texts, labels)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no n-gram is left"):
        NgramClassifier(min_support=1000).fit(texts, labels)


def test_weights_of_documents() -> None:
    texts, labels = data.texts()
    weight = np.r_[2.0, 0.0, np.ones(len(texts) - 2)]
    weighted = NgramClassifier(variance=5.0, tol=1e-9).fit(texts, labels, sample_weight=weight)
    twice = NgramClassifier(variance=5.0, tol=1e-9).fit(
        [texts[0], texts[0], *texts[2:]], [labels[0], *labels[:1], *labels[2:]]
    )
    np.testing.assert_allclose(weighted.objective_, twice.objective_, rtol=1e-7)
