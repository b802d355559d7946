"""Figures 2, 3, 6, 7 and 8, as PNG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.selection import chi_square, top_features
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import as_prior
from lapwing_papers.glm07.runs import SHOWN, Collection, RunResult, Runs, compared_run, parameters
from lapwing_papers.shown import INK, LINES, PALE, new_figure, png

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EIGHT = 8
SIX = 6  # of the eight are in the model where Figure 3 has its dotted line
FAVOURITE = "wheat"
VARIANCES = np.logspace(-4, 8, 121)
TOL = 1e-8


@dataclass(frozen=True, eq=False)
class Paths:
    """gaussian, laplace: (variances, 8) coefficients. `marked` is the variance of the dotted line."""

    category: str
    features: tuple[str, ...]
    variances: np.ndarray
    gaussian: np.ndarray
    laplace: np.ndarray
    marked: float


def coefficient_paths(collection: Collection, lasso: RunResult) -> Paths:
    """The category is wheat, or the one of median size where there is none; its features are those that
    matter most to its lasso, by weight times norm of the column, then the best by chi-square."""
    names = [str(label) for label in collection.categories]
    by_size = np.argsort(collection.positives, kind="stable")
    row = names.index(FAVOURITE) if FAVOURITE in names else int(by_size[len(names) // 2])
    y = collection.targets.signs(row)
    norms = np.sqrt(np.asarray(collection.train.multiply(collection.train).sum(axis=0)).ravel())
    importance = np.abs(lasso.results[row].weights[:-1]) * norms
    scores = chi_square(collection.train_columns, y, sample_weight=collection.weights)
    rank = np.where(importance > 0, 1.0 + importance, scores / (1.0 + scores.max()))
    features = top_features(rank, EIGHT)
    # Alike columns are not merged: each has a line of its own.
    problem = Problem(collection.train_columns[:, features].tocsr(), merge=False)
    gaussian, laplace = (_path(problem, y, collection.weights, prior) for prior in ("gaussian", "laplace"))
    in_model = np.count_nonzero(laplace, axis=1)
    marked = VARIANCES[int(np.argmin(np.abs(in_model - SIX)))]
    shown = tuple(collection.feature_names[j] for j in features)
    return Paths(names[row], shown, VARIANCES, gaussian, laplace, float(marked))


def _path(problem: Problem, y: np.ndarray, weights: np.ndarray, prior: str) -> np.ndarray:
    d = len(problem.group)
    path, beta = [], np.zeros(d + 1)
    for variance in VARIANCES:
        compiled = as_prior(prior).compile(float(variance), d)
        beta = newton.fit(
            problem, y, weights, compiled, variance=float(variance), tol=TOL, max_iter=2000, start=beta
        ).weights
        path.append(beta[:-1])
    return np.array(path)


FIGURES = ("figure2", "figure3", "figure6", "figure7", "figure8")
JITTER = 0.08


def figures(collection: Collection, runs: Runs, seed: int = 0) -> dict[str, tuple[str, bytes]]:
    """name → (caption, PNG)."""
    paths = coefficient_paths(collection, runs["lasso/norm/all"])
    about = (
        f"Coefficients of the classifier of {paths.category} on eight features, by variance of the {{}} prior. "
        f"The dotted line is where the Laplace prior keeps six of them, or nearly as many: {paths.marked:.3g}."
    )
    drawn = {
        "figure2": (f"Figure 2. {about.format('Gaussian')}", _paths(paths, paths.gaussian, "Gaussian")),
        "figure3": (f"Figure 3. {about.format('Laplace')}", _paths(paths, paths.laplace, "Laplace")),
        "figure6": (
            "Figure 6. Test errors of every category with ridge, lasso and SVM: all features, variance by "
            "cross-validation, default threshold. A little jitter separates the lines.",
            _parallel(collection, runs, seed),
        ),
        "figure7": (
            "Figure 7. Non-zero parameters of the lasso, the constant included, over the categories. Boxes hold "
            "the middle half, whiskers reach 1.5 times as far, points lie beyond.",
            _boxes(collection, runs),
        ),
        "figure8": (
            "Figure 8. Positive training documents of a category, and non-zero parameters of its lasso, variance "
            "by cross-validation.",
            _scatter(collection, runs),
        ),
    }
    return {name: (caption, png(figure)) for name, (caption, figure) in drawn.items()}


def _paths(paths: Paths, coefficients: np.ndarray, prior: str) -> Figure:
    figure, axes = new_figure(7.2, 4.6)
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    axes.axvline(paths.marked, color=INK, linewidth=1.0, linestyle=":")
    order = np.argsort(-coefficients[-1], kind="stable")
    for k, j in enumerate(order):
        axes.plot(paths.variances, coefficients[:, j], color=LINES[k], linewidth=1.6, label=paths.features[j])
    axes.set_xscale("log")
    axes.set_xlim(paths.variances[0], paths.variances[-1])
    axes.set_xlabel(f"variance of the {prior} prior")
    axes.set_ylabel("coefficient")
    axes.legend(frameon=False, loc="upper left", fontsize=9)
    return figure


def _parallel(collection: Collection, runs: Runs, seed: int) -> Figure:
    figure, axes = new_figure(6.0, 5.6)
    shown = ("ridge", "lasso", "svm")
    errors = np.column_stack([runs[compared_run(method)].errors("default") for method in shown])
    jitter = np.random.default_rng(seed).uniform(-JITTER, JITTER, errors.shape)
    heights = np.log1p(errors) + jitter
    for row in heights:
        axes.plot(range(3), row, color=LINES[0], alpha=0.45, linewidth=0.9, marker="o", markersize=2.6)
    axes.set_xticks(range(3), [SHOWN[method] for method in shown])
    axes.set_xlim(-0.15, 2.15)
    axes.grid(axis="x", color=PALE, linewidth=0.8)
    axes.set_ylabel("ln(1 + test errors)")
    axes.set_title(collection.paper.name if collection.paper else collection.name, color=INK, fontsize=11)
    return figure


def _boxes(collection: Collection, runs: Runs) -> Figure:
    figure, axes = new_figure(6.4, 4.6)
    kinds = {
        "norm-based": "lasso/norm/all",
        "norm-based,\nthe paper's stop": "lasso/norm/clg/all",
        "by cross-validation": "lasso/cv/all",
    }
    style: dict[str, Any] = {
        "medianprops": {"color": LINES[1], "linewidth": 1.8},
        "boxprops": {"facecolor": "#d6e6f2", "edgecolor": INK},
        "whiskerprops": {"color": INK},
        "capprops": {"color": INK},
        "flierprops": {"marker": "o", "markersize": 3.5, "markeredgecolor": LINES[0], "alpha": 0.7},
    }
    axes.boxplot([parameters(runs[name]) for name in kinds.values()], patch_artist=True, widths=0.5, **style)
    axes.set_xticks(range(1, len(kinds) + 1), list(kinds))
    axes.set_ylabel("non-zero parameters")
    axes.set_ylim(bottom=0)
    axes.set_title(collection.paper.name if collection.paper else collection.name, color=INK, fontsize=11)
    return figure


def _scatter(collection: Collection, runs: Runs) -> Figure:
    figure, axes = new_figure(6.4, 5.0)
    kept = parameters(runs["lasso/cv/all"])
    seen = (kept > 0) & (collection.positives > 0)  # what a logarithm can show
    axes.scatter(
        collection.positives[seen],
        kept[seen],
        s=24,
        color=LINES[0],
        alpha=0.65,
        edgecolors="white",
        linewidths=0.5,
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("positive training documents")
    axes.set_ylabel("non-zero parameters")
    return figure
