"""How a category's weights grow as its prior weakens."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.engine import interruptible
from lapwing.errors import InputError
from lapwing.model import LinearModel
from lapwing.stats.priors import as_prior

FEATURES = 8
STRONGER, WEAKER = -2.5, 1.0  # powers of ten around the variance in use
POINTS = 29


@interruptible
def coefficient_path(model: LinearModel, row: int, matrix: sp.csr_matrix, inside: np.ndarray) -> dict[str, Any]:
    """Weights of the category's heaviest features for variances around its own, each fit starting from the last.

    matrix  (n, d) training documents in the model's columns;  inside  (n,) which of them are in the category
    """
    from lapwing.solvers import newton
    from lapwing.solvers.problem import Problem

    if model.link == "softmax":
        raise InputError("a path is of one category by itself, and this model fits all classes together")
    if model.weighting is not None and model.weighting.settings.ngrams:
        raise InputError("a weaker prior would let in n-grams that the model does not have; they have no path")
    if not inside.any():
        raise InputError(f"no document of the data is in {model.categories[row]!r}; there is no path to fit")
    name = model.provenance.get("prior", "laplace")
    prior, chosen = as_prior(name), float(model.fits.variance[row])
    variances = chosen * np.logspace(STRONGER, WEAKER, POINTS)
    y, weights = np.where(inside, 1.0, -1.0), np.ones(len(inside))
    problem = Problem(matrix)
    d = len(problem.group)
    found, beta = [], np.zeros(d + 1)
    for variance in variances.tolist():
        compiled = prior.compile(variance, d)
        beta = newton.fit(
            problem, y, weights, compiled, variance=variance, tol=1e-4, max_iter=500, start=beta, link=model.link
        ).weights
        found.append(beta[:-1])
    coefficients = np.array(found)
    nearest = int(np.argmin(np.abs(np.log(variances / chosen))))
    heaviest = np.argsort(-np.abs(coefficients[nearest]), kind="stable")[:FEATURES]
    heaviest = heaviest[coefficients[:, heaviest].any(axis=0)]
    if not len(heaviest):
        raise InputError(f"{model.categories[row]!r} keeps no feature at any variance near its own; it has no path")
    return {
        "variances": [float(f"{v:.6g}") for v in variances],
        "features": [str(model.feature_names[j]) for j in heaviest],
        "coefficients": [[float(f"{w:.5g}") for w in line] for line in coefficients[:, heaviest]],
        "chosen": chosen,
        "prior": name,
    }


def category_to_follow(model: LinearModel) -> int:
    """The category with most documents among those with few enough features for a picture, else the first."""
    few = np.flatnonzero((model.n_kept >= FEATURES) & (model.n_kept <= 200))
    return int(few[np.argmax(model.fits.positives[few])]) if len(few) else int(np.argmax(model.n_kept))
