"""A row of a sparse matrix against several vectors at once, lying side by side: one vector instruction an entry.

The loop vectoriser does not see that eight neighbours make one register, so it is said here, in the compiler's
own language. With the JIT switched off the plain functions beneath run instead; both round alike.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8  # categories that go through X together: a cache line of float64
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_NOTHING = ir.Constant(_VECTOR, ir.Undefined)
_FIRST = ir.Constant(ir.IntType(32), 0)
_EVERYWHERE = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)


def _row(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Address of row `index` of an array of LANES columns."""
    start = context.make_array(kind)(context, builder, array).data
    place = builder.gep(start, [builder.mul(index, ir.Constant(index.type, LANES))])
    return builder.bitcast(place, _VECTOR.as_pointer())


def _entries(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """A loop over the stored entries of the row: yields (x spread over all lanes, address of its partner row)."""
    data, indices = (
        context.make_array(kind)(context, builder, array).data
        for kind, array in zip(signature.args[:2], arguments[:2], strict=True)
    )
    intp = context.get_value_type(types.intp)
    first, last = (
        context.cast(builder, value, kind, types.intp)
        for kind, value in zip(signature.args[2:4], arguments[2:4], strict=True)
    )
    with cgutils.for_range_slice(builder, first, last, ir.Constant(intp, 1)) as (k, _):
        x = builder.insert_element(_NOTHING, builder.load(builder.gep(data, [k])), _FIRST)
        j = builder.sext(builder.load(builder.gep(indices, [k])), intp)
        yield (
            builder.shuffle_vector(x, _NOTHING, _EVERYWHERE),
            _row(context, builder, signature.args[4], arguments[4], j),
        )


def _gather(data, indices, first, last, vectors, out, i):
    """out[i] += Σ_k x_k vectors[j_k] over the stored entries k of a row."""
    for k in range(first, last):
        out[i] += data[k] * vectors[indices[k]]


def _scatter(data, indices, first, last, out, vectors, i):
    """out[j_k] += x_k vectors[i] over the stored entries k of a row."""
    for k in range(first, last):
        out[indices[k]] += data[k] * vectors[i]


@intrinsic
def _gather_compiled(_context, data, indices, first, last, vectors, out, i):
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = context.cast(builder, arguments[6], signature.args[6], types.intp)
        place = _row(context, builder, signature.args[5], arguments[5], row)
        total = cgutils.alloca_once(builder, _VECTOR)
        builder.store(builder.load(place, align=8), total)
        for x, partner in _entries(context, builder, signature, arguments):
            term = builder.fmul(x, builder.load(partner, align=8))
            builder.store(builder.fadd(builder.load(total), term), total)
        builder.store(builder.load(total), place, align=8)
        return context.get_dummy_value()

    return types.void(data, indices, first, last, vectors, out, i), generate


@intrinsic
def _scatter_compiled(_context, data, indices, first, last, out, vectors, i):
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = context.cast(builder, arguments[6], signature.args[6], types.intp)
        value = builder.load(_row(context, builder, signature.args[5], arguments[5], row), align=8)
        for x, partner in _entries(context, builder, signature, arguments):
            term = builder.fmul(x, value)
            builder.store(builder.fadd(builder.load(partner, align=8), term), partner, align=8)
        return context.get_dummy_value()

    return types.void(data, indices, first, last, out, vectors, i), generate


gather = _gather if config.DISABLE_JIT else _gather_compiled
scatter = _scatter if config.DISABLE_JIT else _scatter_compiled
