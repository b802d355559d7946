"""train(corpus, settings) → LinearModel: what both the commands and the estimators call."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.engine import run_all
from lapwing.errors import ConvergenceWarning, InputError, SettingsError
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.model.priors import Prior, as_prior, check_variance, norm_variance
from lapwing.model.result import FitResult
from lapwing.solvers import newton
from lapwing.text import Design, TextSettings, design

log = logging.getLogger("lapwing")

Progress = Callable[[str, int, int], None]  # stage, how many more are done, how many in all


@dataclass(frozen=True)
class TrainSettings:
    """All that decides a model besides the corpus.

    variance            "norm" (GLM07 Eq. 29), a number, or one number per category
    intercept_variance  None: the same prior as the other coefficients; np.inf: none at all
    class_weight        None, "balanced", or label → factor
    threshold           "default" (probability ½) or a probability
    tol                 bound on the duality gap, relative to the objective
    """

    text: TextSettings = field(default_factory=TextSettings)
    prior: str | Prior = "laplace"
    variance: str | float | Sequence[float] = "norm"
    intercept_variance: float | None = None
    class_weight: str | Mapping[Hashable, float] | None = None
    threshold: str | float = "default"
    tol: float = 1e-4
    max_iter: int = 500
    n_jobs: int | None = 1

    def __post_init__(self) -> None:
        as_prior(self.prior)
        if isinstance(self.variance, str):
            if self.variance != "norm":
                raise SettingsError(
                    f'variance must be "norm", a number or one per category, got {self.variance!r}'
                )
        else:
            for value in np.ravel(self.variance):
                check_variance(value.item())
        if not 0.0 < self.tol < 1.0:
            raise SettingsError(f"tol must be between 0 and 1, got {self.tol!r}")
        if isinstance(self.max_iter, bool) or self.max_iter < 1:
            raise SettingsError(f"max_iter must be 1 or more, got {self.max_iter!r}")
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise SettingsError(f'class_weight must be None, "balanced" or a mapping, got {self.class_weight!r}')
        self.score_threshold  # noqa: B018  checks itself

    @property
    def score_threshold(self) -> float:
        """The threshold on the scale of linear scores."""
        if self.threshold == "default":
            return 0.0
        if isinstance(self.threshold, str) or not 0.0 < self.threshold < 1.0:
            raise SettingsError(f'threshold must be "default" or between 0 and 1, got {self.threshold!r}')
        return float(np.log(self.threshold) - np.log1p(-self.threshold))


@dataclass(frozen=True, eq=False)
class Targets:
    """Label sets as a 0/1 matrix: (n, classes) CSC, and the rows of the model that are fitted."""

    classes: tuple[Hashable, ...]
    exclusive: bool
    member: sp.csc_matrix

    @property
    def fitted(self) -> range:
        """The columns that get a classifier: the second of two exclusive classes speaks for both."""
        both = self.exclusive and len(self.classes) == 2
        return range(1, 2) if both else range(len(self.classes))

    def signs(self, column: int) -> np.ndarray:
        """Labels ±1 of one class."""
        y = np.full(self.member.shape[0], -1.0)
        start, end = self.member.indptr[column : column + 2]
        y[self.member.indices[start:end]] = 1.0
        return y


def targets(
    labels: Sequence[tuple[Hashable, ...]], exclusive: bool, classes: Sequence[Hashable] | None = None
) -> Targets:
    """Label sets to a membership matrix; `classes` fixes which there are, and their order."""
    if classes is None:
        found = {label for row in labels for label in row}
        try:
            classes = sorted(found)  # type: ignore[type-var]
        except TypeError:  # labels of several types have no order of their own
            classes = sorted(found, key=lambda label: (type(label).__name__, str(label)))
    if exclusive and len(classes) < 2:
        raise InputError(
            f"training needs documents of at least two classes, got {len(classes)} class"
            + (f" ({classes[0]!r})" if len(classes) else "es")
        )
    if not len(classes):
        raise InputError("training needs labelled documents, and none of these has a label")
    number = {label: k for k, label in enumerate(classes)}
    rows = np.repeat(np.arange(len(labels)), [len(row) for row in labels])
    columns = np.fromiter((number[label] for row in labels for label in row), dtype=np.int64, count=len(rows))
    member = sp.csc_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(labels), len(classes)))
    return Targets(tuple(classes), exclusive, member)


def check_matrix(X: sp.csr_matrix) -> sp.csr_matrix:
    """float64, int32 indices, sorted, finite."""
    matrix = sp.csr_matrix(X, dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise InputError("the matrix holds NaN or infinite values; remove those rows or fill them first")
    if matrix.nnz > np.iinfo(np.int32).max:
        raise InputError(f"the matrix has {matrix.nnz} entries, more than the {np.iinfo(np.int32).max} that fit")
    matrix.sum_duplicates()
    return matrix


def check_weights(weights: np.ndarray | None, n: int) -> np.ndarray:
    if weights is None:
        return np.ones(n)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise InputError(f"expected one weight for each of {n} documents, got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("document weights must be finite and not negative, and not all zero")
    return weights


def train(
    corpus: Corpus,
    settings: TrainSettings | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> LinearModel:
    """Fit every category of a corpus; documents without labels are negatives of all of them."""
    settings = settings or TrainSettings()
    told = targets(corpus.labels, corpus.exclusive, classes)
    if corpus.exclusive and any(len(row) != 1 for row in corpus.labels):
        raise InputError("every training document needs exactly one label; some have none or several")
    made = make_design(corpus, settings, progress)
    weights = check_weights(corpus.weights, len(corpus))
    fits = fit_all(made.matrix, told, weights, settings, progress)
    return _assemble(corpus, settings, told, made, fits)


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


def fit_all(
    X: sp.csr_matrix,
    told: Targets,
    weights: np.ndarray,
    settings: TrainSettings,
    progress: Progress | None = None,
) -> list[FitResult]:
    """One fit per category, all against the same matrix."""
    problem = newton.Problem(X)
    prior = as_prior(settings.prior)
    variances = _variances(X, weights, settings, len(told.fitted))
    document_weights = _class_weights(told, weights, settings.class_weight)

    def fit(row: int) -> FitResult:
        column = told.fitted[row]
        y = told.signs(column)
        arrays = prior.compile(variances[row], X.shape[1], settings.intercept_variance)
        if arrays.flat[-1] and abs(np.sum(y * (weights > 0))) == np.sum(weights > 0):
            raise InputError(
                f"class {told.classes[column]!r} has all documents or none, and an intercept of infinite variance "
                "then has no finite estimate; give intercept_variance a number"
            )
        return newton.fit(
            problem, y, weights * document_weights(column, y), arrays,
            variance=variances[row], tol=settings.tol, max_iter=settings.max_iter,
        )  # fmt: skip

    total = len(told.fitted)
    step = None if progress is None else (lambda done: progress("fitting categories", done, total))
    results = run_all(fit, range(total), n_jobs=settings.n_jobs, progress=step)
    _warn_unconverged(results, told, settings)
    return results


def _variances(X: sp.csr_matrix, weights: np.ndarray, settings: TrainSettings, rows: int) -> np.ndarray:
    if isinstance(settings.variance, str):
        return np.full(rows, norm_variance(X, weights))
    given = np.asarray(settings.variance, dtype=np.float64).ravel()
    if given.size not in (1, rows):
        raise SettingsError(f"variance must be one number or one for each of {rows} categories, got {given.size}")
    return np.broadcast_to(given, rows)


def _class_weights(
    told: Targets, weights: np.ndarray, class_weight: str | Mapping[Hashable, float] | None
) -> Callable[[int, np.ndarray], np.ndarray | float]:
    """A document's factor in the problem of one category.

    Exclusive classes: that of the document's class. Label sets: that of the category for its positives;
    "balanced" gives both sides of every problem the same total.
    """
    if class_weight is None:
        return lambda column, y: 1.0
    if not isinstance(class_weight, str):
        if unknown := [label for label in class_weight if label not in told.classes]:
            raise SettingsError(f"class_weight names {unknown[0]!r}, which is no class of the training data")
        if any(not np.isfinite(w) or w < 0 for w in class_weight.values()):
            raise SettingsError("class_weight must be finite and not negative")
    n = float(weights.sum())
    counts = weights @ told.member  # documents of each class, by weight
    if told.exclusive:
        if isinstance(class_weight, str):
            factors = n / (np.count_nonzero(counts) * np.where(counts > 0.0, counts, 1.0))
        else:
            factors = np.array([class_weight.get(label, 1.0) for label in told.classes])
        of_document = told.member @ factors
        return lambda column, y: of_document
    if isinstance(class_weight, str):
        return lambda column, y: np.where(
            y > 0, n / (2.0 * (counts[column] or 1.0)), n / (2.0 * ((n - counts[column]) or 1.0))
        )
    return lambda column, y: np.where(y > 0, class_weight.get(told.classes[column], 1.0), 1.0)


def _warn_unconverged(results: list[FitResult], told: Targets, settings: TrainSettings) -> None:
    behind = [row for row, fit in enumerate(results) if not fit.converged]
    if not behind:
        return
    worst = max(behind, key=lambda row: results[row].relative_gap)
    fit = results[worst]
    warnings.warn(
        f"{len(behind)} of {len(results)} fits did not reach tol={settings.tol:g}; the worst is "
        f"{told.classes[told.fitted[worst]]!r} with a relative gap of {fit.relative_gap:.2g} after {fit.rounds} "
        "rounds; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=4,
    )


def _assemble(
    corpus: Corpus, settings: TrainSettings, told: Targets, made: Design, fits: list[FitResult]
) -> LinearModel:
    dense = np.vstack([fit.weights for fit in fits])
    positives = np.diff(told.member.indptr)[list(told.fitted)]
    thresholds = np.full(len(fits), settings.score_threshold)
    thresholds[positives == 0] = np.inf  # GLM07 section 5.2.2: without a positive document, say "no"
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
        link="logit",
        classes=told.classes,
        exclusive=told.exclusive,
        weights=sp.csr_matrix(dense[:, :-1]),
        intercepts=dense[:, -1].copy(),
        thresholds=thresholds,
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
        "threshold": settings.threshold,
        "tol": settings.tol,
        "date": run_date(),
    }


def run_date() -> str:
    """The day of the run, UTC; SOURCE_DATE_EPOCH, where set, fixes it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()
