"""Documents for a model that is already there: in blocks, whatever their format."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import click
import scipy.sparse as sp

from lapwing.cli._output import some
from lapwing.corpus import Corpus, Document, stream
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import ENCODING_HINT, Tally, decoded_lines, is_broken, longest
from lapwing.errors import CorpusError, InputError
from lapwing.model import Columns, LinearModel

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
        yield from _blocks(_text_lines(ReadOptions.of(_known(reading))), "text", model, size)
        return
    if split not in (None, "all"):
        reading = {**reading, "split": split}
    source = standard_input(f"documents in format {reading['format']}") if data == "-" else data
    documents = stream(source, labels_required=False, **reading)
    check_kind(documents.kind, model)
    yield from _blocks(documents, documents.kind, model, block)


def _known(reading: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reading.items() if name != "format"}


def _text_lines(options: ReadOptions) -> Iterator[Document]:
    """One text per line of standard input; its id is the line's number."""
    tally = Tally(options.skip_bad)
    number = 0
    left_out = 0

    def bad(expected: str, line: int) -> None:
        nonlocal left_out
        left_out = line
        tally.bad(CorpusError(f"expected {expected}", STDIN, line))

    encoding = options.encoding or "utf-8"
    lines = decoded_lines(
        standard_input("texts, one per line,"), STDIN, encoding, "\n", options.max_document,  # type: ignore[arg-type]
        lambda line: bad(longest(options.max_document), line),
    )  # fmt: skip
    for number, line in enumerate(lines, 1):
        if is_broken(line):
            bad(f"{options.encoding or 'UTF-8'}, got bytes that are not; {ENCODING_HINT}", number)
        elif number != left_out:
            yield Document(str(number), line.rstrip("\r\n"), ())
    if not number:
        raise CorpusError("expected texts, one per line, got nothing; pipe some in or name a file", STDIN)
    tally.report(STDIN)


def _blocks(documents: Iterator[Document], kind: str, model: LinearModel, size: int) -> Iterator[Block]:
    columns = Columns(model.feature_names) if kind == "vectors" else None
    first = True
    while block := list(islice(documents, size)):
        content: Any = [d.content for d in block]
        if columns is not None:
            if first:
                _warn_if_strange(chain.from_iterable(ids for ids, _ in content), columns, model)
            content = columns.of_rows(content)
        first = False
        yield Block([d.id for d in block], content, [d.labels for d in block])


def check_kind(kind: str, model: LinearModel) -> None:
    trained_on = "vectors" if model.weighting is None else "texts"
    given = "vectors" if kind == "vectors" else "texts"
    if given != trained_on:
        how = "give svmlight vectors (--format svmlight)" if trained_on == "vectors" else "give the texts themselves"
        raise InputError(f"the model was trained on {trained_on}, and the data are {given}; {how}")


def check_labels(corpus: Corpus, model: LinearModel) -> None:
    """Without a label that the model knows there is nothing to compare."""
    found = corpus.categories()
    if not found:
        raise InputError(f"{corpus.name}: expected labelled documents, found no label; `lapwing classify` needs none")
    if not set(found) & set(model.classes):
        raise InputError(
            f"{corpus.name}: expected labels of the model ({some(model.classes)}), found {some(found)}; "
            "evaluate with data it was made for, or check --label-column and --label-separator"
        )


def _warn_if_strange(names: Iterable[Any], columns: Columns, model: LinearModel) -> None:
    """Features that the model does not have are left out; where it has none of them, say so."""
    if not columns.knows_any(names):
        few = ", ".join(model.feature_names[:3])
        log.warning(
            "no feature of the first documents is one of the model's (%s, …): nothing speaks for any of them",
            few,
        )


def in_columns(corpus: Corpus, model: LinearModel) -> Any:
    """The documents of a corpus as the model takes them: texts, or vectors in its columns."""
    check_kind(corpus.kind, model)
    if corpus.kind != "vectors":
        return corpus.documents
    columns, names = Columns(model.feature_names), corpus.feature_names or ()
    _warn_if_strange(names, columns, model)
    return columns.of_matrix(corpus.documents, names)


def blocks_of(corpus: Corpus, model: LinearModel) -> Iterator[tuple[Any, list[tuple[str, ...]]]]:
    """(documents, labels) of a corpus that has been read, in blocks."""
    documents = in_columns(corpus, model)
    for start in range(0, len(corpus), BLOCK):
        rows = slice(start, start + BLOCK)
        yield documents[rows], list(corpus.labels[rows])
