"""Documents for a model that is already there: in blocks, whatever their format."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import scipy.sparse as sp

from lapwing.cli._common import columns_of
from lapwing.cli._output import echo
from lapwing.corpus import Document, stream
from lapwing.corpus.encodings import wide_encoding
from lapwing.corpus.lines import labels_and_text
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.pipeline import check_taken
from lapwing.corpus.reader import ENCODING_HINT, PEEK, Tally, decoded_lines, is_broken, longest, tolerant
from lapwing.errors import CorpusError, InputError
from lapwing.evaluate.documents import check_kind, warn_if_strange
from lapwing.model import FeatureIndex, LinearModel

BLOCK = 2048
STDIN = "standard input"

log = logging.getLogger("lapwing")


class DocumentBlock(NamedTuple):
    ids: list[str]
    documents: list[str] | sp.csr_matrix
    labels: list[tuple[str, ...]]


def standard_input(expected: str) -> IO[bytes]:
    """The bytes of standard input; someone at a terminal is told what is waited for."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError(f"expected {expected} on standard input, which is closed; give a file or pipe text in")
    if sys.stdin.isatty():
        echo(f"reading {expected} from the terminal; end with Ctrl-D", err=True)
    return sys.stdin.buffer


def streamed(data: Any, reading: dict[str, Any], model: LinearModel, split: str | None) -> Iterator[DocumentBlock]:
    """Blocks of DATA in bounded memory; "-" is standard input, lines of text unless a format is given.

    A model that decides over a whole batch gets all of DATA as one block.
    """
    reading = columns_of(model, reading)
    block = BLOCK if model.decision == "threshold" else sys.maxsize
    if data == "-" and reading["format"] == "auto":
        check_kind("text", model)
        if reading["numeric_columns"] or reading["categorical_columns"]:
            columns = ", ".join((*reading["numeric_columns"], *reading["categorical_columns"]))
            raise InputError(f"the model reads {columns} beside the text; give a table, or --format jsonl or csv")
        if split not in (None, "all"):
            raise InputError(f"lines of text on standard input have no parts, got --split {split}; leave it out")
        # Whoever types a line waits for its answer.
        size = 1 if sys.stdin is not None and sys.stdin.isatty() else block
        yield from _blocks(_text_lines(ReadOptions.of(_known(reading))), "text", model, size)
        return
    if split not in (None, "all"):
        reading = {**reading, "split": split}
    source = standard_input(f"documents in format {reading['format']}") if data == "-" else data
    documents = stream(source, labels_required=False, **reading)
    check_kind(documents.kind, model)
    if documents.format == "text" and reading["format"] == "auto":
        echo(f"{documents.name}: a text per line; --format folder takes the whole file for one", err=True)
    yield from _blocks(documents, documents.kind, model, block)


def _known(reading: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reading.items() if name != "format"}


def _text_lines(options: ReadOptions) -> Iterator[Document]:
    """One text per line of standard input, labels in front left out; its id is the line's number."""
    tally = Tally(options.skip_bad)
    number = 0
    left_out = 0

    def bad(expected: str, line: int) -> None:
        nonlocal left_out
        left_out = line
        tally.bad(CorpusError(f"expected {expected}", STDIN, line))

    check_taken(options, "text", STDIN)
    source: Any = standard_input("texts, one per line,")
    head = source.peek(PEEK)[:PEEK] if hasattr(source, "peek") else b""
    lines = decoded_lines(
        source, STDIN, tolerant(options.encoding or wide_encoding(head) or "utf-8"), None, options.max_document,
        lambda line: bad(longest(options.max_document), line),
    )  # fmt: skip
    for number, line in enumerate(lines, 1):
        if is_broken(line):
            bad(f"{options.encoding or 'UTF-8'}, got bytes that are not; {ENCODING_HINT}", number)
        elif number != left_out:
            yield Document(str(number), labels_and_text(line)[1], ())
    if not number:
        raise CorpusError("expected texts, one per line, got nothing; pipe some in or name a file", STDIN)
    tally.report(STDIN)


def _blocks(documents: Iterator[Document], kind: str, model: LinearModel, size: int) -> Iterator[DocumentBlock]:
    columns = FeatureIndex(model.feature_names) if kind == "vectors" else None
    first = True
    while block := list(islice(documents, size)):
        content: Any = [d.content for d in block]
        if columns is not None:
            if first:
                warn_if_strange(chain.from_iterable(ids for ids, _ in content), columns, model)
            content = columns.of_rows(content)
        first = False
        yield DocumentBlock([d.id for d in block], content, [d.labels for d in block])
