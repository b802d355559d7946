"""Ridge, made sparse: Selected Ridge on a matrix."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from lapwing.corpus import Corpus
from lapwing.estimators._signatures import SelectedRidgeClassifierParameters
from lapwing.estimators.map_classifier import MAPClassifier
from lapwing.training import CategoryFit, TrainSettings


class SelectedRidgeClassifier(SelectedRidgeClassifierParameters, MAPClassifier):
    """A certified ridge fit per category, then the sparse weights nearest to it in its own metric (AAGBD11).

    Around the ridge solution β* the objective is nearly quadratic, with its Hessian H. What is kept minimises

        (β - β*)ᵀ H (β - β*) + α ‖β‖₁

    with H taken as diagonal by soft-thresholding every coefficient, the intercept too, by α/(2H_i).

    Parameters
    ----------
    variance : of the ridge prior (λ = 1/(2 variance)): "pooled", "norm", "cv", "auto", a number, or one per category.
        When it is chosen, held-out documents are scored by the pruned weights
    alpha : None for the universal penalty √(2 ln p / p), p features; a number, 0 for ridge itself; or "cv": the best
        of a grid, chosen together with the variance
    hessian : "diagonal" (the paper's closed form) or "full" (without taking features as independent; no matrix of
        features × features is formed)
    others : as in `MAPClassifier`; fit(X, y, validation=(X2, y2)) chooses by those documents instead of folds

    Attributes
    ----------
    coef_, intercept_ : pruned; objective_, dual_gap_, kkt_, converged_, dual_ : of the ridge solution, certified;
    pruned_objective_ : the ridge objective at the pruned weights; alpha_ : one per row; sparsity_ : Eq. 13,
    1 - features used per category / features; others as in `MAPClassifier`

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 0.1], [0.2, 1.0, 0.0], [1.0, 0.0, 0.1], [1.0, 0.3, 0.0]])
    >>> model = SelectedRidgeClassifier(variance=10.0, alpha=0.5).fit(X, ["no", "no", "yes", "yes"])
    >>> model.coef_.nnz, model.predict([[0.9, 0.1, 0.0]]).tolist()
    (2, ['yes'])
    """

    _updates = False  # what was pruned keeps no memory of its documents

    def _settings(self) -> TrainSettings:
        return TrainSettings.of(self.get_params(deep=False), method="selected-ridge", prior="gaussian")

    def _train(
        self, corpus: Corpus, classes: Sequence[Hashable] | None, validation: Corpus | None = None, client: Any = None
    ) -> list[CategoryFit]:
        fits = super()._train(corpus, classes, validation, client)
        self.alpha_ = np.array([one.alpha for one in fits])
        self.pruned_objective_ = np.array([one.pruned_objective for one in fits])
        return fits
