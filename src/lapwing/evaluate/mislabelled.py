"""Labels that look wrong, by probabilities that did not learn from them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np


def look_mislabelled(proba: np.ndarray, truth: np.ndarray) -> list[tuple[int, int]]:
    """(document, category) whose label the probabilities speak against, by confident learning (Northcutt, Jiang and
    Chuang 2021), each category by itself. With the means over those labelled with the category, and not,

        t₁ = mean of p where labelled,   t₀ = mean of p where not,

    a document not labelled with p ≥ max(t₁, ½) looks like a member, and one labelled with p ≤ t₀ like none. The surest
    first. Documents of which a probability is NaN are left out.

    proba, truth   (documents, categories)
    """
    return [(i, k) for _, _, i, k in sorted(ranked_suspects(proba, truth), key=lambda one: (-one[1], *one[2:]))]


def ranked_suspects(proba: np.ndarray, truth: np.ndarray) -> Iterator[tuple[int, float, int, int]]:
    """(0, loss, document, category) of the same, category by category."""
    for k in range(proba.shape[1]):
        known = np.flatnonzero(~np.isnan(proba[:, k]))
        p, inside = proba[known, k], truth[known, k]
        if not inside.any() or inside.all():
            continue
        member, other = float(p[inside].mean()), float(p[~inside].mean())
        if member <= other:
            continue
        strange = np.flatnonzero(np.where(inside, p <= other, p >= max(member, 0.5)))
        loss = surprise(p[strange], inside[strange])
        yield from zip(repeat(0), loss.tolist(), known[strange].tolist(), repeat(k))


def surprise(proba: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """−ln of the probability given to what is true."""
    return np.asarray(-np.log(np.maximum(np.where(truth, proba, 1.0 - proba), np.finfo(float).tiny)))
