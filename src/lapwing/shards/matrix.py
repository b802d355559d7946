"""A sparse matrix on disk by rows and by columns, mapped: to whoever uses it a matrix like any other.

Pointers are stored with 64 bits, and mapped with 32 where these do: kernels are compiled for that. Indices have 32 bits
always. SciPy would have both wide or neither, and is given a matrix with more than 2³¹ - 1 entries in blocks only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError
from lapwing.shards.folder import BY_VALUE, ShardWriter, WorkFolder

MOST = 2**31 - 1  # entries that are counted with 32 bits
BLOCK = 1 << 20  # entries that are in memory at a time

PARTS = (("indptr", np.int64), ("indices", np.int32), ("data", np.float64))


class StoredMatrix(sp.csr_matrix):
    """CSR, and CSC where it is asked for, both of mapped files; what is made of it is in memory, as of any other.

    It travels to another process as the name of its files, where they can be read there.
    """

    folder: WorkFolder | None = None
    name: str = ""

    @classmethod
    def at(cls, folder: WorkFolder, name: str, shape: tuple[int, int]) -> StoredMatrix:
        indptr, indices, data = (folder.map(f"{name}.rows.{part}", dtype) for part, dtype in PARTS)
        matrix = _assembled(cls(shape), pointer(indptr), indices, data)
        matrix.folder, matrix.name = folder, name
        return matrix

    def tocsc(self, copy: bool = False) -> sp.csc_matrix:
        if self.folder is None:
            return super().tocsc(copy)
        indptr, indices, data = (self.folder.map(f"{self.name}.columns.{part}", dtype) for part, dtype in PARTS)
        return _assembled(sp.csc_matrix(self.shape), pointer(indptr), indices, data)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.folder is None:
            return super().__reduce_ex__(protocol)
        if BY_VALUE[0]:
            if self.nnz > MOST:
                raise InputError(
                    f"the matrix has {self.nnz} entries, and a worker is sent {MOST} at most; let the workers see "
                    f"the folder {self.folder.path}, on a file system that they share"
                )
            return sp.csr_matrix, ((self.data, self.indices, self.indptr), self.shape)
        return StoredMatrix.at, (self.folder, self.name, self.shape)

    @property
    def _files(self) -> dict[str, dict[str, Any]]:
        assert self.folder is not None
        return {name: entry for name, entry in self.folder.files.items() if name.startswith(f"{self.name}.")}

    def checksums(self) -> dict[str, str]:
        """Of the files, which are what the matrix is."""
        return {name: entry["sha256"] for name, entry in self._files.items()}

    def reordered(self, name: str, number: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(indptr, indices, data) of rows whose columns have these numbers, all different, and in every row a 1 in a
        column after them; stored as `name`."""
        folder, files = self.folder, [f"{name}.rows.{part}" for part, _ in PARTS]
        assert folder is not None
        if not all(file in folder for file in files):
            with folder.write(*files) as writers:
                blocks = row_blocks(self, entries_at_a_time(folder.memory))
                write_lines(writers, (_reordered(self, rows, number) for rows in blocks))
        indptr, indices, data = (folder.map(file, dtype) for file, (_, dtype) in zip(files, PARTS, strict=True))
        return pointer(indptr), indices, data

    def renumbered(self, name: str, number: np.ndarray) -> StoredMatrix:
        """The columns j with number[j] ≥ 0, which rises with them, under these numbers; stored as `name`."""
        folder, width = self.folder, int(number.max(initial=-1)) + 1
        assert folder is not None
        files = [f"{name}.{way}.{part}" for way in ("rows", "columns") for part, _ in PARTS]
        if all(file in folder for file in files):
            return StoredMatrix.at(folder, name, (self.shape[0], width))
        with folder.write(*files) as writers:
            some, columns = entries_at_a_time(folder.memory), self.tocsc()
            write_lines(writers[:3], (_renumbered(self, rows, number) for rows in row_blocks(self, some)))
            kept = ((part, number[part] >= 0) for part in row_blocks(columns, some))
            write_lines(writers[3:], (_lines(columns, *one) for one in kept))
        return StoredMatrix.at(folder, name, (self.shape[0], width))


def is_stored(matrix: Any) -> bool:
    return isinstance(matrix, StoredMatrix) and matrix.folder is not None


def pointer(indptr: np.ndarray) -> np.ndarray:
    """With as many bits as its last entry needs, 32 or 64."""
    return np.require(indptr, np.int32 if int(indptr[-1]) <= MOST else np.int64, "W")


def _assembled(empty: Any, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> Any:
    """An empty matrix with these arrays: SciPy would look through all of them, and copy those of many entries."""
    empty.indptr, empty.indices, empty.data = indptr, indices, data
    empty.has_sorted_indices = empty.has_canonical_format = True
    return empty


def row_blocks(matrix: Any, entries: int = BLOCK) -> Iterator[slice]:
    """Lines (rows of CSR, columns of CSC) of about so many entries together."""
    indptr, first, n = matrix.indptr, 0, len(matrix.indptr) - 1
    while first < n:
        past = int(np.searchsorted(indptr, int(indptr[first]) + entries, side="right")) - 1
        past = min(max(past, first + 1), n)
        yield slice(first, past)
        first = past


def entries_at_a_time(memory: int) -> int:
    """Entries of which a dozen copies, or numbers of eight bytes, are a small part of this memory."""
    return max(min(memory >> 9, BLOCK), 1 << 12)


Part = tuple[np.ndarray, np.ndarray, np.ndarray]  # entries of every line, their indices, their data


def write_lines(writers: Sequence[ShardWriter], parts: Iterable[Part]) -> None:
    """Lines one after the other into the files of pointers, indices and data."""
    pointers, indices, data = writers
    pointers.append(np.zeros(1, np.int64))
    before = 0
    for lengths, some_indices, some_data in parts:
        ends = before + np.cumsum(lengths, dtype=np.int64)
        pointers.append(ends)
        indices.append(some_indices.astype(np.int32, copy=False))
        data.append(some_data)
        before = int(ends[-1]) if len(ends) else before


def _lines(matrix: Any, lines: slice, kept: np.ndarray) -> Part:
    """Those of some lines that are kept."""
    ends = matrix.indptr[lines.start : lines.stop + 1]
    part, lengths = slice(int(ends[0]), int(ends[-1])), np.diff(ends)
    if kept.all():
        return lengths, matrix.indices[part], matrix.data[part]
    mask = np.repeat(kept, lengths)
    return lengths[kept], matrix.indices[part][mask], matrix.data[part][mask]


def _renumbered(matrix: Any, lines: slice, number: np.ndarray) -> Part:
    """The entries of some lines whose indices have a number."""
    lengths, indices, data = _lines(matrix, lines, np.ones(lines.stop - lines.start, dtype=bool))
    columns = number[indices]
    kept = columns >= 0
    ends = np.append(0, np.cumsum(kept))[np.append(0, np.cumsum(lengths))]
    return np.diff(ends), columns[kept], data[kept]


def _reordered(matrix: Any, lines: slice, number: np.ndarray) -> Part:
    """Some lines with their indices renumbered, each with a 1 at its end."""
    lengths, indices, data = _lines(matrix, lines, np.ones(lines.stop - lines.start, dtype=bool))
    ends = np.cumsum(lengths)
    return lengths + 1, np.insert(number[indices], ends, len(number)), np.insert(data, ends, 1.0)
