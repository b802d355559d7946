"""Whether probabilities keep their word: how often what was given the probability p came true.

Probabilities are sorted into bins, narrower towards 0 and 1, where most of what a text classifier says lies. With n_b
probabilities of mean p_b in bin b, a share s_b of which came true, the expected calibration error is
Σ_b n_b |p_b − s_b| / Σ_b n_b. It is not 0 even where every probability is right: n_b s_b is then close to a binomial
variable X, and

    E|X − np| = 2 (k+1) C(n, k+1) p^{k+1} (1−p)^{n−k},   k = ⌊np⌋     (de Moivre)

gives what to expect of it by chance. Bands of shares are Wilson's. Log loss and Brier score are set beside those of who
knows how frequent every category is here and always says just that: 1 is no better, 0 is perfect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

EDGES = (0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0)
BINS = len(EDGES) - 1
LEAST = float(np.finfo(np.float64).eps)  # a probability of 0 counts as this much in a logarithm
BAND = 1.959963984540054  # standard errors to each side: 95 %
LIMIT = 1.6448536269514722  # 95 % of a normal variable lie below

HELD = 2**22  # probabilities that are looked at together
N, P, TRUE, LOSS_IN, LOSS_OUT, SQUARE = range(6)  # columns of a tally


def tally(proba: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(categories, BINS, 6) of (documents, categories) probabilities and membership; tallies of other documents add up.

    Of every bin: its documents, the sum of their p, how many are in the category, the log loss of these, that of the
    others, and the squared error.
    """
    documents, categories = proba.shape
    step = max(HELD // max(documents, 1), 1)
    if categories > step:
        parts = [slice(first, first + step) for first in range(0, categories, step)]
        return np.concatenate([tally(proba[:, part], truth[:, part]) for part in parts])
    place = np.searchsorted(EDGES[1:-1], proba, side="right") + BINS * np.arange(categories)
    loss = -np.log(np.maximum(np.where(truth, proba, 1.0 - proba), LEAST))
    error = np.where(truth, 1.0 - proba, proba) ** 2
    columns = (None, proba, truth, np.where(truth, loss, 0.0), np.where(truth, 0.0, loss), error)
    sums = [np.bincount(place.ravel(), None if one is None else one.ravel(), BINS * categories) for one in columns]
    return np.stack(sums, axis=-1).reshape(categories, BINS, 6)


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % band of a share seen in n documents (Wilson 1927)."""
    z = BAND * BAND / n
    centre, half = share + z / 2.0, BAND * math.sqrt(share * (1.0 - share) / n + z / (4.0 * n))
    return max(0.0, (centre - half) / (1.0 + z)), min(1.0, (centre + half) / (1.0 + z))


@dataclass(frozen=True)
class Bin:
    """Probabilities from `low` to `high`: how many, their mean, the share that came true and its 95 % band."""

    low: float
    high: float
    documents: int
    probability: float
    share: float
    band: tuple[float, float]

    def sentence(self) -> str:
        low, high = (f"{100 * share:.1f}" for share in self.band)
        return (
            f"of the {self.documents:,} given {span(self.low, self.high)}, {100 * self.share:.1f} % "
            f"were in the category (95 % band {low} to {high})"
        )


def span(low: float, high: float) -> str:
    return f"{100 * low:g} to {100 * high:g} %"


@dataclass(frozen=True)
class Reliability:
    """One category, or several together.

    bins            (BINS, 3): probabilities in it, their sum, how many came true
    log_loss, brier   the mean over documents; over several categories of the sum over them, where classes exclude each
                    other the log loss is that of the right class
    base_log_loss, base_brier   the same of who always says how frequent each category is among these documents
    """

    bins: np.ndarray
    log_loss: float
    base_log_loss: float
    brier: float
    base_brier: float

    @classmethod
    def of(cls, counts: np.ndarray) -> Reliability:
        """From one category of a tally."""
        n, _, members, inside, outside, square = counts.sum(axis=0)
        share = members / n if n else math.nan
        base = -share * _ln(share) - (1.0 - share) * _ln(1.0 - share)
        mean = 1.0 / n if n else math.nan
        return cls(counts[:, :3], (inside + outside) * mean, base, square * mean, share * (1.0 - share))

    @classmethod
    def pooled(cls, counts: np.ndarray, exclusive: bool) -> Reliability:
        """From a tally, all categories together."""
        parts = [cls.of(one) for one in counts]
        loss, base, brier, base_brier = (
            sum(getattr(one, name) for one in parts) for name in ("log_loss", "base_log_loss", "brier", "base_brier")
        )
        if exclusive:  # documents of none of the classes have no right one
            members = counts[:, :, TRUE].sum(axis=1)
            n = members.sum()
            loss = counts[:, :, LOSS_IN].sum() / n if n else math.nan
            base = -sum(m / n * _ln(m / n) for m in members if m)
        return cls(counts[:, :, :3].sum(axis=0), loss, base, brier, base_brier)

    @property
    def relative_log_loss(self) -> float:
        return self.log_loss / self.base_log_loss if self.base_log_loss else math.nan

    @property
    def relative_brier(self) -> float:
        return self.brier / self.base_brier if self.base_brier else math.nan

    def reliability(self) -> list[Bin]:
        """Every bin with something in it."""
        bins = []
        for k, (n, total, members) in enumerate(self.bins.tolist()):
            if n:
                share = members / n
                bins.append(Bin(EDGES[k], EDGES[k + 1], int(n), total / n, share, wilson(share, int(n))))
        return bins

    @property
    def error(self) -> float:
        """The expected calibration error."""
        n, said, true = self.bins.sum(axis=0)[0], self.bins[:, P], self.bins[:, TRUE]
        return float(np.abs(said - true).sum() / n) if n else math.nan

    def chance(self) -> tuple[float, float]:
        """The error that probabilities without fault would show: its mean, and what it exceeds once in twenty times.

        As if all the probabilities of a bin were their mean, and one told nothing of another.
        """
        mean = variance = total = 0.0
        for n, said, _ in self.bins.tolist():
            if n:
                p = said / n
                deviation = mean_deviation(int(n), p)
                mean, variance, total = mean + deviation, variance + n * p * (1.0 - p) - deviation**2, total + n
        if not total:
            return math.nan, math.nan
        return mean / total, (mean + LIMIT * math.sqrt(max(variance, 0.0))) / total

    def sentence(self) -> str:
        """How sure answers fared: those given 90 to 99 %, or else what comes nearest from above ½."""
        sure = [one for one in self.reliability() if one.low >= 0.5]
        if not sure:
            return "none was given more than 50 %"
        return min(sure, key=lambda one: abs(one.low - 0.9)).sentence()

    def to_dict(self) -> dict[str, Any]:
        mean, limit = self.chance()
        return {
            "log_loss": self.log_loss,
            "relative_log_loss": self.relative_log_loss,
            "brier": self.brier,
            "relative_brier": self.relative_brier,
            "expected_calibration_error": self.error,
            "by_chance": {"mean": mean, "at_most": limit},
            "reliability": [
                {"from": one.low, "to": one.high, "documents": one.documents, "probability": one.probability,
                 "share": one.share, "band": list(one.band)}
                for one in self.reliability()
            ],
        }  # fmt: skip


def mean_deviation(n: int, p: float) -> float:
    """E|X − np| of a binomial variable."""
    if p <= 0.0 or p >= 1.0:
        return 0.0
    k = min(math.floor(n * p), n - 1)
    choose = math.lgamma(n + 1) - math.lgamma(k + 2) - math.lgamma(n - k)
    return 2.0 * (k + 1) * math.exp(choose + (k + 1) * math.log(p) + (n - k) * math.log1p(-p))


def _ln(share: float) -> float:
    return math.log(share) if share > 0.0 else 0.0


def calibration(truth: Any, proba: Any, *, exclusive: bool = False) -> tuple[Reliability, Sequence[Reliability]]:
    """All categories together, and each by itself, of (documents, categories) membership and probabilities."""
    counts = tally(np.asarray(proba, dtype=np.float64), np.asarray(truth, dtype=bool))
    return Reliability.pooled(counts, exclusive), [Reliability.of(one) for one in counts]
