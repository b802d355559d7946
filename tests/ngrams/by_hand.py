"""Small corpora, and all their n-grams one by one: what the tree, the search and the solvers are held against."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

WORDS = ("a", "b", "the", "cc")


@st.composite
def corpora(draw: st.DrawFn, least: int = 1) -> list[str]:
    """Documents of few words, so that n-grams repeat within and between them; some are empty."""
    words = st.sampled_from(WORDS[: draw(st.integers(1, len(WORDS)))])
    return [" ".join(d) for d in draw(st.lists(st.lists(words, max_size=9), min_size=least, max_size=8))]


def enumerate_ngrams(
    documents: list[str],
    *,
    chars: bool = False,
    max_length: int | None = None,
    min_support: int = 1,
    stop: frozenset[str] = frozenset(),
) -> dict[tuple[str, ...], frozenset[int]]:
    """n-gram → the documents it is in."""
    where: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for i, document in enumerate(documents):
        stretches: list[list[str]] = [[]]
        for token in document if chars else document.split():
            if token in stop:
                stretches.append([])
            else:
                stretches[-1].append(token)
        for tokens in stretches:
            for a in range(len(tokens)):
                for b in range(a + 1, min(len(tokens), a + (max_length or len(tokens))) + 1):
                    where[tuple(tokens[a:b])].add(i)
    return {ngram: frozenset(rows) for ngram, rows in where.items() if len(rows) >= min_support}


def explicit_matrix(result: dict[tuple[str, ...], frozenset[int]], n: int) -> sp.csr_matrix:
    """(documents, n-grams) as a matrix, an n-gram per column, those in the same documents too."""
    matrix = np.zeros((n, len(result)))
    for j, rows in enumerate(result.values()):
        matrix[list(rows), j] = 1.0
    return sp.csr_matrix(matrix)
