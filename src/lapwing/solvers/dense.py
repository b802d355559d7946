"""Matrices without many zeros, and small ones that are badly conditioned: Newton's method on a Gram matrix.

Whatever the scales of the columns, and with no more than a dozen rounds: see kernels/gram.py.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels.nouns import Documents, Result
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays

FULL = 0.3  # share of entries that are not 0 from which columns are stored dense,
PASSES = 150  # over X, as many as conjugate gradients may take: what a Gram matrix of sparse columns may cost
MOST = 30_000_000  # up to so many numbers: 240 MB
FEWEST = 1000  # documents, or features, whose Gram matrix is factorised however many there are of the others
SMALL = 20_000  # documents × features up to which a problem is solved to rounding,
TO_ROUNDING = 1e-15  # which is this gap, relative to the objective
FEW = 1500  # sparse columns, the most whose Gram matrix is also worth having where not all are in the working set
WIDEST = 2500  # features up to which their Gram matrix is factorised rather than conjugate gradients tried


def is_possible(problem: Problem) -> bool:
    """Whether the columns take up little enough memory, and their Gram matrix little enough time."""
    size = len(problem.offset)
    return size <= WIDEST and (by_rows(problem) or size * problem.n_documents <= MOST)


def is_better(problem: Problem, *, smooth: bool) -> bool:
    """Whether columns are dense, and with a `smooth` prior few, as all are in the working set; or sparse, and few."""
    if not by_rows(problem):
        dense = problem.n_documents * len(problem.offset) <= MOST
        return dense and (not smooth or min(len(problem.offset), problem.n_documents) <= FEWEST or is_possible(problem))
    few = is_possible(problem) and problem.gram_cost <= PASSES * problem.entries
    return few and (smooth or (len(problem.offset) <= FEW and problem.entries > SMALL))


def by_rows(problem: Problem) -> bool:
    """Whether the columns are sparse enough to take the Gram matrix from rows."""
    whole = problem.n_documents * (len(problem.offset) - 1)
    return problem.entries < FULL * whole and not problem.centred


def is_smooth(prior: PriorArrays) -> bool:
    """Gaussian throughout: no kink, no bound."""
    return not prior.l1.any() and bool(np.isinf(prior.lower).all() and np.isinf(prior.upper).all())


def among_documents(problem: Problem, arrays: PriorArrays) -> bool:
    """Whether there are so few documents, and of dense features, that a ridge solution is sought among them."""
    fewer = problem.n_documents <= FEWEST and 2 * problem.n_documents <= len(problem.offset)
    return fewer and not by_rows(problem) and is_smooth(arrays) and bool(np.all(arrays.l2[:-1] > 0.0))


def minimise(
    problem: Problem, y: np.ndarray, sample_weight: np.ndarray, arrays: PriorArrays, beta: np.ndarray, tol: float,
    max_iter: int, link: str = "logit",
) -> Result:  # fmt: skip
    """As solvers/newton.py's. Small ridge problems are solved to rounding, a round or two more: so that documents that
    stand twice, which may ask for the other kernel, give what one of weight 2 gives."""
    if problem.n_documents * len(problem.offset) > SMALL or not is_smooth(arrays):
        return _minimise(problem, y, sample_weight, arrays, beta, tol, max_iter, link)
    result = _minimise(problem, y, sample_weight, arrays, beta, min(tol, TO_ROUNDING), max_iter, link)
    left = result.kkt_bound if np.isnan(result.gap) else result.gap
    return result._replace(converged=bool(result.converged or left <= tol * result.objective))


def _minimise(
    problem: Problem, y: np.ndarray, sample_weight: np.ndarray, arrays: PriorArrays, beta: np.ndarray, tol: float,
    max_iter: int, link: str,
) -> Result:  # fmt: skip
    from lapwing.kernels import few_rows, gram

    documents = Documents(y, sample_weight, as_link(link).kernel_code)
    if among_documents(problem, arrays):
        result = Result(*few_rows.fit(problem.documents, documents, arrays, beta, tol, max_iter))
        if result.converged or len(problem.offset) > WIDEST:
            return result
    if not by_rows(problem):
        return Result(*gram.fit(problem.columns, None, documents, arrays, beta, tol, max_iter))
    return Result(*gram.fit(None, problem.rows_with_constant, documents, arrays, beta, tol, max_iter))


def minimise_many(
    problem: Problem, Y: np.ndarray, weights: np.ndarray, arrays: list[PriorArrays], betas: np.ndarray, tol: float,
    max_iter: int, link: str = "logit",
) -> list[Result]:  # fmt: skip
    """As solvers/newton.py's: one after the other."""
    of_each = zip(Y, weights, arrays, betas, strict=True)
    return [minimise(problem, y, weight, prior, beta, tol, max_iter, link) for y, weight, prior, beta in of_each]
