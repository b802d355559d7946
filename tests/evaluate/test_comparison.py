"""Two models side by side: every changed word is found, and intervals hold the difference as often as they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from model.build import model as build_model
from scipy.stats import binomtest

import lapwing
from lapwing.evaluate.comparison import Judged, bootstrap, changed_words, mcnemar
from lapwing.model import LinearModel

WEIGHTS = [[0.0, 1.0, -2.0, 3.0, 0.5], [0.0, 0.0, 1.0, -1.0, 0.0]]


def built() -> LinearModel:
    return build_model(WEIGHTS, [0.0, -1.0], classes=("grain", "oil"))


def with_weights(model: LinearModel, changes: dict[tuple[int, int], float]) -> LinearModel:
    weights = model.weights.tolil()
    for (row, column), value in changes.items():
        weights[row, column] = value
    return replace(model, weights=sp.csr_matrix(weights), calibration=None)


def test_every_changed_word_is_found() -> None:
    before = replace(built(), calibration=None)
    dense = before.weights.toarray()
    (k, lost), *_ = np.argwhere(dense != 0.0).tolist()
    gained = int(np.flatnonzero(dense[k] == 0.0)[0])
    turned, moved = (int(j) for j in np.flatnonzero(dense[k])[[-1, -2]])
    after = with_weights(
        before, {(k, lost): 0.0, (k, gained): 0.75, (k, turned): -dense[k, turned], (k, moved): 2 * dense[k, moved]}
    )
    names = before.feature_names
    for one in changed_words(before, after):
        if one.category != before.categories[k]:
            assert not one.changed
            assert not one.moved
            continue
        assert one.gained == [(names[gained], 0.0, 0.75)]
        assert one.lost == [(names[lost], dense[k, lost], 0.0)]
        assert one.turned == [(names[turned], dense[k, turned], -dense[k, turned])]
        assert one.moved == [(names[moved], dense[k, moved], 2 * dense[k, moved])]
        assert one.kept == (np.count_nonzero(dense[k]), np.count_nonzero(dense[k]))


def test_a_model_against_itself() -> None:
    model = built()
    result = lapwing.compare(model, model)
    assert not any(one.changed or one.moved for one in result.words)
    assert result.only_a == result.only_b == []


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (3, 9), (20, 20), (1, 40)])
def test_mcnemar_is_a_test_of_one_half(only_a: int, only_b: int) -> None:
    expected = binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert mcnemar(only_a, only_b) == pytest.approx(expected, rel=1e-12)


def drawn(n: int, seed: int) -> tuple[Judged, Judged]:
    """Two models of three categories on documents drawn at random: the second sees more of what decides the labels."""
    generator = np.random.default_rng(seed)
    signal = generator.standard_normal((n, 3)) * 2.0 - 1.5
    truth = generator.random((n, 3)) < 1.0 / (1.0 + np.exp(-signal))
    judged = []
    for noise in (1.5, 0.7):
        proba = 1.0 / (1.0 + np.exp(-(signal + noise * generator.standard_normal((n, 3)))))
        judged.append(Judged(proba, proba > 0.5, truth, False))
    return judged[0], judged[1]


def test_intervals_hold_the_difference_as_often_as_they_say() -> None:
    population = bootstrap(*drawn(200_000, 0), resamples=2)[0]
    repeats, held = 300, dict.fromkeys(population, 0)
    for seed in range(repeats):
        result, _ = bootstrap(*drawn(300, 1 + seed), resamples=200, level=0.9, seed=seed)
        for name, one in result.items():
            held[name] += one.low <= population[name].difference <= one.high
    # 90 % is promised; 3.5 standard deviations of a share of 300, and what the bootstrap itself lacks at n = 300.
    for name, times in held.items():
        assert 0.82 <= times / repeats <= 0.97, name


def test_measures_are_those_of_the_documents() -> None:
    a, b = drawn(500, 7)
    result, _ = bootstrap(a, b, resamples=50)
    tp, size = np.sum(a.truth & a.chosen, axis=0), a.truth.sum(axis=0) + a.chosen.sum(axis=0)
    assert result["macro_f1"].a == pytest.approx(np.mean(2 * tp / size))
    assert result["micro_f1"].a == pytest.approx(2 * tp.sum() / size.sum())
    expected = -np.where(b.truth, np.log(b.proba), np.log1p(-b.proba)).sum(axis=1).mean()
    assert result["log_loss"].b == pytest.approx(expected)
