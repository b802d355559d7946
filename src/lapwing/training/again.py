"""What it takes to fit one category of a model again, as the model says it was fitted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from lapwing.errors import InputError
from lapwing.model import LinearModel
from lapwing.stats.prior_table import PriorTable
from lapwing.training.label_words import prior_in_terms
from lapwing.training.settings import TrainSettings
from lapwing.training.targets import check_weights, class_weights, targets

Labels = Sequence[tuple[Hashable, ...]]


def settings_of(model: LinearModel) -> TrainSettings:
    """All settings of the training that made it."""
    if model.converted_from:
        raise InputError(
            f"the model was {model.origin}; give a model of `lapwing train`, which keeps the settings of its training"
        )
    if "settings" not in model.provenance:
        raise InputError("the model does not say what it was trained with; an earlier release made it. Train it anew")
    return TrainSettings.from_dict(model.provenance["settings"])


def variance_of(model: LinearModel) -> float:
    """The prior variance for a problem like the model's (EGJLM03): the median over its categories."""
    variance = model.fits.variance[np.isfinite(model.fits.variance) & (model.fits.variance > 0.0)]
    if not len(variance):
        raise InputError("the model does not say which variance its prior has, and none can be taken from it")
    return float(np.exp(np.median(np.log(variance)))) if len(set(variance.tolist())) > 1 else float(variance[0])


def prior_of(model: LinearModel, row: int, settings: TrainSettings) -> Any:
    """The prior of one category, as that of all; its features are the model's columns."""
    text = None if model.weighting is None else model.weighting.settings
    prior = prior_in_terms(settings, model.classes, model.feature_names, text)
    if not isinstance(prior, PriorTable):
        return prior
    shared = len(model.categories) < len(model.classes)  # two exclusive classes
    return prior.of_category(model.categories[row], model.classes[0] if shared else None)


def document_weights(
    model: LinearModel, row: int, labels: Labels, weights: np.ndarray | None, settings: TrainSettings
) -> np.ndarray:
    """Weights of the documents in the problem of one category, class weights among them."""
    weights = check_weights(weights, len(labels))
    known = [tuple(label for label in one if label in model.classes) for one in labels]
    given = targets(known, model.exclusive, model.classes)
    column = given.fitted[row]
    return np.asarray(weights * class_weights(given, weights, settings.class_weight)(column, given.signs(column)))
