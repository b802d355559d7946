"""Links: how a score becomes a probability, and what a margin costs, in plain NumPy.

A link is a distribution function F with F(-s) = 1 - F(s):

    p(y | score s) = F(r),   loss(r) = -ln F(r),   θ = -loss'(r),   r = y s the margin

            F(s)          loss          θ              its range   conjugate sup_r [ -θ r - loss(r) ]
    logit   1/(1+e^-s)    ln(1+e^-r)    1/(1+e^r)      [0, 1]      θ ln θ + (1-θ) ln(1-θ)
    probit  Φ(s)          -ln Φ(r)      φ(r)/Φ(r)      [0, ∞)      where φ(r)/Φ(r) = θ

To add one: its functions and its code here, and the same in kernels/loss.py. Polytomous models have all their
scores in one probability, p_k = e^{s_k} / Σ_l e^{s_l}: `softmax`, which is no link of one margin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lapwing.errors import SettingsError

Function = Callable[[np.ndarray], np.ndarray]


class Link(NamedTuple):
    """The functions of the heading; `code` is what kernels see, `quantile` is F⁻¹."""

    code: int
    probability: Function
    quantile: Function
    loss: Function
    theta: Function
    most: float  # θ is between 0 and this
    conjugate: Function
    curvature: Callable[[np.ndarray, np.ndarray], np.ndarray]  # loss''(r), from r and θ


def sigmoid(score: np.ndarray) -> np.ndarray:
    """1/(1+e^-s), without overflow."""
    decay = np.exp(-np.abs(score))
    return np.where(score >= 0.0, 1.0, decay) / (1.0 + decay)


def log_loss(margin: np.ndarray) -> np.ndarray:
    """ln(1+e^-r), without overflow."""
    return np.logaddexp(0.0, -margin)


def _logit(probability: np.ndarray) -> np.ndarray:
    return np.log(probability) - np.log1p(-probability)


def _entropy(theta: np.ndarray) -> np.ndarray:
    """θ ln θ + (1-θ) ln(1-θ), 0 at both ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = theta * np.log(theta) + (1.0 - theta) * np.log1p(-theta)
    return np.where((theta <= 0.0) | (theta >= 1.0), 0.0, value)


def _logit_curvature(margin: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return theta * (1.0 - theta)


def _probit_curvature(margin: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.maximum(theta * (theta + margin), 0.0)


# SciPy's special functions are imported where they are needed: a logistic model starts without them.
def _normal(score: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return np.asarray(ndtr(score))


def _normal_quantile(probability: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return np.asarray(ndtri(probability))


def _probit_loss(margin: np.ndarray) -> np.ndarray:
    from scipy.special import log_ndtr

    return np.asarray(-log_ndtr(margin))


def _probit_theta(margin: np.ndarray) -> np.ndarray:
    """φ(r)/Φ(r) = √(2/π)/erfcx(-r/√2), which neither underflows on the left nor overflows on the right."""
    from scipy.special import erfcx

    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(-np.asarray(margin) * np.sqrt(0.5)))


def _probit_conjugate(theta: np.ndarray) -> np.ndarray:
    """Newton's method for ln θ(r) = ln θ, whose derivative is -(θ(r) + r); an error of r counts squared."""
    wanted = np.where(theta > 1e-300, theta, 1.0)  # below, the value is 0 to within 1e-298
    small = np.sqrt(np.maximum(-2.0 * np.log(wanted * np.sqrt(2.0 * np.pi)), 0.0))
    margin = np.where(wanted < 0.3, small, 1.0 / (wanted + 0.5) - wanted + 0.2)
    for _ in range(50):
        here = _probit_theta(margin)
        far = margin < -1e4  # there θ(r) + r is rounding, and θ(r) falls by one where r rises by one
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(far, wanted - here, np.log(wanted / here) / (here + margin))
        margin = margin - step
        if np.all(np.abs(step) <= 1e-9 * (1.0 + np.abs(margin))):
            break
    return np.where(theta > 1e-300, -_probit_loss(margin) - wanted * margin, 0.0)


LINKS = {
    "logit": Link(0, sigmoid, _logit, log_loss, lambda margin: sigmoid(-margin), 1.0, _entropy, _logit_curvature),
    "probit": Link(
        1, _normal, _normal_quantile, _probit_loss, _probit_theta, np.inf, _probit_conjugate, _probit_curvature
    ),
}


MODEL_LINKS = (*LINKS, "softmax")  # what a model can have


def softmax(scores: np.ndarray) -> np.ndarray:
    """e^{s_k} / Σ_l e^{s_l} over the last axis, without overflow."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def log_sum_exp(scores: np.ndarray) -> np.ndarray:
    """ln Σ_k e^{s_k} over the last axis, without overflow."""
    top = scores.max(axis=-1)
    return np.asarray(top + np.log(np.exp(scores - top[..., None]).sum(axis=-1)))


def as_link(name: str) -> Link:
    """A link by name."""
    if name not in LINKS:
        raise SettingsError(f"link must be one of {', '.join(LINKS)}, got {name!r}")
    return LINKS[name]
