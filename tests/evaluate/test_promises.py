"""Statements with a number in docs and reports, counted on unbalanced classes, several labels and rare categories.

The population is made, so that what is true of it is known: `SHARES` from 20 % of documents to 0.2 %, probabilities
that are right, and a second model whose scores are those of the first with noise. `benchmarks/statements.py` counts
the same with more draws.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, softmax

from lapwing.evaluate.calibration import Reliability, tally
from lapwing.evaluate.comparison import Judged, bootstrap, mcnemar
from lapwing.model.conformal import Conformal

SHARES = np.geomspace(0.2, 0.002, 24)
SPREAD = 2.5  # standard deviation of scores
LARGE = 60_000  # documents that stand for all there are
kinds = pytest.mark.parametrize("exclusive", [False, True], ids=["several labels", "exclusive"])


def documents(count: int, exclusive: bool, generator: np.random.Generator) -> tuple[Judged, Judged]:
    """What two models make of the same documents; the probabilities of the first are right."""
    scores = np.log(SHARES / (1.0 - SHARES)) - 1.5 + SPREAD * generator.standard_normal((count, len(SHARES)))
    noisy = scores + generator.standard_normal(scores.shape)
    if not exclusive:
        truth = generator.random(scores.shape) < expit(scores)
        return tuple(Judged(expit(one), one > 0.0, truth, False) for one in (scores, noisy))  # type: ignore[return-value]
    at = np.arange(len(SHARES))
    proba = softmax(scores, axis=1)
    drawn = (proba.cumsum(axis=1) < generator.random((count, 1))).sum(axis=1)
    truth = np.minimum(drawn, len(SHARES) - 1)[:, None] == at
    return tuple(
        Judged(softmax(one, axis=1), one.argmax(axis=1)[:, None] == at, truth, True) for one in (scores, noisy)
    )  # type: ignore[return-value]


@cache
def everything(exclusive: bool) -> tuple[Judged, Judged]:
    return documents(LARGE, exclusive, np.random.default_rng(0))


def compared(exclusive: bool, draws: int, size: int = 400) -> Counter[str]:
    """How many intervals of `compare` hold the difference in all documents; of F1 by the documents in the category."""
    generator, found = np.random.default_rng(1), Counter[str]()
    whole = everything(exclusive)
    true, by_category = bootstrap(*whole, resamples=2)
    for _ in range(draws):
        pair = documents(size, exclusive, generator)
        measures, categories = bootstrap(*pair, resamples=300, seed=int(generator.integers(1 << 30)))
        held = {name: (one, true[name].difference) for name, one in measures.items()}
        for k, positives in enumerate(pair[0].truth.sum(axis=0).tolist()):
            size_of = "F1 from 20" if positives >= 20 else "F1 of 5 to 19" if positives >= 5 else "F1 below 5"
            held[f"{size_of} {k}"] = categories[k], by_category[k].difference
        for name, (one, difference) in held.items():
            kind = name.rsplit(" ", 1)[0] if name.startswith("F1") else name
            found[f"{kind} all"] += 1
            found[f"{kind} held"] += one.low - 1e-12 <= difference <= one.high + 1e-12
    return found


def equally_good(exclusive: bool, draws: int, size: int = 400) -> int:
    """How often McNemar's p-value is at most 5 % for two models that are as good as each other."""
    generator, below = np.random.default_rng(2), 0
    for _ in range(draws):
        a, b = (one.wrong for one in documents(size, exclusive, generator))
        swapped = generator.random(size) < 0.5
        a, b = np.where(swapped, b, a), np.where(swapped, a, b)
        below += mcnemar(int((a & ~b).sum()), int((b & ~a).sum())) <= 0.05
    return below


def calibrated(exclusive: bool, draws: int, size: int = 400) -> Counter[str]:
    """Bands of reliability that hold the mean probability, and calibration errors beyond `at_most`, of right ones."""
    generator, found = np.random.default_rng(3), Counter[str]()
    for _ in range(draws):
        first = documents(size, exclusive, generator)[0]
        result = Reliability.pooled(tally(first.proba, first.truth), exclusive)
        for one in result.reliability():
            found["bands"] += 1
            found["bands held"] += one.band[0] <= one.probability <= one.band[1]
        mean, most = result.chance()
        found["errors"] += 1
        found["errors beyond"] += result.error > most
        found["errors above the mean"] += result.error > mean
    return found


def promised(exclusive: bool, draws: int, size: int = 1000) -> tuple[dict[float, float], Counter[str]]:
    """Mean coverage in all documents of sets promised from `size`, and promises of precision made and broken, of the
    second model, whose probabilities are not right."""
    generator, covered, found = np.random.default_rng(4), dict.fromkeys((0.8, 0.9, 0.95), 0.0), Counter[str]()
    whole = everything(exclusive)[1]
    for _ in range(draws):
        own = documents(size, exclusive, generator)[1]
        conformal = Conformal.of(own.proba, own.truth, exclusive, "held-out")
        for rate in covered:
            covered[rate] += float((~whole.truth | conformal.sets(whole.proba, rate)).all(axis=1).mean()) / draws
        for precision in (0.5, 0.6, 0.7):
            sure = conformal.sure(whole.proba, precision)
            groups = [slice(None)] if exclusive else [slice(k, k + 1) for k in range(len(SHARES))]
            for group in groups:
                taken = int(sure[:, group].sum())
                if taken:
                    found["made"] += 1
                    found["broken"] += int((sure & whole.truth)[:, group].sum()) < precision * taken
    return covered, found


@kinds
def test_intervals_of_differences(exclusive: bool) -> None:
    found = compared(exclusive, 60)
    for name in [name.removesuffix(" all") for name in found if name.endswith(" all")]:
        assert found[f"{name} held"] >= 0.87 * found[f"{name} all"], (name, found)


@kinds
def test_two_models_as_good_as_each_other_seldom_differ(exclusive: bool) -> None:
    assert equally_good(exclusive, 400) <= 32  # 5 % and 2.7 standard deviations


@kinds
def test_bands_and_errors_of_probabilities_that_are_right(exclusive: bool) -> None:
    found = calibrated(exclusive, 200)
    assert found["bands held"] >= 0.93 * found["bands"], found
    assert found["errors beyond"] <= 20, found


@kinds
def test_sets_and_precisions(exclusive: bool) -> None:
    covered, found = promised(exclusive, 30)
    for rate, share in covered.items():
        assert rate - 0.01 <= share <= rate + 0.011, covered
    assert found["made"] >= 20
    assert found["broken"] <= 0.1 * found["made"] + 3 * np.sqrt(0.09 * found["made"]), found
