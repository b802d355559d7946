"""Measures of how well decisions and scores fit the labels."""

from lapwing.evaluate.measures import Evaluation, Tables, auc, evaluate

__all__ = ["Evaluation", "Tables", "auc", "evaluate"]
