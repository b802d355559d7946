"""The documents that a rare category's words touch: their lists, and every sum over them (kernels/rare.py).

Document i has the place e = `desk.place[i]`, the p positives first; margins are y_e x_e·β, residuals θ_e = -loss'(r_e).
All others have one margin between them, and their weight is `rest`: what they add is a product.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import part
from lapwing.kernels.loss import bend, loss_theta, losses, majorant, penalty
from lapwing.kernels.newton import HALVINGS
from lapwing.kernels.nouns import ARMIJO, ROUNDING
from lapwing.kernels.working_set import Lists


@part
def place(desk, i, t, weight, margin, theta, best):
    """Touch document i."""
    desk.place[i], desk.document[t] = t, i
    desk.weight[t], desk.margin[t], desk.theta[t], desk.best[t] = weight, margin, theta, best


@part
def touch(columns, ground, desk, down, j, t, margin, theta, best):
    """Touch the documents of word j, which have the margin and the residuals of all others; returns how many are."""
    indptr, indices, _ = columns
    if desk.begin[j] >= 0:
        return t
    words = desk.ends[0]
    at = desk.ends[words]
    desk.begin[j], desk.seen[words] = at, j
    for k in range(indptr[j], indptr[j + 1]):
        i = indices[k]
        if desk.place[i] < 0:
            place(desk, i, t, down * ground.weight[i], margin, theta, best)
            t += 1
        desk.places[at] = desk.place[i]
        at += 1
    desk.ends[0], desk.ends[words + 1] = words + 1, at
    return t


@part
def rest(ground, desk, p, down, t):
    """The weight of all documents that are not touched."""
    if t == ground.weight.size:
        return 0.0
    inside = 0.0
    for e in range(p):
        inside += down * ground.weight[desk.document[e]]
    for e in range(p, t):
        inside += desk.weight[e]
    return max(down * ground.total - inside, 0.0)


@part
def lists(columns, desk, m, t):
    """`Lists` of the working set by places; every touched document has one, if an empty one."""
    indptr, _, data = columns
    pointer = np.empty(t + 2, indptr.dtype)
    for e in range(t + 2):
        pointer[e] = 0
    for a in range(1, m):
        j = desk.features[a]
        for k in range(desk.begin[j], desk.begin[j] + indptr[j + 1] - indptr[j]):
            pointer[np.uint32(desk.places[k]) + 2] += 1
    for e in range(t):
        pointer[e + 2] += pointer[e + 1]
    column, value = np.empty(pointer[t + 1], np.int32), np.empty(pointer[t + 1])
    for a in range(1, m):
        j = desk.features[a]
        shift = desk.begin[j] - indptr[j]
        for k in range(indptr[j], indptr[j + 1]):
            after = np.uint32(desk.places[k + shift]) + 1
            at = np.uint64(pointer[after])
            column[at], value[at] = a, data[k]
            pointer[after] += 1
    return Lists(desk.document[:t], pointer, column, value)


@part
def curvatures(desk, t, cautious, link):
    """c_e loss''(r_e); or, cautiously, that of a parabola which lies above the loss."""
    for e in range(t):
        bends = majorant(desk.margin[e], link) if cautious else bend(desk.margin[e], desk.theta[e], link)
        desk.curvature[e] = desk.weight[e] * max(bends, 1e-12)


@part
def model(entries, desk, p, rest, theta, bends, m, G, H):
    """Gradient G and Hessian H of the loss on the working set; all other documents, θ and loss'' are given."""
    _, pointer, column, value = entries
    for a in range(m):
        G[a] = 0.0
        for b in range(a + 1):
            H[a, b] = 0.0
    G[0], H[0, 0] = rest * theta, rest * bends
    for e in range(pointer.size - 2):
        curvature, pull = desk.curvature[e], desk.weight[e] * desk.theta[e]
        pull = pull if e < p else -pull
        G[0] -= pull
        H[0, 0] += curvature
        for k in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            at, scaled = np.uint32(column[k]), curvature * value[k]
            G[at] -= pull * value[k]
            row = H[at]
            row[0] += scaled
            for q in range(np.uint64(pointer[e]), k + np.uint64(1)):
                row[np.uint32(column[q])] += scaled * value[q]
    for a in range(m):
        for b in range(a):
            H[b, a] = H[a, b]


@part
def keep(desk, G):
    for a in range(G.size):
        desk.gradient[desk.features[a]] = G[a]


@part
def gradient(entries, desk, p, theta, apart, G):
    """G = gradient of the loss on the working set; `apart` is the weight of all other documents times their θ."""
    _, pointer, column, value = entries
    for a in range(G.size):
        G[a] = 0.0
    G[0] = apart
    for e in range(pointer.size - 2):
        pull = desk.weight[e] * theta[e] if e < p else -desk.weight[e] * theta[e]
        G[0] -= pull
        for k in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            G[np.uint32(column[k])] -= pull * value[k]
    keep(desk, G)


@part
def margins(entries, p, beta, out):
    """out_e = y_e x_e·β, of coefficients of the working set or a step of them."""
    _, pointer, column, value = entries
    for e in range(pointer.size - 2):
        score = beta[0]
        for k in range(np.uint32(pointer[e]), np.uint32(pointer[e + 1])):
            score += value[k] * beta[np.uint32(column[k])]
        out[e] = score if e < p else -score


@part
def predict(entries, desk, p, move, link):
    """shift_e = y_e Δr_e of the whole step, and the residual that the quadratic model predicts after it."""
    _, pointer, column, value = entries
    largest = 1.0 if link == 0 else np.inf
    for e in range(pointer.size - 2):
        shift = move[0]
        for k in range(np.uint64(pointer[e]), np.uint64(pointer[e + 1])):
            shift += value[k] * move[np.uint32(column[k])]
        desk.shift[e] = shift if e < p else -shift
    for e in range(pointer.size - 2):
        bends = bend(desk.margin[e], desk.theta[e], link)
        desk.predicted[e] = min(max(desk.theta[e] - bends * desk.shift[e], 0.0), largest)


@part
def search(desk, t, rest, margin, move, link, old, b, local, objective, promise):
    """As in kernels/newton.py: (share of the step taken, loss, penalty), all other documents at `margin`."""
    share = 1.0
    along = np.empty(b.size)
    for _ in range(HALVINGS):
        for e in range(t):
            desk.there[e] = desk.margin[e] + share * desk.shift[e]
        loss = losses(desk.there[:t], desk.weight[:t], link, desk.theta[:t])
        loss += rest * loss_theta(margin - share * move, link)[0]
        for a in range(b.size):
            along[a] = b[a] - (1.0 - share) * (b[a] - old[a])
        cost = penalty(local, along)
        if loss + cost <= objective + ARMIJO * share * promise + ROUNDING * objective:
            return share, loss, cost
        share *= 0.5
    return 0.0, loss, cost
