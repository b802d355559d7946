"""Folds: even in labels, by what documents hold, with groups and time respected."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import InputError
from lapwing.selection.folds import by_time, deal, matrix_keys, text_keys

SEED = np.random.SeedSequence(0)


def member(labels: list[set[int]], classes: int) -> sp.csc_matrix:
    return sp.csc_matrix([[float(k in one) for k in range(classes)] for one in labels])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=10, max_size=80), st.integers(2, 6))
def test_every_label_that_documents_count_for_is_dealt_evenly(labels: list[set[int]], count: int) -> None:
    M = member(labels, 5)
    folds = deal(M, np.ones(len(labels)), np.arange(len(labels), dtype=float), count)
    assert set(folds.fold) <= set(range(count))
    sizes = np.bincount(folds.fold, minlength=folds.portions)
    assert sizes.max() - sizes.min() <= 1
    frequency = np.asarray(M.sum(axis=0)).ravel()
    rarest = (
        int(np.argsort(frequency, kind="stable")[np.flatnonzero(np.sort(frequency, kind="stable"))[0]]) if M.nnz else 0
    )
    here = np.bincount(folds.fold[M[:, [rarest]].toarray().ravel() > 0], minlength=folds.portions)
    assert here.max() - here.min() <= 1


def test_order_and_copies_change_nothing() -> None:
    rng = np.random.default_rng(1)
    X = sp.csr_matrix(rng.integers(0, 3, (40, 6)).astype(float))
    M = member([{int(k)} for k in rng.integers(0, 3, 40)], 3)
    weight = rng.integers(0, 3, 40).astype(float)
    straight = deal(M, weight, matrix_keys(X, SEED), 5).fold
    order = rng.permutation(40)
    np.testing.assert_array_equal(
        deal(M[order].tocsc(), weight[order], matrix_keys(X[order], SEED), 5).fold, straight[order]
    )
    copies = np.repeat(np.arange(40), weight.astype(int))
    repeated = deal(M[copies].tocsc(), np.ones(len(copies)), matrix_keys(X[copies], SEED), 5).fold
    np.testing.assert_array_equal(repeated, straight[copies])
    assert (straight[weight == 0] == -1).all()


def test_equal_documents_and_groups_stay_together() -> None:
    texts = ["a", "b", "a", "c", "d", "b"]
    fold = deal(member([{0}] * 6, 1), np.ones(6), text_keys(texts, SEED), 3).fold
    assert fold[0] == fold[2]
    assert fold[1] == fold[5]
    groups = ["x", "x", "y", "y", "z", "z"]
    fold = deal(member([{0}] * 6, 1), np.ones(6), text_keys("abcdef", SEED), 3, groups).fold
    assert fold[0] == fold[1] != fold[2] == fold[3] != fold[4] == fold[5]


def test_twins_stay_together_across_groups_and_an_empty_group_is_none() -> None:
    texts = [f"text {i}" for i in range(40)]
    texts[7] = texts[3]  # of groups b and d: with them a chain
    groups = [["a", "b", "c", "d", "", None][i % 6] for i in range(40)]
    groups[3], groups[7] = "b", "d"
    keys, weight = text_keys(texts, np.random.SeedSequence(0)), np.ones(40)
    member = sp.csc_matrix(np.ones((40, 1)))
    folds = deal(member, weight, keys, 4, groups)
    together = {folds.fold[i] for i in range(40) if groups[i] in ("b", "d")}
    assert len(together) == 1
    assert len({folds.fold[i] for i in range(40) if not groups[i]}) == 4


def test_by_time_fits_see_only_what_came_before() -> None:
    times = ["2024-03", "2024-01", "2024-02", "2024-05", "2024-04", "2024-06"]
    folds = by_time(times, np.ones(6), 2)
    for k in range(2):
        seen = folds.training(k, np.ones(6)) > 0
        assert max(t for t, yes in zip(times, seen, strict=True) if yes) < min(
            t for t, f in zip(times, folds.fold, strict=True) if f == k
        )


def test_too_few_to_hold_out() -> None:
    with pytest.raises(InputError, match="two or more"):
        deal(member([{0}, {0}], 1), np.ones(2), np.ones(2), 5)
    with pytest.raises(InputError, match="two or more moments"):
        by_time(["2024", "2024"], np.ones(2), 3)
