"""Documents for a model that is already there: in blocks, whatever their format."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus, Document, stream
from lapwing.errors import CorpusError, InputError
from lapwing.model import LinearModel

BLOCK = 2048


class Block(NamedTuple):
    ids: list[str]
    documents: list[str] | sp.csr_matrix
    labels: list[tuple[str, ...]]


def streamed(data: str, reading: dict[str, Any], model: LinearModel, split: str | None) -> Iterator[Block]:
    """Blocks of DATA in bounded memory; "-" is standard input, lines of text unless a format is given."""
    if data == "-" and reading["format"] == "auto":
        yield from _blocks(_text_lines(reading["encoding"] or "utf-8"), "text", model)
        return
    if split not in (None, "all"):
        reading = {**reading, "split": split}
    documents = stream(sys.stdin.buffer if data == "-" else data, labels_required=False, **reading)
    yield from _blocks(documents, documents.kind, model)


def _text_lines(encoding: str) -> Iterator[Document]:
    """One text per line of standard input; its id is the line's number."""
    number = 0
    try:
        for number, line in enumerate(io.TextIOWrapper(sys.stdin.buffer, encoding=encoding), 1):
            yield Document(str(number), line.rstrip("\r\n"), ())
    except (UnicodeDecodeError, LookupError) as error:
        hint = "name the encoding with --encoding"
        raise CorpusError(f"not valid {encoding} ({error}); {hint}", "standard input", number + 1) from error


def _blocks(documents: Iterator[Document], kind: str, model: LinearModel) -> Iterator[Block]:
    check_kind(kind, model)
    column = {name: j for j, name in enumerate(model.feature_names)} if kind == "vectors" else {}
    while block := list(islice(documents, BLOCK)):
        content: Any = [d.content for d in block]
        yield Block(
            [d.id for d in block], _matrix(content, column) if column else content, [d.labels for d in block]
        )


def check_kind(kind: str, model: LinearModel) -> None:
    trained_on = "vectors" if model.weighting is None else "texts"
    given = "vectors" if kind == "vectors" else "texts"
    if given != trained_on:
        raise InputError(f"the model was trained on {trained_on}, and the data are {given}")


def _matrix(rows: list[tuple[list[int], list[float]]], column: dict[str, int]) -> sp.csr_matrix:
    """Vectors in the model's columns. Features it has never seen have no weight: they are left out."""
    indptr: list[int] = [0]
    indices: list[int] = []
    data: list[float] = []
    for ids, values in rows:
        known = sorted((column[str(i)], v) for i, v in zip(ids, values, strict=True) if str(i) in column)
        indices += [j for j, _ in known]
        data += [v for _, v in known]
        indptr.append(len(indices))
    shape = (len(rows), len(column))
    return sp.csr_matrix((np.array(data), np.array(indices, np.int32), np.array(indptr, np.int32)), shape=shape)


def blocks_of(corpus: Corpus, model: LinearModel) -> Iterator[tuple[Any, list[tuple[str, ...]]]]:
    """(documents, labels) of a corpus that has been read, in blocks."""
    check_kind(corpus.kind, model)
    documents: Any = corpus.documents
    if corpus.kind == "vectors":
        column = {name: j for j, name in enumerate(model.feature_names)}
        theirs = np.array([column.get(name, -1) for name in corpus.feature_names or ()])
        coo = sp.coo_matrix(documents)
        kept = theirs[coo.col] >= 0
        shape = (len(corpus), len(column))
        documents = sp.csr_matrix((coo.data[kept], (coo.row[kept], theirs[coo.col[kept]])), shape=shape)
    for start in range(0, len(corpus), BLOCK):
        rows = slice(start, start + BLOCK)
        yield documents[rows], list(corpus.labels[rows])
