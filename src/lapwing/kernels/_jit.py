"""The decorators of this folder: compiled, free of the GIL; kernels are cached on disk, their parts inside them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba

_numba: Any = None
try:
    from lapwing.kernels import _numba
except (ImportError, AttributeError, TypeError) as error:  # a name of Numba's that is another now
    message = "Numba %s is not one that lapwing knows: each process compiles kernels anew, and more slowly (%s)"
    logging.getLogger("lapwing").warning(message, numba.__version__, error)

# Sums may be taken in another order, and so several at a time.
REASSOCIATING = {"reassoc", "contract"}

# A division by zero is infinite, as in NumPy: to raise an exception would keep loops from being vectors. How sums are
# taken is given for each function: otherwise a part would take it from whichever kernel is compiled first.
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "fastmath": False}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F, **options: Any) -> F:
    """Compile on first use. Where no cache folder can be written the kernel is compiled anew each run."""
    return _compiled(function, _numba and _numba.Kernel, options)


def part(function: F, **options: Any) -> F:
    """Called by kernels only: compiled and kept as a part of them, without a way in or a place on disk of its own."""
    return _compiled(function, _numba and _numba.Part, options)


def element(function: F) -> F:
    """A part for one coordinate: written into every loop that calls it, as the arrays it is handed are 35 numbers."""
    return part(function, forceinline=True)


def inlined(function: F) -> F:
    """A part with one caller, or a few: written into it before it is compiled, which then takes no longer."""
    return part(function, inline="always")


def _compiled(function: F, dispatcher: Any, options: dict[str, Any]) -> F:
    if numba.config.DISABLE_JIT:
        return function
    options = {**OPTIONS, **options}
    if dispatcher is None:
        return numba.jit(**options)(function)
    return dispatcher(function, None, options)


def when_compiling(call: Callable[[], object]) -> None:
    """From now on, call `call` once, when something has to be compiled because it is not found on disk."""
    if _numba is not None:
        _numba.first_compile.call = call
