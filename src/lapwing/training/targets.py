"""Labels as ±1, document weights, and checks of what comes in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import scipy.sparse as sp

from lapwing.corpus.document import SingleLabels
from lapwing.errors import InputError, SettingsError
from lapwing.shards.matrix import MOST


@dataclass(frozen=True, eq=False)
class Targets:
    """Label sets as a 0/1 matrix: (n, classes) CSC, and the rows of the model that are fitted."""

    classes: tuple[Hashable, ...]
    exclusive: bool
    member: sp.csc_matrix
    joint: bool = False  # a polytomous model: every class has its row

    @property
    def fitted(self) -> range:
        """The columns that get a classifier: the second of two exclusive classes speaks for both."""
        both = self.exclusive and len(self.classes) == 2 and not self.joint
        return range(1, 2) if both else range(len(self.classes))

    @property
    def numbers(self) -> np.ndarray:
        """(n,) the class of every document, by its number, where each has one."""
        return self.member.tocsr().indices

    def signs(self, column: int) -> np.ndarray:
        """Labels ±1 of one class."""
        y = np.full(self.member.shape[0], -1.0)
        start, end = self.member.indptr[column : column + 2]
        y[self.member.indices[start:end]] = 1.0
        return y


def targets(
    labels: Sequence[tuple[Hashable, ...]],
    exclusive: bool,
    classes: Sequence[Hashable] | None = None,
    *,
    joint: bool = False,
) -> Targets:
    """Label sets to a membership matrix; `classes` fixes which there are, and their order."""
    single = labels if isinstance(labels, SingleLabels) else None
    if classes is None:
        distinct = set(chain.from_iterable(labels if single is None else single.classes))
        try:
            classes = sorted(distinct)
        except TypeError:  # labels of several types have no order of their own
            classes = sorted(distinct, key=lambda label: (type(label).__name__, str(label)))
    if joint and not exclusive:
        raise SettingsError(
            'multi_class="multinomial" is for exclusive classes, one label per document, and these are label sets; '
            'use multi_class="ovr"'
        )
    if exclusive and len(classes) < 2:
        raise InputError(
            f"training needs documents of at least two classes, got {len(classes)} class"
            + (f" ({classes[0]!r})" if len(classes) else "es")
        )
    if not len(classes):
        raise InputError("training needs labelled documents, and none of these has a label")
    number = {label: k for k, label in enumerate(classes)}
    shape = len(labels), len(classes)
    try:
        if single is None:
            rows = np.repeat(np.arange(len(labels)), np.fromiter(map(len, labels), dtype=np.int64, count=len(labels)))
            of_labels = map(number.__getitem__, chain.from_iterable(labels))
            columns = np.fromiter(of_labels, dtype=np.int64, count=len(rows))
            member = sp.csc_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
        else:
            columns = np.array([number[label] for (label,) in single.classes])[single.numbers]
            member = sp.csr_matrix((np.ones(len(labels)), columns, np.arange(len(labels) + 1)), shape=shape).tocsc()
    except KeyError as error:
        raise InputError(f"a document has the label {error.args[0]!r}, which is none of the classes given") from None
    return Targets(tuple(classes), exclusive, member, joint)


def check_matrix(X: sp.csr_matrix) -> sp.csr_matrix:
    """float64, int32 indices, sorted, finite."""
    ordered = sp.issparse(X) and X.format == "csr" and X.has_canonical_format  # which X then remembers
    matrix = sp.csr_matrix(X, dtype=np.float64)
    if matrix.nnz > MOST:
        raise InputError(
            f"the matrix has {matrix.nnz} entries, and one in memory may have {MOST}; give fewer documents or "
            "features, or train from files, whose matrix is on disk where it is too large (--memory)"
        )
    if not np.isfinite(matrix.data.sum()) and not np.isfinite(matrix.data).all():  # a sum may overflow
        raise InputError("the matrix holds NaN or infinite values; remove those rows or fill them first")
    if ordered:
        matrix.has_canonical_format = True
    matrix.sum_duplicates()
    return matrix


def check_weights(weights: np.ndarray | None, n: int) -> np.ndarray:
    if weights is None:
        return np.ones(n)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise InputError(f"expected one weight for each of {n} documents, got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("document weights must be finite and not negative, and not all zero")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise InputError(f"document weights must have a finite sum; divide all of them by {weights.max():.3g}")
    return weights


def class_weights(
    goal: Targets, weights: np.ndarray, class_weight: str | Mapping[Hashable, float] | None
) -> Callable[[int, np.ndarray], np.ndarray | float]:
    """A document's factor in the problem of one category.

    Exclusive classes: that of the document's class; "balanced" gives every class the same total.
    Label sets: that of the category for its positives; "balanced" gives both sides of every problem the same total.
    """
    if class_weight is None:
        return lambda column, y: 1.0
    n = float(weights.sum())
    if not isinstance(class_weight, str):
        if unknown := [label for label in class_weight if label not in goal.classes]:
            raise SettingsError(f"class_weight names {unknown[0]!r}, which is no class of the training data")
        if any(not np.isfinite(n * float(w)) or w < 0 for w in class_weight.values()):
            raise SettingsError("class_weight must be finite, also when added up over all documents, and not negative")
    counts = weights @ goal.member  # documents of each class, by weight
    if goal.exclusive:
        if isinstance(class_weight, str):
            factors = n / (np.count_nonzero(counts) * np.where(counts > 0.0, counts, 1.0))
        else:
            factors = np.array([class_weight.get(label, 1.0) for label in goal.classes])
        of_document = goal.member @ factors
        return lambda column, y: of_document
    if isinstance(class_weight, str):
        return lambda column, y: np.where(
            y > 0, n / (2.0 * (counts[column] or 1.0)), n / (2.0 * ((n - counts[column]) or 1.0))
        )
    return lambda column, y: np.where(y > 0, class_weight.get(goal.classes[column], 1.0), 1.0)
