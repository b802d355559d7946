"""What it buys to answer only where the model is sure, and whether promised coverages were kept.

A document's decision is its class, or its whole set of categories. Taken surest first, the share answered is the
*coverage* of answering and the share of these that is wrong the *risk* (El-Yaniv and Wiener 2010). How sure a decision
is, is the probability that the model gives it: that of the class, or the product over categories as if they were
independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing.model.conformal import Conformal

RATES = (0.8, 0.9, 0.95, 0.99)  # of coverage at which promises are looked at
POINTS = 100  # of a curve
LEAST = float(np.finfo(np.float64).tiny)
OWN = 0.5  # share of documents that the promises come from, above which these say nothing of them
DIGITS = 12  # by which probabilities are known again


class Selective:
    """Collected block by block, of documents or of categories: `surety`, `wrong`, and of every promise its sets."""

    def __init__(self, n: int, exclusive: bool, conformal: Conformal | None) -> None:
        self.exclusive = exclusive
        self.surety, self.wrong = np.zeros(n), np.zeros(n, dtype=bool)
        self.unknown = np.zeros(n, dtype=bool)  # documents of none of the exclusive classes
        self.conformal, self.least = conformal, np.full(n, 2.0)  # probability of a label of the document
        self.own = float("nan")  # share of the documents that the promises come from
        self.levels = [] if conformal is None else [conformal.level(rate) for rate in RATES]
        self.sizes = np.zeros((len(self.levels), n), dtype=np.int64)
        self.missed = np.zeros((len(self.levels), n), dtype=bool)

    def add(self, rows: slice, proba: np.ndarray, truth: np.ndarray, chosen: np.ndarray) -> None:
        """(documents, categories) probabilities, membership and decisions, of some of either."""
        said = np.where(chosen, proba, 1.0 if self.exclusive else 1.0 - proba)
        self.surety[rows] += np.log(np.maximum(said, LEAST)).sum(axis=1)
        self.wrong[rows] |= (chosen != truth).any(axis=1)
        if self.exclusive:
            self.unknown[rows] = ~truth.any(axis=1)
        self.least[rows] = np.minimum(self.least[rows], np.where(truth, proba, 2.0).min(axis=1, initial=2.0))
        for k, level in enumerate(self.levels):
            inside = 1.0 - proba <= level
            self.sizes[k, rows] += inside.sum(axis=1)
            self.missed[k, rows] |= (truth & ~inside).any(axis=1)

    def risk_coverage(self) -> list[tuple[float, float]]:
        """(coverage, risk), surest first; of equally sure documents, as they come."""
        n = len(self.wrong)
        errors = np.cumsum(self.wrong[np.argsort(-self.surety, kind="stable")])
        places = np.unique(np.linspace(1, n, min(POINTS, n)).round().astype(int))
        return [(place / n, errors[place - 1] / place) for place in places.tolist()]

    def area(self) -> float:
        """The mean risk over all coverages: small where the surest are right and the wrong ones unsure."""
        errors = np.cumsum(self.wrong[np.argsort(-self.surety, kind="stable")])
        return float(np.mean(errors / np.arange(1, len(errors) + 1)))

    def check_source(self, trained_on: float) -> None:
        """Drop promises that come from these documents, by which they are kept by construction.

        Documents held out are known by their nonconformities, as far as no two share one, those of folds by the share
        `trained_on`.
        """
        if self.conformal is None:
            return
        both = (Counter(np.round(one, DIGITS).tolist()) for one in (1.0 - self.least, self.conformal.nonconformity))
        here, there = ({value for value, count in one.items() if count == 1} for one in both)
        shared = len(here & there) / max(min(len(here), len(there)), 1)
        self.own = shared if self.conformal.source == "held-out" else trained_on
        self.missed = self.missed[: 0 if self.own > OWN else len(RATES)]

    def promises(self) -> list[dict[str, float]]:
        """Of every rate: the share of documents whose sets held all their labels, their mean size, the share of one."""
        kept = ~self.unknown
        if not kept.any():
            return []
        return [
            {
                "promised": rate,
                "kept": float(1.0 - missed[kept].mean()),
                "mean_size": float(sizes[kept].mean()),
                "single": float((sizes[kept] == 1).mean()),
            }
            for rate, missed, sizes in zip(RATES, self.missed, self.sizes, strict=False)
        ]

    def to_dict(self) -> dict[str, Any]:
        curve: Sequence[Sequence[float]] = [[float(f"{c:.4g}"), float(f"{r:.4g}")] for c, r in self.risk_coverage()]
        known = {} if np.isnan(self.own) else {"promised_on": self.own}
        return {"area": self.area(), "risk_coverage": curve, "promises": self.promises(), **known}
