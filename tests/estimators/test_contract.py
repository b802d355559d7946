"""scikit-learn's own checks, without an expected failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from lapwing import LogTfidfVectorizer, MAPClassifier, SelectedRidgeClassifier, TextClassifier
from lapwing.priors import ElasticNet, Gaussian

MATRIX = [
    MAPClassifier(),
    MAPClassifier("gaussian"),
    MAPClassifier("elasticnet"),
    MAPClassifier(ElasticNet(0.3), variance=2.0),
    MAPClassifier(Gaussian(), intercept_variance=10.0),
    MAPClassifier(variance=1.0, n_jobs=2),
    SelectedRidgeClassifier(variance=1.0, alpha=0.1),
]


@parametrize_with_checks(MATRIX)
def test_matrix_classifier(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@parametrize_with_checks([LogTfidfVectorizer(), LogTfidfVectorizer(tf="raw", idf=False), TextClassifier()])
def test_text_estimators(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("name", ["check_sample_weight_equivalence_on_sparse_data", "check_fit_check_is_fitted"])
def test_the_checks_that_matter_most_are_among_those_run(name: str) -> None:
    def name_of(check: Any) -> str:
        return str(getattr(check, "func", check).__name__)

    assert name in {name_of(check) for _, check in estimator_checks_generator(MAPClassifier())}
