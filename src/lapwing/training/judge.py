"""Out-of-fold scores against the labels: their loss, and the lines, coupling and thresholds that serve best."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lapwing.model.calibration import Coupling
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
from lapwing.training.task import Task

TUNABLE = 3  # documents of a category from which its threshold is tuned

Lines = tuple[np.ndarray, np.ndarray]  # slopes and offsets of rows


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
