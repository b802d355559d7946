"""Vectors from elsewhere into the model's columns, by the names of their features.

A feature that the model does not have has no weight: it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp


class FeatureIndex:
    """The columns of a model by name."""

    def __init__(self, feature_names: Sequence[str]) -> None:
        self.index = {name: j for j, name in enumerate(feature_names)}

    def knows_any(self, names: Iterable[Any]) -> bool:
        return any(str(name) in self.index for name in names)

    def of_matrix(self, matrix: Any, names: Sequence[Any]) -> sp.csr_matrix:
        """Column j of `matrix` is the feature names[j]."""
        mine = np.array([self.index.get(str(name), -1) for name in names], dtype=np.int64)
        coo = sp.coo_matrix(matrix)
        kept = mine[coo.col] >= 0
        shape = (coo.shape[0], len(self.index))
        return sp.csr_matrix((coo.data[kept], (coo.row[kept], mine[coo.col[kept]])), shape=shape)

    def of_rows(self, rows: Sequence[tuple[Sequence[Any], Sequence[float]]]) -> sp.csr_matrix:
        """Each row is (features, values)."""
        names: dict[Any, int] = {}
        indices = [names.setdefault(name, len(names)) for features, _ in rows for name in features]
        data = [float(value) for _, values in rows for value in values]
        indptr = np.concatenate(([0], np.cumsum([len(features) for features, _ in rows], dtype=np.int64)))
        matrix = sp.csr_matrix((np.array(data), np.array(indices, np.int64), indptr), shape=(len(rows), len(names)))
        return self.of_matrix(matrix, list(names))
