"""Two methods over the same categories: how often each wins, and whether that could be chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.errors import InputError

EXACT_PAIRS = 50


@dataclass(frozen=True)
class Comparison:
    """Categories on which the first method did better, worse and equally well; two-sided p-value.

    statistic  the smaller of the two sums of signed ranks, W⁺ and W⁻
    """

    won: int
    lost: int
    tied: int
    p_value: float
    statistic: float


def compare(errors_a: Any, errors_b: Any, *, larger_is_better: bool = False) -> Comparison:
    """Wilcoxon's matched-pairs signed-ranks test of a against b, one pair per category (GLM07 section 6.1).

        W⁺ = Σ_{d_c > 0} rank(|d_c|),   W⁻ = Σ_{d_c < 0} rank(|d_c|),   d = a − b

    over the categories with d_c ≠ 0, equal |d_c| sharing their mean rank. The p-value is exact for up to
    50 different |d_c| without ties, otherwise from the normal approximation, corrected for ties, not for
    continuity. All pairs equal: p = 1.

    errors_a, errors_b  (categories,) what a and b reached; fewer is better unless `larger_is_better` (F1)
    """
    a, b = np.asarray(errors_a, dtype=np.float64), np.asarray(errors_b, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"expected two lists of equal length, one entry per category, got {a.shape} and {b.shape}")
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        raise InputError("expected finite numbers; leave out categories for which a method has none")
    difference = a - b
    better = difference > 0 if larger_is_better else difference < 0
    untied = difference[difference != 0]
    won = int(better.sum())
    p_value, statistic = _signed_ranks(untied)
    return Comparison(won, len(untied) - won, len(a) - len(untied), p_value, statistic)


def _signed_ranks(difference: np.ndarray) -> tuple[float, float]:
    if not len(difference):
        return 1.0, 0.0
    from scipy.stats import wilcoxon  # takes half a second to import

    # Said here and not left to SciPy, whose releases choose differently where differences are tied.
    distinct = len(np.unique(np.abs(difference))) == len(difference)
    method = "exact" if distinct and len(difference) <= EXACT_PAIRS else "approx"
    result = wilcoxon(difference, zero_method="wilcox", correction=False, method=method)
    return float(result.pvalue), float(result.statistic)
