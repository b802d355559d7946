from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency, norm, pearsonr
from sklearn.feature_selection import SelectKBest

from lapwing.errors import InputError, SettingsError
from lapwing.selection import SCORES, bns, chi_square, pearson, top_features, yule_q
from lapwing.selection.features import SHARES

FORMULAS = [name for name in SCORES if name not in SHARES]  # those that count the data once

# Six documents, the first three in the category. Columns: a = 2, 3, 0, 3, 1 and c = 1, 0, 0, 3, 1.
X = np.array(
    [
        [1, 2, 0, 3, 0],
        [1, 1, 0, 3, 0],
        [0, 1, 0, 3, 2],
        [1, 0, 0, 3, 1],
        [0, 0, 0, 3, 0],
        [0, 0, 0, 3, 0],
    ],
    dtype=float,
)
Y = np.array([1, 1, 1, -1, -1, -1])

values = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, -1.5, 1e-12, 1e12])


@st.composite
def problems(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    return draw(arrays(float, (n, d), elements=values)), draw(arrays(bool, n))


def test_by_hand() -> None:
    # First column: a, b, c, d = 2, 1, 1, 2.
    assert chi_square(X, Y).tolist() == pytest.approx([6 * 9 / 81, 6.0, 0.0, 0.0, 0.0])
    assert yule_q(X, Y).tolist() == pytest.approx([3 / 5, 1.0, 0.0, 0.0, 0.0])
    third = norm.ppf(2 / 3) - norm.ppf(1 / 3)
    assert bns(X, Y).tolist() == pytest.approx([third, 2 * norm.ppf(0.9995), 0.0, 0.0, 0.0])
    expected = [abs(pearsonr(X[:, j], Y).statistic) for j in (0, 1, 4)]
    assert pearson(X, Y)[[0, 1, 4]].tolist() == pytest.approx(expected)
    assert pearson(X, Y)[[2, 3]].tolist() == [0.0, 0.0]


def test_bns_clips_rates_not_quantiles() -> None:
    """A word of one class only beats the same word seen once in the other, whichever class is larger."""
    x = np.zeros((2000, 2))
    x[:500] = 1
    x[1500, 1] = 1
    y = np.arange(2000) < 1000
    clean, once = bns(x, y)
    assert clean == pytest.approx(norm.ppf(0.5) - norm.ppf(0.0005))
    assert once == pytest.approx(norm.ppf(0.5) - norm.ppf(0.001))


def test_continuity_prefers_the_frequent() -> None:
    x = np.zeros((10, 2))
    x[:4, 0] = 1
    x[:1, 1] = 1
    y = np.arange(10) < 5
    assert yule_q(x, y).tolist() == [1.0, 1.0]
    often, once = yule_q(x, y, continuity=1 / 12)
    assert 1 > often > once > 0
    a, b, c, d = (cell + 1 / 12 for cell in (4, 1, 0, 5))
    assert often == pytest.approx((a * d - b * c) / (a * d + b * c))
    assert yule_q(np.ones((10, 1)), y, continuity=1 / 12).tolist() == [0.0]


@given(problems())
def test_against_scipy(problem: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = problem
    chi, q, r = chi_square(x, y), yule_q(x, y), pearson(x, y)
    for j, column in enumerate(x.T):
        table = np.array([[np.sum((column != 0) & y), np.sum((column == 0) & y)],
                          [np.sum((column != 0) & ~y), np.sum((column == 0) & ~y)]])  # fmt: skip
        (a, b), (c, d) = table.tolist()
        if table.sum(axis=0).all() and table.sum(axis=1).all():
            assert chi[j] == pytest.approx(chi2_contingency(table, correction=False).statistic, abs=1e-12)
        else:
            assert chi[j] == 0
        assert q[j] == (abs(a * d - b * c) / (a * d + b * c) if a * d + b * c else 0)
        if y.any() and not y.all() and len(set(column)) > 1:
            assert r[j] == pytest.approx(abs(np.corrcoef(column, y)[0, 1]), abs=1e-9)
        else:
            assert r[j] == 0


@pytest.mark.parametrize("name", FORMULAS)
@given(problem=problems(), seed=st.integers(0, 2**20))
def test_the_same_whatever_holds_the_matrix(name: str, problem: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    x, y = problem
    score = SCORES[name]
    expected = score(x, y)
    assert expected.shape == (x.shape[1],)
    assert expected.dtype == np.float64
    assert (expected >= 0).all()
    for labels in (y.astype(int), np.where(y, 1, -1), np.where(y, 1.0, -1.0)):
        np.testing.assert_array_equal(score(x, labels), expected)
    for make in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array):
        np.testing.assert_array_equal(score(make(x), y), expected)
    # Zeros that are stored, and an entry given in two parts.
    columns = np.tile(np.arange(x.shape[1]), len(x))
    halves = sp.csr_array(
        (np.repeat(x.ravel() / 2, 2), np.repeat(columns, 2), 2 * x.shape[1] * np.arange(len(x) + 1)), shape=x.shape
    )
    before = halves.data.copy()
    np.testing.assert_array_equal(score(halves, y), expected)
    np.testing.assert_array_equal(halves.data, before)
    # The other class is as well told apart, and documents and features have no order.
    np.testing.assert_allclose(score(x, ~y), expected, rtol=1e-12, atol=1e-9)
    rng = np.random.default_rng(seed)
    mixed, turned = rng.permutation(len(x)), rng.permutation(x.shape[1])
    np.testing.assert_allclose(score(x[mixed][:, turned], y[mixed]), expected[turned], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
@given(problem=problems(), data=st.data())
def test_weights_are_copies(name: str, problem: tuple[np.ndarray, np.ndarray], data: Any) -> None:
    x, y = problem
    copies = data.draw(arrays(int, len(y), elements=st.integers(0, 3)))
    score = SCORES[name]
    weighted = score(sp.csr_array(x), y, sample_weight=copies)
    repeated = np.repeat(np.arange(len(y)), copies)
    inside = y[repeated]
    if inside.any() and not inside.all():
        np.testing.assert_allclose(weighted, score(x[repeated], inside), rtol=1e-12, atol=1e-9)
    else:
        assert not weighted.any()


@pytest.mark.parametrize("name", FORMULAS)
def test_no_class_no_column_no_document(name: str) -> None:
    score = SCORES[name]
    for y in (np.ones(6), np.zeros(6, dtype=bool), np.full(6, "x"), -np.ones(6)):
        assert score(X, y).tolist() == [0.0] * 5
    assert score(np.zeros((6, 0)), Y).tolist() == []
    assert score(np.zeros((0, 3)), np.zeros(0)).tolist() == [0.0] * 3
    assert score(X, Y, sample_weight=np.zeros(6)).tolist() == [0.0] * 5


def test_pearson_keeps_its_digits() -> None:
    """A large mean, an extreme range, or weights that round do not show."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    y = rng.random(40) < 0.4
    expected = abs(np.corrcoef(x, y)[0, 1])
    assert pearson((x + 2.0**30)[:, None], y)[0] == pytest.approx(expected, rel=1e-6)
    for scale in (1e-300, 1e-12, 1e12, 1e300):
        assert pearson((x * scale)[:, None], y)[0] == pytest.approx(expected, rel=1e-12)
    assert pearson(np.full((40, 1), 0.1), y, sample_weight=rng.random(40)).tolist() == [0.0]
    assert pearson(y[:, None].astype(float), y)[0] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_scikit_learn_selects_by_them(name: str) -> None:
    chosen = SelectKBest(SCORES[name], k=2).fit(sp.csr_matrix(X), Y).get_support(indices=True)
    assert chosen.tolist() == top_features(SCORES[name](X, Y), 2).tolist() == [0, 1]


def test_top_features() -> None:
    scores = [1.0, 3.0, 2.0, 3.0, 1.0]
    assert [top_features(scores, k).tolist() for k in (0, 1, 2, 3)] == [[], [1], [1, 3], [1, 2, 3]]
    assert top_features(scores, 4).tolist() == [0, 1, 2, 3]
    assert top_features(scores, np.int64(9)).tolist() == [0, 1, 2, 3, 4]
    for k in (-1, 2.0, True):
        with pytest.raises(SettingsError, match="whole number"):
            top_features(scores, k)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="NaN"):
        top_features([1.0, np.nan], 1)


def test_complaints() -> None:
    with pytest.raises(InputError, match="two values"):
        chi_square(X, [0, 1, 2, 0, 1, 2])
    with pytest.raises(InputError, match="NaN"):
        chi_square(X, [0, 1, np.nan, 0, 1, 0])
    with pytest.raises(InputError, match="as many labels"):
        chi_square(X, Y[:5])
    with pytest.raises(InputError, match="one category"):
        chi_square(X, Y[:, None])
    with pytest.raises(InputError, match="6 weights"):
        chi_square(X, Y, sample_weight=[1.0])
    with pytest.raises(InputError, match="negative"):
        chi_square(X, Y, sample_weight=-np.ones(6))
    with pytest.raises(InputError, match="finite"):
        pearson(np.where(X == 2, np.nan, X), Y)
    with pytest.raises(InputError, match="matrix of numbers"):
        chi_square(X[:, 0], Y)
    with pytest.raises(SettingsError, match="continuity"):
        yule_q(X, Y, continuity=-1.0)
