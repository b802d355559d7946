"""Eight bytes of a text at once, as one word of 64 bits: which of them are letters, and their lower case.

The compiler does not turn a loop over bytes into such a word, so it is said here, in its own language. With the JIT
switched off the plain functions beneath run instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from lapwing.kernels._jit import inlined

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_EACH = np.uint64(0x0101010101010101)  # times a byte: that byte in every place
_HIGH = np.uint64(0x80) * _EACH
_LOW = np.uint64(0x7F) * _EACH
_CASE = np.uint64(0x20) * _EACH
_A, _PAST_Z = np.uint64(0x80 - ord("a")) * _EACH, np.uint64(0x80 - ord("z") - 1) * _EACH
_0, _PAST_9 = np.uint64(0x80 - ord("0")) * _EACH, np.uint64(0x80 - ord("9") - 1) * _EACH
_NONE, _ALL = np.uint64(0), np.uint64(2**64 - 1)


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    start = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(start, [index]), _WORD.as_pointer())


@intrinsic
def _load(_: Any, data: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=1)

    return types.uint64(data, types.intp), generate


@intrinsic
def _store(_: Any, data: Any, at: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature.args[0], *arguments[:2]), align=1)
        return context.get_dummy_value()

    return types.none(data, types.intp, types.uint64), generate


@intrinsic
def _swapped(_: Any, word: Any) -> Any:
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.bswap(arguments[0])


@intrinsic
def _zeros(_: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def _prefetch(_: Any, table: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, (table, index) = signature.args[0], arguments
        array = context.make_array(kind)(context, builder, table)
        first = builder.extract_value(array.strides, 0)
        place = builder.gep(builder.bitcast(array.data, _BYTE.as_pointer()), [builder.mul(index, first)])
        number = ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [_BYTE.as_pointer()], ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), *[number] * 3])
        )
        builder.call(fetch, [place, *(ir.Constant(number, k) for k in (1, 3, 1))])  # to write, to keep, data
        return context.get_dummy_value()

    return types.none(table, types.intp), generate


def _load_plain(data: np.ndarray, at: int) -> np.uint64:
    return np.uint64(int.from_bytes(data[at : at + 8].tobytes(), "little"))


def _store_plain(data: np.ndarray, at: int, word: np.uint64) -> None:
    data[at : at + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


def _swapped_plain(word: np.uint64) -> np.uint64:
    return np.uint64(int.from_bytes(int(word).to_bytes(8, "little"), "big"))


def _zeros_plain(word: np.uint64) -> np.uint64:
    value = int(word)
    return np.uint64((value & -value).bit_length() - 1 if value else 64)


def _nothing(table: np.ndarray, at: int) -> None:
    pass


if config.DISABLE_JIT:
    _load, _store, _swapped, _zeros = _load_plain, _store_plain, _swapped_plain, _zeros_plain
    _prefetch = _nothing

load, store, prefetch = _load, _store, _prefetch


@inlined
def letters(word):
    """The highest bit of every byte that is an ASCII letter."""
    lower = (word & _LOW) | _CASE
    return (lower + _A) & ~(lower + _PAST_Z) & ~word & _HIGH


@inlined
def digits(word):
    """The highest bit of every byte that is an ASCII digit."""
    low = word & _LOW
    return (low + _0) & ~(low + _PAST_9) & ~word & _HIGH


@inlined
def leading(inside):
    """How many bytes from the first on have their highest bit set here."""
    return np.int64(_zeros(~inside & _HIGH) >> np.uint64(3))


@inlined
def lowered(word, which):
    """The letters, as `letters` tells them, in lower case."""
    return word | which >> np.uint64(2)


@inlined
def in_order(word, size):
    """Its first `size` bytes, the first highest; zeros below."""
    return _swapped(word) & (_ALL << np.uint64(64 - 8 * size) if size > 0 else _NONE)
