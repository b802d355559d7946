"""Sparse documents times weights into a dense block of scores: out_ik = Σ_j x_ij w_jk + b_k, X by rows.

Terms are added in the order in which a document has its features, the intercept b last, as by SciPy: the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from lapwing.kernels._jit import kernel, part
from lapwing.kernels._lanes import _EVERYWHERE, _FIRST, _NOTHING, _VECTOR, LANES, _row

_NARROW = ir.VectorType(ir.FloatType(), LANES)


def _side_by_side(width: int) -> Callable[..., None]:
    """`width` vectors of LANES categories at a time: as many sums that need not wait for each other."""

    def plain(data, indices, start, stop, weights, first, out):
        """out[g] = Σ_k x_k weights[j_k, g] over the stored entries k of a row, for g from `first` on."""
        out[first : first + width] = 0.0
        for k in range(start, stop):
            out[first : first + width] += data[k] * weights[indices[k], first : first + width].astype(np.float64)

    @intrinsic
    def compiled(_context, data, indices, start, stop, weights, first, out):
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds, intp = signature.args, context.get_value_type(types.intp)
            x, j = (context.make_array(kinds[k])(context, builder, arguments[k]).data for k in (0, 1))
            a, b, g = (context.cast(builder, arguments[k], kinds[k], types.intp) for k in (2, 3, 5))
            vectors = cgutils.unpack_tuple(builder, context.make_array(kinds[4])(context, builder, arguments[4]).shape)
            totals = [cgutils.alloca_once(builder, _VECTOR) for _ in range(width)]
            for total in totals:
                builder.store(ir.Constant(_VECTOR, None), total)
            with cgutils.for_range_slice(builder, a, b, ir.Constant(intp, 1)) as (k, _):
                factor = builder.insert_element(_NOTHING, builder.load(builder.gep(x, [k])), _FIRST)
                factor = builder.shuffle_vector(factor, _NOTHING, _EVERYWHERE)
                feature = builder.sext(builder.load(builder.gep(j, [k])), intp)
                row = builder.add(builder.mul(feature, vectors[1]), g)
                for at, total in enumerate(totals):
                    place = _row(context, builder, kinds[4], arguments[4], builder.add(row, ir.Constant(intp, at)))
                    if kinds[4].dtype == types.float32:
                        narrow = builder.load(builder.bitcast(place, _NARROW.as_pointer()), align=4)
                        vector = builder.fpext(narrow, _VECTOR)
                    else:
                        vector = builder.load(place, align=8)
                    builder.store(builder.fadd(builder.load(total), builder.fmul(factor, vector)), total)
            for at, total in enumerate(totals):
                place = _row(context, builder, kinds[6], arguments[6], builder.add(g, ir.Constant(intp, at)))
                builder.store(builder.load(total), place, align=8)
            return context.get_dummy_value()

        return types.void(data, indices, start, stop, weights, first, out), generate

    return plain if config.DISABLE_JIT else compiled


_one, _two, _three, _four = map(_side_by_side, (1, 2, 3, 4))
SOME = 2 * LANES  # categories ruled out together


@kernel
def in_full(indptr, indices, data, weights, intercepts, first, out):
    """W with its zeros, (d, ·, LANES), float64 or float32; `first` is the column of `out` where it begins."""
    many = weights.shape[1]
    scores = np.empty((many, LANES))
    flat = scores.ravel()
    for i in range(out.shape[0]):
        start, stop = indptr[i], indptr[i + 1]
        for at in range(0, many - 3, 4):
            _four(data, indices, start, stop, weights, at, scores)
        left = many % 4
        if left == 3:
            _three(data, indices, start, stop, weights, many - 3, scores)
        elif left == 2:
            _two(data, indices, start, stop, weights, many - 2, scores)
        elif left == 1:
            _one(data, indices, start, stop, weights, many - 1, scores)
        for k in range(intercepts.size):
            out[i, first + k] = flat[k] + intercepts[k]


@kernel
def by_list(indptr, indices, data, starts, categories, weights, intercepts, out):
    """W without its zeros: of feature j the weights starts[j] to starts[j+1], of `categories`, which are unsigned so
    that none is looked for from the end."""
    for i in range(out.shape[0]):
        scores = out[i]
        scores[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x, j = data[p], indices[p]
            for q in range(starts[j], starts[j + 1]):
                scores[categories[q]] += x * weights[q]
        for k in range(intercepts.size):
            scores[k] += intercepts[k]


@kernel
def largest(indptr, indices, data, starts, categories, weights, intercepts, order, sums, places, scores):
    """Of every document the categories with the largest scores, largest first; of equal ones those that come first.

    starts, categories, weights   as in `by_list`
    order           categories by falling intercept: those without a word of the document come in this order
    sums            (rows,) NaN, and left so
    places, scores  (n, k) are filled, k at most the number of categories
    """
    n, count = places.shape
    touched = np.empty(sums.size, np.int32)
    for i in range(n):
        many = 0
        for p in range(indptr[i], indptr[i + 1]):
            x, j = data[p], indices[p]
            for q in range(starts[j], starts[j + 1]):
                k = categories[q]
                if np.isnan(sums[k]):
                    touched[many] = k
                    many += 1
                    sums[k] = 0.0
                sums[k] += x * weights[q]
        filled = 0
        for at in range(many):
            filled = _enter(places[i], scores[i], filled, touched[at], sums[touched[at]] + intercepts[touched[at]])
        for k in order:
            if filled == count and intercepts[k] < scores[i, count - 1]:
                break
            if np.isnan(sums[k]):
                filled = _enter(places[i], scores[i], filled, k, intercepts[k])
        for at in range(many):
            sums[touched[at]] = np.nan


@part
def _enter(places, scores, filled, k, score):
    """Category k into a list of the best so far, if it belongs there; returns how many are in it."""
    if filled == places.size:
        last = filled - 1
        if score < scores[last] or (score == scores[last] and k > places[last]):
            return filled
        filled = last
    at = filled
    while at > 0 and (score > scores[at - 1] or (score == scores[at - 1] and k < places[at - 1])):
        places[at], scores[at] = places[at - 1], scores[at - 1]
        at -= 1
    places[at], scores[at] = k, score
    return filled + 1


@kernel
def beyond(indptr, indices, data, asked, order, starts, features, weights, intercepts, thresholds, held, places):
    """Where scores exceed thresholds: places i × categories + k into `found`; returns how many. SOME categories of
    `order` after the other, with the documents of which they are `asked`, (n, ·).

    starts, features, weights   W by categories
    intercepts, thresholds      (·, SOME) in that order
    held                        (d, SOME / LANES, LANES) zeros, and left so: the weights of those that are in turn
    """
    scores = np.empty((SOME // LANES, LANES))
    flat = scores.ravel()
    count = 0
    for turn in range(asked.shape[1]):
        chosen = order[turn * SOME : (turn + 1) * SOME]
        for at in range(chosen.size):
            for q in range(starts[chosen[at]], starts[chosen[at] + 1]):
                held[features[q], at // LANES, at % LANES] = weights[q]
        for i in range(asked.shape[0]):
            if not asked[i, turn]:
                continue
            _two(data, indices, indptr[i], indptr[i + 1], held, 0, scores)
            over = 0
            for at in range(SOME):  # all at once: there is rarely one
                over += flat[at] + intercepts[turn, at] > thresholds[turn, at]
            if over > 0:
                for at in range(chosen.size):
                    if flat[at] + intercepts[turn, at] > thresholds[turn, at]:
                        places[count] = i * order.size + chosen[at]
                        count += 1
        for at in range(chosen.size):
            for q in range(starts[chosen[at]], starts[chosen[at] + 1]):
                held[features[q], at // LANES, at % LANES] = 0.0
    return count
