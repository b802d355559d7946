"""Only sure answers: sets of labels that hold the true ones at a promised rate, and decisions of a promised precision.

Both rest on documents that the fit has not seen, and on nothing else: neither on the probabilities being right nor on
the model. Only that those documents and the ones to come are drawn alike, in any order (they are *exchangeable*).

Coverage (split conformal prediction; Vovk, Gammerman and Shafer 2005). A document's nonconformity is 1 − p, p the least
probability given to one of its labels. With q the ⌈(n+1)(1−α)⌉-th smallest of n of them, the labels of 1 − p ≤ q are
*all* labels of a new document with probability at least 1−α, and, for nonconformities without ties, at most
1−α + 1/(n+1). For exclusive classes these are the smallest sets of that coverage (LAC; Sadinle, Lei and Wasserman
2019).

Precision (Learn then Test; Angelopoulos, Bates, Candès, Jordan and Lei 2025; for exclusive classes Geifman and El-Yaniv
2017). For each of G ranks r, fixed without a look at the labels, take the decisions with p above the (r+1)-th largest:
given that p, each of them is wrong independently and at the same rate, so that the number wrong is binomial. The
largest r whose number wrong would be so small with a chance of at most δ/G, were the precision lower than promised,
gives the threshold; with probability 1−δ the precision of decisions above it is then at least the promised one. Where
there is none, no decision is sure. Exclusive classes have one threshold, for the most probable class; categories have
one each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lapwing.errors import InputError, SettingsError

MOST = 20_000  # nonconformities kept; the promise holds for any number, and for a sample
GROWTH = 1.5  # of a rank against the one before
FIRST_RANK = 8
RANKS = tuple(dict.fromkeys(math.ceil(FIRST_RANK * GROWTH**k) for k in range(28)))  # up to half a million
LEAST_PRECISION = 0.5  # no promise is made below, so ranks of less are not kept
SOURCES = ("held-out", "folds")


@dataclass(frozen=True, eq=False)
class Conformal:
    """What unseen documents say of a model.

    source         "held-out": documents kept from the fit, for which the promises hold as they stand; "folds": every
                   document scored by a model fitted without its fold, whose promise for the model of all documents
                   is close but no theorem
    documents      how many there were
    nonconformity  of them, or a sample of MOST, ascending
    pointer        (rows + 1,) where the thresholds of each row begin; one row where classes are exclusive
    thresholds, taken, wrong   of each row, highest threshold first: how many decisions of p > threshold there were,
                   and how many of them were wrong
    """

    source: str
    documents: int
    nonconformity: np.ndarray
    pointer: np.ndarray
    thresholds: np.ndarray
    taken: np.ndarray
    wrong: np.ndarray

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InputError(f"source must be one of {', '.join(SOURCES)}, got {self.source!r}")
        if not len(self.thresholds) == len(self.taken) == len(self.wrong) == self.pointer[-1]:
            raise InputError("expected as many thresholds as counts")

    @classmethod
    def of(cls, proba: np.ndarray, truth: np.ndarray, exclusive: bool, source: str, seed: int = 0) -> Conformal:
        """From (documents, classes) probabilities as `predict_proba` gives them, and membership.

        Documents of an exclusive model that have none of its classes are left out: no set could hold theirs.
        """
        if proba.shape != truth.shape or not len(proba):
            raise InputError(f"expected documents with a probability per class, got {proba.shape} and {truth.shape}")
        if exclusive:
            known = truth.any(axis=1)
            proba, truth = proba[known], truth[known]
        nonconformity = nonconformities(proba, truth)
        if len(nonconformity) > MOST:
            nonconformity = np.random.default_rng(seed).choice(nonconformity, MOST, replace=False)
        if exclusive:
            winner = np.argmax(proba, axis=1)
            rows = np.arange(len(proba))
            curves = [precision_curve(proba[rows, winner], truth[rows, winner])]
        else:
            curves = [precision_curve(proba[:, k], truth[:, k]) for k in range(proba.shape[1])]
        pointer = np.concatenate(([0], np.cumsum([len(one[0]) for one in curves])))
        thresholds, taken, wrong = (np.concatenate(parts) for parts in zip(*curves, strict=True))
        return cls(source, len(proba), np.sort(nonconformity), pointer, thresholds, taken, wrong)

    def level(self, coverage: float) -> float:
        """The largest nonconformity of a label in the set; infinite where there are too few documents to promise it."""
        if not 0.0 < coverage < 1.0:
            raise SettingsError(f"coverage must be between 0 and 1, got {coverage!r}")
        n = len(self.nonconformity)
        place = math.ceil((n + 1) * coverage - 1e-9)
        return math.inf if place > n else float(self.nonconformity[max(place, 1) - 1])

    def sets(self, proba: np.ndarray, coverage: float) -> np.ndarray:
        """(n, classes) True where the class is in the set."""
        return np.asarray(1.0 - proba <= self.level(coverage))

    def precision_thresholds(self, precision: float, confidence: float = 0.9) -> np.ndarray:
        """(rows,) probabilities above which decisions are right at that rate; infinite where none is sure."""
        for name, value in (("precision", precision), ("confidence", confidence)):
            if not 0.0 < value < 1.0:
                raise SettingsError(f"{name} must be between 0 and 1, got {value!r}")
        if precision < LEAST_PRECISION:
            raise SettingsError(f"precision must be at least {LEAST_PRECISION}, got {precision!r}")
        from scipy.special import bdtr  # the binomial distribution function

        least = math.log(1.0 - confidence) / math.log(precision)  # decisions that, all right, could be enough
        tried = sum(least <= rank < self.documents for rank in RANKS)
        level = (1.0 - confidence) / max(tried, 1)
        sure = bdtr(self.wrong, self.taken, 1.0 - precision) <= level
        lowest = np.full(len(self.pointer) - 1, np.inf)
        for row in range(len(lowest)):
            own = slice(self.pointer[row], self.pointer[row + 1])
            if sure[own].any():
                lowest[row] = self.thresholds[own][np.flatnonzero(sure[own])[-1]]  # the last takes most
        return lowest

    def sure(self, proba: np.ndarray, precision: float, confidence: float = 0.9) -> np.ndarray:
        """(n, classes) True where the decision is sure."""
        thresholds = self.precision_thresholds(precision, confidence)
        if len(thresholds) == proba.shape[1]:
            return np.asarray(proba > thresholds)
        chosen = np.zeros(proba.shape, dtype=bool)
        rows, winner = np.arange(len(proba)), np.argmax(proba, axis=1)
        chosen[rows, winner] = proba[rows, winner] > thresholds[0]
        return chosen


def nonconformities(proba: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(n,) 1 − the least probability of a label of the document; −1 for one without labels, which any set holds."""
    return 1.0 - np.where(truth, proba, 2.0).min(axis=1)


def precision_curve(proba: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every rank: the threshold, how many decisions are above it, how many of them are wrong."""
    order = np.argsort(-proba, kind="stable")
    ranked, wrong = proba[order], np.concatenate(([0], np.cumsum(~right[order])))
    thresholds, taken, errors = [], [], []
    for rank in RANKS:
        if rank >= len(ranked):
            break
        above = int(np.searchsorted(-ranked, -ranked[rank], side="left"))  # strictly: equal ones stay below
        if above and wrong[above] <= (1.0 - LEAST_PRECISION) * above:
            thresholds.append(float(ranked[rank]))
            taken.append(above)
            errors.append(int(wrong[above]))
    return np.array(thresholds), np.array(taken, dtype=np.int64), np.array(errors, dtype=np.int64)
