"""`LinearModel`: where every method ends, and what everything predicts through."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, some
from lapwing.model.calibration import NORMALISED, Calibration, Coupling
from lapwing.model.conformal import Conformal
from lapwing.model.deciding import Decider
from lapwing.model.expected_f1 import expected_f1
from lapwing.model.explain import Explanation, explain_text
from lapwing.model.html import model_html
from lapwing.model.memory import Memory
from lapwing.model.scoring import Scorer, best
from lapwing.plugins import plugin
from lapwing.stats.links import NAMES, as_link, is_model_link, softmax
from lapwing.text import Weighting

DECISIONS = ("threshold", "expected_f1")
BLOCK_SCORES = 2**17  # scores held at a time where they only decide: 1 MB, which stay in the cache
BLOCK_PROBABILITIES = 2**15  # and where they become probabilities, by way of some arrays as large


@dataclass(frozen=True)
class FitSummary:
    """What is known of the fit of every row: arrays of one entry per category."""

    variance: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    kkt: np.ndarray
    rounds: np.ndarray
    converged: np.ndarray
    positives: np.ndarray  # training documents in the category


def row_count(link: str, n_classes: int, exclusive: bool) -> int:
    """Two exclusive classes share one row, unless each has its own part in a softmax."""
    return 1 if exclusive and n_classes == 2 and link != "softmax" else n_classes


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Sparse linear scores with a link, for one or many categories.

    link        "logit", "probit", "cloglog" or "robit:ν": a probability for every score by itself;
                "softmax": one over all of them
    classes     every label; where two exclusive classes share one row it is that of classes[1]
    exclusive   a document is in exactly one class
    weights     (rows, d) CSR
    intercepts, thresholds   (rows,); a document is in a category if its score exceeds the threshold
    feature_names            d names of columns
    weighting   how texts become vectors; None for a model of vectors
    decision    "threshold", or "expected_f1": every batch is cut, category by category, where the expected F1 is
                largest; thresholds then count for categories that are never assigned (+inf) only
    calibration  how weights and intercepts came from those that were fitted and proved; None where they are the same
    coupling    of exclusive classes fitted one by one: how their scores share one probability
    held_out    how good the whole was on documents it had not seen, as `training` measured it; empty where it did not
    conformal   what documents not fitted to say of it, for `predict_set` and `predict_sure`
    sketch      by which documents that it was trained on are known again (model/trained_on.py); empty where none is
    memory      what an update needs of the documents before it (model/memory.py); None where it cannot be updated
    """

    link: str
    classes: tuple[Hashable, ...]
    exclusive: bool
    weights: sp.csr_matrix
    intercepts: np.ndarray
    thresholds: np.ndarray
    feature_names: Sequence[str]
    weighting: Weighting | None
    fits: FitSummary
    provenance: dict[str, Any] = field(default_factory=dict)
    decision: str = "threshold"
    conformal: Conformal | None = None
    calibration: Calibration | None = None
    coupling: Coupling = NORMALISED
    held_out: dict[str, Any] = field(default_factory=dict)
    sketch: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint64))
    memory: Memory | None = None

    def __post_init__(self) -> None:
        rows = row_count(self.link, len(self.classes), self.exclusive)
        if self.exclusive and len(self.classes) < 2:
            raise InputError(f"expected two or more exclusive classes, got {len(self.classes)}")
        if self.decision not in DECISIONS:
            raise InputError(f"decision must be one of {', '.join(DECISIONS)}, got {self.decision!r}")
        if self.link == "softmax" and not self.exclusive:
            raise InputError("a softmax is over classes of which a document has one; got label sets")
        if not is_model_link(self.link) or self.weights.shape != (rows, len(self.feature_names)):
            raise InputError(
                f"expected a link of {', '.join(NAMES)}, softmax and weights of {(rows, len(self.feature_names))}, "
                f"got {self.link!r} and {self.weights.shape}"
            )
        if self.intercepts.shape != (rows,) or self.thresholds.shape != (rows,):
            raise InputError(f"expected an intercept and a threshold for each of {rows} rows")
        if not (np.isfinite(self.weights.data).all() and np.isfinite(self.intercepts).all()):
            raise InputError(
                "expected finite weights and intercepts, got NaN or infinity, with which nothing is predicted"
            )

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The label of every row."""
        return self.classes[-len(self.intercepts) :]

    @property
    def fitted(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """Weights and intercepts that the certificates are of, before any calibration."""
        return (self.weights, self.intercepts) if self.calibration is None else (
            self.calibration.weights, self.calibration.intercepts)  # fmt: skip

    @property
    def converted_from(self) -> str | None:
        """BBR or BMR, where the model was one of their files: nothing is known of its documents, prior and fit."""
        kind = (self.provenance.get("source") or {}).get("format")
        return str(kind).upper() if kind in ("bbr", "bmr") else None

    @property
    def origin(self) -> str:
        """Where it comes from, as far as it says; empty where it does not."""
        documents, corpus = (self.provenance.get(name) for name in ("documents", "corpus"))
        if self.converted_from:
            return f"converted from the {self.converted_from} file {corpus}, which does not say how it was trained"
        known = [*(f"{n} documents" for n in [documents] if n is not None), *(str(name) for name in [corpus] if name)]
        return f"trained on {' of '.join(known)}" if known else ""

    @cached_property
    def n_kept(self) -> np.ndarray:
        """Features with a weight, per category."""
        return np.diff(self.weights.indptr)

    @property
    def sparsity(self) -> float:
        """AAGBD11 Eq. 13: 1 - features used per category / features."""
        return 1.0 - float(np.mean(self.n_kept)) / max(len(self.feature_names), 1)

    @cached_property
    def _labels(self) -> np.ndarray:
        """Classes as an array, to be picked from many at a time."""
        return np.fromiter(self.classes, dtype=object, count=len(self.classes))

    @cached_property
    def scorer(self) -> Scorer:
        return Scorer(self.weights, self.intercepts)

    @cached_property
    def _decider(self) -> Decider:
        return Decider(self.scorer, self.thresholds)

    def vectors(
        self, documents: Iterable[str] | sp.csr_matrix | np.ndarray, *, method: str = "auto", n_jobs: int = 1
    ) -> sp.csr_matrix:
        """Documents as rows of features: texts through the weighting, matrices checked for width."""
        if (matrix := self._as_matrix(documents)) is not None:
            return matrix
        return self._weighting.vectors(documents, method=method, n_jobs=n_jobs)

    def _as_matrix(self, documents: Any) -> sp.csr_matrix | None:
        """A matrix, checked for width; None for texts."""
        if isinstance(documents, str):
            raise InputError("expected a list of texts, got one string; put it in a list")
        if not sp.issparse(documents) and not (isinstance(documents, np.ndarray) and documents.ndim == 2):
            return None
        matrix = sp.csr_matrix(documents, dtype=np.float64)
        if matrix.shape[1] != len(self.feature_names):
            raise InputError(f"the model has {len(self.feature_names)} features, the matrix {matrix.shape[1]}")
        if not np.isfinite(matrix.data).all():
            raise InputError("the matrix holds NaN or infinite values")
        return matrix

    @property
    def _weighting(self) -> Weighting:
        if self.weighting is None:
            raise InputError("this model was trained on vectors; give a matrix of features, not texts")
        return self.weighting

    def scores(self, documents: Any, *, method: str = "auto", rows: slice = slice(None), n_jobs: int = 1) -> np.ndarray:
        """(n, rows) linear scores x·β + intercept, of all categories or of some."""
        if rows.indices(len(self.intercepts)) == (0, len(self.intercepts), 1):
            few = self._few(documents) if method != "kernel" else None
            if few is not None:
                return few
            return self.scorer.scores(self.vectors(documents, method=method, n_jobs=n_jobs))
        matrix = self.vectors(documents, method=method)
        return Scorer(self.weights[rows], self.intercepts[rows]).scores(matrix)

    def _few(self, documents: Any) -> np.ndarray | None:
        """Scores of a few short texts, without a matrix; None where they are not."""
        rows = None if self.weighting is None else self.weighting.rows(documents)
        return None if rows is None else self.scorer.of_rows(rows)

    def score_blocks(self, documents: Any, *, n_jobs: int = 1) -> Iterator[np.ndarray]:
        """The same for a block of documents after the other; all at once where the decision is over the batch.

        A block is good until the next, which takes its place in memory.
        """
        if self.decision == "threshold" and (few := self._few(documents)) is not None:
            return iter([few])
        matrix = self.vectors(documents, n_jobs=n_jobs)
        size = max(BLOCK_SCORES // len(self.intercepts), 1) if self.decision == "threshold" else max(matrix.shape[0], 1)
        return self.scorer.blocks(matrix, size)

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """The link: (n, rows) scores to probabilities, each on its own or all together."""
        return softmax(scores) if self.link == "softmax" else as_link(self.link).probability(scores)

    @property
    def has_thresholds(self) -> bool:
        """Whether thresholds decide: of three or more exclusive classes the most probable is taken."""
        return not self.exclusive or (len(self.classes) == 2 and len(self.intercepts) == 1)

    @property
    def threshold_probabilities(self) -> np.ndarray:
        """Thresholds as probabilities; under a softmax, where the largest score decides, ½, or 1 for never."""
        return as_link("logit" if self.link == "softmax" else self.link).probability(self.thresholds)

    def category_proba(self, documents: Any, *, method: str = "auto") -> np.ndarray:
        """(n, rows) probability of each category on its own; under a softmax rows add up to 1."""
        return self.probability(self.scores(documents, method=method))

    def predict_proba(self, documents: Any, *, n_jobs: int = 1) -> np.ndarray:
        """(n, classes): rows add up to 1 for exclusive classes, independent probabilities otherwise."""
        if (few := self._few(documents)) is not None:
            return self.class_proba(few)
        if (matrix := self._as_matrix(documents)) is not None:
            return self._proba(matrix)
        parts = list(self._weighting.each(documents, self._proba, n_jobs=n_jobs))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _proba(self, matrix: sp.csr_matrix) -> np.ndarray:
        proba, at = np.empty((matrix.shape[0], len(self.classes))), 0
        for scores in self.scorer.blocks(matrix, max(BLOCK_PROBABILITIES // len(self.intercepts), 1)):
            proba[at : at + len(scores)] = self.class_proba(scores)
            at += len(scores)
        return proba

    def class_proba(self, scores: np.ndarray) -> np.ndarray:
        """(n, classes) probabilities of all rows' scores: what every part of lapwing shows."""
        if not self.exclusive or self.link == "softmax":
            return self.probability(scores)
        if scores.shape[1] == 1:
            proba = self.probability(scores)
            return np.hstack([1.0 - proba, proba])
        return softmax(self.coupling.logits(scores, as_link(self.link)))

    def most_probable(self, documents: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(n, count) numbers of the classes most probable for every document, most probable first, and how much.

        Categories that are not exclusive are never scored all at once: `count` of them are kept as scores come.
        """
        if not self.exclusive:
            places, scores = self.scorer.largest(self.vectors(documents), count)
            return places, self.probability(scores)
        blocks = []
        for scores in self.score_blocks(documents):
            proba = self.class_proba(scores)
            places = np.array(best(proba, count)).reshape(len(proba), -1)
            blocks.append((places, np.take_along_axis(proba, places, axis=1)))
        return np.concatenate([one for one, _ in blocks]), np.concatenate([one for _, one in blocks])

    def decided(self, documents: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of every document the numbers of the classes it is put in, most probable first, and how probable each is."""
        for scores in self.score_blocks(documents):
            chosen = self.decide(scores)
            proba = self.class_proba(scores) if self.exclusive else None
            for i, inside in enumerate(chosen):
                places = np.flatnonzero(inside)
                values = self.probability(scores[i, places]) if proba is None else proba[i, places]
                order = np.argsort(-values, kind="stable")
                yield places[order], values[order]

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """(n, classes) True where the document is put in the class; never where the threshold is infinite."""
        if not self.exclusive:
            return self.members(scores)
        chosen = np.zeros((len(scores), len(self.classes)), dtype=bool)
        chosen[np.arange(len(scores)), self.winners(scores)] = True
        return chosen

    def winners(self, scores: np.ndarray) -> np.ndarray:
        """(n,) the class of every document, by its number, where classes are exclusive."""
        if scores.shape[1] == 1:
            return self.members(scores)[:, 0].astype(np.int64)
        open_to = self.thresholds < np.inf
        return np.argmax(scores if open_to.all() else np.where(open_to, scores, -np.inf), axis=1)

    def members(self, scores: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """(n, rows) yes or no for each category on its own."""
        thresholds = self.thresholds[rows]
        if self.decision == "threshold":
            return scores > thresholds
        chosen = np.column_stack([expected_f1(column) for column in self.probability(scores).T])
        return chosen & (thresholds < np.inf)

    def predict(self, documents: Any, *, n_jobs: int = 1) -> list[Hashable] | list[tuple[Hashable, ...]]:
        """One class per document where they are exclusive, else a tuple of the categories it is in."""
        if self.exclusive:
            winners = [self.winners(scores) for scores in self.score_blocks(documents, n_jobs=n_jobs)]
            return self._labels[np.concatenate([np.zeros(0, dtype=np.int64), *winners])].tolist()
        if (few := self._few(documents)) is not None:
            return self._label_sets(np.flatnonzero(self.members(few)), len(few))
        matrix = self.vectors(documents, n_jobs=n_jobs)
        return self._label_sets(self._places(matrix), matrix.shape[0])

    def summary(
        self, category: Hashable | None = None, documents: Any = None, labels: Any = None, **options: Any
    ) -> Any:
        """The words of a category, and how sure each is where the documents trained on are given: `lapwing.summary`."""
        return plugin("methods", "summary")(self, category, documents, labels, **options)

    def probability_interval(
        self, category: Hashable | None, documents: Any, labels: Any, new: Any, *, level: float = 0.95
    ) -> np.ndarray:
        """How sure a probability is, given the documents trained on: `lapwing.probability_interval`."""
        interval: np.ndarray = plugin("methods", "probability_interval")(
            self, category, documents, labels, new, level=level
        )
        return interval

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn estimator that predicts by this model: `lapwing.to_sklearn`."""
        return plugin("methods", "to_sklearn")(self)

    def update(self, documents: Any, labels: Any, **options: Any) -> LinearModel:
        """The model after these documents, too, without those before: `lapwing.update`."""
        updated: LinearModel = plugin("methods", "update")(self, documents, labels, **options)
        return updated

    def predict_set(
        self, documents: Any, coverage: float = 0.9, *, abstain: bool = False
    ) -> list[tuple[Hashable, ...]]:
        """Of every document a tuple of labels, most probable first, that holds all true ones at the rate `coverage`.

        What is promised, and when, stands in docs/trust.md. With `abstain` only sets of one label are given.
        """
        proba = self.predict_proba(documents)
        return self._most_probable_first(proba, self.promised(proba, coverage=coverage, abstain=abstain))

    def predict_sure(
        self, documents: Any, precision: float = 0.95, confidence: float = 0.9
    ) -> list[tuple[Hashable, ...]]:
        """Of every document the labels that are sure: right at the rate `precision`, with that confidence."""
        proba = self.predict_proba(documents)
        return self._most_probable_first(proba, self.promised(proba, precision=precision, confidence=confidence))

    def promised(
        self,
        proba: np.ndarray,
        *,
        coverage: float | None = None,
        precision: float | None = None,
        confidence: float = 0.9,
        abstain: bool = False,
    ) -> np.ndarray:
        """(n, classes) True for the classes of a set of that coverage, or for decisions of that precision.

        abstain   leave out sets of more than one class
        """
        if (coverage is None) == (precision is None):
            raise InputError("expected either a coverage or a precision to promise")
        if abstain and coverage is None:
            raise InputError("abstain is for sets of a coverage; decisions of a precision are few as they are")
        if self.conformal is None:
            raise InputError(
                "this model keeps nothing to promise a coverage or a precision by; train it anew, or give labelled "
                "documents that it was not fitted to, with lapwing.evaluate.conformalize(model, documents, labels)"
            )
        if coverage is not None:
            sets = self.conformal.sets(proba, coverage)
            return sets & (sets.sum(axis=1, keepdims=True) == 1) if abstain else sets
        assert precision is not None
        return self.conformal.sure(proba, precision, confidence)

    def _most_probable_first(self, proba: np.ndarray, chosen: np.ndarray) -> list[tuple[Hashable, ...]]:
        rows = []
        for row, inside in zip(proba, chosen, strict=True):
            places = np.flatnonzero(inside)
            rows.append(tuple(self._labels[places[np.argsort(-row[places], kind="stable")]].tolist()))
        return rows

    def _places(self, matrix: sp.csr_matrix) -> np.ndarray:
        """Numbers document × categories + category of what is in the category, ascending."""
        if self.decision == "threshold" and self._decider.is_worth(matrix):
            return self._decider.places(matrix)
        places, n = [np.zeros(0, dtype=np.int64)], 0
        for scores in self.score_blocks(matrix):
            places.append(np.flatnonzero(self.members(scores)) + n * scores.shape[1])  # far faster than np.nonzero
            n += len(scores)
        return np.concatenate(places)

    def _label_sets(self, places: np.ndarray, n: int) -> list[tuple[Hashable, ...]]:
        rows, numbers = np.divmod(places, len(self.classes))
        names, counts = self._labels[numbers], np.bincount(rows, minlength=n)
        starts = np.cumsum(counts) - counts
        sets = np.empty(n, dtype=object)
        for count in np.unique(counts).tolist():  # those in as many classes together: far faster than one by one
            here = np.flatnonzero(counts == count)
            columns = (names[starts[here] + k].tolist() for k in range(count))
            sets[here] = np.fromiter(zip(*columns, strict=True) if count else repeat(()), dtype=object, count=len(here))
        return sets.tolist()

    def row_of(self, category: Hashable | None = None) -> int:
        """The row of weights of a category by its name; of the only one there is, without a name."""
        if category in self.categories:
            return self.categories.index(category)
        if category is None and len(self.categories) == 1:
            return 0
        raise InputError(f"category must be one of the model's, {some(self.categories)}, got {category!r}")

    def top_features(self, category: Hashable | None = None, limit: int | None = None) -> list[tuple[str, float]]:
        """Features of a category by size of weight, largest first; ties by name.

        The category by its name. A number that is no label is a row of the weights. Of two exclusive classes that
        share a row, what speaks for one speaks against the other.
        """
        if category not in self.categories and category in self.classes:
            return [(name, -weight) for name, weight in self.row_features(0, limit)]
        is_row = isinstance(category, int) and category not in self.categories
        return self.row_features(int(category) if is_row else self.row_of(category), limit)  # type: ignore[call-overload]

    def row_features(self, row: int, limit: int | None = None) -> list[tuple[str, float]]:
        """The same by the number of its row."""
        start, end = self.weights.indptr[row : row + 2]
        pairs = [
            (self.feature_names[j], float(w))
            for j, w in zip(self.weights.indices[start:end], self.weights.data[start:end], strict=True)
        ]
        return sorted(pairs, key=lambda pair: (-abs(pair[1]), pair[0]))[:limit]

    def renamed(self, feature_names: Sequence[str]) -> Self:
        """The same model with other names for its features, as many."""
        if len(feature_names) != len(self.feature_names):
            raise InputError(f"expected {len(self.feature_names)} feature names, got {len(feature_names)}")
        if self.weighting is not None:
            raise InputError("the features of a model of texts are its words, and have their names")
        return replace(self, feature_names=[str(name) for name in feature_names])

    def _repr_html_(self) -> str:
        return model_html(self)

    def explain(
        self, text: str, categories: Sequence[Hashable] | None = None, *, top: int | None = None
    ) -> Explanation:
        """The words of `text` that spoke for and against each category, or the `top` most probable ones."""
        return explain_text(self, text, categories, top)


def as_model(model: Any) -> LinearModel:
    """A model, or that of a fitted classifier."""
    inner = getattr(model, "model_", model)
    if not isinstance(inner, LinearModel):
        raise InputError(
            f"expected a model or a fitted classifier, got {type(model).__name__}; lapwing.load reads a model file"
        )
    return inner
