"""Documents that look mislabelled: by out-of-fold probabilities; and equal texts labelled unequally."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate import look_mislabelled, membership
from lapwing.model import LinearModel
from lapwing.training import Progress, TrainSettings, learn
from lapwing.training.out_of_fold import OutOfFold


@dataclass(frozen=True)
class Suspect:
    """A label to look at.

    document      its number in the corpus
    category      the label in question; the document has it where `labelled`, and seems not to belong there, or lacks
                  it, and seems to
    probability   of the category, out of fold
    instead       of exclusive classes: the most probable one
    """

    document: int
    id: str
    category: Hashable
    labelled: bool
    probability: float
    labels: tuple[Hashable, ...]
    instead: Hashable | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "category": self.category,
            "labelled": self.labelled,
            "probability": self.probability,
            "labels": list(self.labels),
            **({} if self.instead is None else {"instead": self.instead}),
        }


def suspects(
    corpus: Corpus, settings: TrainSettings | None = None, *, progress: Progress | None = None
) -> list[Suspect]:
    """Labels of the corpus that look wrong, the surest first.

    Out-of-fold probabilities (training/out_of_fold.py) are compared with them by `lapwing.evaluate.look_mislabelled`.
    """
    trained = learn(corpus, settings, progress=progress, judge_all=True)
    if trained.out_of_fold is None:
        raise InputError(
            f"{corpus.name}: too few different documents to hold some out, so no label can be judged without it; "
            "give 20 or more, with every category in two of them"
        )
    model = trained.model
    proba = out_of_fold_proba(model, trained.out_of_fold)
    truth = membership(corpus.labels, model.classes)
    out: list[Suspect] = []
    pairs = look_mislabelled(proba, truth)
    if model.exclusive:  # one label is wrong where another is right: that is said once, of the one it has
        own = np.argmax(truth, axis=1)
        pairs = sorted({(i, int(own[i])) for i, _ in pairs if truth[i].any()}, key=lambda pair: proba[pair])
    for i, k in pairs:
        instead = model.classes[int(np.argmax(proba[i]))] if model.exclusive else None
        out.append(
            Suspect(i, str(corpus.ids[i]), model.classes[k], bool(truth[i, k]), float(proba[i, k]),
                    tuple(corpus.labels[i]), instead)
        )  # fmt: skip
    return out


def out_of_fold_proba(model: LinearModel, held_out: OutOfFold) -> np.ndarray:
    """(n, classes) what the model would say of out-of-fold scores; NaN where a document was never held out.

    Every row must have been judged (`learn(judge_all=True)`).
    """
    scores = calibrated(model, held_out)
    proba = np.full((len(scores), len(model.classes)), np.nan)
    seen = np.flatnonzero(~np.isnan(scores).any(axis=1))
    proba[seen] = model.class_proba(scores[seen])
    return proba


def calibrated(model: LinearModel, held_out: OutOfFold) -> np.ndarray:
    """Out-of-fold scores on the line of the model's own."""
    if model.calibration is None:
        return held_out.scores
    return model.calibration.slope[held_out.rows] * held_out.scores + model.calibration.offset[held_out.rows]


def disagreements(*corpora: Corpus) -> list[dict[str, Any]]:
    """Texts that stand in the corpora more than once with different labels, in the order of their first appearance."""
    return [
        {
            "text": text,
            "labelled": [
                {"corpus": corpus.name, "id": str(corpus.ids[i]), "labels": list(corpus.labels[i])}
                for corpus, i in where
            ],
        }
        for text, where in _places(corpora).items()
        if not _agree(where)
    ]


def agreed(*corpora: Corpus) -> list[dict[str, Any]]:
    """The corpora merged: every text once, but for those of `disagreements`."""
    return [
        {"id": f"{corpus.name}:{corpus.ids[i]}", "text": corpus.documents[i], "labels": list(corpus.labels[i])}
        for (corpus, i), *others in _places(corpora).values()
        if _agree([(corpus, i), *others])
    ]


def _places(corpora: tuple[Corpus, ...]) -> dict[Any, list[tuple[Corpus, int]]]:
    """Where each text stands; every blank one is another."""
    places: dict[Any, list[tuple[Corpus, int]]] = {}
    for corpus in corpora:
        if corpus.kind == "vectors":
            raise InputError(f"{corpus.name}: equal texts are looked for, and these are vectors")
        for i, text in enumerate(corpus.documents):
            places.setdefault(text.strip() or (len(places),), []).append((corpus, i))
    return places


def _agree(where: list[tuple[Corpus, int]]) -> bool:
    return len({frozenset(corpus.labels[i]) for corpus, i in where}) == 1
