"""Greedy steps and exact optima over all n-grams, against enumeration of them."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lapwing.kernels.ngrams import sums
from lapwing.ngrams.solver import CHANGE, SHORTENED, ascend, exact, greedy, search
from lapwing.ngrams.space import NgramSpace, ngram_space
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.links import sigmoid
from lapwing.stats.objective import certify
from lapwing.stats.priors import Laplace
from lapwing.text import TextSettings
from ngrams.by_hand import corpora, enumerate_ngrams, explicit_matrix

WORDS = TextSettings.for_ngrams()
CHARS = TextSettings.for_ngrams(tokens="char")
LIMITS = st.fixed_dictionaries({"max_length": st.sampled_from([None, None, 1, 2, 3]), "min_support": st.integers(1, 2)})


class Case:
    """A corpus with labels and weights, its space, and every n-gram by name."""

    def __init__(self, documents: list[str], seed: int, chars: bool, limits: dict) -> None:
        rng = np.random.default_rng(seed)
        self.y = np.where(rng.random(len(documents)) < 0.5, 1.0, -1.0)
        self.weight = rng.integers(0, 3, len(documents)) + rng.random() * rng.integers(0, 2)
        features = enumerate_ngrams(documents, chars=chars, **limits)
        assume(bool(features) and self.weight.any())
        self.ngrams = {("" if chars else " ").join(ngram): rows for ngram, rows in features.items()}
        self.matrix = explicit_matrix(features, len(documents))
        self.space = ngram_space(documents, CHARS if chars else WORDS, **limits)
        self.rng = rng

    def name(self, number: int) -> str:
        return self.space.names(np.array([number]))[0]


CASES = st.builds(Case, corpora(least=2), st.integers(0, 10**6), st.booleans(), LIMITS)


@settings(max_examples=300, deadline=None)
@given(CASES, st.sampled_from([0.0, 0.3, 1.0, 2.5]))
def test_search_finds_all_above_the_floor(case: Case, floor: float) -> None:
    pull = case.rng.normal(size=len(case.y)).round(2)
    slopes = {name: sum(pull[i] for i in rows) for name, rows in case.ngrams.items()}
    classes, result = search(case.space, pull, floor)
    close = 1e-12  # sums taken in another order
    names = case.space.names(classes)
    for name, slope in zip(names, result, strict=True):
        assert slope == pytest.approx(slopes[name], abs=close)
    documents = {case.ngrams[name] for name in names}
    assert documents >= {case.ngrams[name] for name, slope in slopes.items() if abs(slope) > floor + close}
    assert not documents & {case.ngrams[name] for name, slope in slopes.items() if abs(slope) < floor - close}
    _, steepest = search(case.space, pull, floor, rising=True)
    largest = max(map(abs, slopes.values()))
    assert np.abs(steepest).max(initial=floor) == pytest.approx(max(largest, floor), abs=close)


@settings(max_examples=200, deadline=None)
@given(CASES)
def test_the_bound_never_underestimates(case: Case) -> None:
    """IBW08's theorem: no n-gram that begins with another has a steeper derivative than the other's bound."""
    pull = case.rng.normal(size=len(case.y))
    bound = {name: max(sums(np.array(sorted(rows), np.int32), pull)) for name, rows in case.ngrams.items()}
    for name, rows in case.ngrams.items():
        slope = abs(sum(pull[i] for i in rows))
        assert all(slope <= bound[shorter] + 1e-12 for shorter in bound if name.startswith(shorter))
    space = case.space
    for v in range(1, len(space.left)):  # and in the tree
        limit = max(sums(space.doc_at[space.left[v] : space.right[v]], pull))
        for u in range(v, space.after[v]):
            up, down = sums(space.doc_at[space.left[u] : space.right[u]], pull)
            assert max(abs(up - down), up, down) <= limit + 1e-12


@settings(max_examples=300, deadline=None)
@given(CASES)
def test_greedy_steps_are_those_of_enumeration(case: Case) -> None:
    steps = list(islice(ascend(case.space, case.y, case.weight, intercept_slope=1.0), 6))
    scores = None
    for step in steps:
        if scores is not None:
            pull = case.weight * case.y * sigmoid(-case.y * scores)
            slopes = {name: sum(pull[i] for i in sorted(rows)) for name, rows in case.ngrams.items()}
            best = max(map(abs, slopes.values()))
            chosen = case.name(step.chosen)
            assert abs(slopes[chosen]) == pytest.approx(best, rel=1e-10)
            level = [name for name, slope in slopes.items() if abs(slope) >= best * (1 - 1e-13)]
            shortest = min(case.space.shortest[step.chosen] for _ in level)
            assert all(_tokens(case.space, name) >= shortest for name in level)
            # The line search goes with the slope, and not beyond the minimum; a step goes part of the way.
            rows = sorted(case.ngrams[chosen])
            assert step.by * slopes[chosen] > 0.0
            after = scores[rows] + step.by / SHORTENED
            left = np.sum(case.weight[rows] * case.y[rows] * sigmoid(-case.y[rows] * after))
            assert -1e-9 <= left * np.sign(step.by) <= 0.1 * abs(slopes[chosen]) + 1e-12
        scores = step.scores


def _tokens(space: NgramSpace, name: str) -> int:
    return len(name) if space.settings.tokens == "char" else len(name.split())


@settings(max_examples=300, deadline=None)
@given(CASES, st.floats(-1.0, 2.5), st.sampled_from([None, 3.0]))
def test_exact_is_the_optimum_over_every_ngram(
    case: Case, log_variance: float, intercept_variance: float | None
) -> None:
    variance = 10.0**log_variance
    result = exact(case.space, case.y, case.weight, variance=variance, intercept_variance=intercept_variance, tol=1e-10)
    prior = Laplace().compile(variance, case.matrix.shape[1], intercept_variance)
    explicit = newton.fit(Problem(case.matrix), case.y, case.weight, prior, variance=variance, tol=1e-10)
    assert result.result.converged
    assert result.result.objective == pytest.approx(explicit.objective, rel=1e-8)
    # The same weights and the same dual point prove it on the matrix of all n-grams.
    column = {name: j for j, name in enumerate(case.ngrams)}
    weights = np.zeros(len(column) + 1)
    weights[[column[name] for name in case.space.names(result.classes)]] = result.result.weights[:-1]
    weights[-1] = result.result.weights[-1]
    proof = certify(case.matrix, case.y, prior, weights, result.result.dual, case.weight)
    assert proof.objective == pytest.approx(result.result.objective, rel=1e-10)
    assert proof.gap <= 1e-10 * proof.objective + 1e-12
    assert proof.kkt == pytest.approx(result.result.kkt, abs=1e-9)
    np.testing.assert_allclose(result.scores(case.space), case.matrix @ weights[:-1] + weights[-1], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(CASES, st.floats(-1.0, 2.0))
def test_a_free_intercept_is_certified_by_its_violations(case: Case, log_variance: float) -> None:
    assume(len(set(case.y[case.weight > 0])) == 2)
    variance = 10.0**log_variance
    result = exact(case.space, case.y, case.weight, variance=variance, intercept_variance=np.inf, tol=1e-9)
    prior = Laplace().compile(variance, case.matrix.shape[1], np.inf)
    explicit = newton.fit(Problem(case.matrix), case.y, case.weight, prior, variance=variance, tol=1e-9)
    assert np.isnan(result.result.gap)
    assert result.result.converged
    assert result.result.objective == pytest.approx(explicit.objective, rel=1e-7)


def test_a_free_intercept_whose_pull_adds_up_to_nothing_has_no_gap_either() -> None:
    space = ngram_space(["a", "", "b", "", "", "a"], WORDS)
    y, weight = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0]), np.array([1.0, 0.0, 2.0, 0.0, 0.0, 1.0])
    result = exact(space, y, weight, variance=10.0**0.375, intercept_variance=np.inf, tol=1e-9).result
    assert np.isnan(result.gap)
    assert result.converged


@settings(max_examples=40, deadline=None)
@given(CASES)
def test_a_start_changes_nothing(case: Case) -> None:
    strong = exact(case.space, case.y, case.weight, variance=0.5)
    cold, warm = (exact(case.space, case.y, case.weight, variance=20.0, tol=1e-9, start=s) for s in (None, strong))
    assert warm.result.objective == pytest.approx(cold.result.objective, rel=1e-8)


def test_greedy_stops_when_scores_settle_or_when_told() -> None:
    rng = np.random.default_rng(3)
    documents = [" ".join(rng.choice(list("abcdefgh"), 30)) for _ in range(60)]
    space = ngram_space(documents, WORDS, min_support=12)  # no n-gram tells a document from all others
    y = np.where(rng.random(60) < 0.4, 1.0, -1.0)
    settled = greedy(space, y, np.ones(60), variance=2.0)
    steps = islice(ascend(space, y, np.ones(60), intercept_slope=1.0, share=1.0), settled.result.rounds)
    changes = [step.change for step in steps]
    assert changes[-1] <= CHANGE < min(changes[:-1])
    assert settled.result.converged
    assert np.isnan(settled.result.gap)
    result = greedy(space, y, np.ones(60), variance=2.0, steps=7)
    assert result.result.rounds == 7
    assert len(result.classes) <= 7
    pull = y * sigmoid(-y * result.scores(space))
    assert result.result.kkt == pytest.approx(np.abs(search(space, pull, 0.0)[1]).max())
    # A document of weight 2 is the document twice, one of weight 0 is not there.
    weight = np.r_[2.0, 0.0, np.ones(58)]
    repeated = ngram_space([documents[0], documents[0], *documents[2:]], WORDS)
    space = ngram_space(documents, WORDS)
    again = greedy(repeated, np.r_[y[0], y[0], y[2:]], np.ones(60), variance=2.0, steps=5)
    weighted = greedy(space, y, weight, variance=2.0, steps=5)
    assert weighted.result.objective == pytest.approx(again.result.objective, rel=1e-12)
