"""Who is in the working set, and its part of the matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.parts import matrix, opened

from lapwing.kernels import working_set
from lapwing.stats.objective import PriorArrays

D = 12


def laplace(l1: float = 1.0) -> PriorArrays:
    size = D + 1
    unbounded = np.full(size, np.inf)
    return PriorArrays(np.zeros(size), np.full(size, l1), np.zeros(size), -unbounded, unbounded)


def test_it_begins_with_the_constant_and_what_is_off_its_mode() -> None:
    X, _ = matrix(0, 20, D)
    beta = np.zeros(D + 1)
    beta[[3, 7]] = 1.0
    features, inside, m = opened(working_set.begin)(X, laplace(), beta)
    assert features[:m].tolist() == [D, 7, 3]
    assert np.flatnonzero(inside).tolist() == [3, 7, D]


def test_it_lets_go_of_what_is_far_from_moving_and_never_of_the_constant() -> None:
    features, inside = np.arange(D, -1, -1).astype(np.int32), np.ones(D + 1, np.int32)
    beta, gradient = np.zeros(D + 1), np.zeros(D + 1)
    beta[2], gradient[5], gradient[6] = 0.1, 0.95, -0.5
    kept = opened(working_set.prune)(features, D + 1, inside, laplace(), beta, gradient)
    assert sorted(features[:kept].tolist()) == [2, 5, D]
    assert features[0] == D
    assert np.flatnonzero(inside).tolist() == [2, 5, D]


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_it_grows_by_those_that_violate_most(most: int) -> None:
    features, inside = np.empty(D + 1, np.int32), np.zeros(D + 1, np.int32)
    features[0], inside[D] = D, 1
    gradient = np.random.default_rng(3).normal(size=D + 1) * 3.0
    m = opened(working_set.grow)(features, 1, inside, laplace(), np.zeros(D + 1), gradient, most)
    violators = [j for j in range(D) if abs(gradient[j]) > 1.0]
    added = features[1:m].tolist()
    assert added
    assert set(added) <= set(violators)
    left = [abs(gradient[j]) for j in violators if j not in added]
    assert max(left, default=0.0) <= min(abs(gradient[j]) for j in added)
    if most >= len(violators):
        assert sorted(added) == violators
    assert np.flatnonzero(inside).tolist() == sorted([*added, D])


def test_lists_by_document_hold_the_entries() -> None:
    X, whole = matrix(2, 20, D)
    features = np.array([D, 4, 9, 1], np.int32)
    entries = opened(working_set.lists)(X.columns, features, 4, 20)
    dense = np.zeros((20, 4))
    for e, i in enumerate(entries.document):
        row = slice(entries.pointer[e], entries.pointer[e + 1])
        assert np.all(np.diff(entries.column[row]) > 0)
        dense[i, entries.column[row]] = entries.value[row]
    assert np.array_equal(dense[:, 1:], whole[:, features[1:]])
    assert not dense[:, 0].any()


def test_a_stronger_prior_and_a_part_of_it() -> None:
    p = opened(working_set.stronger)(laplace(2.0), 3.0)
    local = opened(working_set.local_prior)(p, np.array([D, 2], np.int32), 2)
    assert local.l1.tolist() == [6.0, 6.0]
    assert local.lower.tolist() == [-np.inf, -np.inf]
