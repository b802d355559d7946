"""BBR's and BMR's model files: what is in them, how they are read and written, and the linear models they are."""

from lapwing_bbr.contents import BbrModel, BmrModel
from lapwing_bbr.linear import (
    EVERYTHING,
    bmr_from_linear,
    bmr_to_linear,
    class_ids,
    feature_ids,
    from_linear,
    load,
    normalized,
    score_of,
    to_linear,
)
from lapwing_bbr.reading import kind_of, read_bbr_model, read_bmr_model
from lapwing_bbr.writing import write_bbr_model, write_bmr_model

__all__ = [
    "EVERYTHING",
    "BbrModel",
    "BmrModel",
    "bmr_from_linear",
    "bmr_to_linear",
    "class_ids",
    "feature_ids",
    "from_linear",
    "kind_of",
    "load",
    "normalized",
    "read_bbr_model",
    "read_bmr_model",
    "score_of",
    "to_linear",
    "write_bbr_model",
    "write_bmr_model",
]
