"""Risk and coverage: by hand, and in blocks of documents or categories."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.evaluate.selective import RATES, Selective
from lapwing.model.conformal import Conformal


def test_by_hand() -> None:
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.2, 0.8]])
    truth = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], dtype=bool)
    result = Selective(4, True, None)
    result.add(slice(None), proba, truth, proba == proba.max(axis=1, keepdims=True))
    assert result.risk_coverage() == [(0.25, 0.0), (0.5, 0.5), (0.75, 1 / 3), (1.0, 0.5)]
    assert result.area() == pytest.approx((0 + 0.5 + 1 / 3 + 0.5) / 4)
    assert result.promises() == []


@pytest.mark.parametrize("exclusive", [True, False])
def test_blocks_change_nothing(exclusive: bool) -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.5] * 6, 80) if exclusive else rng.random((80, 6))
    truth = rng.random((80, 6)) < proba
    chosen = proba == proba.max(axis=1, keepdims=True) if exclusive else proba > 0.5
    conformal = Conformal.of(proba, truth, exclusive, "held-out")
    whole, parts = Selective(80, exclusive, conformal), Selective(80, exclusive, conformal)
    whole.add(slice(None), proba, truth, chosen)
    if exclusive:
        for rows in (slice(0, 33), slice(33, 80)):
            parts.add(rows, proba[rows], truth[rows], chosen[rows])
    else:
        for columns in (slice(0, 2), slice(2, 6)):
            parts.add(slice(None), proba[:, columns], truth[:, columns], chosen[:, columns])
    np.testing.assert_allclose(parts.surety, whole.surety)
    assert parts.to_dict() == whole.to_dict()
    for rate, result in zip(RATES, whole.promises(), strict=True):
        sets = conformal.sets(proba, rate)
        known = truth.any(axis=1) if exclusive else np.ones(80, dtype=bool)
        assert result["promised"] == rate
        assert result["kept"] == pytest.approx(np.mean((~truth | sets).all(axis=1)[known]))
        assert result["mean_size"] == pytest.approx(sets.sum(axis=1)[known].mean())
        assert result["kept"] >= rate - 0.02  # of the documents it came from
