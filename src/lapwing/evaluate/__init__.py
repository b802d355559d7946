"""Measures of how well decisions and scores fit the labels."""

from lapwing.evaluate.assessment import Assessment, CategoryAssessment, assess, membership
from lapwing.evaluate.calibration import Reliability, calibration
from lapwing.evaluate.conformalize import conformalize
from lapwing.evaluate.confusion import Confusion
from lapwing.evaluate.measures import Evaluation, Tables, auc, evaluate
from lapwing.evaluate.mislabelled import look_mislabelled
from lapwing.evaluate.ranking import Ranking, rank
from lapwing.evaluate.significance import Comparison, compare
from lapwing.evaluate.stored import store_assessment, stored_assessment

__all__ = [
    "Assessment",
    "Reliability",
    "CategoryAssessment",
    "Comparison",
    "Confusion",
    "Evaluation",
    "Ranking",
    "Tables",
    "assess",
    "auc",
    "calibration",
    "compare",
    "conformalize",
    "evaluate",
    "look_mislabelled",
    "membership",
    "rank",
    "store_assessment",
    "stored_assessment",
]
