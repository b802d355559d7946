"""A quadratic added to the objective: the past, which documents that are gone leave behind for the next fit.

Yesterday's posterior is today's prior (EGJLM03).

At weights o the old documents' loss has the height h, the slope g and the curvature A, and to second order

    L(β) ≈ Q(β) = h + g·(β−o) + (β−o)ᵀA(β−o)/2.

An update minimises the new documents' loss + Q(β) + the prior's penalty, which is there once: Q stands for documents
only. A is known on its diagonal; or on a block of coordinates, and the diagonal of the others; or on its diagonal and,
between the coordinates of the block, as FFᵀ with few columns. Coordinates of which nothing is known have no part in Q.
At the new weights Q is written anew, without loss, and the new documents' own height, slope and curvature are added:
the past of the next update.

The proof. Q lies above its tangents, so for any point β the objective is at least

    Σ_i c_i loss(r_i) + Σ_j penalty'_j(b_j) − pull·b + height

for every b, with the diagonal of A in the l2 of penalty', and the tangent of the rest at β in `pull`: equal at b = β.
The dual of stats/objective.py, with z + pull in place of z, bounds the optimum from below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from lapwing.kernels.nouns import PriorArrays

LOST = 1e-13  # share of itself at which what is left of a pivot is rounding


def nothing() -> np.ndarray:
    return np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Past:
    """Q of the heading, over coordinates of which the intercept is the last.

    index    (p,) coordinates, rising
    centre, slope, bend   (p,) o, g and the diagonal of A there, less that of the block or of FFᵀ
    places   (k,) those of `index` that the block, or F, is over
    block    (k, k), or none
    factor   F (k, r) where there is no block
    """

    height: float
    index: np.ndarray
    centre: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    places: np.ndarray
    block: np.ndarray
    factor: np.ndarray = field(default_factory=nothing)

    @classmethod
    def none(cls) -> Past:
        empty = np.empty(0)
        return cls(0.0, np.empty(0, np.int64), empty, empty, empty, np.empty(0, np.int64), nothing())

    @property
    def between(self) -> np.ndarray:
        """(k, k) A over `places`, without `bend`."""
        return self.block if len(self.block) else np.asarray(self.factor @ self.factor.T)

    def _times(self, away: np.ndarray) -> np.ndarray:
        """`between` times one number for each of `places`."""
        if len(self.block):
            return np.asarray(self.block @ away)
        return np.asarray(np.einsum("kr,r->k", self.factor, np.einsum("kr,k->r", self.factor, away)))

    @property
    def whole(self) -> np.ndarray:
        """(p,) the diagonal of A."""
        if not len(self.places):
            return self.bend
        diagonal = self.bend.copy()
        diagonal[self.places] += np.diagonal(self.block) if len(self.block) else np.sum(self.factor**2, axis=1)
        return diagonal

    def discounted(self, factor: float) -> Past:
        """Q as if every old document counted `factor` times."""
        return replace(
            self, height=factor * self.height, slope=factor * self.slope, bend=factor * self.bend,
            block=factor * self.block, factor=np.sqrt(factor) * self.factor,
        )  # fmt: skip

    def carried(self, index: np.ndarray, ratio: np.ndarray) -> Past:
        """The same where features have other numbers, rising as before, and units `ratio` times as large."""
        inside = ratio[self.places]
        return Past(
            self.height, index, self.centre / ratio, self.slope * ratio, self.bend * ratio**2, self.places,
            self.block * inside[:, None] * inside if len(self.block) else self.block,
            self.factor * inside[:, None] if len(self.factor) else self.factor,
        )  # fmt: skip

    def recentred(self, weights: np.ndarray) -> Past:
        """The same Q, written at other weights."""
        away = weights[self.index] - self.centre
        slope = self.slope + self.bend * away
        slope[self.places] += self._times(away[self.places])
        return replace(self, height=self.value(weights), centre=weights[self.index], slope=slope)

    def _known(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where these coordinates are in `index`, and whether they are."""
        at = np.searchsorted(self.index, index)
        at[at == len(self.index)] = 0
        return at, self.index[at] == index if len(self.index) else np.zeros(len(index), dtype=bool)

    def restricted(self, index: np.ndarray, block_of: np.ndarray) -> Past:
        """What is known of these coordinates, and of the curvature between those of the block; of others its diagonal.

        Coordinates that are not known come in with nothing.
        """
        at, known = self._known(index)
        centre, slope, bend = (np.where(known, part[at] if len(part) else 0.0, 0.0)
                               for part in (self.centre, self.slope, self.whole))  # fmt: skip
        places = np.searchsorted(index, block_of)
        block = self.curvature(block_of)
        bend[places] = 0.0
        return Past(self.height, index, centre, slope, bend, places, block)

    def plus(self, other: Past, block_of: np.ndarray, column: Callable[[int], np.ndarray], rank: int) -> Past:
        """With another of all of its coordinates, known by its diagonal, and between those of the block by columns.

        The curvature between coordinates of the block is kept to a rank; what is left out stays on the diagonal.
        """
        index, places = other.index, np.searchsorted(other.index, block_of)
        here = self.restricted(index, block_of[:0])
        factor = self.factor_over(block_of)
        shared = np.sum(factor**2, axis=1)

        def joined(a: int) -> np.ndarray:
            return column(a) + np.einsum("kr,r->k", factor, factor[a])

        kept, left = low_rank(shared + other.bend[places], joined, rank)
        bend = here.bend + other.bend
        bend[places] = here.bend[places] - shared + left
        return Past(
            self.height + other.height, index, other.centre, here.slope + other.slope, np.maximum(bend, 0.0), places,
            nothing(), kept,
        )  # fmt: skip

    def factor_over(self, columns: np.ndarray) -> np.ndarray:
        """F over some coordinates, rising: (k, r), 0 where nothing is known; of a block a factor of its rank."""
        if not len(self.places):
            return np.zeros((len(columns), 0))
        factor = self.factor
        if len(self.block):
            factor, _ = low_rank(np.diagonal(self.block), lambda a: self.block[a], len(self.block))
        at, known = replace(self, index=self.index[self.places])._known(columns)
        return np.where(known[:, None], factor[at], 0.0)

    def joined(self, other: Past) -> Past:
        """The sum of two, both written at the same weights; the block is over the coordinates of both blocks."""
        index = np.union1d(self.index, other.index)
        block_of = np.union1d(self.index[self.places], other.index[other.places])
        centre, slope, bend = (np.zeros(len(index)) for _ in range(3))
        block = np.zeros((len(block_of), len(block_of)))
        for one in (self, other):
            at = np.searchsorted(index, one.index)
            centre[at] = one.centre
            slope[at] += one.slope
            bend[at] += one.bend
            within = np.searchsorted(block_of, one.index[one.places])
            block[np.ix_(within, within)] += one.between
        places = np.searchsorted(index, block_of)
        block[np.diag_indices_from(block)] += bend[places]
        bend[places] = 0.0
        return Past(self.height + other.height, index, centre, slope, bend, places, block)

    def _pull(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        away = weights[self.index] - self.centre
        return away, self.bend * away, self._times(away[self.places])

    def value(self, weights: np.ndarray) -> float:
        away, diagonal, within = self._pull(weights)
        bent = float(np.sum(away * diagonal)) + float(np.sum(away[self.places] * within))
        return self.height + float(np.sum(self.slope * away)) + 0.5 * bent

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """(d+1,)"""
        _, diagonal, within = self._pull(weights)
        known = self.slope + diagonal
        known[self.places] += within
        full = np.zeros(len(weights))
        full[self.index] = known
        return full

    def curvature(self, columns: np.ndarray) -> np.ndarray:
        """A over some coordinates, rising: (k, k)."""
        at = np.searchsorted(columns, self.index)
        at[at == len(columns)] = 0
        here = columns[at] == self.index if len(columns) else np.zeros(len(at), dtype=bool)
        A = np.zeros((len(columns), len(columns)))
        A[at[here], at[here]] = self.bend[here]
        inside = here[self.places]
        rows = at[self.places[inside]]
        A[np.ix_(rows, rows)] += self.between[np.ix_(inside, inside)]
        return A

    def over(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A over some coordinates, rising, in parts: block (m, m), the row of each in it or -1, F (k, r), `bend`."""
        at, known = self._known(columns)
        bend = np.where(known, self.bend[at], 0.0) if len(self.bend) else np.zeros(len(columns))
        place, none = np.full(len(columns), -1, dtype=np.int64), np.zeros((len(columns), 0))
        if not len(self.block):
            return nothing(), place, self.factor_over(columns) if len(self.factor) else none, bend
        at, known = replace(self, index=self.index[self.places])._known(columns)
        place[known] = np.arange(np.count_nonzero(known))
        return self.block[np.ix_(at[known], at[known])], place, none, bend

    def diagonal(self, size: int) -> np.ndarray:
        """(size,) of A, 0 where nothing is known."""
        full = np.zeros(size)
        full[self.index] = self.whole
        return full

    def bound(self, prior: PriorArrays, weights: np.ndarray) -> tuple[PriorArrays, np.ndarray, float]:
        """(penalty', pull, height) of the heading, for the tangent at these weights."""
        index, places = self.index, self.places
        mode, away = prior.mode[index], weights[index] - self.centre
        bend, within = self.bend.copy(), self._times(away[places])
        bare = prior.l2[index[places]] + bend[places] <= 0.0
        if np.any(bare):  # a tangent alone would leave these without curvature, and few multipliers feasible
            bend[places] = self._apart(bare)
            within = within + (self.bend[places] - bend[places]) * away[places]
        l2, pull = prior.l2.copy(), np.zeros(len(weights))
        l2[index] += bend
        # l2/2 (b−m)² + q/2 (b−o)² + g(b−o) = (l2+q)/2 (b−m)² + (q(m−o)+g)(b−m) + q/2 (m−o)² + g(m−o)
        slope = bend * (mode - self.centre) + self.slope
        slope[places] += within
        pull[index] = -slope
        height = self.height + float(np.sum(0.5 * bend * (mode - self.centre) ** 2 + self.slope * (mode - self.centre)))
        height -= float(np.sum((slope - self._tangent(places, within)) * mode))
        height += 0.5 * float(np.sum(away[places] * within)) - float(np.sum(within * weights[index[places]]))
        return prior._replace(l2=l2), pull, height

    def _apart(self, bare: np.ndarray) -> np.ndarray:
        """(k,) a diagonal that A over `places` has to spare, above 0 for those that are bare: have no `bend`.

        Of a block it is half of its least eigenvalue, in units of its own diagonal. Of diag(q) + FFᵀ it is half of q,
        and for the bare ones the same of what the others leave of it: F(I + 2Fᵀq⁻¹F)⁻¹Fᵀ, q and the inner F of those.
        """
        spared, own = 0.5 * self.bend[self.places], self.whole[self.places]
        if len(self.block):
            bare = own > 0.0
            left = self.block[np.ix_(bare, bare)]
        else:
            bare = bare & (own > 0.0)
            F, rest = self.factor[bare], self.factor[~bare] / np.sqrt(np.maximum(spared[~bare], 1e-200))[:, None]
            left = F @ np.linalg.solve(np.eye(F.shape[1]) + rest.T @ rest, F.T)
        scale = 1.0 / np.sqrt(own[bare])
        least = np.linalg.eigvalsh(left * scale[:, None] * scale)[:1]
        spared[bare] = np.maximum(0.5 * least, 0.0) * own[bare]
        return spared

    def _tangent(self, places: np.ndarray, within: np.ndarray) -> np.ndarray:
        full = np.zeros(len(self.index))
        full[places] = within
        return full


def low_rank(diagonal: np.ndarray, column: Callable[[int], np.ndarray], rank: int) -> tuple[np.ndarray, np.ndarray]:
    """(L, left): LLᵀ + diag(left) for a matrix of this diagonal and these columns, which it is where the rank is whole.

    Cholesky's factor, the largest pivot next, for as many columns as the rank. What is left of the matrix is positive
    semidefinite, and its trace falls with each.
    """
    left, size = np.array(diagonal, dtype=np.float64), len(diagonal)
    L = np.zeros((size, min(rank, size)))
    for r in range(L.shape[1]):
        a = int(np.argmax(left))
        if left[a] <= LOST * diagonal[a]:
            return L[:, :r], left
        L[:, r] = (column(a) - np.einsum("kr,r->k", L[:, :r], L[a, :r])) / np.sqrt(left[a])
        left = np.maximum(left - L[:, r] ** 2, 0.0)
        left[a] = 0.0
    return L, left
