"""A small penalised quadratic, solved on its matrix: the inner problem of the Newton solver.

min_b  g·(b-β) + (b-β)ᵀH(b-β)/2 + Σ_a [ l1_a|b_a-m_a| + l2_a(b_a-m_a)²/2 ],   lower ≤ b ≤ upper
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, part
from lapwing.kernels.loss import argmin, penalty_at, stop, violation

RIDGE = 1e-12  # added to a diagonal, relatively: columns that depend on each other must not lose a pivot
LOST = 1e-13  # share of itself at which what is left of a pivot is rounding
HAIR = 1e-14  # share of itself below which what is left of a coefficient is rounding, and it has vanished
SWEEPS = 15  # of descent before it is asked whether a Newton step would be faster,
LATE = 200  # and in all, before `active_set`
ROUGH = 0.01  # precision down to which descent alone will do
SETTLED, EARLY = 50, 60  # while more than one coordinate in so many moves, and in so many sweeps, who is free changes
LEAST_SWEEPS, LONGEST, PER_SWEEP = 3, 40, 60  # between steps: as many as take the time of a step on the free ones
EXCHANGES = 4  # for each coordinate, of those that are free with those that are held
STRIP = 16  # rows of a matrix that are factorised against all before them while those are in the cache


def _dot(a, b, n):
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


def dots(A, i, j, n, out):
    """out_ab = the first n of A_{i+a} · A_{j+b}, a, b < 4: sixteen sums in registers for eight numbers read."""
    w, x, y, z = A[i], A[i + 1], A[i + 2], A[i + 3]
    p, q, r, s = A[j], A[j + 1], A[j + 2], A[j + 3]
    wp = wq = wr = ws = xp = xq = xr = xs = yp = yq = yr = ys = zp = zq = zr = zs = 0.0
    for k in range(n):
        wp, wq, wr, ws = wp + w[k] * p[k], wq + w[k] * q[k], wr + w[k] * r[k], ws + w[k] * s[k]
        xp, xq, xr, xs = xp + x[k] * p[k], xq + x[k] * q[k], xr + x[k] * r[k], xs + x[k] * s[k]
        yp, yq, yr, ys = yp + y[k] * p[k], yq + y[k] * q[k], yr + y[k] * r[k], ys + y[k] * s[k]
        zp, zq, zr, zs = zp + z[k] * p[k], zq + z[k] * q[k], zr + z[k] * r[k], zs + z[k] * s[k]
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = wp, wq, wr, ws
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = xp, xq, xr, xs
    out[2, 0], out[2, 1], out[2, 2], out[2, 3] = yp, yq, yr, ys
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = zp, zq, zr, zs


_dot = part(_dot, fastmath=REASSOCIATING)
dots = part(dots, fastmath=REASSOCIATING)


@part
def add_products(A, n, sums, out):
    """out += A Aᵀ over the first n columns of A, which has a multiple of four rows: the lower half; `sums` is room."""
    for a in range(0, A.shape[0], 4):
        for b in range(0, a + 4, 4):
            dots(A, a, b, n, sums)
            for p in range(4):
                for q in range(4):
                    out[a + p, b + q] += sums[p, q]


@part
def cholesky(A, n, lost):
    """The leading n×n of A, symmetric and given by its lower triangle, becomes its factor.

    L_ij = (A_ij - Σ_{k<j} L_ik L_jk) / L_jj, the sums by four rows and four columns at once where both are whole.
    A coordinate whose pivot is lost to rounding, a share `lost` of what it was, gets an endless one: its solution is 0.
    """
    sums = np.empty((4, 4))
    for begin in range(0, n, STRIP):
        end = min(begin + STRIP, n)
        whole = end - (end - begin) % 4
        for j in range(0, begin, 4):
            for i in range(begin, whole, 4):
                dots(A, i, j, j, sums)
                for a in range(4):
                    for b in range(4):
                        left = A[i + a, j + b] - sums[a, b]
                        for c in range(b):
                            left -= A[i + a, j + c] * A[j + b, j + c]
                        A[i + a, j + b] = left / A[j + b, j + b]
        for i in range(begin, end):
            for j in range(begin if i < whole else 0, i):
                A[i, j] = (A[i, j] - _dot(A[i], A[j], j)) / A[j, j]
            pivot = A[i, i] - _dot(A[i], A[i], i)
            if pivot <= lost * A[i, i] or not pivot > 0.0:
                pivot = 1e300
            A[i, i] = np.sqrt(pivot)


@part
def substitute(A, rhs, n):
    """Solve LLᵀ x = rhs in place of rhs; L is what `cholesky` left in A."""
    for i in range(n):
        rhs[i] = (rhs[i] - _dot(A[i], rhs, i)) / A[i, i]
    for i in range(n - 1, -1, -1):
        rhs[i] /= A[i, i]
        for k in range(i):
            rhs[k] -= A[i, k] * rhs[i]


@part
def sweep(H, G, b, prior):
    """One pass of coordinate descent; keeps G = g + H(b-β).

    Returns the largest violation met, relative to the penalty's slope, and how many left or entered a mode.
    """
    worst = 0.0
    moved = 0
    for a in range(b.size):
        v = violation(prior, a, b[a], G[a])
        if v == 0.0:
            continue
        mode = prior.mode[a]
        worst = max(worst, v / (prior.l1[a] + prior.l2[a] * abs(b[a] - mode) + 1e-300))
        best = argmin(prior, a, b[a], G[a], H[a, a])
        step = best - b[a]
        if step != 0.0:
            moved += (best == mode) != (b[a] == mode)
            b[a] = best
            row = H[a]
            for k in range(b.size):
                G[k] += step * row[k]
    return worst, moved


@part
def _free(b, prior, free):
    """The coordinates without a kink or a bound where they are; returns how many."""
    n = np.int64(0)  # a literal would have what is called with it compiled twice
    for a in range(b.size):
        if (b[a] != prior.mode[a] or prior.l1[a] == 0.0) and prior.lower[a] < b[a] < prior.upper[a]:
            free[n] = a
            n += 1
    return n


@part
def newton_step(H, G, b, prior, A, rhs, free, change, slope):
    """With signs fixed the problem is a linear system in the free coordinates: go towards its solution.

    A coordinate on the way through its mode or a bound stops there. If the objective does not fall that
    way, the step is shortened until nothing is passed, and then it must. Returns the number of free ones.
    """
    n = _free(b, prior, free)
    for p in range(n):
        a = np.int64(free[p])  # of one type with the others: functions are compiled for each
        away = b[a] - prior.mode[a]
        sign = 1.0 if away > 0.0 else -1.0
        rhs[p] = -(G[a] + prior.l1[a] * sign + prior.l2[a] * away)
        row = H[a]
        for q in range(p):
            A[p, q] = row[free[q]]
        A[p, p] = row[a] * (1.0 + RIDGE) + prior.l2[a]
    cholesky(A, n, LOST)
    substitute(A, rhs, n)
    first = 1.0  # the share of the step at which the first mode or bound is met
    for p in range(n):
        a = np.int64(free[p])
        end = stop(prior, a, b[a], rhs[p])
        if end != b[a] + rhs[p]:
            first = min(first, (end - b[a]) / rhs[p])
        change[p] = end - b[a]
    if not _go(H, G, b, prior, free, n, change, slope):
        for p in range(n):
            change[p] = first * rhs[p]
        _go(H, G, b, prior, free, n, change, slope)
    return n


@part
def _go(H, G, b, prior, free, n, change, slope):
    """Change the free coordinates, and G with them, if the objective falls; returns whether it does."""
    for k in range(b.size):
        slope[k] = 0.0
    for p in range(n):
        row = H[free[p]]
        for k in range(b.size):
            slope[k] += change[p] * row[k]
    fall = 0.0
    for p in range(n):
        a = np.int64(free[p])
        fall += change[p] * (G[a] + 0.5 * slope[a])
        fall += penalty_at(prior, a, b[a] + change[p]) - penalty_at(prior, a, b[a])
    if not fall < 0.0:
        return False
    for p in range(n):
        a = np.int64(free[p])
        end, mode = b[a] + change[p], prior.mode[a]
        b[a] = mode if abs(end - mode) <= HAIR * abs(b[a] - mode) else end
    for k in range(b.size):
        G[k] += slope[k]
    return True


@part
def _stops(prior, side, b, change, free, n, stop_at):
    """Where each free coordinate has to stop, at its mode or a bound; returns the share of the step up to the first.

    Those that are there already and would go on are no longer free: then -1.
    """
    first, held = 1.0, False
    for p in range(n):
        a = np.int64(free[p])
        low, high = prior.lower[a], prior.upper[a]
        if prior.l1[a] > 0.0 and side[a] > 0.0:
            low = max(low, prior.mode[a])
        elif prior.l1[a] > 0.0:
            high = min(high, prior.mode[a])
        stop_at[p] = min(max(b[a] + change[p], low), high)
        if stop_at[p] != b[a] + change[p]:
            if stop_at[p] == b[a]:
                side[a], held = 0.0, True
            first = min(first, (stop_at[p] - b[a]) / change[p])
    return -1.0 if held else first


@part
def _release(prior, G, b, tol, side):
    """Set free what violates its condition by more than a share `tol` of its l1; returns whether anything does."""
    found = False
    for a in range(b.size):
        if side[a] == 0.0 and violation(prior, a, b[a], G[a]) > tol * prior.l1[a]:
            away = b[a] - prior.mode[a]
            side[a], found = (1.0 if away > 0.0 or (away == 0.0 and G[a] < 0.0) else -1.0), True
    return found


@part
def active_set(H, G, b, prior, tol, A, rhs, free, stop_at):
    """The minimum, whatever the condition of H: for columns whose mean is large beside their deviation, which all but
    depend on one another. There descent crawls, and what it moves a little off its mode stops every Newton step.

    The primal active-set method (Nocedal and Wright, Numerical Optimization, 16.5), warm: to the minimum over the free
    coordinates, each on its side of its mode, one held where the way meets its mode or a bound; then all that violate
    their condition are set free. The objective never rises.
    """
    m = b.size
    start, begun, side = b.copy(), G.copy(), np.zeros(m)
    n = _free(b, prior, free)
    for p in range(n):
        side[free[p]] = 1.0 if b[free[p]] >= prior.mode[free[p]] else -1.0
    for _ in range(EXCHANGES * m):
        n = np.int64(0)
        for k in range(m):
            if side[k] != 0.0:
                free[n] = k
                n += 1
        for p in range(n):
            a = np.int64(free[p])
            rhs[p] = -(G[a] + prior.l1[a] * side[a] + prior.l2[a] * (b[a] - prior.mode[a]))
            for q in range(p):
                A[p, q] = H[a, free[q]]
            A[p, p] = H[a, a] + prior.l2[a]
        cholesky(A, n, LOST)
        substitute(A, rhs, n)
        share = _stops(prior, side, b, rhs, free, n, stop_at)
        if share < 0.0:
            continue
        for p in range(n):
            a = np.int64(free[p])
            if stop_at[p] != b[a] + rhs[p] and (stop_at[p] - b[a]) / rhs[p] <= share:
                b[a], side[a] = stop_at[p], 0.0
            else:
                b[a] += share * rhs[p]
        for k in range(m):
            G[k] = begun[k]
        for k in range(m):
            if b[k] != start[k]:
                row = H[k]
                for j in range(m):
                    G[j] += (b[k] - start[k]) * row[j]
        if share == 1.0 and not _release(prior, G, b, tol, side):
            return


@part
def solve(H, G, b, prior, tol, A):
    """Coordinate descent, with a Newton step on the free coordinates whenever descent alone is slow.

    G comes in as g and leaves as g + H(b-β); b comes in as β. Stops when every violation is at most
    tol × the local slope of the penalty. A, as large as H, is scratch. Returns the sweeps taken.
    """
    m = b.size
    rhs, free, change, slope = np.empty(m), np.empty(m, np.int32), np.empty(m), np.empty(m)
    sweeps = 0
    between = SWEEPS
    while True:
        for _ in range(between):
            worst, moved = sweep(H, G, b, prior)
            sweeps += 1
            if worst <= tol:
                return sweeps
        if tol > ROUGH:  # a rough solution is wanted: what descent has found will do
            return sweeps
        if moved * SETTLED > m and sweeps < EARLY:  # too early: who is free still changes
            continue
        if sweeps >= LATE:
            active_set(H, G, b, prior, tol, A, rhs, free, change)
            return sweeps
        n_free = newton_step(H, G, b, prior, A, rhs, free, change, slope)
        between = max(LEAST_SWEEPS, min(LONGEST, n_free // PER_SWEEP))
