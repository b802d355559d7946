"""Small models made by hand, without fitting anything, and what makes two of them the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.model import FitSummary, LinearModel
from lapwing.text import TextSettings, design
from lapwing.text.matching import NgramWeighting

TEXTS = ["corn wheat corn", "wheat oil 中文", "oil gas the ไทย", "gas हिन्दी x2 corn", "été oil corn"]


def summary(rows: int) -> FitSummary:
    ones = np.ones(rows)
    return FitSummary(
        variance=2.0 * ones,
        objective=10.0 * ones,
        gap=1e-6 * ones,
        kkt=1e-5 * ones,
        rounds=np.arange(rows),
        converged=np.arange(rows) % 2 == 0,
        positives=np.arange(rows) + 1,
    )


def model(
    weights: Any,
    intercepts: Sequence[float],
    *,
    classes: tuple[Hashable, ...],
    exclusive: bool = False,
    thresholds: Sequence[float] | None = None,
    text: TextSettings | None = None,
) -> LinearModel:
    """A model of vectors, or of TEXTS where `text` says how they are read."""
    rows = len(intercepts)
    weighting = None if text is None else design(TEXTS, text).weighting
    matrix = sp.csr_matrix(np.asarray(weights, dtype=float).reshape(rows, -1))
    return LinearModel(
        link="logit",
        classes=classes,
        exclusive=exclusive,
        weights=matrix,
        intercepts=np.array(intercepts, dtype=float),
        thresholds=np.zeros(rows) if thresholds is None else np.array(thresholds, dtype=float),
        feature_names=[f"f{j}" for j in range(matrix.shape[1])] if weighting is None else weighting.feature_names,
        weighting=weighting,
        fits=summary(rows),
        provenance={"corpus": "by hand", "documents": len(TEXTS)},
    )


def text_model(
    classes: tuple[Hashable, ...] = ("grain", "énergie", 7), *, exclusive: bool = False, **settings: Any
) -> LinearModel:
    """Every third weight of each category is zero, the last category has none at all."""
    text = TextSettings(**{"stop_words": "none", "stemmer": "none", "min_df": 1, **settings})
    width = len(design(TEXTS, text).feature_names)
    rows = 1 if exclusive and len(classes) == 2 else len(classes)
    weights = np.sin(1.0 + np.arange(rows * width)).reshape(rows, width)
    weights[:, 2::3] = 0.0
    if rows > 1:
        weights[-1] = 0.0
    return model(weights, np.linspace(-0.5, 0.5, rows), classes=classes, exclusive=exclusive, text=text)


def ngram_model(terms: list[str], tokens: str = "word") -> LinearModel:
    """Two categories that weigh these n-grams."""
    names = sorted(terms)
    ones = np.ones(len(names), dtype=np.int64)
    weighting = NgramWeighting(
        TextSettings.for_ngrams(tokens=tokens, ngrams=True), names, 2 * ones, 5, np.arange(len(names)),
        longest=[name + " …" for name in names], members=np.arange(len(names), dtype=np.int64) + 1,
    )  # fmt: skip
    weights = sp.csr_matrix(np.sin(1.0 + np.arange(2 * len(names))).reshape(2, len(names)))
    zeros = np.zeros(2)
    return LinearModel("logit", ("a", "b"), False, weights, zeros, zeros, names, weighting, summary(2), {})


def assert_same(a: LinearModel, b: LinearModel) -> None:
    """Equal in every field, numbers bit for bit, labels in type as well."""
    assert (a.link, a.exclusive, a.classes, a.provenance) == (b.link, b.exclusive, b.classes, b.provenance)
    assert [type(label) for label in a.classes] == [type(label) for label in b.classes]
    assert repr(a.classes) == repr(b.classes)  # 0.0 == -0.0
    assert list(a.feature_names) == list(b.feature_names)
    assert a.weights.shape == b.weights.shape
    for part in ("indptr", "indices", "data"):
        assert getattr(a.weights, part).tobytes() == getattr(b.weights, part).tobytes()
    for part in ("intercepts", "thresholds"):
        assert getattr(a, part).tobytes() == getattr(b, part).tobytes()
    for f in fields(FitSummary):
        assert getattr(a.fits, f.name).tobytes() == getattr(b.fits, f.name).tobytes()
        assert getattr(a.fits, f.name).dtype == getattr(b.fits, f.name).dtype
    assert (a.weighting is None) == (b.weighting is None)
    if a.weighting is not None and b.weighting is not None:
        assert a.weighting.settings == b.weighting.settings
        assert list(a.weighting.terms) == list(b.weighting.terms)
        assert a.weighting.n_documents == b.weighting.n_documents
        assert a.weighting.document_frequency.tobytes() == b.weighting.document_frequency.tobytes()
        assert a.weighting.columns.tobytes() == b.weighting.columns.tobytes()
