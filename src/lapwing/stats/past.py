"""A quadratic added to the objective: the past, which documents that are gone leave behind for the next fit.

Yesterday's posterior is today's prior (EGJLM03).

At weights o the old documents' loss has the height h, the slope g and the curvature A, and to second order

    L(β) ≈ Q(β) = h + g·(β−o) + (β−o)ᵀA(β−o)/2,   A = diag(q) + FFᵀ with few columns, or none

An update minimises the new documents' loss + Q(β) + the prior's penalty, which is there once: Q stands for documents
only. Coordinates of which nothing is known have no part in Q. At the new weights Q is written anew, without loss, and
the new documents' own height, slope and curvature are added: the past of the next update.

The proof. |Fᵀ(β−o)|²/2 is at least u·Fᵀ(β−o) − |u|²/2 for every u, so for any u the objective is at least

    Σ_i c_i loss(r_i) + Σ_j penalty'_j(b_j) − pull·b + height

for every b, with q in the l2 of penalty' and g + Fu in `pull`: equal at b = β where u = Fᵀ(β−o). The dual of
stats/objective.py, with z + pull in place of z, bounds the optimum from below. A coordinate with neither l2 nor q needs
|z_j + pull_j| ≤ l1_j there, which β gives but for the violation of its optimality conditions. So

- where l1_j = 0, too, u moves by as little as makes z_j + pull_j = 0: the coordinate is eliminated;
- all others are met on the way from (θ, u) to (0, u₀), u₀ = Fᵀ(β₀−o) at the minimum β₀ of Q, where pull is 0: the
  bound is concave along it, and what it loses is of the first order in the violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lapwing.kernels.nouns import PriorArrays
from lapwing.stats.objective import dual_scale, penalty_conjugate

LOST = 1e-13  # share of itself at which what is left of a pivot is rounding
LEAST_OWN = 1e-6  # share of a coordinate's curvature that is its own, in q, up to which a proof does not rest on q
LEAST_RIDGE = 1e-10  # share of it added to find the minimum of Q
HAIR = 1e-12  # by which a dual point goes further than it must, so that rounding leaves no coordinate outside


@dataclass(frozen=True, eq=False)
class Past:
    """Q of the heading, over coordinates of which the intercept is the last.

    index    (p,) coordinates, rising
    centre, slope, bend   (p,) o, g and q there
    factor   F (p, r)
    """

    height: float
    index: np.ndarray
    centre: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    factor: np.ndarray

    @classmethod
    def none(cls) -> Past:
        empty = np.empty(0)
        return cls(0.0, np.empty(0, np.int64), empty, empty, empty, np.empty((0, 0)))

    @property
    def whole(self) -> np.ndarray:
        """(p,) the diagonal of A."""
        return np.asarray(self.bend + np.sum(self.factor**2, axis=1))

    def _along(self, away: np.ndarray) -> np.ndarray:
        """(r,) Fᵀ times one number for each coordinate."""
        return np.asarray(np.einsum("pr,p->r", self.factor, away))

    def _across(self, u: np.ndarray) -> np.ndarray:
        """(p,) Fu"""
        return np.asarray(np.einsum("pr,r->p", self.factor, u))

    def discounted(self, factor: float) -> Past:
        """Q as if every old document counted `factor` times."""
        return replace(
            self, height=factor * self.height, slope=factor * self.slope, bend=factor * self.bend,
            factor=np.sqrt(factor) * self.factor,
        )  # fmt: skip

    def carried(self, index: np.ndarray, ratio: np.ndarray) -> Past:
        """The same where features have other numbers, rising as before, and units `ratio` times as large."""
        return Past(
            self.height, index, self.centre / ratio, self.slope * ratio, self.bend * ratio**2,
            self.factor * ratio[:, None],
        )  # fmt: skip

    def recentred(self, weights: np.ndarray) -> Past:
        """The same Q, written at other weights."""
        return replace(
            self, height=self.value(weights), centre=weights[self.index], slope=self.gradient(weights)[self.index]
        )

    def over(self, columns: np.ndarray, *parts: np.ndarray) -> list[np.ndarray]:
        """Arrays of one row for each of `index`, over other coordinates, rising: 0 where nothing is known."""
        known = np.isin(columns, self.index)
        at = np.searchsorted(self.index, columns[known])
        found = [np.zeros((len(columns), *part.shape[1:])) for part in parts]
        for one, part in zip(found, parts, strict=True):
            one[known] = part[at]
        return found

    def plus(self, other: Past, column: Callable[[int], np.ndarray], rank: int) -> Past:
        """With another, whose coordinates are all that is kept, and of whose curvature `bend` is the diagonal.

        The curvature of both, that of the other by its columns, is kept to a rank; what is left out stays on the
        diagonal.
        """
        factor, bend, slope = self.over(other.index, self.factor, self.bend, self.slope)

        def joined(a: int) -> np.ndarray:
            return column(a) + np.einsum("pr,r->p", factor, factor[a])

        kept, left = low_rank(np.sum(factor**2, axis=1) + other.bend, joined, rank)
        return Past(self.height + other.height, other.index, other.centre, slope + other.slope, bend + left, kept)

    def value(self, weights: np.ndarray) -> float:
        away = weights[self.index] - self.centre
        bent = float(np.sum(away * self.bend * away)) + float(np.sum(self._along(away) ** 2))
        return self.height + float(np.sum(self.slope * away)) + 0.5 * bent

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """(d+1,)"""
        away = weights[self.index] - self.centre
        full = np.zeros(len(weights))
        full[self.index] = self.slope + self.bend * away + self._across(self._along(away))
        return full

    def with_prior(self, prior: PriorArrays, bend: np.ndarray, slope: np.ndarray) -> tuple[PriorArrays, np.ndarray]:
        """(penalty', pull) of the heading: l2/2 (b−m)² + q/2 (b−o)² + g·b = (l2+q)/2 (b−m)² + (q(m−o)+g)·b + …"""
        l2, pull = prior.l2.copy(), np.zeros(len(prior.l2))
        l2[self.index] += bend
        pull[self.index] = -(bend * (prior.mode[self.index] - self.centre) + slope)
        return prior._replace(l2=l2), pull

    def bound(self, prior: PriorArrays, weights: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        """(s, D(sθ) but for the documents' part), θ being what gives z.

        NaN where a coefficient of infinite variance leaves no feasible point, -inf where anything else does.
        """
        unknown = prior.flat.copy()
        unknown[self.index] = False
        away = weights[self.index] - self.centre
        bare = (prior.l2[self.index] == 0.0) & (self.bend <= LEAST_OWN * self.whole)
        own, bent = np.where(bare, 0.0, self.bend), np.where(bare, self.bend * away, 0.0)
        merged, pull = self.with_prior(prior, own, self.slope + bent)
        u, total = self._eliminated(merged, self._along(away), z + pull)
        if np.any(unknown) or np.isnan(total).any():
            return 0.0, float("nan")
        scale = 1.0
        if dual_scale(merged, total) < 1.0:
            lowest, least = self._eliminated(merged, self._lowest, self.with_prior(prior, own, self.slope)[1])
            scale = dual_scale(merged, total - least, least) * (1.0 - HAIR)
            if not scale >= 0.0:
                return 0.0, float("-inf")
            u, total = lowest + scale * (u - lowest), least + scale * (total - least)
        mode, slope = prior.mode[self.index], self.slope + self._across(u) + scale * bent
        line = -slope * self.centre - own * (mode - self.centre) * (mode + self.centre) / 2.0
        squares = float(np.sum(u**2)) + scale**2 * float(np.sum(bent * away))
        height = self.height + float(np.sum(line)) - 0.5 * squares
        return scale, height - float(np.sum(penalty_conjugate(merged, total)))

    def _eliminated(self, prior: PriorArrays, u: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(u', total − Fu') for the u' nearest to u that has 0 where nothing holds a coefficient back.

        NaN if there is none.
        """
        full = total.copy()
        full[self.index] -= self._across(u)
        free = (prior.l1 == 0.0) & (prior.l2 == 0.0)
        at, change, moved = np.zeros(len(self.index), dtype=bool), np.zeros_like(u), full
        while True:
            outside = free & np.where(moved > 0.0, np.isinf(prior.upper), np.isinf(prior.lower) & (moved < 0.0))
            if not np.any(outside[self.index]):
                return u + change, moved
            at |= outside[self.index]
            change, _, rank, _ = np.linalg.lstsq(self.factor[at], full[self.index[at]], rcond=None)
            if rank < np.count_nonzero(at):
                return u, np.full_like(full, np.nan)
            moved = full.copy()
            moved[self.index] -= self._across(change)
            moved[self.index[at]] = 0.0

    @cached_property
    def _lowest(self) -> np.ndarray:
        """(r,) u₀ of the heading."""
        whole = self.whole
        ridge = np.where(self.bend <= LEAST_OWN * whole, LEAST_RIDGE * whole, self.bend)
        scaled = self.factor.T * np.divide(1.0, ridge, out=np.zeros_like(ridge), where=ridge > 0.0)
        return -np.linalg.solve(np.eye(len(scaled)) + scaled @ self.factor, scaled @ self.slope)


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
