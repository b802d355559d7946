"""The one decorator of this room: compiled, cached on disk, free of the GIL."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba

# Sums may be taken in another order, and so several at a time.
REASSOCIATING = {"reassoc", "contract"}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F, **options: Any) -> F:
    """Compile on first use. Where no cache folder can be written the kernel is compiled anew each run.

    A division by zero is infinite, as in NumPy: to raise an exception instead would keep loops from being vectors.
    """
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no place to cache in
        logging.getLogger("lapwing").info("no writable folder for compiled kernels; compiling in memory")
        return numba.njit(**options)(function)
