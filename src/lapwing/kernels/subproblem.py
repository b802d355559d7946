"""`quadratic.solve` for those who build its matrix outside of a kernel (solvers/sequential.py)."""

from __future__ import annotations

import numpy as np

from lapwing.kernels import quadratic
from lapwing.kernels._jit import kernel


@kernel
def solve(H, G, b, prior, tol):
    """min_b of kernels/quadratic.py from b, which is overwritten, as G is; H (k, k) symmetric. Returns the sweeps."""
    return quadratic.solve(H, G, b, prior, tol, np.empty_like(H))
