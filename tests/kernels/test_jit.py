"""What kernels rely on Numba for."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.kernels._jit import kernel


def _new(n: int, m: int) -> int:
    return int(np.empty((n, m)).size)


@pytest.mark.parametrize("shape", [(2**31, 2**31), (2**62, 8), (2**48, 1000), (-1, 1000), (-(2**40), 1000)])
def test_an_array_too_large_for_any_memory_is_refused(shape: tuple[int, int]) -> None:
    """Its bytes counted in 64 bits are few: an array over memory that is not there."""
    with pytest.raises((MemoryError, ValueError)):
        kernel(_new)(*shape)
