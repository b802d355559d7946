"""Matrices without many zeros, and small ones that are badly conditioned: Newton's method on a Gram matrix.

Whatever the scales of the columns, and with no more than a dozen rounds: see kernels/gram.py.
"""

from __future__ import annotations

import numpy as np

from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays

FULL = 0.3  # share of entries that are not 0 from which columns are stored dense,
MOST = 30_000_000  # up to so many numbers: 240 MB
WIDEST = 2500  # features up to which their Gram matrix is factorised rather than conjugate gradients tried


def is_possible(problem: Problem) -> bool:
    """Whether the columns take up little enough memory when zeros do, too, and their Gram matrix little enough time."""
    size = len(problem.offset)
    return size * problem.n_documents <= MOST and size <= WIDEST


def is_better(problem: Problem, *, smooth: bool) -> bool:
    """Whether columns are dense; with a `smooth` prior, also few, as all of them are in the working set."""
    whole = problem.n_documents * (len(problem.offset) - 1)
    if len(problem.by_column[2]) < FULL * whole and not problem.offset.any():
        return False
    return is_possible(problem) if smooth else whole <= MOST


def minimise(
    problem: Problem, y: np.ndarray, sample_weight: np.ndarray, arrays: PriorArrays, beta: np.ndarray, tol: float,
    max_iter: int, link: str = "logit",
) -> tuple[float, float, float, int, bool, np.ndarray]:  # fmt: skip
    """As solvers/newton.py's."""
    from lapwing.kernels import gram

    code = as_link(link).code
    return gram.fit(problem.columns, y, sample_weight, code, *arrays, beta, tol, max_iter)


def minimise_many(
    problem: Problem, Y: np.ndarray, weights: np.ndarray, arrays: list[PriorArrays], betas: np.ndarray, tol: float,
    max_iter: int, link: str = "logit",
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """As solvers/newton.py's: one after the other."""
    from lapwing.kernels.loss import optimality

    proofs = []
    for y, weight, prior, beta in zip(Y, weights, arrays, betas, strict=True):
        objective, gap, _, rounds, converged, theta = minimise(problem, y, weight, prior, beta, tol, max_iter, link)
        violated = optimality(*problem.both_ways, y, weight, as_link(link).code, *prior, beta)
        proofs.append((objective, gap, *violated, rounds, converged, theta))
    return tuple(map(np.array, zip(*proofs, strict=True)))
