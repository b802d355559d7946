"""Which documents are in which categories where thresholds decide: most are ruled out eight categories at a time.

A document x is in category k where x·β_k > τ_k, the threshold less the intercept. For x ≥ 0 and τ_k > 0 that takes
x·u > 1 with u_j the largest β_jk / τ_k of eight categories: a product for eight, and it rules out most of them. What is
left is worked out as ever, and the answers are the same to the bit.
"""

from __future__ import annotations

import sys
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from lapwing.model.scoring import LANES, Scorer, in_lanes

BLOCK_BOUNDS = 2**16  # bounds held at a time: 0.5 MB, which stay in the cache
LAID_OUT = 32  # times as many multiplications as weights must there be, zeros included, to lay the weights out anew
ROUNDING = 2.0**-50  # eight times that of one operation
SMALLEST = np.finfo(np.float64).tiny  # from here on roundings are relative


class Decider:
    """scorer, thresholds (rows,)"""

    def __init__(self, scorer: Scorer, thresholds: np.ndarray) -> None:
        self.scorer, self.thresholds = scorer, thresholds

    def is_worth(self, matrix: sp.csr_matrix) -> bool:
        """Whether the bounds hold, kernels are loaded, and laying out the weights anew is little of the work."""
        if "numba" not in sys.modules or matrix.nnz * len(self.thresholds) <= LAID_OUT * self.scorer.weights.nnz:
            return False
        return bool(matrix.data.min(initial=0.0) >= 0.0)

    def places(self, matrix: sp.csr_matrix) -> np.ndarray:
        """Numbers document × rows + category, ascending, of what is over its threshold."""
        from lapwing.kernels import sparse

        rows = len(self.thresholds)
        upper, largest, order = self._upper
        # Sums of m terms are off by m roundings of each, those of the scores and those of the bounds.
        terms = float(np.diff(matrix.indptr).max()) + 4.0
        limits = 1.0 - ROUNDING * terms * terms * (float(matrix.data.max()) * largest + 1.0)
        in_question = np.empty((matrix.shape[0], len(largest)), dtype=bool)
        done = 0
        for bounds in upper.blocks(matrix, max(BLOCK_BOUNDS // len(largest), 1)):
            np.less_equal(bounds, limits, out=in_question[done : done + len(bounds)])
            done += len(bounds)
        np.logical_not(in_question, out=in_question)  # what is not a number is
        W, eights = self.scorer.weights, (len(largest), LANES)
        b, thresholds = np.zeros(eights), np.full(eights, np.inf)
        b.flat[:rows], thresholds.flat[:rows] = self.scorer.intercepts[order], self.thresholds[order]
        held = in_lanes(sp.csr_matrix((1, matrix.shape[1])))
        found = np.empty(LANES * np.count_nonzero(in_question), dtype=np.int64)
        X = (matrix.indptr.astype(np.int32, copy=False), matrix.indices.astype(np.int32, copy=False), matrix.data)
        count = sparse.beyond(*X, in_question, order, W.indptr, W.indices, W.data, b, thresholds, held, found)
        return np.sort(found[:count])

    @cached_property
    def _upper(self) -> tuple[Scorer, np.ndarray, np.ndarray]:
        """(u of every eight as a scorer, its largest entry, categories in the order in which eights have them).

        Those of like size are together: where they have many weights they have them for the same words. An eight with
        a τ that is not positive has no u, and as if its largest entry were infinite is never ruled out.
        """
        W = self.scorer.weights
        order = np.argsort(-np.diff(W.indptr), kind="stable")
        needed = self.thresholds - self.scorer.intercepts
        eights = [order[first : first + LANES] for first in range(0, len(order), LANES)]
        largest, made = np.full(len(eights), np.inf), []
        for number, rows in enumerate(eights):
            some, features, top = W[rows], np.zeros(0, dtype=np.int32), np.zeros(0)
            with np.errstate(divide="ignore", over="ignore"):
                values = some.data / np.repeat(needed[rows], np.diff(some.indptr))
            if (needed[rows] >= SMALLEST).all() and np.isfinite(values).all() and len(values):
                largest[number] = np.abs(values).max()
                by_feature = np.argsort(some.indices, kind="stable")
                features, starts, counts = np.unique(some.indices[by_feature], return_index=True, return_counts=True)
                top = np.maximum.reduceat(values[by_feature], starts)
                top = np.where(counts < len(rows), np.maximum(top, 0.0), top)
            made.append((features, top))
        starts = np.concatenate([[0], np.cumsum([len(features) for features, _ in made])])
        features, top = (np.concatenate(parts) for parts in zip(*made, strict=True))
        upper = sp.csr_matrix((top, features, starts), shape=(len(made), W.shape[1]))
        return Scorer(upper, np.zeros(len(made))), largest, order
