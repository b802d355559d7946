"""How good a model becomes with more labelled documents: F1 and log loss against their number.

Training documents are dealt into portions of about equal labels; fits to the first of them, nested, are judged by one
and the same set of documents that none has seen. What twice as many would bring is read off a power law through the
last points: an error e(n) = a·n^-b falls by the factor 2^-b with every doubling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lapwing.corpus import Corpus
from lapwing.errors import InputError, SettingsError
from lapwing.evaluate import evaluate
from lapwing.evaluate.documents import blocks_of
from lapwing.training import Progress, TrainSettings, learn, portions

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
PORTIONS = 64
HELD_OUT = 0.2  # share of the documents to judge by, where there is no test part
LAST = 3  # points that the power law is put through


@dataclass(frozen=True)
class Point:
    """A fit to so many documents, judged by those that it has not seen. log_loss is relative to that of base rates."""

    documents: int
    macro_f1: float
    micro_f1: float
    log_loss: float
    accuracy: float | None


@dataclass(frozen=True)
class LearningCurve:
    """twice: what is to be expected of twice as many documents; None where points are too few to tell."""

    points: tuple[Point, ...]
    judged_by: int
    twice: Point | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def learning_curve(
    corpus: Corpus,
    settings: TrainSettings | None = None,
    *,
    test: Corpus | None = None,
    shares: Sequence[float] = SHARES,
    progress: Progress | None = None,
) -> LearningCurve:
    """Train on growing shares of a corpus; `test` are the documents to judge by, a fifth of the corpus by default."""
    settings = settings or TrainSettings()
    if not shares or any(not 0.0 < share <= 1.0 for share in shares):
        raise SettingsError(f"shares must be from 0 to 1, got {tuple(shares)}")
    dealt = portions(corpus, PORTIONS, replace(settings, fold_by="chance"))
    turn = np.where(dealt.fold < 0, dealt.portions, dealt.fold)
    if test is None:
        held_out = turn < max(round(HELD_OUT * dealt.portions), 1)
        test, corpus = (corpus.select(np.flatnonzero(part)) for part in (held_out, ~held_out))
        turn = turn[~held_out]
        turn = turn - min(turn, default=0)
    if not len(corpus) or not len(test):
        raise InputError("a learning curve needs documents to train on and others to judge by; there are too few")
    classes = sorted({label for labels in corpus.labels for label in labels})
    points: list[Point] = []
    for share in sorted(set(shares)):
        part = corpus.select(np.flatnonzero(turn < max(share * (turn.max(initial=0) + 1), 1.0)))
        if points and len(part) == points[-1].documents:
            continue
        model = learn(part, settings, classes=classes).model
        points.append(_judged(model, len(part), test))
        if progress is not None:
            progress("fitting shares of the documents", 1, len(set(shares)))
    return LearningCurve(tuple(points), len(test), _twice(points))


def _judged(model: Any, documents: int, test: Corpus) -> Point:
    judged = evaluate(model, blocks_of(test, model))
    averages, known = judged.averages(), judged.calibration().to_dict()
    return Point(
        documents,
        averages["macro"]["f1"],
        averages["micro"]["f1"],
        float(known["relative_log_loss"]),
        judged.accuracy() if judged.exclusive else None,
    )


def _twice(points: Sequence[Point]) -> Point | None:
    last = points[-LAST:]
    if len(last) < LAST:
        return None
    n = np.log([point.documents for point in last])

    def falls(errors: Sequence[float]) -> float:
        """What the last error comes to with twice as many documents: never more than it is."""
        known = np.log(np.maximum(errors, 1e-6))
        slope = float(np.polyfit(n, known, 1)[0])
        return float(errors[-1]) * 2.0 ** min(slope, 0.0)

    now = last[-1]
    accuracy = None
    if now.accuracy is not None:
        accuracy = 1.0 - falls([1.0 - float(point.accuracy or 0.0) for point in last])
    return replace(
        now,
        documents=2 * now.documents,
        macro_f1=1.0 - falls([1.0 - point.macro_f1 for point in last]),
        micro_f1=1.0 - falls([1.0 - point.micro_f1 for point in last]),
        log_loss=falls([point.log_loss for point in last]),
        accuracy=accuracy,
    )
