"""All n-grams of a corpus, of any length: never written down, but held as a tree over the order of suffixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.text.sequences import Sequences, sequences
from lapwing.text.settings import TextSettings

SPELLED_OUT = 40  # tokens of a longest n-gram that are noted


@dataclass(frozen=True, eq=False)
class NgramSpace:
    """The n-grams of a corpus in `min_support` documents or more, `max_length` tokens or less.

    n-grams in the same documents cannot be told apart by any fit: they are one class, one column, and its
    shortest member (the first in order among equals) names it.

    left, right, after, class_of   nodes of the tree, see kernels/ngrams.py; the root stands first
    doc_at        document of every suffix, in their order, and lists of documents: a node's are doc_at[left:right]
    node, docs    of every class: a node, and in how many documents it is
    shortest, longest, members     tokens of the shortest and of the longest n-gram, and how many there are
    """

    settings: TextSettings
    tokens: Sequences
    left: np.ndarray
    right: np.ndarray
    after: np.ndarray
    class_of: np.ndarray
    doc_at: np.ndarray
    node: np.ndarray
    docs: np.ndarray
    shortest: np.ndarray
    longest: np.ndarray
    members: np.ndarray
    _shortest_at: np.ndarray
    _longest_at: np.ndarray

    @property
    def n_documents(self) -> int:
        return len(self.tokens.starts) - 1

    @property
    def n_ngrams(self) -> int:
        return int(self.members.sum())

    def names(self, classes: np.ndarray) -> list[str]:
        """The shortest n-gram of each class."""
        return self._spelled(self._shortest_at[classes], self.shortest[classes])

    def longest_names(self, classes: np.ndarray) -> list[str]:
        """The longest n-gram of each class, the first in order among equals.

        A long one is cut: of what is in one document only, the longest n-gram is the document itself.
        """
        lengths = self.longest[classes]
        spelled = self._spelled(self._longest_at[classes], np.minimum(lengths, SPELLED_OUT))
        cut = f"{self.settings.joint}…"
        return [name + cut if n > SPELLED_OUT else name for name, n in zip(spelled, lengths.tolist(), strict=True)]

    def _spelled(self, at: np.ndarray, lengths: np.ndarray) -> list[str]:
        terms, numbers, blank = self.tokens.terms, self.tokens.numbers, self.settings.joint
        return [
            blank.join([terms[t] for t in numbers[a : a + n].tolist()])
            for a, n in zip(at.tolist(), lengths.tolist(), strict=True)
        ]

    def columns(self, classes: np.ndarray) -> sp.csc_matrix:
        """(documents, classes) 1.0 where the document has the n-grams of the class."""
        nodes = self.node[classes]
        lengths = self.right[nodes] - self.left[nodes]
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        places = np.repeat(self.left[nodes] - indptr[:-1], lengths) + np.arange(indptr[-1])
        matrix = sp.csc_matrix(
            (np.ones(len(places)), self.doc_at[places], indptr), shape=(self.n_documents, len(nodes))
        )
        matrix.sort_indices()
        return matrix

    def read(self, documents: Iterable[str]) -> Sequences:
        """Other documents, read as those of the space were."""
        return sequences(documents, self.settings)

    def unigrams(self, min_support: int) -> sp.csr_matrix:
        """(documents, terms) 1.0 where the document has the term; terms in `min_support` documents or more."""
        return unigrams(self.tokens, min_support)


def unigrams(tokens: Sequences, min_support: int) -> sp.csr_matrix:
    rows = np.repeat(np.arange(len(tokens.starts) - 1), np.diff(tokens.starts))
    kept = tokens.numbers >= 0
    shape = (len(tokens.starts) - 1, len(tokens.terms))
    matrix = sp.csr_matrix((np.ones(int(kept.sum()), np.int32), (rows[kept], tokens.numbers[kept])), shape=shape)
    matrix.sum_duplicates()
    matrix = matrix[:, np.bincount(matrix.indices, minlength=shape[1]) >= min_support].astype(np.float64)
    matrix.data[:] = 1.0
    return matrix


def ngram_space(
    documents: Iterable[str],
    settings: TextSettings,
    *,
    max_length: int | None = None,
    min_support: int = 1,
    progress: Callable[[int], None] | None = None,
) -> NgramSpace:
    """The space of all n-grams of `documents`, in memory that grows with their length only."""
    from lapwing.kernels import ngrams as kernels
    from lapwing.kernels.suffixes import common_prefixes, suffix_array

    tokens = sequences(documents, settings, progress=progress)
    n, n_tokens = len(tokens.starts) - 1, len(tokens.numbers)
    text, position, document, end = _terminated(tokens)
    if len(text) > np.iinfo(np.int32).max // 2:
        raise InputError(f"the documents have {n_tokens} tokens in all, more than the 2^30 that fit; take fewer")
    n_ends = len(text) - int((tokens.numbers >= 0).sum())
    order = suffix_array(text, n_ends + len(tokens.terms))
    common = common_prefixes(text, order)
    # The ends are smaller than any term: their suffixes come first, and are no n-grams.
    order, common = order[n_ends:], common[n_ends:]
    doc_at = document[order]
    rest = end[order] - order
    position = position[order]
    del text, order, document, end
    key = np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64)
    longest = np.iinfo(np.int32).max - 1 if max_length is None else max_length
    if len(common):
        common[0] = 0
    nodes, own = kernels.tree(common, doc_at, rest, key, max(min_support, 2), longest)
    del common, rest
    if min_support > 1:
        own[0][:] = -1
    (left, right, after, class_of), arrays, members, count = kernels.condense(*nodes, *own)
    del nodes, own
    if not count:
        raise InputError(
            f"no n-gram is left of {n} documents with {len(tokens.terms)} distinct tokens; lower min_support, "
            "check the stop list, or take tokens='char' for unspaced text"
        )
    node, docs, suffix, above, deepest, depth = (array[:count].copy() for array in arrays)
    doc_at = kernels.shorten(left[1:], right[1:], docs[class_of[1:]], doc_at, n)
    return NgramSpace(
        settings, tokens, left, right, after, class_of, doc_at, node, docs,
        shortest=above + 1, longest=depth, members=members,
        _shortest_at=position[suffix], _longest_at=position[deepest],
    )  # fmt: skip


def _terminated(tokens: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All documents as one text in which no n-gram can span two of them, nor a stop word.

    Every document's end, and every stop word, is a number of its own. Returns (text, position, document, end)
    of every number: where it stands among the tokens, in which document, and where the next end stands.
    """
    n_documents, n_tokens = len(tokens.starts) - 1, len(tokens.numbers)
    ends = tokens.starts[1:] + np.arange(n_documents)  # in a text with one number more per document
    size = n_tokens + n_documents
    text = np.full(size, -1, np.int32)
    is_token = np.ones(size, bool)
    is_token[ends] = False
    text[is_token] = tokens.numbers
    document = np.repeat(np.arange(n_documents, dtype=np.int32), np.diff(tokens.starts) + 1)
    position = np.cumsum(is_token, dtype=np.int32) - 1
    stops = np.flatnonzero(text < 0)
    text += len(stops)
    text[stops] = np.arange(len(stops), dtype=np.int32)
    end = np.repeat(stops.astype(np.int32), np.diff(np.concatenate(([-1], stops))))
    return text, position, document, end
