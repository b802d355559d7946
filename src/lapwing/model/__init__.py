"""Links, priors, the objective and its certificate, the linear model and its file."""

from lapwing.model.columns import Columns
from lapwing.model.explain import CategoryExplanation, Contribution, Explanation
from lapwing.model.file import is_model_file, load, save
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.model.objective import Certificate, PriorArrays, certify
from lapwing.model.result import FitResult
from lapwing.model.stationary import Stationarity, certify_stationary

__all__ = [
    "CategoryExplanation",
    "Certificate",
    "Columns",
    "Contribution",
    "Explanation",
    "FitResult",
    "FitSummary",
    "LinearModel",
    "PriorArrays",
    "Stationarity",
    "certify",
    "certify_stationary",
    "is_model_file",
    "load",
    "save",
]
