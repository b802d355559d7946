"""Elements of arrays, loops over ranges and references in few instructions, of which the optimiser leaves as few as of
many.

For `x[i]` Numba writes forty instructions, after it has looked whether the type of the array stands for another, and
for `range(n)` sixty, a division among them. Here they are ten: what they do is the same, and a sixth of the time to
compile is saved. Where an array's reference is counted Numba takes the array apart, nine instructions to find the one
that matters, and it forgets numbers as if they were arrays. What is not of these kinds is left to Numba.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.types import Array, Float, Integer
from numba.core.types.containers import BaseTuple
from numba.core.types.iterators import RangeType
from numba.np import arrayobj

from lapwing.kernels import _built_in

Write = Callable[..., Any]  # (context, builder, signature, arguments) to the value of a call


@contextmanager
def written_short() -> Iterator[None]:
    """To be held with Numba's lock: no other thread compiles anything meanwhile."""
    find = BaseContext.get_function

    def get_function(self: Any, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if fn == "__array__" and type(sig.args[0]) is Array:
            raise NotImplementedError("an array stands for itself")
        write = _short(self, fn, sig)
        if write is not None:
            return lambda builder, args, loc=None: write(self, builder, sig, args)
        what = getattr(fn, "typing_key", None)
        if _built_in.signature_of(what, self.typing_context, sig.args) == sig:
            return lambda builder, args, loc=None: _built_in.write(self, builder, what, sig, args)
        numbas = find(self, fn, sig, _firstcall)
        if fn == "getiter" and isinstance(sig.args[0], RangeType):
            return lambda builder, args, loc=None: _each(self, builder, sig, args) or numbas(builder, args)
        return numbas

    meminfos, forget = NRTContext.get_meminfos, Lower.delvar

    def get_meminfos(self: Any, builder: Any, ty: Any, val: Any) -> Any:
        model = self._context.data_model_manager[ty]
        if type(ty) is Array:
            return [(ty, builder.extract_value(val, model.get_field_position("meminfo")))]
        return meminfos(self, builder, ty, val) if model.contains_nrt_meminfo() else []

    def delvar(self: Any, name: str) -> None:
        if self.context.data_model_manager[self.typeof(name)].contains_nrt_meminfo():
            forget(self, name)

    BaseContext.get_function, NRTContext.get_meminfos, Lower.delvar = get_function, get_meminfos, delvar
    try:
        yield
    finally:
        BaseContext.get_function, NRTContext.get_meminfos, Lower.delvar = find, meminfos, forget


def _short(context: Any, fn: Any, sig: Any) -> Write | None:
    what = getattr(fn, "typing_key", None)
    if what is operator.getitem and _is_element(context, *sig.args):
        return _read
    if what is operator.setitem and _is_element(context, *sig.args[:2]):
        return _write
    if what is range and len(sig.args) < 3 and isinstance(sig.return_type, RangeType):
        return _range
    return None


def _is_element(context: Any, array: Any, index: Any) -> bool:
    """Whether it is a number: all of the indices are integers, and the array is laid out row by row."""
    if type(array) is not Array or array.layout != "C" or not isinstance(array.dtype, Integer | Float):
        return False
    indices = index.types if isinstance(index, BaseTuple) else (index,)
    integers = array.ndim == len(indices) and all(isinstance(one, Integer) for one in indices)
    return integers and not context.enable_boundscheck


def _place(context: Any, builder: Any, array_type: Any, index_type: Any, array: Any, index: Any) -> Any:
    """The address of an element; a negative index counts from the end."""
    model = context.data_model_manager[array_type]
    shape = builder.extract_value(array, model.get_field_position("shape"))
    if isinstance(index_type, BaseTuple):
        kinds, indices = index_type.types, cgutils.unpack_tuple(builder, index, len(index_type))
    else:
        kinds, indices = (index_type,), (index,)
    at = None
    for axis, (kind, value) in enumerate(zip(kinds, indices, strict=True)):
        size = builder.extract_value(shape, axis)
        here = arrayobj.fix_integer_index(context, builder, kind, value, size)
        at = here if at is None else builder.add(builder.mul(at, size), here)
    return builder.gep(builder.extract_value(array, model.get_field_position("data")), [at])


def _read(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return arrayobj.load_item(context, builder, sig.args[0], _place(context, builder, *sig.args, *args))


def _write(context: Any, builder: Any, sig: Any, args: Any) -> None:
    kind, index_type, value_type = sig.args
    array, index, value = args
    place = _place(context, builder, kind, index_type, array, index)
    arrayobj.store_item(context, builder, kind, context.cast(builder, value, value_type, kind.dtype), place)


def _range(_: Any, builder: Any, __: Any, args: Any) -> Any:
    """From 0, or from the first of two, one by one."""
    number = args[0].type
    start = [number(0)] if len(args) == 1 else []
    return cgutils.make_anonymous_struct(builder, [*start, *args, number(1)])


def _each(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """What goes through a range that `_range` made; None for another, of which it is not known how it goes."""
    (last,) = args
    if not isinstance(last, ir.instructions.InsertValue) or not isinstance(last.value, ir.Constant):
        return None
    if last.value.constant != 1:
        return None
    start, stop, step = last.aggregate.aggregate.value, last.aggregate.value, last.value
    less = builder.sub(stop, start)
    iterator = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    iterator.iter, iterator.count = (cgutils.alloca_once(builder, start.type) for _ in range(2))
    iterator.stop, iterator.step = stop, step
    builder.store(start, iterator.iter)
    builder.store(builder.select(builder.icmp_signed(">", less, less.type(0)), less, less.type(0)), iterator.count)
    return iterator._getvalue()
