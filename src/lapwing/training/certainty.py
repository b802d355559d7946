"""One category of a model with the documents it was fitted to: what intervals and halves are worked out from.

A category fitted by itself (`CategoryData`), a class of a softmax, whose posterior and halves are those of all classes
together (`JointData`), and n-grams of any length, of which every half finds its own (`SearchedData`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate import membership
from lapwing.model import LinearModel
from lapwing.selection.stability import Stability, stability, stability_of
from lapwing.stats.irrepresentable import correlations, irrepresentable
from lapwing.stats.links import as_link, softmax
from lapwing.stats.objective import PriorArrays, kkt_violation
from lapwing.stats.posterior import Posterior, SoftmaxPosterior
from lapwing.stats.priors import as_prior
from lapwing.training.again import document_weights, prior_of, settings_of

ALIKE = 0.5  # correlation from which an absent word could stand in for one that is kept,
STAND_INS = 3  # of which so many are named
FITTED = 0.02  # gradient, relative to the sum of its terms' sizes, up to which documents are those of the fit


def data_of(
    model: LinearModel, category: Hashable | None, documents: Any, labels: Sequence[tuple[Hashable, ...]]
) -> CategoryData:
    """The kind that the model needs, its documents checked to be those of the fit."""
    row = model.row_of(category)
    X = model.vectors(documents)
    if X.shape[0] != len(labels):
        raise InputError(f"expected labels for {X.shape[0]} documents, got {len(labels)}")
    searched = model.weighting is not None and model.weighting.settings.ngrams
    kind = JointData if model.link == "softmax" else SearchedData if searched else CategoryData
    data = kind.of(model, row, X, labels, documents)
    data.check()
    return data


@dataclass(frozen=True, eq=False)
class CategoryData:
    """One category: X (n, d), labels ±1, document weights, and the documents as they were given.

    Raw weights are those that were fitted; where scores were calibrated afterwards a slope lies between.
    """

    model: LinearModel
    row: int
    X: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray
    documents: Any

    @classmethod
    def of(
        cls, model: LinearModel, row: int, X: sp.csr_matrix, labels: Sequence[tuple[Hashable, ...]], documents: Any
    ) -> Self:
        y = np.where(membership(labels, [model.categories[row]])[:, 0], 1.0, -1.0)
        return cls(model, row, X, y, document_weights(model, row, labels, None, settings_of(model)), documents)

    @cached_property
    def prior(self) -> PriorArrays:
        return self.prior_of_row(self.row)

    def prior_of_row(self, row: int) -> PriorArrays:
        settings = settings_of(self.model)
        prior = prior_of(self.model, row, settings)
        variance = float(self.model.fits.variance[row])
        arrays: PriorArrays = prior.compile(variance, self.X.shape[1], settings.intercept_variance)
        return arrays

    @property
    def slope(self) -> float:
        """What raw scores are multiplied by to be the model's."""
        calibration = getattr(self.model, "calibration", None)
        return 1.0 if calibration is None else float(calibration.slope[self.row])

    @cached_property
    def beta(self) -> np.ndarray:
        """(d+1,) raw weights, the intercept last."""
        return np.asarray(self.raw([self.row])[0])

    def raw(self, rows: Sequence[int]) -> np.ndarray:
        source = getattr(self.model, "calibration", None) or self.model
        return np.column_stack([source.weights[rows].toarray(), source.intercepts[rows]])

    @cached_property
    def margin(self) -> np.ndarray:
        return np.asarray(self.y * (self.X @ self.beta[:-1] + self.beta[-1]))

    def check(self) -> None:
        """Documents and settings are those of the fit if the objective's gradient vanishes there."""
        pull = self.weight * as_link(self.model.link).theta(self.margin, self.y)
        self.check_gradient(_products(self.X, -pull * self.y), _products(abs(self.X), pull))

    def check_gradient(self, gradient: np.ndarray, size: np.ndarray) -> None:
        """`size` is the sum of the sizes of its terms."""
        wrong = kkt_violation(self.prior, self.beta, gradient)
        if not np.linalg.norm(wrong) <= FITTED * max(float(np.linalg.norm(size)), 1e-300):
            raise InputError(
                "these are not the documents that the model was fitted to, or it was fitted in a way that it does not "
                "tell (standardized features, weights of documents); give just those it was trained on"
            )

    def check_alike(self) -> None:
        if not np.all(self.weight == 1.0):
            raise InputError("halves of the data are of documents that weigh alike, and here class weights differ")

    def stand_ins(self, columns: Sequence[int]) -> list[tuple[str, ...]]:
        """For some kept columns, the absent ones of the heading of stats/irrepresentable.py that go with each."""
        link = as_link(self.model.link)
        curvature = self.weight * link.curvature(self.margin, link.theta(self.margin, self.y), self.y)
        lost = irrepresentable(self.X, curvature, self.beta, self.prior) >= 1.0
        alike = np.abs(correlations(self.X, curvature, np.asarray(columns))) * lost[:, None]
        features = []
        for k in range(len(columns)):
            order = np.argsort(-alike[:, k], kind="stable")[:STAND_INS]
            features.append(tuple(str(self.model.feature_names[j]) for j in order if alike[j, k] >= ALIKE))
        return features

    @cached_property
    def posterior(self) -> Posterior:
        self.check_smooth()
        return Posterior.at(self.X, self.y, self.margin, self.weight, self.prior.l2, self.model.link)

    def check_smooth(self) -> None:
        if self.prior.l1.any() or np.isfinite(self.prior.lower).any() or np.isfinite(self.prior.upper).any():
            raise InputError("intervals come from the curvature of a Gaussian prior; ask a sparse model for its halves")

    def deviation(self, column: int) -> float:
        """Of the model's weight of a column, by the posterior."""
        return self.slope * float(self.posterior.coefficient_variance(column) ** 0.5)

    def stability(self, halves: int, seed: int | None, n_jobs: int | None) -> Stability:
        """How often each of the model's features stays."""
        self.check_alike()
        settings = settings_of(self.model)
        return stability(
            self.X, self.y, as_prior(settings.prior), float(self.model.fits.variance[self.row]), link=self.model.link,
            intercept_variance=settings.intercept_variance, halves=halves, tol=settings.tol, seed=seed,
            start=self.beta, n_jobs=n_jobs,
        )  # fmt: skip


class JointData(CategoryData):
    """A class of a softmax: y (n,) holds class numbers, prior and raw weights are those of all classes, (K, d+1)."""

    @classmethod
    def of(
        cls, model: LinearModel, row: int, X: sp.csr_matrix, labels: Sequence[tuple[Hashable, ...]], documents: Any
    ) -> Self:
        member = membership(labels, model.classes)
        if not (member.sum(axis=1) == 1).all():
            raise InputError("every training document of exclusive classes has exactly one label; some have another")
        weight = document_weights(model, row, labels, None, settings_of(model))
        return cls(model, row, X, np.argmax(member, axis=1), weight, documents)

    @cached_property
    def prior(self) -> PriorArrays:
        rows = [self.prior_of_row(k) for k in range(len(self.model.classes))]
        arrays = PriorArrays(*(np.array(part) for part in zip(*rows, strict=True)))
        reference = settings_of(self.model).reference_class
        if reference is not None:
            for part in (arrays.mode, arrays.lower, arrays.upper):
                part[self.model.classes.index(reference)] = 0.0
        return arrays

    @cached_property
    def beta(self) -> np.ndarray:
        return self.raw(list(range(len(self.model.classes))))

    @cached_property
    def proba(self) -> np.ndarray:
        """(n, K) as they were fitted."""
        return np.asarray(softmax(self.X @ self.beta[:, :-1].T + self.beta[:, -1]))

    def check(self) -> None:
        pull = self.weight[:, None] * (self.proba - (self.y[:, None] == np.arange(self.proba.shape[1])))
        self.check_gradient(_products(self.X, pull), _products(abs(self.X), np.abs(pull)))

    def stand_ins(self, columns: Sequence[int]) -> list[tuple[str, ...]]:
        """None is looked for: the condition is one of a category fitted by itself."""
        return [() for _ in columns]

    @cached_property
    def posterior(self) -> Posterior:
        self.check_smooth()
        return SoftmaxPosterior(self.X, self.weight, self.prior.l2.ravel(), self.model.link, self.proba)

    def deviation(self, column: int) -> float:
        place = self.row * self.beta.shape[1] + column
        return self.slope * float(self.posterior.coefficient_variance(place) ** 0.5)

    def stability(self, halves: int, seed: int | None, n_jobs: int | None) -> Stability:
        from lapwing.solvers import multinomial
        from lapwing.solvers.problem import Problem

        self.check_alike()
        problem, tol = Problem(self.X), settings_of(self.model).tol

        def kept(weight: np.ndarray) -> np.ndarray:
            fit = multinomial.fit(problem, self.y, weight, self.prior, tol=tol, start=self.beta)
            return np.flatnonzero(fit.weights[self.row, :-1])

        return stability_of(kept, self.X.shape[1], self.y, halves=halves, seed=seed, n_jobs=n_jobs)


class SearchedData(CategoryData):
    """A category of a model of n-grams of any length: its columns are those that were chosen."""

    def stand_ins(self, columns: Sequence[int]) -> list[tuple[str, ...]]:
        """None is looked for: those in the same documents share the column already."""
        return [() for _ in columns]

    def stability(self, halves: int, seed: int | None, n_jobs: int | None) -> Stability:
        """Of every half its own search; shares are of the model's n-grams, the bound is over all there are."""
        from lapwing.ngrams.solver import exact
        from lapwing.training import make_space

        self.check_alike()
        if sp.issparse(self.documents) or isinstance(self.documents, np.ndarray):
            raise InputError(
                "every half searches n-grams of its own in the texts, and these are vectors; give the texts"
            )
        settings, texts = settings_of(self.model), list(self.documents)
        n = len(texts)
        corpus = Corpus("halves", "text", texts, [()] * n, [""] * n, False, [""] * n, self.weight)
        space = make_space(corpus, settings)
        variance = float(self.model.fits.variance[self.row])

        def kept(weight: np.ndarray) -> np.ndarray:
            return exact(
                space, self.y, weight, variance=variance, intercept_variance=settings.intercept_variance,
                tol=settings.tol, max_iter=settings.max_iter, link=settings.link,
            ).kept  # fmt: skip

        stability = stability_of(kept, len(space.node), self.y, halves=halves, seed=seed, n_jobs=n_jobs)
        often = np.flatnonzero(stability.share)
        share = dict(zip(space.names(often), stability.share[often].tolist(), strict=True))
        own = np.array([share.get(name, 0.0) for name in self.model.feature_names])
        return Stability(own, stability.kept, stability.halves, len(space.node))


def _products(X: sp.csr_matrix, pull: np.ndarray) -> np.ndarray:
    """Xᵀ pull with the sum of `pull` last: (d+1,), or (K, d+1) of (n, K)."""
    if pull.ndim == 1:
        return np.append(X.T @ pull, pull.sum())
    return np.column_stack([(X.T @ pull).T, pull.sum(axis=0)])
