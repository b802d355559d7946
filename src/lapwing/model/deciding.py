"""Which documents are in which categories where thresholds decide: most are ruled out sixteen categories at a time.

A document x is in category k where x·β_k > τ_k, the threshold less the intercept. For x ≥ 0 and τ_k > 0 that takes
x·u > 1 with u_j the largest β_jk / τ_k of sixteen categories: one product for all, and it rules out most. What is left
is worked out as ever, and the answers are the same to the bit.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from lapwing.model.scoring import Scorer, for_kernels, in_lanes

SOME = 16  # categories ruled out together, as in kernels/sparse.py
BLOCK_BOUNDS = 2**15  # bounds held at a time: 0.25 MB, which stay in the cache
BLOCK_QUESTIONS = 2**22  # whether a document may be in one of SOME categories, held at a time: 4 MB
LAID_OUT = 32  # times as many multiplications as weights must there be, zeros included, to lay the weights out anew
ROUNDING = 2.0**-50  # eight times that of one operation
SMALLEST = np.finfo(np.float64).tiny  # from here on roundings are relative
LARGEST = 1e30  # entry of a u, in half the memory and rounded up


class Decider:
    """scorer, thresholds (rows,)"""

    def __init__(self, scorer: Scorer, thresholds: np.ndarray) -> None:
        self.scorer, self.thresholds = scorer, thresholds

    def is_worth(self, matrix: sp.csr_matrix) -> bool:
        """Whether the bounds hold, there is work for a kernel, and laying out the weights again is little of it."""
        if matrix.nnz * len(self.thresholds) <= LAID_OUT * self.scorer.weights.nnz:
            return False
        return bool(matrix.data.min(initial=0.0) >= 0.0) and self.scorer.is_worth_a_kernel(matrix)

    def places(self, matrix: sp.csr_matrix) -> np.ndarray:
        """Numbers document × rows + category, ascending, of what is over its threshold."""
        n, rows = matrix.shape[0], len(self.thresholds)
        size = max(BLOCK_QUESTIONS * SOME // rows, 1)
        if n <= size:
            return self._places(matrix)
        parts = ((start, matrix[start : start + size]) for start in range(0, n, size))
        return np.concatenate([self._places(part) + start * rows for start, part in parts])

    def _places(self, matrix: sp.csr_matrix) -> np.ndarray:
        from lapwing.kernels import sparse

        rows = len(self.thresholds)
        upper, largest, order = self._upper
        # Sums of m terms are off by m roundings of each, those of the scores and those of the bounds.
        terms = float(np.diff(matrix.indptr).max(initial=0)) + 4.0
        limits = 1.0 - ROUNDING * terms * terms * (float(matrix.data.max(initial=0.0)) * largest + 1.0)
        in_question = np.empty((matrix.shape[0], len(largest)), dtype=bool)
        done = 0
        for bounds in upper.blocks(matrix, max(BLOCK_BOUNDS // len(largest), 1)):
            np.less_equal(bounds, limits, out=in_question[done : done + len(bounds)])
            done += len(bounds)
        np.logical_not(in_question, out=in_question)  # what is not a number is
        b, thresholds = np.zeros((len(largest), SOME)), np.full((len(largest), SOME), np.inf)
        b.flat[:rows], thresholds.flat[:rows] = self.scorer.intercepts[order], self.thresholds[order]
        held = in_lanes(sp.csr_matrix((SOME, matrix.shape[1]), dtype=np.float64))
        places = np.empty(SOME * np.count_nonzero(in_question), dtype=np.int64)
        X, W = for_kernels(matrix), for_kernels(self.scorer.weights)
        count = sparse.beyond(*X, in_question, order, *W, b, thresholds, held, places)
        return np.sort(places[:count])

    @cached_property
    def _upper(self) -> tuple[Scorer, np.ndarray, np.ndarray]:
        """(u of SOME categories after the other as a scorer, their largest entries, the order of the categories).

        Those of like size are together: where they have many weights they have them for the same words. Those with a
        τ that is not positive have no u, and, as if its largest entry were infinite, are never ruled out.
        """
        W = self.scorer.weights
        order = np.argsort(-np.diff(W.indptr), kind="stable")
        needed = self.thresholds - self.scorer.intercepts
        turns = [order[first : first + SOME] for first in range(0, len(order), SOME)]
        largest, starts = np.zeros(len(turns)), [0]
        features, top = [], []
        for turn, rows in enumerate(turns):
            most, count = np.full(W.shape[1], -np.inf), np.zeros(W.shape[1], dtype=np.int8)
            for k in rows:
                own = slice(W.indptr[k], W.indptr[k + 1])
                with np.errstate(divide="ignore", over="ignore"):
                    values = W.data[own] / needed[k] if needed[k] >= SMALLEST else np.full(1, np.inf)
                largest[turn] = max(largest[turn], np.abs(values).max(initial=0.0))
                if largest[turn] > LARGEST:
                    largest[turn], count[:] = np.inf, 0
                    break
                here = W.indices[own]
                most[here] = np.maximum(most[here], values)
                count[here] += 1
            features.append(np.flatnonzero(count).astype(np.int32))
            exact = np.maximum(most[features[-1]], np.where(count[features[-1]] < len(rows), 0.0, -np.inf))
            near = exact.astype(np.float32)
            top.append(np.where(near < exact, np.nextafter(near, np.float32(np.inf)), near))
            starts.append(starts[-1] + len(features[-1]))
        upper = sp.csr_matrix((np.concatenate(top), np.concatenate(features), starts), shape=(len(turns), W.shape[1]))
        return Scorer(upper, np.zeros(len(turns))), largest, order
