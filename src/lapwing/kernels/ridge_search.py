"""How far to go along a ridge step, and the constant feature after it."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, part
from lapwing.kernels.loss import bend, slopes

NEAR = 0.03  # a step of the constant so short that the next would be shorter by far


def slant(beta, mode, l2, step):
    """First and second derivative of the penalty along `step`."""
    first = second = 0.0
    for j in range(step.size):
        first += l2[j] * (beta[j] - mode[j]) * step[j]
        second += l2[j] * step[j] * step[j]
    return first, second


def curvatures(margin, theta, weight, link, curvature):
    """c_i loss''(r_i), never 0"""
    if link == 0:
        for i in range(theta.size):
            curvature[i] = weight[i] * (theta[i] * (1.0 - theta[i]) + 1e-300)
    else:
        for i in range(theta.size):
            curvature[i] = weight[i] * (bend(margin[i], theta[i], link) + 1e-300)


def _pulls(margin, theta, weight, link, shift):
    """First and second derivative of the loss along `shift`."""
    first = second = 0.0
    for i in range(theta.size):
        first -= weight[i] * theta[i] * shift[i]
        second += weight[i] * bend(margin[i], theta[i], link) * shift[i] * shift[i]
    return first, second


slant = part(slant, fastmath=REASSOCIATING)
curvatures = part(curvatures, fastmath=REASSOCIATING)
_pulls = part(_pulls, fastmath=REASSOCIATING)


@part
def search(margin, theta, shift, weight, link, slope, curve, objective, at, there):
    """A step t along `shift` (of the margins) where the slope of the objective is a tenth of its first value.

    slope + t·curve is the derivative of the penalty. Newton's method, kept between what is known of either side.
    The whole step where the gain is too small to be measured. `at` and `there` are room for margins and θ.
    """
    low, high, t = 0.0, np.inf, 1.0
    first = slope + _pulls(margin, theta, weight, link, shift)[0]
    if -first <= 1e-9 * objective:
        return 1.0
    for _ in range(40):
        for i in range(margin.size):
            at[i] = margin[i] + t * shift[i]
        slopes(at, link, there)
        fall, bends = _pulls(at, there, weight, link, shift)
        fall, bends = fall + slope + t * curve, bends + curve
        if abs(fall) <= -0.1 * first:
            return t
        if fall > 0.0:
            high = t
        else:
            low = t
        t = t - fall / bends if bends > 0.0 else np.inf
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 4.0 * low
    return low


@part
def level(margin, y, weight, link, away, l2, theta):
    """Bring the constant feature, `away` from its mode, to its optimum with all others as they are, nearly.

    Returns the step and adds it to the margins. `theta` is room.
    """
    step, first = 0.0, np.inf
    for _ in range(4):
        slopes(margin, link, theta)
        fall, curve = _pulls(margin, theta, weight, link, y)
        fall, curve = fall + l2 * (away + step), curve + l2
        if abs(fall) <= 0.1 * first and first < np.inf:
            break
        first = min(first, abs(fall))
        move = -min(max(fall / curve, -1.0), 1.0) if curve > 0.0 else 0.0
        step += move
        for i in range(margin.size):
            margin[i] += y[i] * move
        if abs(move) < NEAR:
            break
    return step
