"""The fits of all categories, and what held-out documents decided, as one model that can say how it was made."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.model.calibration import Calibration, Coupling
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.model.trained_on import sketch
from lapwing.shards.folder import release
from lapwing.stats.prior_table import PriorTable
from lapwing.stats.priors import as_prior
from lapwing.text import Design
from lapwing.text.stemming import snowball_release
from lapwing.training.decisions import Decisions
from lapwing.training.fit import CategoryFit
from lapwing.training.settings import TrainSettings
from lapwing.training.task import Task

PROOF = ("variance", "objective", "gap", "kkt", "rounds", "converged")  # what a model says of every fit


def assemble(
    corpus: Corpus, task: Task, design: Design, fits: list[CategoryFit], decisions: Decisions | None, date: str
) -> LinearModel:
    settings, targets = task.settings, task.targets
    of = {name: np.array([getattr(one, name) for one in fits]) for name in (*PROOF, "intercept", "threshold")}
    pointer = np.concatenate([[0], np.cumsum([len(one.features) for one in fits])])
    entries = (np.concatenate([one.weights for one in fits]), np.concatenate([one.features for one in fits]), pointer)
    weights, intercepts = sp.csr_matrix(entries, shape=(len(fits), design.matrix.shape[1])), of["intercept"]
    calibration, coupling, thresholds = None, Coupling(), of["threshold"]
    if decisions is None:
        thresholds = np.where(np.isnan(thresholds), settings.half, thresholds)  # nothing to tune on: probability ½
    else:
        coupling = decisions.coupling
        if decisions.slope is not None and decisions.offset is not None:
            calibration = Calibration(decisions.slope, decisions.offset, weights, intercepts)
            weights, intercepts = calibration.predicting
        thresholds = _thresholds(task, decisions, thresholds, intercepts)
    positives = np.diff(targets.member.indptr)[list(targets.fitted)]
    return LinearModel(
        link="softmax" if settings.joint else settings.link,
        decision="expected_f1" if settings.threshold == "expected_f1" else "threshold",
        classes=targets.classes,
        exclusive=targets.exclusive,
        weights=weights,
        intercepts=intercepts,
        thresholds=thresholds,
        feature_names=design.feature_names,
        weighting=design.weighting,
        fits=FitSummary(**{name: of[name] for name in PROOF}, positives=positives.astype(np.int64)),
        provenance=_provenance(corpus, task, design, fits, decisions, date),
        calibration=calibration,
        coupling=coupling,
        held_out={} if decisions is None else decisions.summary,
        conformal=None if decisions is None else decisions.conformal,
        sketch=sketch(corpus.documents),
    )


def _thresholds(task: Task, decisions: Decisions, thresholds: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """On calibrated scores. A threshold that was tuned puts no document into a category that has none of its words,
    unless it is more probable than not: whoever learned nothing claims nothing."""
    if task.settings.fixed_threshold is not None:
        return thresholds
    if task.settings.threshold_data == "train":
        if decisions.slope is None or decisions.offset is None:
            return thresholds
        return np.where(np.isinf(thresholds), thresholds, decisions.slope * thresholds + decisions.offset)
    half = task.settings.half
    tuned = np.where(np.isnan(decisions.thresholds), half, decisions.thresholds)
    tuned = np.maximum(tuned, np.minimum(intercepts, half))
    return np.where(np.isinf(thresholds), thresholds, tuned)


def _provenance(
    corpus: Corpus, task: Task, design: Design, fits: list[CategoryFit], decisions: Decisions | None, date: str
) -> dict[str, Any]:
    """Where the documents came from, all settings, and what hung on both."""
    settings, targets = task.settings, task.targets
    prior = as_prior(settings.prior)
    about = {
        "lapwing": release(),
        "date": date,
        "corpus": corpus.name,
        "source": dict(corpus.source),
        "documents": len(corpus),
        "documents_with_labels": int(np.count_nonzero(np.bincount(targets.member.indices))),
        "features": design.matrix.shape[1],
        "skipped": corpus.skipped,
        "settings": settings.to_dict(),
        "prior": "none" if settings.solver == "greedy" else prior.shape.name,
        **({"prior_rows": [str(row) for row in prior.rows]} if isinstance(prior, PriorTable) else {}),
        "variance": _variance_rule(settings, decisions),
        "max_features": settings.max_features,
    }
    if design.weighting is not None and (stemmer := snowball_release(design.weighting.settings)):
        about["stemmer"] = stemmer
    if settings.max_features is not None:
        about["squeezed"] = [one.shortfall(settings.max_features) for one in fits]
    if settings.method == "selected-ridge":
        about["selected_ridge"] = {
            "hessian": settings.hessian,
            "penalty": "universal" if settings.alpha is None else "cv" if settings.alpha == "cv" else "given",
            "alpha": [one.alpha for one in fits],
            "objective": [one.pruned_objective for one in fits],
        }
    if decisions is not None and decisions.curve is not None:
        about["pooled"] = {
            "variances": list(decisions.curve.variances),
            "loss": [_short(value) for value in decisions.curve.loss],
            "chosen": decisions.curve.chosen,
        }
    return about | _curves(task, fits)


def _variance_rule(settings: TrainSettings, decisions: Decisions | None) -> str:
    """Where too few documents were there to choose together, it is by their norms."""
    if not isinstance(settings.variance, str):
        return "given"
    return "norm" if settings.pools and (decisions is None or decisions.curve is None) else settings.variance


def _curves(task: Task, fits: list[CategoryFit]) -> dict[str, Any]:
    """Held-out log-likelihood by variance, for the report; nothing where no category chose by itself."""
    curves = {
        str(task.label(row)): {
            "variances": one.curve.variances.tolist(),
            "log_likelihood": [_short(value) for value in one.curve.total],
            "chosen": one.curve.chosen,
        }
        for row, one in enumerate(fits)
        if one.curve is not None
    }
    return {"variance_curves": curves} if curves else {}


def _short(value: float) -> float:
    return float(f"{value:.7g}")


def run_date() -> str:
    """The day of the run, UTC; SOURCE_DATE_EPOCH, where set, fixes it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()
