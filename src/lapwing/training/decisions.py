"""What out-of-fold scores decide for a model: calibration, coupling, thresholds, and the figures of its quality."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.evaluate.calibration import calibration
from lapwing.model.calibration import Coupling
from lapwing.model.conformal import Conformal
from lapwing.selection.calibration import Line
from lapwing.selection.variance import PooledCurve
from lapwing.training.judge import Judge
from lapwing.training.out_of_fold import OutOfFold


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

    The mean's at the mean base rate of those that were, and elsewhere shifted such that the slope does not shrink
    differences between the log-odds of base rates: what a stronger prior draws to 0 is weights.
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
