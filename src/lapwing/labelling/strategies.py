"""Which documents to ask about next.

With p_k(x) the probability of category k and x the document as a vector:

    uncertainty   where the model is least sure: of exclusive classes the least lead of the most probable over the next,
                  of label sets the p_k nearest to ½ (Lewis and Gale 1994)
    change        where an answer would change the model most: the expected length of the loss's gradient,
                  Σ_k 2 p_k (1−p_k) · ‖x‖ (Settles and Craven 2008)
    diverse       as uncertainty, but no two alike in a batch: each next document's uncertainty counts as much as it
                  differs from those before, 1 − cosine
    probable      the most probable members first, for categories so rare that chance would not find them
    random        the control
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from lapwing.errors import SettingsError

AMONG = 20  # documents per one wanted from which a diverse batch is put together


def uncertainty(proba: np.ndarray, exclusive: bool) -> np.ndarray:
    """(n,) 1 where the model knows nothing, 0 where it is certain."""
    if exclusive and proba.shape[1] > 1:
        top = np.sort(proba, axis=1)
        return np.asarray(1.0 - (top[:, -1] - top[:, -2]))
    return np.asarray((1.0 - np.abs(2.0 * proba - 1.0)).max(axis=1))


def _uncertain(proba: np.ndarray, X: sp.csr_matrix, exclusive: bool, chance: np.ndarray) -> np.ndarray:
    return uncertainty(proba, exclusive)


def _change(proba: np.ndarray, X: sp.csr_matrix, exclusive: bool, chance: np.ndarray) -> np.ndarray:
    norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return np.asarray((2.0 * proba * (1.0 - proba)).sum(axis=1) * norm)


def _probable(proba: np.ndarray, X: sp.csr_matrix, exclusive: bool, chance: np.ndarray) -> np.ndarray:
    """Rare categories count as much as frequent ones: by rank within each."""
    ranks = np.argsort(np.argsort(-proba, axis=0, kind="stable"), axis=0, kind="stable")
    return np.asarray(-ranks.min(axis=1), dtype=np.float64)


def _random(proba: np.ndarray, X: sp.csr_matrix, exclusive: bool, chance: np.ndarray) -> np.ndarray:
    return chance


Score = Callable[[np.ndarray, sp.csr_matrix, bool, np.ndarray], np.ndarray]
STRATEGIES: dict[str, Score] = {
    "uncertainty": _uncertain,
    "change": _change,
    "diverse": _uncertain,
    "probable": _probable,
    "random": _random,
}


def next_documents(
    strategy: str, proba: np.ndarray, X: sp.csr_matrix, count: int, *, exclusive: bool, seed: int = 0
) -> list[int]:
    """The rows to ask about next, best first.

    proba (n, categories) and X (n, d) of documents that are not labelled yet; ties are broken by chance.
    """
    if strategy not in STRATEGIES:
        raise SettingsError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    chance = np.random.default_rng(seed).random(X.shape[0])
    scores = STRATEGIES[strategy](proba, X, exclusive, chance)
    order = np.lexsort((chance, -scores))
    if strategy != "diverse":
        return [int(i) for i in order[:count]]
    return _apart(order[: AMONG * count], scores, X, count)


def _apart(among: np.ndarray, scores: np.ndarray, X: sp.csr_matrix, count: int) -> list[int]:
    rows = X[among]
    norm = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = sp.diags(1.0 / np.where(norm > 0.0, norm, 1.0)) @ rows
    alike, chosen = np.zeros(len(among)), list[int]()
    worth = scores[among] + 1e-9
    for _ in range(min(count, len(among))):
        gain = worth * (1.0 - alike)
        gain[chosen] = -1.0
        best = int(np.argmax(gain))
        chosen.append(best)
        alike = np.maximum(alike, np.asarray((rows @ rows[[best]].T).todense()).ravel())
    return [int(among[i]) for i in chosen]
