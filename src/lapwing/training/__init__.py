"""train(corpus, settings) → LinearModel: what both the commands and the estimators call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.engine import run_all
from lapwing.errors import ConvergenceWarning, InputError, SettingsError
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.model.priors import as_prior
from lapwing.selection import Utility
from lapwing.text import Design, TextSettings, design
from lapwing.training.category import Categories, CategoryFit
from lapwing.training.settings import TrainSettings
from lapwing.training.targets import Targets, check_matrix, check_weights, targets

__all__ = ["Progress", "TrainSettings", "make_design", "train", "train_with_curves"]

Progress = Callable[[str, int, int], None]  # stage, how many more are done, how many in all


def train(
    corpus: Corpus,
    settings: TrainSettings | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> LinearModel:
    """Fit every category of a corpus; documents without labels are negatives of all of them."""
    return train_with_curves(corpus, settings, classes=classes, progress=progress)[0]


def train_with_curves(
    corpus: Corpus,
    settings: TrainSettings | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> tuple[LinearModel, list[CategoryFit]]:
    """The model, and what each category came to: dual points, curves of the variance."""
    settings = settings or TrainSettings()
    told = targets(corpus.labels, corpus.exclusive, classes)
    if corpus.exclusive and any(len(row) != 1 for row in corpus.labels):
        raise InputError("every training document needs exactly one label; some have none or several")
    if corpus.exclusive and len(told.classes) > 2 and settings.threshold != "default":
        raise SettingsError(
            f"threshold={settings.threshold!r} decides on each category by itself, and these are {len(told.classes)} "
            "exclusive classes, of which the most probable is taken; leave it at its default"
        )
    made = make_design(corpus, settings, progress)
    weights = check_weights(corpus.weights, len(corpus))
    categories = Categories(made.matrix, told, weights, settings)
    if settings.select_features is None:
        categories.problem  # noqa: B018  made once, before threads ask for it
    step = None if progress is None else (lambda done: progress("fitting categories", done, len(categories)))
    if step is not None:
        step(0)
    fits = run_all(categories.fit, range(len(categories)), n_jobs=settings.n_jobs, progress=step)
    _warn_unconverged(fits, told, settings)
    return _assemble(corpus, settings, told, made, fits), fits


def make_design(corpus: Corpus, settings: TrainSettings, progress: Progress | None = None) -> Design:
    if corpus.kind == "vectors":
        matrix = check_matrix(corpus.documents)
        names = corpus.feature_names or [str(j) for j in range(matrix.shape[1])]
        return Design(matrix, names, None)
    text = settings.text if corpus.kind == "text" else ready_made(settings.text)
    step = None if progress is None else (lambda done: progress("reading words", done, len(corpus)))
    return design(corpus.documents, text, progress=step)


def ready_made(text: TextSettings) -> TextSettings:
    """The same weighting for tokens that are not to be cut, stopped or stemmed again."""
    return TextSettings.from_dict({**text.to_dict(), "tokens": "ready", "stop_words": "none", "stemmer": "none"})


def _warn_unconverged(results: list[CategoryFit], told: Targets, settings: TrainSettings) -> None:
    behind = [row for row, one in enumerate(results) if not one.fit.converged]
    if not behind:
        return
    worst = max(behind, key=lambda row: results[row].fit.relative_gap)
    fit = results[worst].fit
    warnings.warn(
        f"{len(behind)} of {len(results)} fits did not reach tol={settings.tol:g}; the worst is "
        f"{told.classes[told.fitted[worst]]!r} with a relative gap of {fit.relative_gap:.2g} after {fit.rounds} "
        "rounds; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=5,
    )


def _assemble(
    corpus: Corpus, settings: TrainSettings, told: Targets, made: Design, results: list[CategoryFit]
) -> LinearModel:
    dense = np.vstack([one.weights for one in results])
    fits = [one.fit for one in results]
    positives = np.diff(told.member.indptr)[list(told.fitted)]
    summary = FitSummary(
        variance=np.array([fit.variance for fit in fits]),
        objective=np.array([fit.objective for fit in fits]),
        gap=np.array([fit.gap for fit in fits]),
        kkt=np.array([fit.kkt for fit in fits]),
        rounds=np.array([fit.rounds for fit in fits], dtype=np.int64),
        converged=np.array([fit.converged for fit in fits]),
        positives=positives.astype(np.int64),
    )
    return LinearModel(
        link=settings.link,
        decision="expected_f1" if settings.threshold == "expected_f1" else "threshold",
        classes=told.classes,
        exclusive=told.exclusive,
        weights=sp.csr_matrix(dense[:, :-1]),
        intercepts=dense[:, -1].copy(),
        thresholds=np.array([one.threshold for one in results]),
        feature_names=made.feature_names,
        weighting=made.weighting,
        fits=summary,
        provenance=_provenance(corpus, settings, made),
    )


def _provenance(corpus: Corpus, settings: TrainSettings, made: Design) -> dict[str, Any]:
    try:
        release = version("lapwing")
    except PackageNotFoundError:
        release = "unknown"
    prior = as_prior(settings.prior)
    return {
        "lapwing": release,
        "corpus": corpus.name,
        "source": dict(corpus.source),
        "documents": len(corpus),
        "documents_with_labels": sum(1 for row in corpus.labels if row),
        "features": made.matrix.shape[1],
        "skipped": corpus.skipped,
        "prior": prior.name,
        "variance": settings.variance if isinstance(settings.variance, str) else "given",
        "intercept_variance": None if settings.intercept_variance is None else repr(settings.intercept_variance),
        "class_weight": "given" if isinstance(settings.class_weight, Mapping) else settings.class_weight,
        "threshold": repr(settings.threshold) if isinstance(settings.threshold, Utility) else settings.threshold,
        "threshold_data": settings.threshold_data,
        "solver": settings.solver,
        "select_features": settings.select_features,
        "random_state": settings.random_state,
        "tol": settings.tol,
        "date": run_date(),
    }


def run_date() -> str:
    """The day of the run, UTC; SOURCE_DATE_EPOCH, where set, fixes it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()
