"""Polytomous models with sparse priors: Newton on a working set of (class, feature) pairs, certified by duality.

Symbols: k class, i document, j column; p_ik the class probabilities, S_ik the change of the scores.
Arrays over classes and documents are (K, n): one class at a time fits the cache. The constant feature is column d:
it has no stored entries and offset 1.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import argmin, penalty_at, penalty_conjugate, violation

RELAX = 0.4  # factor by which a stronger prior is relaxed
LOOSE = 0.2  # relative fall of the objective at which a stronger prior is left
CROSSING = 0.2
ROUNDING = 1e-13  # a sum over documents is not known better


@kernel
def scores(ends, indices, data, offset, beta, out):
    """out_ik = (x_i + offset)·β_k"""
    for k in range(beta.shape[0]):
        row = out[k]
        shift = 0.0
        for j in range(beta.shape[1]):
            shift += offset[j] * beta[k, j]
        row[:] = shift
        for j in range(beta.shape[1]):
            if beta[k, j] != 0.0:
                for e in range(ends[j], ends[j + 1]):
                    row[indices[e]] += data[e] * beta[k, j]


@kernel
def softmax(score, labels, weight, proba):
    """Σ_i c_i [ ln Σ_k e^{s_ik} - s_i,y_i ], and p_ik."""
    K, n = score.shape
    top = score[0].copy()
    for k in range(1, K):
        for i in range(n):
            top[i] = max(top[i], score[k, i])
    total = np.zeros(n)
    for k in range(K):
        for i in range(n):
            value = np.exp(score[k, i] - top[i])
            proba[k, i] = value
            total[i] += value
    loss = 0.0
    for i in range(n):
        if weight[i] > 0.0:
            loss += weight[i] * (np.log(total[i]) + top[i] - score[labels[i], i])
        total[i] = 1.0 / total[i]
    for k in range(K):
        for i in range(n):
            proba[k, i] *= total[i]
    return loss


@kernel
def _with_constant(indptr, offset):
    """Ends and offsets of the columns with the constant feature as one more."""
    d = offset.size - 1
    ends = np.empty(d + 2, np.int64)
    ends[: d + 1], ends[d + 1] = indptr, indptr[d]
    offset = offset.copy()
    offset[d] = 1.0
    return ends, offset


@kernel
def loss_at(indptr, indices, data, offset, labels, weight, beta):
    """Σ_i c_i [ ln Σ_k e^{s_ik} - s_i,y_i ] at β; X by columns."""
    ends, offset = _with_constant(indptr, offset)
    score = np.empty((beta.shape[0], weight.size))
    scores(ends, indices, data, offset, beta, score)
    return softmax(score, labels, weight, np.empty_like(score))


@kernel
def _cautious(proba, labels, out):
    """Probabilities under which the quadratic model lies above the loss where the true one misjudges it.

    Far on the wrong side of a class boundary the loss is straight, and its curvature p(1-p) tells nothing of where
    it bends. With r the logit of the label's probability, tanh(r/2)/2r is the curvature that majorises two
    classes; the label's probability is moved until it has this one, the other classes' in proportion.
    """
    K, n = proba.shape
    for i in range(n):
        y = labels[i]
        others = 0.0
        for k in range(K):
            if k != y:
                others += proba[k, i]
        own = max(proba[y, i], 1e-300)
        others = max(others, 1e-300)
        r = np.log(own / others)
        factor = 1.0
        if abs(r) > 1e-3:
            far = 0.5 * (1.0 + np.sqrt(max(1.0 - 2.0 * np.tanh(0.5 * r) / r, 0.0)))
            factor = (1.0 - far if r > 0.0 else far) / others
        for k in range(K):
            out[k, i] = factor * proba[k, i]
        out[y, i] = max(1.0 - factor * others, 0.0)


@kernel
def price(ends, indices, data, offset, labels, weight, theta, gradient):
    """gradient_kj = Σ_i c_i (θ_ik - 1[y_i = k]) (x_ij + offset_j), all classes in one pass over X."""
    K, n = theta.shape
    pull = np.empty((n, K))
    total = np.zeros(K)
    for k in range(K):
        for i in range(n):
            pull[i, k] = weight[i] * theta[k, i]
    for i in range(n):
        # 1 - θ by its own sum: near 1 the difference would be all rounding
        rest = 0.0
        for k in range(K):
            if k != labels[i]:
                rest += pull[i, k]
        pull[i, labels[i]] = -rest
        for k in range(K):
            total[k] += pull[i, k]
    sums = np.empty(K)
    for j in range(gradient.shape[1]):
        for k in range(K):
            sums[k] = offset[j] * total[k]
        for e in range(ends[j], ends[j + 1]):
            x = data[e]
            row = pull[indices[e]]
            for k in range(K):
                sums[k] += x * row[k]
        for k in range(K):
            gradient[k, j] = sums[k]


@kernel
def feasible_scale(gradient, l1, l2, lower, upper):
    """The largest s ≤ 1 with -s·gradient dual feasible; 0 where a coordinate of infinite variance leaves none."""
    scale = 1.0
    for k in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            z = -gradient[k, j]
            if l2[k, j] == 0.0 and abs(z) > scale * l1[k, j]:
                if (z > 0.0 and np.isinf(upper[k, j])) or (z < 0.0 and np.isinf(lower[k, j])):
                    scale = min(scale, l1[k, j] / abs(z))
    return scale


@kernel
def dual_objective(theta, labels, weight, gradient, scale, mode, l1, l2, lower, upper):
    """D(y + s(θ - y)) of model/objective.py; gradient = -z."""
    K, n = theta.shape
    dual = 0.0
    for i in range(n):
        if weight[i] > 0.0:
            rest = entropy = 0.0
            for k in range(K):
                if k != labels[i]:
                    t = scale * theta[k, i]
                    rest += t
                    if t > 0.0:
                        entropy -= t * np.log(t)
            if rest < 1.0:
                entropy -= (1.0 - rest) * np.log1p(-rest)
            dual += weight[i] * entropy
    for k in range(K):
        for j in range(mode.shape[1]):
            dual -= penalty_conjugate(-scale * gradient[k, j], mode[k, j], l1[k, j], l2[k, j], lower[k, j], upper[k, j])
    return dual


@kernel
def penalty(beta, mode, l1, l2, strength):
    total = 0.0
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            if beta[k, j] != mode[k, j]:
                total += penalty_at(beta[k, j], mode[k, j], l1[k, j], l2[k, j])
    return strength * total


@kernel
def kkt_bounds(beta, gradient, mode, l1, l2, lower, upper):
    """(kkt, kkt_bound) of `Certificate`, from the gradient of the loss."""
    worst = bound = 0.0
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1]):
            v = violation(beta[k, j], gradient[k, j], mode[k, j], l1[k, j], l2[k, j], lower[k, j], upper[k, j])
            worst = max(worst, v)
            bound += v * max(abs(beta[k, j] - mode[k, j]), 1.0)
    return worst, bound


@kernel
def _choose(inside, beta, gradient, mode, l1, l2, lower, upper, strength, most):
    """Let go of pairs at their mode that are far from moving; add about `most` of the worst violators."""
    K, size = beta.shape
    count = 0
    top = 0.0
    excess = np.zeros((K, size), np.float32)
    for k in range(K):
        for j in range(size):
            slope = strength * l1[k, j]
            if inside[k, j]:
                if beta[k, j] == mode[k, j] and slope > 0.0 and abs(gradient[k, j]) < 0.9 * slope and j < size - 1:
                    inside[k, j] = False
            else:
                v = violation(
                    beta[k, j], gradient[k, j], mode[k, j], slope, strength * l2[k, j], lower[k, j], upper[k, j]
                )
                if v > 1e-9 * slope:
                    excess[k, j] = v / (slope + 1e-300)
                    top = max(top, excess[k, j])
                    count += 1
    cut = 0.0
    above = count
    while above > most:  # raise the cut until few enough are above it
        cut = max(1.5 * cut, top / 256.0)
        above = 0
        for k in range(K):
            for j in range(size):
                above += excess[k, j] > cut
        if above == 0:
            cut /= 1.5
            break
    for k in range(K):
        for j in range(size):
            if excess[k, j] > cut:
                inside[k, j] = True


@kernel
def _listed(inside):
    """The pairs by class: those of class k are feature[first[k] : first[k+1]]."""
    K = inside.shape[0]
    first = np.zeros(K + 1, np.int64)
    for k in range(K):
        first[k + 1] = first[k] + np.sum(inside[k])
    feature = np.empty(first[K], np.int32)
    a = 0
    for k in range(K):
        for j in range(inside.shape[1]):
            if inside[k, j]:
                feature[a] = j
                a += 1
    return first, feature


@kernel
def _gathered(array, first, feature):
    out = np.empty(feature.size)
    for k in range(first.size - 1):
        for a in range(first[k], first[k + 1]):
            out[a] = array[k, feature[a]]
    return out


@kernel
def _spread_step(ends, indices, data, offset, first, feature, step, S):
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
def _collect(ends, indices, data, offset, first, feature, T, out):
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
    _collect(ends, indices, data, offset, f_first, f_feature, T, slope)
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
        _spread_step(ends, indices, data, offset, f_first, f_feature, p, V)
        _bend(proba, weight, V, scratch, T)
        _collect(ends, indices, data, offset, f_first, f_feature, T, Hp)
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
        _spread_step(ends, indices, data, offset, f_first, f_feature, step, V)
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
def cut_at(curvature, spare):
    """A cut below which documents hold at most this share of all curvature."""
    total = cut = 0.0
    for i in range(curvature.size):
        total += curvature[i]
        cut = max(cut, curvature[i])
    while cut > 0.0:
        cut *= 0.25
        lost = 0.0
        for i in range(curvature.size):
            if curvature[i] < cut:
                lost += curvature[i]
        if lost <= spare * total:
            return cut
    return 0.0


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
    cut = cut_at(bends, spare)
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
def _solve(
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


@kernel
def fit(indptr, indices, data, offset, labels, weight, mode, l1, l2, lower, upper, beta, tol, max_rounds):
    """min_β Σ_i c_i [ln Σ_k e^{s_ik} - s_i,y_i] + Σ_kj [ l1|β-m| + l2(β-m)²/2 ], lower ≤ β ≤ upper.

    indptr, indices, data   X by columns (CSC), d of them; the constant feature is coordinate d
    offset                  (d+1,) added to every entry of a column
    labels, weight          class numbers and document weights c
    mode … upper            the prior, (K, d+1) each
    beta                    (K, d+1) start; overwritten by the solution

    As kernels/newton.py, over pairs of a class and a feature: a working set grows by the worst violators, the loss
    is replaced by its quadratic model with all its terms between classes, and the probabilities which that model
    predicts at its minimum, p_ik + p_ik (S_ik - Σ_l p_il S_il), are the dual point.

    Returns (objective, gap, kkt, kkt_bound, rounds, converged, dual point).
    """
    n, K, d = weight.size, beta.shape[0], beta.shape[1] - 1
    ends, offset = _with_constant(indptr, offset)
    inside = np.zeros((K, d + 1), np.bool_)
    flat = False  # without a feasible dual point the optimality conditions are checked at β itself
    for k in range(K):
        for j in range(d + 1):
            beta[k, j] = min(max(beta[k, j], lower[k, j]), upper[k, j])
            unheld = l1[k, j] == 0.0 and (ends[j + 1] > ends[j] or offset[j] != 0.0)
            inside[k, j] = lower[k, j] < upper[k, j] and (j == d or beta[k, j] != mode[k, j] or unheld)
            open_side = np.isinf(lower[k, j]) or np.isinf(upper[k, j])
            flat = flat or (l1[k, j] == 0.0 and l2[k, j] == 0.0 and open_side)
    score, proba = np.empty((K, n)), np.empty((K, n))
    trial, S, theta = np.empty((K, n)), np.empty((K, n)), np.empty((K, n))
    best_theta = np.empty((K, n))
    new_proba = np.empty((K, n))
    gradient = np.empty((K, d + 1))
    place = np.full((K, d + 1), -1, np.int32)
    scores(ends, indices, data, offset, beta, score)
    loss = softmax(score, labels, weight, proba)
    price(ends, indices, data, offset, labels, weight, proba, gradient)
    strength = 1.0
    for k in range(K):
        for j in range(d):
            if l1[k, j] > 0.0 and beta[k, j] == mode[k, j]:
                v = violation(beta[k, j], gradient[k, j], mode[k, j], 0.0, 0.0, lower[k, j], upper[k, j])
                strength = max(strength, v / l1[k, j])
    strength = max(1.0, 0.3 * strength)
    best_theta[:] = proba
    best_dual = -np.inf
    gap = kkt = kkt_bound = np.nan
    converged = False
    precision = 0.1
    rounds = 0
    t = 1.0
    cautious = True
    bent = proba  # the probabilities whose curvature the quadratic model has
    while rounds < max_rounds:
        rounds += 1
        bent = proba
        if cautious:
            bent = new_proba
            _cautious(proba, labels, bent)
        m = np.sum(inside)
        _choose(inside, beta, gradient, mode, l1, l2, lower, upper, strength, max(20 * K, m if t > 0.5 else m // 8))
        first, feature = _listed(inside)
        m = feature.size
        w_mode, w_l1 = _gathered(mode, first, feature), strength * _gathered(l1, first, feature)
        w_l2, w_lower = strength * _gathered(l2, first, feature), _gathered(lower, first, feature)
        w_upper, old = _gathered(upper, first, feature), _gathered(beta, first, feature)
        b = old.copy()
        objective = loss + penalty(beta, mode, l1, l2, strength)
        S[:] = weight * proba
        for i in range(n):
            S[labels[i], i] = 0.0
            rest = 0.0
            for k in range(K):
                rest += S[k, i]
            S[labels[i], i] = -rest
        slope = np.empty(m)
        _collect(ends, indices, data, offset, first, feature, S, slope)
        away = 0.0
        for a in range(m):
            away += max(abs(b[a] - w_mode[a]), 1.0)
        unit = objective / away
        _solve(
            ends, indices, data, offset, first, feature, bent, weight, slope,
            w_mode, w_l1, w_l2, w_lower, w_upper, unit, precision, old, b, place,
        )  # fmt: skip
        _spread_step(ends, indices, data, offset, first, feature, b - old, S)
        promise = 0.0
        for a in range(m):
            promise += slope[a] * (b[a] - old[a])
            promise += penalty_at(b[a], w_mode[a], w_l1[a], w_l2[a])
            promise -= penalty_at(old[a], w_mode[a], w_l1[a], w_l2[a])
        # The dual point: what the model predicts, kept in the simplex.
        for i in range(n):
            mean = 0.0
            for k in range(K):
                mean += bent[k, i] * S[k, i]
            total = 0.0
            for k in range(K):
                theta[k, i] = max(proba[k, i] + bent[k, i] * (S[k, i] - mean), 0.0)
                total += theta[k, i]
            for k in range(K):
                theta[k, i] /= total
        t = 1.0
        accepted = False
        for _ in range(6):
            for k in range(K):
                for i in range(n):
                    trial[k, i] = score[k, i] + t * S[k, i]
            new_loss = softmax(trial, labels, weight, new_proba)
            new_penalty = 0.0
            for a in range(m):
                new_penalty += penalty_at(old[a] + t * (b[a] - old[a]), w_mode[a], w_l1[a], w_l2[a])
            if new_loss + new_penalty <= objective + 0.01 * t * promise + ROUNDING * objective:
                accepted = True
                break
            t *= 0.5
        fell = 0.0
        if accepted:
            for k in range(K):
                for a in range(first[k], first[k + 1]):
                    beta[k, feature[a]] = b[a] if t == 1.0 else old[a] + t * (b[a] - old[a])
            score, trial = trial, score
            proba, new_proba = new_proba, proba
            loss = new_loss
            fell = objective - new_loss - new_penalty
            objective = new_loss + new_penalty
        price(ends, indices, data, offset, labels, weight, proba if flat or not accepted else theta, gradient)
        if not accepted and not cautious:
            cautious = True
            continue
        cautious = strength > 1.0 or t < 0.25
        if strength > 1.0:
            if t >= 0.5 and fell <= LOOSE * objective:
                strength = max(1.0, RELAX * strength)
            continue
        if flat:
            kkt, kkt_bound = kkt_bounds(beta, gradient, mode, l1, l2, lower, upper)
            best_theta[:] = proba
            converged = kkt_bound <= tol * objective
        else:
            source = theta if accepted else proba
            scale = feasible_scale(gradient, l1, l2, lower, upper)
            dual = dual_objective(source, labels, weight, gradient, scale, mode, l1, l2, lower, upper)
            if dual > best_dual:
                best_dual = dual
                for k in range(K):
                    for i in range(n):
                        best_theta[k, i] = scale * source[k, i] + (1.0 - scale if k == labels[i] else 0.0)
            gap = max(objective - best_dual, 0.0)
            converged = gap <= tol * objective
        if converged or not accepted:
            break
        reached = fell / objective
        precision = 0.1 if reached > 0.02 else max(0.2 * tol, reached)
    price(ends, indices, data, offset, labels, weight, proba, gradient)
    kkt, kkt_bound = kkt_bounds(beta, gradient, mode, l1, l2, lower, upper)
    return loss + penalty(beta, mode, l1, l2, 1.0), gap, kkt, kkt_bound, rounds, converged, best_theta
