"""What is chosen around a fit: features before it, thresholds after it."""

from lapwing.model.expected_f1 import expected_f1
from lapwing.selection.features import SCORES, bns, chi_square, pearson, top_features, yule_q
from lapwing.selection.thresholds import RULES, Utility, tune

__all__ = [
    "SCORES", "chi_square", "bns", "pearson", "yule_q", "top_features",
    "RULES", "Utility", "tune", "expected_f1",
]  # fmt: skip
