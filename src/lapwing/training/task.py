"""What is to be learned, whatever the features are; and what a way of learning it offers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from lapwing.errors import InputError, SettingsError
from lapwing.model.linear import LinearModel
from lapwing.selection import tune
from lapwing.selection.folds import Dealing, Folds, shuffled
from lapwing.stats.prior_table import INTERCEPT
from lapwing.stats.priors import Columns, Gaussian, Jeffreys, Laplace, Prior
from lapwing.text import Design
from lapwing.training.fit import CategoryFit
from lapwing.training.paths import Path
from lapwing.training.settings import TrainSettings
from lapwing.training.targets import Targets, class_weights


@dataclass(frozen=True, eq=False)
class Task:
    """Labels, weights and settings of all categories; `len` is the number of rows of the model.

    keep_duals   whether fits keep their dual points
    dealing      by what a category that chooses for itself holds documents out; None for chance alone
    """

    targets: Targets
    weights: np.ndarray
    settings: TrainSettings
    keep_duals: bool = False
    dealing: Dealing | None = None

    def __len__(self) -> int:
        return len(self.targets.fitted)

    @cached_property
    def seeds(self) -> list[np.random.SeedSequence]:
        """One for every row."""
        return np.random.SeedSequence(self.settings.random_state).spawn(len(self))

    def own_folds(self, row: int, y: np.ndarray, weight: np.ndarray) -> Folds:
        """Those by which one row chooses for itself."""
        count = self.settings.cv.folds
        return shuffled(y, count, self.seeds[row]) if self.dealing is None else self.dealing.folds_by(y, weight, count)

    @cached_property
    def given(self) -> np.ndarray | None:
        """(rows,) the variances the settings give; None where they are to be found."""
        if isinstance(self.settings.variance, str):
            return None
        given = np.asarray(self.settings.variance, dtype=np.float64).ravel()
        if given.size not in (1, len(self)):
            raise SettingsError(
                f"variance must be one number or one for each of {len(self)} categories, got {given.size}"
            )
        return np.broadcast_to(given, len(self))

    @cached_property
    def _factor(self) -> Callable[[int, np.ndarray], np.ndarray | float]:
        return class_weights(self.targets, self.weights, self.settings.class_weight)

    def label(self, row: int) -> Hashable:
        return self.targets.classes[self.targets.fitted[row]]

    def signs(self, row: int) -> np.ndarray:
        """Labels ±1 in the problem of one category, by row of the model."""
        return self.targets.signs(self.targets.fitted[row])

    def positives(self, row: int) -> np.ndarray:
        """The documents of one category."""
        member, column = self.targets.member, self.targets.fitted[row]
        return np.asarray(member.indices[member.indptr[column] : member.indptr[column + 1]])

    def factors(self, row: int) -> tuple[float, float]:
        """Of the weights of its documents, and of all others; where classes are exclusive these have none in common."""
        if self.settings.class_weight is None:
            return 1.0, 1.0
        up, down = np.broadcast_to(self._factor(self.targets.fitted[row], np.array([1.0, -1.0])), 2)
        return float(up), float(down)

    def document_weights(self, row: int) -> np.ndarray:
        """Weights of the documents in that problem."""
        column = self.targets.fitted[row]
        return np.asarray(self.weights * self._factor(column, self.targets.signs(column)), dtype=np.float64)

    @cached_property
    def joint_weights(self) -> np.ndarray:
        """Weights of the documents in the problem of all classes together."""
        return np.asarray(self.weights * self._factor(0, self.targets.numbers), dtype=np.float64)

    def threshold(self, row: int, scores_of: Callable[[], np.ndarray]) -> float:
        """The cut-off as far as the fit decides it, by scores if need be: see `CategoryFit.threshold`."""
        y, weight = self.signs(row), self.document_weights(row)
        if not np.any(y[weight > 0] > 0):
            return float("inf")  # GLM07 section 5.2.2: without a positive document, say "no"
        if self.settings.fixed_threshold is not None:
            return self.settings.fixed_threshold
        if self.settings.threshold_data == "cv":
            return float("nan")
        scores = scores_of()
        tuned = tune(self.settings.threshold, scores, y, sample_weight=weight)  # type: ignore[arg-type]
        lowest = scores.min()
        if lowest == scores.max():  # nothing was learned: no rule makes a claim of it
            return max(tuned, min(float(lowest), self.settings.half))
        return tuned


class Strategy(Protocol):
    """A way from labels to weights. A unit is what is fitted at a time: a row of the model, or all of them."""

    task: Task

    @property
    def units(self) -> int: ...

    @property
    def width(self) -> int:
        """Features that a fit chooses from."""
        ...

    @property
    def together(self) -> bool:
        """Whether units go through the data together, which saves passes; the numbers are the same."""
        ...

    @property
    def at_a_time(self) -> int:
        """How many units are on one path."""
        ...

    def prepare(self) -> None:
        """What all units share, made once, before threads ask for it."""

    @property
    def norm_variance(self) -> float:
        """GLM07 Eq. 29."""
        ...

    @property
    def mean_square(self) -> float:
        """Mean squared norm of the documents: a score has the variance of the prior times this."""
        ...

    @property
    def held_out_tol(self) -> float:
        """Relative gap of fits that only score held-out documents."""
        ...

    def held_out_scores(self, path: Path, variances: np.ndarray) -> Iterable[np.ndarray]:
        """As `Fitter` of training/paths.py."""
        ...

    def fit(self, units: Sequence[int], variance: float | None) -> list[CategoryFit]:
        """All rows of the units; where no variance is given, each finds its own as the settings say."""
        ...

    def design(self, fits: list[CategoryFit]) -> tuple[Design, list[CategoryFit]]:
        """The features that fits refer to."""
        ...

    def finish(self, model: LinearModel, fits: list[CategoryFit], curvature: str | int) -> LinearModel:
        """The model, with what only this strategy can say of it; `curvature` as in `learn`."""
        ...


def check_flat(
    task: Task, row: int, columns: Columns, prior: Prior, y: np.ndarray, weight: np.ndarray, variance: float
) -> None:
    """A coefficient of infinite variance needs documents on both sides, or it has no finite estimate."""
    intercept_variance = task.settings.intercept_variance
    if isinstance(prior, Gaussian | Laplace) and intercept_variance != np.inf:
        return
    arrays = prior.compile(variance, len(columns.names), intercept_variance)
    flat = arrays.flat
    if isinstance(prior, Jeffreys):  # ln|β_j| holds the others
        flat &= ~prior.logarithmic(len(columns.names), intercept_variance)
    for j in np.flatnonzero(flat).tolist():
        if j == len(columns.names):
            pull, name, where = y[weight > 0], "the intercept", prior.where(INTERCEPT)
        else:
            part = columns.matrix[:, [j]].tocoo()
            pull, name = (y[part.row] * part.data)[weight[part.row] > 0], f"the feature {columns.names[j]!r}"
            where = prior.where(columns.names[j])
        runs_up = len(pull) > 0 and bool(np.all(pull >= 0)) and arrays.upper[j] == np.inf
        runs_down = len(pull) > 0 and bool(np.all(pull <= 0)) and arrays.lower[j] == -np.inf
        if runs_up or runs_down:
            raise InputError(
                f"{where}{name} has documents on one side only of class "
                f"{task.label(row)!r}, and with an infinite variance no finite estimate then; give it a "
                "variance that is a number"
            )
