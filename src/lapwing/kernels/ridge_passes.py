"""Passes over X that serve LANES categories at once, and the lanes they come and go in."""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import part
from lapwing.kernels._lanes import LANES, gather, scatter

LINES = 256  # of the cache that are split or joined at a time: half of its first level


@part
def forth(rows, offset, P, Q):
    """Q = X P; `offset` is added to every entry of a column."""
    common = np.zeros(LANES)
    for j in range(offset.size):
        if offset[j] != 0.0:
            for lane in range(LANES):
                common[lane] += offset[j] * P[j, lane]
    for i in range(Q.shape[0]):
        for lane in range(LANES):
            Q[i, lane] = common[lane]
        gather(rows.data, rows.indices, rows.indptr[i], rows.indptr[i + 1], P, Q, i)


@part
def back(rows, offset, A, B, Q, W, out):
    """out = Xᵀ W, W = A∘Q + B; or without an A, W = B"""
    if A.size > 0:
        for i in range(W.shape[0]):
            for lane in range(LANES):
                W[i, lane] = A[i, lane] * Q[i, lane] + B[i, lane]
    else:
        W = B
    for j in range(out.shape[0]):
        for lane in range(LANES):
            out[j, lane] = 0.0
    for i in range(W.shape[0]):
        scatter(rows.data, rows.indices, rows.indptr[i], rows.indptr[i + 1], out, W, i)
    for j in range(offset.size - 1):
        if offset[j] != 0.0:
            for lane in range(LANES):
                out[j, lane] += offset[j] * out[offset.size - 1, lane]


@part
def lanes_of(rows):
    """Zeros, (rows, LANES), each row a cache line of its own."""
    memory = np.zeros((rows + 1) * LANES)
    first = (-memory.ctypes.data % 64) // 8
    return memory[first : first + rows * LANES].reshape(rows, LANES)


@part
def those(at, what, room):
    """The lanes that are at `what`."""
    count = 0
    for lane in range(at.size):
        if at[lane] == what:
            room[count] = lane
            count += 1
    return room[:count]


@part
def split(lanes, joined, rows):
    """rows[lane] = joined[:, lane], a few lines of the cache at a time: each holds every lane."""
    for first in range(0, joined.shape[0], LINES):
        for lane in lanes:
            row, at = rows[lane], np.uint64(lane)
            for k in range(np.uint64(first), np.uint64(min(first + LINES, joined.shape[0]))):
                row[k] = joined[k, at]


@part
def split_by(lanes, joined, Y, category, rows):
    """rows[lane] = joined[:, lane] ∘ Y[category[lane]]"""
    for first in range(0, joined.shape[0], LINES):
        for lane in lanes:
            row, y, at = rows[lane], Y[category[lane]], np.uint64(lane)
            for k in range(np.uint64(first), np.uint64(min(first + LINES, joined.shape[0]))):
                row[k] = joined[k, at] * y[k]


@part
def join(lanes, rows, joined):
    """joined[:, lane] = rows[lane]"""
    for first in range(0, joined.shape[0], LINES):
        for lane in lanes:
            row, at = rows[lane], np.uint64(lane)
            for k in range(np.uint64(first), np.uint64(min(first + LINES, joined.shape[0]))):
                joined[k, at] = row[k]
