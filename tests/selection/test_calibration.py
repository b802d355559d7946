"""Lines and couplings from scores whose right answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from lapwing.model.calibration import Coupling
from lapwing.selection.calibration import (
    COMMON,
    OWN,
    Line,
    columns,
    common_line,
    fit_coupling,
    fit_line,
    fit_temperature,
    own_lines,
)
from lapwing.stats.links import LINKS, softmax


def drawn(slope: float, offset: float, link: str, n: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n) * 2.0
    return scores, np.where(rng.random(n) < LINKS[link].probability(slope * scores + offset), 1.0, -1.0)


@pytest.mark.parametrize("link", LINKS)
def test_the_line_that_drew_the_labels_is_found(link: str) -> None:
    scores, y = drawn(0.6, -0.8, link)
    line, _ = common_line(columns(scores[:, None], y[:, None], np.ones((len(y), 1))), LINKS[link])
    assert line.slope == pytest.approx(0.6, abs=0.05)
    assert line.offset == pytest.approx(-0.8, abs=0.08)


@pytest.mark.parametrize("link", LINKS)
def test_it_is_the_minimum_that_another_program_finds(link: str) -> None:
    scores, y = drawn(1.5, 0.5, link, n=60)
    weight = np.random.default_rng(3).random(60)
    around = Line(1.2, -0.3)

    def value(at: np.ndarray) -> float:
        away = (at - np.array(around)) / np.array(OWN)
        return float(weight @ LINKS[link].loss(y * (at[0] * scores + at[1]), y) + 0.5 * away @ away)

    best = minimize(value, np.array(around), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    line, loss = fit_line(scores, y, weight, LINKS[link], around, OWN)
    np.testing.assert_allclose(line, best.x, atol=1e-5)
    assert loss == pytest.approx(float(weight @ LINKS[link].loss(y * (line.slope * scores + line.offset), y)))


def test_weights_are_repetitions_and_separable_scores_have_a_finite_line() -> None:
    scores, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    link = LINKS["logit"]
    twice = fit_line(np.repeat(scores, 2), np.repeat(y, 2), np.ones(8), link, Line(), COMMON)[0]
    np.testing.assert_allclose(fit_line(scores, y, np.full(4, 2.0), link, Line(), COMMON)[0], twice, atol=1e-9)
    assert np.isfinite(twice).all()
    assert twice.slope < 10.0


def test_a_rare_category_stays_with_the_others_and_a_frequent_one_goes_its_way() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(4000, 4))
    slopes = np.array([1.0, 1.0, 1.0, 2.0])
    y = np.where(rng.random(scores.shape) < 1.0 / (1.0 + np.exp(-slopes * scores)), 1.0, -1.0)
    weight = np.ones_like(y)
    weight[20:, 3] = 0.0  # twenty documents say that it is steeper
    mean, few = own_lines(columns(scores, y, weight), LINKS["logit"], Line())
    many = own_lines(columns(scores, y, np.ones_like(y)), LINKS["logit"], Line())[1]
    assert abs(few[3].slope - mean.slope) < 0.3
    assert many[3].slope == pytest.approx(2.0, abs=0.2)


def test_couplings_between_one_vs_rest_and_softmax_are_found() -> None:
    rng = np.random.default_rng(7)
    scores, link = rng.normal(size=(30_000, 5)) * 2.0, LINKS["logit"]
    for true in (Coupling(0.0, 1.0), Coupling(1.0, 0.0), Coupling(0.4, 0.7)):
        p = softmax(true.logits(scores, link))
        classes = (p.cumsum(axis=1) > rng.random(len(p))[:, None]).argmax(axis=1)
        got = fit_coupling(scores, classes, np.ones(len(p)), link)
        np.testing.assert_allclose(got, true, atol=0.06)
    p = softmax(0.5 * scores)
    classes = (p.cumsum(axis=1) > rng.random(len(p))[:, None]).argmax(axis=1)
    assert fit_temperature(scores, classes, np.ones(len(p))) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("link", LINKS)
def test_documents_of_one_score_are_as_good_as_one_of_their_weight(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    scores = np.round(rng.normal(-2.0, 1.5, (500, 4)), 1)
    scores[rng.random(scores.shape) < 0.7] = -3.0
    y = np.where(rng.random(scores.shape) < LINKS[link].probability(scores), 1.0, -1.0)
    weight = rng.integers(0, 3, scores.shape).astype(np.float64)
    line, loss = common_line(columns(scores, y, weight), LINKS[link])
    lines = own_lines(columns(scores, y, weight), LINKS[link], line)[1]
    some = np.flatnonzero(rng.random(len(scores)) < 0.5)
    fewer = own_lines(columns(scores, y, weight, some), LINKS[link], line)[1]
    monkeypatch.setattr("lapwing.selection.calibration.CROWD", 1)
    assert np.allclose(own_lines(columns(scores, y, weight, some), LINKS[link], line)[1], fewer, rtol=1e-6)
    together = common_line(columns(scores, y, weight), LINKS[link])
    assert np.allclose([*together[0], together[1]], [*line, loss], rtol=1e-6)
    assert np.allclose(own_lines(columns(scores, y, weight), LINKS[link], line)[1], lines, rtol=1e-6)


def test_the_threads_of_the_linear_algebra_change_no_bit() -> None:
    scores, y = drawn(0.7, -0.4, "logit")
    several = scores.reshape(-1, 2)
    classes, weight = (y[: len(several)] > 0.0).astype(int), np.ones(len(y))
    rows = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            line = fit_line(scores, y, weight, LINKS["logit"], Line(), COMMON)
            coupling = fit_coupling(several, classes, weight[: len(several)], LINKS["logit"])
            rows.append((line, coupling, fit_temperature(several, classes, weight[: len(several)])))
    assert rows[0] == rows[1]
