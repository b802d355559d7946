"""What the classifiers share: a fitted `LinearModel` behind scikit-learn's attributes."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from lapwing.corpus import Corpus
from lapwing.corpus.document import SingleLabels
from lapwing.engine.threads import thread_count
from lapwing.errors import InputError
from lapwing.estimators._checks import check_label_names, in_one_sentence
from lapwing.estimators._frames import as_list, indicator_names, is_frame, is_series
from lapwing.formats import save
from lapwing.model import LinearModel
from lapwing.model.html import model_html
from lapwing.training import CategoryFit, TrainSettings, learn
from lapwing.training.summary import Summary, probability_interval, summary
from lapwing.training.update import update

MOST_DUALS = 50_000_000  # dual points are kept up to so many numbers, 400 MB


class LinearModelClassifier(ClassifierMixin, BaseEstimator):
    """fit() leaves a `model_`; everything predicts through it."""

    model_: LinearModel
    _takes_label_lists = False  # whether a list of lists means labels, not an indicator matrix

    def _settings(self) -> TrainSettings:
        return TrainSettings.of({name: getattr(self, name) for name in self._parameter_names()})

    @classmethod
    @cache
    def _parameter_names(cls) -> list[str]:
        return list(cls._get_param_names())

    def _train(
        self, corpus: Corpus, classes: Sequence[Hashable] | None, validation: Corpus | None = None, client: Any = None
    ) -> list[CategoryFit]:
        trained = learn(
            corpus, self._settings(), classes=classes, validation=validation, most_duals=MOST_DUALS, client=client
        )  # fmt: skip
        fits = trained.fits
        self.pooled_curve_ = trained.curve
        self.variance_curves_ = [one.curve for one in fits]
        self.squeeze_ = [one.shortfall(trained.model.provenance["max_features"]) for one in fits]
        duals = [one.dual for one in fits if one.dual is not None]
        self.dual_ = np.vstack(duals) if duals else None
        self._take(trained.model)
        return fits

    def _take(self, model: LinearModel) -> None:
        """The model and what scikit-learn knows of it by name."""
        self.model_ = model
        self.classes_ = _label_array(model.classes)
        self.coef_, self.intercept_ = model.fitted
        lines = model.calibration
        self.calibration_ = None if lines is None else np.column_stack([lines.slope, lines.offset])
        self.variance_ = model.fits.variance
        self.objective_ = model.fits.objective
        self.dual_gap_ = model.fits.gap
        self.kkt_ = model.fits.kkt
        self.converged_ = model.fits.converged
        self.n_iter_ = model.fits.rounds
        self.thresholds_ = model.threshold_probabilities
        self.sparsity_ = model.sparsity

    def _inputs(self, X: Any) -> Any:
        return X

    def update(self, X: Any, y: Any, *, forget: float = 1.0, curvature: str | int | None = None) -> Self:
        """Learn from these documents, too, without those of fit(): see `lapwing.update`."""
        check_is_fitted(self)
        X = self._inputs(X)
        labels, _, _ = self._read_labels(y, X.shape[0] if hasattr(X, "shape") else len(X))
        self._take(update(self.model_, X, labels, forget=forget, curvature=curvature, n_jobs=self.n_jobs))
        return self

    @property
    def _threads(self) -> int:
        return thread_count(getattr(self, "n_jobs", None))

    def decision_function(self, X: Any) -> np.ndarray:
        """Linear scores: (n,) for two exclusive classes, else (n, classes)."""
        check_is_fitted(self)
        scores = self.model_.scores(self._inputs(X), n_jobs=self._threads)
        if not self.model_.exclusive or len(self.classes_) > 2:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def category_proba(self, X: Any) -> np.ndarray:
        """(n, rows of coef_): the probability of each category on its own."""
        check_is_fitted(self)
        return self.model_.category_proba(self._inputs(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, classes): rows add up to 1 for exclusive classes; independent probabilities for label sets."""
        check_is_fitted(self)
        return self.model_.predict_proba(self._inputs(X), n_jobs=self._threads)

    def predict(self, X: Any) -> np.ndarray | list[tuple[Hashable, ...]]:
        """Classes; for label sets an indicator array, or tuples of labels where fit() had label lists."""
        check_is_fitted(self)
        model = self.model_
        if self._label_lists and not model.exclusive:
            return model.predict(self._inputs(X), n_jobs=self._threads)  # type: ignore[return-value]
        blocks = model.score_blocks(self._inputs(X), n_jobs=self._threads)
        if model.exclusive:
            winners = [model.winners(scores) for scores in blocks]
            answer: np.ndarray = self.classes_[np.concatenate([np.zeros(0, dtype=np.int64), *winners])]
            return answer
        chosen = [model.members(scores) for scores in blocks]
        return np.vstack([np.zeros((0, len(model.classes)), dtype=bool), *chosen]).astype(int)

    def predict_set(self, X: Any, coverage: float = 0.9, *, abstain: bool = False) -> list[tuple[Hashable, ...]]:
        """A tuple of labels per document that holds all its true ones at the rate `coverage`.

        With `abstain` only sets of one label are given, and none otherwise.
        """
        check_is_fitted(self)
        return self.model_.predict_set(self._inputs(X), coverage, abstain=abstain)

    def predict_sure(self, X: Any, precision: float = 0.95, confidence: float = 0.9) -> list[tuple[Hashable, ...]]:
        """The labels of each document that are right at the rate `precision`, with that confidence."""
        check_is_fitted(self)
        return self.model_.predict_sure(self._inputs(X), precision, confidence)

    def summary(self, category: Hashable | None = None, X: Any = None, y: Any = None, **options: Any) -> Summary:
        """The words of a category; with the X and y of fit(), how sure each is: see `lapwing.summary`."""
        check_is_fitted(self)
        if X is None:
            return summary(self.model_, category, **options)
        return summary(self.model_, category, *self._fitted_to(X, y), **options)

    def probability_interval(
        self, category: Hashable | None, X: Any, y: Any, new: Any, *, level: float = 0.95
    ) -> np.ndarray:
        """(n, 3): of new documents the posterior predictive probability of a category, and the ends of its interval.

        Under a Gaussian prior, with the X and y of fit(): see `lapwing.probability_interval`.
        """
        check_is_fitted(self)
        return probability_interval(self.model_, category, *self._fitted_to(X, y), self._inputs(new), level=level)

    def _fitted_to(self, X: Any, y: Any) -> tuple[Any, Any]:
        """What fit() was given, as a model takes it: documents, and a tuple of labels for each."""
        X = self._inputs(X)
        labels, _, _ = self._read_labels(y, X.shape[0] if hasattr(X, "shape") else len(X))
        return X, labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of documents whose class, or whole set of labels, is right."""
        if self._label_lists:
            predicted: Any = self.predict(X)
            given = _of_length(as_list(y, "labels"), len(predicted))
            right = [set(mine) == set(true) for mine, true in zip(predicted, given, strict=True)]
        elif self.classes_.dtype == object:  # several types: scikit-learn's accuracy has no order for them
            right = [mine == true for mine, true in zip(self.predict(X), y, strict=True)]
        else:
            with in_one_sentence():
                return float(super().score(X, y, sample_weight))
        return float(np.average(right, weights=sample_weight))

    def _repr_html_inner(self) -> str:
        return model_html(self.model_) if hasattr(self, "model_") else str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": model_html(self.model_)} if hasattr(self, "model_") else bundle

    def top_features(self, category: Hashable | None = None, limit: int | None = 20) -> list[tuple[str, float]]:
        """The strongest features of a category, by its name, with their weights; of two classes it need not be said."""
        check_is_fitted(self)
        return self.model_.top_features(category, limit)

    def save(self, path: str | os.PathLike[str], feature_names: Sequence[str] | None = None) -> None:
        """Write the fitted model to a file that `lapwing.load` and the commands read.

        feature_names   names for the columns of X, where fit() had none: those of the transformers before it in a
                        pipeline, `pipeline[:-1].get_feature_names_out()`
        """
        check_is_fitted(self)
        save(self.model_ if feature_names is None else self.model_.renamed(feature_names), path)

    def _read_labels(self, y: Any, n: int) -> tuple[Sequence[tuple[Hashable, ...]], bool, list[Hashable] | None]:
        """(label sets, exclusive, classes or None) of whatever fit() was given as y."""
        names = indicator_names(y)
        if names is not None:
            y = y.to_numpy()
        elif is_series(y) or is_frame(y):
            y = as_list(y, "labels")
            y = y if _is_label_lists(y) else _unchanged(y)
        self._label_lists = self._takes_label_lists and _is_label_lists(y)
        if y is None:
            raise InputError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if self._label_lists:
            sets = [tuple(sorted(set(row), key=str)) for row in _of_length(y, n)]
            check_label_names({label for row in sets for label in row})
            return sets, False, None
        if not sp.issparse(y):
            y = _unchanged(y)
        if y.ndim not in (1, 2):
            raise InputError(f"expected labels for {n} documents, or an indicator matrix, got an array of {y.shape}")
        if y.ndim == 2 and (y.shape[1] > 1 or sp.issparse(y)):
            indicator = sp.csr_matrix(_of_length(y, n))
            if not np.isin(indicator.data, (0, 1)).all():
                raise InputError("expected an indicator matrix of zeros and ones, got other values")
            indicator.eliminate_zeros()
            indicator.sort_indices()
            ends = indicator.indptr.tolist()
            columns = indicator.indices.tolist()
            labels = [tuple(columns[a:b]) for a, b in pairwise(ends)]
            if names is not None:
                return [tuple(names[k] for k in row) for row in labels], False, list(names)
            return labels, False, list(range(indicator.shape[1]))
        if (whole := _whole_numbers(_of_length(y, n))) is not None:
            return whole, True, None
        with in_one_sentence():
            flat = _of_length(column_or_1d(y, warn=True), n)
        if flat.dtype == object:
            check_label_names(flat)
        if flat.dtype != object or len(set(map(type, flat))) == 1:
            with in_one_sentence():
                check_classification_targets(flat)
        rows = flat.tolist()
        if flat.dtype == object:  # 1, True and 1.0 would be one
            return [(label,) for label in rows], True, None
        single = {label: (label,) for label in set(rows)}  # one for all: as many as rows would wake the collector
        return [single[label] for label in rows], True, None


def _whole_numbers(y: Any) -> SingleLabels | None:
    """Labels that are whole numbers near each other, or booleans, and far fewer than documents; None for others."""
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype.kind not in "biu" or not len(y):
        return None
    least, most = int(y.min()), int(y.max())
    if most - least > min(len(y) // 2, 10_000):
        return None
    above = y.astype(np.int64) - least if y.dtype.kind != "u" else (y - y.dtype.type(least)).astype(np.int64)
    occur = np.bincount(above) > 0
    classes = (np.flatnonzero(occur) + least).astype(y.dtype)
    return SingleLabels(classes.tolist(), (np.cumsum(occur) - 1)[above])


def _is_label_lists(y: Any) -> bool:
    if isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1:
        y = y.tolist()
    if not isinstance(y, list | tuple):
        return False
    lists = sum(isinstance(row, list | tuple | set | frozenset | np.ndarray) and not isinstance(row, str) for row in y)
    if 0 < lists < len(y):
        raise InputError("some texts have a list of labels and some a single one; give every text a list")
    return lists > 0


def _unchanged(y: Any) -> np.ndarray:
    """y as an array, without NumPy making 1 and "a" both strings."""
    array = np.asarray(y)
    if (
        array is not y
        and array.dtype.kind == "U"
        and array.ndim == 1
        and not all(isinstance(label, str) for label in y)
    ):
        return np.array(y, dtype=object)
    return array


def _of_length(y: Any, n: int) -> Any:
    rows = y.shape[0] if hasattr(y, "shape") else len(y)
    if rows != n:
        raise InputError(f"expected labels for {n} documents, got {rows}")
    return y


def _label_array(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels of one type as an array of it, others as objects."""
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | int | float | bool):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
