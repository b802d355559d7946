"""Documents held out from training, to judge the model by: the same ones whenever the same corpus is read again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing.corpus import Corpus
from lapwing.errors import SettingsError
from lapwing.training import portions
from lapwing.training.settings import TrainSettings


def holdout_of(corpus: Corpus, share: float, settings: TrainSettings) -> np.ndarray:
    """(n,) whether a document is: that share of every label, equal documents and groups together; or the latest ones,
    where folds go by time."""
    folds = portions(corpus, 99 if settings.fold_by == "time" else 100, settings)
    if folds.forward:
        held_out = folds.fold >= folds.portions - round(share * (folds.portions + 1))
    else:  # documents of one label are in portions next to each other: those held out are spread evenly among all
        before = np.arange(folds.portions + 1) * round(share * folds.portions) // folds.portions
        held_out = (folds.fold >= 0) & (np.diff(before) > 0)[folds.fold]
    if held_out.all() or not held_out.any():
        raise SettingsError(f"--holdout {share} leaves no document on one side; there are {len(corpus)}")
    return np.asarray(held_out, dtype=bool)


def divided(corpus: Corpus, share: float, settings: TrainSettings) -> Corpus:
    """The corpus with these as its test part, and all others as its training part."""
    return replace(corpus, split=["test" if one else "train" for one in holdout_of(corpus, share, settings)])
