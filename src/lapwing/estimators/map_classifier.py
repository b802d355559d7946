"""Sparse Bayesian logistic and probit regression on a matrix."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from lapwing.corpus import Corpus
from lapwing.engine.collections import client_of, gathered
from lapwing.errors import InputError
from lapwing.estimators._base import LinearModelClassifier
from lapwing.estimators._checks import document_weights, matrix
from lapwing.estimators._signatures import MAPClassifierParameters
from lapwing.stats.prior_table import PriorTable


class MAPClassifier(MAPClassifierParameters, LinearModelClassifier):
    """The most probable coefficients of a linear model under a prior, with a certificate for each category.

    Parameters
    ----------
    prior : "elasticnet" (sparse; of words that go together all may stay), "laplace" (sparser), "gaussian" (ridge),
        "jeffreys" (sparse, no variance to choose, no claim of optimality: see `lapwing.priors.Jeffreys`), or an object
        of `lapwing.priors`; with `lapwing.priors.PriorTable` features, by name or number of column, have modes,
        variances and signs of their own
    link : "logit" (logistic regression) or "probit"; probabilities are 1/(1+e^-score) or Φ(score). "cloglog":
        1-e^(-e^score). "robit:4": Student's distribution of 4 (1 to 30) degrees of freedom, under which wrong labels
        pull less; its loss is not convex, so that a fit is a stationary point and `dual_gap_` NaN
    multi_class : "ovr", a model for each category, or "multinomial", one over all of them with a softmax, for exclusive
        classes: objective_, dual_gap_, kkt_ and converged_ are then those of the whole, the same for every row
    reference_class : multinomial: the class whose coefficients are all 0
    variance : "pooled" (one for all categories, by what they all lose on held-out documents), "norm" (from the data,
        GLM07 Eq. 29), "cv" (over a grid, each category by itself), "auto" (the same without a grid), a number, or one
        number per category
    folds, fold_by : the folds that all categories share, by "chance" (equal documents, and those of one group,
        together) or by "time"; groups and time hold for the folds of "cv" and "auto", too
    calibrate : learn from out-of-fold scores what probabilities to give, wherever there are such scores: the variance
        was chosen, or a threshold is tuned. coef_ and intercept_ stay the most probable ones, which are certified;
        scores are slope × (X coef_ + intercept_) + offset, with both in calibration_
    cv_variances, cv_folds, cv_runs, one_se : how "cv" and "auto" compare variances; GLM07's grid, 10 folds of
        which 2 take a turn, and optionally the strongest prior within one standard error of the best
    solver : "auto" (Newton, certified) or "clg" (GLM07's algorithm and stopping rule, for which tol counts) or
        "em" (EGJLM03's latent variables, accelerated; always taken under Jeffreys' prior, for which tol bounds
        slope × coefficient)
    threshold : "default" (probability ½), a probability, or tuned per category: "error", "f1", "ber", "t11u",
        "t13u", a `lapwing.Utility`; "expected_f1" decides each batch as a whole
    threshold_data : tune on "cv", the scores of held-out documents, or on "train", those of the training documents
    class_weight : None, a mapping of label to factor, or "balanced": the same total weight for each exclusive class,
        or for the positives and the negatives of each category of label sets
    select_features : keep this many features per category before the fit, by feature_score: "bns", "chi2",
        "pearson", "yule", "stability" (the share of halves of the data in which a lasso keeps a feature) or "bolasso"
        (of bootstrap samples); by these two also a share: select_features=0.9 keeps what 0.9 of the samples keep
    max_features : at most this many features per category, chosen by a prior as strong as that takes, and
        fitted anew with a variance by cross-validation; why one has fewer stands in squeeze_
    intercept_variance : None for the same prior as the coefficients', a number, or `np.inf`
    standardize : centre and scale every feature, without ever making the matrix dense
    tol : bound on the duality gap, relative to the objective at the solution
    n_jobs : threads over categories, and over texts; results do not depend on it

    Attributes
    ----------
    coef_ : CSR, one row per category (one only for two classes); intercept_, variance_, objective_,
    dual_gap_, kkt_, converged_, thresholds_ : one entry per row; classes_; model_ : the `LinearModel`;
    dual_ : the dual point of each row, for `lapwing.certify`; None where they would take over 400 MB;
    variance_curves_ : held-out log-likelihoods per category where variances were compared
    squeeze_ : with max_features, why a category has fewer; "" where it has as many

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

    _updates = True  # whether a fitted one can be updated

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        validation: tuple[Any, Any] | None = None,
        groups: Any = None,
        times: Any = None,
        client: Any = None,
    ) -> MAPClassifier:
        """Fit one classifier per category. y: labels, or a dense or sparse 0/1 indicator matrix.

        `validation`, another X and y, takes the place of cross-validation where something is to be chosen.
        `groups` of rows are left out together; `times` are for fold_by="time". The workers of `client`, a Dask one, do
        the fitting where it is given; X and y may be Dask arrays, with sparse blocks or dense ones, or dataframes.
        """
        client = client_of(client, X, y)
        X, y, sample_weight = (gathered(value, client) for value in (X, y, sample_weight))
        X = matrix(self, X)
        labels, exclusive, classes = self._read_labels(y, X.shape[0])
        weights = document_weights(sample_weight, X.shape[0])
        names = feature_names if feature_names is not None else getattr(self, "feature_names_in_", None)
        if names is not None and (isinstance(names, str) or len(names) != X.shape[1]):
            given = repr(names) if isinstance(names, str) else len(names)
            raise InputError(f"expected {X.shape[1]} feature names, got {given}")
        if isinstance(prior := getattr(self, "prior", None), PriorTable):
            known = range(X.shape[1]) if names is None else names
            prior.check_insisting(map(str, known))
        names = None if names is None else [str(name) for name in names]
        apart = None
        if validation is not None:
            if len(validation) != 2:
                raise InputError(f"validation must be an X and a y, got {len(validation)} values")
            held_out = self._inputs(validation[0])
            labels_apart, same, _ = self._read_labels(validation[1], held_out.shape[0])
            if same != exclusive:
                raise InputError("expected labels for validation of the same kind as those to fit")
            apart = _corpus(held_out, labels_apart, exclusive, np.ones(held_out.shape[0]), names)
        corpus = replace(_corpus(X, labels, exclusive, weights, names), groups=groups, times=times)
        self._train(corpus, classes, apart, client)
        return self

    @available_if(lambda self: self._updates)
    def partial_fit(self, X: Any, y: Any, classes: Sequence[Hashable] | None = None) -> MAPClassifier:
        """Fit, or where that was done update with these rows, too (`lapwing.update`).

        classes   for the first call: labels that may come later
        """
        if hasattr(self, "model_"):
            return self.update(X, y)
        if classes is None:
            return self.fit(X, y)
        X = matrix(self, X)
        labels, exclusive, _ = self._read_labels(y, X.shape[0])
        known = np.unique(np.asarray(classes)).tolist()
        self._train(_corpus(X, labels, exclusive, np.ones(X.shape[0]), None), known)
        return self

    def _inputs(self, X: Any) -> Any:
        return matrix(self, X, reset=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _sparse(X: Any) -> sp.csr_matrix:
    """X by rows; one without a zero is as it is, and need not be searched for them twice."""
    if sp.issparse(X) or not X.all():
        return sp.csr_matrix(X)
    n, d = X.shape
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    matrix = sp.csr_matrix((X.ravel(), indices, np.arange(n + 1, dtype=np.int64) * d), shape=(n, d))
    matrix.has_canonical_format = True
    return matrix


def _corpus(X: Any, labels: Any, exclusive: bool, weights: np.ndarray, names: list[str] | None) -> Corpus:
    return Corpus(
        name="matrix",
        kind="vectors",
        documents=_sparse(X),
        labels=labels,
        ids=range(X.shape[0]),  # type: ignore[arg-type]
        exclusive=exclusive,
        split=[],
        weights=weights,
        feature_names=names,
    )
