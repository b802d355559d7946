"""A loaded model as a scikit-learn estimator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.base import clone

import lapwing

TEXTS = ["wheat corn harvest", "corn crop", "oil gas barrel", "gas pipeline crude"] * 6
LABELS = ["grain", "grain", "energy", "energy"] * 6
LISTS = [["grain"], ["grain", "farm"], ["energy"], ["energy"]] * 6


def test_it_predicts_as_the_model_and_its_clone_trains_like_it(tmp_path: Path) -> None:
    fitted = lapwing.TextClassifier(variance=3.0, stemmer="none", folds=4, prior="laplace").fit(TEXTS, LABELS)
    fitted.save(tmp_path / "m")
    loaded = lapwing.load(tmp_path / "m").to_sklearn()
    assert loaded.get_params() | {"n_jobs": None} == fitted.get_params() | {"n_jobs": None}
    assert np.array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert loaded.score(TEXTS, LABELS) == fitted.score(TEXTS, LABELS)
    again = clone(loaded).fit(TEXTS, LABELS)
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_label_sets_and_vectors() -> None:
    sets = lapwing.TextClassifier(variance=3.0, calibrate=False).fit(TEXTS, LISTS)
    assert lapwing.to_sklearn(sets.model_).predict(TEXTS) == sets.predict(TEXTS)
    X = np.random.default_rng(1).normal(size=(24, 3))
    vectors = lapwing.MAPClassifier(variance=3.0, calibrate=False).fit(X, LABELS)
    assert lapwing.to_sklearn(vectors.model_).predict(X).tolist() == vectors.predict(X).tolist()
