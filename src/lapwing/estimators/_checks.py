"""What callers get wrong, said in one sentence: an `InputError`, whoever found it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from lapwing.errors import InputError, LapwingError


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """What scikit-learn's checks find is an InputError, too, and one line."""
    try:
        yield
    except LapwingError:
        raise
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from error


def matrix(estimator: Any, X: Any, *, reset: bool = True) -> Any:
    """X as scikit-learn checks it; texts are told whom they are for."""
    if isinstance(X, str) or (isinstance(X, list | tuple) and X and isinstance(X[0], str)):
        raise InputError(
            "expected a matrix of numbers, got text; TextClassifier takes texts, and LogTfidfVectorizer makes a matrix "
            "of them"
        )
    with in_one_sentence():
        return validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset)


def document_weights(sample_weight: Any, n: int) -> np.ndarray:
    """An array of n; what it may hold, training checks."""
    try:
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"sample_weight must be a number for each of {n} documents, got {str(sample_weight)[:40]!r}; weights of "
            "classes are class_weight"
        ) from None
    return np.full(n, weights) if weights.ndim == 0 else weights


def check_label_names(labels: Iterable[Hashable]) -> None:
    """Labels are strings, numbers or booleans: what a model file can hold."""
    for label in labels:
        if not isinstance(label, str | int | float | bool | np.generic) or label != label:
            raise InputError(
                f"a label must be a string, a number or a boolean, got {label!r}; leave such documents out"
            )
