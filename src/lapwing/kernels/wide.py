"""A large penalised quadratic, solved without its matrix: the inner problem of the Newton solver where the working set
is wide, and Selected Ridge's with the full Hessian.

min_b  g·(b-β) + (b-β)ᵀH(b-β)/2 + Σ_a [ l1_a|b_a-m_a| + l2_a(b_a-m_a)²/2 ],   lower ≤ b ≤ upper

H = Σ_i w_i x_i x_iᵀ + diag(rest). A column has an offset o_a in every document besides what is stored; the constant
feature is an offset of 1 to nothing. Coordinate descent goes by columns z_ia = √w_i x_ia and keeps r = Z(b-β), without
what offsets add, √w_i c with c = o·(b-β). Conjugate gradients go by rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, part
from lapwing.kernels.loss import argmin, assign, penalty_at, stop, violation
from lapwing.kernels.quadratic import HAIR
from lapwing.kernels.working_set import Lists

SWEEPS = 10  # of coordinate descent between steps on the free coordinates
TURNS = 40  # of such a step at most, most with more coordinates held than the last
LOOK = 25  # steps of conjugate gradients after which it is seen who has gone too far
STEPS = 1000  # of conjugate gradients at most, in all
PRECISE = 0.01  # precision above which the solution is far
INNER = 0.3  # share of what may be left that conjugate gradients leave
SHARE, ROUGH = 0.03, 0.1  # of the violations there were at first may be left, near the solution and far from it


class Model(NamedTuple):
    """H, by what is known of the working set's m columns and of the documents with a curvature of at least `cut`.

    lists, curvature, cut   the working set by rows, w of every document, and where it begins to count
    offset                  (m,) o
    pointer, row, z         Z by columns; rows are numbered among the documents that count
    along                   (m,) Σ_i √w_i z_ia
    diagonal, rest          (m,) of H; what the other documents add to it
    n, total                how many documents count, and Σ_i w_i over them
    """

    lists: Lists
    curvature: np.ndarray
    cut: float
    offset: np.ndarray
    pointer: np.ndarray
    row: np.ndarray
    z: np.ndarray
    along: np.ndarray
    diagonal: np.ndarray
    rest: np.ndarray
    n: np.int64
    total: float


@part
def model(columns, lists, offset, features, curvature, cut):
    """`Model` of the working set: the first of `features`, as many as there are offsets."""
    indptr, indices, data = columns
    n, m = curvature.size, offset.size
    place = np.empty(n, np.int32)
    root = np.empty(n)
    count = np.int64(0)
    total = spare = 0.0
    for i in range(n):
        place[i] = -1
        if curvature[i] >= cut and curvature[i] > 0.0:
            place[i] = count
            root[count] = np.sqrt(curvature[i])
            total += curvature[i]
            count += 1
        else:
            spare += curvature[i]
    size = 0
    for a in range(1, m):
        size += indptr[features[a] + 1] - indptr[features[a]]
    pointer, row, z = np.empty(m + 1, indptr.dtype), np.empty(size, np.int32), np.empty(size)
    along, diagonal, rest = np.empty(m), np.empty(m), np.empty(m)
    pointer[0] = pointer[1] = e = 0
    along[0], rest[0], diagonal[0] = 0.0, spare, total + spare
    for a in range(1, m):
        j = features[a]
        first = square = left = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            document = np.uint32(indices[k])
            at = place[document]
            if at >= 0:
                row[e], z[e] = at, root[at] * data[k]
                first += root[at] * z[e]
                square += z[e] * z[e]
                e += 1
            else:
                left += curvature[document] * data[k] * data[k]
        pointer[a + 1] = e
        along[a], rest[a] = first, left
        diagonal[a] = square + offset[a] * (2.0 * first + offset[a] * total) + left
    return Model(lists, curvature, cut, offset, pointer, row, z, along, diagonal, rest, count, total)


def _dot(row, z, start, stop, r):
    """z_a · r"""
    total = 0.0
    for k in range(start, stop):
        total += z[k] * r[np.uint32(row[k])]
    return total


_dot = part(_dot, fastmath=REASSOCIATING)


@part
def _slope(model, g, start, b, r, common, weighted, a):
    """(g + H(b-β))_a; common = c, weighted = Σ_i √w_i r_i"""
    slope = g[a] + _dot(model.row, model.z, model.pointer[a], model.pointer[a + 1], r) + model.along[a] * common
    return slope + model.offset[a] * (weighted + model.total * common) + model.rest[a] * (b[a] - start[a])


@part
def _move(model, a, step, r, common, weighted):
    """r += step z_a, and the two sums that go with it."""
    for k in range(model.pointer[a], model.pointer[a + 1]):
        r[np.uint32(model.row[k])] += step * model.z[k]
    return common + model.offset[a] * step, weighted + model.along[a] * step


@part
def _times(model, p, out):
    """out = H p"""
    document, pointer, column, value = model.lists
    common = 0.0
    for a in range(p.size):
        out[a] = model.rest[a] * p[a]
        common += model.offset[a] * p[a]
    left, weighted = model.total, 0.0
    for e in range(document.size):
        w = model.curvature[document[e]]
        if w < model.cut:
            continue
        along = common
        for k in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            along += value[k] * p[np.uint32(column[k])]
        along *= w
        weighted += along
        left -= w
        for k in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            out[np.uint32(column[k])] += value[k] * along
    weighted += left * common  # documents without any of the working set
    for a in range(p.size):
        out[a] += model.offset[a] * weighted


@part
def _towards(model, prior, b, unit, held, rhs, enough, most, step):
    """Conjugate gradients, preconditioned by the diagonal, for (H + l2) step = rhs over the columns not `held`.

    From `step`. Ends when every equation is met to `enough` units, or after `most` steps; now and then it looks
    whether a coordinate has passed its mode or a bound, and ends there too: where H is nearly flat it would go far
    beyond. Returns the steps taken.
    """
    m = b.size
    diagonal, l2 = model.diagonal, prior.l2
    p, Hp, residual = np.zeros(m), np.empty(m), np.zeros(m)
    rho = length = 0.0
    for turn in range(most):
        _times(model, p if turn > 0 else step, Hp)
        bent = 0.0
        for a in range(m):
            Hp[a] += l2[a] * (p[a] if turn > 0 else step[a])
            bent += p[a] * Hp[a]
        if turn > 0:
            if not bent > 0.0:
                return turn
            length = rho / bent
        fresh = worst = 0.0
        for a in range(m):
            if held[a] == 0:
                step[a] += length * p[a]
                residual[a] = residual[a] - length * Hp[a] if turn > 0 else rhs[a] - Hp[a]
                worst = max(worst, abs(residual[a]) / unit[a])
                fresh += residual[a] * residual[a] / (diagonal[a] + l2[a])
        if worst <= enough:
            return turn
        if turn % LOOK == LOOK - 1:
            for a in range(m):
                if held[a] == 0 and stop(prior, a, b[a], step[a]) != b[a] + step[a]:
                    return turn
        for a in range(m):
            if held[a] == 0:
                p[a] = residual[a] / (diagonal[a] + l2[a]) + (fresh / rho * p[a] if turn > 0 else 0.0)
        rho = fresh
    return most


@part
def _hold(prior, b, step, held):
    """Hold the coordinates that `step` would take through their mode or a bound there.

    Returns whether there are any, and the share of the step at which the first of them is met.
    """
    passed, first = False, 1.0
    for a in range(b.size):
        if held[a] == 0:
            end = stop(prior, a, b[a], step[a])
            if end != b[a] + step[a]:
                first = min(first, (end - b[a]) / step[a])
                step[a] = end - b[a]
                held[a] = 1
                passed = True
    return passed, first


@part
def _change(model, prior, G, b, step, bent):
    """By how much the objective changes with `step`; G is the slope of its smooth part at b."""
    _times(model, step, bent)
    change = 0.0
    for a in range(b.size):
        if step[a] != 0.0:
            change += step[a] * (G[a] + 0.5 * bent[a])
            change += penalty_at(prior, a, b[a] + step[a]) - penalty_at(prior, a, b[a])
    return change


@part
def _free_step(model, prior, G, b, unit, goal, most, step):
    """With signs fixed the problem is a linear system in the free coordinates: a step towards its solution.

    A coordinate on the way through its mode or a bound is held there, and the others are solved for again. If the
    objective does not fall that way, the first step is shortened until nothing is passed, and if it then does not
    either it is nothing. Returns the steps of conjugate gradients, about `most` of them.
    """
    m = b.size
    rhs, full, bent = np.zeros(m), np.empty(m), np.empty(m)
    held = np.ones(m, np.int32)
    worst = 0.0
    for a in range(m):
        step[a] = 0.0
        mode, l1, l2 = prior.mode[a], prior.l1[a], prior.l2[a]
        bends = model.diagonal[a] + l2 > 0.0
        if bends and (b[a] != mode or l1 == 0.0) and prior.lower[a] < b[a] < prior.upper[a]:
            away = b[a] - mode
            held[a] = 0
            rhs[a] = -(G[a] + (l1 if away > 0.0 else -l1) + l2 * away)
            worst = max(worst, abs(rhs[a]) / unit[a])
    first = 1.0
    enough = max(0.1 * worst, goal)
    steps = 0
    for turn in range(TURNS):
        steps += _towards(model, prior, b, unit, held, rhs, enough, most, step)
        if turn == 0:
            assign(full, step)
        passed, share = _hold(prior, b, step, held)
        if turn == 0:
            first = share
        if not passed:
            if enough <= goal:
                break
            enough = max(0.1 * enough, goal)
        if steps >= most:
            break
    for attempt in range(2):
        if _change(model, prior, G, b, step, bent) < 0.0:
            break
        for a in range(m):
            step[a] = first * full[a] if attempt == 0 else 0.0
    return steps


@part
def solve(model, g, b, prior, tol):
    """Coordinate descent, with a step on the free coordinates whenever descent alone is slow.

    b comes in as β. Stops when every violation is at most tol × the local slope of the penalty, or the share of the
    largest at first after which another quadratic model is worth more.
    """
    m = b.size
    start, G, step, unit = b.copy(), np.empty(m), np.empty(m), np.empty(m)
    top = 0.0
    for a in range(m):
        top = max(top, prior.l1[a])
    for a in range(m):  # violations are measured in these: a coordinate without a kink has the others'
        unit[a] = prior.l1[a] if prior.l1[a] > 0.0 else top if top > 0.0 else 1.0
    r = np.zeros(model.n)
    common = weighted = begun = 0.0
    left = np.int64(STEPS)  # a literal would have what is called with it compiled twice
    while left > 0:
        for _ in range(SWEEPS):
            worst = 0.0
            for a in range(m):
                slope = _slope(model, g, start, b, r, common, weighted, a)
                v = violation(prior, a, b[a], slope)
                if v == 0.0:
                    continue
                worst = max(worst, v / (unit[a] + prior.l2[a] * abs(b[a] - prior.mode[a])))
                best = argmin(prior, a, b[a], slope, model.diagonal[a])
                if best != b[a]:
                    common, weighted = _move(model, a, best - b[a], r, common, weighted)
                    b[a] = best
            begun = max(begun, worst)
            goal = max(tol, (ROUGH if tol > PRECISE else SHARE) * begun)
            if worst <= goal:
                return
        for a in range(m):
            G[a] = _slope(model, g, start, b, r, common, weighted, a)
        left -= SWEEPS + _free_step(model, prior, G, b, unit, INNER * goal, left, step)
        for a in range(m):
            if step[a] != 0.0:
                end, mode = b[a] + step[a], prior.mode[a]
                end = mode if abs(end - mode) <= HAIR * abs(b[a] - mode) else end
                common, weighted = _move(model, a, end - b[a], r, common, weighted)
                b[a] = end
