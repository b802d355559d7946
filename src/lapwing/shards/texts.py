"""Texts, names and label sets of many documents, on disk or in few bytes each; sequences like the lists they stand for.

`take` gives those of some rows, and reads nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar, overload

import numpy as np

from lapwing.shards.folder import WorkFolder

Value = TypeVar("Value")
STEP = 1 << 12  # documents that are looked up at a time


class _Rows(Sequence[Value]):
    """Rows of something that has many."""

    rows: np.ndarray | None
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows if self.rows is None else len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> list[Value]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return list(self._values(*at.indices(len(self))))
        at = range(len(self))[at]
        return self._value(int(at if self.rows is None else self.rows[at]))

    def __iter__(self) -> Iterator[Value]:
        return self._values(0, len(self), 1)

    def _values(self, first: int, past: int, step: int) -> Iterator[Value]:
        for start in range(first, past, step * STEP):
            here = np.arange(start, min(past, start + step * STEP) if step > 0 else past, step)
            yield from map(self._value, (here if self.rows is None else self.rows[here]).tolist())

    def take(self, index: np.ndarray) -> Any:
        """The rows at `index`, in that order."""
        other = object.__new__(type(self))
        other.__dict__.update(vars(self), rows=index if self.rows is None else self.rows[index])
        return other

    @abstractmethod
    def _value(self, row: int) -> Value: ...


class StoredTexts(_Rows[str]):
    """Strings in a file, one after the other: row i is its bytes ends[i] … ends[i+1], in UTF-8."""

    def __init__(self, folder: WorkFolder, name: str) -> None:
        self.folder, self.name, self.rows = folder, name, None
        self._content, self._ends = folder.map(name, np.uint8), folder.map(f"{name}.ends", np.int64)
        self.n_rows = len(self._ends) - 1

    def __reduce__(self) -> Any:
        return _texts_again, (self.folder, self.name, self.rows)

    def _value(self, row: int) -> str:
        start, end = self._ends[row : row + 2].tolist()
        return self._content[start:end].tobytes().decode("utf-8", "surrogatepass")

    def blocks(self, size: int) -> list[tuple[int, int]]:
        """(first, past) of rows that have about so many bytes together."""
        lengths = np.diff(self._ends) if self.rows is None else self._ends[self.rows + 1] - self._ends[self.rows]
        at = np.append(0, np.cumsum(lengths))
        cuts, n = [0], len(lengths)
        while cuts[-1] < n:
            past = int(np.searchsorted(at, at[cuts[-1]] + size, side="right")) - 1
            cuts.append(min(max(past, cuts[-1] + 1), n))
        return list(pairwise(cuts))


def _texts_again(folder: WorkFolder, name: str, rows: np.ndarray | None) -> StoredTexts:
    texts = StoredTexts(folder, name)
    return texts if rows is None else texts.take(rows)


class StoredNames(_Rows[str]):
    """One of a few names for each row."""

    def __init__(self, names: Sequence[str], codes: np.ndarray) -> None:
        self.names, self.codes, self.rows, self.n_rows = list(names), codes, None, len(codes)

    def _value(self, row: int) -> str:
        return self.names[self.codes[row]]


class StoredLabels(_Rows[tuple[str, ...]]):
    """A tuple of names for each row: those of codes[ends[i]:ends[i+1]]."""

    def __init__(self, names: Sequence[str], codes: np.ndarray, ends: np.ndarray) -> None:
        self.names, self.codes, self.ends, self.rows, self.n_rows = list(names), codes, ends, None, len(ends) - 1
        self._alone = [(name,) for name in self.names]

    def _value(self, row: int) -> tuple[str, ...]:
        codes = self.codes[self.ends[row] : self.ends[row + 1]].tolist()
        return self._alone[codes[0]] if len(codes) == 1 else tuple(self.names[code] for code in codes)
