"""n-grams with gaps against enumeration: the space, its classes, texts matched against them, the optimum over all."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import InputError, SettingsError
from lapwing.estimators import NgramClassifier
from lapwing.ngrams import solver as ngrams
from lapwing.ngrams.gapped import GappedSpace, gapped_space
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.objective import certify
from lapwing.stats.priors import Laplace
from lapwing.text import TextSettings
from lapwing.training.ngram_search import weighting

WORDS = ("a", "b", "c", "the")
corpora = st.lists(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join), min_size=2, max_size=5)


def by_hand(documents: list[str], length: int, gap: int, support: int, stop: str = "") -> dict[str, frozenset[int]]:
    """Every n-gram with gaps → the documents it is in."""
    result: dict[str, set[int]] = defaultdict(set)
    for i, text in enumerate(documents):
        tokens = text.split()
        for at, size in product(range(len(tokens)), range(1, length + 1)):
            window = tokens[at : at + size]
            if len(window) < size or stop in window:
                continue
            for kept in product([True, False], repeat=max(size - 2, 0)):
                mask = [True, *kept, True][:size] if size > 1 else [True]
                spelled = [w if shown else "*" for w, shown in zip(window, mask, strict=True)]
                if " ".join(["*"] * (gap + 1)) not in " ".join(spelled):
                    result[" ".join(spelled)].add(i)
    return {name: frozenset(rows) for name, rows in result.items() if len(rows) >= support}


def space_of(documents: list[str], length: int, gap: int, support: int, stop: str = "") -> GappedSpace:
    how = TextSettings.for_ngrams(max_gap=gap, stop_words=(stop,) if stop else "none")
    return gapped_space(documents, how, max_length=length, min_support=support)


@settings(max_examples=150, deadline=None)
@given(corpora, st.integers(1, 4), st.integers(1, 2), st.integers(2, 3), st.sampled_from(["", "the"]))
def test_every_ngram_is_there_once(documents: list[str], length: int, gap: int, support: int, stop: str) -> None:
    wanted = by_hand(documents, length, gap, support, stop)
    if not wanted:
        with pytest.raises(InputError, match="no n-gram is left"):
            space_of(documents, length, gap, support, stop)
        return
    space = space_of(documents, length, gap, support, stop)
    alike: dict[frozenset[int], list[str]] = defaultdict(list)
    for name, rows in wanted.items():
        alike[rows].append(name)
    classes = np.arange(len(space.node))
    columns = space.columns(classes)
    rows = [frozenset(part.tolist()) for part in np.split(columns.indices, columns.indptr[1:-1])]
    assert sorted(map(sorted, rows)) == sorted(map(sorted, alike))
    assert space.n_ngrams == len(wanted)
    for name, longest, own in zip(space.names(classes), space.longest_names(classes), rows, strict=True):
        assert name in alike[own]
        assert len(name.split()) == min(len(one.split()) for one in alike[own])
        assert len(longest.split()) == max(len(one.split()) for one in alike[own])
    result = weighting(space, classes)
    assert (result.vectors(documents) != columns.tocsr()).nnz == 0
    texts = ["a b the c a", "c a", "", "b unknown b a"]
    again = result.vectors(texts).toarray()
    for j, name in enumerate(result.terms):
        for i, text in enumerate(texts):
            assert again[i, j] == (name in by_hand([text], length, gap, 1, stop))
            assert bool(again[i, j]) == (name in result.spans(text))


@pytest.mark.parametrize("loss", ["logit", "squared_hinge"])
def test_the_optimum_is_that_over_all_written_out(loss: str) -> None:
    rng = np.random.default_rng(0)
    documents = [" ".join(rng.choice(list("abcd"), size=12)) for _ in range(40)]
    y = np.where([bool(re.search("a . b|c a", d)) for d in documents], 1.0, -1.0)
    result = ngrams.exact(space_of(documents, 3, 1, 2), y, np.ones(40), variance=0.5, tol=1e-8, link=loss)
    written = by_hand(documents, 3, 1, 2)
    X = np.array([[i in rows for rows in written.values()] for i in range(40)], dtype=float)
    arrays = Laplace().compile(0.5, X.shape[1])
    whole = newton.fit(Problem(sp.csr_matrix(X)), y, np.ones(40), arrays, variance=0.5, tol=1e-8, link=loss)
    assert result.result.converged
    assert result.result.objective == pytest.approx(whole.objective, rel=1e-7)
    assert (
        certify(X, y, arrays, whole.weights, result.result.dual, link=loss).relative_gap <= 1.1e-8
    )  # over all of them


def test_squared_hinge_is_liblinears() -> None:
    """Over n-grams without gaps, L1 with a penalised constant: LinearSVC's objective, C = 1."""
    from sklearn.svm import LinearSVC

    from lapwing.ngrams.space import ngram_space

    rng = np.random.default_rng(1)
    documents = [" ".join(rng.choice(list("abcde"), size=8)) for _ in range(60)]
    y = np.where(["a b" in d for d in documents], 1.0, -1.0)
    y[:4] *= -1
    space = ngram_space(documents, TextSettings.for_ngrams(), max_length=2)
    result = ngrams.exact(space, y, np.ones(60), variance=2.0, tol=1e-9, link="squared_hinge")
    X = space.columns(np.arange(len(space.node))).tocsr()
    theirs = LinearSVC(penalty="l1", dual=False, C=1.0, tol=1e-9, max_iter=100_000, intercept_scaling=1.0).fit(X, y)
    margin = y * theirs.decision_function(X)
    objective = np.sum(np.maximum(1 - margin, 0) ** 2) + np.abs(theirs.coef_).sum() + abs(theirs.intercept_[0])
    assert result.result.objective == pytest.approx(objective, rel=1e-5)
    assert result.result.objective <= objective * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["likelihood", "squared_hinge"])
def test_events_of_a_log(loss: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Sessions that fail: a retry two events after a timeout, whatever is between. Through the whole of training."""
    import lapwing

    rng = np.random.default_rng(0)
    texts, labels = [], []
    for k in range(80):
        events = rng.choice(["login:ok", "read", "write", "ping", "idle"], size=8).tolist()
        if k % 2:
            at = int(rng.integers(5))
            events[at], events[at + 2] = "timeout", "retry"
        else:
            events[0], events[7] = "retry", "timeout"
        texts.append(" ".join(events))
        labels.append("failed" if k % 2 else "fine")
    model = NgramClassifier(tokens="ready", max_length=3, max_gap=1, min_support=2, loss=loss, variance=10.0)
    model.fit(texts, labels)
    assert model.score(texts, labels) == 1.0
    assert "timeout * retry" in model.model_.feature_names
    assert model.converged_.all()
    assert model.dual_gap_[0] <= 1e-4 * model.objective_[0]
    model.save(tmp_path / "m.lapwing")
    again = lapwing.load(tmp_path / "m.lapwing")
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    parts = again.explain("ping timeout read retry").categories[0].contributions
    assert ("timeout * retry", ((5, 23),)) in [(part.feature, part.spans) for part in parts]


def test_what_does_not_go_together() -> None:
    texts, labels = ["a b c", "b c d"] * 5, [0, 1] * 5
    for wrong, message in (
        ({"max_gap": 1}, "needs a max_length"),
        ({"max_gap": 1, "max_length": 3}, "min_support of 2"),
        ({"max_gap": -1}, "max_gap must be"),
        ({"loss": "hinge"}, "loss must be"),
        ({"loss": "squared_hinge", "solver": "greedy"}, "leave solver"),
    ):
        with pytest.raises(SettingsError, match=message):
            NgramClassifier(**wrong).fit(texts, labels)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="stands for a gap"):
        NgramClassifier(tokens="ready", max_gap=1, max_length=3, min_support=2).fit(["a * b", "c d"] * 5, labels)
