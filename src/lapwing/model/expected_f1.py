"""Decisions for a whole batch at once: the cut whose expected F1 is largest, probabilities taken at their word."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.errors import InputError, SettingsError

EXACT_CUTS = 2000  # expected_f1: at most so many cuts, and
EXACT_WORK = 20_000_000  # so many terms of the remaining documents' count, are worked out exactly
LOST = 40.0  # counts less likely than e^−40 are left out: below the rounding of the sums they would join


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
        raise SettingsError(f"undefined, F1 where nothing is to be found, is 0 to 1, got {undefined!r}; GLM07 has 1")
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
