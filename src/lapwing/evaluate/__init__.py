"""Measures of how well decisions and scores fit the labels."""

from lapwing.evaluate.measures import Evaluation, Tables, auc, evaluate
from lapwing.evaluate.significance import Comparison, compare

__all__ = ["Evaluation", "Tables", "auc", "evaluate", "Comparison", "compare"]
