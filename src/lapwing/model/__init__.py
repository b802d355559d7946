"""Links, priors, the objective and its certificate, the linear model and its file."""

from lapwing.model.explain import CategoryExplanation, Contribution, Explanation
from lapwing.model.file import load, save
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.model.objective import Certificate, PriorArrays, certify
from lapwing.model.result import FitResult

__all__ = [
    "CategoryExplanation",
    "Certificate",
    "Contribution",
    "Explanation",
    "FitResult",
    "FitSummary",
    "LinearModel",
    "PriorArrays",
    "certify",
    "load",
    "save",
]
