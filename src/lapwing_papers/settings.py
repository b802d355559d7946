"""How the papers trained, spelled out: their tables stay what they are when lapwing's own defaults change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.engine import run_all
from lapwing.selection.variance import CrossValidation
from lapwing.text import TextSettings
from lapwing.training import Progress, TrainSettings, make_design
from lapwing.training.targets import check_matrix

# GLM07 section 5.1; the other papers say in which points theirs differ.
_GLM07: dict[str, Any] = {
    "tokens": "word", "digits": True, "strip_html": False, "stop_words": "smart", "stemmer": "porter", "tf": "log",
    "idf": True, "cosine": True, "min_df": 1, "table": 1,
}  # fmt: skip
# Tokens as they are, present or not: for n-grams.
_NGRAMS: dict[str, Any] = {"stop_words": "none", "stemmer": "none", "tf": "binary", "idf": False, "cosine": False}

PARTIAL = CrossValidation(variances=None, folds=10, runs=2, one_se=False)  # GLM07 section 5.3: two of ten folds


def text(**other: Any) -> TextSettings:
    return TextSettings(**{**_GLM07, **other})


def ngram_text(**other: Any) -> TextSettings:
    return text(**{**_NGRAMS, **other})


def training(**other: Any) -> TrainSettings:
    """Lasso with the norm-based variance, one prior for all coefficients, decided at probability ½."""
    given = {
        "text": text(), "prior": "laplace", "link": "logit", "multi_class": "ovr", "variance": "norm", "cv": PARTIAL,
        "intercept_variance": None, "solver": "auto", "class_weight": None, "threshold": "default",
        "threshold_data": "train", "calibrate": False, "standardize": False, "method": "map", "tol": 1e-4,
    }  # fmt: skip
    return TrainSettings(**{**given, **other})


def matrices(
    train: Corpus, test: Corpus, settings: TrainSettings, progress: Progress | None
) -> tuple[sp.csr_matrix, sp.csr_matrix, tuple[str, ...]]:
    """Both parts and their features; term weights come from the training part alone."""
    design = make_design(train, settings, progress)
    names = tuple(design.feature_names)
    if design.weighting is None:
        return design.matrix, check_matrix(test.documents), names
    if progress is not None:
        progress("reading words of test documents", 0, len(test))
    return design.matrix, design.weighting.vectors(test.documents), names


def each(
    stage: str, work: Callable[[Any], Any], items: Sequence[Any], n_jobs: int | None, progress: Progress | None
) -> list[Any]:
    """The work on every item, in threads."""
    step = None if progress is None else (lambda done: progress(stage, done, len(items)))
    return run_all(work, items, n_jobs=n_jobs, progress=step)
