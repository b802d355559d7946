"""Columns of pandas and polars as lists, by what they can do: neither is imported."""

from __future__ import annotations

from typing import Any

from lapwing.errors import InputError


def is_frame(values: Any) -> bool:
    return hasattr(values, "columns") and hasattr(values, "shape") and len(values.shape) == 2


def is_series(values: Any) -> bool:
    """A pandas or polars Series."""
    return hasattr(values, "to_list") and hasattr(values, "name") and not is_frame(values)


def as_list(values: Any, what: str) -> Any:
    """A series, or a frame of one column, as a list; whatever else it is, as it is.

    `what` it is needed as, for the message where a frame has several columns.
    """
    if is_series(values):
        return values.to_list()
    if is_frame(values):
        if values.shape[1] != 1:
            names = ", ".join(map(str, values.columns))
            raise InputError(f"expected one column of {what}, got a frame of {values.shape[1]}: {names}; choose one")
        return values[values.columns[0]].to_list()
    return values


def indicator_names(values: Any) -> list[str] | None:
    """The columns of a frame that is an indicator matrix; None where it is none."""
    return [str(name) for name in values.columns] if is_frame(values) and values.shape[1] > 1 else None
