"""What moved: alarms at the stated rate, shares within their intervals, and scores as without the document."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from model.build import text_model

import lapwing
import lapwing.training
from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate.drift import holm, mixture, prevalences, shape_test, share_test
from lapwing.formats.model_file import from_bytes, to_bytes
from lapwing.model.reference import ScoreReference
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import ElasticNet, Laplace, Prior
from lapwing.training.leave_one_out import leave_one_out_scores


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def compared(then: np.ndarray, now: np.ndarray) -> tuple[float, float]:
    """p-values of shape and share."""
    reference = ScoreReference.of([0], then[:, None], np.zeros((len(then), 1), dtype=bool), np.array([0.5]))
    both = reference.counts[0], reference.bins(0, now)
    centres = reference.centres(0)
    return shape_test(*both)[1], share_test(*both, 1.0 / (1.0 + np.exp(-centres)))


def test_scores_that_did_not_move_raise_few_alarms() -> None:
    generator = np.random.default_rng(0)
    alarms, moved = np.zeros(2), np.zeros(2)
    for _ in range(300):
        then, now = generator.standard_normal(400), generator.standard_normal(300)
        alarms += np.array(compared(then, now)) <= 0.05
        moved += np.array(compared(then, 1.5 * now + 0.4)) <= 0.05
    assert (alarms <= 24).all()  # 15 are expected at most; three standard deviations more
    assert (moved >= 290).all()


def test_ties_are_compared_as_ties() -> None:
    """Nearly all documents share one score, which rounding or another order of addition changes in the last digit."""
    then = np.full(1000, -3.1)
    then[:20] = np.linspace(0.0, 2.0, 20)
    now = np.full(800, -3.1 * (1.0 + 1e-15))
    now[:16] = np.linspace(0.0, 2.0, 16)
    assert min(compared(then, now)) > 0.5
    assert compared(np.full(50, -3.1), np.full(40, -3.1)) == (1.0, 1.0)


def test_share_test_by_hand() -> None:
    """Ten documents in the only bin that counts, nine of them new, as many new documents as old: 22 of 1,024."""
    then, now = np.array([10**6 - 1, 1]), np.array([10**6 - 9, 9])
    assert share_test(then, now, np.array([0.0, 1.0])) == pytest.approx(22 / 1024, rel=1e-3)
    assert share_test(now, then, np.array([0.0, 1.0])) == pytest.approx(22 / 1024, rel=1e-3)


@pytest.mark.parametrize(("own", "times"), [(12, 1.0), (12, 3.0), (200, 0.5), (200, 2.0)])
def test_the_share_of_a_category_is_within_its_interval(own: int, times: float) -> None:
    generator, held = np.random.default_rng(own), 0
    inside, outside = np.array([0.1, 0.1, 0.2, 0.6]), np.array([0.8, 0.15, 0.04, 0.01])
    share = times * own / 2000
    for _ in range(200):
        positives = generator.multinomial(own, inside)
        then = positives + generator.multinomial(2000 - own, outside)
        now = generator.multinomial(1500, share * inside + (1.0 - share) * outside)
        _, low, high = mixture(positives, (then, now), 0.5 * 3.84)
        held += low <= share <= high
    assert held >= 180  # 190 are promised


def test_scores_that_carry_nothing_tell_no_share() -> None:
    """The category's documents have the scores of all others: any share would explain the new ones."""
    positives, then, now = np.array([3, 1]), np.array([3000, 1000]), np.array([2990, 1010])
    _, low, high = mixture(positives, (then, now), 0.5 * 3.84)
    assert (low, high) == (0.0, 1.0)


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
    result = leave_one_out_scores(X, y, weight, arrays, whole.weights, "logit", sample)
    assert result is not None
    exact = []
    for i in sample.tolist():
        without = weight.copy()
        without[i] = 0.0
        beta = newton.fit(problem, y, without, arrays, variance=20.0, tol=1e-9).weights
        exact.append((X[[i]] @ beta[:-1])[0] + whole.weights[-1])
    seen = X[sample] @ whole.weights[:-1] + whole.weights[-1]
    assert np.abs(result - exact).mean() < 0.15 * np.abs(seen - exact).mean()


def test_scores_near_the_intercept_and_across_it_are_those_of_new_documents() -> None:
    """A document hardly off the intercept stays where it is, and those that cross it do not pile up there."""
    generator = np.random.default_rng(4)
    X = sp.random(3000, 40, density=0.05, random_state=5, format="csr", data_rvs=np.ones)
    X.data[:] = 10.0 ** generator.uniform(-4.0, 0.0, X.nnz)
    y = np.where(generator.random(3000) < 1.0 / (1.0 + np.exp(2.0 - X @ np.linspace(-9.0, 9.0, 40))), 1.0, -1.0)
    old, arrays = X[:1500], Laplace().compile(5.0, 40)
    beta = newton.fit(Problem(old), y[:1500], np.ones(1500), arrays, variance=5.0, tol=1e-9).weights
    result = leave_one_out_scores(old, y[:1500], np.ones(1500), arrays, beta, "logit", np.arange(1500))
    assert result is not None
    here, fresh, after = old @ beta[:-1], X[1500:] @ beta[:-1], result - beta[-1]
    near = (np.abs(here) > 0.0) & (np.abs(here) < 1e-3) & (y[:1500] < 0.0)
    assert near.sum() > 50
    assert np.median(np.abs(after - here)[near] / np.abs(here)[near]) < 0.1
    for side in (1.0, -1.0):
        below = [float(np.mean(part < -1e-9)) for part in (after[y[:1500] == side], fresh[y[1500:] == side])]
        assert below[0] == pytest.approx(below[1], abs=0.07)


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


def rare_and_multi_label(count: int, generator: np.random.Generator) -> Corpus:
    """Texts of common words, a tenth of them empty, a tenth repeated; 24 categories of 200 to 2 in 1,000, each with
    words of its own in most of its documents, and two labels on many."""
    shares = np.geomspace(0.2, 0.002, 24)
    texts: list[str] = []
    labels: list[tuple[str, ...]] = []
    for _ in range(count):
        if texts and generator.random() < 0.1:
            again = int(generator.integers(len(texts)))
            texts.append(texts[again])
            labels.append(labels[again])
            continue
        own = np.flatnonzero(generator.random(24) < shares)
        words = [f"common{k}" for k in generator.integers(0, 60, 12)]
        words += [f"own{k}x{generator.integers(3)}" for k in own for _ in range(2) if generator.random() < 0.7]
        texts.append("" if generator.random() < 0.1 else " ".join(words))
        labels.append(tuple(f"c{k:02}" for k in own))
    ids = list(map(str, range(count)))
    return Corpus("made", "text", texts, labels, ids, False, [""] * count, np.ones(count))


def test_false_alarms_of_rare_categories_with_several_labels_before_and_after_an_update() -> None:
    """The promise of docs/drift.md, a short form of benchmarks/drift.py reuters: 5 % of draws may have an alarm."""
    settings = lapwing.training.TrainSettings(n_jobs=1, folds=2, tol=1e-4)
    settings = replace(settings, cv=replace(settings.cv, variances=(30.0,)))
    before = after = found = 0
    untold: list[object] = []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        corpus = rare_and_multi_label(2400, generator)
        first, second, third = (corpus.select(part) for part in np.array_split(np.arange(2400), 3))
        model = lapwing.train(first, settings)
        result = lapwing.drift(model, second)
        before += bool(result.alarms)
        members = Counter(label for labels in first.labels for label in labels)
        untold += [one.category for one in result.categories if members[one.category] >= 20 and one.prevalence is None]
        updated = from_bytes(to_bytes(lapwing.update(model, second, n_jobs=1)))
        after += bool(lapwing.drift(updated, third).alarms)
        common = members.most_common(1)[0][0]
        mine = [i for i, labels in enumerate(third.labels) if common in labels]
        found += common in lapwing.drift(updated, third.select([*range(len(third)), *mine, *mine])).alarms
    assert before <= 2  # a chance of 3 in 1,000 that there are more
    assert after <= 2
    assert untold == []
    assert found == 6


def test_a_reference_of_an_earlier_release_is_not_compared() -> None:
    """Its bins had edges at scores that many documents share."""
    generator = np.random.default_rng(5)
    corpus = rare_and_multi_label(400, generator)
    model = lapwing.train(corpus, lapwing.training.TrainSettings(n_jobs=1, folds=2))
    scores = {name: value for name, value in model.held_out["scores"].items() if name != "positives"}
    old = from_bytes(to_bytes(replace(model, held_out={**model.held_out, "scores": scores})))
    result = lapwing.drift(old, corpus)
    assert "train the model anew to compare scores" in str(result.remark)
    assert result.alarms == []
    assert result.words_tested > 0
    updated = from_bytes(to_bytes(lapwing.update(old, corpus, n_jobs=1)))
    assert lapwing.drift(updated, corpus).remark == result.remark
