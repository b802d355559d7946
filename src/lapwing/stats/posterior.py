"""How sure a fit under a Gaussian prior is of its weights: Laplace's approximation of the posterior.

Around the optimum the posterior of β is close to a normal distribution with mean β̂ and the inverse of the objective's
Hessian as covariance,

    H = Σ_i c_i loss''(r_i) x_i x_iᵀ + diag(l2),   loss'' = θ(1−θ) for the logit, θ(θ+r) for the probit

(x_i with the constant feature, conventions of stats/objective.py). The variance of aᵀβ is aᵀH⁻¹a: conjugate gradients
solve Hz = a for each a asked about, so that H is never written down, and matrices of any width will do. A score at x is
then normal with variance xᵀH⁻¹x, and an interval of it, through the link, one of the probability.

Of a softmax the same holds for the weights of all K classes together: with S = z x_i (K,), H is

    (Hz)_k = Σ_i c_i p_ik (S_k − Σ_l p_il S_l) x_i + l2_k z_k

A Laplace prior has no curvature away from 0 and infinite curvature at 0, so none of this holds for it; what is to say
there is how stable a selection is (selection/stability.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.stats.links import as_link

TOLERANCE = 1e-8  # of ‖Hz − a‖ relative to ‖a‖
NODES, HEIGHTS = np.polynomial.hermite_e.hermegauss(31)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Of one category: X (n, d), margins r (n,) at the optimum, document weights c (n,), l2 (d+1,)."""

    X: sp.csr_matrix
    curvature: np.ndarray
    l2: np.ndarray
    link: str

    @classmethod
    def at(
        cls, X: sp.csr_matrix, y: np.ndarray, margin: np.ndarray, weight: np.ndarray, l2: np.ndarray, link: str
    ) -> Posterior:
        form = as_link(link)
        return cls(X, weight * form.curvature(margin, form.theta(margin, y), y), l2, link)

    @cached_property
    def _diagonal(self) -> np.ndarray:
        """Of H, which scales the steps."""
        diagonal = self._own_diagonal()
        if not (diagonal > 0.0).all():
            raise InputError("a coefficient has neither a prior nor a document that tells of it; it has no interval")
        return diagonal

    def _own_diagonal(self) -> np.ndarray:
        return np.append(self.X.multiply(self.X).T @ self.curvature, self.curvature.sum()) + self.l2

    def _times(self, z: np.ndarray) -> np.ndarray:
        seen = self.curvature * (self.X @ z[:-1] + z[-1])
        return np.append(self.X.T @ seen, seen.sum()) + self.l2 * z

    def variance(self, a: np.ndarray) -> float:
        """aᵀH⁻¹a for a of length d+1, the constant last."""
        from scipy.sparse.linalg import LinearOperator, cg

        size, diagonal = len(self.l2), self._diagonal
        H = LinearOperator((size, size), matvec=self._times, dtype=np.float64)
        scale = LinearOperator((size, size), matvec=lambda z: z / diagonal, dtype=np.float64)
        z, failed = cg(H, a, x0=a / diagonal, rtol=TOLERANCE, maxiter=20 * size, M=scale)
        if failed:
            raise InputError(f"the posterior is too flat to say how sure a coefficient is after {failed} steps")
        return float(a @ z)

    def coefficient_variance(self, column: int) -> float:
        a = np.zeros(len(self.l2))
        a[column] = 1.0
        return self.variance(a)

    def score_variances(self, X: sp.csr_matrix) -> np.ndarray:
        """(n,) of the score of each row."""
        rows = sp.csr_matrix(X)
        return np.array([self.variance(np.append(rows[i].toarray()[0], 1.0)) for i in range(rows.shape[0])])


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior(Posterior):
    """Of all classes: curvature (n,) are the documents' weights, l2 (K(d+1),), proba (n, K) at the optimum.

    Coefficients are counted class by class.
    """

    proba: np.ndarray

    def _own_diagonal(self) -> np.ndarray:
        spread = self.curvature[:, None] * self.proba * (1.0 - self.proba)
        return np.hstack([(self.X.multiply(self.X).T @ spread).T, spread.sum(axis=0)[:, None]]).ravel() + self.l2

    def _times(self, z: np.ndarray) -> np.ndarray:
        by_class = z.reshape(self.proba.shape[1], -1)
        moved = self.proba * (self.X @ by_class[:, :-1].T + by_class[:, -1])
        moved = self.curvature[:, None] * (moved - self.proba * moved.sum(axis=1, keepdims=True))
        return np.hstack([(self.X.T @ moved).T, moved.sum(axis=0)[:, None]]).ravel() + self.l2 * z


def mean_probability(score: np.ndarray, variance: np.ndarray, link: str) -> np.ndarray:
    """E F(s) for s normal, by Gauss–Hermite quadrature: the posterior predictive probability."""
    drawn = score[:, None] + np.sqrt(variance)[:, None] * NODES
    return np.asarray(as_link(link).probability(drawn) @ HEIGHTS / HEIGHTS.sum())


def quantile(level: float) -> float:
    """Standard deviations to each side that hold the share `level` of a normal variable."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must be between 0 and 1, got {level!r}")
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.5 * level))
