"""Stability under halves of the data: true features stay, false ones no more often than the bound says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.errors import InputError, SettingsError
from lapwing.estimators import MAPClassifier
from lapwing.selection import SCORES
from lapwing.selection.features import SHARES
from lapwing.selection.stability import SAMPLES, Stability, stability
from lapwing.stats.priors import Gaussian, Laplace


def simulated(rng: np.random.Generator, n: int = 300, d: int = 80, true: int = 5) -> tuple[sp.csr_matrix, np.ndarray]:
    X = rng.normal(size=(n, d))
    score = X[:, :true] @ np.array([2.0, -2.0, 1.5, -1.5, 1.5])[:true]
    return sp.csr_matrix(X), np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1.0, -1.0)


def test_true_features_stay_and_false_ones_keep_to_the_bound() -> None:
    rng = np.random.default_rng(0)
    false, bound, rows = [], [], []
    for turn in range(12):
        X, y = simulated(rng)
        result = stability(X, y, Laplace(), 0.02, halves=40, seed=turn)
        chosen = result.share >= 0.9
        rows.append(chosen[:5].mean())
        false.append(chosen[5:].sum())
        bound.append(result.expected_false(0.9))
    assert np.mean(rows) > 0.9
    assert np.mean(false) <= np.mean(bound)
    assert np.mean(bound) < 8


def test_counts_and_the_bound() -> None:
    result = Stability(np.array([1.0, 0.5, 0.5, 0.0]), 2.0, 10)
    assert result.expected_false(0.75) == pytest.approx(4.0 / (0.5 * 4))
    with pytest.raises(SettingsError, match="threshold must be over"):
        result.expected_false(0.5)


def test_shares_are_of_all_halves_whatever_the_threads() -> None:
    rng = np.random.default_rng(1)
    X, y = simulated(rng, 120, 20)
    one, two = (stability(X, y, Laplace(), 0.1, halves=9, n_jobs=jobs) for jobs in (1, 2))
    assert one.halves == 10
    np.testing.assert_array_equal(one.share, two.share)
    np.testing.assert_allclose(one.share * 10, (one.share * 10).round())
    assert one.kept == pytest.approx(one.share.sum())
    assert stability(X, y, Gaussian(), 0.1, halves=2).share.min() == 1.0  # ridge keeps every feature


def test_rare_labels_are_in_both_halves() -> None:
    rng = np.random.default_rng(2)
    X, y = simulated(rng, 60, 10)
    y[:] = -1.0
    y[:2] = 1.0
    stability(X, y, Laplace(), 1.0, halves=4)
    y[1] = -1.0
    with pytest.raises(InputError, match="two or more documents of either label"):
        stability(X, y, Laplace(), 1.0, halves=4)
    with pytest.raises(SettingsError, match="halves must be 2 or more"):
        stability(X, y, Laplace(), 1.0, halves=1)


@pytest.mark.parametrize("score", ["stability", "bolasso"])
def test_a_share_of_the_samples_selects_the_true_features(score: str) -> None:
    """Few false ones at share 1, where a lasso by itself keeps many; and what is kept is fitted to itself alone."""
    X, y = simulated(np.random.default_rng(3), 400, 60)
    plain = MAPClassifier("laplace", variance="norm").fit(X, y)
    stable = MAPClassifier("laplace", variance="norm", select_features=1.0, feature_score=score).fit(X, y)
    kept, before = set(stable.coef_.indices.tolist()), set(plain.coef_.indices.tolist())
    assert {0, 1} <= kept <= set(SCORES[score](X, y).argsort()[-len(kept) :].tolist())
    assert len(kept - set(range(5))) < len(before - set(range(5))) / 2
    some = MAPClassifier("laplace", variance="norm", select_features=3, feature_score=score).fit(X, y)
    assert some.coef_.nnz <= 3


def test_scores_are_shares_and_folds_are_weights() -> None:
    X, y = simulated(np.random.default_rng(4), 100, 10)
    for score in SHARES:
        whole = SCORES[score](X, y)
        np.testing.assert_allclose(whole * SAMPLES, (whole * SAMPLES).round(), atol=1e-9)
        weight = np.where(np.arange(100) < 60, 1.0, 0.0)
        np.testing.assert_array_equal(SCORES[score](X, y, sample_weight=weight), SCORES[score](X[:60], y[:60]))
    assert not SCORES["bolasso"](X, np.where(np.arange(100) == 0, 1.0, -1.0)).any()


def test_a_share_is_for_these_scores_only() -> None:
    X, y = simulated(np.random.default_rng(4), 100, 10)
    with pytest.raises(SettingsError, match="select_features must be a whole number"):
        MAPClassifier(select_features=0.9).fit(X, y)
    with pytest.raises(SettingsError, match=r"over 0\.5"):
        MAPClassifier(select_features=0.2, feature_score="bolasso").fit(X, y)
