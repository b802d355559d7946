"""The words of a category's own name as prior knowledge of it: headings are words.

The weight of each has the mode `label_words`, shared among the categories whose names have the word; everything else
keeps the prior. Words that no training document has are left out. Modes have 24 bits, as weights of rare categories do
(kernels/rare.py): those that stay at them are then held in as few.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from lapwing.stats.prior_table import PriorTable, from_names
from lapwing.stats.priors import Prior, as_prior
from lapwing.text import TextSettings
from lapwing.training.settings import TrainSettings


def prior_in_terms(
    settings: TrainSettings, classes: Sequence[Hashable], names: Iterable[str], text: TextSettings | None
) -> Prior:
    """The prior of the settings, its rows in the terms of the text stage; `names` are those of the features."""
    prior = as_prior(settings.prior)
    if settings.label_words:
        known = set(names)
        rows = from_names(classes, mode=settings.label_words, base=prior).in_terms(text).rows
        kept = (replace(row, mode=float(np.float32(row.mode))) for row in rows if row.feature in known)
        return PriorTable(tuple(kept), prior, strict=False)
    return prior.in_terms(text) if isinstance(prior, PriorTable) else prior
