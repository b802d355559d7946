"""One problem larger than any one memory: its documents are blocks on the workers of a cluster (solvers/spread.py)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.engine.collections import OnWorkers, client_of, is_dask, partitions
from lapwing.errors import InputError
from lapwing.shards.folder import check_attached
from lapwing.solvers import spread
from lapwing.stats.priors import Prior, as_prior, check_variance
from lapwing.stats.result import FitResult

DOCUMENTS = 1 << 16  # of a block, where X does not come in blocks


def fit_rows(
    X: Any,
    y: Any,
    *,
    prior: str | Prior = "laplace",
    variance: float,
    intercept_variance: float | None = None,
    link: str = "logit",
    tol: float = 1e-6,
    max_iter: int = 200,
    client: Any = None,
    documents: int = DOCUMENTS,
    progress: Callable[[int, float], None] | None = None,
) -> FitResult:
    """One category, fitted to documents that stay where they are.

    X           a sparse matrix, on disk or in memory, cut into blocks of so many `documents`; or a Dask array, whose
                blocks of rows they are, sparse or dense
    y           labels, ±1; those of a Dask array may be one with the same blocks
    client      of a cluster, whose workers keep the blocks; without it they are here

    The weights depend on the blocks in the last bits, and not on the workers. There is no dual point in the result:
    it would be as long as the documents are many; the gap is that of the residuals.
    """
    client = client_of(client, X, y)
    check_variance(variance)
    width, makers = _blocks(X, y, documents)
    arrays = as_prior(prior).compile(variance, width, intercept_variance)
    if client is None:
        blocks: spread.Blocks = spread.Here([make(*map(_computed, arguments)) for make, arguments in makers])
    else:
        blocks = OnWorkers(client, makers)
    return spread.fit(blocks, arrays, variance=variance, tol=tol, max_iter=max_iter, link=link, progress=progress)


Makers = list[tuple[Callable[..., spread.Block], tuple[Any, ...]]]


def _blocks(X: Any, y: Any, documents: int) -> tuple[int, Makers]:
    """The number of features, and what makes every block."""
    if is_dask(X):
        parts = partitions(X)
        ends = np.append(0, np.cumsum(X.chunks[0])).tolist()
        if any(np.isnan(ends)):
            raise InputError("expected a Dask array that knows the sizes of its blocks; call X.compute_chunk_sizes()")
        labels = partitions(y) if is_dask(y) else [np.asarray(y)[a:b] for a, b in itertools.pairwise(ends)]
        if len(labels) != len(parts):
            raise InputError(f"expected labels in as many blocks as X has, {len(parts)}, got {len(labels)}")
        return int(X.shape[1]), [(of_part, (part, its)) for part, its in zip(parts, labels, strict=True)]
    cuts = [*range(0, X.shape[0], documents), X.shape[0]]
    signs = np.asarray(y, dtype=np.float64)
    if len(signs) != X.shape[0]:
        raise InputError(f"expected a label for each of {X.shape[0]} documents, got {len(signs)}")
    pairs = itertools.pairwise(cuts)
    if getattr(X, "folder", None) is not None:
        return int(X.shape[1]), [(of_rows, (X, a, b, signs[a:b])) for a, b in pairs]
    return int(X.shape[1]), [(of_part, (X[a:b], signs[a:b])) for a, b in pairs]


def of_part(X: Any, y: Any) -> spread.Block:
    signs = np.asarray(y, dtype=np.float64)
    if not np.isin(signs, (-1.0, 1.0)).all():
        raise InputError("expected labels of +1 and -1")
    matrix = X if isinstance(X, sp.csr_matrix) else sp.csr_matrix(X, dtype=np.float64)
    return spread.Block(matrix, signs, np.ones(len(signs)))


def of_rows(X: sp.csr_matrix, first: int, past: int, y: np.ndarray) -> spread.Block:
    """Of a matrix on disk, which the worker maps; the block itself is in its memory."""
    check_attached()
    return of_part(sp.csr_matrix(X[first:past]), y)


def _computed(argument: Any) -> Any:
    return argument.compute() if is_dask(argument) or hasattr(argument, "dask") else argument
