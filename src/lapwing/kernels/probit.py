"""The probit link, one document at a time: -ln Φ and what goes with it, out to margins of ±1e8 and beyond."""

from __future__ import annotations

import math

from lapwing.kernels._jit import part

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_TAIL = -5.0  # below, Φ is had from its continued fraction
_TERMS = 40  # of it: the last is below rounding there


@part
def loss_theta(margin):
    """(-ln Φ(r), θ = φ(r)/Φ(r)).

    In the lower tail θ = x + 1/(x + 2/(x + 3/(x + …))), x = -r, which neither underflows nor cancels.
    """
    if margin > 0.0:
        above = 0.5 * math.erfc(margin * _ROOT_HALF)
        return -math.log1p(-above), math.exp(-0.5 * margin * margin - _LOG_ROOT_2PI) / (1.0 - above)
    if margin > _TAIL:
        below = 0.5 * math.erfc(-margin * _ROOT_HALF)
        return -math.log(below), math.exp(-0.5 * margin * margin - _LOG_ROOT_2PI) / below
    rest = 0.0
    for k in range(_TERMS, 0, -1):
        rest = k / (rest - margin)
    theta = rest - margin
    return 0.5 * margin * margin + _LOG_ROOT_2PI + math.log(theta), theta


@part
def curvature(margin, theta):
    """The second derivative of -ln Φ(r), θ(θ+r): between 1 on the left and 0 on the right.

    Far on the left the sum would cancel; there it is 1 - 1/r² + …
    """
    return theta * (theta + margin) if margin > -100.0 else 1.0


@part
def conjugate(theta):
    """sup_r [ ln Φ(r) - θ r ], θ ≥ 0: at the margin where φ(r)/Φ(r) = θ.

    Newton's method on ln θ, which is concave in -r and so cannot cycle. An error of the margin counts squared.
    """
    if theta <= 1e-300:  # 0 to within 1e-298
        return 0.0
    target = math.log(theta)
    if theta < 0.3:
        margin = math.sqrt(max(-2.0 * (target + _LOG_ROOT_2PI), 0.0))
    else:
        margin = 1.0 / (theta + 0.5) - theta + 0.2
    loss = 0.0
    for _ in range(50):
        loss, here = loss_theta(margin)
        if margin < -1e4:  # θ + r = 1/θ to the last digit, where the difference would be rounding
            step = theta - here
        else:
            step = (target - math.log(here)) / (here + margin)
        margin -= step
        if abs(step) <= 1e-9 * (1.0 + abs(margin)):
            break
    loss = loss_theta(margin)[0]
    return -loss - theta * margin
