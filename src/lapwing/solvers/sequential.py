"""A fit to new documents and to the past: the objective of stats/objective.py with the quadratic of stats/past.py.

Newton's method on a working set, as kernels/newton.py. New documents are few, so that what is not the inner problem is
left to NumPy and SciPy; and the inner problem goes by their entries, and by the past's diagonal and few columns: what a
fit costs depends on the new documents, and not on how many weights the model has. Under Gaussian priors a past known on
its diagonal is a Gaussian prior, too, and the ridge kernels take it as that.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lapwing.kernels.nouns import Sparse
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.objective import Certificate, PriorArrays, certify, kkt_violation, penalty
from lapwing.stats.past import Past
from lapwing.stats.result import FitResult

INNER = 1e-2  # violations of the inner problem, relative to the penalty's slope, as a share of the tolerance,
LEAST_INNER = 1e-12  # but no less
ENOUGH = 1e3  # times the tolerance: share of the violations before, at which an inner problem is left,
MOST_ENOUGH = 0.1  # but no more
HALVINGS = 40  # of a step: then it is shorter than what rounding leaves of it
ROUNDING = 1e-14  # share of the objective by which a whole step may seem to raise it, if it lowers the gap


def fit(
    X: sp.csr_matrix, y: np.ndarray, sample_weight: np.ndarray, prior: PriorArrays, past: Past, start: np.ndarray, *,
    variance: float, link: str = "logit", tol: float = 1e-4, max_iter: int = 100,
) -> FitResult:  # fmt: skip
    """Minimise the sum over new documents, the past, and the prior, from `start`; certified."""
    beta = np.clip(start, prior.lower, prior.upper)
    if newton.is_smooth(prior) and not past.factor.shape[1]:
        return _smooth(X, y, sample_weight, prior, past, beta, variance, link, tol, max_iter)
    state = _State(X, y, sample_weight, prior, past, link)
    proof, rounds = state.certify(beta), 0
    while proof.relative_gap > tol and rounds < max_iter:
        after = state.step(beta, max(INNER * tol, LEAST_INNER), min(ENOUGH * tol, MOST_ENOUGH))
        rounds += 1
        if after is None:
            break
        better = state.certify(after)
        if better.objective >= proof.objective and not better.relative_gap < proof.relative_gap:
            break
        beta, proof = after, better
    return _result(beta, proof, state.theta(beta), rounds, tol, variance)


def _result(
    beta: np.ndarray, proof: Certificate, theta: np.ndarray, rounds: int, tol: float, variance: float
) -> FitResult:
    return FitResult(
        weights=beta, objective=proof.objective, gap=proof.gap, kkt=proof.kkt, kkt_bound=proof.kkt_bound, rounds=rounds,
        converged=proof.relative_gap <= tol, variance=variance, dual=theta,
    )  # fmt: skip


def _smooth(
    X: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, prior: PriorArrays, past: Past, beta: np.ndarray,
    variance: float, link: str, tol: float, max_iter: int,
) -> FitResult:  # fmt: skip
    """Both quadratics as one: l2/2 (b−m)² − pull·b is l2/2 (b − m − pull/l2)² but for a constant."""
    both, pull = past.with_prior(prior, past.bend, past.slope)
    joined = both._replace(mode=both.mode + np.divide(pull, both.l2, out=np.zeros_like(pull), where=both.l2 > 0.0))
    minimum = newton.fit(
        Problem(X, merge=False), y, weight, joined, variance=variance, tol=tol, max_iter=max_iter, start=beta, link=link
    )
    proof = certify(X, y, prior, minimum.weights, minimum.dual, weight, link, past)
    return _result(minimum.weights, proof, minimum.dual, minimum.rounds, tol, variance)


class _State:
    """The problem, and one round of its solution."""

    def __init__(
        self, X: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, prior: PriorArrays, past: Past, link: str
    ) -> None:
        self.X, self.columns, self.y, self.weight = X, X.tocsc(), y, weight
        self.prior, self.past, self.link, self.form = prior, past, link, as_link(link)

    def theta(self, beta: np.ndarray) -> np.ndarray:
        return self.form.theta(self.y * (self.X @ beta[:-1] + beta[-1]), self.y)

    def certify(self, beta: np.ndarray) -> Certificate:
        return certify(self.X, self.y, self.prior, beta, None, self.weight, self.link, self.past)

    def objective(self, beta: np.ndarray, scores: np.ndarray) -> float:
        loss = float(np.sum(self.weight * self.form.loss(self.y * scores, self.y)))
        return loss + penalty(self.prior, beta) + self.past.value(beta)

    def step(self, beta: np.ndarray, inner: float, enough: float) -> np.ndarray | None:
        """The next point, of an objective that is lower, or the same within rounding; None where there is none."""
        scores = self.X @ beta[:-1] + beta[-1]
        margin = self.y * scores
        theta = self.form.theta(margin, self.y)
        pull = self.weight * self.y * theta
        gradient = self.past.gradient(beta) - np.append(self.X.T @ pull, pull.sum())
        working = self.working_set(beta, gradient)
        part = sp.hstack([self.columns[:, working[:-1]], np.ones((len(self.y), 1))], format="csc")
        bend = self.weight * self.form.curvature(margin, theta, self.y)
        b = self.minimum(part, bend, working, gradient[working], beta[working], inner, enough)
        change = b - beta[working]
        moved, before, share = part @ change, self.objective(beta, scores), 1.0
        most = before + ROUNDING * abs(before)
        for _ in range(HALVINGS):
            trial = beta.copy()
            trial[working] = b if share == 1.0 else beta[working] + share * change
            if self.objective(trial, scores + share * moved) < most:
                return trial
            most = before
            share *= 0.5
        return None

    def minimum(
        self, part: sp.csc_matrix, bend: np.ndarray, working: np.ndarray, gradient: np.ndarray, beta: np.ndarray,
        inner: float, enough: float,
    ) -> np.ndarray:  # fmt: skip
        """Of the quadratic model over the working set."""
        from lapwing.kernels import subproblem

        b, local = beta.copy(), PriorArrays(*(np.ascontiguousarray(one[working]) for one in self.prior))
        columns = Sparse(part.indptr, part.indices, part.data)
        factor, own = self.past.over(working, self.past.factor, self.past.bend)
        subproblem.descend(columns, bend, factor, own, gradient, b, local, enough, inner)
        return b

    def working_set(self, beta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Coordinates away from their mode or without a kink there, and those that leave it; the intercept last."""
        inside = (beta != self.prior.mode) | (self.prior.l1 == 0.0)
        inside[-1] = True
        violation = np.where(inside, 0.0, kkt_violation(self.prior, beta, gradient))
        return np.flatnonzero(inside | (violation > 0.0))
