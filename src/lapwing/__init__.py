"""lapwing: labelled text in, small readable classifiers with honest probabilities out.

>>> import lapwing
>>> model = lapwing.TextClassifier().fit(["wheat and corn", "oil and gas"] * 4, ["grain", "energy"] * 4)
>>> model.predict(["corn prices rose"]).tolist()
['grain']

Every public name is in `__all__`; what is heavy is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers read it; typing itself takes longer to import than all of this

__version__ = "0.2.0"

__all__ = [
    "LogTfidfVectorizer",
    "MAPClassifier",
    "NgramClassifier",
    "SelectedRidgeClassifier",
    "TextClassifier",
    "Utility",
    "__version__",
    "certify",
    "compare",
    "corpus",
    "drift",
    "errors",
    "export",
    "load",
    "plots",
    "priors",
    "probability_interval",
    "report",
    "summary",
    "suspects",
    "to_sklearn",
    "train",
    "update",
]

_HOMES = {
    "LogTfidfVectorizer": "lapwing.estimators",
    "MAPClassifier": "lapwing.estimators",
    "NgramClassifier": "lapwing.estimators",
    "SelectedRidgeClassifier": "lapwing.estimators",
    "TextClassifier": "lapwing.estimators",
    "Utility": "lapwing.selection",
    "certify": "lapwing.stats",
    "compare": "lapwing.evaluate.comparison",
    "export": "lapwing.exporting",
    "drift": "lapwing.evaluate.drift",
    "load": "lapwing.formats",
    "report": "lapwing.reporting",
    "probability_interval": "lapwing.training.summary",
    "summary": "lapwing.training.summary",
    "suspects": "lapwing.training.suspects",
    "to_sklearn": "lapwing.estimators.loaded",
    "train": "lapwing.training",
    "update": "lapwing.training.update",
}

if TYPE_CHECKING:
    from typing import Any

    from lapwing import corpus, errors, plots, priors
    from lapwing.estimators import (
        LogTfidfVectorizer,
        MAPClassifier,
        NgramClassifier,
        SelectedRidgeClassifier,
        TextClassifier,
    )
    from lapwing.estimators.loaded import to_sklearn
    from lapwing.evaluate.comparison import compare
    from lapwing.evaluate.drift import drift
    from lapwing.exporting import export
    from lapwing.formats import load
    from lapwing.reporting import report
    from lapwing.selection import Utility
    from lapwing.stats import certify
    from lapwing.training import train
    from lapwing.training.summary import probability_interval, summary
    from lapwing.training.suspects import suspects
    from lapwing.training.update import update


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"lapwing.{name}")
    raise AttributeError(f"module 'lapwing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
