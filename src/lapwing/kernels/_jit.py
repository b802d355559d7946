"""The decorators of this room: compiled, free of the GIL; kernels are cached on disk, their parts inside them."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
import numba.core.event
import numba.core.registry
from numba.core.compiler_lock import global_compiler_lock

from lapwing.kernels._cache import KernelCache
from lapwing.kernels._libraries import KernelCompiler, PartCompiler
from lapwing.kernels._short import written_short
from lapwing.kernels._steps import fewer_steps
from lapwing.kernels._typing import remembering

# Sums may be taken in another order, and so several at a time.
REASSOCIATING = {"reassoc", "contract"}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F, **options: Any) -> F:
    """Compile on first use. Where no cache folder can be written the kernel is compiled anew each run."""
    if numba.config.DISABLE_JIT:
        return _compiled(function, **options)
    try:
        compiled = _compiled(function, cache=True, pipeline_class=KernelCompiler, **options)
        compiled._cache = KernelCache.of(function, compiled._cache)  # type: ignore[attr-defined]
    except RuntimeError:  # Numba found no place to cache in
        logging.getLogger("lapwing").info("no writable folder for compiled kernels; compiling in memory")
        compiled = _compiled(function, pipeline_class=KernelCompiler, **options)
    compiled.__class__ = _Kernel
    compiled.inside = part(function, **options)  # type: ignore[attr-defined]
    return compiled


class _Kernel(numba.core.registry.CPUDispatcher):
    """Called by another kernel it is a part of that one, compiled into it."""

    inside: _Part

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock, remembering(), written_short(), fewer_steps(), _uncollected():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.inside.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.inside.get_overload(sig)


@contextmanager
def _uncollected() -> Iterator[None]:
    """What compiling leaves lives on: to look through it for garbage again and again takes a tenth of the time.

    Nor is it looked through at the end: it joins what is old.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class _Part(numba.core.registry.CPUDispatcher):
    """A function compiled without a way in from Python: to call it from there would crash the interpreter."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.__name__} is a part of kernels, and called by them only")


def part(function: F, **options: Any) -> F:
    """Called by kernels only: compiled and kept as a part of them, without a way in or a place on disk of its own."""
    if numba.config.DISABLE_JIT:
        return function
    compiled = _compiled(function, no_cpython_wrapper=True, pipeline_class=PartCompiler, **options)
    compiled.__class__ = _Part
    return compiled


def element(function: F) -> F:
    """A part for one coordinate: written into every loop that calls it, as the arrays it is handed are 35 numbers."""
    return part(function, forceinline=True)


def inlined(function: F) -> F:
    """A part with one caller, or a few: written into it before it is compiled, which then takes no longer."""
    return _compiled(function, inline="always")


def _compiled(function: F, **options: Any) -> F:
    """A division by zero is infinite, as in NumPy: to raise an exception would keep loops from being vectors.

    How sums are taken is said for each: unsaid, a part would take it from whichever kernel is compiled first.
    """
    options = {"fastmath": False, **options}
    return numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)


class _FirstCompile(numba.core.event.Listener):
    say: Callable[[], object] | None = None

    def on_start(self, _: Any) -> None:
        say, self.say = self.say, None
        if say is not None:
            say()

    def on_end(self, _: Any) -> None:
        pass


_first_compile = _FirstCompile()
numba.core.event.register("numba:compile", _first_compile)


def when_compiling(say: Callable[[], object]) -> None:
    """From now on, call `say` once, when something has to be compiled because it is not found on disk."""
    _first_compile.say = say
