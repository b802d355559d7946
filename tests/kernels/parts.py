"""Parts of kernels, with a way in from Python; and small problems for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from lapwing.kernels._numba import KernelCompiler
from lapwing.kernels.nouns import Matrix, PriorArrays
from lapwing.solvers.problem import Problem

INF = np.inf


@functools.cache
def opened(part: Any) -> Callable[..., Any]:
    """The part, to be called from a test."""
    if numba.config.DISABLE_JIT:
        return part  # type: ignore[no-any-return]
    return numba.njit(part.py_func, error_model="numpy", pipeline_class=KernelCompiler)  # type: ignore[no-any-return]


def prior(seed: int, size: int) -> PriorArrays:
    """Kinks and bounds here and there, a Gaussian and a flat coordinate among them."""
    draw = np.random.default_rng(seed)
    l1, l2 = draw.choice([0.0, 0.4, 1.3], size), draw.choice([0.0, 0.5, 2.0], size)
    mode = draw.choice([0.0, -0.3, 0.7], size)
    return PriorArrays(mode, l1, l2, draw.choice([-INF, -1.0], size), draw.choice([INF, 1.2], size))


def matrix(seed: int, n: int, d: int, *, centred: bool = False) -> tuple[Matrix, np.ndarray]:
    """As kernels see it, and with nothing left out: (n, d+1), the constant last."""
    draw = np.random.default_rng(seed)
    X = sp.random(n, d, 0.4, random_state=draw, format="csr", data_rvs=lambda k: draw.integers(1, 4, k) / 2.0)
    problem = Problem(X, np.ones(n) if centred else None, merge=False)
    whole = X.toarray()
    if centred:
        sd = whole.std(axis=0)
        whole = (whole - whole.mean(axis=0)) / np.where(sd > 0.0, sd, 1.0)
    return problem.matrix, np.column_stack([whole, np.ones(n)])
