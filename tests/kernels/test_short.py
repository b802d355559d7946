"""What kernels/_short.py writes in place of Numba: the same elements and the same turns of a loop as in Python."""

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
