"""Ridge for many categories at once: Newton's method with conjugate gradients, eight categories to a pass over X.

    min_β Σ_i c_i loss(r_i) + Σ_j l2_j (β_j-m_j)²/2      for each category its own y, c, m, l2

A pass computes out = Xᵀ(A∘(X P) + B), all of LANES columns. For a category in conjugate gradients A holds its
curvatures, B is 0 and P the search direction: out is the Hessian times P. For one that needs its gradient A is 0 and
B holds the residuals. So every pass serves every lane, whatever each is at; a lane whose category is done takes the
next one. A lane's arithmetic does not depend on the others: alone or in company, the answer is the same to the bit.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels._lanes import LANES, gather, scatter
from lapwing.kernels.loss import bend, loss_theta
from lapwing.kernels.quadratic import cholesky, substitute

HEAVY = 200  # documents that the preconditioner takes exactly
HEFT = 5.0  # a document is heavy whose curvature weighs this much more than the prior
EARLY, LATE = 1e4, 1e3  # relative gaps at which directions may be rough, and at which heavy documents count
HEAVIEST = 1e9
PATIENCE = 20  # rounds without a fall of the objective after which a fit is given up
IDLE, GRADIENT, DIRECTION = 0, 1, 2  # what a lane is at


@kernel
def _through(indptr, indices, data, offset, A, B, P, Q, W, out):
    """Q = X P, W = A∘Q + B, out = Xᵀ W; the constant feature last, `offset` added to every entry of a column."""
    n, d = Q.shape[0], P.shape[0] - 1
    common, everywhere = np.empty(LANES), np.zeros(LANES)
    for lane in range(LANES):
        common[lane] = P[d, lane]
    for j in range(d):
        if offset[j] != 0.0:
            for lane in range(LANES):
                common[lane] += offset[j] * P[j, lane]
    out[:] = 0.0
    for i in range(n):
        for lane in range(LANES):
            Q[i, lane] = common[lane]
        gather(data, indices, indptr[i], indptr[i + 1], P, Q, i)
        for lane in range(LANES):
            W[i, lane] = A[i, lane] * Q[i, lane] + B[i, lane]
            everywhere[lane] += W[i, lane]
    for i in range(n):
        scatter(data, indices, indptr[i], indptr[i + 1], out, W, i)
    for j in range(d):
        if offset[j] != 0.0:
            for lane in range(LANES):
                out[j, lane] += offset[j] * everywhere[lane]
    for lane in range(LANES):
        out[d, lane] = everywhere[lane]


@kernel
def _lanes(rows):
    """Zeros, (rows, LANES), each row a cache line of its own."""
    memory = np.zeros((rows + 1) * LANES)
    first = (-memory.ctypes.data % 64) // 8
    return memory[first : first + rows * LANES].reshape(rows, LANES)


@kernel
def _margins(indptr, indices, data, offset, y, beta, margin):
    d = beta.size - 1
    common = beta[d] + np.sum(offset * beta)
    for i in range(y.size):
        total = common
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * beta[indices[k]]
        margin[i] = y[i] * total


@kernel
def _ask(margin, y, weight, link, lane, theta, A, B):
    """Set a lane up for its gradient."""
    for i in range(y.size):
        theta[i] = loss_theta(margin[i], link)[1]
        A[i, lane] = 0.0
        B[i, lane] = -weight[i] * y[i] * theta[i]


@kernel
def _reach(indptr, indices, data, l2, out):
    """Σ_j x_ij²/l2_j, over penalised features, of every document: how far the prior lets it move its own score."""
    d = l2.size - 1
    for i in range(out.size):
        total = 1.0 / l2[d] if l2[d] > 0.0 else 0.0
        for k in range(indptr[i], indptr[i + 1]):
            if l2[indices[k]] > 0.0:
                total += data[k] * data[k] / l2[indices[k]]
        out[i] = total


@kernel
def _heaviest(weight, curvature, reach, documents):
    """Up to HEAVY documents whose curvature outweighs the prior most. Their number.

    None where very many do, or one by so much that Woodbury's difference would be lost to rounding. A document's
    weight does not count here: one of weight 2 must lead the way that two of weight 1 do.
    """
    cut = HEFT
    while True:
        count = 0
        for i in range(curvature.size):
            if curvature[i] * reach[i] > HEAVIEST:
                return 0
            if curvature[i] * reach[i] > cut * weight[i]:
                if count < HEAVY:
                    documents[count] = i
                count += 1
        if count <= HEAVY:
            return count
        if cut == HEFT and count > 10 * HEAVY:
            return 0
        cut *= 1.5


@kernel
def _diagonal(indptr, indices, data, weight, curvature, reach, documents, count, out):
    """Σ_i c_i x_ij², leaving out the heavy documents, and those that weigh next to nothing."""
    d = out.size - 1
    out[:] = 0.0
    h = 0
    for i in range(curvature.size):
        if h < count and documents[h] == i:
            h += 1
            continue
        out[d] += curvature[i]
        if reach[i] == 0.0 or curvature[i] * reach[i] > 0.05 * weight[i]:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += curvature[i] * data[k] * data[k]


@kernel
def _factor(indptr, indices, data, curvature, inverse, lane, documents, count, S, dense):
    """Cholesky factor of S = C⁻¹ + X_h E⁻¹ X_hᵀ, for the heavy documents h, their curvatures C and E = 1/inverse.

    E + X_hᵀ C X_h then has the inverse E⁻¹ - E⁻¹ X_hᵀ S⁻¹ X_h E⁻¹ (Woodbury).
    """
    d = inverse.shape[0] - 1
    for a in range(count):
        i = documents[a]
        for k in range(indptr[i], indptr[i + 1]):
            dense[indices[k]] = data[k] * inverse[indices[k], lane]
        for b in range(a + 1):
            other = documents[b]
            total = inverse[d, lane]
            for k in range(indptr[other], indptr[other + 1]):
                total += data[k] * dense[indices[k]]
            S[a, b] = total
        S[a, a] += 1.0 / curvature[i]
        for k in range(indptr[i], indptr[i + 1]):
            dense[indices[k]] = 0.0
    cholesky(S, count)


@kernel
def _woodbury(indptr, indices, data, residual, inverse, lane, documents, count, S, u):
    """u = S⁻¹ t with t = X_h E⁻¹ residual. Returns t·u, by which rᵀE⁻¹r exceeds rᵀM⁻¹r."""
    d = inverse.shape[0] - 1
    t = np.empty(count)
    for a in range(count):
        i = documents[a]
        total = residual[d, lane] * inverse[d, lane]
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * residual[indices[k], lane] * inverse[indices[k], lane]
        t[a] = u[a] = total
    substitute(S, u, count)
    return np.sum(t * u[:count])


@kernel
def _subtract(indptr, indices, data, inverse, lane, documents, count, u, P):
    """P -= E⁻¹ X_hᵀ u"""
    d = inverse.shape[0] - 1
    for a in range(count):
        i = documents[a]
        for k in range(indptr[i], indptr[i + 1]):
            P[indices[k], lane] -= data[k] * inverse[indices[k], lane] * u[a]
        P[d, lane] -= inverse[d, lane] * u[a]


@kernel
def _search(margin, shift, weight, link, slope, curve, objective):
    """A step t along `shift` (of the margins) where the slope of the objective is a tenth of its first value.

    slope + t·curve is the derivative of the penalty. Newton's method, kept between what is known of either side.
    The whole step where the gain is too small to be measured.
    """
    low, high, t = 0.0, np.inf, 1.0
    first = slope
    for i in range(margin.size):
        first -= weight[i] * loss_theta(margin[i], link)[1] * shift[i]
    if -first <= 1e-9 * objective:
        return 1.0
    for _ in range(40):
        fall, bends = slope + t * curve, curve
        for i in range(margin.size):
            at = margin[i] + t * shift[i]
            theta = loss_theta(at, link)[1]
            fall -= weight[i] * theta * shift[i]
            bends += weight[i] * bend(at, theta, link) * shift[i] * shift[i]
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
def fit(indptr, indices, data, offset, Y, weights, link, modes, l2s, which, betas, tol, max_rounds):
    """Fit K categories.

    indptr, indices, data   X by rows (CSR), d columns; the constant feature is coordinate d
    offset                  (d+1,) added to every entry of a column
    Y, weights              (K, n) labels ±1 and document weights c
    modes, l2s, which       (·, d+1) the priors, and (K,) which of them a category has
    betas                   (K, d+1) starts; overwritten by the solutions

    Returns (objective, gap, kkt, kkt_bound, rounds, converged, dual points), a row or entry per category. With
    θ = -loss'(r) the duality gap is Σ_j g_j²/(2 l2_j); NaN where some l2 is 0.
    """
    K, n = Y.shape
    size = betas.shape[1]
    objective, gap, kkt, kkt_bound = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    rounds, converged = np.zeros(K, np.int64), np.zeros(K, np.bool_)
    thetas = np.empty((K, n))

    A, B, Q, W = _lanes(n), _lanes(n), _lanes(n), _lanes(n)
    shift = _lanes(n)  # X step
    P, out, step, l2 = _lanes(size), _lanes(size), _lanes(size), _lanes(size)
    residual, inverse = _lanes(size), _lanes(size)
    margin, reach = np.empty((LANES, n)), np.empty((LANES, n))
    S = np.empty((LANES, HEAVY, HEAVY))
    documents, heavy, u = np.empty((LANES, HEAVY), np.int64), np.zeros(LANES, np.int64), np.empty((LANES, HEAVY))
    diagonal, bent = np.empty((LANES, size)), np.empty(LANES)  # Σ_i c_i x_ij², and Σ_i c_i at the time
    dense, gradient, along_beta = np.zeros(size), np.empty(size), np.empty(size)
    along, curvature = np.empty(n), np.empty(n)

    at, category = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    rho, goal, product, fresh = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    alpha, ratio = np.zeros(LANES), np.zeros(LANES)
    stuck = np.zeros(LANES, np.int64)
    left = np.zeros(LANES, np.int64)  # conjugate-gradient iterations still allowed
    waiting = 0
    while True:
        # A free lane takes the next category.
        busy = 0
        for lane in range(LANES):
            if at[lane] == IDLE and waiting < K:
                c = category[lane] = waiting
                waiting += 1
                _margins(indptr, indices, data, offset, Y[c], betas[c], margin[lane])
                _reach(indptr, indices, data, l2s[which[c]], reach[lane])
                l2[:, lane] = l2s[which[c]]
                _ask(margin[lane], Y[c], weights[c], link, lane, thetas[c], A, B)
                stuck[lane], objective[c] = 0, np.inf
                at[lane] = GRADIENT
            if at[lane] != IDLE:
                busy += 1
        if busy == 0:
            return objective, gap, kkt, kkt_bound, rounds, converged, thetas

        _through(indptr, indices, data, offset, A, B, P, Q, W, out)

        # Conjugate gradients, all lanes alike: α is 0 for those at something else.
        product[:] = 0.0
        fresh[:] = 0.0
        for j in range(size):
            for lane in range(LANES):
                out[j, lane] += l2[j, lane] * P[j, lane]
                product[lane] += P[j, lane] * out[j, lane]
        for lane in range(LANES):
            alpha[lane] = rho[lane] / product[lane] if at[lane] == DIRECTION and product[lane] > 0.0 else 0.0
        for j in range(size):
            for lane in range(LANES):
                step[j, lane] += alpha[lane] * P[j, lane]
                residual[j, lane] -= alpha[lane] * out[j, lane]
                fresh[lane] += residual[j, lane] * residual[j, lane] * inverse[j, lane]
        for i in range(n):
            for lane in range(LANES):
                shift[i, lane] += alpha[lane] * Q[i, lane]

        for lane in range(LANES):
            c = category[lane]
            mode, penalty = modes[which[c]], l2s[which[c]]
            ratio[lane] = 0.0
            if at[lane] == DIRECTION:
                if heavy[lane] > 0:
                    fresh[lane] -= _woodbury(
                        indptr, indices, data, residual, inverse, lane, documents[lane], heavy[lane], S[lane], u[lane]
                    )
                left[lane] -= 1
                if alpha[lane] > 0.0 and fresh[lane] > goal[lane] and left[lane] > 0:
                    ratio[lane] = fresh[lane] / rho[lane]
                    rho[lane] = fresh[lane]
                    continue
                # The direction is found: go along it, and ask for the gradient there.
                slope = curve = 0.0
                for j in range(size):
                    along_beta[j] = step[j, lane]
                    slope += penalty[j] * (betas[c, j] - mode[j]) * along_beta[j]
                    curve += penalty[j] * along_beta[j] * along_beta[j]
                for i in range(n):
                    along[i] = Y[c, i] * shift[i, lane]
                t = _search(margin[lane], along, weights[c], link, slope, curve, objective[c])
                for j in range(size):
                    betas[c, j] += t * along_beta[j]
                for i in range(n):
                    margin[lane, i] += t * along[i]
                _ask(margin[lane], Y[c], weights[c], link, lane, thetas[c], A, B)
                at[lane] = GRADIENT
            elif at[lane] == GRADIENT:
                # The gradient is here: measure the gap; if it is too wide, prepare the next direction.
                total = worst = bound = duality = 0.0
                for j in range(size):
                    away = betas[c, j] - mode[j]
                    g = gradient[j] = out[j, lane] + penalty[j] * away
                    total += 0.5 * penalty[j] * away * away
                    worst = max(worst, abs(g))
                    bound += abs(g) * max(abs(away), 1.0)
                    duality += g * g / (2.0 * penalty[j]) if penalty[j] > 0.0 else np.nan
                bending = 0.0
                for i in range(n):
                    total += weights[c, i] * loss_theta(margin[lane, i], link)[0]
                    curvature[i] = weights[c, i] * max(bend(margin[lane, i], thetas[c, i], link), 1e-300)
                    bending += curvature[i]
                    B[i, lane] = 0.0
                stuck[lane] = 0 if total < objective[c] else stuck[lane] + 1  # within rounding nothing falls any more
                objective[c], gap[c], kkt[c], kkt_bound[c] = total, duality, worst, bound
                relative = (bound if np.isnan(duality) else duality) / max(total, 1e-300)
                converged[c] = relative <= tol
                if converged[c] or rounds[c] >= max_rounds or stuck[lane] == PATIENCE:
                    at[lane] = IDLE
                    continue
                rounds[c] += 1
                for i in range(n):
                    A[i, lane] = curvature[i]
                    shift[i, lane] = 0.0
                heavy[lane] = 0
                if relative < LATE and not np.any(offset):
                    heavy[lane] = _heaviest(weights[c], curvature, reach[lane], documents[lane])
                if relative < LATE or rounds[c] == 1:
                    _diagonal(
                        indptr, indices, data, weights[c], curvature, reach[lane], documents[lane], heavy[lane],
                        diagonal[lane],
                    )  # fmt: skip
                    scale = 1.0
                    bent[lane] = bending
                else:
                    scale = bending / bent[lane]
                rho[lane] = 0.0
                for j in range(size):
                    curved = penalty[j] + scale * diagonal[lane, j]
                    inverse[j, lane] = 1.0 / curved if curved > 0.0 else 1.0
                    residual[j, lane] = -gradient[j]
                    step[j, lane] = 0.0
                    rho[lane] += gradient[j] * gradient[j] * inverse[j, lane]
                if heavy[lane] > 0:
                    _factor(
                        indptr, indices, data, curvature, inverse, lane, documents[lane], heavy[lane], S[lane], dense
                    )
                    rho[lane] -= _woodbury(
                        indptr, indices, data, residual, inverse, lane, documents[lane], heavy[lane], S[lane], u[lane]
                    )
                goal[lane] = rho[lane] * (0.25 if relative > 1.0 else 0.04)
                left[lane] = 5 if relative > EARLY else 200
                at[lane] = DIRECTION

        # P = M⁻¹ residual + ratio P, for those looking for a direction; 0 for the others.
        for lane in range(LANES):
            alpha[lane] = 1.0 if at[lane] == DIRECTION else 0.0
        for j in range(size):
            for lane in range(LANES):
                P[j, lane] = alpha[lane] * (inverse[j, lane] * residual[j, lane] + ratio[lane] * P[j, lane])
        for lane in range(LANES):
            if at[lane] == DIRECTION and heavy[lane] > 0:
                _subtract(indptr, indices, data, inverse, lane, documents[lane], heavy[lane], u[lane], P)
