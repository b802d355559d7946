"""What training leaves: a linear model that scores, decides, and explains itself."""

from lapwing.model.columns import Columns
from lapwing.model.explain import CategoryExplanation, Contribution, Explanation
from lapwing.model.linear import FitSummary, LinearModel

__all__ = ["CategoryExplanation", "Columns", "Contribution", "Explanation", "FitSummary", "LinearModel"]
