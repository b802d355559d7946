"""Which documents are held out together: by chance within labels, by groups that stay together, or by time.

Chance goes by what a document holds, not by where it stands: equal documents are held out together, so that none is
judged by a fit to its twin; a document of weight 2 is one that stands twice; and order changes nothing. Documents that
hold nothing (key 0) are no twins: a fit can remember nothing of them. Only where a category chooses for itself and
neither groups nor time are given, chance is GLM07's: `shuffled`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from lapwing.corpus.moments import moments
from lapwing.errors import InputError
from lapwing.shards.sums import row_products


class Folds(NamedTuple):
    """fold (n,): the portion a document is held out in, -1 where it never is; forward: fits see earlier ones only."""

    fold: np.ndarray
    portions: int
    forward: bool = False

    def training(self, k: int, weight: np.ndarray) -> np.ndarray:
        """Weights of the documents to fit with while portion k is held out."""
        return np.where(self.fold < k if self.forward else self.fold != k, weight, 0.0)

    def turns(self, count: int) -> Folds:
        """So many portions held out: the first, or, where fits see earlier documents only, those with the most before
        them."""
        if self.forward:
            return Folds(np.maximum(self.fold - max(self.portions - count, 0), -1), min(count, self.portions), True)
        return Folds(np.where(self.fold < count, self.fold, -1), min(count, self.portions))

    @classmethod
    def none(cls, n: int) -> Folds:
        """One fit to all documents: others decide."""
        return cls(np.full(n, -1), 1)

    @property
    def held_out(self) -> np.ndarray:
        """(n,) whether a document is held out at all."""
        return self.fold >= 0


class Dealing(NamedTuple):
    """By what documents are held out together: where `times` are given by these, else by keys and groups.

    keys     (n,) numbers of what the documents hold; None where times are given
    groups   (n,) names, or None
    times    (n,) whatever sorts, or None
    """

    keys: np.ndarray | None
    groups: Any = None
    times: Any = None

    def folds(self, member: sp.csc_matrix, weight: np.ndarray, count: int) -> Folds:
        """Portions of the documents, whose labels are `member` (n, classes)."""
        if self.times is not None:
            return by_time(self.times, weight, count)
        assert self.keys is not None
        return deal(member, weight, self.keys, count, self.groups)

    def folds_by(self, y: np.ndarray, weight: np.ndarray, count: int) -> Folds:
        """The same by one label for every document."""
        labels, place = np.unique(y, return_inverse=True)
        ones = np.ones(len(y))
        member = sp.csc_matrix((ones, (np.arange(len(y)), place.ravel())), shape=(len(y), len(labels)))
        return self.folds(member, weight, count)


def shuffled(y: np.ndarray, count: int, seed: np.random.SeedSequence) -> Folds:
    """Those of each label (positives first) shuffled and dealt out in turn, each document by itself."""
    rng = np.random.default_rng(seed)
    fold = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y)[::-1]:
        rows = rng.permutation(np.flatnonzero(y == label))
        fold[rows] = np.arange(len(rows)) % count
    return Folds(fold, count)


def matrix_keys(X: sp.csr_matrix, seed: np.random.SeedSequence) -> np.ndarray:
    """A number for every row, drawn by what it holds: equal rows have equal ones, to the bit; rows of zeros have 0."""
    return row_products(X, np.random.default_rng(seed).standard_normal(X.shape[1]))


def text_keys(texts: Iterable[str], seed: np.random.SeedSequence) -> np.ndarray:
    """The same for texts."""
    salt = seed.generate_state(2).tobytes()
    digests = (hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8, salt=salt) for text in texts)
    return np.array([int.from_bytes(one.digest(), "little") for one in digests], dtype=np.uint64)


def deal(member: sp.csc_matrix, weight: np.ndarray, keys: np.ndarray, count: int, groups: Any = None) -> Folds:
    """Portions in which every label stands about equally often.

    A document counts for the rarest of its labels; those that count for one are put in the order of their keys and
    dealt out in turn, beginning where the last label left off. Documents of one group go together, for the rarest
    label of any of them; so do documents with one key, but 0, and groups that share one. An empty group is none. What
    has no weight is never held out.

    member (n, classes) 0/1; weight, keys (n,); groups (n,) or None
    """
    present, same = np.flatnonzero(weight > 0.0), _numbers(keys, len(weight))
    same = np.where(keys == 0, len(same) + np.arange(len(same)), same)
    unit_of = (same if groups is None else _joined(same, groups))[present]
    names, unit = np.unique(unit_of, return_inverse=True)
    count = min(count, len(names))
    if count < 2:
        raise InputError(f"cross-validation needs two or more different {'documents' if groups is None else 'groups'}")
    rank = np.empty(member.shape[1], dtype=np.int64)  # 0 for the rarest label
    rank[np.argsort(weight @ member, kind="stable")] = np.arange(len(rank))
    stratum = np.full(len(weight), len(rank))  # of those without a label
    np.minimum.at(stratum, member.indices, rank[np.repeat(np.arange(len(rank)), np.diff(member.indptr))])
    of_unit, key_of_unit = np.full(len(names), len(rank)), np.full(len(names), keys.max())
    np.minimum.at(of_unit, unit, stratum[present])
    np.minimum.at(key_of_unit, unit, keys[present])
    portion = np.empty(len(names), dtype=np.int64)
    portion[np.lexsort((key_of_unit, of_unit))] = np.arange(len(names)) % count
    fold = np.full(len(weight), -1)
    fold[present] = portion[unit]
    return Folds(fold, count)


def _joined(keys: np.ndarray, groups: Any) -> np.ndarray:
    """A number for every document, the same for those of one key or of one group, and so on from these."""
    n = len(keys)
    group, key = _numbers([one if _is_named(one) else f"\0{i}" for i, one in enumerate(groups)], n), _numbers(keys, n)
    ends = (np.tile(np.arange(n), 2), np.concatenate([n + key, 2 * n + group]))  # documents, keys and groups are nodes
    graph = sp.coo_matrix((np.ones(2 * n, dtype=bool), ends), shape=(3 * n, 3 * n))
    return connected_components(graph, directed=False)[1][:n]


def _is_named(group: Any) -> bool:
    return group is not None and group != "" and group == group  # NaN is not itself


def by_time(times: Any, weight: np.ndarray, count: int) -> Folds:
    """The documents in order of time, cut into count + 1 portions: each but the first is held out from fits to all
    earlier ones. Documents of one moment stay together; moments given as strings are dates (corpus/moments.py)."""
    if not all(map(_is_named, times)):
        raise InputError("folds by time need a time for every document; some have none")
    moment = _numbers(moments(times)[0] if all(isinstance(one, str) for one in times) else times, len(weight))
    earlier = np.concatenate([[0.0], np.cumsum(np.bincount(moment, weights=weight))])[moment]
    fold = np.minimum((earlier * (count + 1) / weight.sum()).astype(np.int64), count) - 1
    if len(np.unique(fold)) < 2:
        raise InputError("folds by time need documents of two or more moments")
    return Folds(fold, count, forward=True)


def _numbers(values: Any, n: int) -> np.ndarray:
    if len(values) != n:
        raise InputError(f"expected one group or moment for each of {n} documents, got {len(values)}")
    return np.unique(np.asarray(values), return_inverse=True)[1].ravel()
