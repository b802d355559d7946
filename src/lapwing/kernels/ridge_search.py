"""How far to go along a ridge step, and the constant feature after it.

min_t Σ_i c_i loss(r_i + t shift_i) + penalty(β + t step),   then the same over the constant alone
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels import probit
from lapwing.kernels._jit import REASSOCIATING, part
from lapwing.kernels.loss import bend, logistic

SHORT = 0.03  # a step of the constant so short that the next would be shorter by far


def slant(beta, mode, l2, gradient, step):
    """First and second derivative of the penalty along `step`, and the first of the objective."""
    first = second = whole = 0.0
    for j in range(step.size):
        first += l2[j] * (beta[j] - mode[j]) * step[j]
        second += l2[j] * step[j] * step[j]
        whole += gradient[j] * step[j]
    return first, second, whole


def curvatures(margin, theta, weight, link, curvature):
    """c_i loss''(r_i), never 0"""
    if link == 0:
        for i in range(theta.size):
            curvature[i] = weight[i] * (theta[i] * (1.0 - theta[i]) + 1e-300)
    else:
        for i in range(theta.size):
            curvature[i] = weight[i] * (bend(margin[i], theta[i], link) + 1e-300)


def _pulls(margin, shift, t, y, step, weight, link):
    """First and second derivative of the loss at r + t·shift + step·y, along `shift`; then along y, the constant.

    One loop for all: the documents' numbers do not fit into the near caches.
    """
    first = second = lift = lifts = 0.0
    if link == 0:
        for i in range(margin.size):
            theta = logistic(margin[i] + t * shift[i] + step * y[i])[1]
            pull, bends = weight[i] * theta, weight[i] * (theta * (1.0 - theta))
            first -= pull * shift[i]
            second += bends * shift[i] * shift[i]
            lift -= pull * y[i]
            lifts += bends
    else:
        for i in range(margin.size):
            there = margin[i] + t * shift[i] + step * y[i]
            theta = probit.loss_theta(there)[1]
            pull, bends = weight[i] * theta, weight[i] * probit.curvature(there, theta)
            first -= pull * shift[i]
            second += bends * shift[i] * shift[i]
            lift -= pull * y[i]
            lifts += bends
    return first, second, lift, lifts


def arrive(margin, shift, t, y, step, weight, link, theta, pull):
    """Go to r + t·shift + step·y: the margins, θ, and what the gradient is made of, -c y θ. Returns the loss."""
    total = 0.0
    if link == 0:
        for i in range(margin.size):
            margin[i] += t * shift[i] + step * y[i]
            loss, theta[i] = logistic(margin[i])
            total += weight[i] * loss
            pull[i] = -weight[i] * y[i] * theta[i]
    else:
        for i in range(margin.size):
            margin[i] += t * shift[i] + step * y[i]
            loss, theta[i] = probit.loss_theta(margin[i])
            total += weight[i] * loss
            pull[i] = -weight[i] * y[i] * theta[i]
    return total


slant = part(slant, fastmath=REASSOCIATING)
curvatures = part(curvatures, fastmath=REASSOCIATING)
arrive = part(arrive, fastmath=REASSOCIATING)
_pulls = part(_pulls, fastmath=REASSOCIATING)


@part
def line_search(margin, shift, y, weight, link, slope, curve, first, objective):
    """A step t along `shift` (of the margins) where the slope of the objective is a tenth of its `first` value.

    slope + t·curve is the derivative of the penalty. Newton's method, kept between what is known of either side.
    The whole step where the gain is too small to be measured. Where it promises more than there is to gain, the loss
    is not what it seems, and only a slope that still leads down is trusted. Returns t, and the loss's derivatives there
    by the constant.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(40):
        fall, bends, lift, lifts = _pulls(margin, shift, t, y, 0.0, weight, link)
        fall, bends = fall + slope + t * curve, bends + curve
        trusted = fall <= 0.0 or -first * t <= objective
        if (trusted and abs(fall) <= -0.1 * first) or -first <= 1e-9 * objective:
            return t, lift, lifts
        if fall > 0.0:
            high = t
        else:
            low = t
        t = t - fall / bends if bends > 0.0 else np.inf
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 4.0 * low
    _, _, lift, lifts = _pulls(margin, shift, low, y, 0.0, weight, link)
    return low, lift, lifts


@part
def level(margin, shift, t, y, weight, link, away, l2, fall, curve):
    """The step that brings the constant feature, `away` from its mode, to its optimum, nearly, at r + t·shift.

    fall, curve   the loss's derivatives by it before the step
    """
    step, first = 0.0, np.inf
    for _ in range(4):
        fall, curve = fall + l2 * (away + step), curve + l2
        if abs(fall) <= 0.1 * first and first < np.inf:
            break
        first = min(first, abs(fall))
        move = -min(max(fall / curve, -1.0), 1.0) if curve > 0.0 else 0.0
        step += move
        if abs(move) < SHORT:
            break
        _, _, fall, curve = _pulls(margin, shift, t, y, step, weight, link)
    return step
