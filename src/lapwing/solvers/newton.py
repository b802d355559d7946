"""The default solver: a problem in, a certified FitResult out. Which kernel depends on the prior's shape.

Sparse priors: Newton on a working set (kernels/newton.py). Gaussian ones: Newton with conjugate gradients,
several categories together (kernels/ridge.py). Small matrices begin with coordinate descent on the columns
(kernels/descent.py): it takes a few milliseconds more, but a third of the time to compile. It also has the last word
where Newton's method stalls.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.model.links import as_link
from lapwing.model.objective import PriorArrays
from lapwing.model.result import FitResult

SMALL = 20_000  # entries of X up to which coordinate descent goes first,
BRIEFLY = 50  # for as many rounds
DENSE = 1250  # working sets up to here have their Hessian as a dense matrix: 12 MB


class Problem:
    """One matrix, by rows and by columns, shared by all fits against it.

    Features with identical columns (words that stand in the same documents, equally often) cannot be told
    apart by any fit. They enter as one column and share its weight equally, so the answer depends neither
    on their order nor on which of them a later document happens to have. With k alike, l1|B| is the least
    that weights of sum B can cost, and l2 (B/k)²/2 · k = (l2/k) B²/2.

    kinds   (d,) features of different kinds are kept apart, whatever their columns: their priors differ
    """

    def __init__(
        self,
        X: sp.csr_matrix,
        standardize_by: np.ndarray | None = None,
        *,
        kinds: np.ndarray | None = None,
        merge: bool = True,
    ) -> None:
        self.group = identical_columns(X.tocsc(), kinds) if merge else np.arange(X.shape[1])  # feature → column
        first = np.unique(self.group, return_index=True)[1]
        self.alike = np.append(np.bincount(self.group), 1)  # features per column; the intercept is alone
        merged = X if len(first) == X.shape[1] else X[:, first]
        self.offset, self.scale = np.zeros(len(first) + 1), np.ones(len(first) + 1)
        if standardize_by is not None:
            mean, sd = moments(merged, standardize_by)
            self.offset[:-1], self.scale[:-1] = -mean / sd, sd
            merged = sp.csr_matrix(merged @ sp.diags_array(1.0 / sd))
        self.by_row = (*_int32(merged), self.offset)
        self.by_column = (*_int32(merged.tocsc()), self.offset)
        self.members = np.append(first, X.shape[1])
        self.n_documents = X.shape[0]

    @property
    def both_ways(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """By columns, by rows, and the offset."""
        return *self.by_column[:3], *self.by_row

    @cached_property
    def frequent_first(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """(columns by falling number of entries, X by rows with its columns in that order).

        What most documents ask for then lies together in the cache.
        """
        indptr, indices, data, offset = self.by_column
        order = np.append(np.argsort(-np.diff(indptr), kind="stable"), len(indptr) - 1)
        columns = sp.csc_matrix((data, indices, indptr), shape=(self.n_documents, len(indptr) - 1))
        return order, (*_int32(sp.csr_matrix(columns[:, order[:-1]])), offset[order])

    @cached_property
    def with_constant(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """The same, with the constant feature as a last column of ones."""
        order, (indptr, indices, data, offset) = self.frequent_first
        entries = np.insert(indices, indptr[1:], len(order) - 1)
        return order, (
            indptr + np.arange(len(indptr), dtype=np.int32),
            entries,
            np.insert(data, indptr[1:], 1.0),
            offset,
        )

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """x_i·β + intercept of every document, from weights of features."""
        from lapwing.kernels.loss import scores

        return scores(*self.by_column, self.gather(weights), self.n_documents)

    def merge(self, prior: PriorArrays) -> PriorArrays:
        """The prior of the columns; features that are alike must have the same one.

        Variances are those of standardised features, modes and bounds those of raw ones, as in BBR.
        """
        for array in prior:
            told_apart = np.any(array[:-1] != array[0])
            if told_apart and not np.array_equal(array[:-1], array[self.members[:-1]][self.group]):
                raise InputError("identical columns have different priors; make the problem with merge=False")
        mode, l1, l2, lower, upper = (array[self.members] for array in prior)
        factor = self.alike * self.scale
        return PriorArrays(mode * factor, l1, l2 / self.alike, lower * factor, upper * factor)

    def spread(
        self, beta: np.ndarray, prior: PriorArrays | None = None, arrays: PriorArrays | None = None
    ) -> np.ndarray:
        """Weights of columns to weights of raw features: x·(β/sd) + intercept - mean·(β/sd).

        With a `prior`, and `arrays` that it merges to: where a column is at its mode or a bound, its features are
        at theirs to the bit.
        """
        weights = np.append((beta / self.scale)[:-1] / self.alike[:-1], beta[-1])
        if prior is not None and arrays is not None:
            own = PriorArrays(*(part[self.members] for part in prior))
            for part in ("lower", "upper", "mode"):
                reached = beta == getattr(arrays, part)
                weights[reached] = getattr(own, part)[reached]
            weights = np.clip(weights, own.lower, own.upper)
        return np.append(weights[self.group], weights[-1] + self._shift(beta))

    def _shift(self, beta: np.ndarray) -> float:
        """What centring adds to every score. A product of BLAS would depend on the number of its threads."""
        return float(np.sum(self.offset * beta))

    def start(self, arrays: PriorArrays, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of columns to start from, within the bounds: those of raw features, or the modes."""
        return np.clip(arrays.mode if weights is None else self.gather(weights), arrays.lower, arrays.upper)

    def gather(self, weights: np.ndarray) -> np.ndarray:
        """Weights of raw features to weights of columns."""
        summed = np.bincount(self.group, weights=weights[:-1], minlength=len(self.members) - 1)
        beta = np.append(summed, 0.0) * self.scale
        beta[-1] = weights[-1] - self._shift(beta)
        return beta


def moments(X: sp.csr_matrix, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and population standard deviation of every column; 1 in place of a deviation of 0."""
    share = weight / weight.sum()
    mean = np.asarray(X.T @ share).ravel()
    variance = np.asarray(X.multiply(X).T @ share).ravel() - mean * mean
    return mean, np.sqrt(np.where(variance > 1e-14 * mean * mean, variance, 1.0))


def identical_columns(X: sp.csc_matrix, kinds: np.ndarray | None = None) -> np.ndarray:
    """The same number for columns of one kind that are equal entry by entry; in order of first appearance."""
    kinds = np.zeros(X.shape[1], dtype=np.int64) if kinds is None else kinds
    # Equal columns have equal sums with any weights of rows, to the bit; whether the others do is then checked.
    weights = np.random.default_rng(0).random(X.shape[0])
    lengths = np.diff(X.indptr)
    sums = np.column_stack([kinds, lengths, X.T @ weights])
    _, candidate, size = np.unique(sums, axis=0, return_inverse=True, return_counts=True)
    group = np.arange(X.shape[1])
    seen: dict[tuple[int, bytes, bytes], int] = {}
    for j in np.flatnonzero(size[candidate.ravel()] > 1).tolist():
        column = slice(X.indptr[j], X.indptr[j + 1])
        group[j] = seen.setdefault((int(kinds[j]), X.indices[column].tobytes(), X.data[column].tobytes()), j)
    return np.unique(group, return_inverse=True)[1].ravel()


def _int32(matrix: sp.csr_matrix | sp.csc_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # Numba would compile anew for what cannot be written to.
    data = matrix.data if matrix.data.flags.writeable else matrix.data.copy()
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), data


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
    """Minimise the objective of model/objective.py over one category."""
    from lapwing.kernels.loss import optimality

    arrays = problem.merge(prior)
    beta = problem.start(arrays, start)
    objective, gap, _, rounds, converged, theta = minimise(problem, y, sample_weight, arrays, beta, tol, max_iter, link)
    kkt, kkt_bound = optimality(*problem.both_ways, y, sample_weight, as_link(link).code, *arrays, beta)
    weights = problem.spread(beta, prior, arrays)
    return FitResult(weights, objective, gap, kkt, kkt_bound, rounds, converged, variance, theta)


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
    found = minimise_many(problem, Y, weights, arrays, betas, tol, max_iter, link)
    names = ("objective", "gap", "kkt", "kkt_bound", "rounds", "converged")
    proofs = [
        dict(zip(names, one, strict=True)) for one in zip(*(of_all.tolist() for of_all in found[:-1]), strict=True)
    ]
    return [
        FitResult(problem.spread(beta), **proof, variance=variance, dual=theta)
        for beta, proof, variance, theta in zip(betas, proofs, variances, found[-1], strict=True)
    ]


def is_smooth(prior: PriorArrays) -> bool:
    """Gaussian throughout: no kink, no bound."""
    return not prior.l1.any() and bool(np.isinf(prior.lower).all() and np.isinf(prior.upper).all())


def minimise_many(
    problem: Problem, Y: np.ndarray, weights: np.ndarray, arrays: list[PriorArrays], betas: np.ndarray, tol: float,
    max_iter: int, link: str = "logit",
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """`minimise` for several problems with Gaussian priors, rows of `Y`, `weights` and `betas`.

    Returns arrays, an entry or row for each: (objective, gap, kkt, kkt_bound, rounds, converged, dual point).
    """
    from lapwing.kernels import ridge

    order, by_row = problem.with_constant
    which, first = _which([(prior.mode.tobytes(), prior.l2.tobytes()) for prior in arrays])
    modes, l2s = np.array([arrays[k].mode[order] for k in first]), np.array([arrays[k].l2[order] for k in first])
    weighs, first = _which([row.tobytes() for row in weights])
    weights = weights[first]
    ordered = np.take(betas, order, axis=1)  # rows one after the other, as the kernel reads them
    # Those that take longest first: at the end lanes would be idle.
    positive = np.count_nonzero(Y > 0.0, axis=1)
    turns = np.argsort(-np.minimum(positive, Y.shape[1] - positive), kind="stable")
    code = as_link(link).code
    found = ridge.fit(*by_row, Y, weights, weighs, code, modes, l2s, which, ordered, turns, tol, max_iter)
    betas[:, order] = ordered
    return found


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
) -> tuple[float, float, float, int, bool, np.ndarray]:
    """From `beta`, which is overwritten, over columns and not features: `arrays` comes from `problem.merge`.

    known   what a fit with the same documents left: rows (gradient of the loss near `beta`, sums of all columns), NaN
            where not known; overwritten, but for Gaussian priors. It saves passes over X.

    Returns (objective, gap, kkt_bound, rounds, converged, dual point).
    """
    from lapwing.kernels import descent, newton

    code = as_link(link).code
    if is_smooth(arrays):
        betas = beta[None]
        *proof, theta = minimise_many(problem, y[None], sample_weight[None], [arrays], betas, tol, max_iter, link)
        beta[:] = betas[0]
        objective, gap, _, kkt_bound, rounds, converged = (of_all[0].item() for of_all in proof)
        return objective, gap, kkt_bound, rounds, converged, theta[0]
    known = np.full((2, len(beta)), np.nan) if known is None else known

    def descend(rounds: int) -> tuple[float, float, float, int, bool, np.ndarray]:
        known[0] = np.nan
        return descent.fit(*problem.by_column, y, sample_weight, code, *arrays, beta, tol, rounds)

    rest = max_iter
    by_stored = not problem.offset.any()  # coordinate descent goes by stored entries
    if by_stored and len(problem.by_column[2]) <= SMALL:
        found = descend(min(BRIEFLY, max_iter))
        rest -= found[3]
        if found[4] or rest == 0:
            return found
    X, told = problem.both_ways, (y, sample_weight, code)
    for dense, without in ((DENSE, None), (None, True)):
        found = newton.fit(*X, *told, *arrays, beta, tol, rest, dense, without, known)
        rest -= found[3]
        if found[4] or rest == 0:
            return *found[:3], max_iter - rest, *found[4:]
    return descend(max_iter) if by_stored else found
