"""The yardstick: a linear SVM with hinge loss, as GLM07 used SVM-Light (section 5.3.1)."""

from __future__ import annotations

import warnings
from threading import Lock

import numpy as np
import scipy.sparse as sp

TOL = 1e-3  # SVM-Light's own
MAX_ITER = 1_000_000

_one_at_a_time = Lock()  # liblinear draws from one generator per process: what it finds must not depend on threads


def fit(X: sp.csr_matrix, y: np.ndarray, sample_weight: np.ndarray, seed: int) -> tuple[np.ndarray, float, int]:
    """Minimise ½‖β‖² + C Σ w_i max(0, 1 − y_i βᵀx_i), C = 1/mean squared norm, β with the intercept last.

    The print has the mean norm; SVM-Light takes the squares. On cosine-normalised vectors C is 1, on
    selected features larger (the print says smaller).

    Returns (β (d+1,), C, iterations); as many as MAX_ITER mean that it has not converged.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    mean = float(np.average(squares, weights=sample_weight))
    C = 1.0 / mean if mean > 0.0 else 1.0
    X, y, sample_weight = _empty_as_one(X, y, sample_weight)
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the caller sees it from the iterations
        machine = LinearSVC(loss="hinge", C=C, tol=TOL, max_iter=MAX_ITER, random_state=seed)
        machine.fit(X, y, sample_weight=sample_weight)
    return np.append(machine.coef_.ravel(), machine.intercept_), C, int(machine.n_iter_)


def _empty_as_one(X: sp.csr_matrix, y: np.ndarray, weight: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """The same problem with the documents that have none of the features as one document of either side."""
    empty = np.diff(X.indptr) == 0
    rows, weights = np.flatnonzero(~empty), weight[~empty]
    for side in (empty & (y > 0), empty & (y <= 0)):
        if side.any():
            rows, weights = np.append(rows, np.argmax(side)), np.append(weights, weight[side].sum())
    return X[rows], y[rows], weights
