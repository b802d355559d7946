"""Labels and weights as the functions of this room take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.errors import InputError


def positives(y: Any) -> np.ndarray:
    """(n,) True where y holds the larger of its two values; where it holds one value only, if that is > 0."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise InputError(f"expected one label per document, got an array of shape {y.shape}; pass one category")
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise InputError("expected labels of two values, got NaN among them; drop documents without a label")
    values = np.unique(y)
    if len(values) > 2:
        raise InputError(f"expected labels of two values, got {len(values)}; compare one category with the rest")
    if len(values) == 2:
        return np.asarray(y == values[1])
    numeric = y.dtype.kind in "biuf"
    return y > 0 if numeric else np.zeros(len(y), dtype=bool)


def weights(sample_weight: Any, n: int) -> np.ndarray:
    """(n,) float64; all ones where none were given."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise InputError(f"expected {n} weights, one per document, got an array of shape {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError("expected weights that are finite and not negative; give weight 0 to leave a document out")
    return weight
