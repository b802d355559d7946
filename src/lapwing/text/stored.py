"""Texts on disk to a design matrix on disk, a block of documents at a time: the bits are those of text/design.py.

    blocks of texts ─→ counts of each, by its own terms ─→ all terms, document frequencies
                         └─→ weights: rows one block after the other, and each block by columns ─→ columns

A column of the whole is the columns of the blocks, one after the other: they are gathered a range of columns at a time,
each read once. All that is finished stays in the folder, so that a run that was stopped goes on from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.shards.folder import WorkFolder
from lapwing.shards.matrix import PARTS, Part, StoredMatrix, entries_at_a_time, write_lines
from lapwing.shards.texts import StoredTexts
from lapwing.text.counts import count_terms
from lapwing.text.design import Design, Weighting, weighting_of
from lapwing.text.rows import in_csr
from lapwing.text.settings import TextSettings
from lapwing.text.weighting import weigh

LARGEST = 1 << 25  # bytes of texts in a block, however much memory there is
RECORD, MATRIX = "design", "matrix"

Block = tuple[int, int, int]  # number, first row, past its last
Run = Callable[..., list[Any]]  # engine/threads.py `run_all`


def stored_design(
    texts: StoredTexts,
    settings: TextSettings,
    *,
    named: Iterable[str] = (),
    progress: Callable[[int], None] | None = None,
    n_jobs: int = 1,
    run: Run | None = None,
    at_a_time: int = 1,
) -> Design:
    """As `design`; the matrix is one of the folder that has the texts. `run` counts so many blocks at a time
    elsewhere."""
    folder, named = texts.folder, sorted(set(named))
    _begin(folder, _key(texts, settings, named))
    blocks = [(k, *rows) for k, rows in enumerate(texts.blocks(min(folder.memory >> 6, LARGEST)))]
    _count(texts, settings, blocks, progress, n_jobs, run, at_a_time)
    terms, frequency, rank = _vocabulary(folder, blocks, named)
    weighting = weighting_of(terms, frequency, len(texts), settings, named)
    shape = (len(texts), len(weighting.columns))
    if not _has(folder, "rows"):
        with folder.write(*_files("rows")) as writers:
            write_lines(writers, _weighted(folder, blocks, weighting, rank, n_jobs))
    if not _has(folder, "columns"):
        with folder.write(*_files("columns")) as writers:
            write_lines(writers, _gathered(folder, blocks, shape[1]))
        folder.remove(*(f"{what}-{k}" for k, _, _ in blocks for what in ("counts", "numbers", "columns")))
    return Design(StoredMatrix.at(folder, MATRIX, shape), weighting.feature_names, weighting)


def _files(way: str) -> list[str]:
    return [f"{MATRIX}.{way}.{part}" for part, _ in PARTS]


def _has(folder: WorkFolder, way: str) -> bool:
    return all(name in folder for name in _files(way))


def _key(texts: StoredTexts, settings: TextSettings, named: Sequence[str]) -> str:
    """What decides the matrix, besides the texts of the folder."""
    digest = hashlib.sha256(repr((settings.to_dict(), named, texts.folder.memory)).encode())
    if texts.rows is not None:
        digest.update(texts.rows.tobytes())
    return digest.hexdigest()


def _begin(folder: WorkFolder, key: str) -> None:
    """Without what was made under another key."""
    if folder.records.get(RECORD) != key:
        ours = ("counts-", "terms-", "numbers-", "columns-", f"{MATRIX}.", "merged")
        folder.remove(*[name for name in folder.files if name.startswith(ours)])
        folder.put_record(RECORD, key)


def _count(
    texts: StoredTexts, settings: TextSettings, blocks: list[Block], progress: Callable[[int], None] | None,
    n_jobs: int, run: Run | None, at_a_time: int,
) -> None:  # fmt: skip
    """The counts of every block that are not there yet."""
    folder, shared = texts.folder, (texts, settings)
    if _has(folder, "rows") and _has(folder, "columns"):
        return
    missing = [block for block in blocks if f"counts-{block[0]}" not in folder or f"terms-{block[0]}" not in folder]
    for first in range(0, len(missing), at_a_time):
        some = missing[first : first + at_a_time]
        if run is None:
            counted = [count_block(shared, block, n_jobs=n_jobs) for block in some]
        else:
            counted = run(count_block, shared, some)
        for (k, start, past), (terms, counts) in zip(some, counted, strict=True):
            folder.put(f"terms-{k}", terms)
            folder.put(f"counts-{k}", counts)
            if progress is not None:
                progress(past - start)


def count_block(
    shared: tuple[StoredTexts, TextSettings], block: Block, *, n_jobs: int = 1
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """(terms, counts) of some documents, as they are stored."""
    texts, settings = shared
    terms, matrix = count_terms(texts[block[1] : block[2]], settings, n_jobs=n_jobs)
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    spelled: dict[str, np.ndarray] = {
        "letters": np.frombuffer(b"".join(encoded), np.uint8),
        "ends": np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        "frequency": np.bincount(matrix.indices, minlength=len(terms)).astype(np.int64),
    }
    return spelled, {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}


def _terms(folder: WorkFolder, k: int) -> tuple[list[str], np.ndarray]:
    """Of a block, and how many of its documents have each."""
    stored = folder.get(f"terms-{k}")
    content, ends = stored["letters"].tobytes(), stored["ends"].tolist()
    if content.isascii():
        letters = content.decode("ascii")
        return [letters[a:b] for a, b in pairwise(ends)], stored["frequency"]
    return [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)], stored["frequency"]


def _vocabulary(
    folder: WorkFolder, blocks: list[Block], named: Sequence[str]
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """All terms in order, how many documents have each, and their places by the numbers that blocks have them by: in
    the order in which they were first seen."""
    number = {term: k for k, term in enumerate(named)}
    frequency = np.zeros(len(number), np.int64)
    for k, _, _ in blocks:
        terms, of_block = _terms(folder, k)
        numbers = np.fromiter((number.setdefault(term, len(number)) for term in terms), np.int32, len(terms))
        frequency = np.append(frequency, np.zeros(len(number) - len(frequency), np.int64))
        frequency[numbers] += of_block
        if not _has(folder, "rows"):
            folder.put(f"numbers-{k}", {"numbers": numbers})
    terms = sorted(number)
    order = np.fromiter(map(number.__getitem__, terms), np.int64, len(terms))
    rank = np.empty(len(terms), np.int64)
    rank[order] = np.arange(len(terms))
    return terms, frequency[order], rank


def _weighted(
    folder: WorkFolder, blocks: list[Block], weighting: Weighting, rank: np.ndarray, n_jobs: int
) -> Iterator[Part]:
    """The rows of every block; its columns are stored on the way."""
    column_of = weighting._column_of[:-1]
    for k, first, past in blocks:
        known = rank[folder.get(f"numbers-{k}")["numbers"]]
        columns = column_of[known]
        kept = columns >= 0
        local = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        stored = folder.get(f"counts-{k}")
        counts = in_csr((stored["indptr"], stored["indices"], stored["data"]), (past - first, len(known)))
        settings, frequency = weighting.settings, weighting.document_frequency[known]
        weights = weigh(counts, frequency, weighting.n_documents, settings, local, int(kept.sum()), n_jobs=n_jobs)
        by_column = sp.csc_matrix(weights)
        ends = by_column.indptr.astype(np.int64)
        part = {"columns": columns[kept], "ends": ends, "rows": by_column.indices + np.int32(first)}
        folder.put(f"columns-{k}", part | {"data": by_column.data})
        yield np.diff(weights.indptr), columns[kept][weights.indices], weights.data


def _gathered(folder: WorkFolder, blocks: list[Block], width: int) -> Iterator[Part]:
    """The columns of the whole, a range of them at a time."""
    opened, lengths = [folder.get(f"columns-{k}") for k, _, _ in blocks], np.zeros(width, np.int64)
    for one in opened:
        lengths[one["columns"]] += np.diff(one["ends"])
    before = np.append(0, np.cumsum(lengths))
    cuts = [0]
    while cuts[-1] < width:
        past = int(np.searchsorted(before, before[cuts[-1]] + entries_at_a_time(folder.memory), side="right")) - 1
        cuts.append(min(max(past, cuts[-1] + 1), width))
    within = [np.searchsorted(one["columns"], cuts).tolist() for one in opened]
    for r, (first, past) in enumerate(pairwise(cuts)):
        parts = [(one, *its[r : r + 2]) for one, its in zip(opened, within, strict=True) if its[r] < its[r + 1]]
        yield _range(parts, before[first : past + 1] - before[first], first)


def _range(parts: list[tuple[Any, int, int]], before: np.ndarray, first: int) -> Part:
    """Columns from the first on, of which `before` tells where they begin: each block has its own from a to b."""
    rows, data = np.empty(before[-1], np.int32), np.empty(before[-1])
    at = before[:-1].copy()  # where the next entry of every column goes
    for one, a, b in parts:
        ends = one["ends"][a : b + 1]
        here, lengths, its = one["columns"][a:b] - first, np.diff(ends), slice(int(ends[0]), int(ends[-1]))
        places = np.repeat(at[here] - (ends[:-1] - ends[0]), lengths) + np.arange(its.stop - its.start)
        rows[places], data[places] = one["rows"][its], one["data"][its]
        at[here] += lengths
    return np.diff(before), rows, data
