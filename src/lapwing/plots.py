"""Pictures for notebooks: every function draws one and returns its matplotlib axes. Needs `lapwing[plots]`.

`model` is a fitted classifier or what `lapwing.load` gives; `ax` is where to draw, new axes unless given.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.errors import InputError, MissingExtraError
from lapwing.evaluate.assessment import assess_category
from lapwing.evaluate.calibration import EDGES, calibration
from lapwing.evaluate.measures import Evaluation
from lapwing.model import Explanation, LinearModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "coefficient_path",
    "errors",
    "explanation",
    "features_kept",
    "precision_recall",
    "reliability",
    "variance_curve",
    "words",
]

FOR, AGAINST, PALE = "#1b6ca8", "#c8650c", "#8a97a6"


def words(model: Any, category: Hashable | None = None, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """The strongest words of a category as bars, for it to the right and against it to the left."""
    linear = _linear(model)
    row = linear.row_of(category)
    pairs = sorted(linear.row_features(row, top), key=lambda pair: pair[1])
    ax = _axes(ax, height=1.0 + 0.22 * len(pairs))
    _bars(ax, pairs)
    ax.set_xlabel("weight")
    ax.set_title(str(linear.categories[row]))
    return ax


def explanation(
    explained: Explanation, category: Hashable | None = None, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """The words that spoke for and against a category of `model.explain(text)`; the most probable unless named."""
    named = [one for one in explained.categories if category is None or one.category == category]
    if not named:
        raise InputError(
            f"the explanation has no category {category!r}; it has {[c.category for c in explained.categories]}"
        )
    one = named[0]
    pairs = sorted(((part.feature, part.contribution) for part in one.contributions[:top]), key=lambda pair: pair[1])
    ax = _axes(ax, height=1.0 + 0.22 * len(pairs))
    _bars(ax, pairs)
    ax.set_xlabel("contribution to the score")
    ax.set_title(f"{one.category}: probability {one.probability:.3f}")
    return ax


def features_kept(model: Any, *, ax: Axes | None = None) -> Axes:
    """Features kept against positive training documents, a dot per category (GLM07 Figure 8)."""
    linear = _linear(model)
    positives, kept = linear.fits.positives, linear.n_kept
    seen = (positives > 0) & (kept > 0)  # what a logarithm can show
    ax = _axes(ax)
    ax.scatter(positives[seen], kept[seen], s=24, color=FOR, alpha=0.65, edgecolors="white", linewidths=0.5)
    ax.set(xscale="log", yscale="log", xlabel="positive training documents", ylabel="features kept")
    return ax


def reliability(truth: Any, proba: Any, *, ax: Axes | None = None) -> Axes:
    """The share of documents in the category against the probability it was given, in bins of equal log-odds or so;
    bars are 95 % bands, numbers say how many documents there are.

    truth, proba   (n,) one category, or (n, categories) pooled
    """
    inside, p = _flat(truth, proba)
    bins = calibration(inside[:, None], p[:, None])[0].reliability()
    ends = EDGES[1] / 3  # what is 0 or 1 stands at the edge
    said, true = (np.clip([getattr(one, name) for one in bins], ends, 1 - ends) for name in ("probability", "share"))
    low, high = np.clip([one.band for one in bins], ends, 1 - ends).T
    ax = _axes(ax)
    ax.plot([ends, 0.5, 1 - ends], [ends, 0.5, 1 - ends], color=PALE, linestyle="--", linewidth=1)
    ax.vlines(said, low, high, color=FOR, alpha=0.5)
    ax.plot(said, true, color=FOR, marker="o")
    for x, y, one in zip(said, true, bins, strict=True):
        ax.annotate(f"{one.documents:,}", (x, y), (6, -11), textcoords="offset points", fontsize=8, color=PALE)
    ticks = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
    ax.set(xscale="logit", yscale="logit", xlim=(ends, 1 - ends), ylim=(ends, 1 - ends))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
        axis.set_ticks([], minor=True)
    ax.set(xlabel="probability the model gave", ylabel="share in the category")
    return ax


def precision_recall(truth: Any, proba: Any, threshold: float | None = None, *, ax: Axes | None = None) -> Axes:
    """Precision against recall over all thresholds of one category; a ring marks `threshold`."""
    inside, p = _flat(truth, proba)
    if not inside.any():
        raise InputError("no document is in the category; there is no recall to draw")
    cuts = np.array(assess_category(p, inside).cuts)
    ax = _axes(ax)
    ax.plot(cuts[:, 1] / inside.sum(), cuts[:, 1] / (cuts[:, 1] + cuts[:, 2]), color=FOR)
    if threshold is not None:
        chosen = p > threshold
        tp = int((chosen & inside).sum())
        if chosen.any():
            ax.plot(tp / inside.sum(), tp / chosen.sum(), "o", markersize=10, markerfacecolor="none",
                    markeredgecolor=AGAINST, markeredgewidth=2, label=f"threshold {threshold:.2f}")  # fmt: skip
            ax.legend(frameon=False)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall", ylabel="precision")
    return ax


def variance_curve(model: Any, category: Hashable | None = None, *, ax: Axes | None = None) -> Axes:
    """Held-out log-likelihood against the prior variance, for a model whose variance was chosen by it."""
    linear = _linear(model)
    row = linear.row_of(category)
    curve = (linear.provenance.get("variance_curves") or {}).get(str(linear.categories[row]))
    if curve is None:
        raise InputError("the variance of this model was not chosen by cross-validation; train with variance='cv'")
    ax = _axes(ax)
    ax.plot(curve["variances"], curve["log_likelihood"], color=FOR, marker="o", markersize=4)
    at = curve["variances"].index(curve["chosen"])
    ax.plot(curve["chosen"], curve["log_likelihood"][at], "o", markersize=10, markerfacecolor="none",
            markeredgecolor=AGAINST, markeredgewidth=2)  # fmt: skip
    ax.set(xscale="log", xlabel="prior variance", ylabel="held-out log-likelihood")
    return ax


def coefficient_path(
    model: Any, documents: Any, labels: Sequence[Any], category: Hashable | None = None, *, ax: Axes | None = None
) -> Axes:
    """Weights of a category's heaviest features as its prior weakens, fitted again on training documents.

    labels   a label per document, or a list of labels
    """
    from lapwing.reporting.path import coefficient_path as fit_path

    linear = _linear(model)
    row = linear.row_of(category)
    sets = [tuple(one) if isinstance(one, list | tuple | set) else (one,) for one in labels]
    path = fit_path(linear, row, linear.vectors(documents), sets)
    ax = _axes(ax)
    ax.axhline(0.0, color=PALE, linewidth=0.8)
    ax.axvline(path["chosen"], color=PALE, linestyle=":")
    for feature, line in zip(path["features"], np.array(path["coefficients"]).T, strict=True):
        ax.plot(path["variances"], line, label=feature)
    ax.set(xscale="log", xlabel="prior variance", ylabel="weight", title=str(linear.categories[row]))
    ax.legend(frameon=False, fontsize=9)
    return ax


def errors(evaluations: Mapping[str, Evaluation], *, ax: Axes | None = None) -> Axes:
    """Errors of every category with several models, a line each, ln(1 + errors) (GLM07 Figure 6)."""
    if len(evaluations) < 2:
        raise InputError(f"expected two or more evaluations by name, got {len(evaluations)}")
    by_name = [dict(zip(one.categories, one.tables.errors.tolist(), strict=True)) for one in evaluations.values()]
    common = [label for label in by_name[0] if all(label in other for other in by_name)]
    grid = np.log1p([[by[label] for label in common] for by in by_name])
    ax = _axes(ax)
    ax.plot(range(len(grid)), grid, color=FOR, alpha=0.4, linewidth=0.9)
    ax.set_xticks(range(len(grid)), list(evaluations))
    ax.set_ylabel("ln(1 + errors)")
    return ax


def _axes(ax: Axes | None, height: float = 4.5) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        message = 'pictures need matplotlib, which is not installed; pip install "lapwing[plots]"'
        raise MissingExtraError(message) from error
    _, axes = plt.subplots(figsize=(6.4, height), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _bars(ax: Axes, pairs: Sequence[tuple[str, float]]) -> None:
    """Words may stand twice in no list; `$` in one is a letter, not mathematics."""
    colours = [FOR if value > 0 else AGAINST for _, value in pairs]
    ax.barh(range(len(pairs)), [value for _, value in pairs], color=colours)
    ax.set_yticks(range(len(pairs)), [word.replace("$", r"\$") for word, _ in pairs])
    ax.axvline(0.0, color=PALE, linewidth=0.8)


def _linear(model: Any) -> LinearModel:
    linear = getattr(model, "model_", model)
    if not isinstance(linear, LinearModel):
        raise InputError(f"expected a fitted classifier or a loaded model, got {type(model).__name__}")
    return linear


def _flat(truth: Any, proba: Any) -> tuple[np.ndarray, np.ndarray]:
    inside, p = np.asarray(truth).ravel(), np.asarray(proba, dtype=np.float64).ravel()
    if inside.shape != p.shape or not len(p):
        raise InputError(f"expected as many labels as probabilities, got {inside.size} and {p.size}")
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("expected probabilities from 0 to 1; predict_proba and category_proba give them")
    return inside > 0, p
