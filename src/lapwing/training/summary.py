"""What a model knows of a category's words, and how sure it is of each.

Given the documents it was trained on, a fit under a Gaussian prior says between which values a weight lies with a
probability of 95 % (stats/posterior.py), and one under a sparse prior in how many halves of the data a word stays
(selection/stability.py) and which absent words could stand in for it (stats/irrepresentable.py). All are worked out
when they are asked for, of the words that are shown: a model need not carry what few of its readers will look at, and
models that exist already can be asked too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.evaluate import membership
from lapwing.model import LinearModel
from lapwing.model.html import shown, table
from lapwing.model.linear import as_model
from lapwing.selection.stability import Stability, stability
from lapwing.stats.irrepresentable import correlations, irrepresentable
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays, kkt_violation
from lapwing.stats.posterior import Posterior, mean_probability, quantile
from lapwing.stats.priors import as_prior
from lapwing.training.again import document_weights, prior_of, settings_of

ALIKE = 0.5  # correlation from which an absent word could stand in for one that is kept,
STAND_INS = 3  # of which so many are named
SURE = 0.9  # share of the halves from which a word counts as one that stays
FITTED = 0.02  # gradient, relative to the sum of its terms' sizes, up to which documents are those of the fit


@dataclass(frozen=True)
class WeightSummary:
    """One word: its weight and its training documents; the weight's interval, or the share of halves it stays in.

    stand_ins   absent words, most alike first, that the fit could not have told from it and others
    """

    feature: str
    weight: float
    documents: int | None
    interval: tuple[float, float] | None = None
    share: float | None = None
    stand_ins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """A category's words, largest weights first.

    level      the probability of the intervals
    halves     how many halves of the data were fitted, keeping `kept` words each on average; of words that stay in a
               share of SURE or more, at most `expected_false` are expected to be there by chance
    """

    category: Hashable
    words: tuple[WeightSummary, ...]
    level: float | None = None
    halves: int | None = None
    kept: float | None = None
    expected_false: float | None = None

    def _repr_html_(self) -> str:
        head = ["word", "weight", "documents"]
        head += [f"{100 * self.level:g} % interval"] if self.level is not None else []
        head += [f"of {self.halves} halves"] if self.halves is not None else []
        rows = []
        for one in self.words:
            row = [shown(one.feature), f"{one.weight:+.3f}", "" if one.documents is None else f"{one.documents:,}"]
            row += [f"{one.interval[0]:+.3f} to {one.interval[1]:+.3f}"] if one.interval is not None else []
            row += [f"{100 * one.share:.0f} %"] if one.share is not None else []
            rows.append(tuple(row))
        return f"<div><p>{shown(self.category)}</p>{table(tuple(head), rows)}</div>"


@dataclass(frozen=True, eq=False)
class CategoryData:
    """One category of a model with the documents it was fitted to: X (n, d), labels ±1, document weights.

    Raw weights are those that were fitted; where scores were calibrated afterwards a slope lies between.
    """

    model: LinearModel
    row: int
    X: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(
        cls, model: LinearModel, category: Hashable | None, documents: Any, labels: Sequence[tuple[Hashable, ...]]
    ) -> CategoryData:
        if model.link == "softmax":
            raise InputError("classes fitted together by a softmax have neither intervals nor halves of their own")
        if model.weighting is not None and model.weighting.settings.ngrams:
            raise InputError("a model of n-grams of any length has only those that it chose; halves would have others")
        row = row_of(model, category)
        X = model.vectors(documents)
        if X.shape[0] != len(labels):
            raise InputError(f"expected labels for {X.shape[0]} documents, got {len(labels)}")
        y = np.where(membership(labels, [model.categories[row]])[:, 0], 1.0, -1.0)
        data = cls(model, row, X, y, document_weights(model, row, labels, None, settings_of(model)))
        data.check()
        return data

    @cached_property
    def prior(self) -> PriorArrays:
        settings = settings_of(self.model)
        prior = prior_of(self.model, self.row, settings)
        variance = float(self.model.fits.variance[self.row])
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
        source = getattr(self.model, "calibration", None) or self.model
        return np.append(source.weights[[self.row]].toarray()[0], source.intercepts[self.row])

    @cached_property
    def margin(self) -> np.ndarray:
        return np.asarray(self.y * (self.X @ self.beta[:-1] + self.beta[-1]))

    def check(self) -> None:
        """Documents and settings are those of the fit if the objective's gradient vanishes there."""
        pull = self.weight * as_link(self.model.link).theta(self.margin, self.y)
        size = np.append(abs(self.X).T @ pull, pull.sum())
        gradient = -np.append(self.X.T @ (pull * self.y), (pull * self.y).sum())
        wrong = kkt_violation(self.prior, self.beta, gradient)
        if not np.linalg.norm(wrong) <= FITTED * max(float(np.linalg.norm(size)), 1e-300):
            raise InputError(
                "these are not the documents that the model was fitted to, or it was fitted in a way that it does not "
                "tell (standardized features, weights of documents); give just those it was trained on"
            )

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
        if self.prior.l1.any() or np.isfinite(self.prior.lower).any() or np.isfinite(self.prior.upper).any():
            raise InputError("intervals come from the curvature of a Gaussian prior; ask a sparse model for its halves")
        return Posterior.at(self.X, self.y, self.margin, self.weight, self.prior.l2, self.model.link)

    def stability(self, halves: int, seed: int | None, n_jobs: int | None) -> Stability:
        settings = settings_of(self.model)
        if not np.all(self.weight == 1.0):
            raise InputError("halves of the data are of documents that weigh alike, and here class weights differ")
        return stability(
            self.X, self.y, as_prior(settings.prior), float(self.model.fits.variance[self.row]), link=self.model.link,
            intercept_variance=settings.intercept_variance, halves=halves, tol=settings.tol, seed=seed,
            start=self.beta, n_jobs=n_jobs,
        )  # fmt: skip


def summary(
    model: Any,
    category: Hashable | None = None,
    documents: Any = None,
    labels: Sequence[tuple[Hashable, ...]] | None = None,
    *,
    top: int | None = 20,
    level: float = 0.95,
    halves: int = 100,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> Summary:
    """The strongest words of a category; with the documents it was fitted to and their labels, how sure each is.

    labels   a tuple of labels for every document
    halves   of the data to be fitted, where the prior is a sparse one; 0 for none
    """
    model = as_model(model)
    row = row_of(model, category)
    pairs = model.row_features(row, top)
    column = {name: j for j, name in enumerate(model.feature_names)}
    text = model.weighting
    seen = [] if text is None else text.document_frequency[text.columns].tolist()  # of columns beside it none is kept
    counts = {name: seen[column[name]] if column[name] < len(seen) else None for name, _ in pairs}
    if documents is None or labels is None:
        words = [WeightSummary(name, weight, counts[name]) for name, weight in pairs]
        return Summary(model.categories[row], tuple(words))
    data = CategoryData.of(model, model.categories[row], documents, labels)
    counts = {name: int(np.count_nonzero(data.X[:, [column[name]]].toarray())) for name, _ in pairs}
    if not data.prior.l1.any():
        reach = quantile(level)
        words = []
        for name, weight in pairs:
            half = reach * data.slope * data.posterior.coefficient_variance(column[name]) ** 0.5
            words.append(WeightSummary(name, weight, counts[name], (weight - half, weight + half)))
        return Summary(model.categories[row], tuple(words), level)
    instead = dict(zip(counts, data.stand_ins([column[name] for name in counts]), strict=True))
    words = [WeightSummary(name, weight, counts[name], stand_ins=instead[name]) for name, weight in pairs]
    if not halves:
        return Summary(model.categories[row], tuple(words))
    stable = data.stability(halves, random_state, n_jobs)
    words = [replace(one, share=float(stable.share[column[one.feature]])) for one in words]
    bound = stable.expected_false(SURE)
    return Summary(model.categories[row], tuple(words), halves=stable.halves, kept=stable.kept, expected_false=bound)


def probability_interval(
    model: Any,
    category: Hashable | None,
    documents: Any,
    labels: Sequence[tuple[Hashable, ...]],
    new: Any,
    *,
    level: float = 0.95,
) -> np.ndarray:
    """(n, 3): of new documents the posterior predictive probability of the category, and the ends of its interval.

    documents, labels   those the model was fitted to, under a Gaussian prior
    """
    model = as_model(model)
    data = CategoryData.of(model, category, documents, labels)
    matrix = model.vectors(new)
    score = model.scores(matrix)[:, data.row]
    variance = data.slope**2 * data.posterior.score_variances(matrix)
    reach = quantile(level) * np.sqrt(variance)
    ends = [as_link(model.link).probability(score + side * reach) for side in (-1.0, 1.0)]
    return np.column_stack([mean_probability(score, variance, model.link), *ends])


def row_of(model: LinearModel, category: Hashable | None) -> int:
    if category is None and len(model.categories) == 1:
        return 0
    if category not in model.categories:
        raise InputError(f"category must be one of the model's, such as {model.categories[0]!r}, got {category!r}")
    return model.categories.index(category)
