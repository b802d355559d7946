"""Why a text got the scores it got: each score is a sum, so this is exact, not an approximation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lapwing.errors import InputError
from lapwing.model.html import explanation_html
from lapwing.model.scoring import best

if TYPE_CHECKING:
    from lapwing.model.linear import LinearModel


class Contribution(NamedTuple):
    """One feature's part in a score: value × weight, and where in the text it stands."""

    feature: str
    value: float
    weight: float
    contribution: float
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CategoryExplanation:
    """score = intercept + the contributions; strongest first."""

    category: Hashable
    score: float
    probability: float
    threshold: float | None  # of the score; None where the most probable class is taken
    chosen: bool
    intercept: float
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True)
class Explanation:
    """Categories by probability, highest first; `text` is what the spans refer to."""

    text: str
    categories: tuple[CategoryExplanation, ...]

    def _repr_html_(self) -> str:
        return explanation_html(self)


def explain_text(
    model: LinearModel, text: str, categories: Sequence[Hashable] | None, top: int | None = None
) -> Explanation:
    """All categories unless some are named, or so many of the most probable; of two exclusive
    classes that which the text is put in.

    Where one row of weights speaks for both of these, what speaks for the second speaks against the first.
    """
    if model.weighting is None:
        raise InputError("this model was trained on vectors and has no words to explain a text by")
    settings = model.weighting.settings
    (text,) = model.weighting.texts([text])
    vector = model.vectors([text], method="plain")
    scores = model.scores(vector)
    probabilities, chosen = model.class_proba(scores)[0], model.decide(scores)[0]
    shared = len(model.classes) - len(model.categories)
    text = settings.visible(text)
    spans = model.weighting.spans(text)
    values = dict(zip(vector.indices.tolist(), vector.data.tolist(), strict=True))
    places = [int(chosen.argmax())] if shared else list(range(len(model.classes)))
    if top is not None and not shared:
        places = best(probabilities[None], top)[0].tolist()
    if categories is not None:
        categories = [categories] if isinstance(categories, str) else categories
        if unknown := [c for c in categories if c not in model.classes]:
            raise InputError(f"the model has no category {unknown[0]!r}; it has {_some(model.classes)}")
        places = [model.classes.index(c) for c in categories]
    explained = []
    for k in places:
        row, sign = (k - shared, 1.0) if k >= shared else (0, -1.0)
        start, end = model.weights.indptr[row : row + 2]
        parts = []
        for j, weight in zip(model.weights.indices[start:end], model.weights.data[start:end], strict=True):
            if value := values.get(int(j), 0.0):
                name, own = model.feature_names[j], sign * float(weight)
                parts.append(Contribution(name, value, own, value * own, spans.get(name, ())))
        parts.sort(key=lambda part: (-abs(part.contribution), part.feature))
        explained.append(
            CategoryExplanation(
                category=model.classes[k],
                score=sign * float(scores[0, row]),
                probability=float(probabilities[k]),
                threshold=sign * float(model.thresholds[row]) if model.has_thresholds else None,
                chosen=bool(chosen[k]),
                intercept=sign * float(model.intercepts[row]) or 0.0,
                contributions=tuple(parts),
            )
        )
    explained.sort(key=lambda one: -one.probability)
    return Explanation(text, tuple(explained))


def _some(labels: Sequence[Hashable], limit: int = 8) -> str:
    shown = ", ".join(map(repr, labels[:limit]))
    return shown if len(labels) <= limit else f"{shown} and {len(labels) - limit} more"
