"""What JSON from a file must look like before anything is read from it.

A shape is a dict of keys with their shapes (a key ending in ? may be left out; keys not named may hold anything), a
list of one shape for lists of any length, a tuple of shapes for lists of that length, or a function that says whether
a value will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def number(value: Any) -> bool:
    """Any number that is finite."""
    return (isinstance(value, float) and math.isfinite(value)) or (type(value) is int and abs(value) < 2**1000)


def count(value: Any) -> bool:
    """A whole number of 0 or more."""
    return type(value) is int and 0 <= value < 2**53


def text(value: Any) -> bool:
    """A string."""
    return isinstance(value, str)


def flag(value: Any) -> bool:
    """True or false."""
    return isinstance(value, bool)


def label(value: Any) -> bool:
    """A string, a number, or true or false."""
    return isinstance(value, str | bool) or number(value)


def maybe(shape: Any) -> Callable[[Any], bool]:
    def null_or(value: Any) -> bool:
        if value is not None:
            check(value, shape)
        return True

    return null_or


def named(shape: Any) -> Callable[[Any], bool]:
    """Any keys, each with a value of this shape."""

    def all_fit(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for key, one in value.items():
            check(one, shape, repr(key)[:40])
        return True

    return all_fit


def check(value: Any, shape: Any, where: str = "it") -> None:
    """Raise ValueError that says where the value is not of this shape."""
    if isinstance(shape, dict):
        _need(isinstance(value, dict), where, "an object", value)
        for key, inside in shape.items():
            name = key.removesuffix("?")
            if name in value:
                check(value[name], inside, f"{where}.{name}")
            else:
                _need(key.endswith("?"), where, f"the key {name!r}", value)
    elif isinstance(shape, list):
        _need(isinstance(value, list), where, "a list", value)
        for i, one in enumerate(value):
            check(one, shape[0], f"{where}[{i}]")
    elif isinstance(shape, tuple):
        _need(isinstance(value, list) and len(value) == len(shape), where, f"a list of {len(shape)}", value)
        for i, (one, inside) in enumerate(zip(value, shape, strict=True)):
            check(one, inside, f"{where}[{i}]")
    else:
        _need(shape(value), where, (shape.__doc__ or "something else").rstrip(".").lower(), value)


def _need(holds: bool, where: str, expected: str, value: Any) -> None:
    if not holds:
        raise ValueError(f"{where}: expected {expected}, got {type(value).__name__}")
