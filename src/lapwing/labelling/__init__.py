"""Labelling the documents that teach most: which to show next, answers that are never lost, and what was learned."""

from lapwing.labelling.answers import Answers
from lapwing.labelling.session import Session
from lapwing.labelling.strategies import STRATEGIES, next_documents

__all__ = ["STRATEGIES", "Answers", "Session", "next_documents"]
