"""The quadratic model of the polytomous loss over (class, feature) pairs: the inner problem of solvers/multinomial.py.

    min_b  g·(b-β) + ½ Σ_i c_i [ Σ_k p_ik S_ik² - (Σ_k p_ik S_ik)² ] + Σ_a [ l1_a|b_a-m_a| + l2_a(b_a-m_a)²/2 ],

S_ik = Σ_a (x_ij + o_j)(b_a - β_a) over the pairs a = (k, j) of class k, and lower ≤ b ≤ upper. Where the classes can be
told apart most p_ik are next to 0 or 1 and bend the loss no more: of each class only the documents are kept that
hold all but a small share of its curvature Σ_i q_i, q_i = c_i p_ik (1 - p_ik).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, kernel, part
from lapwing.kernels.loss import argmin, assign, few, fill, penalty_at, violation
from lapwing.kernels.quadratic import LOST, active_set, cholesky, substitute

BLOCK = 128  # pairs of a class at most whose curvature is one dense matrix
SWEEPS = 3  # over all blocks in a turn
DESCENTS = 5  # over the pairs of a block in a sweep
RIDGE = 1e-3  # of a block's diagonal, added where it preconditions
CROSSING = 0.1  # share of the free pairs that may come to a stop in one solve
SOLVES = 10  # of the linear system in a step, each with fewer pairs free
SHORTER = 0.8  # by this factor a step, until so few come to a stop
SPARE, MOST_SPARE = 0.05, 0.005  # share of the curvature that is left out: of the precision, and at most
ITERATIONS = 10  # of conjugate gradients in the first turn; as many more in each that follows,
INNER = 0.1  # until what is left is this share of the precision


class Model(NamedTuple):
    """The quadratic model. Arrays over kept documents of kept classes are flat: r = (i, k) stands by k, then by i.

    first          pairs of class k are first[k] : first[k+1]
    start          documents of class k are start[k] : start[k+1]
    document, p, c number i, p_ik and c_i p_ik
    ends, row, x   the pairs' columns (CSC), `row` counting from start[k]
    offset         added to every entry of a pair's column
    gradient       slope of the loss at β
    own            curvature of a pair over the documents left out
    bounds, owner  blocks of pairs of one class: bounds[s] : bounds[s+1], of class owner[s]
    H, at          their matrices Σ_i q_i (x_i + o)(x_i + o)ᵀ + own, row by row from H[at[s]]
    """

    first: np.ndarray
    start: np.ndarray
    document: np.ndarray
    p: np.ndarray
    c: np.ndarray
    ends: np.ndarray
    row: np.ndarray
    x: np.ndarray
    offset: np.ndarray
    gradient: np.ndarray
    own: np.ndarray
    bounds: np.ndarray
    owner: np.ndarray
    H: np.ndarray
    at: np.ndarray


@part
def _kept(proba, weight, spare):
    """start, document, p, c of Model."""
    K, n = proba.shape
    start = np.zeros(K + 1, np.int64)
    document, p, c = np.empty(K * n, np.int32), np.empty(K * n), np.empty(K * n)
    q = np.empty(n)
    r = 0
    for k in range(K):
        for i in range(n):
            q[i] = weight[i] * proba[k, i] * (1.0 - proba[k, i])
        cut = few(q, spare)
        for i in range(n):
            if q[i] >= cut and q[i] > 0.0:
                document[r], p[r], c[r] = i, proba[k, i], weight[i] * proba[k, i]
                r += 1
        start[k + 1] = r
    return start, document[:r].copy(), p[:r].copy(), c[:r].copy()


@part
def _columns(X, first, feature, proba, weight, start, document):
    """ends, row, x, offset, own of Model."""
    indptr, indices, data = X.columns
    K, n = proba.shape
    m = feature.size
    ends, offset, own = np.zeros(m + 1, np.int64), np.empty(m), np.zeros(m)
    for a in range(m):
        ends[a + 1] = ends[a] + indptr[feature[a] + 1] - indptr[feature[a]]
    row, x = np.empty(ends[m], np.int32), np.empty(ends[m])
    place = np.empty(n, np.int32)
    at = 0
    for k in range(K):
        fill(place, np.int32(-1))
        for r in range(start[k], start[k + 1]):
            place[document[r]] = r - start[k]
        left = 0.0  # Σ_i q_i of the documents left out
        for i in range(n):
            if place[i] < 0:
                left += weight[i] * proba[k, i] * (1.0 - proba[k, i])
        for a in range(first[k], first[k + 1]):
            j = feature[a]
            o = offset[a] = X.offset[j]
            own[a] = o * o * left
            for e in range(indptr[j], indptr[j + 1]):
                i, value = indices[e], data[e]
                if place[i] >= 0:
                    row[at], x[at] = place[i], value
                    at += 1
                else:
                    own[a] += weight[i] * proba[k, i] * (1.0 - proba[k, i]) * value * (value + 2.0 * o)
            ends[a + 1] = at
    return ends, row[:at].copy(), x[:at].copy(), offset, own


@part
def _blocks(first):
    """bounds, owner, at of Model."""
    K = first.size - 1
    bounds, at = np.zeros(first[K] // BLOCK + K + 1, np.int64), np.zeros(first[K] // BLOCK + K + 1, np.int64)
    owner = np.empty(bounds.size - 1, np.int64)
    s = 0
    for k in range(K):
        size = first[k + 1] - first[k]
        parts = (size + BLOCK - 1) // BLOCK
        for piece in range(parts):
            owner[s] = k
            bounds[s + 1] = first[k] + (piece + 1) * size // parts
            at[s + 1] = at[s] + (bounds[s + 1] - bounds[s]) * (bounds[s + 1] - bounds[s])
            s += 1
    return bounds[: s + 1], owner[:s], at[: s + 1]


@part
def _block(of, at, s):
    """Matrix s of a flat array of square ones."""
    size = np.int64(np.sqrt(at[s + 1] - at[s]) + 0.5)
    return of[at[s] : at[s + 1]].reshape(size, size)


@part
def _curvatures(model):
    """H of Model, filled in."""
    for s in range(model.owner.size):
        k, begin, end = model.owner[s], model.bounds[s], model.bounds[s + 1]
        size = model.start[k + 1] - model.start[k]
        block = _block(model.H, model.at, s)
        fill(model.H[model.at[s] : model.at[s + 1]], 0.0)
        q = np.empty(size)
        total = 0.0
        for r in range(size):
            q[r] = model.c[model.start[k] + r] * (1.0 - model.p[model.start[k] + r])
            total += q[r]
        # The columns as lists by document: those of r from pointer[r] to pointer[r+1].
        pointer = np.zeros(size + 2, np.int64)
        for e in range(model.ends[begin], model.ends[end]):
            pointer[model.row[e] + 2] += 1
        for r in range(size):
            pointer[r + 2] += pointer[r + 1]
        column, value = np.empty(pointer[size + 1], np.int32), np.empty(pointer[size + 1])
        cross = np.zeros(end - begin)
        for a in range(begin, end):
            for e in range(model.ends[a], model.ends[a + 1]):
                r = model.row[e]
                column[pointer[r + 1]], value[pointer[r + 1]] = a - begin, model.x[e]
                pointer[r + 1] += 1
                cross[a - begin] += q[r] * model.x[e]
        for r in range(size):
            for e in range(pointer[r], pointer[r + 1]):
                row, scaled = block[column[e]], q[r] * value[e]
                for f in range(pointer[r], e + 1):
                    row[column[f]] += scaled * value[f]  # columns rise within a document: the lower triangle
        for a in range(end - begin):
            o = model.offset[begin + a]
            for b in range(a + 1):
                other = model.offset[begin + b]
                block[a, b] += o * cross[b] + other * cross[a] + o * other * total
                block[b, a] = block[a, b]
            block[a, a] += model.own[begin + a]


@part
def _spread(model, k, begin, end, step, out):
    """out_r = Σ_a (x_ra + o_a) step_a over the pairs a = begin … end of class k; `step` counts from `begin`."""
    common = 0.0
    for a in range(begin, end):
        common += model.offset[a] * step[a - begin]
    for r in range(model.start[k], model.start[k + 1]):
        out[r] = common
    for a in range(begin, end):
        by = step[a - begin]
        if by != 0.0:
            for e in range(model.ends[a], model.ends[a + 1]):
                out[model.start[k] + model.row[e]] += model.x[e] * by


def _collect(model, k, begin, end, T, out):
    """out_a = Σ_r (x_ra + o_a) T_r over the documents of class k, for the pairs a = begin … end."""
    total = 0.0
    for r in range(model.start[k], model.start[k + 1]):
        total += T[r]
    for a in range(begin, end):
        value = model.offset[a] * total
        for e in range(model.ends[a], model.ends[a + 1]):
            value += model.x[e] * T[model.start[k] + model.row[e]]
        out[a - begin] = value


_collect = part(_collect, fastmath=REASSOCIATING)


@part
def _bend(model, S, mean, T):
    """T_ik = c_i p_ik (S_ik - mean_i), mean_i = Σ_l p_il S_il. Returns Σ_ik S_ik T_ik."""
    fill(mean, 0.0)
    for r in range(S.size):
        mean[model.document[r]] += model.p[r] * S[r]
    total = 0.0
    for r in range(S.size):
        T[r] = model.c[r] * (S[r] - mean[model.document[r]])
        total += S[r] * T[r]
    return total


@part
def _through(model, step, S, mean, T, out):
    """S = the scores' change by `step`, out = the Hessian of the loss times `step`. Returns step·out."""
    for k in range(model.first.size - 1):
        begin, end = model.first[k], model.first[k + 1]
        _spread(model, k, begin, end, step[begin:end], S)
    total = _bend(model, S, mean, T)
    for k in range(model.first.size - 1):
        begin, end = model.first[k], model.first[k + 1]
        _collect(model, k, begin, end, T, out[begin:end])
    for a in range(step.size):
        out[a] += model.own[a] * step[a]
        total += model.own[a] * step[a] * step[a]
    return total


@part
def _descend(H, G, begin, prior, unit, b):
    """Coordinate descent on the pairs of one block, from `begin` on; keeps their slopes G.

    Returns the largest violation in the first sweep, relative to the penalty's slope.
    """
    first = worst = 0.0
    for sweep in range(DESCENTS):
        worst = 0.0
        for c in range(G.size):
            a = begin + c
            v = violation(prior, a, b[a], G[c])
            if v == 0.0:
                continue
            slope = prior.l1[a] + prior.l2[a] * abs(b[a] - prior.mode[a])
            worst = max(worst, v / (slope if slope > 0.0 else unit))
            best = argmin(prior, a, b[a], G[c], max(H[c, c], 1e-12 * (prior.l1[a] + 1e-300)))
            step = best - b[a]
            if step != 0.0:
                b[a] = best
                row = H[c]
                for other in range(G.size):
                    G[other] += step * row[other]
        if sweep == 0:
            first = worst
        if worst <= 0.1 * first:
            break
    return first


@part
def _sweep(model, prior, unit, old, b, S, mean):
    """Descent block after block; keeps S and mean_i = Σ_l p_il S_il. Returns the largest relative violation met."""
    T = np.empty(S.size)
    worst = 0.0
    for s in range(model.owner.size):
        k, begin, end = model.owner[s], model.bounds[s], model.bounds[s + 1]
        for r in range(model.start[k], model.start[k + 1]):
            T[r] = model.c[r] * (S[r] - mean[model.document[r]])
        G, step = np.empty(end - begin), np.empty(end - begin)
        _collect(model, k, begin, end, T, G)
        for a in range(begin, end):
            G[a - begin] += model.gradient[a] + model.own[a] * (b[a] - old[a])
            step[a - begin] = -b[a]
        met = _descend(_block(model.H, model.at, s), G, begin, prior, unit, b)
        worst = max(worst, met)
        if met > 0.0:
            for a in range(begin, end):
                step[a - begin] += b[a]
            _spread(model, k, begin, end, step, T)
            for r in range(model.start[k], model.start[k + 1]):
                S[r] += T[r]
                mean[model.document[r]] += model.p[r] * T[r]
    return worst


@part
def _recentre(first, feature, prior, b, held):
    """A constant added to a feature's weight in all classes changes no probability: take the least penalty.

    The least of Σ_k l1|b_k + shift - m_k| is where some class with l1 > 0 comes to its mode. Where there is none every
    shift is as good, and the last class is held where it is. Without this `_free_step` has a singular system.
    """
    K = first.size - 1
    pairs = first[:K].copy()  # those of one feature, in every class
    fill(held, False)
    for start in range(first[1]):
        full = True
        for k in range(K):
            while pairs[k] < first[k + 1] and feature[pairs[k]] < feature[start]:
                pairs[k] += 1
            a = pairs[k]
            full = full and a < first[k + 1] and feature[a] == feature[start] and prior.l2[a] == 0.0
            full = full and prior.lower[a] == -np.inf and prior.upper[a] == np.inf
        if not full:
            continue
        best, least, penalised = 0.0, np.inf, False
        for k in range(-1, K):
            if k >= 0 and prior.l1[pairs[k]] == 0.0:
                continue
            penalised = penalised or k >= 0
            shift = 0.0 if k < 0 else prior.mode[pairs[k]] - b[pairs[k]]
            total = 0.0
            for a in pairs:
                total += prior.l1[a] * abs(b[a] + shift - prior.mode[a])
            if total < least:
                best, least = shift, total
        held[pairs[K - 1]] = not penalised
        for a in pairs:
            b[a] = prior.mode[a] if best == prior.mode[a] - b[a] else b[a] + best


@part
def _factor(model, prior, live):
    """Cholesky factors of the blocks, rows and columns of pairs that are not live those of the unit matrix."""
    A = np.zeros(model.H.size)
    for s in range(model.owner.size):
        begin = model.bounds[s]
        block, factor = _block(model.H, model.at, s), _block(A, model.at, s)
        for a in range(model.bounds[s + 1] - begin):
            factor[a, a] = 1.0
            if live[begin + a]:
                for b in range(a):
                    factor[a, b] = block[a, b] if live[begin + b] else 0.0
                factor[a, a] = block[a, a] * (1.0 + RIDGE) + prior.l2[begin + a]
        cholesky(factor, model.bounds[s + 1] - begin, LOST)
    return A


@part
def _precondition(model, A, residual, live, z):
    """z = residual through the factors, 0 where not live. Returns z·residual."""
    assign(z, residual)
    for s in range(model.owner.size):
        begin, end = model.bounds[s], model.bounds[s + 1]
        substitute(_block(A, model.at, s), z[begin:end], end - begin)
    total = 0.0
    for a in range(z.size):
        z[a] = z[a] if live[a] else 0.0
        total += z[a] * residual[a]
    return total


@part
def _conjugate_gradients(model, prior, A, live, residual, goal, most, V, mean, T, x):
    """x = (H + l2)⁻¹ residual over the live pairs, to a preconditioned norm of √goal."""
    z, p, Hp = np.empty(x.size), np.zeros(x.size), np.empty(x.size)
    fill(x, 0.0)
    rho = _precondition(model, A, residual, live, z)
    ratio = 0.0
    for _ in range(most):
        if rho <= goal:
            break
        for a in range(x.size):
            p[a] = z[a] + ratio * p[a]
        product = _through(model, p, V, mean, T, Hp)
        for a in range(x.size):
            product += prior.l2[a] * p[a] * p[a]
        if product <= 0.0:
            break
        for a in range(x.size):
            x[a] += rho / product * p[a]
            residual[a] -= rho / product * (Hp[a] + prior.l2[a] * p[a]) if live[a] else 0.0
        fresh = _precondition(model, A, residual, live, z)
        ratio = fresh / rho
        rho = fresh


@part
def _shorten(prior, live, b, step, x):
    """Go less far than x where more than a share of the live pairs would come through their mode on the way."""
    reached = np.empty(b.size)
    crossing = free = 0
    for a in range(b.size):
        if live[a]:
            free += 1
            away = b[a] + step[a] - prior.mode[a]
            if prior.l1[a] > 0.0 and (away + x[a]) * away < 0.0:
                reached[crossing] = -away / x[a]
                crossing += 1
    most = np.int64(CROSSING * free) + 1
    t, beyond = 1.0, crossing
    while beyond > most:
        t *= SHORTER
        beyond = 0
        for c in range(crossing):
            beyond += reached[c] < t
    for a in range(b.size):
        x[a] *= t


@part
def _free_step(model, prior, precision, most, old, held, b, S, mean):
    """With signs fixed the model is a linear system in the free pairs: go to its solution.

    Pairs on the way through their mode or a bound stop there, and the others' system is solved again. If the model
    does not fall all the way to where this ends, part of the way is gone.
    """
    m = b.size
    live = np.empty(m, np.bool_)
    for a in range(m):
        free = b[a] != prior.mode[a] or prior.l1[a] == 0.0
        live[a] = free and not held[a] and prior.lower[a] < b[a] < prior.upper[a]
    A = _factor(model, prior, live)
    V, T, scratch = np.empty(S.size), np.empty(S.size), np.empty(mean.size)
    begin, slope, residual = np.empty(m), np.empty(m), np.empty(m)
    x, step, Hx = np.zeros(m), np.empty(m), np.empty(m)
    for a in range(m):
        step[a] = b[a] - old[a]
    _through(model, step, V, scratch, T, begin)
    for a in range(m):
        begin[a] += model.gradient[a]
        slope[a], step[a] = begin[a], 0.0
    goal = -1.0
    for _ in range(SOLVES):
        for a in range(m):
            pull = prior.l1[a] if b[a] > prior.mode[a] else -prior.l1[a]
            here = b[a] + step[a]
            residual[a] = -(slope[a] + pull + prior.l2[a] * (here - prior.mode[a])) if live[a] else 0.0
        if goal < 0.0:
            goal = precision * precision * _precondition(model, A, residual, live, x)
        _conjugate_gradients(model, prior, A, live, residual, goal, most, V, scratch, T, x)
        _shorten(prior, live, b, step, x)
        stopped = False
        for a in range(m):
            if live[a]:
                stop = b[a] + step[a] + x[a]
                if prior.l1[a] > 0.0 and (stop - prior.mode[a]) * (b[a] - prior.mode[a]) <= 0.0:
                    stop = prior.mode[a]
                    live[a] = False
                if not prior.lower[a] < stop < prior.upper[a]:
                    stop = min(max(stop, prior.lower[a]), prior.upper[a])
                    live[a] = False
                stopped = stopped or not live[a]
                step[a] = stop - b[a]
        curved = _through(model, step, V, scratch, T, Hx)
        for a in range(m):
            slope[a] = begin[a] + Hx[a]
        if not stopped:
            break
    t = 1.0
    while t > 0.1:
        change = 0.5 * t * t * curved
        for a in range(m):
            if step[a] != 0.0:
                there = b[a] + t * step[a]
                change += t * step[a] * begin[a] + penalty_at(prior, a, there)
                change -= penalty_at(prior, a, b[a])
        if change < 0.0:
            break
        t *= 0.5
    if t > 0.1:
        for a in range(m):
            b[a] = prior.mode[a] if t * step[a] == prior.mode[a] - b[a] else b[a] + t * step[a]
        for r in range(S.size):
            S[r] += t * V[r]
        for i in range(mean.size):
            mean[i] += t * scratch[i]


@kernel
def solve(X, first, feature, proba, weight, gradient, prior, unit, precision, turns, b):
    """Solve the model to violations of at most `precision` × the penalty's slope (`unit` where it has none).

    b comes in as β. Conjugate gradients follow the pairs that are free; descent finds who else is. Returns the change
    p_ik (S_ik - Σ_l p_il S_il) of the probabilities which the model predicts.
    """
    start, document, p, c = _kept(proba, weight, min(SPARE * precision, MOST_SPARE))
    ends, row, x, offset, own = _columns(X, first, feature, proba, weight, start, document)
    bounds, owner, at = _blocks(first)
    model = Model(
        first, start, document, p, c, ends, row, x, offset, gradient, own, bounds, owner, np.empty(at[-1]), at
    )
    _curvatures(model)
    old, held = b.copy(), np.empty(b.size, np.bool_)
    S, mean = np.zeros(p.size), np.zeros(weight.size)
    for turn in range(turns):
        _recentre(first, feature, prior, b, held)
        _free_step(model, prior, INNER * precision, (turn + 1) * ITERATIONS, old, held, b, S, mean)
        worst = 0.0
        for _ in range(SWEEPS):
            worst = _sweep(model, prior, unit, old, b, S, mean)
            if worst <= precision:
                break
        if worst <= precision:
            break
    change = np.zeros(proba.shape)
    for k in range(first.size - 1):
        for r in range(start[k], start[k + 1]):
            change[k, document[r]] = p[r] * (S[r] - mean[document[r]])
    return change


@kernel
def solve_whole(X, first, feature, proba, weight, gradient, prior, precision, b):
    """`solve` for few pairs on one dense matrix, whatever its condition, by the active-set method of quadratic.py."""
    start, document, p, c = _kept(proba, weight, 0.0)
    ends, row, x, offset, own = _columns(X, first, feature, proba, weight, start, document)
    none, m = np.empty(0, np.int64), b.size
    model = Model(first, start, document, p, c, ends, row, x, offset, gradient, own, none, none, np.empty(0), none)
    S, T, mean, change = np.empty(p.size), np.empty(p.size), np.empty(weight.size), np.empty(m)
    H, old, unit = np.empty((m, m)), b.copy(), np.zeros(m)
    for a in range(m):
        unit[a] = 1.0
        _through(model, unit, S, mean, T, H[a])
        unit[a] = 0.0
    held = np.empty(m, np.bool_)
    _recentre(first, feature, prior, b, held)
    G = gradient.copy()
    for a in range(m):
        if held[a]:
            G[a] = 0.0
            H[a], H[:, a] = 0.0, 0.0
            H[a, a] = 1.0
    active_set(H, G, b, prior, precision, np.empty((m, m)), change, np.empty(m, np.int32), np.empty(m))
    for a in range(m):
        change[a] = b[a] - old[a]
    _through(model, change, S, mean, T, G)
    out = np.zeros(proba.shape)
    for k in range(first.size - 1):
        for r in range(start[k], start[k + 1]):
            out[k, document[r]] = p[r] * (S[r] - mean[document[r]])
    return out
