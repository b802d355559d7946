"""Documents kept apart from training, to judge the model by: the same ones whenever the same corpus is read again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing.corpus import Corpus
from lapwing.errors import SettingsError
from lapwing.training import portions
from lapwing.training.settings import TrainSettings


def kept_apart(corpus: Corpus, share: float, settings: TrainSettings) -> np.ndarray:
    """(n,) whether a document is: that share of every label, equal documents and groups together; or the latest ones,
    where folds go by time."""
    folds = portions(corpus, 99 if settings.fold_by == "time" else 100, settings)
    if folds.forward:
        apart = folds.fold >= folds.portions - round(share * (folds.portions + 1))
    else:  # documents of one label are in portions next to each other: those kept apart are spread evenly among all
        before = np.arange(folds.portions + 1) * round(share * folds.portions) // folds.portions
        apart = (folds.fold >= 0) & (np.diff(before) > 0)[folds.fold]
    if apart.all() or not apart.any():
        raise SettingsError(f"--holdout {share} leaves no document on one side; there are {len(corpus)}")
    return np.asarray(apart, dtype=bool)


def divided(corpus: Corpus, share: float, settings: TrainSettings) -> Corpus:
    """The corpus with these as its test part, and all others as its training part."""
    return replace(corpus, split=["test" if one else "train" for one in kept_apart(corpus, share, settings)])
