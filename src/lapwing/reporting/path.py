"""How a category's weights grow as its prior weakens, all else being as the model was trained."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate import membership
from lapwing.model import LinearModel
from lapwing.stats.priors import as_prior

FEATURES = 8
STRONGER, WEAKER = -2.5, 1.0  # powers of ten around the variance in use
POINTS = 29

Labels = Sequence[tuple[Hashable, ...]]


def no_path(model: LinearModel) -> str | None:
    """Why a model has no coefficient paths; None where it has."""
    if model.converted_from:
        return f"the model was {model.origin}, and a path is fitted as the model was"
    if model.link == "softmax":
        return "a path is of one category by itself, and this model fits all classes together"
    if model.weighting is not None and model.weighting.settings.ngrams:
        return "a weaker prior would let in n-grams that the model does not have; they have no path"
    if model.provenance.get("prior") == "jeffreys":
        return "Jeffreys' prior has no variance to follow, and so no path"
    return None


def coefficient_path(
    model: LinearModel, row: int, matrix: sp.csr_matrix, labels: Labels, weights: np.ndarray | None = None
) -> dict[str, Any]:
    """Weights of the category's heaviest features for variances around its own, fitted as the model was, and multiplied
    by the slope of its calibration: at its own variance they are the model's weights.

    matrix   (n, d) training documents in the model's columns
    labels   of each of them, all classes: class weights depend on them;  weights  (n,) of the documents
    """
    from lapwing.training import train
    from lapwing.training.again import document_weights, prior_of, settings_of

    if (reason := no_path(model)) is not None:
        raise InputError(reason)
    inside, chosen = membership(labels, [model.categories[row]])[:, 0], float(model.fits.variance[row])
    if not inside.any():
        raise InputError(f"no document of the data is in {model.categories[row]!r}; there is no path to fit")
    variances = chosen * np.logspace(STRONGER, WEAKER, POINTS)
    settings = settings_of(model)
    # One category per variance, all with the same documents, so that everything else happens as in any training.
    points = tuple(range(POINTS))
    corpus = Corpus(
        name="path", kind="vectors", documents=matrix, labels=[points if yes else () for yes in inside],  # type: ignore[misc]
        ids=[str(i) for i in range(len(inside))], exclusive=False, split=[],
        weights=document_weights(model, row, labels, weights, settings), feature_names=list(model.feature_names),
    )  # fmt: skip
    alone = replace(
        settings, prior=prior_of(model, row, settings), variance=variances.tolist(), class_weight=None,
        threshold="default", calibrate=False, max_features=None, method="map", alpha=None, hessian="diagonal",
    )  # fmt: skip
    slope = 1.0 if model.calibration is None else float(model.calibration.slope[row])
    coefficients = slope * train(corpus, alone, classes=points).weights.toarray()
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
        "prior": as_prior(settings.prior).shape.name,
    }


def category_to_follow(model: LinearModel) -> int:
    """The category with most documents among those with few enough features for a picture, else the first."""
    few = np.flatnonzero((model.n_kept >= FEATURES) & (model.n_kept <= 200))
    return int(few[np.argmax(model.fits.positives[few])]) if len(few) else int(np.argmax(model.n_kept))
