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
from typing import Any

import numpy as np

from lapwing.errors import InputError
from lapwing.model.html import shown, table
from lapwing.model.linear import as_model
from lapwing.stats.links import as_link
from lapwing.stats.posterior import mean_probability, quantile
from lapwing.training.certainty import data_of

SURE = 0.9  # share of the halves from which a word counts as one that stays


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
        instead = any(one.stand_ins for one in self.words)
        head += ["could stand in for it"] if instead else []
        rows = []
        for one in self.words:
            row = [shown(one.feature), f"{one.weight:+.3f}", "" if one.documents is None else f"{one.documents:,}"]
            row += [f"{one.interval[0]:+.3f} to {one.interval[1]:+.3f}"] if one.interval is not None else []
            row += [f"{100 * one.share:.0f} %"] if one.share is not None else []
            row += [shown(", ".join(one.stand_ins))] if instead else []
            rows.append(tuple(row))
        return f"<div><p>{shown(self.category)}</p>{table(tuple(head), rows)}</div>"


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
    row = model.row_of(category)
    pairs = model.row_features(row, top)
    column = {name: j for j, name in enumerate(model.feature_names)}
    text = model.weighting
    seen = [] if text is None else text.document_frequency[text.columns].tolist()  # of columns beside it none is kept
    counts = {name: seen[column[name]] if column[name] < len(seen) else None for name, _ in pairs}
    if documents is None or labels is None:
        words = [WeightSummary(name, weight, counts[name]) for name, weight in pairs]
        return Summary(model.categories[row], tuple(words))
    data = data_of(model, model.categories[row], documents, labels)
    counts = {name: int(np.count_nonzero(data.X[:, [column[name]]].toarray())) for name, _ in pairs}
    if not data.prior.l1.any():
        reach = quantile(level)
        words = []
        for name, weight in pairs:
            half = reach * data.deviation(column[name])
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

    The probability is that of the category on its own (`category_proba`), be classes exclusive or not.

    documents, labels   those the model was fitted to, under a Gaussian prior
    """
    model = as_model(model)
    if model.link == "softmax":
        raise InputError("a probability has an interval where its category was fitted by itself, and not by a softmax")
    data = data_of(model, category, documents, labels)
    matrix = model.vectors(new)
    score = model.scores(matrix)[:, data.row]
    variance = data.slope**2 * data.posterior.score_variances(matrix)
    reach = quantile(level) * np.sqrt(variance)
    ends = [as_link(model.link).probability(score + side * reach) for side in (-1.0, 1.0)]
    return np.column_stack([mean_probability(score, variance, model.link), *ends])
