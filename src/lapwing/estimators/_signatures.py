"""Signatures of the estimators, made by scripts/signatures.py from the table of parameters. Do not edit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.selection import Utility
    from lapwing.stats.priors import Prior

# fmt: off


def _keep(estimator: object, given: dict[str, Any]) -> None:
    """The arguments as attributes, unchanged, as scikit-learn asks of an estimator."""
    vars(estimator).update({name: value for name, value in given.items() if name not in ("self", "__class__")})


class LogTfidfVectorizerParameters:
    def __init__(
        self, *, tokens: str | Callable[[str], Iterable[str]] = "word", stemmer: str = "porter",
        stop_words: str | Sequence[str] = "none", word_ngrams: tuple[int, int] = (1, 1),
        char_ngrams: tuple[int, int] | None = None, min_df: int = 1, digits: bool = True, strip_html: bool = False,
        tf: str = "log", idf: bool = True, cosine: bool = True,
    ) -> None:
        _keep(self, locals())


class TextClassifierParameters:
    def __init__(
        self, *, text_column: str = "text", numeric: Sequence[str] = (), categorical: Sequence[str] = (),
        tokens: str | Callable[[str], Iterable[str]] = "word", stemmer: str = "porter",
        stop_words: str | Sequence[str] = "none", word_ngrams: tuple[int, int] = (1, 1),
        char_ngrams: tuple[int, int] | None = None, min_df: int = 1, digits: bool = True, strip_html: bool = False,
        tf: str = "log", idf: bool = True, cosine: bool = True, prior: str | Prior = "elasticnet", link: str = "logit",
        multi_class: str = "ovr", reference_class: Hashable | None = None,
        class_weight: str | Mapping[Hashable, float] | None = None, intercept_variance: float | None = None,
        standardize: bool = False, variance: str | float | Sequence[float] = "pooled", folds: int = 5,
        fold_by: str = "chance", calibrate: bool = True, cv_variances: Sequence[float] | None = None,
        cv_folds: int = 10, cv_runs: int = 2, one_se: bool = False, threshold: str | float | Utility = "default",
        threshold_data: str = "cv", max_features: int | None = None, select_features: int | float | None = None,
        feature_score: str = "bns", solver: str = "auto", tol: float = 0.0001, max_iter: int = 500,
        n_jobs: int | None = None, random_state: int | None = 0,
    ) -> None:
        _keep(self, locals())


class MAPClassifierParameters:
    def __init__(
        self, prior: str | Prior = "elasticnet", *, link: str = "logit", multi_class: str = "ovr",
        reference_class: Hashable | None = None, class_weight: str | Mapping[Hashable, float] | None = None,
        intercept_variance: float | None = None, standardize: bool = False,
        variance: str | float | Sequence[float] = "pooled", folds: int = 5, fold_by: str = "chance",
        calibrate: bool = True, cv_variances: Sequence[float] | None = None, cv_folds: int = 10, cv_runs: int = 2,
        one_se: bool = False, threshold: str | float | Utility = "default", threshold_data: str = "cv",
        max_features: int | None = None, select_features: int | float | None = None, feature_score: str = "bns",
        solver: str = "auto", tol: float = 0.0001, max_iter: int = 500, n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        _keep(self, locals())


class SelectedRidgeClassifierParameters:
    def __init__(
        self, *, link: str = "logit", alpha: float | str | None = None, hessian: str = "diagonal",
        class_weight: str | Mapping[Hashable, float] | None = None, intercept_variance: float | None = None,
        standardize: bool = False, variance: str | float | Sequence[float] = "pooled", folds: int = 5,
        fold_by: str = "chance", calibrate: bool = True, cv_variances: Sequence[float] | None = None,
        cv_folds: int = 10, cv_runs: int = 2, one_se: bool = False, threshold: str | float | Utility = "default",
        threshold_data: str = "cv", select_features: int | float | None = None, feature_score: str = "bns",
        tol: float = 0.0001, max_iter: int = 500, n_jobs: int | None = None, random_state: int | None = 0,
    ) -> None:
        _keep(self, locals())


class NgramClassifierParameters:
    def __init__(
        self, *, tokens: str = "word", stemmer: str = "none", stop_words: str | Sequence[str] = "none",
        digits: bool = True, strip_html: bool = False, max_gap: int = 0, max_length: int | None = None,
        min_support: int = 1, steps: int | str = "cv", loss: str = "likelihood",
        class_weight: str | Mapping[Hashable, float] | None = None, intercept_variance: float | None = None,
        variance: str | float | Sequence[float] = "pooled", folds: int = 5, fold_by: str = "chance",
        calibrate: bool = True, cv_variances: Sequence[float] | None = None, cv_folds: int = 10, cv_runs: int = 2,
        one_se: bool = False, threshold: str | float | Utility = "default", threshold_data: str = "cv",
        solver: str = "exact", tol: float = 0.0001, max_iter: int = 500, n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        _keep(self, locals())
