"""Measures of calibration: agreement with scikit-learn and SciPy, and what chance does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from sklearn.metrics import brier_score_loss, log_loss

from lapwing.evaluate import calibration
from lapwing.evaluate.calibration import EDGES, Reliability, mean_deviation, tally, wilson
from lapwing.evaluate.confusion import Confusion


def said(n: int = 4000, categories: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, most of them near 0 and 1, and outcomes that keep to them."""
    rng = np.random.default_rng(seed)
    proba = 1.0 / (1.0 + np.exp(-rng.normal(-2.0, 3.0, (n, categories))))
    return rng.random((n, categories)) < proba, proba


def test_losses_are_those_of_scikit_learn() -> None:
    truth, proba = said()
    pooled, parts = calibration(truth, proba)
    for k, one in enumerate(parts):
        share = np.full(len(truth), truth[:, k].mean())
        assert one.log_loss == pytest.approx(log_loss(truth[:, k], proba[:, k]))
        assert one.brier == pytest.approx(brier_score_loss(truth[:, k], proba[:, k]))
        assert one.base_log_loss == pytest.approx(log_loss(truth[:, k], share))
        assert one.base_brier == pytest.approx(brier_score_loss(truth[:, k], share))
    assert pooled.log_loss == pytest.approx(sum(one.log_loss for one in parts))
    total = sum(one.base_log_loss for one in parts)
    assert pooled.relative_log_loss == pytest.approx(sum(one.log_loss for one in parts) / total)


def test_exclusive_classes_have_the_loss_of_the_right_one() -> None:
    rng = np.random.default_rng(1)
    proba = rng.dirichlet([0.3, 0.5, 0.2], 2000)
    right = np.array([rng.choice(3, p=row) for row in proba])
    truth = right[:, None] == np.arange(3)
    pooled, _ = calibration(truth, proba, exclusive=True)
    shares = np.tile(truth.mean(axis=0), (2000, 1))
    assert pooled.log_loss == pytest.approx(log_loss(right, proba))
    assert pooled.base_log_loss == pytest.approx(log_loss(right, shares))
    assert pooled.brier == pytest.approx(np.mean(((proba - truth) ** 2).sum(axis=1)))
    nowhere = np.vstack([truth, np.zeros((5, 3), dtype=bool)])  # documents of none of the classes
    more, _ = calibration(nowhere, np.vstack([proba, proba[:5]]), exclusive=True)
    assert more.log_loss == pytest.approx(pooled.log_loss)


def test_certain_and_wrong_is_finite_and_dear() -> None:
    result, _ = calibration(np.array([[True], [False]]), np.array([[0.0], [1.0]]))
    assert 30.0 < result.log_loss < 40.0
    assert result.brier == 1.0
    assert result.error == 1.0


@pytest.mark.parametrize(("members", "n"), [(0, 5), (3, 7), (7, 7), (40, 1000), (999, 1000)])
def test_bands_are_wilsons(members: int, n: int) -> None:
    theirs = binomtest(members, n).proportion_ci(method="wilson")
    assert wilson(members / n, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (7, 0.5), (10, 0.1), (1000, 1e-4), (500, 0.997), (40, 0.25)])
def test_the_mean_deviation_of_a_binomial(n: int, p: float) -> None:
    k = np.arange(n + 1)
    assert mean_deviation(n, p) == pytest.approx(float(np.sum(binom.pmf(k, n, p) * np.abs(k - n * p))), rel=1e-9)


def test_bins_hold_every_probability_once() -> None:
    edges = np.array(EDGES)[:, None]
    result, _ = calibration(np.zeros_like(edges, dtype=bool), edges)
    assert [one.documents for one in result.reliability()] == [1] * 9 + [2]  # 1 is in the last
    assert [one.low for one in result.reliability()] == list(EDGES[:-1])


def test_a_tally_is_the_same_however_many_categories_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, proba = said(500, 7)
    whole = tally(proba, truth)
    monkeypatch.setitem(tally.__globals__, "HELD", 1100)
    assert np.array_equal(tally(proba, truth), whole)


def test_tallies_of_parts_add_up() -> None:
    truth, proba = said(500)
    whole = tally(proba, truth)
    parts = tally(proba[:123], truth[:123]) + tally(proba[123:], truth[123:])
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


def test_chance_is_what_probabilities_without_fault_show() -> None:
    """The mean error over draws of the outcomes, and the share of draws beyond the limit."""
    _, proba = said(1500, 2, seed=3)
    rng = np.random.default_rng(4)
    drawn = []
    for _ in range(2000):
        counts = tally(proba, rng.random(proba.shape) < proba)
        drawn.append(Reliability.pooled(counts, exclusive=False).error)
    mean, limit = calibration(proba > 2, proba)[0].chance()
    assert mean == pytest.approx(np.mean(drawn), rel=0.03)
    assert 0.025 < np.mean(np.array(drawn) > limit) < 0.075


def test_probabilities_that_are_too_sure_are_told_from_those_that_are_not() -> None:
    truth, proba = said(6000)
    honest, _ = calibration(truth, proba)
    odds = np.log(proba / (1 - proba))
    boasting, _ = calibration(truth, 1 / (1 + np.exp(-2.0 * odds)))
    assert honest.error < honest.chance()[1]
    assert boasting.error > 3 * boasting.chance()[1]
    assert boasting.relative_log_loss > honest.relative_log_loss
    for one in honest.reliability():
        width = one.band[1] - one.band[0]
        assert one.band[0] - width < one.probability < one.band[1] + width


def test_in_words() -> None:
    proba = np.array([0.95] * 8 + [0.2] * 4)[:, None]
    truth = np.array([1, 1, 1, 1, 1, 1, 0, 0] + [0] * 4, dtype=bool)[:, None]
    words = calibration(truth, proba)[0].sentence()
    assert words == "of the 8 given 90 to 99 %, 75.0 % were in the category (95 % band 40.9 to 92.9)"
    assert calibration(truth[8:], proba[8:])[0].sentence() == "none was given more than 50 %"


def test_a_category_that_does_not_occur_has_no_relative_loss() -> None:
    result, _ = calibration(np.zeros((3, 1), dtype=bool), np.full((3, 1), 0.25))
    assert math.isnan(result.relative_log_loss)
    assert result.log_loss == pytest.approx(-math.log(0.75))


def test_confusion() -> None:
    result = Confusion.of(("a", "b", "c"), np.array([0, 0, 1, 2, 2, 2, 2]), np.array([0, 1, 1, 0, 0, 1, 2]))
    assert result.matrix().tolist() == [[1, 1, 0], [0, 1, 0], [2, 1, 1]]
    assert result.pairs(2) == [("c", "a", 2), ("a", "b", 1)]
    assert result.to_dict()["pairs"][-1] == {"true": "c", "chosen": "b", "documents": 1}
    many = Confusion.of(tuple(range(100)), np.array([3, 4]), np.array([4, 4]))
    assert many.to_dict()["matrix"] is None
    assert many.pairs() == [(3, 4, 1)]
