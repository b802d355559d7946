"""Coefficients of a model of eight features against the prior variance (Figures 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.selection import chi_square, top_features
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import as_prior
from lapwing_papers.glm07.collection import Collection
from lapwing_papers.glm07.run import RunResult

EIGHT = 8
SIX = 6  # of the eight are in the model where Figure 3 has its dotted line
FAVOURITE = "wheat"
VARIANCES = np.logspace(-4, 8, 121)
TOL = 1e-8


@dataclass(frozen=True, eq=False)
class Paths:
    """gaussian, laplace: (variances, 8) coefficients. `marked` is the variance of the dotted line."""

    category: str
    features: tuple[str, ...]
    variances: np.ndarray
    gaussian: np.ndarray
    laplace: np.ndarray
    marked: float


def paths(collection: Collection, lasso: RunResult) -> Paths:
    """The category is wheat, or the one of median size where there is none; its features are those that
    matter most to its lasso, by weight times norm of the column, then the best by chi-square."""
    names = [str(label) for label in collection.categories]
    by_size = np.argsort(collection.positives, kind="stable")
    row = names.index(FAVOURITE) if FAVOURITE in names else int(by_size[len(names) // 2])
    y = collection.targets.signs(row)
    norms = np.sqrt(np.asarray(collection.train.multiply(collection.train).sum(axis=0)).ravel())
    importance = np.abs(lasso.results[row].weights[:-1]) * norms
    scores = chi_square(collection.train_columns, y, sample_weight=collection.weights)
    rank = np.where(importance > 0, 1.0 + importance, scores / (1.0 + scores.max()))
    features = top_features(rank, EIGHT)
    # Alike columns are not merged: each has a line of its own.
    problem = Problem(collection.train_columns[:, features].tocsr(), merge=False)
    gaussian, laplace = (_path(problem, y, collection.weights, prior) for prior in ("gaussian", "laplace"))
    in_model = np.count_nonzero(laplace, axis=1)
    marked = VARIANCES[int(np.argmin(np.abs(in_model - SIX)))]
    shown = tuple(collection.feature_names[j] for j in features)
    return Paths(names[row], shown, VARIANCES, gaussian, laplace, float(marked))


def _path(problem: Problem, y: np.ndarray, weights: np.ndarray, prior: str) -> np.ndarray:
    d = len(problem.group)
    path, beta = [], np.zeros(d + 1)
    for variance in VARIANCES:
        compiled = as_prior(prior).compile(float(variance), d)
        beta = newton.fit(
            problem, y, weights, compiled, variance=float(variance), tol=TOL, max_iter=2000, start=beta
        ).weights
        path.append(beta[:-1])
    return np.array(path)
