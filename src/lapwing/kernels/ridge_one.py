"""Ridge for one category by itself: the steps of kernels/ridge.py, with passes over X of one vector.

    min_β Σ_i c_i loss(r_i) + Σ_j l2_j (β_j-m_j)²/2

There a pass serves eight categories; a single one would take seven along that are idle.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, kernel, part
from lapwing.kernels.loss import fill
from lapwing.kernels.nouns import Documents
from lapwing.kernels.ridge import BEGIN, GRADIENT, IDLE, STEP, Answers, Search, go, lanes_for, next_of, shared_by, take


def _forth(rows, vector, out):
    """out = X v"""
    for i in range(out.size):
        total = 0.0
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total += rows.data[k] * vector[np.uint32(rows.indices[k])]
        out[i] = total


_forth = part(_forth, fastmath=REASSOCIATING)


@part
def _back(rows, pull, out):
    """out = Xᵀ w"""
    fill(out, 0.0)
    for i in range(pull.size):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            out[np.uint32(rows.indices[k])] += pull[i] * rows.data[k]


def _along(direction, image, l2):
    """pᵀ(H + L)p, H p becoming (H + L)p"""
    total = 0.0
    for j in range(direction.size):
        image[j] += l2[j] * direction[j]
        total += direction[j] * image[j]
    return total


def _descended(step, residual, direction, image, inverse, length):
    """The step and the residual, `length` further; returns rᵀM⁻¹r."""
    fresh = 0.0
    for j in range(step.size):
        step[j] += length * direction[j]
        residual[j] -= length * image[j]
        fresh += residual[j] * residual[j] * inverse[j]
    return fresh


_along = part(_along, fastmath=REASSOCIATING)
_descended = part(_descended, fastmath=REASSOCIATING)


@part
def _conjugate(rows, curvature, gradient, diagonal, l2, share, most, step):
    """A direction by conjugate gradients, until rᵀM⁻¹r is this share of what it was, or for `most` iterations."""
    size = step.size
    residual, inverse, direction, image = np.empty(size), np.empty(size), np.zeros(size), np.empty(size)
    product = np.empty(curvature.size)
    rho, ratio = 0.0, 0.0
    for j in range(size):
        curved = l2[j] + diagonal[j]
        inverse[j] = 1.0 / curved if curved > 0.0 else 1.0
        residual[j], step[j] = -gradient[j], 0.0
        rho += gradient[j] * gradient[j] * inverse[j]
    goal = share * rho
    for _ in range(most):
        for j in range(size):
            direction[j] = residual[j] * inverse[j] + ratio * direction[j]
        _forth(rows, direction, product)
        for i in range(product.size):
            product[i] *= curvature[i]
        _back(rows, product, image)
        bends = _along(direction, image, l2)
        if not bends > 0.0:
            return
        fresh = _descended(step, residual, direction, image, inverse, rho / bends)
        if not fresh > goal:
            return
        ratio = fresh / rho
        rho = fresh


@kernel
def fit(rows, y, weight, link, mode, l2, beta, few, tol, max_rounds):
    """rows   X by rows, the constant feature with its entries
    beta   (d+1,) the start; overwritten by the solution
    few    as in kernels/ridge.py
    """
    n, size = y.size, beta.size
    documents, offset = Documents(y, weight, link), np.zeros(size)
    answers = Answers(
        np.full(1, np.inf), np.empty(1), np.empty(1), np.empty(1), np.zeros(1, np.int64), np.zeros(1, np.bool_),
        np.empty((1, n)),
    )  # fmt: skip
    lanes, shared = lanes_for(1, n, size), shared_by(1, rows, l2.reshape(1, size), n)
    search = Search(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, np.int64))
    theta = answers.dual[0]
    take(rows, documents, mode, l2, offset, 0, 0, 0, lanes, shared, beta, theta)
    at = GRADIENT
    while at != IDLE:
        if at == BEGIN:
            _conjugate(
                rows, lanes.curvature[0], lanes.gradient[0], lanes.diagonal[0], l2, search.goal[0], search.left[0],
                lanes.steps[0],
            )  # fmt: skip
            at = STEP
        if at == STEP:
            _forth(rows, lanes.steps[0], lanes.shift[0])
            for i in range(n):
                lanes.shift[0, i] *= y[i]
            go(documents, mode, l2, 0, lanes, beta, answers.objective[0], theta)
        _back(rows, lanes.pull[0], lanes.gradient[0])
        at = next_of(
            rows, offset, documents, mode, l2, 0, 0, 0, 0, lanes, shared, search, beta, answers, few, tol, max_rounds
        )
    return answers
