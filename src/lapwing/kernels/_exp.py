"""e^-x and ln(1+z) by arithmetic alone, to about two units in the last place.

A loop that calls the C library goes one document at a time; one over these becomes vector instructions, and comes
to the same on every machine.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from lapwing.kernels._jit import part

_ROUND = 1.5 * 2.0**52  # added to a number, leaves its nearest integer in the last bits
_PER_LN2 = 1.0 / math.log(2.0)
_LN2 = math.log(2.0)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # its product with an exponent is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_SMALLEST = 708.0  # e^-708 is about the smallest normal number
_ROOT2 = math.sqrt(2.0) - 1.0


def _power(rounded):
    """2^k, where `rounded` is k + _ROUND."""
    return math.ldexp(1.0, int(rounded - _ROUND))


@intrinsic
def _power_compiled(_context, rounded):
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        exponent = builder.shl(builder.bitcast(arguments[0], word), ir.Constant(word, 52))
        return builder.bitcast(builder.add(exponent, ir.Constant(word, 1023 << 52)), ir.DoubleType())

    return types.float64(types.float64), generate


power = _power if config.DISABLE_JIT else _power_compiled


@part
def decay(x):
    """e^-x for x ≥ 0, and e^-708 from there on: 2^k e^r with |r| ≤ ln 2 / 2, the latter by its series."""
    x = x if x < _SMALLEST else _SMALLEST
    rounded = _ROUND - x * _PER_LN2
    k = rounded - _ROUND
    r = (-x - k * _LN2_HIGH) - k * _LN2_LOW
    s = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    s = 1.0 / 39916800.0 + r * s
    s = 1.0 / 3628800.0 + r * s
    s = 1.0 / 362880.0 + r * s
    s = 1.0 / 40320.0 + r * s
    s = 1.0 / 5040.0 + r * s
    s = 1.0 / 720.0 + r * s
    s = 1.0 / 120.0 + r * s
    s = 1.0 / 24.0 + r * s
    s = 1.0 / 6.0 + r * s
    s = 0.5 + r * s
    return (1.0 + r * (1.0 + r * s)) * power(rounded)


@part
def log1p(z):
    """ln(1+z) for 0 ≤ z ≤ 1: 2 artanh(f/(2+f)) by its series, where 1+f is 1+z, or half of it above √2."""
    above = z > _ROOT2
    f = 0.5 * (z - 1.0) if above else z
    t = f / (2.0 + f)
    q = t * t
    s = 1.0 / 19.0 + q * (1.0 / 21.0)
    s = 1.0 / 17.0 + q * s
    s = 1.0 / 15.0 + q * s
    s = 1.0 / 13.0 + q * s
    s = 1.0 / 11.0 + q * s
    s = 1.0 / 9.0 + q * s
    s = 1.0 / 7.0 + q * s
    s = 1.0 / 5.0 + q * s
    s = 1.0 / 3.0 + q * s
    small = 2.0 * t + 2.0 * t * (q * s)
    return small + _LN2 if above else small
