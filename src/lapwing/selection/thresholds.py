"""Where to cut: from scores and probabilities to decisions, for one category at a time.

`tune` looks for the threshold that would have been best on documents whose labels are known (GLM07 section
5.5; BBR's option -t). `expected_f1` (model/expected_f1.py) needs no labels and no threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lapwing.errors import InputError, SettingsError
from lapwing.selection._labels import positives, weights


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
        raise InputError(f"expected labels ±1, 0/1 or booleans, got type {np.asarray(y).dtype}; pass y == category")
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
