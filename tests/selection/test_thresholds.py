from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_svmlight_file

from lapwing.errors import InputError, SettingsError
from lapwing.model import expected_f1 as rule
from lapwing.selection import RULES, Utility, expected_f1, tune

BBR = Path(__file__).resolve().parents[1] / "data" / "bbr"

VALUES = {
    "error": lambda y, yes: -np.sum(y != yes),
    "f1": lambda y, yes: 2 * np.sum(y & yes) / (np.sum(y) + np.sum(yes)),
    "ber": lambda y, yes: (yes[y].mean() - yes[~y].mean()) / 2,
    "t11u": lambda y, yes: 2 * np.sum(y & yes) - np.sum(~y & yes),
    "t13u": lambda y, yes: 20 * np.sum(y & yes) - np.sum(~y & yes),
}


@st.composite
def batches(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties, and labels of both classes."""
    n = draw(st.integers(2, 14))
    score = st.integers(-6, 6).map(lambda v: v / 4) | st.floats(-1e6, 1e6)
    y = draw(arrays(bool, n).filter(lambda labels: labels.any() and not labels.all()))
    return draw(arrays(float, n, elements=score)), y


def scores_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Linear scores of BBR's laplace_v1 model on one of its data files, and the labels."""
    lines = (BBR / "laplace_v1.model").read_text().splitlines()
    fields = {words[0]: words[1:] for words in map(str.split, lines)}
    x, y = load_svmlight_file(str(BBR / name), n_features=60, zero_based=False)
    beta = np.array(fields["beta"], dtype=float)
    kept = np.array(fields["topicFeats"], dtype=int) - 1
    return x[:, kept] @ beta[:-1] + beta[-1], y == 1


def test_bbr_found_this_threshold() -> None:
    """BBRtrain -p 1 -V 1 -t 3 on train.dat wrote the threshold -0.473857965367; -t changes no coefficient."""
    assert tune("f1", *scores_of("train.dat")) == pytest.approx(-0.473857965367, abs=1e-11)


def test_bbr_decides_alike() -> None:
    theirs = np.loadtxt(BBR / "laplace_t_f1.results")
    scores, _ = scores_of("test.dat")
    np.testing.assert_allclose(1 / (1 + np.exp(-scores)), theirs[:, 0], atol=1e-9)
    yes = scores > tune("f1", *scores_of("train.dat"))
    np.testing.assert_array_equal(np.where(yes, 1, -1), theirs[:, 1])


@pytest.mark.parametrize(
    ("rule", "labels", "threshold"),
    [
        ("error", "--++", 2.5),
        ("error", "-+-+", 1.5),  # one error at 1.5 and at 3.5: the lower, as BBR
        ("error", "++--", 0.0),  # everything or nothing, two errors each: everything
        ("error", "+---", 5.0),  # nothing
        ("f1", "+---", 0.0),
        ("f1", "-+-+", 1.5),
        ("ber", "+--+", 3.5),
        ("t11u", "+---", 5.0),  # 2 − 3 < 0
        ("t13u", "+---", 0.0),
        (Utility(tp=1, fp=-1), "-+-+", 1.5),
        (Utility(tn=1), "-+-+", 3.5),
        (Utility(tn=1), "-++-", 5.0),
        (Utility(), "-+-+", 0.0),
    ],
)
def test_by_hand(rule: Any, labels: str, threshold: float) -> None:
    y = [1 if sign == "+" else -1 for sign in labels]
    assert tune(rule, [1.0, 2.0, 3.0, 4.0], y) == threshold


@pytest.mark.parametrize("rule", RULES)
@given(batch=batches())
def test_no_cut_is_better(rule: Any, batch: tuple[np.ndarray, np.ndarray]) -> None:
    scores, y = batch
    cut = tune(rule, scores, y)
    assert np.isfinite(cut)
    value = VALUES[rule]
    reached = {t: value(y, scores > t) for t in [-1e9, *sorted(set(scores))]}
    best = max(reached.values())
    assert value(y, scores > cut) == pytest.approx(best)
    # Of equals the lowest: every cut below it is worse.
    for t, result in reached.items():
        if np.sum(scores > t) > np.sum(scores > cut):
            assert result < best - 1e-12


@pytest.mark.parametrize("rule", RULES)
@given(batch=batches())
def test_only_the_order_of_scores_matters(rule: Any, batch: tuple[np.ndarray, np.ndarray]) -> None:
    scores, y = batch
    _, ranks = np.unique(scores, return_inverse=True)
    yes = scores > tune(rule, scores, y)
    for moved in (ranks.astype(float), np.exp(ranks), ranks * 1e-9 - 7.0, ranks * 1e300):
        np.testing.assert_array_equal(moved > tune(rule, moved, y), yes)
    backwards = slice(None, None, -1)
    assert tune(rule, scores[backwards], np.where(y, 1, -1)[backwards]) == tune(rule, scores, y)


@pytest.mark.parametrize("rule", [*RULES, Utility(tp=3, fp=-2, fn=-1, tn=0.5)])
@given(batch=batches(), data=st.data())
def test_weights_are_copies(rule: Any, batch: tuple[np.ndarray, np.ndarray], data: Any) -> None:
    scores, y = batch
    copies = data.draw(arrays(int, len(y), elements=st.integers(0, 3)))
    repeated = np.repeat(np.arange(len(y)), copies)
    expected = tune(rule, scores[repeated], y[repeated]) if y[repeated].any() else np.inf
    weighted = tune(rule, scores, y, sample_weight=copies)
    assert weighted == expected
    if np.isfinite(expected):  # the unit of weight is no matter, even one that rounds
        assert tune(rule, scores, y, sample_weight=copies * 0.1) == weighted


@pytest.mark.parametrize("rule", [*RULES, Utility(tp=1)])
def test_without_positives_nobody_is_let_in(rule: Any) -> None:
    for y in ([-1, -1], [0, 0], [False, False]):
        assert tune(rule, [1.0, 2.0], y) == np.inf
    assert tune(rule, [], []) == np.inf
    assert tune(rule, [1.0, 2.0], [0, 1], sample_weight=[1, 0]) == np.inf


@pytest.mark.parametrize("rule", RULES)
def test_without_negatives_everybody_is(rule: Any) -> None:
    assert tune(rule, [1.0, 2.0], [1, 1]) == 0.0


def test_scores_with_no_room_between() -> None:
    low = 1.0
    high = np.nextafter(low, 2.0)
    for a, b in [(low, high), (0.0, 5e-324), (-1e308, 1.7e308), (-1e17, 1e17), (1e308, 1.7e308)]:
        cut = tune("error", [a, b], [0, 1])
        assert not a > cut
        assert b > cut
        assert a > tune("error", [a, b], [1, 1]) > -np.inf
        assert not b > tune("error", [a, b, b, b], [1, 0, 0, 0]) < np.inf


def test_complaints() -> None:
    with pytest.raises(SettingsError, match=r"error, f1, ber, t11u, t13u or a Utility, got 'F1'"):
        tune("F1", [1.0], [1])  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="finite"):
        Utility(tp=np.inf)
    with pytest.raises(InputError, match="finite score"):
        tune("f1", [1.0, np.nan], [0, 1])
    with pytest.raises(InputError, match="as many labels"):
        tune("f1", [1.0, 2.0], [1])
    with pytest.raises(InputError, match="booleans"):
        tune("f1", [1.0, 2.0], ["a", "a"])


def by_enumeration(p: np.ndarray, yes: np.ndarray, undefined: float = 1.0) -> float:
    """Expected F1 of the decisions `yes`, over all 2ⁿ labellings."""
    labels = np.array(list(itertools.product([False, True], repeat=len(p))))
    chance = np.prod(np.where(labels, p, 1 - p), axis=1)
    whole = labels.sum(axis=1) + yes.sum()
    f1 = np.where(whole > 0, 2 * (labels & yes).sum(axis=1) / np.maximum(whole, 1), undefined)
    return float(chance @ f1)


chances = st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.5, 0.5, 0.9, 1.0]) | st.floats(0, 1)


@given(arrays(float, st.integers(1, 6), elements=chances), st.sampled_from([1.0, 0.0]))
def test_no_set_of_documents_expects_more(p: np.ndarray, undefined: float) -> None:
    yes = expected_f1(p, undefined=undefined)
    every = (np.array(s) for s in itertools.product([False, True], repeat=len(p)))
    best = max(by_enumeration(p, s, undefined) for s in every)
    assert by_enumeration(p, yes, undefined) == pytest.approx(best, abs=1e-12)


@given(arrays(float, st.integers(1, 10), elements=chances))
def test_no_cut_expects_more(p: np.ndarray) -> None:
    yes = expected_f1(p)
    cuts = [p >= t for t in set(p)] + [np.zeros(len(p), dtype=bool)]
    assert by_enumeration(p, yes) == pytest.approx(max(by_enumeration(p, cut) for cut in cuts), abs=1e-12)
    assert not yes[p == 0].any()
    assert not yes.any() or (yes == (p >= p[yes].min())).all()  # a cut, and equals are decided alike
    np.testing.assert_array_equal(expected_f1(p[::-1]), yes[::-1])


@given(arrays(float, st.integers(1, 9), elements=chances.filter(bool)), st.data())
def test_every_cut_is_worked_out_exactly(p: np.ndarray, data: Any) -> None:
    p = np.sort(p)[::-1]
    last = data.draw(st.integers(0, len(p)))
    result = rule._exact(p, last, len(p) - last)
    every = [by_enumeration(p, np.arange(len(p)) < k) for k in range(1, last + 1)]
    assert result.tolist() == pytest.approx(every, abs=1e-13)


def test_far_documents_do_not_blur_the_exact_value() -> None:
    """The count among 3000 documents that cannot be chosen, cut off where it is all but impossible."""
    p = np.concatenate([[0.9, 0.7, 0.4], np.full(3000, 1e-3)])
    spare = rule._largest_count(3.0, 3000)
    assert spare < 60
    cut_off, whole = rule._exact(p, 3, spare), rule._exact(p, 3, 3000)
    np.testing.assert_allclose(cut_off, whole, rtol=1e-12)


def test_large_batches_use_the_ratio_of_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    p = np.random.default_rng(3).beta(0.3, 2.0, size=3000)
    exact = expected_f1(p)
    monkeypatch.setattr(rule, "EXACT_CUTS", 10)
    ratio = expected_f1(p)
    ranked = np.sort(p)[::-1]
    k = 1 + np.argmax(2 * np.cumsum(ranked) / (np.arange(1, 3001) + p.sum()))
    assert ratio.sum() == k
    assert abs(exact.sum() - k) <= 2


def test_the_threshold_depends_on_the_batch() -> None:
    """Lewis 1995: no one threshold is best for all batches."""
    assert expected_f1([0.4, 0.01]).tolist() == [False, False]
    assert expected_f1([0.4, 0.4, 0.4, 0.4]).tolist() == [True] * 4
    assert expected_f1([0.4, 1.0, 1.0, 1.0]).tolist() == [False, True, True, True]


def test_batches_of_little() -> None:
    assert expected_f1([]).tolist() == []
    assert expected_f1([0.0, 0.0]).tolist() == [False, False]
    assert expected_f1([0.0, 0.0], undefined=0.0).tolist() == [False, False]
    assert expected_f1([1.0, 0.0]).tolist() == [True, False]
    assert expected_f1([1e-300]).tolist() == [False]
    assert expected_f1([1e-300], undefined=0.0).tolist() == [True]
    assert expected_f1(np.zeros(100_000)).sum() == 0
    assert expected_f1(np.full(100_000, 0.5)).all()
    for wrong in ([0.5, np.nan], [1.5], [-0.1], [[0.5]]):
        with pytest.raises(InputError, match="one probability"):
            expected_f1(wrong)
    with pytest.raises(SettingsError, match="undefined"):
        expected_f1([0.5], undefined=2.0)
