"""Several bytes of a text at once: which of 64 are letters, digits, not ASCII; and eight as one word of 64 bits.

The compiler does not turn a loop over bytes into such a word, so it is said here, in its own language. With the JIT
switched off the plain functions beneath run instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from lapwing.kernels._jit import inlined

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
MANY = 64  # bytes of a mask
_VECTOR = ir.VectorType(_BYTE, MANY)
_CASE = np.uint64(0x2020202020202020)
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


def _mask(compare: Callable[[Any, Any], Any]) -> Any:
    """A bit for each of 64 bytes, the first lowest: those for which `compare` holds."""

    @intrinsic
    def mask(_: Any, data: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(start, [arguments[1]]), _VECTOR.as_pointer())
            return builder.bitcast(compare(builder, builder.load(place, align=1)), _WORD)

        return types.uint64(data, types.intp), generate

    return mask


def _all(number: int) -> Any:
    return ir.Constant(_VECTOR, [number] * MANY)


_letters_of = _mask(
    lambda builder, b: builder.icmp_unsigned("<", builder.sub(builder.or_(b, _all(32)), _all(ord("a"))), _all(26))
)
_digits_of = _mask(lambda builder, b: builder.icmp_unsigned("<", builder.sub(b, _all(ord("0"))), _all(10)))
_others_of = _mask(lambda builder, b: builder.icmp_signed("<", b, _all(0)))


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


def _mask_plain(data: np.ndarray, at: int, which: Callable[[bytes], bool]) -> np.uint64:
    return np.uint64(sum(which(bytes([b])) << k for k, b in enumerate(data[at : at + MANY].tolist())))


def _letters_plain(data: np.ndarray, at: int) -> np.uint64:
    return _mask_plain(data, at, bytes.isalpha)


def _digits_plain(data: np.ndarray, at: int) -> np.uint64:
    return _mask_plain(data, at, bytes.isdigit)


def _others_plain(data: np.ndarray, at: int) -> np.uint64:
    return _mask_plain(data, at, lambda b: b > b"\x7f")


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
    _prefetch, _letters_of, _digits_of, _others_of = _nothing, _letters_plain, _digits_plain, _others_plain

load, store, prefetch, zeros = _load, _store, _prefetch, _zeros
letters, digits, others = _letters_of, _digits_of, _others_of


@inlined
def lowered(word):
    """Letters in lower case, digits as they are; what else the bytes are is lost."""
    return word | _CASE


@inlined
def in_order(word, size):
    """Its first `size` bytes, the first highest; zeros below."""
    return _swapped(word) & (_ALL << np.uint64(64 - 8 * size) if size > 0 else _NONE)
