"""A fit under any link that stats/links.py has: Newton's method on a working set, its documents in NumPy.

    min_β Σ_i c_i loss(r_i) + Σ_j [ l1_j|β_j-m_j| + l2_j(β_j-m_j)²/2 ],   lower ≤ β ≤ upper

The links that most use have kernels (solvers/newton.py); for the others nothing is compiled but the inner problem,
whose matrix is made here. Where the prior is Gaussian and columns are many it is left to conjugate gradients. A loss
that is not convex has its quadratic model curved by what is positive of its second derivative, so that every step
descends: to a stationary point, of which the violations of the optimality conditions are all that is told (gap NaN).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.kernels.nouns import ARMIJO, ROUNDING, Result
from lapwing.solvers.dense import is_smooth
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_loss
from lapwing.stats.objective import PriorArrays, certify, kkt_violation, penalty

MOST = 2000  # coordinates in a working set: its matrix has 32 MB
GROWTH = 100  # coordinates that enter it in a round, at least
FACTORED = 600  # coordinates of a Gaussian prior whose matrix is made: for more, conjugate gradients
STEPS = 500  # of conjugate gradients in a round at most,
FORCED = 0.1  # until what is left is this share of the gradient, or less near the solution
INNER = 1e-2  # violations of the inner problem, relative to the penalty's slope, as a share of the tolerance
FLAT = 1e-10  # curvature of a document, at least: a line has no minimum
HALVINGS = 40  # of a step: then it is shorter than what rounding leaves of it


class _Products:
    """X (n, d) of a problem with what centring adds, for products alone; `certify` takes it as a matrix."""

    def __init__(self, problem: Problem) -> None:
        indptr, indices, data = problem.matrix.columns
        self.shape = problem.n_documents, len(indptr) - 2
        self.stored = sp.csc_matrix((data, indices, indptr[:-1]), shape=self.shape)
        self.offset = problem.offset[:-1]
        self.centred = problem.centred

    def __matmul__(self, b: np.ndarray) -> np.ndarray:
        scores = self.stored @ b
        return np.asarray(scores + np.sum(self.offset * b) if self.centred else scores)

    @property
    def T(self) -> _Transposed:
        return _Transposed(self)

    def with_constant(self, some: np.ndarray) -> sp.csr_matrix:
        """Some of the columns, and one of ones."""
        part = self.stored[:, some]
        if self.centred:
            part = sp.csc_matrix(part.toarray() + self.offset[some])
        return sp.hstack([part, np.ones((self.shape[0], 1))], format="csr")

    def squares(self, bend: np.ndarray) -> np.ndarray:
        """Σ_i w_i x_ij² of every column, the constant last."""
        stored, total = self.stored, float(bend.sum())
        squared = sp.csc_matrix((stored.data**2, stored.indices, stored.indptr), shape=self.shape)
        sums = squared.T @ bend
        if self.centred:
            sums = sums + self.offset * (2.0 * (stored.T @ bend) + self.offset * total)
        return np.append(sums, total)


class _Transposed:
    def __init__(self, columns: _Products) -> None:
        self.columns = columns

    def __matmul__(self, pull: np.ndarray) -> np.ndarray:
        product = self.columns.stored.T @ pull
        return np.asarray(product + self.columns.offset * pull.sum() if self.columns.centred else product)


def minimise(
    problem: Problem, y: np.ndarray, sample_weight: np.ndarray, arrays: PriorArrays, beta: np.ndarray, tol: float,
    max_iter: int, link: str,
) -> Result:  # fmt: skip
    """From `beta`, which is overwritten, as solvers/newton.py's."""
    fit = _Fit(_Products(problem), y, sample_weight, arrays, link)
    nothing = np.clip(np.zeros_like(beta), arrays.lower, arrays.upper)
    if not fit.objective(beta, fit.scores(beta)) <= fit.objective(nothing, fit.scores(nothing)):
        beta[:] = nothing  # far from the boundary a loss may be e to the power of how far
    if np.array_equal(beta[:-1], arrays.mode[:-1]):  # else the first rounds would only move the intercept
        for _ in range(20):
            if not fit.step(beta, tol, np.array([len(beta) - 1])):
                break
    rounds = 0
    theta, proof = fit.certify(beta)
    while proof.relative_gap > tol and rounds < max_iter:
        descends, last = fit.step(beta, tol), proof
        rounds += 1
        theta, proof = fit.certify(beta)
        level = proof.objective > last.objective - ROUNDING * abs(last.objective)
        if not descends or (level and proof.relative_gap > 0.5 * last.relative_gap):
            break
    converged = bool(proof.relative_gap <= tol)
    return Result(proof.objective, proof.gap, proof.kkt, proof.kkt_bound, rounds, converged, theta)


def minimise_many(
    problem: Problem, Y: np.ndarray, weights: np.ndarray, arrays: list[PriorArrays], betas: np.ndarray, tol: float,
    max_iter: int, link: str,
) -> list[Result]:  # fmt: skip
    """One after the other."""
    jobs = zip(Y, weights, arrays, betas, strict=True)
    return [minimise(problem, y, weight, prior, beta, tol, max_iter, link) for y, weight, prior, beta in jobs]


class _Fit:
    """The problem, and one round of its solution."""

    def __init__(self, X: _Products, y: np.ndarray, weight: np.ndarray, prior: PriorArrays, link: str) -> None:
        self.X, self.y, self.weight, self.prior, self.link, self.form = X, y, weight, prior, link, as_loss(link)
        self.by_gradients = is_smooth(prior) and X.shape[1] > FACTORED

    def scores(self, beta: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ beta[:-1] + beta[-1])

    def certify(self, beta: np.ndarray) -> tuple[np.ndarray, Any]:
        theta = self.form.theta(self.y * self.scores(beta), self.y)
        matrix: Any = self.X
        return theta, certify(matrix, self.y, self.prior, beta, theta, self.weight, self.link)

    def objective(self, beta: np.ndarray, scores: np.ndarray) -> float:
        return float(np.sum(self.weight * self.form.loss(self.y * scores, self.y))) + penalty(self.prior, beta)

    def step(self, beta: np.ndarray, tol: float, working: np.ndarray | None = None) -> bool:
        """To a point whose objective is lower, but for rounding; False where there is none."""
        scores = self.scores(beta)
        margin = self.y * scores
        theta = self.form.theta(margin, self.y)
        pull = self.weight * self.y * theta
        gradient = -np.append(self.X.T @ pull, pull.sum())
        bend = self.weight * np.maximum(self.form.curvature(margin, theta, self.y), FLAT)
        if self.by_gradients and working is None:
            change = self._conjugate_gradients(beta, gradient, bend)
        else:
            working = self.working_set(beta, gradient) if working is None else working
            change = np.zeros_like(beta)
            change[working] = self._quadratic(beta, gradient, bend, working, max(INNER * tol, 1e-12))
        shift = np.asarray(self.X @ change[:-1] + change[-1])
        before, share = self.objective(beta, scores), 1.0
        end = np.clip(beta + change, self.prior.lower, self.prior.upper)  # but for rounding it is inside
        promise = float(np.sum(gradient * change)) + penalty(self.prior, end) - penalty(self.prior, beta)
        for _ in range(HALVINGS):
            trial = np.clip(beta + share * change, self.prior.lower, self.prior.upper)
            after = self.objective(trial, scores + share * shift)
            if after <= before + ARMIJO * share * promise + ROUNDING * abs(before):
                beta[:] = trial
                return True
            share *= 0.5
        return False

    def _quadratic(
        self, beta: np.ndarray, gradient: np.ndarray, bend: np.ndarray, working: np.ndarray, inner: float
    ) -> np.ndarray:
        from lapwing.kernels import subproblem

        part = self.X.with_constant(working[:-1])
        H = np.ascontiguousarray((part.T @ part.multiply(bend[:, None])).toarray())
        b, local = beta[working].copy(), PriorArrays(*(np.ascontiguousarray(one[working]) for one in self.prior))
        subproblem.solve(H, gradient[working].copy(), b, local, inner)
        return np.asarray(b - beta[working])

    def _conjugate_gradients(self, beta: np.ndarray, gradient: np.ndarray, bend: np.ndarray) -> np.ndarray:
        """(XᵀWX + l2) change = -slope, by columns scaled; products of BLAS would depend on its threads."""
        slope = gradient + self.prior.l2 * (beta - self.prior.mode)
        diagonal = self.X.squares(bend) + self.prior.l2
        change, residual = np.zeros_like(beta), -slope
        scaled = residual / diagonal
        way, size = scaled.copy(), float(np.sum(residual * scaled))
        enough = size * min(FORCED, np.sqrt(size)) ** 2
        for _ in range(STEPS):
            seen = bend * (self.X @ way[:-1] + way[-1])
            along = np.append(self.X.T @ seen, seen.sum()) + self.prior.l2 * way
            share = size / float(np.sum(way * along))
            change += share * way
            residual -= share * along
            scaled = residual / diagonal
            last, size = size, float(np.sum(residual * scaled))
            if size <= enough:
                break
            way = scaled + (size / last) * way
        return change

    def working_set(self, beta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Coordinates away from their mode or without a kink there, and the worst of the others; the intercept last.

        Of more than MOST those that violate their conditions most.
        """
        violation = kkt_violation(self.prior, beta, gradient)
        inside = (beta != self.prior.mode) | (self.prior.l1 == 0.0)
        inside[-1] = True
        held = np.flatnonzero(inside[:-1])
        if len(held) > MOST:
            held = held[np.argsort(-violation[held], kind="stable")[:MOST]]
        outside = np.where(inside, 0.0, violation)
        worst = np.argsort(-outside, kind="stable")[: min(GROWTH + len(held) // 10, MOST)]
        return np.append(np.sort(np.concatenate([held, worst[outside[worst] > 0.0]])), len(beta) - 1)
