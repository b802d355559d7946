"""One coordinate, one document: the scalar pieces that every solver is built from.

Symbols as in stats/objective.py: r margin, θ = -loss'(r), m mode, l1, l2, lower, upper the prior. `link` is
0 for the logistic and 1 for the probit loss (stats/links.py). To add one: a branch more in the functions here that take
it, in `ridge_search.py` and `clg.py`, and its largest θ wherever a dual point is kept below it (`largest`, `most`).
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels import probit
from lapwing.kernels._exp import decay, log1p
from lapwing.kernels._jit import REASSOCIATING, element, inlined, kernel, part


@part
def loss_theta(margin, link):
    """(ln(1+e^-r), 1/(1+e^r)), without overflow, from one exponential; or (-ln Φ(r), φ(r)/Φ(r))."""
    return probit.loss_theta(margin) if link != 0 else logistic(margin)


@part
def logistic(margin):
    """(ln(1+e^-r), 1/(1+e^r))"""
    smaller = decay(abs(margin))
    larger = 1.0 / (1.0 + smaller)
    loss = log1p(smaller)
    return (loss, smaller * larger) if margin > 0.0 else (loss - margin, larger)


def _losses(margin, weight, link, theta):
    """Σ_i c_i loss(r_i), and θ."""
    total = 0.0
    if link != 0:
        for i in range(margin.size):
            loss, theta[i] = probit.loss_theta(margin[i])
            total += weight[i] * loss
    else:
        for i in range(margin.size):
            loss, theta[i] = logistic(margin[i])
            total += weight[i] * loss
    return total


losses = part(_losses, fastmath=REASSOCIATING)


@part
def bend(margin, theta, link):
    """The loss's second derivative, from θ: θ(1-θ), or θ(θ+r)."""
    return theta * (1.0 - theta) if link == 0 else probit.curvature(margin, theta)


@part
def majorant(margin, link):
    """Curvature with which a parabola that touches the loss at r lies above it everywhere.

    tanh(r/2)/2r touches at -r too (Jaakkola and Jordan); 1 is the most that -ln Φ curves, EGJLM03's EM.
    """
    if link != 0:
        return 1.0
    return np.tanh(0.5 * margin) / (2.0 * margin) if abs(margin) > 1e-3 else 0.25


@part
def conjugate(theta, link):
    """sup_r [ -θ r - loss(r) ]: θ ln θ + (1-θ) ln(1-θ) over 0 ≤ θ ≤ 1; for probit over θ ≥ 0, by iteration."""
    if link != 0:
        return probit.conjugate(theta)
    return theta * np.log(theta) + (1.0 - theta) * np.log1p(-theta) if 0.0 < theta < 1.0 else 0.0


@element
def penalty_at(prior, j, b):
    """l1|b-m| + l2(b-m)²/2"""
    away = b - prior.mode[j]
    return prior.l1[j] * abs(away) + 0.5 * prior.l2[j] * away * away


@part
def penalty(prior, beta):
    """Σ_j penalty_j(β_j)"""
    total = 0.0
    for j in range(beta.size):
        if beta[j] != prior.mode[j]:
            total += penalty_at(prior, j, beta[j])
    return total


@element
def argmin(prior, j, b, g, h):
    """argmin over lower ≤ t ≤ upper of g(t-b) + h(t-b)²/2 + l1|t-m| + l2(t-m)²/2."""
    mode, l1, lower, upper = prior.mode[j], prior.l1[j], prior.lower[j], prior.upper[j]
    curve = h + prior.l2[j]
    if curve <= 0.0:  # no document has a say: only the penalty, or nothing, is left to follow
        return min(max(mode, lower), upper) if abs(g) <= l1 else b
    away = (h * (b - mode) - g) / curve
    shrunk = l1 / curve
    slack = 1e-14 * shrunk  # a coefficient of rounding errors is no coefficient
    if away > shrunk + slack:
        best = mode + away - shrunk
    elif away < -shrunk - slack:
        best = mode + away + shrunk
    else:
        best = mode
    return min(max(best, lower), upper)


@element
def stop(prior, j, b, step):
    """Where b + step ends if it may not pass its mode or a bound."""
    end = b + step
    if prior.l1[j] > 0.0 and (end - prior.mode[j]) * (b - prior.mode[j]) < 0.0:
        end = prior.mode[j]
    return min(max(end, prior.lower[j]), prior.upper[j])


@part
def intercept_only(documents, prior, b):
    """argmin_b p loss(b) + q loss(-b) + penalty(b), p and q the weights of either label: all else is zero."""
    y, weight, link = documents
    positive = negative = 0.0
    for i in range(y.size):
        positive += weight[i] * (y[i] > 0.0)
        negative += weight[i] * (y[i] < 0.0)
    return intercept_between(positive, negative, link, prior, b)


@part
def intercept_between(positive, negative, link, prior, b):
    """The same, from the weights of either label."""
    for _ in range(100):
        up, down = loss_theta(b, link)[1], loss_theta(-b, link)[1]
        g = negative * down - positive * up
        h = positive * bend(b, up, link) + negative * bend(-b, down, link)
        h = max(h, 0.05 * abs(g) + 1e-300)  # steps of 20 at most
        best = argmin(prior, prior.mode.size - 1, b, g, h)
        if abs(best - b) <= 1e-6 * (1.0 + abs(b)):
            return best
        b = best
    return b


@element
def violation(prior, j, b, g):
    """Distance of 0 from the subdifferential in one coordinate; g is the derivative of the loss."""
    away, l1 = b - prior.mode[j], prior.l1[j]
    smooth = g + prior.l2[j] * away
    worst = 0.0
    if b < prior.upper[j]:
        worst = max(worst, -(smooth + (l1 if away >= 0.0 else -l1)))
    if b > prior.lower[j]:
        worst = max(worst, smooth + (l1 if away > 0.0 else -l1))
    return worst


@inlined
def is_flat(prior):
    """Whether some coordinate has neither penalty nor bound on some side: then no dual point is feasible."""
    flat = False
    for j in range(prior.mode.size):
        unbounded = np.isinf(prior.lower[j]) or np.isinf(prior.upper[j])
        flat = flat or (prior.l1[j] == 0.0 and prior.l2[j] == 0.0 and unbounded)
    return flat


@kernel
def feasible_scale(z, prior):
    """The largest s ≤ 1 with s·z dual feasible; NaN where a flat coordinate leaves none."""
    scale = 1.0
    for j in range(z.size):
        l1 = prior.l1[j]
        if prior.l2[j] == 0.0 and abs(z[j]) > scale * l1:
            if (z[j] > 0.0 and np.isinf(prior.upper[j])) or (z[j] < 0.0 and np.isinf(prior.lower[j])):
                if l1 == 0.0:
                    return np.nan
                scale = min(scale, l1 / abs(z[j]))
    return scale


@kernel
def primal_objective(margin, weight, link, beta, prior):
    """P(β) of stats/objective.py, from the margins."""
    total = losses(margin, weight, link, np.empty(margin.size))
    for j in range(beta.size):
        total += penalty_at(prior, j, beta[j])
    return total


@part
def violations(prior, beta, gradient):
    """(kkt, kkt_bound) of stats/objective.py, from the gradient of the loss; NaN where either is."""
    kkt = kkt_bound = 0.0
    for j in range(beta.size):
        v = violation(prior, j, beta[j], gradient[j])
        kkt = max(kkt, v)
        kkt_bound += v * max(abs(beta[j] - prior.mode[j]), 1.0) + 0.0 * (beta[j] + gradient[j])
    kkt += 0.0 * kkt_bound
    return kkt, kkt_bound


@element
def penalty_conjugate(prior, j, z):
    """sup_b [ z b - l1|b-m| - l2(b-m)²/2 ] over lower ≤ b ≤ upper, z feasible but for rounding."""
    mode, lower, upper = prior.mode[j], prior.lower[j], prior.upper[j]
    if prior.l2[j] > 0.0:
        best = argmin(prior, j, mode, -z, 0.0)
    elif abs(z) <= prior.l1[j]:
        best = min(max(mode, lower), upper)
    else:
        best = upper if z > 0.0 else lower
        if np.isinf(best):  # outside by rounding only
            best = mode
    return z * best - penalty_at(prior, j, best)


@kernel
def dual_objective(theta, weight, link, z, scale, prior):
    """D(s·θ) of stats/objective.py, z = Σ_i c_i θ_i y_i x_i."""
    dual = 0.0
    for i in range(theta.size):
        if weight[i] > 0.0:
            dual -= weight[i] * conjugate(scale * theta[i], link)
    for j in range(z.size):
        dual -= penalty_conjugate(prior, j, scale * z[j])
    return dual


@part
def few(curvature, spare):
    """A cut below which documents hold at most the share `spare` of all curvature.

    Where the data can be separated most documents end far from the boundary and curve next to nothing.
    """
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


@part
def assign(out, values):
    """out ← values. Assigned as slices, they would have the message for other shapes compiled: two seconds."""
    for i in range(out.size):
        out[i] = values[i]


@part
def fill(out, value):
    """out ← value"""
    for i in range(out.size):
        out[i] = value


@part
def dot(a, b):
    """Σ_i a_i b_i, in turn."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@part
def in_turn(values):
    """Σ_i values_i, from the first to the last."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@part
def has(values):
    """Whether some entry is not 0. Expressions over whole arrays take seconds to compile."""
    for value in values:
        if value != 0.0:
            return True
    return False


@kernel
def loss_gradient(X, pull, out):
    """out_j = -Σ_i x_ij pull_i for every coordinate."""
    indptr, indices, data = X.rows
    for j in range(out.size):
        out[j] = 0.0
    total = 0.0
    for i in range(pull.size):
        if pull[i] != 0.0:
            total += pull[i]
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                out[np.uint32(indices[k])] -= data[k] * pull[i]  # unsigned: no test for counting from the end
    for j in range(out.size):
        out[j] -= X.offset[j] * total


@part
def common(pull, weight):
    """The pull per weight that most documents have, to the bit; 0 where no half of them agrees."""
    candidate = 0.0
    votes = 0
    for i in range(pull.size):  # Boyer and Moore's vote
        same = pull[i] == candidate * weight[i]
        if votes == 0 and not same:
            candidate = pull[i] / weight[i]
            same = pull[i] == candidate * weight[i]
        votes += 1 if same else -1
    agreed = 0
    for i in range(pull.size):
        agreed += pull[i] == candidate * weight[i]
    return candidate if 2 * agreed > pull.size else 0.0


@part
def loss_gradient_from(X, pull, weight, sums, out):
    """`loss_gradient`, given sums_j = Σ_i c_i x_ij. Changes `pull`.

    Documents in which nothing weighs have the same pull: they enter by the sums, and only the others are read.
    """
    alike = common(pull, weight)
    for i in range(pull.size):
        pull[i] -= alike * weight[i]
    loss_gradient(X, pull, out)
    for j in range(out.size):
        out[j] -= alike * sums[j]


@kernel
def scores(X, beta):
    """x_i·β of every document."""
    indptr, indices, data = X.columns
    n, d = X.rows.indptr.size - 1, beta.size - 1
    shift = X.offset[d] * beta[d]
    for j in range(d):
        shift += X.offset[j] * beta[j]
    out = np.empty(n)
    for i in range(n):
        out[i] = shift
    for j in range(d):
        if beta[j] != 0.0:
            for k in range(indptr[j], indptr[j + 1]):
                out[indices[k]] += data[k] * beta[j]
    return out


@part
def add_column(columns, j, step, out):
    """out_i += step x_ij, over the entries of column j."""
    indptr, indices, data = columns
    for k in range(indptr[j], indptr[j + 1]):
        out[indices[k]] += data[k] * step


@part
def margins(X, y, beta):
    """r_i = y_i x_i·β"""
    out = scores(X, beta)
    for i in range(y.size):
        out[i] *= y[i]
    return out


@kernel
def log_likelihood(X, documents, beta):
    """Σ_i c_i ln p(y_i | x_i, β)"""
    y, weight, link = documents
    return -losses(margins(X, y, beta), weight, link, np.empty(y.size))


@kernel
def optimality(X, documents, prior, beta):
    """(kkt, kkt_bound) at β: see `Certificate` in stats/objective.py."""
    y, weight, link = documents
    pull = np.empty(y.size)
    losses(margins(X, y, beta), weight, link, pull)  # for the residuals
    for i in range(y.size):
        pull[i] *= weight[i] * y[i]
    gradient = np.empty(beta.size)
    loss_gradient(X, pull, gradient)
    return violations(prior, beta, gradient)
