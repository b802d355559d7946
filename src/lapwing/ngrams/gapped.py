"""n-grams with gaps, `harvest * wheat`: the space of all of them.

A * is one token, whichever; up to `max_gap` of them stand between a token of an n-gram and the next (SEQL 2.0). They
count in its length. Unlike n-grams without gaps, of which there are never more than tokens squared, these grow as a
power of their length: the space is bounded by a longest n-gram, and leaves out what single documents have for
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from lapwing.errors import InputError
from lapwing.ngrams.space import SPELLED_OUT, NgramSpace
from lapwing.text.matching import GAP
from lapwing.text.sequences import sequences
from lapwing.text.settings import TextSettings


@dataclass(frozen=True, eq=False)
class GappedSpace(NgramSpace):
    """A space whose `_shortest_at` and `_longest_at` are nodes, spelled by their way from the root.

    parent, code   of every node: the n-gram that it goes on from, and gap × number of terms + token
    """

    parent: np.ndarray
    code: np.ndarray

    def _spelled(self, at: np.ndarray, lengths: np.ndarray) -> list[str]:
        return [self.settings.joint.join(self._tokens(node)[:SPELLED_OUT]) for node in at.tolist()]

    def _tokens(self, node: int) -> list[str]:
        terms, parts = self.tokens.terms, []
        while node:
            gap, term = divmod(int(self.code[node]), len(terms))
            parts.append([GAP] * gap + [terms[term]])
            node = int(self.parent[node])
        return [token for part in reversed(parts) for token in part]


def gapped_space(
    documents: Iterable[str],
    settings: TextSettings,
    *,
    max_length: int,
    min_support: int,
    progress: Callable[[int], None] | None = None,
) -> GappedSpace:
    """All n-grams of `documents` with gaps of up to `settings.max_gap` tokens."""
    from lapwing.kernels import gapped as kernels

    tokens = sequences(documents, settings, progress=progress)
    if GAP in tokens.terms:
        raise InputError(
            f"a token is {GAP!r}, which stands for a gap; write it otherwise, or take n-grams without gaps"
        )
    numbers, starts = tokens.numbers, tokens.starts
    document = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    stops = np.concatenate([np.flatnonzero(numbers < 0), starts[1:]])
    stops.sort()
    end = stops[np.searchsorted(stops, np.arange(len(numbers)), side="right")] if len(numbers) else stops[:0]
    key = np.random.default_rng(0).integers(0, 2**64, len(starts) - 1, dtype=np.uint64)
    left, right, doc_at, parent, code, length, depth, keys = kernels.tree(
        numbers, document, end, key, len(tokens.terms), min_support, max_length, settings.max_gap
    )
    if len(left) == 1:
        raise InputError(
            f"no n-gram is left of {len(starts) - 1} documents with {len(tokens.terms)} distinct tokens; lower "
            "min_support, or check the stop list"
        )
    docs = right - left
    # Nodes in the same documents are one class, named by the shortest, the first among equals.
    order = np.lexsort((length, docs, keys))[0:]
    order = order[order > 0]
    new = np.concatenate([[True], (np.diff(keys[order]) != 0) | (np.diff(docs[order]) != 0)])
    number = np.cumsum(new) - 1
    class_of = np.full(len(left), -1, np.int32)
    class_of[order] = number
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(order)) - 1
    shortest, longest = order[first], order[last]
    return GappedSpace(
        settings, tokens, left.astype(np.int32), right.astype(np.int32), kernels.ends(depth), class_of, doc_at,
        node=shortest.astype(np.int32), docs=docs[shortest].astype(np.int32), shortest=length[shortest],
        longest=length[longest], members=np.diff(np.append(first, len(order))), _shortest_at=shortest,
        _longest_at=longest, parent=parent, code=code,
    )  # fmt: skip
