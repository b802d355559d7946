"""A model that is there already as a scikit-learn estimator, fitted."""

from __future__ import annotations

from typing import Any

from lapwing.errors import InputError
from lapwing.estimators._base import LinearModelClassifier
from lapwing.estimators.map_classifier import MAPClassifier
from lapwing.estimators.text_classifier import TextClassifier
from lapwing.model import LinearModel
from lapwing.params import flat
from lapwing.training.again import settings_of


def to_sklearn(model: LinearModel) -> LinearModelClassifier:
    """A fitted `TextClassifier`, or `MAPClassifier` for a model of vectors, that predicts by this model.

    Its parameters are the settings that the model carries, so that `sklearn.base.clone` of it trains like it; where a
    model tells of none they are the defaults.

    >>> import lapwing
    >>> model = lapwing.TextClassifier(variance=100.0).fit(["good", "fine", "bad", "dull"], [1, 1, 0, 0]).model_
    >>> to_sklearn(model).predict(["a good one"]).tolist()
    [1]
    """
    kind: type[Any] = MAPClassifier if model.weighting is None else TextClassifier
    estimator = kind()
    known = estimator.get_params(deep=False)
    try:
        settings = settings_of(model)
    except InputError:
        settings = None
    if settings is not None:
        text = {} if model.weighting is None else flat(model.weighting.settings)
        estimator.set_params(**{name: value for name, value in (settings.flat() | text).items() if name in known})
    beside = getattr(model.weighting, "beside", None)
    if beside is not None:
        estimator.set_params(text_column=beside.text, numeric=[*beside.numeric], categorical=[*beside.categorical])
    estimator._take(model)
    estimator._label_lists = not model.exclusive and model.weighting is not None
    if model.weighting is None:
        estimator.n_features_in_ = len(model.feature_names)
    return estimator
