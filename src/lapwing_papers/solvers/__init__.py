"""Solvers of the papers, found as `solver="clg"` and `solver="em"`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.solvers.problem import Problem
from lapwing.stats.objective import PriorArrays
from lapwing.stats.result import FitResult
from lapwing_papers.solvers import probit_em

EM_ROUND = 20  # iterations of EM, which are short, that count as one round


def em(
    problem: Problem, y: np.ndarray, sample_weight: np.ndarray, prior: PriorArrays, *, max_iter: int,
    start: np.ndarray | None = None, jeffreys: np.ndarray | None = None, **options: Any,
) -> FitResult:  # fmt: skip
    """Other priors begin afresh: their zeros never leave."""
    if jeffreys is None:
        start = None
    return probit_em.fit(
        problem, y, sample_weight, prior, max_iter=EM_ROUND * max_iter, start=start, jeffreys=jeffreys, **options
    )
