"""Ridge for many categories at once: Newton's method, eight categories to a pass over X.

    min_β Σ_i c_i loss(r_i) + Σ_j l2_j (β_j-m_j)²/2      for each category its own y, c, m, l2

A pass computes Q = X P, W = A∘Q + B and out = Xᵀ W, all of LANES columns. A lane may be at one of three things:
STEP, P is the step it goes along, found before: Q tells how margins change, the step's length follows, and with
B = the residuals there `out` is the gradient; GRADIENT, the same without a step; DIRECTION, conjugate gradients for
the next step, A the curvatures and P the search direction: `out` is the Hessian times P. So every pass serves every
lane, whatever each is at; a lane whose category is done takes the next one. A lane's arithmetic does not depend on
the others: alone or in company, the answer is the same to the bit.

At first every document bends the loss, and directions may be rough. Later few do: all others are far from the
boundary. Then the direction is had from those few alone (`from_few`), without a pass. After every step the constant
feature is brought to its optimum (`level`): a step leaves it too far off, and with a weak prior it alone would make
nearly all of the duality gap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing.kernels._jit import REASSOCIATING, inlined, kernel, part
from lapwing.kernels._lanes import LANES
from lapwing.kernels.loss import assign, dot, fill, has, in_turn, intercept_only
from lapwing.kernels.nouns import Documents, PriorArrays
from lapwing.kernels.ridge_few import across_last, from_few, proof, reaches, squares_of, sums_of, that_bend
from lapwing.kernels.ridge_passes import back, forth, join, lanes_of, split, split_by, those
from lapwing.kernels.ridge_search import arrive, curvatures, level, line_search, slant

FEW = 0.1  # the most of X's entries that the documents which bend may have to give a direction;
CLOSE = 2.0  # and below this gap any number of them
BENDS = 2.0  # a document counts among the few whose curvature weighs this much more than the prior
NEARER = 1.0  # relative gap below which such directions are made conjugate to the last step
SLOW = 12  # directions from few documents after which more of them are taken,
MORE = 0.3  # by a cut that is this share of the last
EARLY = 1e3  # relative gap above which a direction may be rough
NEWTON, NEWTON_NEAR = 0.1, 0.03  # share of the gradient that a direction from few documents leaves, far and near
CG, CG_NEAR = 0.25, 0.04  # the same, squared, of conjugate gradients
CG_EARLY, CG_LATER, CG_MOST = 5, 15, 200  # iterations of them at most: early, before `CLOSE`, and after
PATIENCE = 20  # rounds without a fall of the objective after which a fit is given up
RISE = 1e-9  # relative rise of the objective that rounding does not explain
FULL, CONJUGATE, NONE = range(3)  # directions a lane may take: any; of conjugate gradients only; or it ends at its best
# What a lane is at. A part is compiled for every plain number it is called with, and once for these.
IDLE, GRADIENT, STEP, BEGIN, DIRECTION, FOUND = (np.int64(k) for k in range(6))


class Categories(NamedTuple):
    """What is fitted: K problems over one X.

    Y                   (K, n) labels ±1
    weights, weighs     (·, n) document weights c, and (K,) which of them a category has
    modes, l2s, which   (·, d+1) the priors, and (K,) which of them a category has
    """

    Y: np.ndarray
    weights: np.ndarray
    weighs: np.ndarray
    link: int
    modes: np.ndarray
    l2s: np.ndarray
    which: np.ndarray


class Answers(NamedTuple):
    """A row or entry per category. With θ = -loss'(r) the duality gap is Σ_j g_j²/(2 l2_j), NaN where some l2 is 0;
    towards the end see `proof`."""

    objective: np.ndarray
    gap: np.ndarray
    kkt: np.ndarray
    kkt_bound: np.ndarray
    rounds: np.ndarray
    converged: np.ndarray
    dual: np.ndarray


class Lanes(NamedTuple):
    """What a lane does alone, a row or an entry each: over documents, over features, and where it stands.

    before      the gradient where its last step began
    best        β at the `lowest` objective there was
    cut         how much a document bends that counts among the few, and `refined`: directions they gave
    """

    margin: np.ndarray
    shift: np.ndarray
    pull: np.ndarray
    curvature: np.ndarray
    steps: np.ndarray
    gradient: np.ndarray
    diagonal: np.ndarray
    before: np.ndarray
    best: np.ndarray
    loss: np.ndarray
    lowest: np.ndarray
    cut: np.ndarray
    refined: np.ndarray
    stuck: np.ndarray
    trust: np.ndarray


class Shared(NamedTuple):
    """What categories of the same weights or priors have in common, and room that lanes use in turn.

    sums, squares, summed   Σ c_i x_ij and Σ c_i x_ij² by the weights that `summed` says; a row per lane where there
                            are more weights than lanes
    reach, flat             of every prior: see `reaches`, and whether it leaves some coefficient free
    """

    sums: np.ndarray
    squares: np.ndarray
    summed: np.ndarray
    reach: np.ndarray
    flat: np.ndarray
    work: np.ndarray
    newton: np.ndarray
    zeros: np.ndarray
    room: np.ndarray
    documents: np.ndarray


@inlined
def lanes_for(count, n, size):
    whole, entry = (count, n), (count, size)
    return Lanes(
        np.empty(whole), np.zeros(whole), np.empty(whole), np.empty(whole),
        np.empty(entry), np.empty(entry), np.empty(entry), np.empty(entry), np.empty(entry),
        np.zeros(count), np.empty(count), np.empty(count),
        np.empty(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64),
    )  # fmt: skip


@inlined
def shared_by(count, rows, l2s, n):
    priors, size = l2s.shape
    reach, flat = np.empty((priors, n)), np.empty(priors, np.bool_)
    for k in range(priors):
        reaches(rows, l2s[k], reach[k])
        flat[k] = False
        for j in range(size):
            flat[k] = flat[k] or l2s[k, j] == 0.0
    return Shared(
        np.empty((count, size)), np.empty((count, size)), np.full(count, -1), reach, flat,
        np.empty((5, size)), np.empty(size), np.zeros(size), np.empty(n), np.empty(n, np.int64),
    )  # fmt: skip


@part
def _margins(rows, offset, y, beta, margin):
    common = dot(offset, beta)
    for i in range(y.size):
        total = common
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.data[k] * beta[rows.indices[k]]
        margin[i] = y[i] * total


@part
def _start(rows, offset, documents, mode, l2, beta, margin):
    """The margins at β; from a start at 0, the constant feature is first given its own optimum."""
    d = beta.size - 1
    if has(beta[:d]):
        _margins(rows, offset, documents.y, beta, margin)
    else:
        free = np.full(1, np.inf)
        beta[d] = intercept_only(documents, PriorArrays(mode[d:], np.zeros(1), l2[d:], -free, free), beta[d])
        for i in range(margin.size):
            margin[i] = documents.y[i] * beta[d]


@inlined
def _arrive(documents, lanes, lane, t, step, theta):
    """Lane's margins, residuals and loss after t of its step and `step` of the constant."""
    y, weight, link = documents
    lanes.loss[lane] = arrive(lanes.margin[lane], lanes.shift[lane], t, y, step, weight, link, theta, lanes.pull[lane])


def _gap(gradient, beta, mode, l2):
    """The loss's gradient becomes that of the objective; returns the penalty and the duality gap."""
    penalty = gap = 0.0
    for j in range(beta.size):
        away = beta[j] - mode[j]
        gradient[j] += l2[j] * away
        penalty += 0.5 * l2[j] * away * away
        gap += gradient[j] * gradient[j] / (2.0 * l2[j])
    return penalty, gap


_gap = part(_gap, fastmath=REASSOCIATING)


@part
def _violation(gradient, beta, mode):
    """(kkt, kkt_bound): see `Certificate` in stats/objective.py."""
    worst = bound = 0.0
    for j in range(beta.size):
        worst = max(worst, abs(gradient[j]))
        bound += abs(gradient[j]) * max(abs(beta[j] - mode[j]), 1.0)
    return worst + 0.0 * bound, bound  # NaN where the bound is


class Search(NamedTuple):
    """Where a lane's conjugate gradients are: rᵀM⁻¹r, at what it ends, its last ratio, iterations still allowed."""

    rho: np.ndarray
    goal: np.ndarray
    ratio: np.ndarray
    left: np.ndarray


@inlined
def _descend(at, room, P, out, l2, step, residual, inverse, search):
    """A step of conjugate gradients, all lanes alike: α is 0 for those at something else. `out` is the Hessian × P."""
    product, fresh, alpha = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    for j in range(P.shape[0]):
        for lane in range(LANES):
            product[lane] += P[j, lane] * (out[j, lane] + l2[j, lane] * P[j, lane])
    for lane in range(LANES):
        alpha[lane] = search.rho[lane] / product[lane] if at[lane] == DIRECTION and product[lane] > 0.0 else 0.0
    for j in range(P.shape[0]):
        for lane in range(LANES):
            step[j, lane] += alpha[lane] * P[j, lane]
            residual[j, lane] -= alpha[lane] * (out[j, lane] + l2[j, lane] * P[j, lane])
            fresh[lane] += residual[j, lane] * residual[j, lane] * inverse[j, lane]
    for lane in those(at, DIRECTION, room):
        search.left[lane] -= 1
        if alpha[lane] > 0.0 and fresh[lane] > search.goal[lane] and search.left[lane] > 0:
            search.ratio[lane] = fresh[lane] / search.rho[lane]
            search.rho[lane] = fresh[lane]
        else:
            at[lane] = FOUND


@inlined
def _begin(beginning, l2, diagonal, gradient, step, residual, inverse, search):
    """Conjugate gradients begin, from a step of 0; the goal was relative."""
    for j in range(step.shape[0]):
        for lane in beginning:
            curved = l2[j, lane] + diagonal[lane, j]
            inverse[j, lane] = 1.0 / curved if curved > 0.0 else 1.0
            residual[j, lane] = -gradient[lane, j]
            step[j, lane] = 0.0
            search.rho[lane] += gradient[lane, j] * gradient[lane, j] * inverse[j, lane]
    for lane in beginning:
        search.goal[lane] *= search.rho[lane]


@inlined
def _turn(at, P, residual, inverse, search):
    """P = M⁻¹ residual + ratio P, for those looking for a direction."""
    alpha, ratio = np.zeros(LANES), np.ones(LANES)
    for lane in range(LANES):
        if at[lane] == DIRECTION:
            alpha[lane], ratio[lane] = 1.0, search.ratio[lane]
    for j in range(P.shape[0]):
        for lane in range(LANES):
            P[j, lane] = alpha[lane] * (residual[j, lane] * inverse[j, lane]) + ratio[lane] * P[j, lane]


@part
def take(rows, documents, mode, l2, offset, slot, w, lane, lanes, shared, beta, theta):
    """A lane takes a category: its margins, its loss, the sums that go with its weights."""
    _start(rows, offset, documents, mode, l2, beta, lanes.margin[lane])
    fill(lanes.shift[lane], 0.0)
    _arrive(documents, lanes, lane, 0.0, 0.0, theta)
    if shared.summed[slot] != w:
        sums_of(rows, documents.weight, shared.sums[slot])
        squares_of(rows, documents.weight, shared.squares[slot])
        shared.summed[slot] = w
    lanes.stuck[lane], lanes.lowest[lane] = 0, np.inf
    lanes.cut[lane], lanes.refined[lane], lanes.trust[lane] = BENDS, 0, FULL


@part
def go(documents, mode, l2, lane, lanes, beta, objective, theta):
    """Along the step, as far as a line search says, and then the constant feature to its optimum."""
    y, weight, link = documents
    margin, shift, step, d = lanes.margin[lane], lanes.shift[lane], lanes.steps[lane], beta.size - 1
    slope, curve, first = slant(beta, mode, l2, lanes.gradient[lane], step)
    t, lift, lifts = line_search(margin, shift, y, weight, link, slope, curve, first, objective)
    for j in range(beta.size):
        beta[j] += t * step[j]
    more = level(margin, shift, t, y, weight, link, beta[d] - mode[d], l2[d], lift, lifts)
    beta[d] += more
    _arrive(documents, lanes, lane, t, more, theta)


@part
def _back(rows, offset, documents, lane, lanes, beta, theta):
    """To the best β there was."""
    assign(beta, lanes.best[lane])
    _margins(rows, offset, documents.y, beta, lanes.margin[lane])
    fill(lanes.shift[lane], 0.0)
    _arrive(documents, lanes, lane, 0.0, 0.0, theta)


@part
def _certify(mode, l2, flat, c, lane, lanes, beta, answers, tol, max_rounds):
    """Where a gradient has come: (relative gap, what comes of it).

    IDLE, the category is done; GRADIENT, it is to go back to its best first; DIRECTION, it goes on.
    """
    added, duality = _gap(lanes.gradient[lane], beta, mode, l2)
    total, lowest = lanes.loss[lane] + added, lanes.lowest[lane]
    if lanes.trust[lane] != NONE and not total <= lowest * (1.0 + RISE):  # NaN, too, is no fall
        lanes.trust[lane] = CONJUGATE if lanes.trust[lane] == FULL else NONE
        if lowest < np.inf:
            return np.inf, GRADIENT
    lanes.stuck[lane] = 0 if total < answers.objective[c] else lanes.stuck[lane] + 1  # within rounding nothing falls
    if total < lowest:
        lanes.lowest[lane] = total
        assign(lanes.best[lane], beta)
    answers.objective[c], answers.gap[c] = total, np.nan if flat else duality
    relative = (_violation(lanes.gradient[lane], beta, mode)[1] if flat else duality) / max(total, 1e-300)
    answers.converged[c] = relative <= tol
    given_up = answers.rounds[c] >= max_rounds or lanes.stuck[lane] == PATIENCE
    if given_up and not answers.converged[c] and total > lowest:
        lanes.trust[lane] = NONE
        return relative, GRADIENT
    done = answers.converged[c] or given_up or lanes.trust[lane] == NONE
    return relative, IDLE if done else DIRECTION


@part
def _by_few(rows, documents, l2, prior, slot, c, lane, lanes, shared, answers, relative, few, tol):
    """A direction from the few documents that bend: STEP; DIRECTION where they are too many; IDLE where it proves."""
    _, weight, link = documents
    curvature, gradient, room, work = lanes.curvature[lane], lanes.gradient[lane], shared.room, shared.work
    if lanes.refined[lane] >= SLOW:
        lanes.cut[lane] *= MORE  # the others do bend
    count, entries, share = that_bend(
        rows.indptr, weight, curvature, shared.reach[prior], lanes.cut[lane], shared.documents
    )
    if count < 0 or (relative >= CLOSE and share > few):
        return DIRECTION
    some, limit = shared.documents[:count], tol * answers.objective[c]
    promise = from_few(
        rows, weight, curvature, shared.sums[slot], shared.squares[slot], l2, gradient, some, entries,
        NEWTON if relative > 1.0 else NEWTON_NEAR, shared.zeros, work, shared.newton, room,
    )  # fmt: skip
    if promise <= limit and link == 0 and not shared.flat[prior]:
        duality = proof(rows, documents, curvature, answers.dual[c], l2, some, room, work, limit)
        if duality <= limit:
            answers.gap[c], answers.converged[c] = duality, True
            return IDLE
    if relative > NEARER or answers.rounds[c] == 1:
        assign(lanes.steps[lane], shared.newton)
    else:
        across_last(gradient, lanes.before[lane], shared.newton, lanes.steps[lane])
    assign(lanes.before[lane], gradient)
    lanes.refined[lane] += 1
    return STEP


@part
def _aim(rows, weight, squares, lane, lanes, search, relative):
    """Conjugate gradients are to begin: their preconditioner's share of the loss, how near and how long they go."""
    if relative > EARLY:  # one curvature for all is near enough
        share = in_turn(lanes.curvature[lane]) / in_turn(weight)
        for j in range(squares.size):
            lanes.diagonal[lane, j] = share * squares[j]
    else:
        squares_of(rows, lanes.curvature[lane], lanes.diagonal[lane])
    assign(lanes.before[lane], lanes.gradient[lane])
    search.rho[lane] = search.ratio[lane] = 0.0
    search.goal[lane] = CG if relative > 1.0 else CG_NEAR
    search.left[lane] = CG_EARLY if relative > EARLY else CG_LATER if relative > CLOSE else CG_MOST


@part
def next_of(
    rows, offset, documents, mode, l2, prior, slot, c, lane, lanes, shared, search, beta, answers, few, tol, max_rounds
):
    """Certify; where the gap is too wide, find the next direction or begin to. Returns what the lane is at then."""
    theta = answers.dual[c]
    relative, then = _certify(mode, l2, shared.flat[prior], c, lane, lanes, beta, answers, tol, max_rounds)
    if then == GRADIENT:
        _back(rows, offset, documents, lane, lanes, beta, theta)
    elif then == DIRECTION:
        answers.rounds[c] += 1
        curvatures(lanes.margin[lane], theta, documents.weight, documents.link, lanes.curvature[lane])
        if few is not None:
            if lanes.trust[lane] == FULL and not has(offset):
                then = _by_few(rows, documents, l2, prior, slot, c, lane, lanes, shared, answers, relative, few, tol)
        if then == DIRECTION:
            _aim(rows, documents.weight, shared.squares[slot], lane, lanes, search, relative)
            then = BEGIN
    if then == IDLE:
        answers.kkt[c], answers.kkt_bound[c] = _violation(lanes.gradient[lane], beta, mode)
    return then


@kernel
def fit(rows, offset, categories, betas, turns, few, tol, max_rounds):
    """Fit K categories.

    rows     X by rows, the constant feature with its entries: it goes through the same vector instructions
    offset   (d+1,) added to every entry of a column
    betas    (K, d+1) starts; overwritten by the solutions
    turns    (K,) the order in which categories take lanes
    few      FEW, or None: all directions come from conjugate gradients, and a quarter less is compiled

    Longer than a screen because lanes of different stages share every array of a pass.
    """
    Y, weights, weighs, link, modes, l2s, which = categories
    (K, n), size = Y.shape, betas.shape[1]
    answers = Answers(
        np.full(K, np.inf), np.empty(K), np.empty(K), np.empty(K), np.zeros(K, np.int64), np.zeros(K, np.bool_),
        np.empty((K, n)),
    )  # fmt: skip
    # What a pass reads and writes: the lanes of a document or feature together.
    A, B, Q, W = lanes_of(n), lanes_of(n), lanes_of(n), lanes_of(n)  # A is 0 but for lanes at DIRECTION
    P, out, step, l2 = lanes_of(size), lanes_of(size), lanes_of(size), lanes_of(size)
    residual, inverse = lanes_of(size), lanes_of(size)
    lanes, shared = lanes_for(LANES, n, size), shared_by(LANES, rows, l2s, n)
    search = Search(np.zeros(LANES), np.zeros(LANES), np.zeros(LANES), np.zeros(LANES, np.int64))
    at, category, some = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.empty(LANES, np.int64)
    alike = len(weights) <= LANES  # then lanes share the sums that go with their weights
    waiting = 0
    while True:
        # A free lane takes the next category.
        for lane in those(at, IDLE, some):
            if waiting < K:
                c = category[lane] = turns[waiting]
                w, k = weighs[c], which[c]
                documents, slot = Documents(Y[c], weights[w], link), w if alike else lane
                take(rows, documents, modes[k], l2s[k], offset, slot, w, lane, lanes, shared, betas[c], answers.dual[c])
                for j in range(size):
                    l2[j, lane], P[j, lane] = l2s[k, j], 0.0
                at[lane] = GRADIENT
                waiting += 1
        if those(at, IDLE, some).size == LANES:
            return answers

        # Go along the steps there are,
        join(those(at, STEP, some), lanes.steps, P)
        forth(rows, offset, P, Q)
        split_by(those(at, STEP, some), Q, Y, category, lanes.shift)
        for lane in those(at, STEP, some):
            c = category[lane]
            documents, k = Documents(Y[c], weights[weighs[c]], link), which[c]
            go(documents, modes[k], l2s[k], lane, lanes, betas[c], answers.objective[c], answers.dual[c])
            at[lane] = GRADIENT

        # ask for the gradient there, and for the Hessian times P of those looking for a direction.
        join(those(at, GRADIENT, some), lanes.pull, B)
        searching = those(at, DIRECTION, some).size > 0
        back(rows, offset, A if searching else A[:0], B, Q, W, out)
        if searching:
            _descend(at, some, P, out, l2, step, residual, inverse, search)
            split(those(at, FOUND, some), step, lanes.steps)
            for lane in those(at, FOUND, some):
                for i in range(n):
                    A[i, lane] = 0.0
                at[lane] = STEP

        # Where a gradient has come, see whether it is the last one.
        split(those(at, GRADIENT, some), out, lanes.gradient)
        for lane in those(at, GRADIENT, some):
            c = category[lane]
            w, k = weighs[c], which[c]
            documents, slot = Documents(Y[c], weights[w], link), w if alike else lane
            at[lane] = next_of(
                rows, offset, documents, modes[k], l2s[k], k, slot, c, lane, lanes, shared, search, betas[c], answers,
                few, tol, max_rounds,
            )  # fmt: skip

        beginning = those(at, BEGIN, some)
        if beginning.size > 0:
            _begin(beginning, l2, lanes.diagonal, lanes.gradient, step, residual, inverse, search)
            join(beginning, lanes.curvature, A)
        for lane in beginning:
            for i in range(n):
                B[i, lane] = 0.0
            at[lane] = DIRECTION
        if those(at, DIRECTION, some).size > 0:
            _turn(at, P, residual, inverse, search)
