"""Ridge for many categories at once: Newton's method, eight categories to a pass over X.

    min_β Σ_i c_i loss(r_i) + Σ_j l2_j (β_j-m_j)²/2      for each category its own y, c, m, l2

A pass computes Q = X P, W = A∘Q + B and out = Xᵀ W, all of LANES columns. A lane may be at one of three things:
STEP, P is the step it goes along, found before: Q tells how margins change, the step's length follows, and with
B = the residuals there `out` is the gradient; GRADIENT, the same without a step; DIRECTION, conjugate gradients for
the next step, A the curvatures and P the search direction: `out` is the Hessian times P. So every pass serves every
lane, whatever each is at; a lane whose category is done takes the next one. A lane's arithmetic does not depend on
the others: alone or in company, the answer is the same to the bit.

At first every document bends the loss, and directions may be rough. Later few do: all others are far from the
boundary. Then the direction is had from those few alone (`_from_few`), without a pass. After every step the constant
feature is brought to its optimum (`_level`): a step leaves it too far off, and with a weak prior it alone would make
nearly all of the duality gap.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, kernel
from lapwing.kernels._lanes import LANES, gather, scatter
from lapwing.kernels.loss import bend, intercept_only, losses, slopes

FEW = 0.1  # the most of X's entries that few documents may have, as long as the relative gap is wide:
WIDE = 2.0
HEAVIEST = 1e9
BENDS = 1.0  # a document counts among the few whose curvature weighs this much more than the prior
SLOW = 12  # directions from few documents after which more of them are taken
EARLY = 1e3  # relative gap above which a direction may be rough
NEAR = 0.03  # a step of the constant so short that the next would be shorter by far
PATIENCE = 20  # rounds without a fall of the objective after which a fit is given up
IDLE, GRADIENT, STEP, BEGIN, DIRECTION, FOUND = range(6)  # what a lane is at


@kernel
def _forth(indptr, indices, data, offset, P, Q):
    """Q = X P; `offset` is added to every entry of a column."""
    common = np.zeros(LANES)
    if np.any(offset):
        for j in range(offset.size):
            common += offset[j] * P[j]
    for i in range(Q.shape[0]):
        for lane in range(LANES):
            Q[i, lane] = common[lane]
        gather(data, indices, indptr[i], indptr[i + 1], P, Q, i)


@kernel
def _back(indptr, indices, data, offset, A, B, Q, W, out):
    """W = A∘Q + B, out = Xᵀ W"""
    q, w, a, b = Q.ravel(), W.ravel(), A.ravel(), B.ravel()
    for k in range(q.size):
        w[k] = a[k] * q[k] + b[k]
    out[:] = 0.0
    for i in range(W.shape[0]):
        scatter(data, indices, indptr[i], indptr[i + 1], out, W, i)
    if np.any(offset):
        for j in range(offset.size - 1):
            out[j] += offset[j] * out[offset.size - 1]


@kernel
def _lanes(rows):
    """Zeros, (rows, LANES), each row a cache line of its own."""
    memory = np.zeros((rows + 1) * LANES)
    first = (-memory.ctypes.data % 64) // 8
    return memory[first : first + rows * LANES].reshape(rows, LANES)


@kernel
def _those(at, what, room):
    """The lanes that are at `what`."""
    count = 0
    for lane in range(at.size):
        if at[lane] == what:
            room[count] = lane
            count += 1
    return room[:count]


@kernel
def _apart(lanes, together, rows):
    """rows[lane] = together[:, lane]: all at once, for a cache line holds every lane."""
    for k in range(together.shape[0]):
        for lane in lanes:
            rows[lane, k] = together[k, lane]


@kernel
def _together(lanes, rows, together):
    """together[:, lane] = rows[lane]"""
    for k in range(together.shape[0]):
        for lane in lanes:
            together[k, lane] = rows[lane, k]


@kernel
def _start(indptr, indices, data, offset, y, weight, link, mode, l2, beta, margin):
    """The margins at β; from a start at 0, the constant feature is first given its own optimum."""
    d = beta.size - 1
    if np.all(beta[:d] == 0.0):
        positive = np.sum(weight[y > 0.0])
        negative = np.sum(weight[y < 0.0])
        beta[d] = intercept_only(positive, negative, link, beta[d], mode[d], 0.0, l2[d], -np.inf, np.inf)
        margin[:] = y * beta[d]
        return
    common = np.sum(offset * beta)
    for i in range(y.size):
        total = common
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * beta[indices[k]]
        margin[i] = y[i] * total


@kernel
def _ask(margin, y, weight, link, theta, pull):
    """Set a lane up for its gradient. Returns the loss."""
    loss = losses(margin, weight, link, theta)
    for i in range(y.size):
        pull[i] = -weight[i] * y[i] * theta[i]
    return loss


def _gap(pull, beta, mode, l2, gradient):
    """The gradient, from that of the loss, `pull`; returns the penalty and the duality gap."""
    penalty = gap = 0.0
    for j in range(beta.size):
        away = beta[j] - mode[j]
        gradient[j] = pull[j] + l2[j] * away
        penalty += 0.5 * l2[j] * away * away
        gap += gradient[j] * gradient[j] / (2.0 * l2[j])
    return penalty, gap


_gap = kernel(_gap, fastmath=REASSOCIATING)


@kernel
def _violation(gradient, beta, mode):
    """(kkt, kkt_bound): see `Certificate` in model/objective.py."""
    worst = bound = 0.0
    for j in range(beta.size):
        worst = max(worst, abs(gradient[j]))
        bound += abs(gradient[j]) * max(abs(beta[j] - mode[j]), 1.0)
    return worst, bound


@kernel
def _reach(indptr, indices, data, l2, out):
    """Σ_j x_ij²/l2_j, over penalised features, of every document: how far the prior lets it move its own score."""
    for i in range(out.size):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            if l2[indices[k]] > 0.0:
                total += data[k] * data[k] / l2[indices[k]]
        out[i] = total


@kernel
def _sums(indptr, indices, data, weight, out):
    """Σ_i c_i x_ij of every feature."""
    out[:] = 0.0
    for i in range(weight.size):
        for k in range(indptr[i], indptr[i + 1]):
            out[indices[k]] += weight[i] * data[k]


@kernel
def _squares(indptr, indices, data, weight, out):
    """Σ_i c_i x_ij² of every feature."""
    out[:] = 0.0
    for i in range(weight.size):
        for k in range(indptr[i], indptr[i + 1]):
            out[indices[k]] += weight[i] * data[k] * data[k]


@kernel
def _few(indptr, weight, curvature, reach, cut, documents):
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
    """Of `_from_few`: E, E^-½, u and h; then 1 + uᵀu, uᵀh and hᵀh."""
    weight = np.sqrt(share * heads) if share > 0.0 else 0.0
    uu, uh, hh = 1.0, 0.0, 0.0
    for j in range(E.size):
        mu = mean[j] / heads
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


def _total(values):
    total = 0.0
    for value in values:
        total += value
    return total


_rooted = kernel(_rooted, fastmath=REASSOCIATING)
_stepped = kernel(_stepped, fastmath=REASSOCIATING)
_total = kernel(_total, fastmath=REASSOCIATING)


@kernel
def _from_few(
    indptr, indices, data, weight, curvature, sums, squares, l2, gradient, few, entries, precision, total, work,
    step, pull,
):  # fmt: skip
    """The step that minimises gᵀs + sᵀ(E + X_fᵀ C X_f + α μ μᵀ)s/2, nearly; f are the few documents that bend.

    The others enter with one curvature ā for all, by their mean document μ (α = ā Σ c_i) and, in E, by what their
    features vary about it. With V = C^½ X_f E^-½ and u = √α E^-½ μ,

        s = -E^-½ N (h - Vᵀz),   (I + V N Vᵀ) z = V N h,   h = E^-½ g,   N = I - u uᵀ/(1+uᵀu)

    and z, as long as there are documents, comes by conjugate gradients. The model then falls short of its minimum by
    at most |residual|²/2, which is compared with what it gains. `total` (d+1,) holds zeros before and after.

    Returns the fall of the objective that the model promises. `pull` (m,) is C^½ z, by which the residuals of the few
    change along the step; E^-½ and h - Vᵀz stay in `work[2]` and `work[4]`: see `_proof`.
    """
    size, m = gradient.size, few.size
    E, mean, root, u, h = work
    bending, heads = _total(curvature), _total(weight)
    average, least = bending / heads, 1e-9 * heads
    E[:], mean[:] = squares, sums
    for i in few:
        bending -= curvature[i]
        heads -= weight[i]
        for k in range(indptr[i], indptr[i + 1]):
            E[indices[k]] -= weight[i] * data[k] * data[k]
            mean[indices[k]] -= weight[i] * data[k]
    if heads <= least:  # none, but for rounding
        bending, heads = 0.0, np.inf
    uu, uh, hh = _rooted(E, mean, squares, l2, gradient, max(bending, 0.0) / heads, heads, 0.01 * average, root, u, h)

    # Unsigned, so that no entry is looked for from the end: a third of the time.
    column, value, start = np.empty(entries, np.uint32), np.empty(entries), np.zeros(m + 1, np.uint64)
    # V N h; the diagonal of I + V N Vᵀ, for a document of weight 1: one of weight 2 leads the way that two do; V u
    right, diagonal, w = np.empty(m), np.empty(m), np.empty(m)
    at, one = np.uint64(0), np.uint64(1)
    for a in range(m):
        i = few[a]
        scale = np.sqrt(curvature[i])
        vh = vu = vv = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            column[at], value[at] = j, scale * data[e] * root[j]
            vh += value[at] * h[j]
            vu += value[at] * u[j]
            vv += value[at] * value[at]
            at += one
        start[a + 1] = at
        right[a], diagonal[a], w[a] = vh - vu * uh / uu, 1.0 + (vv - vu * vu / uu) / weight[i], vu

    z, residual, image = np.zeros(m), right.copy(), np.empty(m)
    direction = residual / diagonal
    rho, gain = np.sum(residual * direction), hh - uh * uh / uu
    for _ in range(300):
        if np.sum(residual * residual) <= precision * gain:
            break
        for a in range(m):
            for k in range(start[a], start[a + 1]):
                total[column[k]] += value[k] * direction[a]
        through = np.sum(w * direction) / uu
        for a in range(m):
            even, odd = direction[a] - w[a] * through, 0.0  # two sums, neither waiting for the other
            at = start[a]
            while at + one < start[a + 1]:
                even += value[at] * total[column[at]]
                odd += value[at + one] * total[column[at + one]]
                at += one + one
            if at < start[a + 1]:
                even += value[at] * total[column[at]]
            image[a] = even + odd
        if 8 * entries > size:
            total[:] = 0.0
        else:
            for k in range(entries):
                total[column[k]] = 0.0
        length = rho / np.sum(direction * image)
        z += length * direction
        residual -= length * image
        gain = hh - uh * uh / uu - np.sum(right * z)
        last, rho = rho, np.sum(residual * residual / diagonal)
        direction = residual / diagonal + (rho / last) * direction

    for a in range(m):
        pull[a] = np.sqrt(curvature[few[a]]) * z[a]
        for k in range(start[a], start[a + 1]):
            h[column[k]] -= value[k] * z[a]
    _stepped(root, u, h, uu, step)
    return 0.5 * gain


@kernel
def _proof(indptr, indices, data, y, weight, curvature, theta, l2, few, pull, work, limit):
    """The duality gap with residuals as a Newton step would leave them, if it is within `limit`; else infinity.

    The few change by `pull`, cut to where the dual is defined, the others by τ times their curvature: what they would
    do if the constant moved, τ such that nothing is left of its gradient. `pull` and `work` come from `_from_few`;
    E^½(h - Vᵀz) is what the few leave of the gradient. For logistic loss the dual falls short by

        Σ_i c_i KL(θ'_i, θ_i) + Σ_j g_j²/(2 l2_j),   KL(θ', θ) ≤ (θ'-θ)²/(θ(1-θ)),

    about as much as the objective is above its minimum; with θ itself by far more, where the prior is weak. The bound
    tells first whether it is worth a pass. θ is overwritten where the gap is within the limit.
    """
    d = l2.size - 1
    left = work[4]
    for j in range(d + 1):
        left[j] /= work[2, j]
    bending = np.sum(curvature)
    cost = 0.0
    for a in range(few.size):
        i = few[a]
        inside = min(max(theta[i] + y[i] * pull[a] / weight[i], 0.0), 1.0)
        kept = y[i] * weight[i] * (inside - theta[i])
        if abs(kept - pull[a]) > 1e-9 * abs(pull[a]):
            for k in range(indptr[i], indptr[i + 1]):
                left[indices[k]] += (pull[a] - kept) * data[k]
            pull[a] = kept
        cost += pull[a] * pull[a] / curvature[i]
        bending -= curvature[i]
    tau = left[d] / bending if bending > 0.0 else np.inf
    if not (abs(tau) <= 1.0 and cost + tau * tau * bending + _halved(left[:d], l2) <= limit):
        return np.inf

    changed, response = theta.copy(), tau * curvature
    for i in range(theta.size):
        changed[i] += y[i] * tau * theta[i] * (1.0 - theta[i])
    for a in range(few.size):
        i = few[a]
        changed[i], response[i] = theta[i] + y[i] * pull[a] / weight[i], 0.0
    for i in range(theta.size):
        for k in range(indptr[i], indptr[i + 1]):
            left[indices[k]] -= response[i] * data[k]
    gap = _halved(left, l2)
    for i in range(theta.size):
        gap += weight[i] * _divergence(changed[i], theta[i])
    if not gap <= limit:
        return np.inf
    theta[:] = changed
    return gap


@kernel
def _divergence(p, q):
    """KL(p, q) = p ln p/q + (1-p) ln (1-p)/(1-q)"""
    first = p * np.log(p / q) if p > 0.0 else 0.0
    return max(first + (1.0 - p) * np.log1p((q - p) / (1.0 - q)), 0.0) if p < 1.0 else first


@kernel
def _halved(gradient, l2):
    """Σ_j g_j²/(2 l2_j)"""
    total = 0.0
    for j in range(gradient.size):
        total += gradient[j] * gradient[j] / (2.0 * l2[j])
    return total


def _slant(beta, mode, l2, step):
    """First and second derivative of the penalty along `step`."""
    first = second = 0.0
    for j in range(step.size):
        first += l2[j] * (beta[j] - mode[j]) * step[j]
        second += l2[j] * step[j] * step[j]
    return first, second


def _bends(margin, theta, weight, link, curvature):
    """c_i loss''(r_i), never 0"""
    if link == 0:
        for i in range(theta.size):
            curvature[i] = weight[i] * (theta[i] * (1.0 - theta[i]) + 1e-300)
    else:
        for i in range(theta.size):
            curvature[i] = weight[i] * (bend(margin[i], theta[i], link) + 1e-300)


def _pulls(margin, theta, weight, link, shift):
    """First and second derivative of the loss along `shift`."""
    first = second = 0.0
    for i in range(theta.size):
        first -= weight[i] * theta[i] * shift[i]
        second += weight[i] * bend(margin[i], theta[i], link) * shift[i] * shift[i]
    return first, second


_slant = kernel(_slant, fastmath=REASSOCIATING)
_bends = kernel(_bends, fastmath=REASSOCIATING)
_pulls = kernel(_pulls, fastmath=REASSOCIATING)


@kernel
def _search(margin, theta, shift, weight, link, slope, curve, objective, at, there):
    """A step t along `shift` (of the margins) where the slope of the objective is a tenth of its first value.

    slope + t·curve is the derivative of the penalty. Newton's method, kept between what is known of either side.
    The whole step where the gain is too small to be measured. `at` and `there` are room for margins and θ.
    """
    low, high, t = 0.0, np.inf, 1.0
    first = slope + _pulls(margin, theta, weight, link, shift)[0]
    if -first <= 1e-9 * objective:
        return 1.0
    for _ in range(40):
        for i in range(margin.size):
            at[i] = margin[i] + t * shift[i]
        slopes(at, link, there)
        fall, bends = _pulls(at, there, weight, link, shift)
        fall, bends = fall + slope + t * curve, bends + curve
        if abs(fall) <= -0.1 * first:
            return t
        if fall > 0.0:
            high = t
        else:
            low = t
        t = t - fall / bends if bends > 0.0 else np.inf
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 4.0 * low
    return low


@kernel
def _level(margin, y, weight, link, away, l2, theta):
    """Bring the constant feature, `away` from its mode, to its optimum with all others as they are, nearly.

    Returns the step and adds it to the margins. `theta` is room.
    """
    step, first = 0.0, np.inf
    for _ in range(4):
        slopes(margin, link, theta)
        fall, curve = _pulls(margin, theta, weight, link, y)
        fall, curve = fall + l2 * (away + step), curve + l2
        if abs(fall) <= 0.1 * first and first < np.inf:
            break
        first = min(first, abs(fall))
        move = -min(max(fall / curve, -1.0), 1.0) if curve > 0.0 else 0.0
        step += move
        for i in range(margin.size):
            margin[i] += y[i] * move
        if abs(move) < NEAR:
            break
    return step


@kernel
def fit(indptr, indices, data, offset, Y, weights, link, modes, l2s, which, betas, tol, max_rounds):
    """Fit K categories.

    indptr, indices, data   X by rows (CSR), d+1 columns; the last is the constant feature
    offset                  (d+1,) added to every entry of a column
    Y, weights              (K, n) labels ±1 and document weights c
    modes, l2s, which       (·, d+1) the priors, and (K,) which of them a category has
    betas                   (K, d+1) starts; overwritten by the solutions

    Returns (objective, gap, kkt, kkt_bound, rounds, converged, dual points), a row or entry per category. With
    θ = -loss'(r) the duality gap is Σ_j g_j²/(2 l2_j), NaN where some l2 is 0; towards the end see `_proof`.
    """
    K, n = Y.shape
    size = betas.shape[1]
    objective, gap, kkt, kkt_bound = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    rounds, converged = np.zeros(K, np.int64), np.zeros(K, np.bool_)
    thetas = np.empty((K, n))
    centred = np.any(offset)

    # What a pass reads and writes: the lanes of a document or feature together.
    A, B, Q, W = _lanes(n), _lanes(n), _lanes(n), _lanes(n)  # A is 0 but for lanes at DIRECTION
    P, out, step, l2 = _lanes(size), _lanes(size), _lanes(size), _lanes(size)
    residual, inverse = _lanes(size), _lanes(size)
    # What a lane does alone: a row each.
    margin, shift = np.empty((LANES, n)), np.empty((LANES, n))
    pull, curvature = np.empty((LANES, n)), np.empty((LANES, n))
    steps, gradient, diagonal = np.empty((LANES, size)), np.empty((LANES, size)), np.empty((LANES, size))
    sums, squares, summed = np.empty((LANES, size)), np.empty((LANES, size)), np.full(LANES, -1)
    reach, flat = np.empty((len(l2s), n)), np.empty(len(l2s), np.bool_)
    for k in range(len(l2s)):
        _reach(indptr, indices, data, l2s[k], reach[k])
        flat[k] = np.any(l2s[k] == 0.0)
    loss, stuck = np.zeros(LANES), np.zeros(LANES, np.int64)
    cut, refined = np.empty(LANES), np.empty(LANES, np.int64)  # what counts as bending, and how often it was used
    work = np.empty((5, size))
    zeros, room, theta, documents = np.zeros(size), np.empty(n), np.empty(n), np.empty(n, np.int64)

    at, category, lanes = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.empty(LANES, np.int64)
    rho, goal, product, fresh = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    alpha, ratio = np.zeros(LANES), np.zeros(LANES)
    left = np.zeros(LANES, np.int64)  # conjugate-gradient iterations still allowed
    waiting = 0
    while True:
        # A free lane takes the next category.
        for lane in range(LANES):
            if at[lane] == IDLE and waiting < K:
                c = category[lane] = waiting
                waiting += 1
                _start(
                    indptr, indices, data, offset, Y[c], weights[c], link, modes[which[c]], l2s[which[c]], betas[c],
                    margin[lane],
                )  # fmt: skip
                loss[lane] = _ask(margin[lane], Y[c], weights[c], link, thetas[c], pull[lane])
                for j in range(size):
                    l2[j, lane], P[j, lane] = l2s[which[c], j], 0.0
                stuck[lane], objective[c] = 0, np.inf
                cut[lane], refined[lane] = BENDS, 0
                at[lane] = GRADIENT
        if np.all(at == IDLE):
            return objective, gap, kkt, kkt_bound, rounds, converged, thetas

        _together(_those(at, STEP, lanes), steps, P)
        _forth(indptr, indices, data, offset, P, Q)

        # Go along the steps found, and ask for the gradient there.
        _apart(_those(at, STEP, lanes), Q, shift)
        for lane in _those(at, STEP, lanes):
            c = category[lane]
            mode, penalty = modes[which[c]], l2s[which[c]]
            slope, curve = _slant(betas[c], mode, penalty, steps[lane])
            for i in range(n):
                shift[lane, i] *= Y[c, i]
            t = _search(margin[lane], thetas[c], shift[lane], weights[c], link, slope, curve, objective[c], room, theta)
            for j in range(size):
                betas[c, j] += t * steps[lane, j]
            for i in range(n):
                margin[lane, i] += t * shift[lane, i]
            betas[c, size - 1] += _level(
                margin[lane], Y[c], weights[c], link, betas[c, size - 1] - mode[size - 1], penalty[size - 1], theta
            )
            loss[lane] = _ask(margin[lane], Y[c], weights[c], link, thetas[c], pull[lane])
            at[lane] = GRADIENT
        _together(_those(at, GRADIENT, lanes), pull, B)

        _back(indptr, indices, data, offset, A, B, Q, W, out)

        # Conjugate gradients, all lanes alike: α is 0 for those at something else.
        if np.any(at == DIRECTION):
            product[:] = 0.0
            fresh[:] = 0.0
            for j in range(size):
                for lane in range(LANES):
                    product[lane] += P[j, lane] * (out[j, lane] + l2[j, lane] * P[j, lane])
            for lane in range(LANES):
                alpha[lane] = rho[lane] / product[lane] if at[lane] == DIRECTION and product[lane] > 0.0 else 0.0
            for j in range(size):
                for lane in range(LANES):
                    step[j, lane] += alpha[lane] * P[j, lane]
                    residual[j, lane] -= alpha[lane] * (out[j, lane] + l2[j, lane] * P[j, lane])
                    fresh[lane] += residual[j, lane] * residual[j, lane] * inverse[j, lane]
            for lane in _those(at, DIRECTION, lanes):
                left[lane] -= 1
                if alpha[lane] > 0.0 and fresh[lane] > goal[lane] and left[lane] > 0:
                    ratio[lane] = fresh[lane] / rho[lane]
                    rho[lane] = fresh[lane]
                else:
                    at[lane] = FOUND
            _apart(_those(at, FOUND, lanes), step, steps)
            for lane in _those(at, FOUND, lanes):
                A[:, lane] = 0.0
                at[lane] = STEP

        # Where a gradient has come: measure the gap; if it is too wide, find the next direction or begin to.
        _apart(_those(at, GRADIENT, lanes), out, gradient)
        for lane in _those(at, GRADIENT, lanes):
            c = category[lane]
            mode, penalty = modes[which[c]], l2s[which[c]]
            added, duality = _gap(gradient[lane], betas[c], mode, penalty, gradient[lane])
            total = loss[lane] + added
            stuck[lane] = 0 if total < objective[c] else stuck[lane] + 1  # within rounding nothing falls any more
            objective[c], gap[c] = total, duality
            relative = duality / max(total, 1e-300)
            if flat[which[c]]:
                gap[c] = np.nan
                relative = _violation(gradient[lane], betas[c], mode)[1] / max(total, 1e-300)
            converged[c] = relative <= tol
            if converged[c] or rounds[c] >= max_rounds or stuck[lane] == PATIENCE:
                kkt[c], kkt_bound[c] = _violation(gradient[lane], betas[c], mode)
                at[lane] = IDLE
                continue
            rounds[c] += 1
            _bends(margin[lane], thetas[c], weights[c], link, curvature[lane])
            if summed[lane] < 0 or not np.array_equal(weights[summed[lane]], weights[c]):
                _sums(indptr, indices, data, weights[c], sums[lane])
                _squares(indptr, indices, data, weights[c], squares[lane])
                summed[lane] = c
            if not centred:
                if refined[lane] >= SLOW:
                    cut[lane] *= 0.3  # the others do bend
                count, entries, share = _few(indptr, weights[c], curvature[lane], reach[which[c]], cut[lane], documents)
                if count >= 0 and (relative < WIDE or share <= FEW):
                    some = documents[:count]
                    promise = _from_few(
                        indptr, indices, data, weights[c], curvature[lane], sums[lane], squares[lane], penalty,
                        gradient[lane], some, entries,
                        0.3 if relative > 1.0 else 0.1, zeros, work, steps[lane], room,
                    )  # fmt: skip
                    if promise <= tol * total and link == 0 and not flat[which[c]]:
                        duality = _proof(
                            indptr, indices, data, Y[c], weights[c], curvature[lane], thetas[c], penalty, some, room,
                            work, tol * total,
                        )  # fmt: skip
                        if duality <= tol * total:
                            gap[c], converged[c], at[lane] = duality, True, IDLE
                            kkt[c], kkt_bound[c] = _violation(gradient[lane], betas[c], mode)
                            continue
                    refined[lane] += 1
                    at[lane] = STEP
                    continue
            if relative > EARLY:  # one curvature for all is near enough
                diagonal[lane] = np.sum(curvature[lane]) / np.sum(weights[c]) * squares[lane]
            else:
                _squares(indptr, indices, data, curvature[lane], diagonal[lane])
            rho[lane] = ratio[lane] = 0.0
            goal[lane] = 0.25 if relative > 1.0 else 0.04
            left[lane] = 5 if relative > EARLY else 15 if relative > WIDE else 200
            at[lane] = BEGIN

        # Conjugate gradients begin, from a step of 0.
        beginning = _those(at, BEGIN, lanes)
        for j in range(size if beginning.size > 0 else 0):
            for lane in beginning:
                curved = l2[j, lane] + diagonal[lane, j]
                inverse[j, lane] = 1.0 / curved if curved > 0.0 else 1.0
                residual[j, lane] = -gradient[lane, j]
                step[j, lane] = 0.0
                rho[lane] += gradient[lane, j] * gradient[lane, j] * inverse[j, lane]
        _together(beginning, curvature, A)
        for lane in beginning:
            B[:, lane] = 0.0
            goal[lane] *= rho[lane]
            at[lane] = DIRECTION

        # P = M⁻¹ residual + ratio P, for those looking for a direction.
        if np.any(at == DIRECTION):
            for lane in range(LANES):
                alpha[lane] = 1.0 if at[lane] == DIRECTION else 0.0
                ratio[lane] = ratio[lane] if at[lane] == DIRECTION else 1.0
            for j in range(size):
                for lane in range(LANES):
                    P[j, lane] = alpha[lane] * (inverse[j, lane] * residual[j, lane]) + ratio[lane] * P[j, lane]
