"""The score that a fit without the document would have given it, for every document at once.

Without document i the optimum would lie, to second order, where one Newton step from β leads (Rad and Maleki 2020, who
show it for penalties with zeros: coefficients at 0 stay there). With H the Hessian of the objective over the kept
coefficients, d_i = c_i loss''(r_i) and a_i = x_iᵀH⁻¹x_i,

    s_i without i  =  s_i − c_i θ_i y_i a_i / (1 − d_i a_i).

Of a_i the part e_bᵀH⁻¹x_i by which the intercept would change is left out: what counts is a score beside that of an
empty document by the same fit, and empty documents then have the same score whether they are left out or new.

A feature that no other document has would be gone: its part of the score is taken away, and H is without it.
So scored, training documents are to the model what new ones are: scores by fits to four fifths of the documents are
not, as those fits are surer of less. This is what `lapwing drift` compares new scores with.

Under a sparse prior coefficients end at 0: the step ends where all those of the document that are for its side would be
gone, and never leads to its side. Many new documents will have exactly a score that many training documents have, such
as the intercept where they hold none of the kept features. There the score is kept as it is, so that ties remain ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lapwing.engine import run_all
from lapwing.model import LinearModel
from lapwing.model.reference import ScoreReference
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays
from lapwing.training.fit import CategoryFit
from lapwing.training.out_of_fold import sample_rows

if TYPE_CHECKING:
    from lapwing.training.one_vs_rest import OneVsRest

MOST_KEPT = 2500  # coefficients: more take too long to factorise for every category
AT_A_TIME = 1 << 12  # documents whose products are added up,
MOST_ENTRIES = 1 << 22  # and entries of kept columns that are taken from the columns, not out of all rows
MOST_SCORES = 1 << 23  # documents times categories that are scored so, documents drawn at random where there are more
MIN_TIES = 10  # documents of equal score, from which on that score is kept


def leave_one_out_scores(
    X: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, prior: PriorArrays, beta: np.ndarray, link: str,
    sample: np.ndarray, columns: sp.csc_matrix | None = None,
) -> np.ndarray | None:  # fmt: skip
    """Of the documents `sample`, X (n, d), β (d+1,) with the intercept last; None where too many features are kept."""
    import scipy.linalg

    columns = X.tocsc() if columns is None else columns
    kept = np.flatnonzero((beta[:-1] != prior.mode[:-1]) | (prior.l1[:-1] == 0.0))
    if len(kept) > MOST_KEPT:
        return None
    form = as_link(link)
    shared = np.diff(columns.indptr) > 1
    scores = X @ beta[:-1] + beta[-1]
    without = X @ np.where(shared, beta[:-1], 0.0) + beta[-1]
    margin = y * scores
    theta = form.theta(margin, y)
    bend = weight * form.curvature(margin, theta, y)
    kept = kept[shared[kept]]
    H = np.zeros((len(kept) + 1, len(kept) + 1))
    for documents, part in _blocks(X, columns, kept):
        H += (part.T @ part.multiply(bend[documents, None])).toarray()
    H[np.diag_indices_from(H)] += prior.l2[np.append(kept, len(beta) - 1)] + 1e-10 * H.trace() / len(H)
    rows = _with_constant(X[sample][:, kept])
    inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H, lower=True), np.eye(len(H)))
    a = np.empty(len(sample))
    for first in range(0, len(sample), AT_A_TIME):
        part = rows[first : first + AT_A_TIME]
        a[first : first + AT_A_TIME] = part.multiply(part @ inverse).sum(axis=1).ravel()
    shrunk = np.maximum(1.0 - bend[sample] * a, 1e-3)
    before, own = without[sample], y[sample]
    after = before - weight[sample] * theta[sample] * own * (a - rows @ inverse[:, -1]) / shrunk
    if prior.l1[kept].all():
        held = np.where(shared, beta[:-1], 0.0)
        low, high = (X[sample] @ part + beta[-1] for part in (np.minimum(held, 0.0), np.maximum(held, 0.0)))
        after = np.where(own > 0.0, np.clip(after, low, before), np.clip(after, before, high))
    return np.where(_tied(before), before, after)


def _tied(scores: np.ndarray) -> np.ndarray:
    """Where at least `MIN_TIES` are equal but for rounding."""
    unit = 1e-9 * max(float(np.abs(scores).max(initial=0.0)), 1e-300)
    _, group, sizes = np.unique(np.round(scores / unit), return_inverse=True, return_counts=True)
    return np.asarray(sizes[group] >= MIN_TIES)


def _blocks(X: sp.csr_matrix, columns: sp.csc_matrix, kept: np.ndarray) -> Iterator[tuple[slice, sp.csr_matrix]]:
    """The kept columns and the constant, some documents at a time."""
    few = int(np.diff(columns.indptr)[kept].sum()) <= MOST_ENTRIES
    whole = sp.csr_matrix(columns[:, kept]) if few else None
    for first in range(0, X.shape[0], AT_A_TIME):
        documents = slice(first, first + AT_A_TIME)
        yield documents, _with_constant(X[documents][:, kept] if whole is None else whole[documents])


def _with_constant(part: sp.csr_matrix) -> sp.csr_matrix:
    return sp.hstack([part, np.ones((part.shape[0], 1))], format="csr")


def reference(strategy: OneVsRest, fits: list[CategoryFit], model: LinearModel) -> dict[str, Any]:
    """How such scores are distributed in every category, as the model's own scores are scaled; {} where it is not told.

    Features that were selected before a fit, or pruned after it, or scaled, leave the sum out of which this is made.
    """
    settings, task, X = strategy.settings, strategy.task, strategy.X
    if settings.standardize or strategy.pruning or not strategy.prior.convex or not strategy.shares_columns:
        return {}
    some = [row for row in sample_rows(task, every=False).tolist() if fits[row].features.size]
    few, most = np.arange(X.shape[0]), MOST_SCORES // max(len(some), 1)
    if len(few) > most:
        few = np.sort(np.random.default_rng(settings.random_state).permutation(len(few))[:most])

    by_column = X.tocsc()

    def one(row: int) -> np.ndarray | None:
        fit = fits[row]
        beta = np.zeros(X.shape[1] + 1)
        beta[fit.features], beta[-1] = fit.weights, fit.intercept
        arrays = strategy.prior.compile(fit.variance, X.shape[1], settings.intercept_variance)
        weight = task.document_weights(row)
        return leave_one_out_scores(X, task.signs(row), weight, arrays, beta, settings.link, few, by_column)

    scored = dict(zip(some, run_all(one, some, n_jobs=settings.n_jobs), strict=True))
    rows = [row for row, own in scored.items() if own is not None]
    if not rows:
        return {}
    scores = np.column_stack([np.asarray(scored[row]) for row in rows])
    if model.calibration is not None:
        scores = scores * model.calibration.slope[rows] + model.calibration.offset[rows]
    member = np.column_stack([task.signs(row) > 0.0 for row in rows])
    inside = np.average(member, axis=0, weights=task.weights)
    return {"scores": ScoreReference.of(rows, scores, member[few], inside).to_dict()}
