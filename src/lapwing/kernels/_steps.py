"""Numba's steps over a function, with less done at each: a tenth of the time to compile.

Ten times for every function Numba asks each instruction which variables it names, and looks at the type of all it
holds to tell. And for every call into LLVM, tens of thousands, it tells all timers that one begins and ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, NoneType
from typing import Any

import llvmlite.binding
from numba.core import ir

_NAMELESS = {str, int, bool, float, NoneType, BuiltinFunctionType, ir.Loc, type(ir.UNDEFINED)}


@contextmanager
def fewer_steps() -> Iterator[None]:
    """To be held with Numba's lock: no other thread compiles anything meanwhile."""
    ask = ir.Inst._rec_list_vars

    def variables(self: Any, value: Any) -> list[Any]:
        if type(value) is not dict:
            return ask(self, value)
        listed: list[Any] = []
        for one in value.values():
            if type(one) is ir.Var:
                listed.append(one)
            elif type(one) not in _NAMELESS:
                listed += ask(self, one)
        return listed

    lock = llvmlite.binding.ffi.lib._lock
    timers, lock._cblist = lock._cblist, []
    ir.Inst._rec_list_vars = variables
    try:
        yield
    finally:
        ir.Inst._rec_list_vars, lock._cblist = ask, timers
