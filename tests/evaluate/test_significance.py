from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata, wilcoxon

from lapwing.errors import InputError
from lapwing.evaluate import Comparison, compare


def test_by_hand() -> None:
    """Differences −1, −2, +3, 0, −4: ranks 1 to 4, W⁺ = 3; 5 of the 16 sign patterns give 3 or less."""
    result = compare([5, 4, 9, 2, 0], [6, 6, 6, 2, 4])
    assert result == Comparison(won=3, lost=1, tied=1, p_value=10 / 16, statistic=3.0)


def test_larger_is_better_swaps_sides() -> None:
    f1_a, f1_b = [0.9, 0.5, 0.4, 0.7], [0.8, 0.7, 0.4, 0.1]
    result = compare(f1_a, f1_b, larger_is_better=True)
    assert (result.won, result.lost, result.tied) == (2, 1, 1)
    other = compare(f1_a, f1_b)
    assert (other.won, other.lost, other.tied) == (1, 2, 1)
    assert other.p_value == result.p_value


def test_nothing_differs() -> None:
    assert compare([1, 2, 3], [1, 2, 3]) == Comparison(0, 0, 3, 1.0, 0.0)
    assert compare([], []) == Comparison(0, 0, 0, 1.0, 0.0)


@given(arrays(int, st.integers(1, 9), elements=st.integers(-40, 40)))
def test_the_exact_p_value_counts_sign_patterns(difference: np.ndarray) -> None:
    untied = difference[difference != 0]
    if not len(untied) or len(set(np.abs(untied))) < len(untied):
        return
    result = compare(difference, np.zeros(len(difference)))
    ranks = rankdata(np.abs(untied))
    sums = np.array([np.dot(signs, ranks) for signs in itertools.product([0, 1], repeat=len(untied))])
    observed = ranks[untied > 0].sum()
    expected = min(1.0, 2 * min(np.mean(sums <= observed), np.mean(sums >= observed)))
    assert result.p_value == pytest.approx(expected)
    assert result.statistic == min(observed, ranks.sum() - observed)


def test_ties_go_by_the_corrected_normal_approximation() -> None:
    """90 categories, error counts with many ties, as in GLM07's Table 1."""
    rng = np.random.default_rng(7)
    a, b = rng.poisson(6, size=90), rng.poisson(7, size=90)
    result = compare(a, b)
    d = (a - b)[a != b]
    ranks = rankdata(np.abs(d))
    z = (ranks[d > 0].sum() - ranks.sum() / 2) / np.sqrt((ranks**2).sum() / 4)
    assert result.p_value == pytest.approx(2 * norm.sf(abs(z)))
    assert result.won + result.lost + result.tied == 90
    assert result.p_value == pytest.approx(wilcoxon(a, b).pvalue)


@given(
    arrays(int, st.just(30), elements=st.integers(0, 12)),
    arrays(int, st.just(30), elements=st.integers(0, 12)),
)
def test_symmetric(a: np.ndarray, b: np.ndarray) -> None:
    one, other = compare(a, b), compare(b, a)
    assert (one.won, one.lost, one.tied) == (other.lost, other.won, other.tied)
    assert one.p_value == pytest.approx(other.p_value)
    assert one.statistic == other.statistic
    assert 0 <= one.p_value <= 1
    order = np.random.default_rng(0).permutation(30)
    assert compare(a[order], b[order]).p_value == pytest.approx(one.p_value)


def test_complaints() -> None:
    with pytest.raises(InputError, match="equal length"):
        compare([1, 2], [1])
    with pytest.raises(InputError, match="finite"):
        compare([1.0, np.nan], [1.0, 2.0])
