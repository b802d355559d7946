"""One problem whose documents are spread over workers: every round sums over blocks of documents, wherever they are.

    min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ],   lower ≤ β ≤ upper

Loss, gradient, the Hessian of the working set and the dual objective are sums over documents. A round takes three of
them: the loss and its gradient at β, from which follow the certificate and who joins the working set; the Hessian on
that; and the loss at some shares of the step to the minimum of the quadratic model, which one place finds. Blocks are
part of the problem and are added up in their order, so that the bits do not depend on who had them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays, dual_scale, kkt_violation, penalty, penalty_conjugate
from lapwing.stats.result import FitResult

SHARES = tuple(0.5**k for k in range(8))  # of a step, tried together
ARMIJO = 0.01  # share of what a step promises that it must bring
FEWEST = 20  # features that may join the working set, however small it is
SWEEPS = 2000  # of coordinate descent on the quadratic model
EXACT = 1e-10  # relative change of a sweep that ends it


class Block(NamedTuple):
    """Some documents: X (n, d) CSR, labels ±1, weights."""

    X: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray


class Blocks(Protocol):
    """Blocks of documents, somewhere."""

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """[function(block, *arguments) for every block], in order; `function` must be one of a module."""
        ...


class Here(NamedTuple):
    """Blocks of this process."""

    blocks: Sequence[Block]

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        return [function(block, *arguments) for block in self.blocks]


class Sparsely(NamedTuple):
    """Coefficients, of which few are not 0: as they travel."""

    size: int
    at: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, beta: np.ndarray) -> Sparsely:
        at = np.flatnonzero(beta)
        return cls(len(beta), at, beta[at])

    def dense(self) -> np.ndarray:
        beta = np.zeros(self.size)
        beta[self.at] = self.values
        return beta


def _margin(block: Block, beta: Sparsely) -> np.ndarray:
    dense = beta.dense()
    return block.y * (block.X @ dense[:-1] + dense[-1])


def slopes(block: Block, beta: Sparsely, link: str) -> tuple[float, np.ndarray]:
    """(loss, its gradient) of a block at β."""
    form, margin = as_link(link), _margin(block, beta)
    pull = block.weight * block.y * form.theta(margin, block.y)
    return float(np.sum(block.weight * form.loss(margin, block.y))), -np.append(block.X.T @ pull, pull.sum())


def hessian(block: Block, beta: Sparsely, columns: np.ndarray, link: str) -> np.ndarray:
    """Σ_i c_i loss''(r_i) x_i x_iᵀ of a block, over some columns and the constant, last."""
    form, margin = as_link(link), _margin(block, beta)
    bend = block.weight * form.curvature(margin, form.theta(margin, block.y), block.y)
    part = sp.hstack([block.X[:, columns], np.ones((len(margin), 1))], format="csr")
    return np.asarray((part.T @ part.multiply(bend[:, None])).toarray())


def losses(block: Block, beta: Sparsely, step: Sparsely, link: str) -> np.ndarray:
    """The loss of a block at every share of the step."""
    form, margin, move = as_link(link), _margin(block, beta), _margin(block, step)
    return np.array([float(np.sum(block.weight * form.loss(margin + t * move, block.y))) for t in SHARES])


def conjugates(block: Block, beta: Sparsely, scale: float, link: str) -> float:
    """Σ_i c_i loss*(scale θ_i) of a block, θ the residuals at β."""
    form = as_link(link)
    return float(np.sum(block.weight * form.conjugate(scale * form.theta(_margin(block, beta), block.y), block.y)))


def fit(
    blocks: Blocks,
    prior: PriorArrays,
    *,
    variance: float,
    tol: float = 1e-6,
    max_iter: int = 200,
    link: str = "logit",
    progress: Callable[[int, float], None] | None = None,
) -> FitResult:
    """The optimum over all documents, certified; `progress` is told the round and the relative gap."""
    beta = np.clip(prior.mode, prior.lower, prior.upper)
    rounds, best = 0, -np.inf
    while True:
        here = Sparsely.of(beta)
        loss, gradient = _added(blocks.each(slopes, here, link))
        objective = loss + penalty(prior, beta)
        best = max(best, _dual_objective(blocks, here, prior, gradient, link))
        gap = max(objective - best, 0.0) if best > -np.inf else float("nan")
        violation = kkt_violation(prior, beta, gradient)
        bound = float(np.sum(violation * np.maximum(np.abs(beta - prior.mode), 1.0)))
        left = bound if np.isnan(gap) else gap
        if progress is not None:
            progress(rounds, left / max(abs(objective), 1e-300))
        converged = bool(left <= tol * abs(objective))
        if converged or rounds >= max_iter:
            break
        moved = _step(blocks, here, prior, beta, gradient, violation, objective, link)
        if moved is None:  # rounding: nothing falls any more
            break
        beta = moved
        rounds += 1
    return FitResult(
        weights=beta, objective=objective, gap=gap, kkt=float(violation.max(initial=0.0)), kkt_bound=bound,
        rounds=rounds, converged=converged, variance=variance, dual=np.empty(0),
    )  # fmt: skip


def _added(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sums of what blocks gave, one block after the other."""
    total = parts[0]
    for part in parts[1:]:
        total = tuple(a + b for a, b in zip(total, part, strict=True))
    return total


def _dual_objective(blocks: Blocks, beta: Sparsely, prior: PriorArrays, gradient: np.ndarray, link: str) -> float:
    """At the residuals, scaled until they are feasible; -inf where no dual point is."""
    if np.any(prior.flat):
        return -np.inf
    scale = dual_scale(prior, -gradient)
    shrunk = scale if scale == 1.0 else scale * (1.0 - 4e-16)
    (total,) = _added([(part,) for part in blocks.each(conjugates, beta, shrunk, link)])
    return float(-total - np.sum(penalty_conjugate(prior, -shrunk * gradient)))


def _step(
    blocks: Blocks, here: Sparsely, prior: PriorArrays, beta: np.ndarray, gradient: np.ndarray, violation: np.ndarray,
    objective: float, link: str,
) -> np.ndarray | None:  # fmt: skip
    """A round of Newton's method on the working set: from β to where the objective is lower; None if nowhere."""
    d = len(beta) - 1
    inside = beta[:d] != prior.mode[:d]
    outside = np.flatnonzero(~inside & (violation[:d] > 0.0))
    most = max(FEWEST, int(inside.sum()))
    joining = outside[np.argsort(-violation[outside] / (prior.l1[outside] + 1e-300), kind="stable")[:most]]
    columns = np.union1d(np.flatnonzero(inside), joining)
    (H,) = _added([(part,) for part in blocks.each(hessian, here, columns, link)])
    at = np.append(columns, d)
    local = PriorArrays(*(part[at] for part in prior))
    least = minimum(H, gradient[at], beta[at], local)
    step = np.zeros(len(beta))
    step[at] = least - beta[at]
    promise = float(gradient @ step) + penalty(prior, beta + step) - penalty(prior, beta)
    (tried,) = _added([(part,) for part in blocks.each(losses, here, Sparsely.of(step), link)])
    for t, loss in zip(SHARES, tried.tolist(), strict=True):
        there = np.clip(beta + t * step, prior.lower, prior.upper) if t < 1.0 else beta + step
        if loss + penalty(prior, there) <= objective + ARMIJO * t * promise and promise < 0.0:
            if t == 1.0:
                there[at] = least  # to the bit: coefficients that went to their mode are there
            return there
    return None


def minimum(H: np.ndarray, slope: np.ndarray, beta: np.ndarray, prior: PriorArrays) -> np.ndarray:
    """Of slope·(b-β) + (b-β)ᵀH(b-β)/2 and the penalties, by coordinate descent."""
    b, gradient = beta.copy(), slope.copy()
    diagonal = np.maximum(np.diag(H), 1e-12)
    active = np.arange(len(b))
    for sweep in range(SWEEPS):
        largest = 0.0
        for a in active.tolist():
            bend = diagonal[a] + prior.l2[a]
            pull = diagonal[a] * b[a] - gradient[a] - diagonal[a] * prior.mode[a]
            away = np.sign(pull) * max(abs(pull) - prior.l1[a], 0.0) / bend
            new = min(max(prior.mode[a] + away, prior.lower[a]), prior.upper[a])
            if new != b[a]:
                gradient += H[a] * (new - b[a])
                largest = max(largest, abs(new - b[a]) * np.sqrt(diagonal[a]))
                b[a] = new
        scale = np.sqrt(float(np.max(diagonal * b * b))) + 1e-300
        settled = largest <= EXACT * scale
        if settled and len(active) == len(b):
            break
        # Those that are away from their mode move most: all have their turn again once these have settled.
        active = np.arange(len(b)) if settled or sweep % 20 == 0 else np.flatnonzero(b != prior.mode)
    return b
