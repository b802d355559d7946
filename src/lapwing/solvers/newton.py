"""The default solver: a problem in, a certified FitResult out. Which kernel depends on the prior's shape.

Sparse priors: Newton on a working set (kernels/newton.py). Gaussian ones: Newton with conjugate gradients,
several categories together (kernels/ridge.py), for small matrices without what only large ones need. Small matrices
begin with coordinate descent on the columns (kernels/descent.py): it takes a few milliseconds more, but a third of the
time to compile. It also has the last word where Newton's method stalls. Matrices without many zeros have a kernel of
their own (solvers/dense.py), which the others leave what is too badly conditioned for them to, if it is small enough. A
link that kernels do not know is fitted by NumPy (solvers/any_link.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.kernels.nouns import Documents, Result
from lapwing.solvers import any_link, dense
from lapwing.solvers.dense import is_smooth
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link, as_loss
from lapwing.stats.objective import PriorArrays
from lapwing.stats.result import FitResult

SMALL = 20_000  # entries of X up to which coordinate descent goes first,
BRIEFLY = 50  # for as many rounds
EVEN = 100.0  # times the smallest entry of a dense matrix is the largest with which it, too, begins so
DENSE = 800  # working sets up to here have their Hessian as a dense matrix: 5 MB. Larger ones are faster without,
MODEST = 300_000  # but not in matrices of so few entries:
WIDER = 1500  # up to here, then, and half the kernel is not needed


def fit(
    problem: Problem,
    y: np.ndarray,
    sample_weight: np.ndarray,
    prior: PriorArrays,
    *,
    variance: float,
    tol: float = 1e-4,
    max_iter: int = 500,
    start: np.ndarray | None = None,
    link: str = "logit",
) -> FitResult:
    """Minimise the objective of stats/objective.py over one category."""
    from lapwing.kernels.loss import optimality

    arrays = problem.merge(prior)
    beta = problem.start(arrays, start)
    result = minimise(problem, y, sample_weight, arrays, beta, tol, max_iter, link)
    code = as_loss(link).code
    if code is not None and not dense.is_better(problem, smooth=is_smooth(arrays)):  # whose kernels know
        kkt, kkt_bound = optimality(problem.matrix, Documents(y, sample_weight, code), arrays, beta)
        result = result._replace(kkt=kkt, kkt_bound=kkt_bound)
    return FitResult(problem.spread(beta, prior, arrays), variance=variance, **result._asdict())


def fit_many(
    problem: Problem,
    Y: np.ndarray,
    weights: np.ndarray,
    priors: list[PriorArrays],
    *,
    variances: list[float],
    tol: float = 1e-4,
    max_iter: int = 500,
    link: str = "logit",
) -> list[FitResult]:
    """`fit` for several categories under Gaussian priors, which go through X together; rows of `Y` and `weights`.

    The same list of numbers for each as from `fit`, whatever the company.
    """
    merged = {id(prior): problem.merge(prior) for prior in priors}
    arrays = [merged[id(prior)] for prior in priors]
    betas = np.array([problem.start(one) for one in arrays])
    results = minimise_many(problem, Y, weights, arrays, betas, tol, max_iter, link)
    return [
        FitResult(problem.spread(beta), variance=variance, **result._asdict())
        for beta, variance, result in zip(betas, variances, results, strict=True)
    ]


def lay_out(problem: Problem, *, smooth: bool) -> Any:
    """What fits read, made before the first of them asks."""
    if dense.is_better(problem, smooth=smooth):
        return problem.rows_with_constant if dense.by_rows(problem) else problem.columns
    if not smooth:
        return problem.matrix
    return problem.rows_with_constant if problem.once else problem.frequent_first_with_constant


def minimise_many(
    problem: Problem, Y: np.ndarray, weights: np.ndarray, arrays: list[PriorArrays], betas: np.ndarray, tol: float,
    max_iter: int, link: str = "logit",
) -> list[Result]:  # fmt: skip
    """`minimise` for several problems with Gaussian priors, rows of `Y`, `weights` and `betas`."""
    if as_loss(link).code is None:
        return any_link.minimise_many(problem, Y, weights, arrays, betas, tol, max_iter, link)
    from lapwing.kernels import ridge

    if dense.is_better(problem, smooth=True):
        return dense.minimise_many(problem, Y, weights, arrays, betas, tol, max_iter, link)
    if problem.once and len(Y) == 1:
        results = [_minimise_one(problem, Y[0], weights[0], arrays[0], betas[0], tol, max_iter, link)]
        return _again(results, problem, Y, weights, arrays, betas, tol, max_iter, link)
    order, rows, offset = problem.frequent_first_with_constant
    which, first = _which([(prior.mode.tobytes(), prior.l2.tobytes()) for prior in arrays])
    modes, l2s = np.array([arrays[k].mode[order] for k in first]), np.array([arrays[k].l2[order] for k in first])
    weighs, first = _which([row.tobytes() for row in weights])
    weights_of, weights = weights, weights[first]
    ordered = np.take(betas, order, axis=1)  # rows one after the other, as the kernel reads them
    # Those that take longest first: at the end lanes would be idle.
    positive = np.count_nonzero(Y > 0.0, axis=1)
    turns = np.argsort(-np.minimum(positive, Y.shape[1] - positive), kind="stable")
    categories = ridge.Categories(Y, weights, weighs, as_link(link).kernel_code, modes, l2s, which)
    few = ridge.FEW if len(rows.data) > SMALL else None
    of_all = ridge.fit(rows, offset, categories, ordered, turns, few, tol, max_iter)
    betas[:, order] = ordered
    results = [Result(*one) for one in zip(*(part.tolist() for part in of_all[:-1]), of_all[-1], strict=True)]
    return _again(results, problem, Y, weights_of, arrays, betas, tol, max_iter, link)


def _minimise_one(
    problem: Problem, y: np.ndarray, weight: np.ndarray, prior: PriorArrays, beta: np.ndarray, tol: float,
    max_iter: int, link: str,
) -> Result:  # fmt: skip
    """One category by itself, over a matrix that is neither small nor centred."""
    from lapwing.kernels import ridge, ridge_one

    answers = ridge_one.fit(
        problem.rows_with_constant, y, weight, as_link(link).kernel_code, prior.mode, prior.l2, beta, ridge.FEW, tol,
        max_iter,
    )  # fmt: skip
    return Result(*[*(part.tolist()[0] for part in answers[:-1]), answers[-1][0]])


def _again(
    results: list[Result], problem: Problem, Y: np.ndarray, weights: np.ndarray, arrays: list[PriorArrays],
    betas: np.ndarray, tol: float, max_iter: int, link: str,
) -> list[Result]:  # fmt: skip
    """The results; what did not converge by conjugate gradients is left to a Gram matrix, if that is small enough."""
    behind = [k for k, result in enumerate(results) if not result.converged]
    if behind and max_iter > 0 and dense.is_possible(problem):
        rest = betas[behind]
        again = dense.minimise_many(
            problem, Y[behind], weights[behind], [arrays[k] for k in behind], rest, tol, max_iter, link
        )
        betas[behind] = rest
        for k, result in zip(behind, again, strict=True):
            results[k] = result
    return results


def _which(keys: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each among the distinct ones, and where these appear first."""
    seen: dict[Any, int] = {}
    which = np.array([seen.setdefault(key, len(seen)) for key in keys])
    return which, np.unique(which, return_index=True)[1]


def minimise(
    problem: Problem,
    y: np.ndarray,
    sample_weight: np.ndarray,
    arrays: PriorArrays,
    beta: np.ndarray,
    tol: float,
    max_iter: int,
    link: str = "logit",
    known: np.ndarray | None = None,
) -> Result:
    """From `beta`, which is overwritten, over columns and not features: `arrays` comes from `problem.merge`.

    known   what a fit with the same documents left: rows (gradient of the loss near `beta`, sums of all columns), NaN
            where not known; overwritten, but for Gaussian priors. It saves passes over X.
    """
    if as_loss(link).code is None:
        return any_link.minimise(problem, y, sample_weight, arrays, beta, tol, max_iter, link)
    from lapwing.kernels import descent, newton

    if is_smooth(arrays):
        betas = beta[None]
        (result,) = minimise_many(problem, y[None], sample_weight[None], [arrays], betas, tol, max_iter, link)
        beta[:] = betas[0]
        return result
    known = np.full((2, len(beta)), np.nan) if known is None else known
    documents = Documents(y, sample_weight, as_link(link).kernel_code)

    rest, is_dense = max_iter, dense.is_better(problem, smooth=False)
    if not problem.centred and problem.entries <= SMALL and not (is_dense and _uneven(problem)):
        known[0], most = np.nan, min(BRIEFLY, max_iter)
        result = Result(*descent.fit(problem.columns_with_constant, documents, arrays, beta, tol, most))
        rest -= result.rounds
        if result.converged or rest == 0:
            return result
    if is_dense:
        return dense.minimise(problem, y, sample_weight, arrays, beta, tol, max_iter, link)
    modest = not problem.centred and problem.entries <= MODEST
    for most, matrix_free in ((WIDER, None), (DENSE, True)) if modest else ((DENSE, True),):
        result = Result(*newton.fit(problem.matrix, documents, arrays, beta, tol, rest, most, matrix_free, known))
        rest -= result.rounds
        if rest == 0 or not np.isinf(result.gap):
            break
    if result.converged or rest == 0 or problem.centred:
        return result._replace(rounds=max_iter - rest)
    known[0] = np.nan
    return Result(*descent.fit(problem.columns_with_constant, documents, arrays, beta, tol, max_iter))


def _uneven(problem: Problem) -> bool:
    """Whether entries differ by orders of magnitude: columns that measure something, and not counts of words."""
    sizes = np.abs(problem.by_rows.data)
    return bool(sizes.max(initial=0.0) > EVEN * sizes.min(initial=np.inf))
