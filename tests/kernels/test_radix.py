"""Numbers sorted by their digits, as NumPy's stable sort has them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.kernels import radix

some_bits = st.integers(0, 3) | st.integers(0, 2**64 - 1) | st.integers(0, 7).map(lambda k: k << 61)


@settings(max_examples=200, deadline=None)
@given(st.lists(some_bits, max_size=50), st.integers(0, 63))
def test_stable_order(given_numbers: list[int], shift: int) -> None:
    given_ones = np.array(given_numbers, np.uint64) >> np.uint64(shift)
    numbers, order = radix.in_order(given_ones)
    np.testing.assert_array_equal(order, np.argsort(given_ones, kind="stable"))
    np.testing.assert_array_equal(numbers, np.sort(given_ones))
