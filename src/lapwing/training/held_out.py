"""Documents that a fit has not seen: they choose the variance, calibrate, tune thresholds, and tell how good it all is.

Every unit is fitted to all but each fold, and scores the documents left out. One pass at the chosen variance serves
everything; to choose it, some categories and folds will do.

The variance is chosen together: with s_ik the out-of-fold score of document i in category k under variance v, that v
is taken for which Σ_k Σ_i c_ik loss(y_ik (a s_ik + b)) is least, (a, b) being the best line for that v. Categories too
rare to choose for themselves choose together (EGJLM03: take the hyperparameter from similar problems), and as the line
is fitted anew for every v, what is compared is what calibrated probabilities would lose. Where all of several exclusive
classes choose, that is −ln of the probability of the right one, coupled as the model will have it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.engine import Pool, Threads
from lapwing.evaluate.calibration import calibration
from lapwing.model.calibration import Coupling
from lapwing.model.conformal import Conformal
from lapwing.selection import tune
from lapwing.selection.calibration import (
    Column,
    Line,
    columns,
    common_line,
    fit_coupling,
    fit_temperature,
    lines_around,
    own_lines,
)
from lapwing.selection.folds import Folds
from lapwing.stats.links import Link, as_link, softmax
from lapwing.stats.objective import summed
from lapwing.training.task import Path, Strategy, Task

SAMPLE = 64  # categories that are judged for all, where there are more than twice as many
CHOOSERS = 32  # of them that choose the variance, where there are more than twice as many,
FITS = 40  # in as many folds as it takes for that many fits
FIRST = 10.0  # variance of the scores under the prior that the search begins with
STEP = math.sqrt(10.0)  # from one variance to the next
MOST_STEPS = 12  # either way: six powers of ten
LEVEL = 1e-3  # relative difference of losses that is none: the stronger prior is taken
WORSE = 1.005  # times the least loss at which the search ends
GAIN = 0.0025  # relative fall of the loss below which two steps in a row end it,
CERTAIN = 0.002  # share of the same below which there is nothing left to gain
LEARNED = 0.98  # once it is below this share of what is lost by saying how frequent each category is

UNSEEN = "scoring unseen documents"

TUNABLE = 3  # documents of a category from which its threshold is tuned
Progress = Callable[[str, int, int], None]
Lines = tuple[np.ndarray, np.ndarray]  # slopes and offsets of rows


@dataclass(frozen=True)
class PooledCurve:
    """What all categories together lose on held-out documents under each variance, calibrated by the best line."""

    variances: tuple[float, ...]
    loss: tuple[float, ...]
    chosen: float


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """scores (n, len(rows)) of some rows of the model, each by a fit that did not see the document."""

    folds: Folds
    rows: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Decisions:
    """What the scores of unseen documents decide.

    curve               how the variance was chosen; None where it was not, or not together
    slope, offset       (rows,) the lines of calibration; None without
    coupling            of exclusive classes
    thresholds          (rows,) on calibrated scores, NaN where they are not tuned on these documents
    summary             how good the whole is on documents it has not seen, for people
    conformal           what these documents let the model promise; None where not all rows were judged
    """

    curve: PooledCurve | None
    slope: np.ndarray | None
    offset: np.ndarray | None
    coupling: Coupling
    thresholds: np.ndarray
    summary: dict[str, Any]
    conformal: Conformal | None

    def to_bytes(self) -> bytes:
        record = {
            "curve": None if self.curve is None else vars(self.curve),
            **{
                name: None if getattr(self, name) is None else getattr(self, name).tolist()
                for name in ("slope", "offset", "thresholds")
            },
            "coupling": self.coupling,
            "summary": self.summary,
            "conformal": None if self.conformal is None else vars(self.conformal),
        }
        return json.dumps(record, default=lambda array: array.tolist()).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Decisions:
        record = json.loads(content)
        if record["curve"] is not None:
            curve = record["curve"]
            record["curve"] = PooledCurve(tuple(curve["variances"]), tuple(curve["loss"]), curve["chosen"])
        for name in ("slope", "offset", "thresholds"):
            record[name] = None if record[name] is None else np.array(record[name], dtype=np.float64)
        if record["conformal"] is not None:
            arrays: dict[str, Any] = {
                name: np.array(value, dtype=np.int64 if name in ("pointer", "taken", "wrong") else np.float64)
                if isinstance(value, list)
                else value
                for name, value in record["conformal"].items()
            }
            record["conformal"] = Conformal(**arrays)
        return cls(**{**record, "coupling": Coupling(*map(float, record["coupling"]))})

    def check(self, rows: int, *, calibrated: bool) -> Decisions:
        """Itself, if it can be what was decided on so many rows; ValueError else."""
        lines = [line for line in (self.slope, self.offset) if line is not None]
        if len(lines) != 2 * calibrated or not np.isfinite(np.concatenate([self.coupling, *lines])).all():
            raise ValueError("the lines of calibration are not finite numbers")
        if any(values.shape != (rows,) for values in (*lines, self.thresholds)):
            raise ValueError(f"expected a line and a threshold for each of {rows} categories")
        if self.curve is not None and not 0.0 < self.curve.chosen < math.inf:
            raise ValueError(f"the chosen variance must be > 0, got {self.curve.chosen!r}")
        if not isinstance(self.summary, dict):
            raise ValueError("the summary is no record")
        return self


class Judge:
    """Labels and weights of the documents in some rows of the model, as arrays (n, rows)."""

    def __init__(self, task: Task, rows: Sequence[int], folds: Folds) -> None:
        self.task, self.rows, self.folds = task, list(rows), folds
        self.link: Link = as_link(task.settings.link)
        self.joint = task.settings.joint
        self.y = np.column_stack([task.signs(row).astype(np.int8) for row in rows])
        weights = (task.joint_weights if self.joint else task.document_weights(row) for row in rows)
        self.weight = np.column_stack([np.where(folds.held_out, weight, 0.0) for weight in weights])
        self.seen = np.flatnonzero(folds.held_out)

    @property
    def base_loss(self) -> float:
        """Of saying how frequent each category is; by the loss that variances are compared by."""
        one_voice = self.joint or self.couples
        inside = (self.weight * (self.y > 0)).sum(axis=0)
        share = inside / np.maximum(self.weight.sum(axis=0), 1e-300)
        parts = [p * math.log(p) for p in (*share, *(() if one_voice else 1.0 - share)) if p > 0.0]
        return -float(np.sum(parts)) * float(self.weight.sum()) / len(self.rows)

    def loss(self, scores: np.ndarray, *, calibrate: bool) -> float:
        """What these scores lose, once they are calibrated; where all of several exclusive classes are here, by the
        probability of the right one."""
        if self.joint:
            t = fit_temperature(*self._classes(scores, self.seen)) if calibrate else 1.0
            return self._right(softmax(t * scores[self.seen]))
        if not calibrate:
            y, weight, own = self.y[self.seen], self.weight[self.seen], scores[self.seen]
            if self.couples:
                return self._right(self.probability(own, Coupling()))
            return float(np.sum(weight * self.link.loss(y * own, y)))
        line, loss = common_line(self._columns(scores, self.seen), self.link)
        if not self.couples:
            return loss
        coupling = self.coupling(scores, self.seen, (np.array(line.slope), np.array(line.offset)))
        return self._right(self.probability(line.slope * scores[self.seen] + line.offset, coupling))

    def _right(self, proba: np.ndarray) -> float:
        """−ln of the probability given to the right class, summed over documents."""
        classes, weight = self.task.targets.numbers[self.seen], self.weight[self.seen, 0]
        return -summed(weight, np.log(np.maximum(proba[np.arange(len(classes)), classes], 1e-300)))

    def _columns(self, scores: np.ndarray, documents: np.ndarray) -> list[Column]:
        return columns(scores, self.y, self.weight, documents)

    def _classes(self, scores: np.ndarray, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return scores[documents], self.task.targets.numbers[documents], self.weight[documents, 0]

    def lines_without(self, scores: np.ndarray, documents: np.ndarray, mean: Line, near: list[Line]) -> list[Line]:
        """The lines of all rows by some documents, given the mean and the lines by all."""
        if self.joint or len(self.rows) == 1:
            return self.lines(scores, documents)[1]
        return lines_around(self._columns(scores, documents), self.link, mean, near)

    def lines(self, scores: np.ndarray, documents: np.ndarray) -> tuple[Line, list[Line]]:
        """The mean line and that of every row, by some documents."""
        if self.joint:
            line = Line(fit_temperature(*self._classes(scores, documents)))
            return line, [line] * len(self.rows)
        every = self._columns(scores, documents)
        common, _ = common_line(every, self.link)
        if len(self.rows) == 1:
            return common, [common]
        return own_lines(every, self.link, common)

    def thresholds(self, scores: np.ndarray, documents: np.ndarray, lines: Lines) -> np.ndarray:
        """Tuned on scores of some documents, calibrated by these lines; NaN where the settings fix them, or hardly any
        document is in the category: the fit that scores its only one has seen none."""
        settings = self.task.settings
        if settings.fixed_threshold is not None or settings.threshold_data == "train" or self.joint:
            return np.full(len(self.rows), np.nan)
        slope, offset = lines
        parts = zip((slope * scores[documents] + offset).T, self.y[documents].T, self.weight[documents].T, strict=True)
        return np.array([
            tune(settings.threshold, s, y, weight)  # type: ignore[arg-type]
            if np.count_nonzero((y > 0.0) & (weight > 0.0)) >= TUNABLE else np.nan
            for s, y, weight in parts
        ])  # fmt: skip

    @property
    def couples(self) -> bool:
        """Whether rows are exclusive classes, fitted one by one, all of them here."""
        exclusive = self.task.targets.exclusive and len(self.rows) > 1
        return exclusive and not self.joint and len(self.rows) == len(self.task)

    def coupling(self, scores: np.ndarray, documents: np.ndarray, lines: Lines) -> Coupling:
        if not self.couples:
            return Coupling()
        (values, classes, _), (slope, offset) = self._classes(scores, documents), lines
        return fit_coupling(slope * values + offset, classes, self.task.joint_weights[documents], self.link)

    def probability(self, scores: np.ndarray, coupling: Coupling) -> np.ndarray:
        """(documents, classes here) of calibrated scores, as the model will say it."""
        if self.joint:
            return softmax(scores)
        if self.couples:
            return softmax(coupling.logits(scores, self.link))
        p = self.link.probability(scores)
        return np.hstack([1.0 - p, p]) if self.task.targets.exclusive and len(self.task) == 1 else p


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


class Unseen:
    """Fits that leave out a fold at a time, for some rows of the model, along a path of variances."""

    def __init__(
        self, strategy: Strategy, folds: Folds, rows: np.ndarray, pool: Pool, progress: Progress | None
    ) -> None:
        self.strategy, self.folds, self.rows, self.pool, self.progress = strategy, folds, rows, pool, progress
        self.joint = strategy.task.settings.joint
        units = [0] if self.joint else rows.tolist()
        size = strategy.at_a_time
        self.blocks = [units[first : first + size] for first in range(0, len(units), size)]
        self.paths: list[Path] = [strategy.path(block, folds) for block in self.blocks]

    def scores(self, variance: np.ndarray, stage: str) -> np.ndarray:
        """(n, rows), a variance per row."""
        parts = [variance[:1]] if self.joint else np.split(variance, np.cumsum([len(b) for b in self.blocks])[:-1])
        total, progress = len(self.rows), self.progress
        sizes = iter([total] if self.joint else [len(block) for block in self.blocks])

        def step(done: int) -> None:
            if progress is not None:
                progress(stage, sum(next(sizes) for _ in range(done)), total)

        work = list(zip(self.paths, parts, strict=True))
        pool = self.pool if len(work) > 1 else Threads()
        advanced = pool.run_all(_advance, self.strategy, work, progress=step)
        self.paths = [path for path, _ in advanced]
        return np.hstack([columns for _, columns in advanced])


def _advance(strategy: Strategy, one: tuple[Path, np.ndarray]) -> tuple[Path, np.ndarray]:
    """The path as it is afterwards, and its columns."""
    path, variance = one
    path.strategy = strategy
    return path, path.advance(variance)


def choose_together(
    strategy: Strategy, folds: Folds, rows: np.ndarray, pool: Pool, progress: Progress | None
) -> tuple[PooledCurve, OutOfFold]:
    """The variance of the heading, by some rows and folds, and the scores of all these rows under it."""
    task, settings = strategy.task, strategy.task.settings
    some = rows
    if len(rows) > 2 * CHOOSERS and not settings.joint:
        some = _evenly(task, np.intersect1d(rows, _learnable(task)), CHOOSERS)
    few = folds.first(max(2, -(-FITS // len(some))))
    unseen, judge = Unseen(strategy, few, some, pool, progress), Judge(task, some.tolist(), few)
    losses: dict[float, float] = {}
    best: tuple[float, np.ndarray] | None = None

    def lose(variance: float) -> float:
        nonlocal best
        scores = unseen.scores(np.full(len(some), variance), f"comparing variances ({variance:.3g})")
        losses[variance] = loss = judge.loss(scores, calibrate=settings.calibrate)
        if best is None or loss < losses[best[0]] * (1.0 if variance < best[0] else 1.0 - LEVEL):
            best = variance, scores
        return loss

    if settings.cv.variances is not None:
        for variance in sorted(settings.cv.variances):
            lose(variance)
    else:
        first = _rounded(FIRST / strategy.mean_square)
        _ascend(lose, losses, first, judge.base_loss)
        if min(losses, key=lambda v: losses[v]) == first:
            for k in range(1, MOST_STEPS):
                if lose(_rounded(first * STEP**-k)) > min(losses.values()):
                    break
    assert best is not None
    chosen, scores = best
    if len(some) < len(rows) or few is not folds:
        scores = Unseen(strategy, folds, rows, pool, progress).scores(np.full(len(rows), chosen), UNSEEN)
    variances = sorted(losses)
    curve = PooledCurve(tuple(variances), tuple(losses[v] for v in variances), chosen)
    return curve, OutOfFold(folds, rows, scores)


def _ascend(lose: Callable[[float], float], losses: dict[float, float], first: float, base: float) -> None:
    """From a strong prior to weaker ones, until the loss has risen, or falls no more."""
    gains = []
    for k in range(MOST_STEPS):
        before = min(losses.values(), default=math.inf)
        loss = lose(_rounded(first * STEP**k))
        gains.append((before - loss) / before if before < math.inf else 1.0)
        stalled = loss < LEARNED * base and max(gains[-2:]) < GAIN
        if loss > WORSE * before or stalled or loss <= CERTAIN * base:
            return


def _rounded(variance: float) -> float:
    return float(f"{variance:.3g}")


def decide(judge: Judge, seen: OutOfFold, curve: PooledCurve | None) -> Decisions:
    """All that hangs on the scores of unseen documents."""
    task, settings = judge.task, judge.task.settings
    common, own = judge.lines(seen.scores, judge.seen) if settings.calibrate else (Line(), [Line()] * len(judge.rows))
    slope, offset = np.full(len(task), common.slope), _offsets(judge, common)
    slope[judge.rows], offset[judge.rows] = zip(*own, strict=True)
    lines = slope[judge.rows], offset[judge.rows]
    thresholds = np.full(len(task), np.nan)
    thresholds[judge.rows] = judge.thresholds(seen.scores, judge.seen, lines)
    return Decisions(
        curve=curve,
        slope=slope if settings.calibrate else None,
        offset=offset if settings.calibrate else None,
        coupling=judge.coupling(seen.scores, judge.seen, lines) if settings.calibrate else Coupling(),
        thresholds=thresholds,
        **_honest(judge, seen, common, list(own)),
    )


def _offsets(judge: Judge, mean: Line) -> np.ndarray:
    """(rows,) of categories that were not judged.

    The mean's at the mean base rate of those that were, and elsewhere such that a document without any word of the
    category keeps its base rate: what a stronger prior draws to 0 is weights.
    """
    task = judge.task
    if len(judge.rows) == len(task) or task.settings.class_weight is not None:
        return np.full(len(task), mean.offset)
    total = float(task.weights.sum())
    inside = (task.targets.member.T @ task.weights)[list(task.targets.fitted)]
    rate = judge.link.quantile(np.clip(inside, 0.5, total - 0.5) / total)
    return np.asarray(mean.offset + (1.0 - mean.slope) * (rate - rate[judge.rows].mean()))


def _honest(judge: Judge, seen: OutOfFold, mean: Line, near: list[Line]) -> dict[str, Any]:
    """Lines, coupling and thresholds for each fold from the other folds: nothing is judged by what it has seen."""
    task, settings, fold = judge.task, judge.task.settings, judge.folds.fold
    every = len(judge.rows) == len(task)
    exclusive = task.targets.exclusive and every  # some of many classes are judged one by one
    two = exclusive and len(task) == 1
    classes = 2 if two else len(judge.rows)
    proba, chosen = np.zeros((len(fold), classes)), np.zeros((len(fold), classes), dtype=bool)
    for k in range(judge.folds.portions):
        here, others = fold == k, np.flatnonzero((fold >= 0) & (fold != k))
        own = judge.lines_without(seen.scores, others, mean, near) if settings.calibrate else near
        slope, offset = (np.array(part) for part in zip(*own, strict=True))
        coupling = judge.coupling(seen.scores, others, (slope, offset)) if settings.calibrate else Coupling()
        scores = slope * seen.scores[here] + offset
        proba[here] = judge.probability(scores, coupling)
        if exclusive and not two:
            chosen[here, np.argmax(scores, axis=1)] = True
            continue
        fixed = settings.fixed_threshold
        cut = (
            judge.thresholds(seen.scores, others, (slope, offset)) if fixed is None else np.full(len(judge.rows), fixed)
        )
        yes = scores > np.nan_to_num(cut, nan=settings.half)
        chosen[here] = np.hstack([~yes, yes]) if two else yes
    truth = judge.y > 0
    truth = (np.hstack([~truth, truth]) if two else truth)[judge.seen]
    proba, chosen = proba[judge.seen], chosen[judge.seen]
    tp, size = (truth & chosen).sum(axis=0), truth.sum(axis=0) + chosen.sum(axis=0)
    whole, _ = calibration(truth, proba, exclusive=exclusive)
    seed = task.settings.random_state or 0
    conformal = Conformal.of(proba, truth, task.targets.exclusive, "folds", seed) if every else None
    occurs = truth.any(axis=0)
    summary = {
        "folds": judge.folds.portions,
        "documents": len(judge.seen),
        "categories": len(judge.rows),
        "macro_f1": float(np.mean((2.0 * tp / np.maximum(size, 1))[occurs])),
        "micro_f1": float(2.0 * tp.sum() / max(int(size.sum()), 1)),
        **({"accuracy": float(tp.sum() / len(truth))} if exclusive else {}),
        **whole.to_dict(),
    }
    return {"conformal": conformal, "summary": _without_nan(summary)}


def _without_nan(value: Any) -> Any:
    """As JSON can hold it: None for what is not a number."""
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
