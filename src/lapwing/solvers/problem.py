"""What every solver is given: a matrix by rows and by columns, with features that are alike as one column."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.kernels.nouns import Matrix, Sparse
from lapwing.shards.folder import BY_VALUE
from lapwing.shards.matrix import is_stored, pointer
from lapwing.shards.sums import column_lengths, column_sums
from lapwing.stats.objective import PriorArrays


class Problem:
    """One matrix, by rows and by columns, shared by all fits against it.

    Features with identical columns (words that stand in the same documents, equally often) cannot be told
    apart by any fit. They enter as one column and share its weight equally, so the answer depends neither
    on their order nor on which of them a later document happens to have. With k alike, l1|B| is the least
    that weights of sum B can cost, and l2 (B/k)²/2 · k = (l2/k) B²/2.

    kinds   (d,) features of different kinds are kept apart, whatever their columns: their priors differ
    once    for one fit under a Gaussian prior, which gives identical columns equal weights by itself: nothing is
            prepared that pays from the second fit on
    """

    def __init__(
        self,
        X: sp.csr_matrix,
        standardize_by: np.ndarray | None = None,
        *,
        kinds: np.ndarray | None = None,
        merge: bool = True,
        once: bool = False,
    ) -> None:
        merge, self.once = merge and not once, once
        X = X if X.has_sorted_indices else X.sorted_indices()
        self.group = identical_columns(X, kinds) if merge else np.arange(X.shape[1])  # feature → column
        leads = np.diff(np.maximum.accumulate(self.group), prepend=-1) > 0
        first = np.flatnonzero(leads)
        merged = X if len(first) == X.shape[1] else _leading(X, self.group, leads)
        self.alike = np.append(np.bincount(self.group), 1)  # features per column; the intercept is alone
        self.offset, self.scale = np.append(np.zeros(len(first)), 1.0), np.ones(len(first) + 1)
        if standardize_by is not None:
            mean, sd = moments(merged, standardize_by)
            self.offset[:-1], self.scale[:-1] = -mean / sd, sd
            merged = sp.csr_matrix(
                (merged.data * (1.0 / sd)[merged.indices], merged.indices, merged.indptr), merged.shape
            )
        self.by_rows, self.entries = merged, len(merged.data)
        self.stored = merged if is_stored(merged) else None  # where it is on disk
        self.members = np.append(first, X.shape[1])
        self.n_documents = X.shape[0]

    @cached_property
    def matrix(self) -> Matrix:
        """By rows and by columns; not every solver needs both."""
        return Matrix(_columns(_by_columns(self.by_rows)), _sparse(self.by_rows), self.offset)

    def __getstate__(self) -> dict[str, Any]:
        """A matrix on disk is mapped again where the problem goes."""
        state = vars(self).copy()
        if self.stored is not None and BY_VALUE[0]:
            state["stored"] = None
        elif self.stored is not None:
            for name in (n for n, v in vars(type(self)).items() if isinstance(v, cached_property)):
                state.pop(name, None)
        return state

    @property
    def centred(self) -> bool:
        """Whether a feature has an offset: most kernels for stored entries alone then cannot be used."""
        return bool(self.offset[:-1].any())

    @cached_property
    def columns_with_constant(self) -> Sparse:
        """X by columns, the constant feature with its entries: for kernels that go by stored ones."""
        indptr, indices, data = self.matrix.columns
        ends = indptr.copy()
        ends[-1] += self.n_documents
        everyone = np.arange(self.n_documents, dtype=np.int32)
        return Sparse(ends, np.append(indices, everyone), np.append(data, np.ones(self.n_documents)))

    def _by_frequency(self) -> np.ndarray:
        """Columns by falling number of entries, the constant last."""
        lengths = column_lengths(self.by_rows)
        return np.append(np.argsort(-lengths, kind="stable"), len(lengths))

    @cached_property
    def frequent_first(self) -> tuple[np.ndarray, Sparse, np.ndarray]:
        """(columns by falling number of entries, X by rows with its columns under these numbers, their offsets).

        What most documents ask for then lies together in the cache.
        """
        order = self._by_frequency()
        number = np.empty(len(order), np.int32)
        number[order] = np.arange(len(order))
        indptr, indices, data = _sparse(self.by_rows)
        return order, Sparse(indptr, number[indices], data), self.offset[order]

    @cached_property
    def frequent_first_with_constant(self) -> tuple[np.ndarray, Sparse, np.ndarray]:
        """The same, the constant feature with its entries."""
        if self.stored is not None:
            order = self._by_frequency()
            return order, self._stored_with_constant("order", order), np.append(self.offset[order][:-1], 0.0)
        order, rows, offset = self.frequent_first
        return order, _with_constant(rows, len(order) - 1), np.append(offset[:-1], 0.0)

    @cached_property
    def rows_with_constant(self) -> Sparse:
        """X by rows, its columns as they are, the constant feature with its entries."""
        if self.stored is not None:
            return self._stored_with_constant("constant", np.arange(len(self.offset)))
        return _with_constant(_sparse(self.by_rows), len(self.offset) - 1)

    def _stored_with_constant(self, name: str, order: np.ndarray) -> Sparse:
        assert self.stored is not None
        number = np.empty(len(order) - 1, np.int32)
        number[order[:-1]] = np.arange(len(number))
        return Sparse(*self.stored.reordered(f"{self.stored.name}-{name}", number))

    @cached_property
    def gram_cost(self) -> float:
        """Products in a Gram matrix of the columns, from rows, and in its factor, where they count a fifth."""
        entries = np.diff(self.by_rows.indptr).astype(np.float64)
        return float(np.sum(entries * (entries + 1.0))) / 2.0 + len(self.offset) ** 3 / 30.0

    @cached_property
    def columns(self) -> np.ndarray:
        """(d+1, n) the columns one by one, offsets and all, the constant last."""
        columns = np.empty((len(self.offset), self.n_documents))
        columns[:-1], columns[-1] = _array(self.by_rows).T, 1.0
        if self.centred:
            columns[:-1] += self.offset[:-1, None]
        return columns

    @cached_property
    def documents(self) -> np.ndarray:
        """(n, d) the documents one by one, offsets and all."""
        rows = _array(self.by_rows)
        return rows + self.offset[:-1] if self.centred else rows

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """x_i·β + intercept of every document, from weights of features."""
        return self.column_scores(self.gather(weights))

    def column_scores(self, beta: np.ndarray) -> np.ndarray:
        """The same from weights of columns."""
        from lapwing.kernels.loss import scores

        return np.asarray(scores(self.matrix, beta))

    def merge(self, prior: PriorArrays) -> PriorArrays:
        """The prior of the columns; features that are alike must have the same one.

        Variances are those of standardised features, modes and bounds those of raw ones, as in BBR.
        """
        for array in prior:
            told_apart = np.any(array[:-1] != array[0])
            if told_apart and not np.array_equal(array[:-1], array[self.members[:-1]][self.group]):
                raise InputError("identical columns have different priors; make the problem with merge=False")
        mode, l1, l2, lower, upper = (array[self.members] for array in prior)
        factor = self.alike * self.scale
        return PriorArrays(mode * factor, l1, l2 / self.alike, lower * factor, upper * factor)

    def spread(
        self, beta: np.ndarray, prior: PriorArrays | None = None, arrays: PriorArrays | None = None
    ) -> np.ndarray:
        """Weights of columns to weights of raw features: x·(β/sd) + intercept - mean·(β/sd).

        With a `prior`, and `arrays` that it merges to: where a column is at its mode or a bound, its features are
        at theirs to the bit.
        """
        weights = np.append((beta / self.scale)[:-1] / self.alike[:-1], beta[-1])
        if prior is not None and arrays is not None:
            own = PriorArrays(*(part[self.members] for part in prior))
            for part in ("lower", "upper", "mode"):
                reached = beta == getattr(arrays, part)
                weights[reached] = getattr(own, part)[reached]
            weights = np.clip(weights, own.lower, own.upper)
        return np.append(weights[self.group], weights[-1] + self._shift(beta))

    @cached_property
    def _features(self) -> tuple[np.ndarray, np.ndarray]:
        """Features by column, and where those of a column begin."""
        return np.argsort(self.group, kind="stable").astype(np.int32), np.append(0, np.cumsum(self.alike[:-1]))

    def spread_few(self, columns: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`spread` for few columns that are neither centred nor bounded: features, rising, and their weights."""
        by_column, begin = self._features
        alike = self.alike[columns]
        first = np.repeat(begin[columns] - np.append(0, np.cumsum(alike)[:-1]), alike)
        features = by_column[first + np.arange(len(first))]
        shared = np.repeat(weights / alike, alike)
        order = np.argsort(features)
        return features[order], shared[order]

    def scores_of_few(self, columns: np.ndarray, weights: np.ndarray, intercept: float) -> np.ndarray:
        """x_i·β + intercept of every document, from few weights of columns."""
        indptr, indices, data = self.matrix.columns
        out = np.full(self.n_documents, intercept)
        for j, weight in zip(columns.tolist(), weights.tolist(), strict=True):
            part = slice(indptr[j], indptr[j + 1])
            out[indices[part]] += data[part] * weight
        return out

    def _shift(self, beta: np.ndarray) -> float:
        """What centring adds to every score. A product of BLAS would depend on the number of its threads."""
        return float(np.sum(self.offset[:-1] * beta[:-1]))

    def start(self, arrays: PriorArrays, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of columns to start from, within the bounds: those of raw features, or the modes."""
        return np.clip(arrays.mode if weights is None else self.gather(weights), arrays.lower, arrays.upper)

    def gather(self, weights: np.ndarray) -> np.ndarray:
        """Weights of raw features to weights of columns."""
        summed = np.bincount(self.group, weights=weights[:-1], minlength=len(self.members) - 1)
        beta = np.append(summed, 0.0) * self.scale
        beta[-1] = weights[-1] - self._shift(beta)
        return beta


def _leading(X: sp.csr_matrix, group: np.ndarray, leads: np.ndarray) -> sp.csr_matrix:
    """The columns that lead their group, by rows; on disk where X is."""
    if not is_stored(X):
        return X[:, np.flatnonzero(leads)]
    number = np.where(leads, group, -1)
    return X.renumbered(f"merged-{hashlib.sha256(number.tobytes()).hexdigest()[:12]}", number)


def moments(X: sp.csr_matrix, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and population standard deviation of every column; 1 in place of a deviation of 0."""
    share = weight / weight.sum()
    mean = np.asarray(X.T @ share).ravel()
    squares = sp.csr_matrix((X.data * X.data, X.indices, X.indptr), X.shape)
    variance = np.asarray(squares.T @ share).ravel() - mean * mean
    return mean, np.sqrt(np.where(variance > 1e-14 * mean * mean, variance, 1.0))


def identical_columns(X: sp.csr_matrix, kinds: np.ndarray | None = None) -> np.ndarray:
    """The same number for columns of one kind that are equal entry by entry; in order of first appearance."""
    # Equal columns have equal sums with any weights of rows, to the bit; whether the others do is then checked.
    sums = column_sums(X.tocsc() if is_stored(X) else X, np.random.default_rng(0).random(X.shape[0]))
    order = np.argsort(sums)
    runs = np.flatnonzero(np.append(True, sums[order[1:]] != sums[order[:-1]]))  # where others begin
    first = np.empty_like(order)  # of the columns with the same sum
    if len(order):
        first[order] = np.repeat(np.minimum.reduceat(order, runs), np.diff(np.append(runs, len(order))))
    later = np.flatnonzero(first != np.arange(len(order)))
    if not len(later):
        return first
    if is_stored(X):
        alike = _equal_columns(X.tocsc(), later, first[later])
    else:
        some = np.unique(np.append(later, first[later]))
        alike = _equal_columns(X[:, some].tocsc(), np.searchsorted(some, later), np.searchsorted(some, first[later]))
    if kinds is not None:
        alike &= kinds[later] == kinds[first[later]]
    if not alike.all():  # equal sums of unequal columns: every one is looked at
        first = _one_by_one(X.tocsc(), first, first[later[~alike]], kinds)
    leads = first == np.arange(len(first))
    return (np.cumsum(leads) - 1)[first]


def _equal_columns(X: sp.csc_matrix, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether the columns of either list are equal, pair by pair."""
    lengths = np.diff(X.indptr)
    alike = lengths[some] == lengths[others]
    pairs = np.flatnonzero(alike)
    length = lengths[some[pairs]]
    ends = np.cumsum(length)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - length, length)
    here, there = (np.repeat(X.indptr[columns[pairs]], length) + within for columns in (some, others))
    unequal = (X.indices[here] != X.indices[there]) | (X.data[here] != X.data[there])
    alike[np.repeat(pairs, length)[unequal]] = False
    return alike


def _one_by_one(X: sp.csc_matrix, first: np.ndarray, doubtful: np.ndarray, kinds: np.ndarray | None) -> np.ndarray:
    """`first`, with columns that share the sum of a doubtful one told apart by all they hold."""
    first = first.copy()
    seen: dict[tuple[int, bytes, bytes], int] = {}
    for j in np.flatnonzero(np.isin(first, doubtful)).tolist():
        column = slice(X.indptr[j], X.indptr[j + 1])
        kind = 0 if kinds is None else int(kinds[j])
        first[j] = seen.setdefault((kind, X.indices[column].tobytes(), X.data[column].tobytes()), j)
    return first


def _with_constant(rows: Sparse, number: int) -> Sparse:
    """A 1 at the end of every row, in the column of this number."""
    indptr, indices, data = rows
    ends = indptr + np.arange(len(indptr), dtype=np.int32)
    inside = np.ones(ends[-1], dtype=bool)
    inside[ends[1:] - 1] = False
    columns, values = np.full(len(inside), number, np.int32), np.ones(len(inside))
    columns[inside], values[inside] = indices, data
    return Sparse(ends, columns, values)


def _sparse(matrix: sp.csr_matrix | sp.csc_matrix) -> Sparse:
    # Numba would compile anew for what cannot be written to, and does for more entries than 32 bits count.
    indices, data = np.require(matrix.indices, np.int32, "W"), np.require(matrix.data, np.float64, "W")
    return Sparse(pointer(matrix.indptr), indices, data)


def _by_columns(X: sp.csr_matrix) -> sp.csc_matrix:
    """X.tocsc(); of a matrix without a zero by a transposition, in half of the time."""
    n, d = X.shape
    if is_stored(X) or X.nnz < n * d:
        return X.tocsc()
    indices = np.tile(np.arange(n, dtype=np.int32), d)
    return sp.csc_matrix((X.data.reshape(n, d).T.ravel(), indices, np.arange(d + 1, dtype=np.int32) * n), shape=(n, d))


def _array(X: sp.csr_matrix) -> np.ndarray:
    """X with its zeros; one that has none is an array already."""
    return X.data.reshape(X.shape) if len(X.data) == X.shape[0] * X.shape[1] else X.toarray()


def _columns(matrix: sp.csc_matrix) -> Sparse:
    """The columns, and the constant feature's, which is empty."""
    indptr, indices, data = _sparse(matrix)
    return Sparse(np.append(indptr, indptr[-1]), indices, data)
