"""Sparse Bayesian logistic regression on a matrix."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.estimators._base import LinearModelClassifier
from lapwing.model.priors import Prior
from lapwing.training import TrainSettings


class MAPClassifier(LinearModelClassifier):
    """The most probable coefficients of a logistic model under a prior, with a certificate for each category.

    Parameters
    ----------
    prior : "laplace" (sparse), "gaussian" (ridge), "elasticnet", or an object of `lapwing.priors`
    variance : "norm" (from the data, GLM07 Eq. 29), a number, or one number per category
    threshold : "default" (probability ½) or a probability above which a document is put in a category
    class_weight : None, "balanced", or a mapping of label to factor
    intercept_variance : None for the same prior as the coefficients', a number, or `np.inf`
    tol : bound on the duality gap, relative to the objective at the solution
    n_jobs : threads over categories; results do not depend on it

    Attributes
    ----------
    coef_ : CSR, one row per category (one only for two classes); intercept_, variance_, objective_,
    dual_gap_, kkt_, converged_, thresholds_ : one entry per row; classes_; model_ : the `LinearModel`

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [0.2, 1.0], [1.0, 0.0], [1.0, 0.3]])
    >>> model = MAPClassifier(variance=10.0).fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[0.9, 0.1]]).tolist()
    ['yes']
    >>> bool(model.dual_gap_[0] <= 1e-4 * model.objective_[0])
    True
    """

    def __init__(
        self,
        prior: str | Prior = "laplace",
        *,
        variance: str | float | Sequence[float] = "norm",
        threshold: str | float = "default",
        class_weight: str | Mapping[Hashable, float] | None = None,
        intercept_variance: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_jobs: int | None = None,
    ) -> None:
        self.prior = prior
        self.variance = variance
        self.threshold = threshold
        self.class_weight = class_weight
        self.intercept_variance = intercept_variance
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, feature_names: Sequence[str] | None = None
    ) -> MAPClassifier:
        """Fit one classifier per category. y: labels, or a dense or sparse 0/1 indicator matrix."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        labels, exclusive, classes = self._read_labels(y, X.shape[0])
        weights = np.ones(X.shape[0]) if sample_weight is None else _check_sample_weight(sample_weight, X)
        names = feature_names if feature_names is not None else getattr(self, "feature_names_in_", None)
        if names is not None and len(names) != X.shape[1]:
            raise InputError(f"expected {X.shape[1]} feature names, got {len(names)}")
        corpus = Corpus(
            name="matrix",
            kind="vectors",
            documents=sp.csr_matrix(X),
            labels=labels,  # type: ignore[arg-type]
            ids=range(X.shape[0]),  # type: ignore[arg-type]
            exclusive=exclusive,
            split=[],
            weights=weights,
            feature_names=None if names is None else [str(name) for name in names],
        )
        settings = TrainSettings(
            prior=self.prior,
            variance=self.variance,
            threshold=self.threshold,
            class_weight=self.class_weight,
            intercept_variance=self.intercept_variance,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        self._train(corpus, settings, classes)
        return self

    def _inputs(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
