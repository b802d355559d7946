"""Steps of the polytomous solver for sparse priors (solvers/multinomial.py) that loop over documents or pairs.

Symbols as in kernels/softmax.py.
"""

from __future__ import annotations

import numpy as np

from lapwing.kernels._jit import kernel
from lapwing.kernels.loss import fill, in_turn, violation
from lapwing.kernels.working_set import STAYS, VIOLATES

FINEST, RAISE = 256.0, 1.5  # violators are told apart by the largest over this, and then by this factor


@kernel
def cautious(proba, labels):
    """Probabilities under which the quadratic model lies above the loss where the true one misjudges it.

    Far on the wrong side of a class boundary the loss is straight, and its curvature p(1-p) tells nothing of where
    it bends. With r the logit of the label's probability, tanh(r/2)/2r is the curvature that majorises two
    classes; the label's probability is moved until it has this one, the other classes' in proportion.
    """
    K, n = proba.shape
    out = np.empty((K, n))
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
        if r < -1e-3:
            factor = 0.5 * (1.0 + np.sqrt(max(1.0 - 2.0 * np.tanh(0.5 * r) / r, 0.0))) / others
        for k in range(K):
            out[k, i] = factor * proba[k, i]
        out[y, i] = max(1.0 - factor * others, 0.0)
    return out


@kernel
def residuals(proba, labels, weight):
    """c_i (p_ik - 1[y_i = k]), the slopes of the loss in the scores; the label's from the others' sum: near 1 the
    difference would be all rounding.
    """
    K, n = proba.shape
    out = np.empty((K, n))
    for i in range(n):
        rest = 0.0
        for k in range(K):
            out[k, i] = weight[i] * proba[k, i]
            if k != labels[i]:
                rest += out[k, i]
        out[labels[i], i] = -rest
    return out


@kernel
def spread_step(X, first, feature, step, S):
    """S_ik = Σ_a (x_ij + o_j) step_a over the pairs a = (k, j), those of class k first[k] : first[k+1]."""
    for k in range(first.size - 1):
        row = S[k]
        common = 0.0
        for a in range(first[k], first[k + 1]):
            common += X.offset[feature[a]] * step[a]
        fill(row, common)
        for a in range(first[k], first[k + 1]):
            if step[a] != 0.0:
                for e in range(X.columns.indptr[feature[a]], X.columns.indptr[feature[a] + 1]):
                    row[X.columns.indices[e]] += X.columns.data[e] * step[a]


@kernel
def collect(X, first, feature, T, out):
    """out_a = Σ_i (x_ij + o_j) T_ik"""
    for k in range(first.size - 1):
        row = T[k]
        total = in_turn(row)
        for a in range(first[k], first[k + 1]):
            j = feature[a]
            value = X.offset[j] * total
            for e in range(X.columns.indptr[j], X.columns.indptr[j + 1]):
                value += X.columns.data[e] * row[X.columns.indices[e]]
            out[a] = value


@kernel
def predicted(proba, change):
    """The dual point: the probabilities after the change that the quadratic model predicts, kept in the simplex."""
    K, n = proba.shape
    out = np.empty((K, n))
    for i in range(n):
        total = 0.0
        for k in range(K):
            out[k, i] = max(proba[k, i] + change[k, i], 0.0)
            total += out[k, i]
        for k in range(K):
            out[k, i] /= total
    return out


@kernel
def worst_slope(beta, gradient, prior):
    """max |slope| / l1 over the penalised pairs at their modes, the constant feature aside."""
    worst = 0.0
    for k in range(beta.shape[0]):
        for j in range(beta.shape[1] - 1):
            if prior.l1[k, j] > 0.0 and beta[k, j] == prior.mode[k, j]:
                g = gradient[k, j]
                blocked = beta[k, j] >= prior.upper[k, j] if g < 0.0 else beta[k, j] <= prior.lower[k, j]
                if not blocked:
                    worst = max(worst, abs(g) / prior.l1[k, j])
    return worst


@kernel
def choose(inside, beta, gradient, prior, most):
    """Let go of pairs at their mode that are far from moving; add about `most` of the worst violators."""
    K, size = beta.shape
    count = 0
    top = 0.0
    excess = np.zeros((K, size), np.float32)
    for k in range(K):
        for j in range(size):
            slope = prior.l1[k, j]
            if inside[k, j]:
                still = beta[k, j] == prior.mode[k, j] and abs(gradient[k, j]) < STAYS * slope
                if still and slope > 0.0 and j < size - 1:
                    inside[k, j] = False
            else:
                v = violation(prior, (k, j), beta[k, j], gradient[k, j])
                if v > VIOLATES * slope:
                    excess[k, j] = v / (slope + 1e-300)
                    top = max(top, excess[k, j])
                    count += 1
    cut = 0.0
    above = count
    while above > most:  # raise the cut until few enough are above it
        cut = max(RAISE * cut, top / FINEST)
        above = 0
        for k in range(K):
            for j in range(size):
                above += excess[k, j] > cut
        if above == 0:
            cut /= RAISE
            break
    for k in range(K):
        for j in range(size):
            if excess[k, j] > cut:
                inside[k, j] = True
