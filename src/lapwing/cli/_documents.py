"""Documents for a model that is already there: in blocks, whatever their format."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import click
import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus, Document, stream
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import ENCODING_HINT, decoded_lines, is_broken
from lapwing.errors import CorpusError, InputError
from lapwing.model import LinearModel

BLOCK = 2048
STDIN = "standard input"

log = logging.getLogger("lapwing")


class Block(NamedTuple):
    ids: list[str]
    documents: list[str] | sp.csr_matrix
    labels: list[tuple[str, ...]]


def standard_input(expected: str) -> IO[bytes]:
    """The bytes of standard input; someone at a terminal is told what is waited for."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError(f"expected {expected} on standard input, which is closed; give a file or pipe text in")
    if sys.stdin.isatty():
        click.echo(f"reading {expected} from the terminal; end with Ctrl-D", err=True)
    return sys.stdin.buffer


def streamed(data: str, reading: dict[str, Any], model: LinearModel, split: str | None) -> Iterator[Block]:
    """Blocks of DATA in bounded memory; "-" is standard input, lines of text unless a format is given.

    A model that decides over a whole batch gets all of DATA as one block.
    """
    block = BLOCK if model.decision == "threshold" else sys.maxsize
    if data == "-" and reading["format"] == "auto":
        check_kind("text", model)
        # Whoever types a line waits for its answer.
        size = 1 if sys.stdin is not None and sys.stdin.isatty() else block
        yield from _blocks(_text_lines(reading["encoding"], reading["skip_bad"]), "text", model, size)
        return
    if split not in (None, "all"):
        reading = {**reading, "split": split}
    source = standard_input(f"documents in format {reading['format']}") if data == "-" else data
    documents = stream(source, labels_required=False, **reading)
    check_kind(documents.kind, model)
    yield from _blocks(documents, documents.kind, model, block)


def _text_lines(encoding: str | None, skip_bad: bool) -> Iterator[Document]:
    """One text per line of standard input; its id is the line's number."""
    ReadOptions(encoding=encoding)  # an encoding that does not exist says so
    number = skipped = 0
    lines = decoded_lines(standard_input("texts, one per line,"), STDIN, encoding or "utf-8", "\n")  # type: ignore[arg-type]
    for number, line in enumerate(lines, 1):
        if is_broken(line):
            if not skip_bad:
                expected = encoding or "UTF-8"
                raise CorpusError(f"expected {expected}, got bytes that are not; {ENCODING_HINT}", STDIN, number)
            skipped += 1
        else:
            yield Document(str(number), line.rstrip("\r\n"), ())
    if not number:
        raise CorpusError("expected texts, one per line, got nothing; pipe some in or name a file", STDIN)
    if skipped:
        log.warning("%s: %d broken lines skipped", STDIN, skipped)


def _blocks(documents: Iterator[Document], kind: str, model: LinearModel, size: int) -> Iterator[Block]:
    vectors = kind == "vectors"
    column = {name: j for j, name in enumerate(model.feature_names)} if vectors else {}
    first = True
    while block := list(islice(documents, size)):
        content: Any = [d.content for d in block]
        if vectors:
            _warn_if_strange(chain.from_iterable(ids for ids, _ in content), column, model, first)
            content = _matrix(content, column)
        first = False
        yield Block([d.id for d in block], content, [d.labels for d in block])


def check_kind(kind: str, model: LinearModel) -> None:
    trained_on = "vectors" if model.weighting is None else "texts"
    given = "vectors" if kind == "vectors" else "texts"
    if given != trained_on:
        how = "give svmlight vectors (--format svmlight)" if trained_on == "vectors" else "give the texts themselves"
        raise InputError(f"the model was trained on {trained_on}, and the data are {given}; {how}")


def _warn_if_strange(ids: Iterator[Any], column: dict[str, int], model: LinearModel, first: bool) -> None:
    """Features that the model does not have are left out; where it has none of them, say so."""
    if first and not any(str(i) in column for i in ids):
        few = ", ".join(model.feature_names[:3])
        log.warning(
            "no feature of the first documents is one of the model's (%s, …): nothing speaks for any of them",
            few,
        )


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
        names = corpus.feature_names or ()
        _warn_if_strange(iter(names), column, model, first=True)
        theirs = np.array([column.get(name, -1) for name in names], dtype=np.int64)
        coo = sp.coo_matrix(documents)
        kept = theirs[coo.col] >= 0
        shape = (len(corpus), len(column))
        documents = sp.csr_matrix((coo.data[kept], (coo.row[kept], theirs[coo.col[kept]])), shape=shape)
    for start in range(0, len(corpus), BLOCK):
        rows = slice(start, start + BLOCK)
        yield documents[rows], list(corpus.labels[rows])
