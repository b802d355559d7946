"""Learning curves: what they are fitted to and judged by."""

from __future__ import annotations

import numpy as np

from lapwing.corpus import Corpus
from lapwing.training import TrainSettings
from lapwing.training.learning_curve import learning_curve

QUICK = TrainSettings(variance=10.0, calibrate=False)


def corpus(count: int) -> Corpus:
    texts = [f"{'wheat' if i % 2 else 'oil'} word{i}" for i in range(count)]
    labels = [("grain" if i % 2 else "energy",) for i in range(count)]
    return Corpus("made", "text", texts, labels, [str(i) for i in range(count)], True, [""] * count, np.ones(count))


def test_without_a_test_part_a_fifth_is_kept_apart() -> None:
    result = learning_curve(corpus(128), QUICK)
    assert result.judged_by == 26  # 13 of 64 portions
    assert [point.documents for point in result.points] == [8, 14, 26, 52, 102]
    assert result.points[-1].macro_f1 == 1.0
    assert result.twice is not None


def test_judged_by_the_documents_given() -> None:
    result = learning_curve(corpus(64), QUICK, test=corpus(10), shares=[0.25, 1.0])
    assert (result.judged_by, [point.documents for point in result.points]) == (10, [16, 64])
    assert result.twice is None
