"""What training leaves: a linear model that scores, decides, and explains itself."""

from lapwing.model.explain import CategoryExplanation, Contribution, Explanation
from lapwing.model.feature_index import FeatureIndex
from lapwing.model.linear import FitSummary, LinearModel

__all__ = ["CategoryExplanation", "FeatureIndex", "Contribution", "Explanation", "FitSummary", "LinearModel"]
