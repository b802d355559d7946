"""Dask's collections: bags, dataframes and arrays, taken apart by `to_delayed()` into what each partition holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError


def is_dask(value: Any) -> bool:
    return hasattr(value, "to_delayed") and hasattr(value, "__dask_graph__")


def partitions(value: Any) -> list[Any]:
    """Delayed partitions in order; those of an array are its blocks of rows, which must have all columns."""
    delayed = np.asarray(value.to_delayed(), dtype=object)
    if delayed.ndim == 2 and delayed.shape[1] != 1:
        raise InputError(
            f"expected a Dask array in blocks of whole rows, got {delayed.shape[1]} blocks beside each other; "
            "rechunk it: X.rechunk({1: -1})"
        )
    return delayed.ravel().tolist()


def client_of(client: Any, *values: Any) -> Any:
    """The client that is given; for a collection the one that Dask has by default, if it has one."""
    if client is not None or not any(map(is_dask, values)):
        return client
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def gathered(value: Any, client: Any = None) -> Any:
    """A collection as what it stands for, in memory; anything else as it is."""
    if not is_dask(value):
        return value
    parts = partitions(value)
    if client is None:
        import dask

        return _together(list(dask.compute(*parts)))
    return _together(client.gather(client.compute(parts)))


def _together(parts: list[Any]) -> Any:
    first = parts[0]
    if sp.issparse(first):
        return sp.vstack(parts, format="csr")
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if hasattr(first, "iloc"):
        import pandas as pd  # type: ignore[import-untyped]

        return pd.concat(parts)
    return [one for part in parts for one in part]
