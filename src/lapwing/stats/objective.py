"""What is minimised, and the proof that it was.

Conventions, for the whole package
----------------------------------
X        (n, d) documents by features; the constant feature 1.0 is not stored, its coefficient stands last
y        (n,) labels +1 and -1
c        (n,) document weights; weight 2 is the document twice, weight 0 leaves it out
β        (d+1,) coefficients, the intercept last
r        (n,) margins, r_i = y_i (x_i·β + β_d)
prior    five arrays of length d+1: mode m, l1, l2, lower, upper (see `PriorArrays`)

    P(β) = Σ_i c_i loss(r_i) + Σ_j [ l1_j |β_j - m_j| + l2_j (β_j - m_j)² / 2 ],   lower ≤ β ≤ upper

a sum over documents, never a mean. The loss is the link's (stats/links.py): logistic ln(1 + e^-r), probit
-ln Φ(r). Fixed terms of the priors' densities are left out (`log_prior_constant` has them).

The dual point is θ (n,), at the optimum θ_i = -loss'(r_i), with loss* the loss's conjugate. With
z = Σ_i c_i θ_i y_i x_i

    D(θ) = -Σ_i c_i loss*(θ_i) - Σ_j sup_b [ z_j b - penalty_j(b) ]   ≤ P(β) for every β,

so P(β) - D(θ) bounds how far β is from the optimum.

Polytomous models have K rows of coefficients and of each part of the prior, y (n,) class numbers 0 … K-1, scores
s_ik = x_i·β_k + β_kd, and

    P(β) = Σ_i c_i [ ln Σ_k e^{s_ik} - s_i,y_i ] + Σ_k Σ_j penalty_kj(β_kj)
    D(θ) = -Σ_i c_i Σ_k θ_ik ln θ_ik - Σ_k Σ_j sup_b [ z_kj b - penalty_kj(b) ],   z_k = Σ_i c_i (1[y_i=k] - θ_ik) x_i

for every θ (K, n) with Σ_k θ_ik = 1, θ ≥ 0; at the optimum θ_ik = e^{s_ik} / Σ_l e^{s_il}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.kernels.nouns import PriorArrays as PriorArrays
from lapwing.stats.links import as_loss, log_sum_exp, softmax

if TYPE_CHECKING:
    from lapwing.stats.past import Past


class Proven:
    """Whatever states how far it is from the optimum: `objective`, `gap` and `kkt_bound`."""

    objective: float
    gap: float
    kkt_bound: float

    @property
    def relative_gap(self) -> float:
        """gap, or where that is NaN kkt_bound, as a fraction of the objective."""
        bound = self.kkt_bound if np.isnan(self.gap) else self.gap
        return float(bound / max(abs(self.objective), np.finfo(float).tiny))


@dataclass(frozen=True)
class Certificate(Proven):
    """How good a point is, as recomputed from nothing but the problem and the point.

    gap   objective - dual_objective: the optimum is no further below. NaN where a coefficient of infinite
          variance leaves no feasible dual point, or the link is not convex; then `kkt_bound` stands in its place.
          Infinite where a past leaves none for another reason
    kkt   the largest violation of the optimality conditions over all coordinates
    kkt_bound   Σ_j |violation_j| max(|β_j - m_j|, 1): to first order, what moving every coefficient by its
          own size (or by 1) could gain
    """

    objective: float
    dual_objective: float
    gap: float
    kkt: float
    kkt_bound: float


def summed(weight: np.ndarray, values: np.ndarray) -> float:
    """Σ_i weight_i values_i. A BLAS would have threads of its own for it: their number would be in the last digits, and
    on a busy machine they wait for each other a thousand times as long as the sum takes."""
    return float(np.einsum("i,i->", weight, values))


def penalty(prior: PriorArrays, weights: np.ndarray) -> float:
    """Σ_j l1|β-m| + l2(β-m)²/2; infinite outside the bounds."""
    if np.any(weights < prior.lower) or np.any(weights > prior.upper):
        return float("inf")
    away = weights - prior.mode
    return float(np.sum(prior.l1 * np.abs(away) + 0.5 * prior.l2 * away * away))


def kkt_violation(prior: PriorArrays, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """|distance of 0 from the subdifferential| of P, per coordinate; `gradient` is that of the loss."""
    away = weights - prior.mode
    smooth = gradient + prior.l2 * away
    # Moving up costs smooth + l1 (or smooth - l1 where we come back to the mode from below), and so down.
    up = smooth + np.where(away >= 0.0, prior.l1, -prior.l1)
    down = smooth + np.where(away > 0.0, prior.l1, -prior.l1)
    gain_up = np.where(weights < prior.upper, np.maximum(-up, 0.0), 0.0)
    gain_down = np.where(weights > prior.lower, np.maximum(down, 0.0), 0.0)
    return np.where(np.isnan(smooth), np.nan, np.maximum(gain_up, gain_down))


def penalty_conjugate(prior: PriorArrays, z: np.ndarray) -> np.ndarray:
    """sup_b [ z b - l1|b-m| - l2 (b-m)²/2 ] over lower ≤ b ≤ upper, per coordinate."""
    excess = np.sign(z) * np.maximum(np.abs(z) - prior.l1, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = np.where(prior.l2 > 0.0, excess / prior.l2, np.where(excess == 0.0, 0.0, excess * np.inf))
    best = np.clip(prior.mode + step, prior.lower, prior.upper)
    away = best - prior.mode
    with np.errstate(invalid="ignore"):
        value = z * best - prior.l1 * np.abs(away) - 0.5 * prior.l2 * away * away
    return np.where(np.isinf(best), np.inf, value)


def dual_scale(prior: PriorArrays, z: np.ndarray, pull: np.ndarray | float = 0.0) -> float:
    """The largest s in [0, 1] with s·z feasible: |s z_j + pull_j| ≤ l1_j wherever nothing else holds β_j back.

    Negative where a pull leaves none."""
    open_up = (prior.l2 == 0.0) & np.isinf(prior.upper)
    open_down = (prior.l2 == 0.0) & np.isinf(prior.lower)
    scale = 1.0
    for is_open, side in ((open_up, 1.0), (open_down, -1.0)):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            beyond = is_open & (side * (z + pull) > prior.l1)
            ratio = np.where(side * z > 0.0, (prior.l1 - side * pull) / np.abs(z), -1.0)
        scale = min(scale, float(np.where(beyond, ratio, 1.0).min(initial=1.0)))
    return scale


def certify(
    X: sp.csr_matrix | np.ndarray,
    y: np.ndarray,
    prior: PriorArrays,
    weights: np.ndarray,
    dual: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    link: str = "logit",
    past: Past | None = None,
) -> Certificate:
    """Recompute objective, duality gap and KKT violation of `weights` in plain NumPy.

    `dual` is θ; without it θ is taken from the margins. Either is scaled down until it is feasible.
    Weights with two axes are those of a polytomous model: y then holds class numbers. `past` is the quadratic that
    stands for documents of earlier fits (stats/past.py).
    """
    if np.ndim(weights) == 2:
        return _certify_polytomous(X, y, prior, weights, dual, sample_weight)
    form = as_loss(link)
    n, size = X.shape[0], X.shape[1] + 1
    y, weights = np.asarray(y, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    c = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    theta = None if dual is None else np.clip(np.asarray(dual, dtype=np.float64), 0.0, form.most(y))
    if any(of_documents.shape != (n,) for of_documents in (y, c) + (() if theta is None else (theta,))):
        raise InputError(f"expected labels, weights and dual of {n} documents, got {y.shape}, {c.shape}, ...")
    if any(of_features.shape != (size,) for of_features in (weights, *prior)):
        raise InputError(f"expected weights and a prior of {size} coordinates, got {weights.shape}, ...")
    margin = y * (X @ weights[:-1] + weights[-1])
    objective = float(np.sum(c * form.loss(margin, y))) + penalty(prior, weights)

    residual = form.theta(margin, y)
    pull = c * y * residual
    gradient = -np.append(X.T @ pull, pull.sum())
    if past is not None:
        objective += past.value(weights)
        gradient = gradient + past.gradient(weights)
    violation = kkt_violation(prior, weights, gradient)
    kkt_bound = float(np.sum(violation * np.maximum(np.abs(weights - prior.mode), 1.0)))

    theta = residual if theta is None else theta
    dual_objective = gap = float("nan")
    if form.convex:
        pull = c * y * theta
        z = np.append(X.T @ pull, pull.sum())
        scale, of_features = _of_features(prior, z) if past is None else past.bound(prior, weights, z)
        dual_objective = float(-np.sum(c * form.conjugate(scale * theta, y))) + of_features
        gap = max(objective - dual_objective, 0.0)
    return Certificate(objective, dual_objective, gap, float(violation.max(initial=0.0)), kkt_bound)


def _of_features(prior: PriorArrays, z: np.ndarray) -> tuple[float, float]:
    """(s, D(sθ) but for the documents' part): the largest s that is feasible; NaN where a coefficient is flat."""
    if np.any(prior.flat):
        return 0.0, float("nan")
    scale = dual_scale(prior, z)
    # A hair less than the scale: rounding must not leave a coordinate outside.
    shrunk = scale if scale == 1.0 else scale * (1.0 - 4e-16)
    return shrunk, -float(np.sum(penalty_conjugate(prior, shrunk * z)))


def _certify_polytomous(
    X: sp.csr_matrix | np.ndarray,
    y: np.ndarray,
    prior: PriorArrays,
    weights: np.ndarray,
    dual: np.ndarray | None,
    sample_weight: np.ndarray | None,
) -> Certificate:
    n, size, classes = X.shape[0], X.shape[1] + 1, len(weights)
    y, weights = np.asarray(y), np.asarray(weights, dtype=np.float64)
    c = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if y.shape != (n,) or c.shape != (n,) or not np.isin(y, np.arange(classes)).all():
        raise InputError(f"expected class numbers below {classes} and weights of {n} documents, got {y.shape}, ...")
    if any(part.shape != (classes, size) for part in (weights, *prior)):
        raise InputError(f"expected weights and a prior of {(classes, size)} coordinates, got {weights.shape}, ...")
    if dual is not None and np.shape(dual) != (classes, n):
        raise InputError(f"expected a dual point of {(classes, n)} numbers, got {np.shape(dual)}")
    member = (np.arange(classes)[:, None] == y).astype(np.float64)
    scores = np.asarray(X @ weights[:, :-1].T) + weights[:, -1]
    loss = log_sum_exp(scores) - scores[np.arange(n), y.astype(np.int64)]
    objective = float(np.sum(c * loss)) + penalty(prior, weights)

    def towards(theta: np.ndarray) -> np.ndarray:
        """z, from the other classes' probabilities: 1 - θ of the label by itself would be all rounding."""
        pull = np.where(member > 0.0, 0.0, -theta)
        pull = c * np.where(member > 0.0, -pull.sum(axis=0), pull)
        return np.column_stack([np.asarray(X.T @ pull.T).T, pull.sum(axis=1)])

    theta = softmax(scores).T
    violation = kkt_violation(prior, weights, -towards(theta))
    kkt_bound = float(np.sum(violation * np.maximum(np.abs(weights - prior.mode), 1.0)))
    if dual is not None:
        theta = np.maximum(np.asarray(dual, dtype=np.float64), 0.0)
        theta = theta / theta.sum(axis=0)
    scale, of_features = _of_features(prior, towards(theta))
    others = np.where(member > 0.0, 0.0, scale * theta)
    rest = others.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(others > 0.0, others * np.log(others), 0.0).sum(axis=0)
        entropy = entropy - np.where(rest < 1.0, (1.0 - rest) * np.log1p(-rest), 0.0)
    dual_objective = float(np.sum(c * entropy)) + of_features
    gap = max(objective - dual_objective, 0.0)
    return Certificate(objective, dual_objective, gap, float(violation.max(initial=0.0)), kkt_bound)


def log_prior_constant(prior: PriorArrays) -> float:
    """The constant by which the log density of the prior exceeds -penalty: Laplace ln(l1/2), Gaussian -½ln(2π/l2).

    One-sided exponentials (a bound at the mode) have twice the Laplace density. Coordinates of infinite
    variance, and those mixing both penalties, contribute nothing.
    """
    with np.errstate(divide="ignore"):
        laplace = np.log(prior.l1 / 2.0) + np.where(
            (prior.lower == prior.mode) ^ (prior.upper == prior.mode), np.log(2.0), 0.0
        )
        gaussian = -0.5 * np.log(2.0 * np.pi / prior.l2)
    both = np.where(prior.l2 == 0.0, laplace, np.where(prior.l1 == 0.0, gaussian, 0.0))
    return float(np.sum(np.where((prior.l1 == 0.0) & (prior.l2 == 0.0), 0.0, both)))
