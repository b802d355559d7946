"""Sets and sure decisions: known answers, agreement with MAPIE, and that what is promised is kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin

from lapwing.errors import InputError, SettingsError
from lapwing.model.conformal import MOST, Conformal, nonconformities, precision_curve


def exclusive(n: int, classes: int, rng: np.random.Generator, honest: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and the class of each document, drawn from them or, dishonestly, from flatter ones."""
    proba = rng.dirichlet(np.full(classes, 0.3), n)
    said = proba if honest else proba**3 / (proba**3).sum(axis=1, keepdims=True)
    drawn = (rng.random((n, 1)) > np.cumsum(proba, axis=1)).sum(axis=1).clip(max=classes - 1)
    return said, drawn[:, None] == np.arange(classes)


def several(n: int, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are too sure, and label sets."""
    odds = rng.normal(-2.0, 2.0, (n, classes))
    return 1 / (1 + np.exp(-1.7 * odds)), rng.random((n, classes)) < 1 / (1 + np.exp(-odds))


def test_by_hand() -> None:
    proba = np.array([[0.7, 0.3], [0.2, 0.8], [0.9, 0.1], [0.4, 0.6]])
    truth = np.array([[1, 0], [0, 1], [0, 1], [0, 1]], dtype=bool)
    result = Conformal.of(proba, truth, True, "held-out")
    np.testing.assert_allclose(result.nonconformity, [0.2, 0.3, 0.4, 0.9])
    assert result.level(0.6) == pytest.approx(0.4)  # the third of five
    assert result.level(0.8) == pytest.approx(0.9)
    assert result.level(0.81) == math.inf
    assert result.sets(np.array([[0.65, 0.35], [0.5, 0.5]]), 0.6).tolist() == [[True, False], [False, False]]
    assert result.sets(np.array([[1.0, 0.0]]), 0.9).all()  # too few documents to leave anything out


def test_the_label_that_is_least_probable_counts_and_no_label_is_always_held() -> None:
    proba = np.array([[0.9, 0.2, 0.4], [0.9, 0.9, 0.9]])
    truth = np.array([[1, 0, 1], [0, 0, 0]], dtype=bool)
    np.testing.assert_allclose(nonconformities(proba, truth), [0.6, -1.0])


class Said(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are its input."""

    def fit(self, X: Any, y: Any) -> Said:
        self.classes_ = np.arange(X.shape[1])
        self.is_fitted_ = True
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(X)

    def predict(self, X: Any) -> np.ndarray:
        return np.argmax(X, axis=1)


@pytest.mark.parametrize("coverage", [0.6, 0.8, 0.9, 0.97])
def test_the_sets_are_those_of_mapie(coverage: float) -> None:
    mapie = pytest.importorskip("mapie.classification", reason="MAPIE is not installed")
    rng = np.random.default_rng(5)
    (held_out, truth), (new, _) = exclusive(700, 6, rng), exclusive(400, 6, rng)
    theirs = mapie.SplitConformalClassifier(
        Said().fit(held_out, truth), confidence_level=coverage, conformity_score="lac", prefit=True
    )
    theirs.conformalize(held_out, np.argmax(truth, axis=1))
    _, sets = theirs.predict_set(new)
    ours = Conformal.of(held_out, truth, True, "held-out").sets(new, coverage)
    np.testing.assert_array_equal(ours, sets[:, :, 0])


@pytest.mark.parametrize("kind", ["exclusive", "dishonest", "several"])
@pytest.mark.parametrize(("n", "coverage"), [(39, 0.9), (200, 0.8)])
def test_coverage_is_kept_in_expectation(kind: str, n: int, coverage: float) -> None:
    """Over 400 draws of held-out and new documents; the mean lies between 1−α and 1−α + 1/(n+1), within its error."""
    rng = np.random.default_rng(6)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        return several(count, 4, rng) if kind == "several" else exclusive(count, 5, rng, kind == "exclusive")

    kept = []
    for _ in range(400):
        conformal = Conformal.of(*draw(n), kind != "several", "held-out")
        proba, truth = draw(100)
        kept.append(np.mean((~truth | conformal.sets(proba, coverage)).all(axis=1)))
    error = 3 * np.std(kept) / math.sqrt(len(kept))
    assert coverage - error <= np.mean(kept) <= coverage + 1 / (n + 1) + error


@pytest.mark.parametrize("many", [False, True])
def test_precision_is_kept_with_the_promised_confidence(many: bool) -> None:
    """Draws in which the true precision above the threshold is too low are no more than a tenth."""
    rng = np.random.default_rng(7)
    populations = several(100_000, 3, rng) if many else exclusive(100_000, 5, rng, honest=False)
    failed, answered = [], []
    for _ in range(150):
        places = rng.choice(100_000, 8000, replace=False)
        conformal = Conformal.of(populations[0][places], populations[1][places], not many, "held-out")
        chosen = conformal.sure(populations[0], 0.85)
        right = chosen & populations[1]
        for k in range(3) if many else [slice(None)]:
            taken = chosen[:, k].sum()
            answered.append(taken)
            failed.append(taken > 0 and right[:, k].sum() < 0.85 * taken)
    assert np.mean(failed) <= 0.1
    assert np.mean(answered) > 0.02 * 100_000  # and it answers


def test_thresholds_are_the_largest_sure_rank() -> None:
    proba = np.linspace(1.0, 0.0, 2001)
    right = np.arange(2001) < 600
    right[::50] = False  # two in a hundred wrong, then all
    thresholds, taken, wrong = precision_curve(proba, right)
    assert (np.diff(taken) > 0).all()
    assert all(wrong[k] == (~right[: taken[k]]).sum() for k in range(len(taken)))
    assert all((proba > thresholds[k]).sum() == taken[k] for k in range(len(taken)))
    conformal = Conformal.of(proba[:, None], right[:, None], False, "held-out")
    (result,) = conformal.precision_thresholds(0.9, 0.9)
    chosen = proba > result
    assert binom.cdf((~right[chosen]).sum(), chosen.sum(), 0.1) < 0.1
    assert 200 < chosen.sum() < 650
    assert conformal.precision_thresholds(0.99, 0.9)[0] == math.inf
    assert not conformal.sure(proba[:, None], 0.99).any()


def test_equal_probabilities_stay_together() -> None:
    thresholds, taken, _ = precision_curve(np.repeat([0.9, 0.1], 50), np.repeat([True, False], 50))
    assert taken.tolist() == [50, 50][: len(taken)]
    assert set(thresholds) == {0.1}


def test_a_sample_is_kept_of_many_documents() -> None:
    rng = np.random.default_rng(8)
    proba, truth = exclusive(MOST + 5000, 3, rng)
    result = Conformal.of(proba, truth, True, "folds")
    assert (len(result.nonconformity), result.documents) == (MOST, MOST + 5000)
    again = Conformal.of(proba, truth, True, "folds")
    np.testing.assert_array_equal(result.nonconformity, again.nonconformity)
    assert result.level(0.9) == pytest.approx(np.quantile(nonconformities(proba, truth), 0.9), abs=0.01)


def test_what_cannot_be_promised_is_refused() -> None:
    rng = np.random.default_rng(9)
    result = Conformal.of(*exclusive(50, 3, rng), True, "held-out")
    for coverage in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(SettingsError, match="coverage must be between 0 and 1"):
            result.level(coverage)
    with pytest.raises(SettingsError, match="precision must be at least"):
        result.precision_thresholds(0.3)
    with pytest.raises(InputError, match="source must be one of"):
        Conformal.of(*exclusive(50, 3, rng), True, "elsewhere")
    with pytest.raises(InputError, match="expected documents"):
        Conformal.of(np.zeros((0, 3)), np.zeros((0, 3), dtype=bool), True, "folds")
