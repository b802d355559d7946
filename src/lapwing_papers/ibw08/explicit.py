"""The explicit route: every n-gram up to a length as a column of a matrix, then liblinear."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.text import TextSettings, tokenize
from lapwing_papers.glm07 import svm

TOL = 1e-3  # liblinear's objective is then about a thousandth above its optimum


class Explicit(NamedTuple):
    """Matrices of the training and the test documents, and the seconds that the first took."""

    train: sp.csr_matrix
    test: sp.csr_matrix
    seconds: float


def write_out(train: Sequence[str], test: Sequence[str], settings: TextSettings, length: int) -> Explicit:
    """Presence of all n-grams of 1 to `length` tokens, by scikit-learn, from the tokens that we cut."""
    from sklearn.feature_extraction.text import CountVectorizer

    blank = settings.joint
    began = time.perf_counter()
    vectorizer = CountVectorizer(
        binary=True, lowercase=False, ngram_range=(1, length), dtype=np.float64,
        **({"token_pattern": r"\S+"} if blank else {"analyzer": "char"}),
    )  # fmt: skip
    matrix = vectorizer.fit_transform(blank.join(tokenize(text, settings)) for text in train)
    seconds = time.perf_counter() - began
    return Explicit(matrix, vectorizer.transform(blank.join(tokenize(text, settings)) for text in test), seconds)


def l1_weights(X: sp.csr_matrix, y: np.ndarray, variance: float, seed: int) -> np.ndarray:
    """The Laplace MAP by liblinear, (d+1,), intercept last: our objective with C = 1/λ."""
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    renamed = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    kind: dict[str, Any] = {"l1_ratio": 1.0} if renamed else {"penalty": "l1"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = LogisticRegression(
            C=float(np.sqrt(variance / 2.0)), solver="liblinear", tol=TOL, max_iter=1000, random_state=seed, **kind
        ).fit(X, y)
    return np.append(fit.coef_.ravel(), fit.intercept_)


def svm_weights(X: sp.csr_matrix, y: np.ndarray, variance: float, seed: int) -> np.ndarray:
    """A linear SVM, as GLM07 used it; it has no variance."""
    return svm.fit(X, y, np.ones(len(y)), seed)[0]
