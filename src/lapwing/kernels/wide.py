"""A large penalised quadratic, solved without its matrix: the inner problem of the Newton solver where the working set
is wide, and Selected Ridge's with the full Hessian.

min_b  g·(b-β) + (b-β)ᵀH(b-β)/2 + Σ_a [ l1_a|b_a-m_a| + l2_a(b_a-m_a)²/2 ],   lower ≤ b ≤ upper

H = Σ_i w_i x_i x_iᵀ + diag(rest). A column has an offset o_a in every document besides what is stored; the constant
feature is an offset of 1 to nothing. Coordinate descent goes by columns z_ia = √w_i x_ia and keeps r = Z(b-β), without
what offsets add, √w_i c with c = o·(b-β). Conjugate gradients go by rows.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, part
from lapwing.kernels.loss import argmin, penalty_at, stop, violation

SWEEPS = 10  # of coordinate descent between steps on the free coordinates
TURNS = 40  # of such a step at most, most with more coordinates held than the last
LOOK = 25  # steps of conjugate gradients after which it is seen who has gone too far
CONJUGATE = 1000  # steps of conjugate gradients at most, all told
SHARE, ROUGH = 0.03, 0.1  # of the violations there were at first may be left, near the solution and far from it


@part
def rows(indptr, indices, data, working, m, n):
    """The working set's columns but for the constant, its first, as lists by document.

    Returns (document, pointer, position in the set, value); a document without any has no list.
    """
    count = np.empty(n, np.int32)
    for i in range(n):
        count[i] = 0
    for a in range(1, m):
        j = working[a]
        for k in range(indptr[j], indptr[j + 1]):
            count[np.uint32(indices[k])] += 1
    lists = 0
    for i in range(n):
        lists += count[i] > 0
    document, pointer = np.empty(lists, np.int32), np.empty(lists + 1, np.int32)
    pointer[0] = e = 0
    for i in range(n):
        if count[i] > 0:
            document[e], pointer[e + 1] = i, pointer[e] + count[i]
            count[i] = pointer[e]  # from here on the place of its next entry
            e += 1
    column = np.empty(pointer[lists], np.int32)
    value = np.empty(pointer[lists])
    for a in range(1, m):
        j = working[a]
        for k in range(indptr[j], indptr[j + 1]):
            place = np.uint32(count[np.uint32(indices[k])])
            column[place], value[place] = a, data[k]
            count[np.uint32(indices[k])] += 1
    return document, pointer, column, value


@part
def columns(indptr, indices, data, o, working, curvature, cut):
    """√w X over the working set and the documents whose curvature w_i is at least `cut`; of the others the diagonal.

    Returns (pointer, row, z by columns; Σ_i √w_i z_ia of each; H's diagonal; rest; number of documents, Σ_i w_i).
    """
    n, m = curvature.size, o.size
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
        size += indptr[working[a] + 1] - indptr[working[a]]
    pointer, row, z = np.empty(m + 1, np.int32), np.empty(size, np.int32), np.empty(size)
    plain, diagonal, rest = np.empty(m), np.empty(m), np.empty(m)
    pointer[0] = pointer[1] = e = 0
    plain[0], rest[0], diagonal[0] = 0.0, spare, total + spare
    for a in range(1, m):
        j = working[a]
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
        plain[a], rest[a] = first, left
        diagonal[a] = square + o[a] * (2.0 * first + o[a] * total) + left
    return pointer, row, z, plain, diagonal, rest, count, total


def _along(row, z, start, stop, r):
    """z_a · r"""
    total = 0.0
    for k in range(start, stop):
        total += z[k] * r[np.uint32(row[k])]
    return total


_along = part(_along, fastmath=REASSOCIATING)


@part
def _slope(Z, o, g, start, b, r, common, weighted, a):
    """(g + H(b-β))_a; weighted = Σ_i √w_i r_i"""
    pointer, row, z, plain, _, rest, _, total = Z
    slope = g[a] + _along(row, z, pointer[a], pointer[a + 1], r) + plain[a] * common
    return slope + o[a] * (weighted + total * common) + rest[a] * (b[a] - start[a])


@part
def _move(Z, o, a, step, r, common, weighted):
    """r += step z_a, and the two sums that go with it."""
    pointer, row, z = Z[:3]
    for k in range(pointer[a], pointer[a + 1]):
        r[np.uint32(row[k])] += step * z[k]
    return common + o[a] * step, weighted + Z[3][a] * step


@part
def _times(lists, curvature, cut, o, rest, total, p, out):
    """out = H p"""
    document, pointer, column, value = lists
    common = 0.0
    for a in range(p.size):
        out[a] = rest[a] * p[a]
        common += o[a] * p[a]
    left, weighted = total, 0.0
    for e in range(document.size):
        w = curvature[document[e]]
        if w < cut:
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
        out[a] += o[a] * weighted


@part
def _towards(lists, curvature, cut, o, Z, b, mode, l1, l2, lower, upper, unit, held, rhs, enough, most, step):
    """Conjugate gradients, preconditioned by the diagonal, for (H + l2) step = rhs over the columns not `held`.

    From `step`. Ends when every equation is met to `enough` units, or after `most` steps; now and then it looks
    whether a coordinate has passed its mode or a bound, and ends there too: where H is nearly flat it would go far
    beyond. Returns the steps taken.
    """
    m = o.size
    _, _, _, _, diagonal, rest, _, total = Z
    p, Hp, residual = np.zeros(m), np.empty(m), np.zeros(m)
    rho = length = 0.0
    for turn in range(most):
        _times(lists, curvature, cut, o, rest, total, p if turn > 0 else step, Hp)
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
                if held[a] == 0 and stop(b[a], step[a], mode[a], l1[a], lower[a], upper[a]) != b[a] + step[a]:
                    return turn
        for a in range(m):
            if held[a] == 0:
                p[a] = residual[a] / (diagonal[a] + l2[a]) + (fresh / rho * p[a] if turn > 0 else 0.0)
        rho = fresh
    return most


@part
def _free(lists, curvature, cut, o, Z, G, b, mode, l1, l2, lower, upper, unit, goal, most, step):
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
        bends = Z[4][a] + l2[a] > 0.0
        if bends and (b[a] != mode[a] or l1[a] == 0.0) and lower[a] < b[a] < upper[a]:
            away = b[a] - mode[a]
            held[a] = 0
            rhs[a] = -(G[a] + (l1[a] if away > 0.0 else -l1[a]) + l2[a] * away)
            worst = max(worst, abs(rhs[a]) / unit[a])
    first = 1.0
    enough = max(0.1 * worst, goal)
    taken = 0
    for turn in range(TURNS):
        taken += _towards(
            lists, curvature, cut, o, Z, b, mode, l1, l2, lower, upper, unit, held, rhs, enough, most, step
        )
        passed = False
        for a in range(m):
            if turn == 0:
                full[a] = step[a]
            if held[a] == 0:
                end = stop(b[a], step[a], mode[a], l1[a], lower[a], upper[a])
                if end != b[a] + step[a]:
                    if turn == 0:
                        first = min(first, (end - b[a]) / step[a])
                    step[a] = end - b[a]
                    held[a] = 1
                    passed = True
        if not passed:
            if enough <= goal:
                break
            enough = max(0.1 * enough, goal)
        if taken >= most:
            break
    for attempt in range(2):
        _times(lists, curvature, cut, o, Z[5], Z[7], step, bent)
        fall = 0.0
        for a in range(m):
            if step[a] != 0.0:
                fall += step[a] * (G[a] + 0.5 * bent[a])
                fall += penalty_at(b[a] + step[a], mode[a], l1[a], l2[a]) - penalty_at(b[a], mode[a], l1[a], l2[a])
        if fall < 0.0:
            break
        for a in range(m):
            step[a] = first * full[a] if attempt == 0 else 0.0
    return taken


@part
def solve(lists, curvature, cut, o, Z, g, b, mode, l1, l2, lower, upper, tol):
    """Coordinate descent, with a step on the free coordinates whenever descent alone is slow.

    b comes in as β. Stops when every violation is at most tol × the local slope of the penalty, or the share of the
    largest at first after which another quadratic model is worth more.

    lists, Z   what `rows` and `columns` made
    """
    m = b.size
    start, G, step, unit = b.copy(), np.empty(m), np.empty(m), np.empty(m)
    top = 0.0
    for a in range(m):
        top = max(top, l1[a])
    for a in range(m):  # violations are measured in these: a coordinate without a kink has the others'
        unit[a] = l1[a] if l1[a] > 0.0 else top if top > 0.0 else 1.0
    r = np.zeros(Z[6])
    common = weighted = begun = 0.0
    left = np.int64(CONJUGATE)  # a literal would have what is called with it compiled twice
    while left > 0:
        for _ in range(SWEEPS):
            worst = 0.0
            for a in range(m):
                slope = _slope(Z, o, g, start, b, r, common, weighted, a)
                v = violation(b[a], slope, mode[a], l1[a], l2[a], lower[a], upper[a])
                if v == 0.0:
                    continue
                worst = max(worst, v / (unit[a] + l2[a] * abs(b[a] - mode[a])))
                best = argmin(b[a], slope, Z[4][a], mode[a], l1[a], l2[a], lower[a], upper[a])
                if best != b[a]:
                    common, weighted = _move(Z, o, a, best - b[a], r, common, weighted)
                    b[a] = best
            begun = max(begun, worst)
            goal = max(tol, (ROUGH if tol > 0.01 else SHARE) * begun)
            if worst <= goal:
                return
        for a in range(m):
            G[a] = _slope(Z, o, g, start, b, r, common, weighted, a)
        left -= SWEEPS + _free(
            lists, curvature, cut, o, Z, G, b, mode, l1, l2, lower, upper, unit, 0.3 * goal, left, step
        )
        for a in range(m):
            if step[a] != 0.0:
                end = b[a] + step[a]
                # Rounding must not leave a hair of what was meant to vanish.
                end = mode[a] if abs(end - mode[a]) <= 1e-14 * abs(b[a] - mode[a]) else end
                common, weighted = _move(Z, o, a, end - b[a], r, common, weighted)
                b[a] = end
