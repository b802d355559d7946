"""Models of BBR and BMR as linear models, which score and decide, and linear models as theirs."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.stats.links import as_link
from lapwing_bbr.contents import LINK_CODES, BbrModel, BmrModel
from lapwing_bbr.groups import in_group
from lapwing_bbr.reading import kind_of, read_bbr_model, read_bmr_model

EVERYTHING = -sys.float_info.max


def load(path: str | os.PathLike[str]) -> tuple[LinearModel, bool]:
    """The model in a file of BBR or BMR, and whether it is for documents that have been `normalized`."""
    name = Path(path).name
    if kind_of(path) == "bmr":
        theirs = read_bmr_model(path)
        return bmr_to_linear(theirs, name), theirs.cosine
    model = read_bbr_model(path)
    return to_linear(model, name), model.cosine


def score_of(probability: float, link: str = "logit") -> float:
    """The linear score with this probability; the largest numbers there are for 0 and 1, as in BBR."""
    if not 0.0 <= probability <= 1.0:
        raise InputError(f"expected a probability between 0 and 1, got {probability!r}")
    if probability in (0.0, 1.0):
        return EVERYTHING if probability == 0.0 else -EVERYTHING
    return float(as_link(link).quantile(np.asarray(probability)))


def normalized(matrix: sp.csr_matrix, cosine: bool) -> sp.csr_matrix:
    """Rows divided by their Euclidean norms, over all features they have, where asked for."""
    if not cosine:
        return matrix
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    return sp.csr_matrix(sp.diags_array(1.0 / norms) @ matrix)


def to_linear(model: BbrModel, source: str) -> LinearModel:
    """Two exclusive classes, "-1" and "1". Ours says yes above the threshold, BBR's from it on.

    Documents for a model with `cosine` must have been `normalized`, here and below; those for one with groups have the
    columns of groups.py.
    """
    names = [str(i) for i in model.features]
    weights = np.array([[model.weights.get(i, 0.0) for i in model.features]]).reshape(1, -1)
    if model.by_group:
        ids = [*model.features, 0]
        weights = np.array([[of.get(i, 0.0) for of in model.by_group for i in ids]])
        names = [in_group(i, g) for g in range(len(model.by_group)) for i in ids]
    return LinearModel(
        link=model.link, classes=("-1", "1"), exclusive=True, weights=sp.csr_matrix(weights),
        intercepts=np.array([model.intercept]),
        thresholds=np.array([math.nextafter(model.threshold, -math.inf)]),
        feature_names=names, weighting=None, fits=unknown_fits(1),
        provenance={"corpus": source, "source": {"format": "bbr"}, "modelname": model.name},
    )  # fmt: skip


def from_linear(model: LinearModel, row: int = 0, *, name: str = "", numbered: bool = False) -> BbrModel:
    """The category of one row; `numbered` gives features that are words the numbers 1, 2, … in their order."""
    if model.link == "softmax":
        raise InputError("the model is one softmax over all classes, and BBR's are for one category; convert it to BMR")
    if model.link not in LINK_CODES:
        raise InputError(f"the model's link is {model.link}, and BBR's files know {' and '.join(LINK_CODES)} only")
    ids = feature_ids(model, numbered)
    start, end = model.weights.indptr[row : row + 2]
    columns, values = model.weights.indices[start:end].tolist(), model.weights.data[start:end].tolist()
    threshold = float(model.thresholds[row])
    if model.decision != "threshold":
        raise InputError("the model decides over whole batches (expected_f1), and BBR's have thresholds; train another")
    if math.isinf(threshold):
        threshold = math.copysign(sys.float_info.max, threshold)
    elif abs(threshold) < sys.float_info.min:
        threshold = 0.0
    return BbrModel(
        tuple(sorted(ids)),
        {ids[j]: value for j, value in zip(columns, values, strict=True) if value != 0.0},
        float(model.intercepts[row]),
        threshold,
        name=name,
        link=model.link,
    )


def bmr_to_linear(model: BmrModel, source: str) -> LinearModel:
    """Exclusive classes under a softmax."""
    weights = np.array([[row.get(i, 0.0) for i in model.features] for row in model.weights])
    rows = len(model.classes)
    return LinearModel(
        link="softmax", classes=model.classes, exclusive=True, weights=sp.csr_matrix(weights.reshape(rows, -1)),
        intercepts=np.array(model.intercepts), thresholds=np.zeros(rows),
        feature_names=[str(i) for i in model.features], weighting=None, fits=unknown_fits(rows),
        provenance={"corpus": source, "source": {"format": "bmr"}, "modelname": model.name},
    )  # fmt: skip


def bmr_from_linear(model: LinearModel, *, name: str = "", numbered: bool = False) -> BmrModel:
    """Of a softmax, or of two classes, whose scores are those of the second and 0."""
    if model.link != "softmax" and not (model.link == "logit" and model.exclusive and len(model.classes) == 2):
        raise InputError(
            "BMR's models are one softmax over exclusive classes, and this one has a classifier per category; "
            "train it with --multi-class multinomial"
        )
    ids = feature_ids(model, numbered)
    rows = [
        {ids[j]: b for j, b in zip(row.indices.tolist(), row.data.tolist(), strict=True) if b != 0.0}
        for row in model.weights
    ]
    of_first: list[dict[int, float]] = [{}] if len(rows) < len(model.classes) else []
    return BmrModel(
        tuple(class_ids(model, numbered)), tuple(sorted(ids)), tuple(of_first + rows),
        (*([0.0] * len(of_first)), *model.intercepts.tolist()), name=name,
    )  # fmt: skip


def class_ids(model: LinearModel, numbered: bool) -> list[str]:
    """A whole number for every class: BMR has no other names. Numbered ones begin at 1."""
    names = [str(label) for label in model.classes]
    if all(name.removeprefix("-").isdecimal() for name in names):
        return names
    if numbered:
        return [str(k) for k in range(1, len(names) + 1)]
    raise InputError(
        "BMR knows classes by numbers, and these have names; with --features FILE they are numbered, and their "
        "numbers written there"
    )


def feature_ids(model: LinearModel, numbered: bool) -> list[int]:
    """A whole number of 1 or more for every column."""
    if numbered:
        return list(range(1, len(model.feature_names) + 1))
    if all(name.isdecimal() and int(name) > 0 for name in model.feature_names):
        return [int(name) for name in model.feature_names]
    raise InputError(
        "BBR and BMR know features by numbers, and these are words; with --features FILE they are numbered, and "
        "their numbers written there"
    )


def unknown_fits(rows: int) -> FitSummary:
    """Of a fit that was not ours nothing is known."""
    nothing = np.full(rows, np.nan)
    return FitSummary(
        variance=nothing, objective=nothing, gap=nothing, kkt=nothing, rounds=np.zeros(rows, dtype=np.int64),
        converged=np.zeros(rows, dtype=bool), positives=np.zeros(rows, dtype=np.int64),
    )  # fmt: skip
