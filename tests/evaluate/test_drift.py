"""What moved: alarms at the stated rate, shares within their intervals, and scores as without the document."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from model.build import text_model

import lapwing
from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate.drift import holm, prevalences
from lapwing.model.reference import ScoreReference
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import ElasticNet, Laplace, Prior
from lapwing.training.left_out import left_out_scores


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_scores_that_did_not_move_raise_few_alarms() -> None:
    generator = np.random.default_rng(0)
    alarms, moved = 0, 0
    for _ in range(300):
        then, now = generator.standard_normal((400, 1)), generator.standard_normal((300, 1))
        reference = ScoreReference.of([0], then, np.array([0.5]))
        alarms += reference.test(0, now[:, 0], 5.0)[1] <= 0.05
        moved += reference.test(0, 1.5 * now[:, 0] + 0.4, 5.0)[1] <= 0.05
    assert alarms <= 24  # 15 are expected at most; three standard deviations more
    assert moved >= 290


@pytest.mark.parametrize("exclusive", [True, False])
def test_shares_are_within_their_intervals(exclusive: bool) -> None:
    """Documents drawn with a class three times as frequent, and the probabilities that were right before."""
    generator = np.random.default_rng(1)
    before, now = np.array([0.1, 0.3, 0.6]), np.array([0.3, 0.3 * 7 / 9, 0.6 * 7 / 9])
    held = np.zeros(3)
    for _ in range(200):
        number = generator.choice(3, size=400, p=now)
        x = generator.standard_normal((400, 2)) + np.array([[1.5, 0.0], [-1.0, 0.5], [0.0, -1.0]])[number]
        centres = np.array([[1.5, 0.0], [-1.0, 0.5], [0.0, -1.0]])
        density = np.exp(-0.5 * ((x[:, None] - centres) ** 2).sum(axis=2)) * before
        proba = density / density.sum(axis=1, keepdims=True)
        result = prevalences(proba, before, exclusive, 10**9, 0.95)
        held += (result[:, 1] <= now) & (now <= result[:, 2])
    # Of sets of labels each category is by itself, and the others' must stay in proportion: so they do for the first.
    assert (held[: 3 if exclusive else 1] >= 0.9 * 200).all(), held


@pytest.mark.parametrize("prior", [Laplace(), ElasticNet()], ids=lambda prior: prior.name)
def test_scores_are_as_without_the_document(prior: Prior) -> None:
    generator = np.random.default_rng(2)
    X = sp.random(120, 30, density=0.3, random_state=3, format="csr")
    y = np.where(X[:, :5].sum(axis=1).A1 + 0.3 * generator.standard_normal(120) > 0.75, 1.0, -1.0)
    arrays, weight, problem = prior.compile(20.0, 30), np.ones(120), Problem(X)
    whole = newton.fit(problem, y, weight, arrays, variance=20.0, tol=1e-9)
    sample = np.arange(0, 120, 4)
    result = left_out_scores(X, y, weight, arrays, whole.weights, "logit", sample)
    assert result is not None
    exact = []
    for i in sample.tolist():
        without = weight.copy()
        without[i] = 0.0
        beta = newton.fit(problem, y, without, arrays, variance=20.0, tol=1e-9).weights
        exact.append((X[[i]] @ beta[:-1])[0] + beta[-1])
    seen = X[sample] @ whole.weights[:-1] + whole.weights[-1]
    assert np.abs(result - exact).mean() < 0.15 * np.abs(seen - exact).mean()


def test_a_model_without_scores_tells_the_rest() -> None:
    model = text_model()
    corpus = Corpus("new", "text", ["corn of mars"] * 40, [()] * 40, list(map(str, range(40))), False, [""] * 40,
                    np.ones(40))  # fmt: skip
    result = lapwing.drift(model, corpus)
    assert result.alarms == []
    assert [one.p_value for one in result.categories] == [None] * len(model.categories)
    assert result.unknown == pytest.approx(2 / 3)


def test_a_rate_is_between_0_and_1() -> None:
    with pytest.raises(InputError, match="rate must be between 0 and 1"):
        lapwing.drift(text_model(), Corpus("new", "text", ["corn"], [()], ["1"], False, [""], np.ones(1)), rate=0.0)
