"""Sparse documents times weights into a dense block of scores: out_ik = Σ_j x_ij w_jk + b_k, X by rows.

LANES categories lie side by side, a cache line and a vector instruction. Terms are added in the order in which a
document has its features, the intercept b last, as by SciPy: the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from lapwing.kernels._jit import kernel
from lapwing.kernels._lanes import _EVERYWHERE, _FIRST, _NOTHING, LANES, _row, gather


def _add(x, places, first, last, vectors, out):
    """out[places[q]] += x vectors[q], rows of LANES"""
    for q in range(first, last):
        out[places[q]] += x * vectors[q]


@intrinsic
def _add_compiled(_context, x, places, first, last, vectors, out):
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        intp = context.get_value_type(types.intp)
        start = context.make_array(kinds[1])(context, builder, arguments[1]).data
        a, b = (context.cast(builder, arguments[k], kinds[k], types.intp) for k in (2, 3))
        factor = builder.insert_element(_NOTHING, arguments[0], _FIRST)
        factor = builder.shuffle_vector(factor, _NOTHING, _EVERYWHERE)
        with cgutils.for_range_slice(builder, a, b, ir.Constant(intp, 1)) as (q, _):
            place = builder.sext(builder.load(builder.gep(start, [q])), intp)
            target = _row(context, builder, kinds[5], arguments[5], place)
            vector = builder.load(_row(context, builder, kinds[4], arguments[4], q), align=8)
            builder.store(builder.fadd(builder.load(target, align=8), builder.fmul(factor, vector)), target, align=8)
        return context.get_dummy_value()

    return types.void(x, places, first, last, vectors, out), generate


add = _add if config.DISABLE_JIT else _add_compiled


@kernel
def in_blocks(indptr, indices, data, block_ptr, places, blocks, intercepts, out):
    """W without the blocks of LANES categories that are all zero: a vector instruction for each that is left.

    block_ptr, places, blocks   of feature j the rows block_ptr[j] to block_ptr[j+1] of `blocks`, and which LANES
                                categories they are
    """
    scores = np.empty((-(-intercepts.size // LANES), LANES))
    for i in range(out.shape[0]):
        scores[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            add(data[p], places, block_ptr[j], block_ptr[j + 1], blocks, scores)
        flat = scores.ravel()
        for k in range(intercepts.size):
            out[i, k] = flat[k] + intercepts[k]


@kernel
def in_full(indptr, indices, data, weights, intercepts, first, out):
    """W with its zeros, (·, d, LANES); `first` is the column of `out` where these categories begin."""
    scores = np.empty((1, LANES))
    for block in range(weights.shape[0]):
        start = block * LANES
        width = min(LANES, intercepts.size - start)
        for i in range(out.shape[0]):
            scores[:] = 0.0
            gather(data, indices, indptr[i], indptr[i + 1], weights[block], scores, 0)
            for k in range(width):
                out[i, first + start + k] = scores[0, k] + intercepts[start + k]
