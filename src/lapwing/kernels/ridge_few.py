"""Ridge directions from the few documents that bend the loss, and the dual point that comes with them.

Near the optimum most documents are far from the boundary, where the loss is straight: what the Hessian has beyond the
prior comes from a few. kernels/ridge.py asks here for a direction once that is so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, part
from lapwing.kernels.loss import assign, dot, fill, in_turn

STEPS = 300  # of conjugate gradients among the few at most
HEAVIEST = 1e9  # a document that bends the loss so much more than the prior needs the whole Hessian


@part
def reaches(rows, l2, out):
    """Σ_j x_ij²/l2_j, over penalised features, of every document: how far the prior lets it move its own score."""
    for i in range(out.size):
        total = 0.0
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            if l2[rows.indices[k]] > 0.0:
                total += rows.data[k] * rows.data[k] / l2[rows.indices[k]]
        out[i] = total


@part
def sums_of(rows, weight, out):
    """Σ_i c_i x_ij of every feature."""
    fill(out, 0.0)
    for i in range(weight.size):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            out[np.uint32(rows.indices[k])] += weight[i] * rows.data[k]


@part
def squares_of(rows, weight, out):
    """Σ_i c_i x_ij² of every feature."""
    fill(out, 0.0)
    for i in range(weight.size):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            out[np.uint32(rows.indices[k])] += weight[i] * rows.data[k] * rows.data[k]


@part
def that_bend(indptr, weight, curvature, reach, cut, documents):
    """The documents that bend: their number, that of their entries, and their share of all entries, by weight.

    -1 where one bends by so much that Woodbury's difference would be lost to rounding.
    """
    count = entries = 0
    share = whole = 0.0
    for i in range(weight.size):
        whole += weight[i] * (indptr[i + 1] - indptr[i])
        if curvature[i] * reach[i] > HEAVIEST * weight[i]:
            return -1, 0, 1.0
        if curvature[i] * reach[i] > cut * weight[i]:
            documents[count] = i
            count += 1
            entries += indptr[i + 1] - indptr[i]
            share += weight[i] * (indptr[i + 1] - indptr[i])
    return count, entries, share / whole


def _rooted(E, mean, squares, l2, gradient, share, heads, least, root, u, h):
    """Of `from_few`: E, E^-½, u and h; then 1 + uᵀu, uᵀh and hᵀh."""
    weight = np.sqrt(share * heads) if share > 0.0 else 0.0
    uu, uh, hh = 1.0, 0.0, 0.0
    each = 1.0 / heads
    for j in range(E.size):
        mu = mean[j] * each
        # Where nothing but the documents holds a feature, a little more of them keeps E invertible.
        spread = E[j] - heads * mu * mu if l2[j] > 0.0 else E[j]
        curved = l2[j] + share * (spread if spread > 0.0 else 0.0) + (0.0 if l2[j] > 0.0 else least * squares[j])
        root[j] = 1.0 / np.sqrt(curved) if curved > 0.0 else 0.0
        u[j] = weight * mu * root[j]
        h[j] = root[j] * gradient[j]
        uu += u[j] * u[j]
        uh += u[j] * h[j]
        hh += h[j] * h[j]
    return uu, uh, hh


def _stepped(root, u, h, uu, step):
    """-E^-½ N h"""
    through = 0.0
    for j in range(step.size):
        through += u[j] * h[j]
    for j in range(step.size):
        step[j] = -root[j] * (h[j] - u[j] * through / uu)


def _halved(gradient, l2):
    """Σ_j g_j²/(2 l2_j)"""
    total = 0.0
    for j in range(gradient.size):
        total += gradient[j] * gradient[j] / (2.0 * l2[j])
    return total


def _total(values):
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


_rooted = part(_rooted, fastmath=REASSOCIATING)
_stepped = part(_stepped, fastmath=REASSOCIATING)
_halved = part(_halved, fastmath=REASSOCIATING)
_total = part(_total, fastmath=REASSOCIATING)


class Few(NamedTuple):
    """V of `from_few`, row by row: the entries of row a are start[a] … start[a+1]. Then V N h, V u, and the diagonal of
    I + V N Vᵀ, for a document of weight 1: one of weight 2 leads the way that two do."""

    start: np.ndarray
    column: np.ndarray
    value: np.ndarray
    right: np.ndarray
    along: np.ndarray
    diagonal: np.ndarray


@part
def _without(rows, weight, few, E, mean):
    """Σ c x² and Σ c x of all documents become those of all but the few."""
    for i in few:
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            j = np.uint32(rows.indices[k])  # unsigned, here and below: no entry is looked for from the end
            E[j] -= weight[i] * rows.data[k] * rows.data[k]
            mean[j] -= weight[i] * rows.data[k]


@part
def _rows_of(rows, weight, curvature, few, entries, root, u, h, uu, uh):
    m = few.size
    column, value, start = np.empty(entries, np.uint32), np.empty(entries), np.empty(m + 1, np.uint64)
    right, along, diagonal = np.empty(m), np.empty(m), np.empty(m)
    at, one = np.uint64(0), np.uint64(1)
    start[0] = at
    for a in range(m):
        i = few[a]
        scale = np.sqrt(curvature[i])
        vh = vu = vv = 0.0
        for e in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            j = np.uint32(rows.indices[e])
            column[at], value[at] = j, scale * rows.data[e] * root[j]
            vh += value[at] * h[j]
            vu += value[at] * u[j]
            vv += value[at] * value[at]
            at += one
        start[a + 1] = at
        right[a], along[a], diagonal[a] = vh - vu * uh / uu, vu, 1.0 + (vv - vu * vu / uu) / weight[i]
    return Few(start, column, value, right, along, diagonal)


@part
def _times(V, direction, uu, total, image):
    """image = (I + V N Vᵀ) direction; `total` (d+1,) holds zeros before and after."""
    one = np.uint64(1)
    for a in range(direction.size):
        for k in range(V.start[a], V.start[a + 1]):
            total[V.column[k]] += V.value[k] * direction[a]
    through = dot(V.along, direction) / uu
    for a in range(direction.size):
        even, odd = direction[a] - V.along[a] * through, 0.0  # two sums, neither waiting for the other
        at = V.start[a]
        while at + one < V.start[a + 1]:
            even += V.value[at] * total[V.column[at]]
            odd += V.value[at + one] * total[V.column[at + one]]
            at += one + one
        if at < V.start[a + 1]:
            even += V.value[at] * total[V.column[at]]
        image[a] = even + odd
    if 8 * V.column.size > total.size:
        fill(total, 0.0)
    else:
        for k in range(V.column.size):
            total[V.column[k]] = 0.0


@part
def _solve(V, uu, most, precision, total):
    """z of `from_few`, by conjugate gradients, and what the model gains by it; `most` is what it gains without."""
    m = V.right.size
    z, residual, image, direction = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    rho, gain = 0.0, most
    for a in range(m):
        z[a], residual[a], direction[a] = 0.0, V.right[a], V.right[a] / V.diagonal[a]
        rho += residual[a] * direction[a]
    for _ in range(STEPS):
        if dot(residual, residual) <= precision * gain:
            break
        _times(V, direction, uu, total, image)
        length = rho / dot(direction, image)
        last, rho = rho, 0.0
        for a in range(m):
            z[a] += length * direction[a]
            residual[a] -= length * image[a]
            rho += residual[a] * residual[a] / V.diagonal[a]
        gain = most - dot(V.right, z)
        for a in range(m):
            direction[a] = residual[a] / V.diagonal[a] + (rho / last) * direction[a]
    return z, gain


@part
def from_few(rows, weight, curvature, sums, squares, l2, gradient, few, entries, precision, total, work, step, pull):
    """The step that minimises gᵀs + sᵀ(E + X_fᵀ C X_f + α μ μᵀ)s/2, nearly; f are the few documents that bend.

    The others enter with one curvature ā for all, by their mean document μ (α = ā Σ c_i) and, in E, by what their
    features vary about it. With V = C^½ X_f E^-½ and u = √α E^-½ μ,

        s = -E^-½ N (h - Vᵀz),   (I + V N Vᵀ) z = V N h,   h = E^-½ g,   N = I - u uᵀ/(1+uᵀu)

    and z, as long as there are documents, comes by conjugate gradients. The model then falls short of its minimum by
    at most |residual|²/2, which is compared with what it gains. `total` (d+1,) holds zeros before and after.

    Returns the fall of the objective that the model promises. `pull` (m,) is C^½ z, by which the residuals of the few
    change along the step; E^-½ and h - Vᵀz stay in `work[2]` and `work[4]`: see `proof`.
    """
    E, mean, root, u, h = work
    bending, heads = _total(curvature), _total(weight)
    average, least = bending / heads, 1e-9 * heads
    assign(E, squares)
    assign(mean, sums)
    _without(rows, weight, few, E, mean)
    for i in few:
        bending -= curvature[i]
        heads -= weight[i]
    if heads <= least:  # none, but for rounding
        bending, heads = 0.0, np.inf
    uu, uh, hh = _rooted(E, mean, squares, l2, gradient, max(bending, 0.0) / heads, heads, 0.01 * average, root, u, h)
    V = _rows_of(rows, weight, curvature, few, entries, root, u, h, uu, uh)
    z, gain = _solve(V, uu, hh - uh * uh / uu, precision, total)
    for a in range(few.size):
        pull[a] = np.sqrt(curvature[few[a]]) * z[a]
        for k in range(V.start[a], V.start[a + 1]):
            h[V.column[k]] -= V.value[k] * z[a]
    _stepped(root, u, h, uu, step)
    return 0.5 * gain


def _changes(gradient, before, newton, last):
    """Of the change of the gradient since `before`, what lies along `newton` and along `last`; the slope of both."""
    along = across = slope = drift = 0.0
    for j in range(gradient.size):
        change = gradient[j] - before[j]
        along += change * newton[j]
        across += change * last[j]
        slope += gradient[j] * newton[j]
        drift += gradient[j] * last[j]
    return along, across, slope, drift


_changes = part(_changes, fastmath=REASSOCIATING)


@part
def across_last(gradient, before, newton, last):
    """last ← newton + β last, with β such that the gradient's change along the last step has no part in it.

    The model's errors repeat themselves from round to round: they are what is searched across. `before` is the
    gradient where the last step began. Nothing is kept of it where the sum would lead down by less than half.
    """
    along, across, slope, drift = _changes(gradient, before, newton, last)
    beta = -along / across if across > 0.0 else 0.0
    if not beta * drift <= -0.5 * slope:
        beta = 0.0
    for j in range(last.size):
        last[j] = newton[j] + beta * last[j]


@part
def proof(rows, documents, curvature, theta, l2, few, pull, work, limit):
    """The duality gap with residuals as a Newton step would leave them, if it is within `limit`; else infinity.

    The few change by `pull`, cut to where the dual is defined, the others by τ times their curvature: what they would
    do if the constant moved, τ such that nothing is left of its gradient. `pull` and `work` come from `from_few`;
    E^½(h - Vᵀz) is what the few leave of the gradient. For logistic loss the dual falls short by

        Σ_i c_i KL(θ'_i, θ_i) + Σ_j g_j²/(2 l2_j),   KL(θ', θ) ≤ (θ'-θ)²/(θ(1-θ)),

    about as much as the objective is above its minimum; with θ itself by far more, where the prior is weak. The bound
    tells first whether it is worth a pass, and stands for all but the few. θ is overwritten where the gap is within
    the limit.
    """
    y, weight, _ = documents
    d = l2.size - 1
    left = work[4]
    for j in range(d + 1):
        left[j] /= work[2, j]
    bending, cost = in_turn(curvature), 0.0
    for a in range(few.size):
        i = few[a]
        inside = min(max(theta[i] + y[i] * pull[a] / weight[i], 0.0), 1.0)
        kept = y[i] * weight[i] * (inside - theta[i])
        if abs(kept - pull[a]) > 1e-9 * abs(pull[a]):
            for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
                left[np.uint32(rows.indices[k])] += (pull[a] - kept) * rows.data[k]
            pull[a] = kept
        cost += pull[a] * pull[a] / curvature[i]
        bending -= curvature[i]
    tau = left[d] / bending if bending > 0.0 else np.inf
    if not (abs(tau) <= 1.0 and cost + tau * tau * bending + _halved(left[:d], l2) <= limit):
        return np.inf

    changed, response, gap = np.empty(theta.size), np.empty(theta.size), 0.0
    for i in range(theta.size):
        changed[i], response[i] = theta[i] + y[i] * tau * theta[i] * (1.0 - theta[i]), tau * curvature[i]
    for a in range(few.size):
        i = few[a]
        changed[i], response[i] = theta[i] + y[i] * pull[a] / weight[i], 0.0
        gap += weight[i] * _divergence(changed[i], theta[i])
    for i in range(theta.size):
        gap += tau * response[i]
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            left[np.uint32(rows.indices[k])] -= response[i] * rows.data[k]
    gap += _halved(left, l2)
    if not gap <= limit:
        return np.inf
    assign(theta, changed)
    return gap


@part
def _divergence(p, q):
    """KL(p, q) = p ln p/q + (1-p) ln (1-p)/(1-q)"""
    first = p * np.log(p / q) if p > 0.0 else 0.0
    return max(first + (1.0 - p) * np.log1p((q - p) / (1.0 - q)), 0.0) if p < 1.0 else first
