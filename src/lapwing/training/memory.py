"""What documents leave behind when a fit is done: the quadratic of stats/past.py at its weights."""

from __future__ import annotations

import logging
import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.engine import run_all
from lapwing.errors import SettingsError
from lapwing.model.memory import FULL_RANK, Memory
from lapwing.shards.matrix import is_stored
from lapwing.shards.sums import column_sums, row_products, some_columns
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays
from lapwing.stats.past import Past
from lapwing.training.fit import CategoryFit

if TYPE_CHECKING:
    from lapwing.training.one_vs_rest import OneVsRest

CLOSE = 0.5  # share of l1 from which the slope of a feature without a weight is remembered,
CLOSER = 0.2  # and with a curvature between features
MOST_ROWS = 2000  # categories beyond which nothing is remembered unless a rank asks for it
MOST_RANK = 1000
MOST_LANES = 16  # categories for which the matrix is read together,
LANES_SIZE = 1 << 22  # and numbers of documents and features that they may have in all


def rank_of(curvature: str | int) -> int:
    """Of the curvature that is remembered between the weights of a category: 0 for its diagonal alone."""
    if curvature == "diagonal":
        return 0
    if curvature == "full":
        message = f'curvature="full" means a rank of {FULL_RANK} now and is refused from lapwing 0.5 on; give a rank'
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        return FULL_RANK
    digits = str(curvature)
    if isinstance(curvature, bool) or not (digits.isascii() and digits.isdigit() and 0 < int(digits) <= MOST_RANK):
        raise SettingsError(f"curvature must be diagonal or a rank from 1 to {MOST_RANK}, got {curvature!r}")
    return int(digits)


def curvature_of(rank: int) -> str:
    """What `rank_of` reads."""
    return str(rank or "diagonal")


log = logging.getLogger("lapwing")


def leave_behind(
    X: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, prior: PriorArrays, beta: np.ndarray, link: str,
    past: Past, *, rank: int,
) -> Past:  # fmt: skip
    """`past` and these documents, together, at β (d+1,), with the curvature between weights to this rank."""
    columns = _laid_out(X, rank)
    [sums] = _sums(X, columns, y[None], weight[None], beta[None], link)
    return _together(columns, sums, prior, beta, past, rank)


class Sums(NamedTuple):
    """Over documents, at some β: the loss, its slope and the diagonal of its curvature (d+1,), and c_i loss''(r_i)."""

    height: float
    slope: np.ndarray
    diagonal: np.ndarray
    bend: np.ndarray


def _sums(X: Any, columns: Any, y: np.ndarray, weight: np.ndarray, beta: np.ndarray, link: str) -> list[Sums]:
    """Of k categories, y and weight (k, n), β (k, d+1): the matrix is read once, and each has the bits it has alone.

    columns   X by columns, or as it is (`_laid_out`)
    """
    form = as_link(link)
    margin = y * (row_products(X, beta[:, :-1].T).T + beta[:, -1:])
    theta = form.theta(margin, y)
    pull, bend = weight * y * theta, weight * form.curvature(margin, theta, y)
    slope, diagonal = column_sums(columns, pull.T).T, column_sums(columns, bend.T, np.square).T
    loss = weight * form.loss(margin, y)
    return [
        Sums(
            float(loss[k].sum()),
            0.0 - np.append(slope[k], pull[k].sum()),
            np.append(diagonal[k], bend[k].sum()),
            bend[k],
        )
        for k in range(len(y))
    ]


def _together(columns: Any, sums: Sums, prior: PriorArrays, beta: np.ndarray, past: Past, rank: int) -> Past:
    before = past.recentred(beta)
    total = sums.slope + before.gradient(beta)
    closeness = _closeness(beta, total, prior)
    index = np.flatnonzero(closeness > (CLOSER if rank else CLOSE))
    here = replace(Past.none(), height=sums.height, index=index, centre=beta[index], slope=sums.slope[index],
                   bend=sums.diagonal[index])  # fmt: skip
    if rank:
        columns = sp.hstack([some_columns(columns, index[:-1]), np.ones((len(sums.bend), 1))], format="csc")
    return before.plus(here, lambda a: _row(columns, sums.bend, a), rank)


def _closeness(beta: np.ndarray, slope: np.ndarray, prior: PriorArrays) -> np.ndarray:
    """(d+1,) of each to a weight: what its slope is of what a weight takes, above all others where it has one.

    Where a weight takes nothing, all that have a slope have one; slopes of rounding are those of words never seen.
    """
    sparse = bool(prior.l1[:-1].any())
    close = np.abs(slope) / np.maximum(prior.l1, 1e-12) if sparse else np.zeros(len(beta))
    close[np.append(beta[:-1] != 0.0, True)] = math.inf
    return close


def _row(X: sp.csc_matrix, bend: np.ndarray, a: int) -> np.ndarray:
    """One of Xᵀ diag(bend) X."""
    at = slice(X.indptr[a], X.indptr[a + 1])
    scaled = np.zeros(X.shape[0])
    scaled[X.indices[at]] = bend[X.indices[at]] * X.data[at]
    return np.asarray(X.T @ scaled)


def _laid_out(X: sp.csr_matrix, rank: int) -> Any:
    """X by columns; in memory, and without a curvature between them, as it is."""
    return X.tocsc() if rank or is_stored(X) else X


def remember(strategy: OneVsRest, fits: list[CategoryFit], curvature: str | int) -> Memory | None:
    """Of every row; None where a sum over documents is not what was minimised, or nothing is to be remembered."""
    settings, task, X = strategy.settings, strategy.task, strategy.X
    rank = 0 if curvature == "none" else rank_of(curvature)
    convex = strategy.prior.convex and as_link(settings.link).convex
    plain = convex and strategy.shares_columns and not settings.standardize
    if curvature == "none" or not plain or strategy.pruning:
        return None
    if curvature == "diagonal" and len(fits) > MOST_ROWS:
        log.info("more than %d categories: the model remembers nothing to be updated by", MOST_ROWS)
        return None
    columns, past = _laid_out(X, rank), Past.none()

    def several(rows: range) -> list[Past]:
        beta = np.zeros((len(rows), X.shape[1] + 1))
        for lane, row in zip(beta, rows, strict=True):
            lane[fits[row].features], lane[-1] = fits[row].weights, fits[row].intercept
        y, weight = np.array([task.signs(row) for row in rows]), np.array([task.document_weights(row) for row in rows])
        return [
            _together(columns, sums, prior.compile(fits[row].variance, X.shape[1], variance), lane, past, rank)
            for row, lane, sums in zip(rows, beta, _sums(X, columns, y, weight, beta, settings.link), strict=True)
        ]

    prior, variance = strategy.prior, settings.intercept_variance
    lanes = min(max(LANES_SIZE // sum(X.shape), 1), MOST_LANES)
    blocks = [range(first, min(first + lanes, len(fits))) for first in range(0, len(fits), lanes)]
    pasts = [past for some in run_all(several, blocks, n_jobs=settings.n_jobs) for past in some]
    return Memory.of(pasts, float(task.weights.sum()), rank)
