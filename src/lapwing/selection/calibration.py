"""From out-of-fold scores to probabilities that keep their word.

A category's score s becomes a s + b before the link. Each category has its own line, drawn towards the mean of all
lines as if by a Gaussian prior around it, so that a category of ten documents stays near it and one of a thousand goes
where its documents say:

    min_{a,b}  Σ_i c_i loss(y_i (a s_i + b)) + (a - A)²/(2σ²) + (b - B)²/(2τ²),   (A, B) the mean over categories

Where classes exclude each other their scores are coupled: with F the link's distribution function,

    p_k ∝ e^{u s_k} F(s_k)^v,   u, v ≥ 0

F alone (u = 0, v = 1) is one-vs-rest made to add up to 1; e^s alone a softmax; what lies between is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lapwing.model.calibration import Coupling
from lapwing.stats.links import Link, log_sum_exp
from lapwing.stats.objective import summed

COMMON = (1.0, 3.0)  # how far the common slope is from 1 and the common offset from 0, as standard deviations:
OWN = (0.5, 3.0)  # of the line of one category from the mean of all, the first as a share of its slope
TURNS = 3  # of lines and their mean
FLATTEST = 0.01  # slope: a category whose scores say nothing keeps their order
ROUNDS = 50  # of Newton's method for a line at most
CLOSE = 1e-8  # relative fall of what is minimised at which a line is found,
TIGHT = 1e-10  # or a coupling, or a temperature
CROWD = 20_000  # documents from which it is worth to look for those of one score
MOST = 2_000_000  # scores that the common line is drawn through; more would not move it

Column = tuple[np.ndarray, np.ndarray, np.ndarray]


class Line(NamedTuple):
    """Scores s become slope·s + offset."""

    slope: float = 1.0
    offset: float = 0.0


def fit_line(
    scores: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    link: Link,
    around: Line,
    spread: tuple[float, float],
    doubt: np.ndarray | float = 0.0,
    start: Line | None = None,
) -> tuple[Line, float]:
    """The line of the heading, σ and τ its `spread`, and the loss along it; by Newton's method from `start`.

    doubt   the share of a document, or of every one, that counts as having the other label
    """
    precision = np.array(spread) ** -2.0
    centre, line = np.array(around), np.array(start or around)
    sure, unsure = weight * (1.0 - doubt), weight * doubt
    doubted = bool(np.any(unsure))

    def value(line: np.ndarray) -> float:
        margin = y * (line[0] * scores + line[1])
        loss = summed(sure, link.loss(margin, y)) + (summed(unsure, link.loss(-margin, -y)) if doubted else 0.0)
        return loss + float(0.5 * precision @ (line - centre) ** 2)

    def derivatives(line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        margin = y * (line[0] * scores + line[1])
        theta = link.theta(margin, y)
        pull, bend = sure * theta, sure * link.curvature(margin, theta, y)
        if doubted:
            other = link.theta(-margin, -y)
            pull, bend = pull - unsure * other, bend + unsure * link.curvature(-margin, other, -y)
        pull = pull * y
        slope = precision * (line - centre) - np.array([summed(pull, scores), pull.sum()])
        cross = summed(bend, scores)
        return slope, np.array([[summed(bend, scores**2), cross], [cross, bend.sum()]]) + np.diag(precision)

    line = _minimised(value, derivatives, line, CLOSE)
    best = Line(max(float(line[0]), FLATTEST), float(line[1]))
    return best, summed(weight, link.loss(y * (best.slope * scores + best.offset), y))


def _minimised(
    value: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    at: np.ndarray,
    close: float,
    least: float = -np.inf,
) -> np.ndarray:
    """Of a convex function of few variables, each at `least` or more: Newton's method, from `at` on.

    derivatives   gradient and Hessian
    close         relative fall of the value at which it ends
    """
    here = value(at)
    for _ in range(ROUNDS):
        slope, H = derivatives(at)
        free = (at > least) | (slope < 0.0)  # at the least and pushed below: stay
        if not free.any():
            break
        H, step, share = H[np.ix_(free, free)], np.zeros(len(at)), 1.0
        step[free] = -np.linalg.solve(H + np.diag(1e-12 * np.diag(H) + 1e-300), slope[free])
        while not (after := value(np.maximum(at + share * step, least))) < here and share > 1e-4:
            share *= 0.5
        if not after < here:
            break
        at, fell, here = np.maximum(at + share * step, least), here - after, after
        if fell <= close * abs(here):
            break
    return at


def columns(
    scores: np.ndarray, y: np.ndarray, weight: np.ndarray, documents: np.ndarray | slice = slice(None)
) -> list[Column]:
    """Scores, labels and weights of every category, of some documents: (n, rows) each, labels ±1.

    Of many documents most hold none of its words and score the same: documents of one label and score are one, with the
    sum of their weights.
    """
    if len(scores) < CROWD:
        return list(zip(scores[documents].T, y[documents].T, weight[documents].T, strict=True))
    parts = zip(scores.T, y.T, weight.T, strict=True)
    return [_condensed(s[documents], signs[documents], w[documents]) for s, signs, w in parts]


def _condensed(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Column:
    parts = []
    for label in (1.0, -1.0):
        here = np.flatnonzero((y == label) & (weight > 0.0))
        values, number = np.unique(scores[here], return_inverse=True)
        parts.append((values, np.full(len(values), label), np.bincount(number, weight[here], len(values))))
    s, signs, w = (np.concatenate(part) for part in zip(*parts, strict=True))
    return s, signs, w


def common_line(columns: Sequence[Column], link: Link) -> tuple[Line, float]:
    """One line for all categories, and the loss along it.

    Of N documents with a label all right, the next may still be wrong: each counts as wrong by 1/(N + 2) (Platt 1999).
    """
    s, signs, w = (np.concatenate(part) for part in zip(*columns, strict=True))
    inside, outside = float(w[signs > 0.0].sum()), float(w[signs < 0.0].sum())
    doubt = np.where(signs > 0.0, 1.0 / (inside + 2.0), 1.0 / (outside + 2.0))
    thin = -(-s.size // MOST)
    line, loss = fit_line(s[::thin], signs[::thin], w[::thin], link, Line(), COMMON, doubt[::thin])
    return line, loss if thin == 1 else summed(w, link.loss(signs * (line.slope * s + line.offset), signs))


def own_lines(columns: Sequence[Column], link: Link, start: Line) -> tuple[Line, list[Line]]:
    """(the mean of all lines, a line for every category), from the common line on."""
    mean, lines = start, [start] * len(columns)
    for _ in range(TURNS if len(lines) > 2 else 0):
        lines = lines_around(columns, link, mean, lines)
        mean = Line(*np.mean(lines, axis=0).tolist())
    return mean, lines_around(columns, link, mean, lines)


def lines_around(columns: Sequence[Column], link: Link, mean: Line, starts: Sequence[Line]) -> list[Line]:
    """A line for every category around a mean that is known, each from a line near it."""
    spread = (OWN[0] * mean.slope, OWN[1])
    return [
        fit_line(*column, link, mean, spread, start=start)[0] for column, start in zip(columns, starts, strict=True)
    ]


def fit_temperature(scores: np.ndarray, classes: np.ndarray, weight: np.ndarray) -> float:
    """The likeliest t in p_k ∝ e^{t s_k}, drawn towards 1. scores (n, K), classes (n,) numbers."""
    own = scores[np.arange(len(classes)), classes]

    def value(t: np.ndarray) -> float:
        return summed(weight, log_sum_exp(t * scores) - t * own) + float(0.5 * np.sum((t - 1.0) ** 2)) / COMMON[0] ** 2

    def derivatives(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = np.exp(t * scores - log_sum_exp(t * scores)[:, None])
        mean = (p * scores).sum(axis=1)
        slope = summed(weight, mean - own) + (t - 1.0) / COMMON[0] ** 2
        bend = summed(weight, (p * scores**2).sum(axis=1) - mean**2) + COMMON[0] ** -2.0
        return slope, np.array([[bend]])

    return float(_minimised(value, derivatives, np.ones(1), TIGHT, FLATTEST)[0])


def fit_coupling(scores: np.ndarray, classes: np.ndarray, weight: np.ndarray, link: Link) -> Coupling:
    """The likeliest (u, v), drawn towards (0, 1) as if by a Gaussian of variance 1: the log-likelihood is concave.

    scores (n, K), classes (n,) numbers
    """
    parts = np.stack([scores, -link.loss(scores, 1.0)])  # (2, n, K)
    rows, centre = np.arange(len(classes)), np.array([0.0, 1.0])

    def value(at: np.ndarray) -> float:
        logits = at[0] * parts[0] + at[1] * parts[1]
        return summed(weight, log_sum_exp(logits) - logits[rows, classes]) + float(0.5 * np.sum((at - centre) ** 2))

    def derivatives(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits = at[0] * parts[0] + at[1] * parts[1]
        p = np.exp(logits - log_sum_exp(logits)[:, None])
        mean = np.einsum("jnk,nk->jn", parts, p)
        slope = np.einsum("jn,n->j", mean - parts[:, rows, classes], weight) + (at - centre)
        H = np.einsum("ink,jnk,nk,n->ij", parts, parts, p, weight) - np.einsum("in,jn,n->ij", mean, mean, weight)
        return slope, H + np.eye(2)

    at = _minimised(value, derivatives, centre, TIGHT, 0.0)
    return Coupling(*at.tolist()) if at.any() else Coupling()
