"""Sparse priors, rare categories: a list of positives in, a certified fit with few numbers out (kernels/rare.py)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lapwing.kernels.nouns import PriorArrays
from lapwing.shards.sums import column_sums
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link

if TYPE_CHECKING:
    from lapwing.kernels.rare_prices import Desk, Ground

MOST = 1250  # words in a working set; beyond, kernels/newton.py has a way without a dense matrix


class Start(NamedTuple):
    """Where a fit begins: columns of the problem, their weights, and the intercept."""

    columns: np.ndarray
    weights: np.ndarray
    intercept: float


class RareFit(NamedTuple):
    """As `RareResult` of kernels/rare.py, for columns of the problem with a weight, rising; the intercept apart."""

    columns: np.ndarray
    weights: np.ndarray
    intercept: float
    objective: float
    gap: float
    kkt: float
    kkt_bound: float
    rounds: int
    converged: bool
    documents: np.ndarray
    theta: np.ndarray
    elsewhere: float

    def dual(self, n: int) -> np.ndarray:
        """(n,) θ of every document."""
        dual = np.full(n, self.elsewhere)
        dual[self.documents] = self.theta
        return dual


def takes(problem: Problem, arrays: PriorArrays) -> bool:
    """Whether the kernel can fit these: every word penalised towards 0 and unbounded, the intercept not free."""
    if problem.centred or arrays.flat[-1]:
        return False
    unbounded = np.isneginf(arrays.lower).all() and np.isposinf(arrays.upper).all()
    return bool(unbounded and not arrays.mode[:-1].any() and (arrays.l1[:-1] > 0.0).all())


def _with_named(named: np.ndarray, columns: np.ndarray, weights: np.ndarray, intercept: float) -> Any:
    """A start in which columns with modes of their own come first, whether they have a weight or not."""
    if not len(named):
        return columns.astype(np.int32), np.append(intercept, weights)
    known = dict(zip(columns.tolist(), weights.tolist(), strict=True))
    first = [known.pop(column, 0.0) for column in named.tolist()]
    return np.array([*named, *known], np.int32), np.array([intercept, *first, *known.values()])


class _Layout:
    """Room for every thread, whatever the documents weigh."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._threads = threading.local()

    def __reduce__(self) -> Any:
        return _Layout, (self.problem,)

    @contextmanager
    def desk(self) -> Iterator[Desk]:
        """Of this thread. A fit leaves it as it was; after one that raised, the next has a new one."""
        try:
            yield self._desk()
        except BaseException:
            del self._threads.desk
            raise

    def _desk(self) -> Desk:
        from lapwing.kernels.rare_prices import Desk

        if not hasattr(self._threads, "desk"):
            n, d, of_int = self.problem.n_documents, len(self.problem.offset) - 1, np.int32
            of_entries = self.problem.matrix.columns.indptr.dtype
            documents = ("weight", "margin", "there", "shift", "theta", "predicted", "curvature", "best", "deviation")
            self._threads.desk = Desk(
                place=np.full(n, -1, of_int),
                document=np.zeros(n, of_int),
                **{name: np.zeros(n) for name in documents},
                **{name: np.zeros(d + 1) for name in ("beta", "mode", "gradient")},
                **{name: np.zeros(d + 1, of_int) for name in ("inside", "features")},
                **{name: np.zeros(d) for name in ("hot", "excess")},
                **{name: np.zeros(d, of_int) for name in ("seen", "listed", "violators")},
                begin=np.full(d, -1, of_entries),
                places=np.zeros(len(self.problem.matrix.columns.data), of_int),
                ends=np.zeros(d + 2, of_entries),
            )
        return self._threads.desk


class RareSolver:
    """One matrix and one set of weights of its documents, for any number of categories and threads."""

    def __init__(self, problem: Problem, weight: np.ndarray, layout: _Layout | None = None) -> None:
        self.problem, self.weight = problem, weight
        self.layout = layout or _Layout(problem)
        columns = problem.matrix.columns
        self.sums, self.bulk, squares = (column_sums(columns, weight, of)[:-1] for of in (None, np.abs, np.square))
        self.norm, self.alike = np.sqrt(squares), problem.alike[:-1].astype(np.float64)
        self._last: tuple[PriorArrays, Ground] | None = None

    def reweighted(self, weight: np.ndarray) -> RareSolver:
        """The same documents with other weights."""
        return RareSolver(self.problem, weight, self.layout)

    def _ground(self, arrays: PriorArrays) -> Ground:
        from lapwing.kernels.rare_prices import Ground

        last = self._last  # read once: other threads set it
        if last is None or last[0] is not arrays:
            order = np.argsort(-self.bulk / arrays.l1[:-1], kind="stable").astype(np.int32)
            total = float(np.sum(self.weight))
            ground = Ground(self.weight, total, self.sums, self.bulk, self.norm, order, self.alike)
            last = self._last = arrays, ground
        return last[1]

    def fit(
        self,
        positives: np.ndarray,
        arrays: PriorArrays,
        *,
        modes: tuple[np.ndarray, np.ndarray] | None = None,
        factors: tuple[float, float] = (1.0, 1.0),
        start: Start | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        link: str = "logit",
    ) -> RareFit:
        """One category, under a prior of the columns; `factors` are those of the weights of its documents and others.

        modes   columns of which the category has a mode of its own, and these

        It may not converge where the working set would be too wide: then kernels/newton.py can go on from there.
        """
        from lapwing.kernels import rare, rare_prices

        named, own = modes or (np.empty(0, np.int32), np.empty(0))
        category = rare_prices.Category(
            np.asarray(positives, np.int32), own, factors[0], factors[1], as_link(link).kernel_code
        )
        words, values = named.astype(np.int32), np.append(np.nan, own)
        if start is not None:
            words, values = _with_named(words, *start)
        ground = self._ground(arrays)
        with self.layout.desk() as desk:
            result = rare.RareResult(
                *rare.fit(self.problem.matrix, ground, desk, arrays, category, words, values, tol, max_iter, MOST)
            )
        order = np.argsort(result.features[1:], kind="stable") + 1
        order = order[result.weights[order] != 0.0]
        return RareFit(
            result.features[order], result.weights[order], float(result.weights[0]), *result[:6], *result[8:]
        )
