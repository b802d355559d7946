"""Polytomous models with sparse priors: Newton on a working set of (class, feature) pairs, certified by duality.

Symbols as in kernels/softmax.py.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import feasible_scale, penalty_at, violation
from lapwing.kernels.softmax import dual_objective, kkt_bounds, penalty, price, scores, softmax, with_constant
from lapwing.kernels.softmax_quadratic import collect, solve, spread_step

RELAX = 0.4  # factor by which a stronger prior is relaxed
LOOSE = 0.2  # relative fall of the objective at which a stronger prior is left
ROUNDING = 1e-13  # a sum over documents is not known better


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
    ends, offset = with_constant(indptr, offset)
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
        collect(ends, indices, data, offset, first, feature, S, slope)
        away = 0.0
        for a in range(m):
            away += max(abs(b[a] - w_mode[a]), 1.0)
        unit = objective / away
        solve(
            ends, indices, data, offset, first, feature, bent, weight, slope,
            w_mode, w_l1, w_l2, w_lower, w_upper, unit, precision, old, b, place,
        )  # fmt: skip
        spread_step(ends, indices, data, offset, first, feature, b - old, S)
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
            scale = 1.0
            for k in range(K):
                scale = min(scale, feasible_scale(-gradient[k], l1[k], l2[k], lower[k], upper[k]))
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
