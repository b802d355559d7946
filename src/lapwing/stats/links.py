"""Links: how a score becomes a probability, and what a margin costs, in plain NumPy.

A link is a distribution function F. What a document costs depends on its margin r = y s:

    p(y | score s) = F(s) or 1 - F(s),   loss(r) = -ln p,   θ = -loss'(r)

              F(s)            loss                        θ               its range   conjugate sup_r [ -θ r - loss(r) ]
    logit     1/(1+e^-s)      ln(1+e^-r)                  1/(1+e^r)       [0, 1]      θ ln θ + (1-θ) ln(1-θ)
    probit    Φ(s)            -ln Φ(r)                    φ(r)/Φ(r)       [0, ∞)      where φ(r)/Φ(r) = θ
    cloglog   1 - e^(-e^s)    y = 1: -ln(1 - e^(-e^r))    u/(e^u - 1)     [0, 1]      where that is θ; u = e^r
                              y = -1: e^-r                e^-r            [0, ∞)      θ ln θ - θ
    robit:ν   T_ν(s)          -ln T_ν(r)                  t_ν(r)/T_ν(r)   [0, ∞)      none: the loss is not convex

T_ν is Student's distribution of ν degrees of freedom. Where F(-s) = 1 - F(s) both labels have the same loss.

To add one: its `Link` in LINKS, and it is fitted (solvers/any_link.py). Kernels know the first two by their `code` (and
kernels/loss.py has the same functions). Polytomous models have all their scores in one probability,
p_k = e^{s_k} / Σ_l e^{s_l}: `softmax`, which is no link of one margin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from lapwing.errors import SettingsError

Function = Callable[[np.ndarray], np.ndarray]


class Loss(NamedTuple):
    """What a margin costs a document of one label: the functions of the heading."""

    value: Function
    theta: Function
    most: float  # θ is between 0 and this
    conjugate: Function
    curvature: Callable[[np.ndarray, np.ndarray], np.ndarray]  # loss''(r), from r and θ; 0 where that is negative


class Link(NamedTuple):
    """F, F⁻¹ and the losses of either label, by margins; labels y ±1 are numbers or arrays beside the margins.

    code     what kernels see; None where they have no such loss
    convex   whether the losses are; where not, a fit is a stationary point and no dual point proves more
    """

    code: int | None
    probability: Function
    quantile: Function
    positive: Loss
    negative: Loss
    convex: bool = True

    @property
    def kernel_code(self) -> int:
        """`code`, for those who cannot do without it."""
        if self.code is None:
            raise SettingsError("this link has no kernels; use solver='auto'")
        return self.code

    def loss(self, margin: np.ndarray, y: np.ndarray | float) -> np.ndarray:
        return self._either(margin, y, lambda side, r: side.value(r))

    def theta(self, margin: np.ndarray, y: np.ndarray | float) -> np.ndarray:
        return self._either(margin, y, lambda side, r: side.theta(r))

    def conjugate(self, theta: np.ndarray, y: np.ndarray | float) -> np.ndarray:
        return self._either(theta, y, lambda side, t: side.conjugate(t))

    def curvature(self, margin: np.ndarray, theta: np.ndarray, y: np.ndarray | float) -> np.ndarray:
        if self.positive is self.negative:
            return self.positive.curvature(margin, theta)
        return np.where(y > 0.0, self.positive.curvature(margin, theta), self.negative.curvature(margin, theta))

    def most(self, y: np.ndarray | float) -> np.ndarray:
        """θ is between 0 and this."""
        return np.where(np.asarray(y) > 0.0, self.positive.most, self.negative.most)

    def _either(
        self, values: np.ndarray, y: np.ndarray | float, of: Callable[[Loss, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        if self.positive is self.negative:
            return of(self.positive, values)
        return np.where(np.asarray(y) > 0.0, of(self.positive, values), of(self.negative, values))


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


_LOGIT = Loss(log_loss, lambda margin: sigmoid(-margin), 1.0, _entropy, _logit_curvature)
_PROBIT = Loss(_probit_loss, _probit_theta, np.inf, _probit_conjugate, _probit_curvature)


LARGEST = 700.0  # u = e^r from which e^-u is next to nothing


def _power(exponent: np.ndarray) -> np.ndarray:
    """e^x, infinite where that is."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(exponent))


def _extreme(score: np.ndarray) -> np.ndarray:
    return np.asarray(-np.expm1(-_power(score)))


def _extreme_quantile(probability: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(-np.log1p(-np.asarray(probability))))


def _extreme_loss(margin: np.ndarray) -> np.ndarray:
    """-ln(1 - e^-u), u = e^r: where u is small -r + u/2, where it is large e^-u."""
    u = _power(margin)
    with np.errstate(divide="ignore"):
        return np.where(u > 1e-8, -np.log(-np.expm1(-np.maximum(u, 1e-8))), 0.5 * u - margin)


def _extreme_theta(margin: np.ndarray) -> np.ndarray:
    """u/(e^u - 1), 1 at u = 0."""
    u = np.minimum(_power(margin), LARGEST)
    return np.where(u > 1e-8, u / np.expm1(np.maximum(u, 1e-8)), 1.0 - 0.5 * u)


def _extreme_curvature(margin: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """θ(θ + u - 1), which for small u cancels to u/2."""
    u = np.minimum(_power(margin), LARGEST)
    return np.where(u > 1e-4, np.maximum(theta * (theta + u - 1.0), 0.0), u * (0.5 - u / 3.0))


def _extreme_conjugate(theta: np.ndarray) -> np.ndarray:
    """At the r with u/(e^u - 1) = θ, by bisection; an error of r counts squared. 0 at both ends."""
    inside = (theta > 0.0) & (theta < 1.0)
    wanted = np.where(inside, theta, 0.5)
    low, high = np.full(np.shape(wanted), -745.0), np.full(np.shape(wanted), np.log(LARGEST))
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = _extreme_theta(middle) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    margin = 0.5 * (low + high)
    return np.where(inside, -wanted * margin - _extreme_loss(margin), 0.0)


def _exponential_conjugate(theta: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(theta > 0.0, theta * np.log(theta) - theta, 0.0)


_EXTREME = Loss(_extreme_loss, _extreme_theta, 1.0, _extreme_conjugate, _extreme_curvature)
_EXPONENTIAL = Loss(
    lambda margin: _power(-margin),
    lambda margin: _power(-margin),
    np.inf,
    _exponential_conjugate,
    lambda margin, theta: theta,
)

LINKS = {
    "logit": Link(0, sigmoid, _logit, _LOGIT, _LOGIT),
    "probit": Link(1, _normal, _normal_quantile, _PROBIT, _PROBIT),
    "cloglog": Link(None, _extreme, _extreme_quantile, _EXTREME, _EXPONENTIAL),
}

# (1-r)² for margins below 1, which is no -ln F: what a fit minimises for its decisions alone (SEQL). Its scores are
# margins, and a logistic line through those of unseen documents makes probabilities of them.
_SQUARED_HINGE = Loss(
    lambda margin: np.square(np.maximum(1.0 - margin, 0.0)),
    lambda margin: 2.0 * np.maximum(1.0 - margin, 0.0),
    np.inf,
    lambda theta: np.square(theta) / 4.0 - theta,
    lambda margin, theta: np.where(np.asarray(margin) < 1.0, 2.0, 0.0),
)
OTHER_LOSSES = {"squared_hinge": Link(None, sigmoid, _logit, _SQUARED_HINGE, _SQUARED_HINGE)}

DEGREES = (1.0, 30.0)  # of freedom of Student's distribution: with more it is all but the normal one


@lru_cache(maxsize=8)
def robit(degrees: float) -> Link:
    """Student's distribution function as a link (EGJLM03's family): a document far on the wrong side costs a logarithm
    of how far, so that labels that are wrong pull less than under any link that is convex."""
    from scipy.special import gammaln, stdtr, stdtrit

    height = gammaln(0.5 * (degrees + 1.0)) - gammaln(0.5 * degrees) - 0.5 * np.log(degrees * np.pi)

    def value(margin: np.ndarray) -> np.ndarray:
        return np.asarray(-np.log(np.maximum(stdtr(degrees, margin), 1e-300)))

    def theta(margin: np.ndarray) -> np.ndarray:
        density = np.exp(height - 0.5 * (degrees + 1.0) * np.log1p(np.square(margin) / degrees))
        return np.asarray(density / np.maximum(stdtr(degrees, margin), 1e-300))

    def curvature(margin: np.ndarray, theta: np.ndarray) -> np.ndarray:
        slope = (degrees + 1.0) * margin / (degrees + np.square(margin))  # of -ln t_ν
        return np.asarray(np.maximum(theta * (theta + slope), 0.0))

    def conjugate(theta: np.ndarray) -> np.ndarray:
        return np.full(np.shape(theta), np.nan)

    student = Loss(value, theta, np.inf, conjugate, curvature)
    return Link(
        None, lambda score: np.asarray(stdtr(degrees, score)), lambda p: np.asarray(stdtrit(degrees, p)), student,
        student, convex=False,
    )  # fmt: skip


NAMES = (*LINKS, "robit:ν")


def softmax(scores: np.ndarray) -> np.ndarray:
    """e^{s_k} / Σ_l e^{s_l} over the last axis, without overflow."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def log_sum_exp(scores: np.ndarray) -> np.ndarray:
    """ln Σ_k e^{s_k} over the last axis, without overflow."""
    top = scores.max(axis=-1)
    return np.asarray(top + np.log(np.exp(scores - top[..., None]).sum(axis=-1)))


def as_link(name: str) -> Link:
    """A link by name; Student's with its degrees of freedom, as robit:4."""
    if name in LINKS:
        return LINKS[name]
    if not isinstance(name, str) or name.partition(":")[0] != "robit":
        raise SettingsError(f"link must be one of {', '.join(NAMES)}, got {name!r}")
    return robit(degrees_of_freedom(name))


def as_loss(name: str) -> Link:
    """A link by name, or a loss that fits may have and models not."""
    return OTHER_LOSSES[name] if name in OTHER_LOSSES else as_link(name)


def degrees_of_freedom(name: str) -> float:
    """ν of a link robit:ν."""
    try:
        degrees = float(name.partition(":")[2])
    except ValueError:
        degrees = np.nan
    if not DEGREES[0] <= degrees <= DEGREES[1]:
        raise SettingsError(
            f"link robit goes with {DEGREES[0]:g} to {DEGREES[1]:g} degrees of freedom, as robit:4, got {name!r}; "
            "with more it is probit"
        )
    return degrees


def is_model_link(name: object) -> bool:
    """Whether a model can have it."""
    try:
        return name == "softmax" or as_link(name) is not None  # type: ignore[arg-type]
    except SettingsError:
        return False
