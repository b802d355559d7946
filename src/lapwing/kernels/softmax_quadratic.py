"""The quadratic model of the polytomous loss over (class, feature) pairs: the inner problem of kernels/multinomial.py.

Pairs stand by class: those of class k are feature[first[k] : first[k+1]]. S_ik is the change of the scores; other
symbols as in kernels/softmax.py.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import argmin, few, penalty_at, violation

CROSSING = 0.2  # share of the free pairs on the way through their modes at which a direction is long enough


@kernel
def spread_step(ends, indices, data, offset, first, feature, step, S):
    """S_ik = Σ_a (x_ij + offset_j) step_a over the pairs a = (k, j)."""
    for k in range(first.size - 1):
        row = S[k]
        common = 0.0
        for a in range(first[k], first[k + 1]):
            common += offset[feature[a]] * step[a]
        row[:] = common
        for a in range(first[k], first[k + 1]):
            if step[a] != 0.0:
                for e in range(ends[feature[a]], ends[feature[a] + 1]):
                    row[indices[e]] += data[e] * step[a]


@kernel
def _bend(proba, weight, S, mean, out):
    """out_ik = c_i p_ik (S_ik - Σ_l p_il S_il): the Hessian of the loss in the scores, times S."""
    K, n = S.shape
    mean[:] = 0.0
    for k in range(K):
        for i in range(n):
            mean[i] += proba[k, i] * S[k, i]
    for k in range(K):
        for i in range(n):
            out[k, i] = weight[i] * proba[k, i] * (S[k, i] - mean[i])


@kernel
def collect(ends, indices, data, offset, first, feature, T, out):
    """out_a = Σ_i (x_ij + offset_j) T_ik"""
    for k in range(first.size - 1):
        row = T[k]
        total = np.sum(row)
        for a in range(first[k], first[k + 1]):
            j = feature[a]
            value = offset[j] * total
            for e in range(ends[j], ends[j + 1]):
                value += data[e] * row[indices[e]]
            out[a] = value


@kernel
def _curvatures(ends, indices, data, offset, first, feature, proba, weight, cross, diagonal):
    """cross_a = Σ_i q_i x_ij and diagonal_a = Σ_i q_i (x_ij + offset_j)², q_i = c_i p_ik (1 - p_ik)."""
    n = weight.size
    q = np.empty(n)
    for k in range(first.size - 1):
        for i in range(n):
            q[i] = weight[i] * proba[k, i] * (1.0 - proba[k, i])
        total = np.sum(q)
        for a in range(first[k], first[k + 1]):
            j = feature[a]
            linear = square = 0.0
            for e in range(ends[j], ends[j + 1]):
                value = data[e] * q[indices[e]]
                linear += value
                square += data[e] * value
            cross[a] = linear
            diagonal[a] = square + offset[j] * (2.0 * linear + offset[j] * total)


@kernel
def _sweep(
    ends,
    indices,
    data,
    offset,
    first,
    feature,
    proba,
    weight,
    gradient,
    own,
    cross,
    diagonal,
    mode,
    l1,
    l2,
    lower,
    upper,
    unit,
    sweeps,
    old,
    b,
    S,
    mean,
):
    """Coordinate descent on the quadratic model, class by class; keeps S and mean_i = Σ_l p_il S_il.

    Within a class the slope of document i is r_i = c_i p_ik (S_ik - mean_i), and moves with q_i times the score.
    What offsets add to every score is kept apart (`common`): then a step costs the stored entries only.
    Returns the largest violation met in a class's first sweep, relative to the penalty's slope.
    """
    n = weight.size
    q, r, moved_by = np.empty(n), np.empty(n), np.empty(n)
    worst = 0.0
    for k in range(first.size - 1):
        if first[k] == first[k + 1]:
            continue
        total_q = total_r = common = 0.0
        for i in range(n):
            pull = weight[i] * proba[k, i]
            q[i] = pull * (1.0 - proba[k, i])
            r[i] = pull * (S[k, i] - mean[i])
            moved_by[i] = 0.0
            total_q += q[i]
            total_r += r[i]
        changed = False
        for sweep in range(sweeps):
            for a in range(first[k], first[k + 1]):
                j = feature[a]
                g = gradient[a] + own[a] * (b[a] - old[a]) + common * cross[a] + offset[j] * total_r
                for e in range(ends[j], ends[j + 1]):
                    g += data[e] * r[indices[e]]
                v = violation(b[a], g, mode[a], l1[a], l2[a], lower[a], upper[a])
                if v == 0.0:
                    continue
                if sweep == 0:
                    slope = l1[a] + l2[a] * abs(b[a] - mode[a])
                    worst = max(worst, v / (slope if slope > 0.0 else unit))
                h = max(diagonal[a] + own[a], 1e-12 * (l1[a] + 1e-300))
                best = argmin(b[a], g, h, mode[a], l1[a], l2[a], lower[a], upper[a])
                step = best - b[a]
                if step == 0.0:
                    continue
                b[a] = best
                changed = True
                total_r += step * (cross[a] + offset[j] * total_q)
                common += offset[j] * step
                for e in range(ends[j], ends[j + 1]):
                    i = indices[e]
                    moved_by[i] += step * data[e]
                    r[i] += q[i] * step * data[e]
        if changed:
            for i in range(n):
                shift = moved_by[i] + common
                S[k, i] += shift
                mean[i] += proba[k, i] * shift
    return worst


@kernel
def _recentre(first, feature, mode, l1, l2, lower, upper, b, place):
    """A constant added to a feature's weight in all classes changes no probability: take the least penalty.

    The least is where some class comes to its mode, or, without l1, at the mean. Without this the linear system of
    `_free_step` has no solution. `place` (K, d+1) is scratch, -1 all over, and left so.
    """
    K = first.size - 1
    for k in range(K):
        for a in range(first[k], first[k + 1]):
            place[k, feature[a]] = a
    for a in range(first[0], first[1]):
        j = feature[a]
        full = True
        for k in range(K):
            c = place[k, j]
            full = full and c >= 0 and l1[c] > 0.0 and l2[c] == 0.0 and lower[c] == -np.inf and upper[c] == np.inf
        if not full:
            continue
        best, least = 0.0, np.inf
        for k in range(-1, K):
            shift = 0.0 if k < 0 else mode[place[k, j]] - b[place[k, j]]
            total = 0.0
            for other in range(K):
                c = place[other, j]
                total += l1[c] * abs(b[c] + shift - mode[c])
            if total < least:
                best, least = shift, total
        for k in range(K):
            c = place[k, j]
            b[c] = mode[c] if best == mode[c] - b[c] else b[c] + best
    for k in range(K):
        for a in range(first[k], first[k + 1]):
            place[k, feature[a]] = -1


@kernel
def _free_step(
    ends,
    indices,
    data,
    offset,
    first,
    feature,
    proba,
    weight,
    gradient,
    own,
    diagonal,
    mode,
    l1,
    l2,
    lower,
    upper,
    precision,
    most,
    b,
    old,
    S,
    mean,
):
    """With signs fixed the model is a linear system in the free pairs: conjugate gradients towards its solution.

    A pair on the way through its mode or a bound stops there; where the model does not fall that way, half the
    way is tried, and so on.
    """
    K = first.size - 1
    is_free = np.zeros(feature.size, np.bool_)
    f_first = np.zeros(K + 1, np.int64)
    for k in range(K):
        for a in range(first[k], first[k + 1]):
            is_free[a] = (b[a] != mode[a] or l1[a] == 0.0) and lower[a] < b[a] < upper[a]
            f_first[k + 1] += is_free[a]
        f_first[k + 1] += f_first[k]
    free = np.flatnonzero(is_free)
    f_feature = feature[free]
    m = free.size
    T, V = np.empty_like(S), np.empty_like(S)
    scratch = np.empty(mean.size)
    slope, z, Hp, x = np.empty(m), np.empty(m), np.empty(m), np.zeros(m)
    residual, inverse, curve = np.empty(m), np.empty(m), np.empty(m)
    _bend(proba, weight, S, scratch, T)
    collect(ends, indices, data, offset, f_first, f_feature, T, slope)
    for f in range(m):
        a = free[f]
        slope[f] += gradient[a] + own[a] * (b[a] - old[a])
        away = b[a] - mode[a]
        residual[f] = -(slope[f] + (l1[a] if away > 0.0 else -l1[a]) + l2[a] * away)
        curve[f] = own[a] + l2[a]
        inverse[f] = 1.0 / max(diagonal[a] + curve[f], 1e-300)
        z[f] = inverse[f] * residual[f]
    rho = float(np.sum(z * residual))
    p = z.copy()
    target = precision * precision * rho
    iterations = 0
    while iterations < most and rho > target:
        iterations += 1
        spread_step(ends, indices, data, offset, f_first, f_feature, p, V)
        _bend(proba, weight, V, scratch, T)
        collect(ends, indices, data, offset, f_first, f_feature, T, Hp)
        product = 0.0
        for f in range(m):
            Hp[f] += curve[f] * p[f]
            product += p[f] * Hp[f]
        if product <= 0.0:
            break
        alpha = rho / product
        crossing = 0
        for f in range(m):
            x[f] += alpha * p[f]
            residual[f] -= alpha * Hp[f]
            away = b[free[f]] - mode[free[f]]
            crossing += (away + x[f]) * away < 0.0
        if crossing > CROSSING * m:
            break
        fresh = 0.0
        for f in range(m):
            z[f] = inverse[f] * residual[f]
            fresh += z[f] * residual[f]
        for f in range(m):
            p[f] = z[f] + (fresh / rho) * p[f]
        rho = fresh
    step = np.empty(m)
    t = 1.0
    for _ in range(6):
        fall = 0.0
        for f in range(m):
            a = free[f]
            stop = b[a] + t * x[f]
            if l1[a] > 0.0 and (stop - mode[a]) * (b[a] - mode[a]) <= 0.0:
                stop = mode[a]
            stop = min(max(stop, lower[a]), upper[a])
            step[f] = stop - b[a]
            fall += step[f] * (slope[f] + 0.5 * own[a] * step[f])
            fall += penalty_at(stop, mode[a], l1[a], l2[a]) - penalty_at(b[a], mode[a], l1[a], l2[a])
        spread_step(ends, indices, data, offset, f_first, f_feature, step, V)
        _bend(proba, weight, V, scratch, T)
        fall += 0.5 * np.sum(V * T)
        if fall < 0.0:
            for f in range(m):
                a = free[f]
                b[a] = mode[a] if step[f] == mode[a] - b[a] else b[a] + step[f]
            S += V
            mean += scratch
            break
        t *= 0.5


@kernel
def _local(ends, indices, data, first, feature, proba, weight, spare):
    """The working set's problem on the documents that bend the loss: all but a `spare` share of the curvature.

    Where the data can be separated most documents end far from every boundary and curve next to nothing. Returns
    X by columns of the features in the set, the features renumbered, probabilities and weights of the documents
    kept, and `own`: Σ_i q_i x_ij² of each pair over the others, which is all that is left of them.
    """
    K, n = proba.shape
    bends = np.empty(n)
    square = np.zeros(n)
    for k in range(K):
        for i in range(n):
            square[i] += proba[k, i] * proba[k, i]
    for i in range(n):
        bends[i] = weight[i] * max(1.0 - square[i], 0.0)
    cut = few(bends, spare)
    number = np.full(n, -1, np.int32)
    count = 0
    for i in range(n):
        if bends[i] >= cut and bends[i] > 0.0:
            number[i] = count
            count += 1
    l_proba, l_weight = np.empty((K, count)), np.empty(count)
    for i in range(n):
        if number[i] >= 0:
            l_weight[number[i]] = weight[i]
            for k in range(K):
                l_proba[k, number[i]] = proba[k, i]
    place = np.full(ends.size - 1, -1, np.int32)
    l_ends = np.zeros(min(feature.size, ends.size - 1) + 1, np.int64)
    columns = np.empty(l_ends.size - 1, np.int32)
    used = 0
    for a in range(feature.size):
        j = feature[a]
        if place[j] < 0:
            place[j] = used
            columns[used] = j
            inside = 0
            for e in range(ends[j], ends[j + 1]):
                inside += number[indices[e]] >= 0
            l_ends[used + 1] = l_ends[used] + inside
            used += 1
    l_indices, l_data = np.empty(l_ends[used], np.int32), np.empty(l_ends[used])
    at = 0
    for c in range(used):
        for e in range(ends[columns[c]], ends[columns[c] + 1]):
            i = number[indices[e]]
            if i >= 0:
                l_indices[at], l_data[at] = i, data[e]
                at += 1
    l_feature = np.empty(feature.size, np.int32)
    own = np.zeros(feature.size)
    for k in range(K):
        for a in range(first[k], first[k + 1]):
            j = feature[a]
            l_feature[a] = place[j]
            if l_ends[place[j] + 1] - l_ends[place[j]] < ends[j + 1] - ends[j]:
                for e in range(ends[j], ends[j + 1]):
                    i = indices[e]
                    if number[i] < 0:
                        own[a] += weight[i] * proba[k, i] * (1.0 - proba[k, i]) * data[e] * data[e]
    return l_ends, l_indices, l_data, columns[:used], l_feature, l_proba, l_weight, own


@kernel
def solve(
    ends,
    indices,
    data,
    offset,
    first,
    feature,
    proba,
    weight,
    gradient,
    mode,
    l1,
    l2,
    lower,
    upper,
    unit,
    precision,
    old,
    b,
    place,
):
    """min_b of the quadratic model with its penalty; b comes in as β.

    Coordinate descent finds who is free; conjugate gradients then do what descent would take long for.
    """
    ends, indices, data, columns, local, proba, weight, own = _local(
        ends, indices, data, first, feature, proba, weight, min(0.05 * precision, 0.005)
    )
    offset = offset[columns]
    cross, diagonal = np.empty(b.size), np.empty(b.size)
    _curvatures(ends, indices, data, offset, first, local, proba, weight, cross, diagonal)
    mean = np.zeros(weight.size)
    S = np.zeros(proba.shape)
    sweeps = 0
    most = 20
    worst = 0.0
    while sweeps < 60:
        worst = _sweep(
            ends, indices, data, offset, first, local, proba, weight, gradient, own, cross, diagonal,
            mode, l1, l2, lower, upper, unit, 2, old, b, S, mean,
        )  # fmt: skip
        sweeps += 1
        if worst <= precision or (precision > 0.05 and sweeps >= 6):
            break
        if sweeps >= 3:
            _recentre(first, feature, mode, l1, l2, lower, upper, b, place)
            _free_step(
                ends, indices, data, offset, first, local, proba, weight, gradient, own, diagonal,
                mode, l1, l2, lower, upper, 0.1 * precision, most, b, old, S, mean,
            )  # fmt: skip
            most = min(200, most + 10)
