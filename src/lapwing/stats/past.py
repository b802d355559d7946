"""A quadratic added to the objective: the past, which documents that are gone leave behind for the next fit.

Yesterday's posterior is today's prior (EGJLM03).

At weights o the old documents' loss has the height h, the slope g and the curvature A, and to second order

    L(β) ≈ Q(β) = h + g·(β−o) + (β−o)ᵀA(β−o)/2.

An update minimises the new documents' loss + Q(β) + the prior's penalty, which is there once: Q stands for documents
only. A is known on its diagonal, or on a block of coordinates and on the diagonal of the others; coordinates of which
nothing is known have no part in Q. At the new weights Q is written anew, without loss, and the new documents' own
height, slope and curvature are added: the past of the next update.

The proof. Q lies above its tangents, so for any point β the objective is at least

    Σ_i c_i loss(r_i) + Σ_j penalty'_j(b_j) − pull·b + height

for every b, with the diagonal of A in the l2 of penalty', and the tangent of the rest at β in `pull`: equal at b = β.
The dual of stats/objective.py, with z + pull in place of z, bounds the optimum from below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lapwing.kernels.nouns import PriorArrays


@dataclass(frozen=True, eq=False)
class Past:
    """Q of the heading, over coordinates of which the intercept is the last.

    index    (p,) coordinates, rising
    centre, slope, bend   (p,) o, g and the diagonal of A there; `bend` is 0 where the block has it
    places   (k,) those of `index` that the block is over
    block    (k, k)
    """

    height: float
    index: np.ndarray
    centre: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    places: np.ndarray
    block: np.ndarray

    @classmethod
    def none(cls) -> Past:
        empty = np.empty(0)
        return cls(0.0, np.empty(0, np.int64), empty, empty, empty, np.empty(0, np.int64), np.empty((0, 0)))

    def discounted(self, factor: float) -> Past:
        """Q as if every old document counted `factor` times."""
        return replace(
            self, height=factor * self.height, slope=factor * self.slope, bend=factor * self.bend,
            block=factor * self.block,
        )  # fmt: skip

    def recentred(self, weights: np.ndarray) -> Past:
        """The same Q, written at other weights."""
        away = weights[self.index] - self.centre
        slope = self.slope + self.bend * away
        slope[self.places] += self.block @ away[self.places]
        return replace(self, height=self.value(weights), centre=weights[self.index], slope=slope)

    def restricted(self, index: np.ndarray, block_of: np.ndarray) -> Past:
        """What is known of these coordinates, and of the curvature between those of the block; of others its diagonal.

        Coordinates that are not known come in with nothing.
        """
        diagonal = self.bend.copy()
        diagonal[self.places] += np.diagonal(self.block)
        at = np.searchsorted(self.index, index)
        at[at == len(self.index)] = 0
        known = self.index[at] == index if len(self.index) else np.zeros(len(index), dtype=bool)
        centre, slope, bend = (np.where(known, part[at] if len(part) else 0.0, 0.0)
                               for part in (self.centre, self.slope, diagonal))  # fmt: skip
        places = np.searchsorted(index, block_of)
        block = self.curvature(block_of)
        bend[places] = 0.0
        return Past(self.height, index, centre, slope, bend, places, block)

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
            block[np.ix_(within, within)] += one.block
        places = np.searchsorted(index, block_of)
        block[np.diag_indices_from(block)] += bend[places]
        bend[places] = 0.0
        return Past(self.height + other.height, index, centre, slope, bend, places, block)

    def _pull(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        away = weights[self.index] - self.centre
        return away, self.bend * away, self.block @ away[self.places]

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
        A[np.ix_(rows, rows)] += self.block[np.ix_(inside, inside)]
        return A

    def diagonal(self, size: int) -> np.ndarray:
        """(size,) of A, 0 where nothing is known."""
        full = np.zeros(size)
        bend = self.bend.copy()
        bend[self.places] += np.diagonal(self.block)
        full[self.index] = bend
        return full

    def bound(self, prior: PriorArrays, weights: np.ndarray) -> tuple[PriorArrays, np.ndarray, float]:
        """(penalty', pull, height) of the heading, for the tangent at these weights."""
        index, places = self.index, self.places
        mode, away = prior.mode[index], weights[index] - self.centre
        bend, rest = self.bend.copy(), self.block
        if len(places) and not np.all(prior.l2[index[places]] > 0.0):
            # A tangent alone would leave these coordinates without curvature, and few multipliers feasible.
            own = np.diagonal(self.block)
            scale = 1.0 / np.sqrt(np.where(own > 0.0, own, 1.0))
            least = float(np.linalg.eigvalsh(self.block * scale[:, None] * scale)[0])
            part = np.where(own > 0.0, max(0.5 * least, 0.0) * own, 0.0)
            bend[places] += part
            rest = self.block - np.diag(part)
        within = rest @ away[places]
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

    def _tangent(self, places: np.ndarray, within: np.ndarray) -> np.ndarray:
        full = np.zeros(len(self.index))
        full[places] = within
        return full
