"""IBW08: n-grams of any length by search, against all of them written out."""

from lapwing_papers.ibw08.output import reproduce
from lapwing_papers.ibw08.run import Plan

__all__ = ["Plan", "reproduce"]
