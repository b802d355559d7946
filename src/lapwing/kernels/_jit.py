"""The decorators of this room: compiled, free of the GIL; kernels are cached on disk, their parts inside them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba

# Sums may be taken in another order, and so several at a time.
REASSOCIATING = {"reassoc", "contract"}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F, **options: Any) -> F:
    """Compile on first use. Where no cache folder can be written the kernel is compiled anew each run."""
    try:
        return _compiled(function, cache=True, **options)
    except RuntimeError:  # Numba found no place to cache in
        logging.getLogger("lapwing").info("no writable folder for compiled kernels; compiling in memory")
        return _compiled(function, **options)


def part(function: F, **options: Any) -> F:
    """Called by kernels only: compiled and kept as a part of them, without a place on disk of its own."""
    return _compiled(function, **options)


def _compiled(function: F, **options: Any) -> F:
    """A division by zero is infinite, as in NumPy: to raise an exception would keep loops from being vectors."""
    return numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
