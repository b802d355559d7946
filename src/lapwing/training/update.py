"""A model after new documents, without those it was trained on: `lapwing.update`.

For every category the new documents' loss is minimised together with the prior's penalty and with the quadratic that
the model remembers of the documents before (stats/past.py), certified as any fit is. Document frequencies add up. Where
an inverse document frequency changed, so did the unit of that feature: weights, slopes and curvatures are carried into
the new unit, in which x_j β_j is what it was but for the documents' norms. A new category has no past.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.engine import Threads, run_all
from lapwing.errors import InputError, SettingsError, some
from lapwing.evaluate.documents import check_kind
from lapwing.model import LinearModel
from lapwing.model.calibration import Calibration, Coupling
from lapwing.model.linear import FitSummary, as_model
from lapwing.model.memory import Memory
from lapwing.model.reference import ScoreReference
from lapwing.model.trained_on import KEPT, sketch
from lapwing.selection.folds import Folds, deal, matrix_keys
from lapwing.solvers import sequential
from lapwing.stats.objective import PriorArrays
from lapwing.stats.past import Past
from lapwing.stats.priors import as_prior
from lapwing.stats.result import FitResult
from lapwing.text import Weighting
from lapwing.text.beside import WithColumns, joined
from lapwing.text.counts import count_terms
from lapwing.text.matching import NgramWeighting
from lapwing.text.weighting import idf, weigh
from lapwing.training import Progress, learn, warn_unconverged
from lapwing.training.again import settings_of
from lapwing.training.assemble import run_date
from lapwing.training.decisions import Decisions, decide
from lapwing.training.judge import Judge
from lapwing.training.memory import curvature_of, leave_behind, rank_of
from lapwing.training.out_of_fold import score_out_of_fold
from lapwing.training.over_matrix import HELD_OUT_TOL
from lapwing.training.paths import Path
from lapwing.training.settings import TrainSettings
from lapwing.training.targets import check_matrix, check_weights, targets
from lapwing.training.task import Task

ANEW = 500  # new documents from which calibration and thresholds are learned anew,
EACH = 20  # of categories with at least so many of them, and as many others
MOST_RATIO = 10.0  # of inverse document frequencies, to which the change of a unit is limited


def update(
    model: Any,
    documents: Any,
    labels: Sequence[Any] | None = None,
    *,
    forget: float = 1.0,
    curvature: str | int | None = None,
    n_jobs: int | None = None,
) -> LinearModel:
    """The model after these documents, too.

    documents   a Corpus, or texts or a matrix with `labels`: one label each, or a list of labels each
    forget      what the past counts for from now on: 0.9 makes ten documents of it nine
    curvature   what is remembered of the curvature between the weights of a category: a rank for the most of it,
                "diagonal" for nothing; as before by default
    """
    model = as_model(model)
    corpus = documents if isinstance(documents, Corpus) else _corpus(model, documents, labels)
    check_kind(corpus.kind, model)
    if not 0.0 < forget <= 1.0:
        raise SettingsError(f"forget must be above 0 and at most 1, got {forget!r}")
    return Update(model, corpus, forget, curvature, n_jobs).model()


def retrain(model: LinearModel, old: Corpus, new: Corpus, *, progress: Progress | None = None) -> LinearModel:
    """The optimum over old and new documents together, under the variances of the model: what updates come close to."""
    settings = replace(settings_of(model), n_jobs=-1)
    values = model.fits.variance
    same = bool((values == values[0]).all())
    if settings.pools and same:
        settings = replace(settings, cv=replace(settings.cv, variances=(float(values[0]),)))
    elif as_prior(settings.prior).shape.convex:
        categories = {label for labels in (*old.labels, *new.labels) for label in labels}
        if not same and categories - set(model.classes):
            raise InputError("categories of different variances cannot be joined by new ones; train anew on both")
        settings = replace(settings, variance=float(values[0]) if same else tuple(values.tolist()))
    return learn(merged(old, new), settings, progress=progress).model


def merged(old: Corpus, new: Corpus) -> Corpus:
    """Both, one after the other."""
    if old.kind != new.kind:
        raise InputError(f"expected documents of one kind, got {old.kind} and {new.kind}")
    if old.kind == "vectors":
        raise InputError("vectors of two sources have columns of their own; join them first")
    joined: dict[str, Any] = {
        name: [*getattr(old, name), *getattr(new, name)] for name in ("documents", "labels", "ids", "split")
    }
    exclusive = old.exclusive and new.exclusive
    weights = np.concatenate([old.weights, new.weights])
    return replace(old, **joined, exclusive=exclusive, weights=weights, groups=None, times=None)


def _corpus(model: LinearModel, documents: Any, labels: Sequence[Any] | None) -> Corpus:
    n = documents.shape[0] if hasattr(documents, "shape") else len(documents)
    if labels is None or len(labels) != n:
        raise InputError(f"expected labels for {n} documents, got {0 if labels is None else len(labels)}")
    sets = [tuple(one) if isinstance(one, list | tuple | set) else (one,) for one in labels]
    kind, names = "text", None
    if model.weighting is None:
        kind, names = "vectors", list(model.feature_names)
        documents = check_matrix(sp.csr_matrix(documents))
        if documents.shape[1] != len(model.feature_names):
            raise InputError(f"the model has {len(model.feature_names)} features, the matrix {documents.shape[1]}")
    else:
        documents = model.weighting.texts(documents)
    ids, split = [str(i) for i in range(n)], [""] * n
    return Corpus("new documents", kind, documents, sets, ids, model.exclusive, split, np.ones(n), names)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class NewColumns:
    """X (n, d) of the new documents; of every old column its new number, and by how much its unit grew."""

    X: sp.csr_matrix
    names: Sequence[str]
    weighting: Weighting | None
    moved: np.ndarray
    ratio: np.ndarray


def new_columns(model: LinearModel, corpus: Corpus) -> NewColumns:
    """Old and new terms together, document frequencies added up."""
    old = model.weighting
    if old is None:
        return _vector_columns(model, corpus)
    counts = count_terms(old.texts(corpus.documents), old.settings)
    n = counts.matrix.shape[0]
    terms = sorted({*old.terms, *counts.terms})
    place = {term: i for i, term in enumerate(terms)}
    was = np.array([place[term] for term in old.terms], dtype=np.int64)
    now = np.array([place[term] for term in counts.terms], dtype=np.int64)
    frequency = np.zeros(len(terms), dtype=np.int64)
    frequency[was] += old.document_frequency
    frequency[now] += np.bincount(counts.matrix.indices, minlength=len(counts.terms))
    has_column = frequency >= old.settings.min_df
    has_column[was[old.columns]] = True
    beside = () if not isinstance(old, WithColumns) else (old.beside,)
    merged = type(old)(old.settings, terms, frequency, old.n_documents + n, np.flatnonzero(has_column), *beside)
    column_of = merged._column_of
    X = weigh(counts.matrix, frequency[now], merged.n_documents, old.settings, column_of[now], len(merged.columns))
    at = was[old.columns]
    before = idf(old.document_frequency, old.n_documents, old.settings)[old.columns]
    after = idf(frequency, merged.n_documents, old.settings)[at]
    ratio = np.divide(after, before, out=np.ones_like(after), where=(before > 0.0) & (after > 0.0))
    ratio = np.clip(ratio, 1.0 / MOST_RATIO, MOST_RATIO)
    moved = column_of[at].astype(np.int64)
    if isinstance(old, WithColumns):  # as they were: means and scales do not move, and new levels are none
        X = joined(X, old.beside.matrix(old.texts(corpus.documents)))
        more = len(old.beside.feature_names)
        moved = np.append(moved, len(merged.columns) + np.arange(more))
        ratio = np.append(ratio, np.ones(more))
    return NewColumns(X, merged.feature_names, merged, moved, ratio)


def _vector_columns(model: LinearModel, corpus: Corpus) -> NewColumns:
    names = list(model.feature_names)
    given = list(corpus.feature_names or names)
    number = {name: j for j, name in enumerate(names)}
    for name in given:
        number.setdefault(name, len(number))
    X = sp.csr_matrix(corpus.documents, dtype=np.float64).tocoo()
    columns = np.array([number[name] for name in given], dtype=np.int64)
    matrix = sp.csr_matrix((X.data, (X.row, columns[X.col])), shape=(X.shape[0], len(number)))
    return NewColumns(check_matrix(matrix), list(number), None, np.arange(len(names)), np.ones(len(names)))


class Update:
    """One update: what it is of, and each step of it."""

    def __init__(
        self, model: LinearModel, corpus: Corpus, forget: float, curvature: str | int | None, n_jobs: int | None
    ) -> None:
        if model.converted_from:
            raise InputError(f"the model was {model.origin}; an update goes on from a model of `lapwing train`")
        if model.memory is None or model.link == "softmax" or isinstance(model.weighting, NgramWeighting):
            raise InputError(
                "the model does not remember what an update needs: of n-grams of any length, softmax, priors of single "
                "words, selected or standardized features, pruned or Jeffreys fits, robit, and of earlier releases "
                "nothing is kept, of more than 2,000 categories only by curvature=20 or another rank; train it anew"
            )
        self.old, self.corpus, self.forget, self.n_jobs = model, corpus, forget, n_jobs
        self.memory: Memory = model.memory
        self.settings: TrainSettings = settings_of(model)
        self.rank = self.memory.rank if curvature is None else rank_of(curvature)
        self.classes = self._classes()
        self.columns = new_columns(model, corpus)
        goal = targets([tuple(labels) for labels in corpus.labels], model.exclusive, self.classes)
        settings = replace(self.settings, variance=1.0)
        self.task = Task(goal, check_weights(corpus.weights, len(corpus)), settings)

    def _classes(self) -> tuple[Hashable, ...]:
        model, known = self.old, set(self.old.classes)
        new = sorted({label for labels in self.corpus.labels for label in labels if label not in known}, key=str)
        if model.exclusive and set(map(len, self.corpus.labels)) != {1}:
            raise InputError("every new document needs exactly one label, as those of the model have")
        if new and model.exclusive and len(model.classes) == 2:
            raise InputError(
                f"a model of two exclusive classes has one list of weights for both, and cannot take {some(new)}, too; "
                "train it anew"
            )
        return (*model.classes, *new)

    @property
    def width(self) -> int:
        return int(self.columns.X.shape[1])

    def variance(self, row: int) -> float:
        """Of a new category the middle one of all."""
        values = self.old.fits.variance
        return float(values[row] if row < len(values) else np.median(values))

    def prior(self, row: int) -> PriorArrays:
        prior = as_prior(self.settings.prior)
        return prior.compile(self.variance(row), self.width, self.settings.intercept_variance)

    def past(self, row: int) -> Past:
        """In the new columns and units, discounted."""
        if row >= len(self.old.intercepts):
            return Past.none()
        weights, intercepts = self.old.fitted
        past = self.memory.past(row, weights, intercepts).discounted(self.forget)
        ratio = np.append(self.columns.ratio, 1.0)[past.index]
        index = np.append(self.columns.moved, self.width)[past.index]
        assert np.all(np.diff(index) > 0)  # new terms between old ones leave these in order, vectors as well
        return past.carried(index, ratio)

    def start(self, past: Past) -> np.ndarray:
        beta = np.zeros(self.width + 1)
        beta[past.index] = past.centre
        return beta

    def fit(self, row: int, weight: np.ndarray, past: Past, start: np.ndarray, tol: float | None = None) -> FitResult:
        settings = self.settings
        return sequential.fit(
            self.columns.X, self.task.signs(row), weight, self.prior(row), past, start, variance=self.variance(row),
            link=settings.link, tol=tol or settings.tol, max_iter=settings.max_iter,
        )  # fmt: skip

    def _row(self, row: int) -> tuple[FitResult, Past]:
        past, weight = self.past(row), self.task.document_weights(row)
        result = self.fit(row, weight, past, self.start(past))
        behind = leave_behind(
            self.columns.X, self.task.signs(row), weight, self.prior(row), result.weights, self.settings.link, past,
            rank=self.rank,
        )  # fmt: skip
        return result, behind

    @cached_property
    def enough(self) -> list[int]:
        """Rows of which there are enough new documents to learn calibration and thresholds anew."""
        members = np.diff(self.task.targets.member.indptr)[list(self.task.targets.fitted)]
        known = (members >= EACH) & (members <= len(self.corpus) - EACH)
        useful = len(self.corpus) >= ANEW and (self.settings.calibrate or self.settings.tunes)
        return np.flatnonzero(known).tolist() if useful else []

    def decisions(self, results: list[FitResult]) -> Decisions | None:
        """What new documents decide, a fifth at a time left out of the update; None where they are too few."""
        if not self.enough:
            return None
        seed = np.random.SeedSequence(self.settings.random_state)
        keys = matrix_keys(self.columns.X, seed)
        folds: Folds = deal(self.task.targets.member, self.task.weights, keys, self.settings.folds, self.corpus.groups)

        self.results, rows = results, np.array(self.enough)
        unknown = np.full(len(rows), np.nan)  # each category keeps its variance
        scores = score_out_of_fold(self, folds, rows, unknown, Threads(self.n_jobs), None)
        return decide(Judge(self.task, self.enough, folds), scores, None)

    at_a_time = 1
    held_out_tol = HELD_OUT_TOL

    def held_out_scores(self, path: Path, variances: np.ndarray) -> Iterator[np.ndarray]:
        """By updates with the new documents outside each fold, from the update with all of them on."""
        for part in path.parts:
            row, start = part.unit, self.results[part.unit].weights
            weight = path.folds.training(part.fold, self.task.document_weights(row))
            beta = self.fit(row, weight, self.past(row), start, path.tol).weights
            yield self.columns.X @ beta[:-1] + beta[-1]

    def model(self) -> LinearModel:
        rows = list(range(len(self.task)))
        fits = run_all(self._row, rows, n_jobs=self.n_jobs)
        results = [fit for fit, _ in fits]
        warn_unconverged(results, self.task)
        beta = np.array([fit.weights[-1] for fit in results])
        weights = sp.csr_matrix(sp.vstack([sp.csr_matrix(fit.weights[:-1]) for fit in results]))
        documents = self.forget * self.memory.documents + float(self.task.weights.sum())
        decisions = self.decisions(results)
        calibration = self._calibration(decisions, weights, beta)
        shown, intercepts = (weights, beta) if calibration is None else calibration.predicting
        old = self.old
        return LinearModel(
            link=old.link, classes=self.classes, exclusive=old.exclusive, weights=shown, intercepts=intercepts,
            thresholds=self._thresholds(decisions), feature_names=self.columns.names, weighting=self.columns.weighting,
            fits=self._fits(results), provenance=self._provenance(documents), decision=old.decision,
            conformal=None if decisions is None else decisions.conformal, calibration=calibration,
            coupling=self._coupling(decisions), held_out=self._held_out(decisions),
            sketch=np.unique(np.concatenate([old.sketch, sketch(self.corpus.documents)]))[:KEPT],
            memory=Memory.of([past for _, past in fits], documents, self.rank),
        )  # fmt: skip

    def _calibration(self, decisions: Decisions | None, weights: sp.csr_matrix, beta: np.ndarray) -> Calibration | None:
        """Lines learned anew, or those before; that of a new category is in the middle of them."""
        before = self.old.calibration
        if before is None:
            return None
        more = np.ones(len(beta) - len(before.slope))
        slope, offset = (np.concatenate([part, np.median(part) * more]) for part in (before.slope, before.offset))
        if decisions is not None and decisions.slope is not None and decisions.offset is not None:
            slope[self.enough], offset[self.enough] = decisions.slope[self.enough], decisions.offset[self.enough]
        return Calibration(slope, offset, weights, beta)

    def _thresholds(self, decisions: Decisions | None) -> np.ndarray:
        old = self.old.thresholds
        fixed = self.settings.half if self.settings.fixed_threshold is None else self.settings.fixed_threshold
        carried = np.concatenate([old, np.full(len(self.task) - len(old), fixed)])
        positives = np.diff(self.task.targets.member.indptr)[list(self.task.targets.fitted)]
        carried = np.where(np.isinf(carried) & (positives > 0), fixed, carried)
        if decisions is None:
            return carried
        return np.where(np.isnan(decisions.thresholds) | np.isinf(carried), carried, decisions.thresholds)

    @property
    def _all(self) -> bool:
        """Whether all categories have enough new documents."""
        return len(self.enough) == len(self.task)

    def _coupling(self, decisions: Decisions | None) -> Coupling:
        return decisions.coupling if decisions is not None and self._all else self.old.coupling

    def _held_out(self, decisions: Decisions | None) -> dict[str, Any]:
        """Of new documents, or as it was; with the scores of all to compare later ones with (model/reference.py)."""
        known, now = self.old.held_out, self.columns
        summary = known if decisions is None or not self._all else decisions.summary
        before = ScoreReference.of_model(self.old)
        if not before.rows:
            return summary | {name: known[name] for name in ("scores",) if name in known}
        carried = before.moved_to(self.old, now.moved, now.ratio, self.width)
        member = np.column_stack([self.task.signs(row) > 0.0 for row in before.rows])
        inside = np.average(member, axis=0, weights=self.task.weights)
        return summary | {"scores": carried.plus(carried.scores(self.old, now.X), member, inside).to_dict()}

    def _fits(self, results: list[FitResult]) -> FitSummary:
        of = {
            name: np.array([getattr(fit, name) for fit in results])
            for name in ("variance", "objective", "gap", "kkt", "rounds", "converged")
        }
        positives = np.diff(self.task.targets.member.indptr)[list(self.task.targets.fitted)].astype(np.int64)
        positives[: len(self.old.fits.positives)] += self.old.fits.positives
        return FitSummary(**of, positives=positives)

    def _provenance(self, documents: float) -> dict[str, Any]:
        about = dict(self.old.provenance)
        new = [label if isinstance(label, str | int | float | bool) else str(label) for label in self.classes]
        record = {
            "date": run_date(),
            "corpus": self.corpus.name,
            "documents": len(self.corpus),
            "forget": self.forget,
            "counts_for": documents,
            "curvature": curvature_of(self.rank),
            "new_categories": new[len(self.old.classes) :],
            "new_features": self.width - len(self.old.feature_names),
            "learned_anew": len(self.enough),
        }
        about["updates"] = [*about.get("updates", []), record]
        about["documents"] = int(about.get("documents", 0)) + len(self.corpus)
        about["features"] = self.width
        return about
