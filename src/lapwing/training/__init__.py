"""train(corpus, settings) → LinearModel: what both the commands and the estimators call."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.engine import Checkpoint, interruptible, run_all, thread_count
from lapwing.errors import ConvergenceWarning, InputError, SettingsError
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.selection import Utility
from lapwing.stats.prior_table import PriorTable
from lapwing.stats.priors import Prior, as_prior
from lapwing.text import Design, TextSettings, design
from lapwing.text.ngrams import NgramSpace, ngram_space
from lapwing.training.category import Categories, CategoryFit
from lapwing.training.fingerprint import fingerprint
from lapwing.training.ngrams import NgramCategories, chosen_ngrams
from lapwing.training.polytomous import Polytomous
from lapwing.training.settings import NgramSettings, TrainSettings
from lapwing.training.targets import Targets, check_matrix, check_weights, targets

__all__ = ["NgramSettings", "Progress", "TrainSettings", "make_design", "train", "train_with_curves"]

log = logging.getLogger(__name__)

BLOCK = 128  # at most so many categories are fitted together, where they can be
PROOF = ("variance", "objective", "gap", "kkt", "rounds", "converged")  # what a model says of every fit

Progress = Callable[[str, int, int], None]  # stage, how many more are done, how many in all


def train(
    corpus: Corpus,
    settings: TrainSettings | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
    validation: Corpus | None = None,
    checkpoint: Path | None = None,
) -> LinearModel:
    """Fit every category of a corpus; documents without labels are negatives of all of them.

    What is chosen by held-out documents is chosen by those of `validation` where there are any.

    Each finished category is appended to the file `checkpoint`. Where that is there already, of the same data
    and settings, its categories are taken over. It is left in place: remove it when the model is safe.
    """
    return train_with_curves(
        corpus, settings, classes=classes, progress=progress, validation=validation, checkpoint=checkpoint
    )[0]


@interruptible
def train_with_curves(
    corpus: Corpus,
    settings: TrainSettings | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
    validation: Corpus | None = None,
    checkpoint: Path | None = None,
    most_duals: int = 0,
) -> tuple[LinearModel, list[CategoryFit]]:
    """The model, and what each category came to: curves of the variance, dual points where all of them
    together are at most `most_duals` numbers."""
    settings = settings or TrainSettings()
    told = targets(corpus.labels, corpus.exclusive, classes, joint=settings.joint)
    if corpus.exclusive and set(map(len, corpus.labels)) != {1}:
        raise InputError("every training document needs exactly one label; some have none or several")
    if corpus.exclusive and len(told.classes) > 2 and settings.threshold != "default":
        raise SettingsError(
            f"threshold={settings.threshold!r} decides on each category by itself, and these are {len(told.classes)} "
            "exclusive classes, of which the most probable is taken; leave it at its default"
        )
    weights = check_weights(corpus.weights, len(corpus))
    keep_duals = len(told.fitted) * len(corpus) <= most_duals
    if settings.ngrams is not None:
        space = make_space(corpus, settings, progress)
        apart: Any = None if validation is None else (space.read(validation.documents), *_labels(validation, told))
        categories: Categories = NgramCategories(space, told, weights, settings, apart, keep_duals)
        data: tuple[Any, ...] = space.tokens
    else:
        made = make_design(corpus, settings, progress)
        apart = None if validation is None else _validation(validation, made, told)
        kind = Polytomous if settings.joint else Categories
        categories = kind(made, told, weights, settings, validation=apart, keep_duals=keep_duals)
        data = (made.matrix, list(made.feature_names))
    if checkpoint is None or settings.joint:  # one fit, which is finished or not
        fits, date = _fit_all(categories, progress), run_date()
    else:
        key = fingerprint(settings, _release(), told, weights, *data, apart)
        with Checkpoint(checkpoint, key, run_date()) as finished:
            fits, date = _fit_all(categories, progress, finished), finished.started
    _warn_unconverged(fits, told, settings)
    if settings.ngrams is None:
        return _assemble(corpus, settings, told, made, fits, date), fits
    made, fits = chosen_ngrams(space, fits)
    model = _assemble(corpus, settings, told, made, fits, date)
    model.provenance["ngrams"] = asdict(settings.ngrams) | {"ngrams": space.n_ngrams, "columns": len(space.node)}
    return model, fits


def _validation(corpus: Corpus, made: Design, told: Targets) -> tuple[sp.csr_matrix, Targets, np.ndarray]:
    """Documents to choose by, as the training documents are seen; labels that those lack are left out."""
    X = check_matrix(corpus.documents) if made.weighting is None else made.weighting.vectors(corpus.documents)
    if X.shape[1] != made.matrix.shape[1]:
        raise InputError(f"expected validation documents of {made.matrix.shape[1]} features, got {X.shape[1]}")
    return X, *_labels(corpus, told)


def _labels(corpus: Corpus, told: Targets) -> tuple[Targets, np.ndarray]:
    known = set(told.classes)
    labels = [tuple(label for label in row if label in known) for row in corpus.labels]
    return targets(labels, told.exclusive, told.classes), check_weights(corpus.weights, len(corpus))


def _fit_all(
    categories: Categories, progress: Progress | None, finished: Checkpoint | None = None
) -> list[CategoryFit]:
    """Every category, in order; those of the checkpoint as they are there, the others appended to it."""
    if isinstance(categories, Polytomous):
        return categories.fit_all()
    fits = {} if finished is None else finished.finished(categories.stored)
    rows = [row for row in range(len(categories)) if row not in fits]
    if fits:
        log.warning("going on after %d of %d categories, from %s", len(fits), len(categories), finished.path)  # type: ignore[union-attr]
    if rows:
        categories.prepare()
    step = None if progress is None else (lambda done: progress("fitting categories", done, len(rows)))
    if step is not None:
        step(0)

    n_jobs = categories.settings.n_jobs
    size = min(max(len(rows) // (2 * thread_count(n_jobs)), 8), BLOCK) if categories.together else 1
    blocks = [rows[first : first + size] for first in range(0, len(rows), size)]

    def fit(block: list[int]) -> list[CategoryFit]:
        done = categories.fit_block(block)
        if finished is not None:
            for row, one in zip(block, done, strict=True):
                finished.append(row, one.to_bytes())
        return done

    sizes = map(len, blocks)
    tell = None if step is None else (lambda done: step(sum(next(sizes) for _ in range(done))))
    for block, done in zip(blocks, run_all(fit, blocks, n_jobs=n_jobs, progress=tell), strict=True):
        fits |= zip(block, done, strict=True)
    return [fits[row] for row in range(len(categories))]


def make_design(corpus: Corpus, settings: TrainSettings, progress: Progress | None = None) -> Design:
    """The documents as a matrix; a feature that the prior insists on has a column even if none has it."""
    if corpus.kind == "vectors":
        matrix = check_matrix(corpus.documents)
        names = list(corpus.feature_names or map(str, range(matrix.shape[1])))
        named = named_features(settings.prior, None)
        unseen = sorted(set(named).difference(names)) if named else []
        matrix.resize(matrix.shape[0], len(names) + len(unseen))
        return Design(matrix, names + unseen, None)
    text = settings.text if corpus.kind == "text" else ready_made(settings.text)
    step = None if progress is None else (lambda done: progress("reading words", done, len(corpus)))
    named, n_jobs = named_features(settings.prior, text), thread_count(settings.n_jobs)
    return design(corpus.documents, text, named=named, progress=step, n_jobs=n_jobs)


def named_features(prior: str | Prior, text: TextSettings | None) -> list[str]:
    return prior.in_terms(text).insisting if isinstance(prior, PriorTable) else []


def make_space(corpus: Corpus, settings: TrainSettings, progress: Progress | None = None) -> NgramSpace:
    if corpus.kind == "vectors":
        raise InputError("n-grams need texts, and the data are vectors; train on vectors without n-grams")
    assert settings.ngrams is not None
    text = settings.text if corpus.kind == "text" else ready_made(settings.text)
    step = None if progress is None else (lambda done: progress("reading words", done, len(corpus)))
    return ngram_space(
        corpus.documents, text, max_length=settings.ngrams.max_length, min_support=settings.ngrams.min_support,
        progress=step,
    )  # fmt: skip


def ready_made(text: TextSettings) -> TextSettings:
    """The same weighting for tokens that are not to be cut, stopped or stemmed again."""
    return replace(text, tokens="ready", stop_words="none", stemmer="none", cut=None)


def _warn_unconverged(fits: list[CategoryFit], told: Targets, settings: TrainSettings) -> None:
    behind = [row for row, one in enumerate(fits) if not one.converged]
    if not behind:
        return
    worst = max(behind, key=lambda row: fits[row].relative_gap)
    warnings.warn(
        f"{len(behind)} of {len(fits)} fits did not reach tol={settings.tol:g}; the worst is "
        f"{told.classes[told.fitted[worst]]!r} with a relative gap of {fits[worst].relative_gap:.2g} after "
        f"{fits[worst].rounds} rounds; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=5,
    )


def _assemble(
    corpus: Corpus, settings: TrainSettings, told: Targets, made: Design, fits: list[CategoryFit], date: str
) -> LinearModel:
    of = {name: np.array([getattr(one, name) for one in fits]) for name in (*PROOF, "intercept", "threshold")}
    pointer = np.concatenate([[0], np.cumsum([len(one.features) for one in fits])])
    weights = (np.concatenate([one.weights for one in fits]), np.concatenate([one.features for one in fits]), pointer)
    positives = np.diff(told.member.indptr)[list(told.fitted)]
    return LinearModel(
        link="softmax" if settings.joint else settings.link,
        decision="expected_f1" if settings.threshold == "expected_f1" else "threshold",
        classes=told.classes,
        exclusive=told.exclusive,
        weights=sp.csr_matrix(weights, shape=(len(fits), made.matrix.shape[1])),
        intercepts=of["intercept"],
        thresholds=of["threshold"],
        feature_names=made.feature_names,
        weighting=made.weighting,
        fits=FitSummary(**{name: of[name] for name in PROOF}, positives=positives.astype(np.int64)),
        provenance={**_provenance(corpus, settings, made, fits, date), **_curves(told, fits)},
    )


def _curves(told: Targets, fits: list[CategoryFit]) -> dict[str, Any]:
    """Held-out log-likelihood by variance, for the report; nothing where no variance was chosen by it."""
    found = {
        str(told.classes[column]): {
            "variances": one.curve.variances.tolist(),
            "log_likelihood": [float(f"{value:.7g}") for value in one.curve.total],
            "chosen": one.curve.chosen,
        }
        for column, one in zip(told.fitted, fits, strict=True)
        if one.curve is not None
    }
    return {"variance_curves": found} if found else {}


@cache
def _release() -> str:
    try:
        return version("lapwing")
    except PackageNotFoundError:
        return "unknown"


def _provenance(
    corpus: Corpus, settings: TrainSettings, made: Design, fits: list[CategoryFit], date: str
) -> dict[str, Any]:
    prior = as_prior(settings.prior)
    about = {
        "lapwing": _release(),
        "corpus": corpus.name,
        "source": dict(corpus.source),
        "documents": len(corpus),
        "documents_with_labels": sum(map(bool, corpus.labels)),
        "features": made.matrix.shape[1],
        "skipped": corpus.skipped,
        "prior": "none" if settings.solver == "greedy" else prior.shape.name,
        **({"prior_rows": [str(row) for row in prior.rows]} if isinstance(prior, PriorTable) else {}),
        "multi_class": settings.multi_class,
        "variance": settings.variance if isinstance(settings.variance, str) else "given",
        "intercept_variance": None if settings.intercept_variance is None else repr(settings.intercept_variance),
        "class_weight": "given" if isinstance(settings.class_weight, Mapping) else settings.class_weight,
        "threshold": repr(settings.threshold) if isinstance(settings.threshold, Utility) else settings.threshold,
        "threshold_data": settings.threshold_data,
        "solver": settings.solver,
        "select_features": settings.select_features,
        "max_features": settings.max_features,
        "random_state": settings.random_state,
        "tol": settings.tol,
        "date": date,
    }
    if settings.max_features is not None:
        about["squeezed"] = [one.shortfall(settings.max_features) for one in fits]
    if settings.method == "selected-ridge":
        about["selected_ridge"] = {
            "hessian": settings.hessian,
            "penalty": "universal" if settings.alpha is None else "cv" if settings.alpha == "cv" else "given",
            "alpha": [one.alpha for one in fits],
            "objective": [one.pruned_objective for one in fits],
        }
    return about


def run_date() -> str:
    """The day of the run, UTC; SOURCE_DATE_EPOCH, where set, fixes it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()
