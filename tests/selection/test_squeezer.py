"""A budget of features: never more, exact where the path has that many, and said why where not."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from estimators.data import indicator, matrix

from lapwing import MAPClassifier, priors
from lapwing.corpus import read
from lapwing.errors import InputError, SettingsError
from lapwing.selection.squeezer import Budget, explain
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.text import TextSettings
from lapwing.training import TrainSettings, train


def path(counts: dict[float, int]) -> Any:
    """A solver that keeps so many features from each variance on."""

    def solve(variance: float, start: np.ndarray | None) -> Any:
        kept = max((n for v, n in counts.items() if variance >= v), default=0)
        return SimpleNamespace(weights=np.r_[np.ones(kept), np.zeros(20 - kept), 1.0])

    return solve


@pytest.mark.parametrize("search", [Budget.follow, Budget.limit])
def test_the_weakest_prior_within_the_budget(search: Any) -> None:
    solve = path({0.01: 1, 0.5: 3, 2.0: 4, 30.0: 9})
    result = search(Budget(solve, 4, "a"), 100.0)
    assert result.kept == 4
    assert 2.0 <= result.variance < 30.0
    jump = search(Budget(solve, 6, "a"), 100.0)
    assert (jump.kept, jump.beyond) == (4, 9.0)
    assert jump.variance == pytest.approx(30.0, rel=1e-3)
    whole = search(Budget(solve, 20, "a"), 100.0)
    assert whole.kept == 9
    assert math.isnan(whole.beyond)
    with pytest.raises(InputError, match="keeps 5 features however strong the prior"):
        search(Budget(path({0.0: 5}), 4, "a"), 100.0)


def test_fits_along_the_path_are_small_and_begin_where_the_last_ended() -> None:
    begun: list[tuple[float, int]] = []
    inner = path({0.01: 1, 0.5: 3, 2.0: 4, 30.0: 9})

    def solve(variance: float, start: np.ndarray | None) -> Any:
        begun.append((variance, -1 if start is None else int(start[:-1].sum())))
        return inner(variance, start)

    Budget(solve, 4, "a").follow(1e6)
    assert [count for _, count in begun].count(-1) == 1  # the first alone
    assert max(variance for variance, _ in begun) <= 100.0  # nothing much weaker than what is looked for


def test_both_ways_find_the_same_features_under_a_laplace_prior() -> None:
    X, Y = indicator(n=150, d=20)
    problem, y = Problem(sp.csr_matrix(X)), np.where(np.asarray(Y)[:, 0] > 0, 1.0, -1.0)

    def solve(variance: float, start: np.ndarray | None) -> Any:
        compiled = priors.Laplace().compile(variance, X.shape[1])
        return newton.fit(problem, y, np.ones(len(y)), compiled, variance=variance, tol=1e-8, start=start)

    for k in (1, 3, 8):
        one, two = Budget(solve, k, "a"), Budget(solve, k, "a")
        there, back = one.follow(2e4), two.limit(2e4)
        assert there.kept == back.kept
        kept = [np.flatnonzero(b.results[v.variance].weights[:-1]).tolist() for b, v in ((one, there), (two, back))]
        assert kept[0] == kept[1]


def test_reasons() -> None:
    assert explain(5, 5, 5, 7) == ""
    assert explain(5, 4, 4, 7) == "4 of 5: the next weaker prior has 7"
    assert explain(5, 4, 4, math.nan) == "4 of 5: the weakest prior tried has no more"
    assert explain(5, 3, 5, 7) == "3 of 5: of the 5 chosen, the fit to them alone leaves some out"


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_never_more_and_the_reason_for_fewer(k: int) -> None:
    X, Y = indicator(n=150, d=20)
    model = MAPClassifier(max_features=k, cv_folds=4).fit(X, Y)
    kept = np.diff(model.coef_.indptr)
    assert kept.max() <= k
    for n, reason in zip(kept, model.squeeze_, strict=True):
        assert (reason == "") == (n == k)
    assert (kept[:3] == k).all()  # the path has every number here
    assert model.converged_.all()


def test_words_that_stand_together_enter_together() -> None:
    X, y = matrix(n=120, classes=2)
    X = np.column_stack([X[:, :1], X[:, :1], X[:, :1], X[:, 5:]])
    model = MAPClassifier(max_features=2, cv_folds=4).fit(X, y)
    assert model.coef_.nnz == 0
    assert model.squeeze_ == ["0 of 2: the next weaker prior has 3"]


def test_with_knowledge_and_with_a_given_variance() -> None:
    X, Y = indicator(n=150, d=20)
    table = priors.PriorTable({"3": {"mode": 1.0, "variance": 1e-20}, "4": {"sign": "+"}})
    model = MAPClassifier(table, max_features=3, cv_folds=4).fit(X, Y)
    assert np.diff(model.coef_.indptr).max() <= 3
    assert (model.coef_[:, [3]].toarray() == 1.0).all()
    given = MAPClassifier(variance=5.0, max_features=2).fit(X, Y)
    assert given.variance_.tolist() == [5.0] * 4
    assert np.diff(given.coef_.indptr).max() <= 2
    with pytest.raises(InputError, match="however strong the prior"):
        MAPClassifier(priors.PriorTable({str(j): 1.0 for j in range(4)}), max_features=3).fit(X, Y)


def test_what_cannot_be_squeezed() -> None:
    X, y = matrix()
    with pytest.raises(SettingsError, match="leaves features out"):
        MAPClassifier("gaussian", max_features=3).fit(X, y)
    with pytest.raises(SettingsError, match="max_features must be a whole number"):
        MAPClassifier(max_features=0).fit(X, y)


def test_on_modapte(archive: Path) -> None:
    """Categories from the most frequent to those of one document, and to one whose path jumps over 5."""
    corpus = read(str(archive)).part("train")
    classes = ["earn", "crude", "grain", "cocoa", "lei", "cornglutenfeed", "fishmeal", "castor-oil"]
    corpus = replace(corpus, labels=[tuple(c for c in row if c in classes) for row in corpus.labels])
    text = TextSettings(stop_words="smart")
    for prior, k in (("laplace", 5), ("laplace", 10), ("laplace", 50), ("elasticnet", 50)):
        model = train(corpus, TrainSettings(text=text, prior=prior, max_features=k), classes=classes)
        reasons = model.provenance["squeezed"]
        if prior == "laplace":
            assert model.n_kept.max() == k
        else:  # it keeps words of one meaning together until weaker ridge lets some go
            assert model.n_kept.max() <= k
            assert all(reason == "" or f"of the {k} chosen" in reason for reason in reasons[:3])
        for kept, reason in zip(model.n_kept, reasons, strict=True):
            assert (reason == "") == (kept == k)
            assert reason == "" or reason.startswith(f"{kept} of {k}: ")
