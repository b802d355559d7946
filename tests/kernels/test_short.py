"""What kernels/_short.py and _built_in.py write in place of Numba: the same as in Python and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.kernels._jit import kernel


def _elements(vector, matrix, number, k, small):
    """Elements read and written, by indices of every kind."""
    vector[k], vector[-2] = 7.5, vector[small]
    matrix[k, -1], matrix[-2, small] = matrix[small, k], number[-1]
    number[small] += 3
    row = matrix[k]
    row[-1] *= 2.0
    backwards = vector[::-1]
    backwards[0] = row[0]
    return vector[small] + matrix[-1, -1] + matrix[small, small] + number[k]


def _turns(start, stop, step):
    """Where loops of all kinds lead to."""
    total, last = 0, -99
    for i in range(stop):
        total += i * i
    for i in range(start, stop):
        total += 7 * i
        for j in range(i):
            total += j
    for i in range(start, stop, step):
        total, last = total + 31 * i, i
    for i in range(start, stop, -1):
        total += 101 * i
    for i in range(2):
        total += 1000 * i
    return total, last


def _arrays():
    rng = np.random.default_rng(0)
    return rng.normal(size=5), rng.normal(size=(4, 3)), np.arange(5, dtype=np.int32)


@pytest.mark.parametrize("kind", [np.uint8, np.int32])
def test_elements(kind):
    ours, python = _arrays(), _arrays()
    with np.errstate(all="raise"):
        expected = _elements(*python, 1, kind(2))
    assert kernel(_elements)(*ours, 1, kind(2)) == expected
    for array, other in zip(ours, python, strict=True):
        np.testing.assert_array_equal(array, other)


def test_turns():
    turns = kernel(_turns)
    for start, stop, step in ((0, 5, 2), (3, 3, 1), (5, -4, -3), (-3, 4, 3), (2, 1, 1), (-7, -2, 1)):
        assert turns(start, stop, step) == _turns(start, stop, step)


def _new_arrays(n, small):
    """Arrays of every kind, those not zero filled in."""
    plain, matrix, three = np.empty(n), np.empty((n, small)), np.zeros((2, n, 3), np.float32)
    number, truth, four = np.zeros(small, np.int32), np.zeros(n, np.bool_), np.zeros((4, 4))
    nothing = np.empty((n, 0))
    for i in range(n):
        plain[i] = i
        truth[i] = i % 2 == 0
        for k in range(small):
            matrix[i, k] = 10 * i + k
    for k in range(3):  # the last of each is let go, and what it held with it
        four = np.zeros((4, 4)) if k < 2 else four
        four[k, -1] = k
    number[-1] = n
    return plain, matrix, three, number, truth, four, nothing, matrix[1:].copy()


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_new_arrays(kind):
    for ours, numpys in zip(kernel(_new_arrays)(5, kind(2)), _new_arrays(5, kind(2)), strict=True):
        assert ours.dtype == numpys.dtype
        assert ours.flags.c_contiguous
        np.testing.assert_array_equal(ours, numpys)


def _no_memory(n):
    return np.empty((n, 1000)).size


def test_no_memory_for_a_new_array():
    for n in (2**48, -1, -(2**40)):
        with pytest.raises((MemoryError, ValueError)):  # NumPy's for a negative length, with the JIT off
            kernel(_no_memory)(n)


def _larger_and_smaller(a, b, i, j):
    return max(a, b), min(a, b), max(i, j), min(i, j), max(a, j), min(i, b), max(1, i), min(2.5, j)


def test_larger_and_smaller():
    compare = kernel(_larger_and_smaller)
    for a, b in ((1.0, 2.0), (2.0, 1.0), (float("nan"), 1.0), (1.0, float("nan")), (-0.0, 0.0), (0.0, -0.0)):
        for i, j in ((3, -4), (np.int32(-4), 3), (2, 2)):
            ours, pythons = compare(a, b, i, j), _larger_and_smaller(a, b, i, j)
            assert [repr(float(one)) for one in ours] == [repr(float(one)) for one in pythons]
