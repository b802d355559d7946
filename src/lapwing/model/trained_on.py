"""Which documents a model was trained on, in 2 kB: the least of all their hashes (a bottom-k sketch, Cohen 1997).

Of documents whose hash is no greater than the largest kept, those trained on are in the sketch and no others. Hashes
being as good as random, these few stand for all: the share of them that is in the sketch estimates how many documents
were seen in training. Where fewer documents than that were trained on, it is exact.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

KEPT = 256


class TrainedOn:
    """What `documents` of later have in common with those of a sketch (rising hashes), block after block."""

    def __init__(self, sketch: np.ndarray) -> None:
        self.sketch, self.seen, self.compared = sketch, 0, 0

    def add(self, documents: Any) -> None:
        if not len(self.sketch):
            return
        own = hashes(documents)
        if len(self.sketch) >= KEPT:
            own = own[own <= self.sketch[-1]]
        self.compared += len(own)
        self.seen += int(np.isin(own, self.sketch).sum())

    @property
    def share(self) -> float:
        """Of the documents, NaN where nothing is known."""
        return self.seen / self.compared if self.compared else float("nan")


def sketch(documents: Any) -> np.ndarray:
    """The least hashes of all documents, rising."""
    return np.unique(hashes(documents))[:KEPT]


def hashes(documents: Any) -> np.ndarray:
    """(n,) of what every document holds: the text, or the entries of a row that are not 0."""
    return np.array([_hash(one) for one in _contents(documents)], dtype=np.uint64)


def _contents(documents: Any) -> Iterable[bytes]:
    if not (sp.issparse(documents) or isinstance(documents, np.ndarray)):
        return (text.encode(errors="surrogatepass") for text in documents)
    rows = sp.csr_matrix(documents, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    indices, at = rows.indices.astype(np.int64), rows.indptr.tolist()
    return (indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in itertools.pairwise(at))


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
