"""Which documents a model was trained on, in 2 kB: the least of all their hashes (a bottom-k sketch, Cohen 1997).

Of documents whose hash is no greater than the largest kept, those trained on are in the sketch and no others. Hashes
being as good as random, these few stand for all: the share of them that is in the sketch estimates how many documents
were seen in training. Where fewer documents than that were trained on, it is exact.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.shards.matrix import row_blocks
from lapwing.shards.sums import IN_CACHE

KEPT = 256
ENOUGH = 2 * KEPT  # of which so many are mostly different
LOW = np.uint64(0xFFFFFFFF)


class TrainedOn:
    """What `documents` of later have in common with those of a sketch (rising hashes), block after block."""

    def __init__(self, sketch: np.ndarray) -> None:
        self.sketch, self.compared = sketch, np.empty(0, np.uint64)

    def add(self, documents: Any) -> None:
        if len(self.sketch):
            own = _hashes(documents, self.sketch[-1] if len(self.sketch) >= KEPT else None)
            self.compared = np.union1d(self.compared, own)

    @property
    def share(self) -> float:
        """Of the different documents, empty ones being one of them; NaN where nothing is known."""
        return float(np.isin(self.compared, self.sketch).mean()) if len(self.compared) else float("nan")


def sketch(documents: Any) -> np.ndarray:
    """The least hashes of all documents, rising."""
    if not (sp.issparse(documents) or isinstance(documents, np.ndarray)):
        return np.unique(_hashes(documents, None))[:KEPT]
    rows = _canonical(documents)
    heads = _heads(rows)
    if len(heads) > ENOUGH:
        few = np.unique(_of_rows(rows, heads, np.partition(heads, ENOUGH)[ENOUGH] | LOW))
        if len(few) >= KEPT:
            return few[:KEPT]
    return np.unique(_of_rows(rows, heads, None))[:KEPT]


def _hashes(documents: Any, most: np.uint64 | None) -> np.ndarray:
    """Of what documents hold: the text, or the entries of a row that are not 0. Those up to `most`; None for all."""
    if sp.issparse(documents) or isinstance(documents, np.ndarray):
        rows = _canonical(documents)
        return _of_rows(rows, _heads(rows), most)
    own = np.array([_hash(text.encode(errors="surrogatepass")) for text in documents], dtype=np.uint64)
    return own if most is None else own[own <= most]


def _of_rows(rows: sp.csr_matrix, heads: np.ndarray, most: np.uint64 | None) -> np.ndarray:
    if most is not None:
        some = np.flatnonzero(heads <= most)
        rows, heads = rows[some], heads[some]
    own = heads | (_mixed(_sums(rows)) & LOW)
    return own if most is None else own[own <= most]


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _canonical(rows: Any) -> sp.csr_matrix:
    """In order, without zeros and duplicates."""
    if not (sp.issparse(rows) and rows.format == "csr" and rows.dtype == np.float64):
        rows = sp.csr_matrix(rows, dtype=np.float64)
    if not (rows.has_canonical_format and rows.data.all()):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def _heads(rows: sp.csr_matrix) -> np.ndarray:
    """The high half of every row's hash, by its length, first, middle and last entry: most rows need no other half."""
    start, end = rows.indptr[:-1].astype(np.int64), rows.indptr[1:].astype(np.int64)
    holds = end > start
    filled = slice(None) if holds.all() else np.flatnonzero(holds)
    start, end = start[filled], end[filled]
    own = np.zeros(rows.shape[0], np.uint64)
    own[filled] = (end - start).astype(np.uint64)
    for at in (start, (start + end) // 2, end - 1):
        own[filled] = _mixed(own[filled] + rows.indices[at].astype(np.uint64)) + rows.data[at].view(np.uint64)
    return _mixed(own) & ~LOW


def _sums(rows: sp.csr_matrix) -> np.ndarray:
    """Over every row, mod 2⁶⁴, of its values times a number of their column's (a multilinear hash)."""
    of_column = _mixed(np.arange(1, rows.shape[1] + 1, dtype=np.uint64))
    if len(rows.data) == rows.shape[0] * rows.shape[1]:
        return np.asarray(np.einsum("ij,j->i", rows.data.view(np.uint64).reshape(rows.shape), of_column))
    sums, filled = np.zeros(rows.shape[0], np.uint64), np.flatnonzero(np.diff(rows.indptr))
    for block in row_blocks(rows, IN_CACHE):
        part = slice(int(rows.indptr[block.start]), int(rows.indptr[block.stop]))
        some = filled[slice(*np.searchsorted(filled, (block.start, block.stop)))]
        if len(some):
            entries = of_column[rows.indices[part]] * rows.data[part].view(np.uint64)
            sums[some] = np.add.reduceat(entries, rows.indptr[some] - part.start)
    return sums


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Every bit of the result hangs on every bit of its number (SplitMix64's last steps, Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
