"""Out-of-fold scores: every unit is fitted without each fold, and scores the documents held out.

One pass at the chosen variance serves everything; to choose it, some categories and folds will do. The variance is
chosen together: with s_ik the out-of-fold score of document i in category k under variance v, that v is taken for which
Σ_k Σ_i c_ik loss(y_ik (a s_ik + b)) is least, (a, b) being the best line for that v. Categories too rare to choose for
themselves choose together (EGJLM03: take the hyperparameter from similar problems), and as the line is fitted anew for
every v, what is compared is what calibrated probabilities would lose. Where all of several exclusive classes choose,
that is −ln of the probability of the right one, coupled as the model will have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.engine import Pool
from lapwing.selection.folds import Folds
from lapwing.selection.variance import PooledCurve, ascend
from lapwing.training.judge import Judge
from lapwing.training.paths import HeldOutFits, Progress
from lapwing.training.task import Strategy, Task

SAMPLE = 64  # categories that are judged for all, where there are more than twice as many
CHOOSERS = 32  # of them that choose the variance, where there are more than twice as many,
FITS = 40  # in as many folds as it takes for that many fits
FIRST = 10.0  # variance of the scores under the prior that the search begins with


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """scores (n, len(rows)) of some rows of the model, each by a fit that did not see the document."""

    folds: Folds
    rows: np.ndarray
    scores: np.ndarray


def score_out_of_fold(
    strategy: Any, folds: Folds, rows: np.ndarray, variance: np.ndarray, pool: Pool, progress: Progress | None
) -> OutOfFold:
    """The scores of these rows, each under a variance of its own."""
    scores = HeldOutFits(strategy, folds, rows, pool, progress).scores(variance, "scoring held-out documents")
    return OutOfFold(folds, rows, scores)


def choose_together(
    strategy: Strategy, folds: Folds, rows: np.ndarray, pool: Pool, progress: Progress | None
) -> tuple[PooledCurve, OutOfFold]:
    """The variance of the heading, by some rows and folds, and the scores of all these rows under it."""
    settings, choosers = strategy.task.settings, rows
    if len(rows) > 2 * CHOOSERS and not settings.joint:
        choosers = _evenly(strategy.task, np.intersect1d(rows, _learnable(strategy.task)), CHOOSERS)
    enough = max(2, -(-FITS // len(choosers)))
    some = folds if folds.forward or enough >= folds.portions else folds.turns(enough)
    fits = HeldOutFits(strategy, some, choosers, pool, progress)
    judge = Judge(strategy.task, choosers.tolist(), some)
    losses: dict[float, float] = {}
    best = OutOfFold(some, choosers, np.empty(0))

    def loss_of(variance: float) -> float:
        nonlocal best
        scores = fits.scores(np.full(len(choosers), variance), f"comparing variances ({variance:.3g})")
        losses[variance] = judge.loss(scores, calibrate=settings.calibrate)
        if PooledCurve.of(losses).chosen == variance:
            best = OutOfFold(some, choosers, scores)
        return losses[variance]

    curve = ascend(loss_of, settings.cv.variances, FIRST / strategy.mean_square, judge.base_loss)
    if len(choosers) < len(rows) or some is not folds:
        best = score_out_of_fold(strategy, folds, rows, np.full(len(rows), curve.chosen), pool, progress)
    return curve, best


def sample_rows(task: Task, *, every: bool) -> np.ndarray:
    """Rows of the model that are judged: all of them, or some evenly by size; none if none can be learned."""
    rows = _learnable(task)
    if not len(rows):
        return rows
    return np.arange(len(task)) if every or len(task) <= 2 * SAMPLE else _evenly(task, rows, SAMPLE)


def _learnable(task: Task) -> np.ndarray:
    members = _members(task)
    return np.flatnonzero((members >= 2) & (members <= task.targets.member.shape[0] - 2))


def _members(task: Task) -> np.ndarray:
    return np.diff(task.targets.member.indptr)[list(task.targets.fitted)]


def _evenly(task: Task, rows: np.ndarray, count: int) -> np.ndarray:
    """So many of these rows, evenly by size."""
    order = rows[np.argsort(-_members(task)[rows], kind="stable")]
    return np.sort(order[np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(int)])
