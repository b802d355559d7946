"""New arrays, and the larger or smaller of two numbers, without functions of Numba's own to compile for them.

For each kind of array that `np.empty` and `np.zeros` are asked for, and each of numbers that `max` and `min` are, Numba
compiles up to five functions, each to machine code that is never run: a tenth of the time to compile. Here they are
written where they stand. They do the same; that a length is negative or its bytes beyond counting is not looked for
by itself, there is no memory for it.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.types.containers import BaseTuple
from numba.core.types.misc import unliteral
from numba.core.typing import signature
from numba.cpython.builtins import do_minmax
from numba.np import arrayobj

_COMPARED = {max: operator.gt, min: operator.lt}


def signature_of(what: Any, context: Any, args: Any) -> Any:
    """The types of a call that `write` writes; None where it is left to Numba."""
    args = tuple(unliteral(one) for one in args)
    if what in (np.empty, np.zeros):
        array = _array_of(*args)
        return array and signature(array, *args)
    if what in (max, min) and len(args) == 2 and all(isinstance(one, types.Integer | types.Float) for one in args):
        return signature(context.unify_types(*args), *args)
    return None


def write(context: Any, builder: Any, what: Any, sig: Any, args: Any) -> Any:
    if what in _COMPARED:
        return do_minmax(context, builder, sig.args, args, _COMPARED[what])
    return _new(context, builder, sig.return_type, sig.args[0], args[0], zero=what is np.zeros)


def _array_of(shape: Any, dtype: Any = None, *more: Any) -> Any:
    """The type of a new array of numbers; None for another."""
    number = types.float64 if dtype is None else getattr(dtype, "dtype", None)
    lengths = shape.types if isinstance(shape, BaseTuple) else (shape,)
    plain = isinstance(number, types.Integer | types.Float | types.Boolean) and not more
    if not plain or not lengths or not all(isinstance(one, types.Integer) for one in lengths):
        return None
    return types.Array(number, len(lengths), "C")


def _new(context: Any, builder: Any, kind: Any, shape_type: Any, shape: Any, zero: bool) -> Any:
    """Memory for an array; MemoryError where there is none."""
    if isinstance(shape_type, BaseTuple):
        given = zip(shape_type.types, cgutils.unpack_tuple(builder, shape, len(shape_type)), strict=True)
    else:
        given = zip((shape_type,), (shape,), strict=True)
    lengths = [context.cast(builder, value, one, types.intp) for one, value in given]
    number = lengths[0].type
    itemsize = number(arrayobj.get_itemsize(context, kind))
    strides = [itemsize]
    for length in reversed(lengths):
        strides.insert(0, builder.mul(strides[0], length))
    size = strides.pop(0)
    size = builder.select(builder.icmp_signed("<", size, number(0)), number(2 ** (number.width - 1) - 1), size)
    align = context.get_preferred_array_alignment(kind.dtype)
    meminfo = context.nrt.meminfo_alloc_aligned(builder, size, align)
    data = context.nrt.meminfo_data(builder, meminfo)
    if zero:
        cgutils.memset(builder, data, size, 0)
    array = arrayobj.make_array(kind)(context, builder)
    arrayobj.populate_array(
        array,
        data=builder.bitcast(data, context.get_data_type(kind.dtype).as_pointer()),
        shape=cgutils.pack_array(builder, lengths, ty=number),
        strides=cgutils.pack_array(builder, strides, ty=number),
        itemsize=itemsize,
        meminfo=meminfo,
    )
    return array._getvalue()
