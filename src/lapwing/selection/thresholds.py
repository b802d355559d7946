"""Where to cut: from scores and probabilities to decisions, for one category at a time.

`tune` looks for the threshold that would have been best on documents whose labels are known (GLM07 section
5.5; BBR's option -t). `expected_f1` needs no labels: it takes a whole batch of probabilities at their word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lapwing.errors import InputError, SettingsError
from lapwing.selection._labels import positives, weights

EXACT_CUTS = 2000  # expected_f1: at most so many cuts, and
EXACT_WORK = 20_000_000  # so many terms of the remaining documents' count, are worked out exactly
LOST = 40.0  # counts less likely than e^−40 are left out: below the rounding of the sums they would join


@dataclass(frozen=True)
class Utility:
    """What a document in each of the four cells is worth: tp·TP + fp·FP + fn·FN + tn·TN."""

    tp: float = 0.0
    fp: float = 0.0
    fn: float = 0.0
    tn: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite([self.tp, self.fp, self.fn, self.tn]).all():
            raise SettingsError(f"a utility has four finite numbers, got {self}")

    def __call__(self, tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, tn: np.ndarray) -> np.ndarray:
        return self.tp * tp + self.fp * fp + self.fn * fn + self.tn * tn


def _f1(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, tn: np.ndarray) -> np.ndarray:
    """GLM07 Eq. 34. Its denominator is 0 only where nothing is to be found, and `tune` has dealt with that."""
    return 2 * tp / (2 * tp + fp + fn)


def _ber(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, tn: np.ndarray) -> np.ndarray:
    """−(FP/(FP+TN) + FN/(FN+TP))/2, times twice the product of its denominators: whole numbers stay whole."""
    return -(fp * (tp + fn) + fn * (tn + fp))


Rule = Literal["error", "f1", "ber", "t11u", "t13u"]
RULES: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "error": Utility(fp=-1, fn=-1),
    "f1": _f1,
    "ber": _ber,
    "t11u": Utility(tp=2, fp=-1),
    "t13u": Utility(tp=20, fp=-1),
}


def tune(rule: Rule | Utility, scores: Any, y: Any, sample_weight: Any = None) -> float:
    """The threshold t for which deciding yes where score > t is best by `rule`:

        error  fewest FP + FN                    t11u  largest 2TP − FP
        f1     largest 2TP/(2TP + FP + FN)       t13u  largest 20TP − FP
        ber    smallest mean of FP/(FP+TN) and FN/(FN+TP)

    or the largest of any `Utility`. Every cut is tried, O(n log n): below the smallest score (by 1), midway
    between neighbouring distinct scores, above the largest (by 1). Of equally good ones the lowest is
    taken, which says yes most often; BBR does the same. Without a positive document it is +inf: a
    category never seen is never assigned.

    scores         (n,) finite
    y              (n,) ±1, 0/1 or bool
    sample_weight  (n,) ≥ 0; a document of weight 0 is as good as absent
    """
    value_of = _value(rule)
    scores, inside, weight = _batch(scores, y, sample_weight)
    if not inside.any():
        return float("inf")
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    # How many documents lie below each cut: none, then up to the end of each run of equal scores.
    below = np.concatenate([[0], np.flatnonzero(ranked[1:] != ranked[:-1]) + 1, [len(ranked)]])
    fn = np.concatenate([[0.0], np.cumsum(weight[order] * inside[order])])[below]
    tn = np.concatenate([[0.0], np.cumsum(weight[order] * ~inside[order])])[below]
    value = value_of(fn[-1] - fn, tn[-1] - tn, fn, tn)
    best = int(np.argmax(value >= value.max() - _rounding(value, weight)))
    if best == 0:
        return float(min(ranked[0] - 1.0, np.nextafter(ranked[0], -np.inf)))
    if best == len(below) - 1:
        return float(max(ranked[-1] + 1.0, ranked[-1]))
    return _midway(float(ranked[below[best] - 1]), float(ranked[below[best]]))


def expected_f1(probabilities: Any, *, undefined: float = 1.0) -> np.ndarray:
    """(n,) bool: the decisions for a batch whose expected F1 is largest, labels being independent with these
    probabilities (GLM07 section 5.5 after Lewis 1995). The best set of k documents is always the k most probable:

        E F1(k) = E[ 2A / (k + A + B) ],   A of the k chosen and B of the n − k others in the category
        E F1(0) = undefined · Π (1 − p_i),  as F1 counts 1 (`undefined`) where there was nothing to find

    This is worked out exactly for every cut that can still win by the bounds of `_cuts_to_try`. Where
    those are more than `EXACT_CUTS`, or the documents behind them times the positives expected there more
    than `EXACT_WORK`, the ratio of expectations 2·Σ_{i≤k} p_i / (k + Σ p_i) stands in for k > 0 (Lewis
    1995 Eq. 17). Of equally good cuts the one that says yes most often is taken, but a document of
    probability 0 never is, and documents of equal probability are decided alike.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise InputError(
            f"expected one probability from 0 to 1 per document, got shape {given.shape}, or others among them; "
            "pass one category of predict_proba"
        )
    if not 0 <= undefined <= 1:
        raise SettingsError(
            f"undefined, F1 where nothing is to be found, is 0 to 1, got {undefined!r}; GLM07 has 1"
        )
    p = np.sort(given[given > 0])[::-1]
    if not len(p):
        return np.zeros(len(given), dtype=bool)
    none = undefined * float(np.prod(1.0 - p))
    last = _cuts_to_try(p, none)
    spare = _largest_count(float(p[last:].sum()), len(p) - last)
    if last <= EXACT_CUTS and len(p) * spare <= EXACT_WORK:
        values = _exact(p, last, spare)
    else:
        values = 2.0 * np.cumsum(p) / (np.arange(1, len(p) + 1) + p.sum())
    # Cuts at the end of a run of equal probabilities only.
    values[p[: len(values)] == np.append(p[1:], 0.0)[: len(values)]] = -1.0
    values = np.concatenate([[none], values])
    k = len(values) - 1 - int(np.argmax(values[::-1] >= values.max() * (1 - 1e-12)))
    return given >= p[k - 1] if k else np.zeros(len(given), dtype=bool)


def _value(rule: Any) -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    if isinstance(rule, Utility):
        return rule
    if not isinstance(rule, str) or rule not in RULES:
        raise SettingsError(f"a threshold is tuned by one of {', '.join(RULES)} or a Utility, got {rule!r}")
    return RULES[rule]


def _batch(scores: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, membership and weight of the documents that have weight."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise InputError(f"expected one finite score per document, got shape {scores.shape}, or others among them")
    if np.asarray(y).dtype.kind not in "biuf":
        raise InputError(
            f"expected labels ±1, 0/1 or booleans, got type {np.asarray(y).dtype}; pass y == category"
        )
    inside = positives(y)
    if len(inside) != len(scores):
        raise InputError(f"expected as many labels as scores, got {len(inside)} for {len(scores)}")
    weight = weights(sample_weight, len(scores))
    counts = weight > 0
    return scores[counts], inside[counts], weight[counts]


def _rounding(value: np.ndarray, weight: np.ndarray) -> float:
    """By how much equal values may differ after the sums: not at all where all weights are whole."""
    if (weight == np.round(weight)).all():
        return 0.0
    return float(len(weight) * np.finfo(float).eps * np.abs(value).max())


def _midway(low: float, high: float) -> float:
    """(low + high)/2, kept within [low, high) where the sum overflows or the two have nothing between them."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def _cuts_to_try(p: np.ndarray, none: float) -> int:
    """The last k > 0, or 0, at which E F1 can be largest; p descending. With S_k = Σ_{i≤k} p_i and S = S_n,

        2S_k/(k + 1 + S)  ≤  E F1(k)  ≤  2S_k/(k + S_k)

    by Jensen: given that document i is in the category, 1/(k + 1 + the others) is convex; a/(k + a) is
    concave. The upper bound falls with k: past the last k where it reaches the best lower one nothing wins.
    """
    k = np.arange(1, len(p) + 1)
    sums = np.cumsum(p)
    reached = max(none, float((2 * sums / (k + 1 + sums[-1])).max()))
    possible = np.flatnonzero(2 * sums / (k + sums) >= reached * (1 - 1e-12))
    return int(possible[-1]) + 1 if len(possible) else 0


def _largest_count(mean: float, n: int) -> int:
    """A number that n independent labels with this mean exceed with probability below e^−40 (Bernstein)."""
    return min(n, int(np.ceil(mean + LOST / 3 + np.sqrt((LOST / 3) ** 2 + 2 * LOST * mean))))


def _exact(p: np.ndarray, last: int, spare: int) -> np.ndarray:
    """E F1(k) for k = 1 … last, O(n·spare + last²); p descending, `spare` bounds the positives after `last`.

    E F1(k) = Σ_a 2a P(A_k = a) s_k(k + a),    s_k(m) = E[1/(m + B_k)]
    P(A_k = a) = p_k P(A_{k−1} = a−1) + (1−p_k) P(A_{k−1} = a)
    s_{k−1}(m) = p_k s_k(m+1) + (1−p_k) s_k(m)
    """
    heads = [np.ones(1)]
    for chance in p[:last]:
        heads.append(np.append((1.0 - chance) * heads[-1], 0.0) + np.append(0.0, chance * heads[-1]))
    tail = _count_distribution(p[last:], spare)
    # s[m − 1] = Σ_b P(B = b)/(m + b) for m = 1 … 2·last
    s = np.correlate(1.0 / np.arange(1, 2 * last + len(tail)), tail, mode="valid")
    values = np.empty(last)
    for k in range(last, 0, -1):
        values[k - 1] = 2.0 * (np.arange(1, k + 1) * heads[k][1:]) @ s[k : 2 * k]
        s = p[k - 1] * s[1:] + (1.0 - p[k - 1]) * s[:-1]
    return values


def _count_distribution(p: np.ndarray, largest: int) -> np.ndarray:
    """P(Σ b_i = 0 … largest) of independent b_i with P(b_i = 1) = p_i, of which more are (nearly) impossible:

    (1/L) Σ_l e^{−2πi l b/L} Π_i (1 − p_i + p_i e^{2πi l/L}),    L = largest + 1
    """
    length = largest + 1
    turn = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length) - 1.0
    product = np.ones(len(turn), dtype=complex)
    rows = max(1, 2**20 // len(turn))
    for start in range(0, len(p), rows):
        product *= np.prod(1.0 + p[start : start + rows, None] * turn, axis=0)
    return np.maximum(np.fft.irfft(product, length), 0.0)
