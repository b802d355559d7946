"""What one category came to."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from lapwing.selection.squeezer import explain
from lapwing.selection.variance import VarianceCurve
from lapwing.stats.objective import Proven
from lapwing.stats.result import FitResult

_NUMBERS = (
    "intercept", "threshold", "variance", "objective", "gap", "kkt", "kkt_bound", "rounds", "converged", "alpha",
    "pruned_objective", "limit", "beyond",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class CategoryFit(Proven):
    """One category, little enough to keep thousands of them.

    features, weights   those that are not zero, features rising
    threshold           on the score as fitted: that which the settings fix, or tuned on the training documents; +inf
                        for a category without a positive document; NaN where out-of-fold scores decide
    objective … converged   as in `FitResult`: where a ridge solution was pruned, those of the ridge solution
    limit, beyond       where features are limited: as `kept` and `beyond` of selection/squeezer.py; else NaN
    alpha, pruned_objective   Selected Ridge: its penalty, and the objective at the weights; else NaN
    curve               where the category chose its variance by itself
    dual, steps         for those who ask; not kept in a checkpoint: the steps of SLR where these were chosen
    """

    features: np.ndarray
    weights: np.ndarray
    intercept: float
    threshold: float
    variance: float
    objective: float
    gap: float
    kkt: float
    kkt_bound: float
    rounds: int
    converged: bool
    alpha: float = float("nan")
    pruned_objective: float = float("nan")
    limit: float = float("nan")
    beyond: float = float("nan")
    curve: VarianceCurve | None = None
    dual: np.ndarray | None = None
    steps: Any = None

    @classmethod
    def of(
        cls, result: FitResult, features: np.ndarray, weights: np.ndarray, threshold: float, *, keep_dual: bool,
        **more: Any,
    ) -> CategoryFit:  # fmt: skip
        """A finished fit, of which these features have these weights."""
        return cls(
            features=features.astype(np.int32),
            weights=weights,
            intercept=float(result.weights[-1]),
            threshold=threshold,
            dual=result.dual if keep_dual else None,
            **{f.name: getattr(result, f.name) for f in fields(FitResult) if f.name in _NUMBERS},
            **more,
        )

    def shortfall(self, k: int | None) -> str:
        """Why there are fewer features than the k allowed; "" where there are as many, or any number is allowed."""
        return "" if k is None else explain(k, len(self.features), self.limit, self.beyond)

    def to_bytes(self) -> bytes:
        curve = (
            np.empty((0, 0))
            if self.curve is None
            else np.column_stack([self.curve.variances, self.curve.log_likelihood])
        )
        numbers = np.array([*(getattr(self, name) for name in _NUMBERS), *curve.shape], dtype="<f8")
        parts = (numbers, curve.astype("<f8"), self.weights.astype("<f8"), self.features.astype("<i4"))
        return b"".join(part.tobytes() for part in parts)

    def check(self, width: int) -> CategoryFit:
        """Itself, if it can be one over so many features; ValueError else."""
        features = self.features
        if not np.isfinite(self.weights).all() or not np.isfinite(self.intercept):
            raise ValueError("a category's weights are not finite")
        if len(features) and (features.min() < 0 or features.max() >= width or np.any(np.diff(features) <= 0)):
            raise ValueError("a category has features that there are not")
        return self

    @classmethod
    def from_bytes(cls, content: bytes) -> CategoryFit:
        *values, rows, columns = np.frombuffer(content, "<f8", len(_NUMBERS) + 2).tolist()
        numbers = dict(zip(_NUMBERS, values, strict=True))
        numbers |= {"rounds": int(numbers["rounds"]), "converged": bool(numbers["converged"])}
        at = 8 * (len(_NUMBERS) + 2)
        head = at + 8 * int(rows) * int(columns)
        kept, rest = divmod(len(content) - head, 12)
        if rest or kept < 0:
            raise ValueError("a category's record is not whole")
        curve = None
        if rows:
            grid = np.frombuffer(content, "<f8", int(rows * columns), at).reshape(int(rows), int(columns))
            alpha = 0.0 if np.isnan(numbers["alpha"]) else numbers["alpha"]
            curve = VarianceCurve(grid[:, 0], grid[:, 1:], numbers["variance"], alpha)
        return cls(
            features=np.frombuffer(content, "<i4", kept, head + 8 * kept),
            weights=np.frombuffer(content, "<f8", kept, head),
            curve=curve,
            **numbers,
        )
