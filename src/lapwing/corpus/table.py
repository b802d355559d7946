"""CSV and TSV: a header row, then a document per row.

Columns found by themselves, by name in any case: `text`; one of label, labels, category, class, target;
`id`, `split`, `weight`. In a file of two columns where only one of text and label has such a name, the
other column is the other one; a file of one column is all text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import NamedTuple

from lapwing.corpus.document import Document
from lapwing.corpus.fields import (
    LABEL_NAMES,
    BadRecord,
    label_name,
    label_set,
    several_labels,
    short,
    sound,
    split_name,
    weight_value,
)
from lapwing.corpus.members import Member, Source
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import COLUMNS, PEEK, Reader, Tally, any_broken, log
from lapwing.errors import CorpusError, some

SEPARATORS = ("\t", ",", ";", "|")
OTHER_NAMES = ("id", "split", "weight")


class CsvReader(Reader):
    extensions: tuple[str, ...] = (".csv",)
    delimiter = ","
    takes: tuple[str, ...] = ("encoding", *COLUMNS, "quote", "header")

    def __init__(self, source: Source, options: ReadOptions, tally: Tally) -> None:
        super().__init__(source, options, tally)
        self.exclusive = self.options.label_separator is None

    def documents(self, member: Member) -> Iterator[Document]:
        file_split = self.split_of(member)
        columns: Positions | None = None
        with member.open() as stream:
            for number, row in self._rows(member, stream):
                if columns is None:
                    columns = choose_columns(row, self.options, member.where, number)
                    if self.options.header:
                        self.names = [name.strip() for name in row]
                        continue
                if any_broken(row):
                    self.bad_encoding(member, number, " ".join(row))
                    continue
                with self.reporting(member, number):
                    yield self._document(row, columns, f"{self.name_of(member)}:{number}", file_split)

    def _rows(self, member: Member, stream: io.BufferedReader) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not empty, with the number of the line each begins on."""
        longest = self.options.max_document
        csv.field_size_limit(max(csv.field_size_limit(), min(longest, 2**31 - 1)))  # its own is less than a document
        quote = self.options.quote
        size = 0

        def lines() -> Iterator[str]:
            nonlocal size
            for line in self.lines(member, stream, newline=""):
                size += len(line)
                if size > longest:  # an unclosed quote takes in all that follows
                    raise csv.Error(f"a row of more than {longest} characters; raise --max-document to have it")
                yield line

        head = stream.peek(PEEK)
        header = head.decode(self.encoding_of(head), "replace").lstrip() if self.options.header else ""
        rows = csv.reader(
            lines(),
            delimiter=separator_of(header, self.delimiter),
            quotechar=quote or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            strict=True,
        )
        while True:
            begins, size = rows.line_num + 1, 0
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                hint = ' (where quotes have no meaning, use quote="")' if quote else ""
                self.bad(f"expected a row of well-quoted fields, got: {error}{hint}", member, begins)
            else:
                if row:
                    yield begins, row

    def _document(self, row: list[str], columns: Positions, default_id: str, file_split: str) -> Document:
        if len(row) != columns.width:
            raise BadRecord(
                f"expected {columns.width} columns, got {len(row)}: {short(row)}; "
                "fields that contain the separator or a line end must be quoted"
            )

        def cell(column: int | None) -> str:
            return "" if column is None else row[column]

        separator = self.options.label_separator
        if not cell(columns.label).strip() and (there := [row[i] for i in columns.other_labels if row[i].strip()]):
            raise BadRecord(f"expected a label in one column, got {short(there[0])} in another; name it (label_column)")
        labels = [cell(columns.label)] if separator is None else several_labels(cell(columns.label), separator)
        return Document(
            sound(cell(columns.id)) or default_id,
            self.with_columns(row[columns.text], lambda name: row[columns.beside[name]]),
            label_set(map(label_name, labels)),
            split_name(cell(columns.split).strip()) or file_split,
            weight_value(cell(columns.weight).strip()),
            self._time(cell(columns.time), columns.time),
            sound(cell(columns.group).strip()),
        )

    def _time(self, value: str, column: int | None) -> str:
        if column is not None and not value.strip():
            raise BadRecord("expected a value in the column that time_column names, got an empty cell")
        return sound(value.strip())


def separator_of(header: str, own: str) -> str:
    """The separator of a format, or where a header has none the one that it has: European spreadsheets write `;`."""
    names = re.sub('"[^"]*"', "", re.split(r"[\r\n]", header, maxsplit=1)[0])
    return next((one for one in (own, *SEPARATORS) if one in names), own)


class TsvReader(CsvReader):
    extensions = (".tsv", ".tab")
    delimiter = "\t"


class Positions(NamedTuple):
    """Positions from 0.

    width          how many columns every row must have
    beside         columns of other values by name
    other_labels   columns that could hold the label, too
    """

    width: int
    beside: dict[str, int]
    other_labels: list[int]
    text: int
    label: int | None
    id: int | None
    split: int | None
    weight: int | None
    time: int | None
    group: int | None


def choose_columns(first: list[str], options: ReadOptions, where: str, line: int) -> Positions:
    """Which column is which, from the first row and the options."""
    names = [name.strip() for name in first] if options.header else [""] * len(first)
    lower = [name.lower() for name in names]

    def known(*wanted: str) -> int | None:
        """The first of these names, which must stand once."""
        name = next((name for name in wanted if name in lower), None)
        if name is None:
            return None
        if lower.count(name) > 1:
            at = " and ".join(str(i) for i, one in enumerate(lower, 1) if one == name)
            option = "text_column" if name == "text" else "label_column" if name in LABEL_NAMES else None
            hint = f"say which with {option} and its number" if option else "rename all but one"
            raise CorpusError(f"expected one column named {name!r}, found it as columns {at}; {hint}", where, line)
        return lower.index(name)

    text = _given(options.text_column, "text_column", names, where, line)
    label = _given(options.label_column, "label_column", names, where, line)
    other_labels: list[int] = []
    # A column asked for by the user is not found a second time by its name.
    if text is None and (column := known("text")) != label:
        text = column
    if label is None and (column := known(*LABEL_NAMES)) != text:
        label = column
        other_labels = [i for i, name in enumerate(lower) if name in LABEL_NAMES and i not in (text, label)]
        if label is not None and other_labels:
            others = some([lower[i] for i in other_labels])
            log.warning("! %s: labels are taken from the column %r, and not from %s", where, names[label], others)
    plain = [i for i, name in enumerate(lower) if i not in (text, label) and name not in OTHER_NAMES]
    if text is None and len(plain) == 1 and len(names) <= 2:
        text = plain.pop()
    if text is None:
        listed = short(", ".join(names)) if options.header else f"{len(names)} without names"
        raise CorpusError(
            f"expected a column named 'text', found columns {listed}; say which one holds the text with "
            "text_column (--text-column), or name the format (--format) if this is no table",
            where,
            line,
        )
    if label is None and len(plain) == 1 and len(names) == 2 and options.header:
        label = plain.pop()
    rest = [None if i in (text, label) else i for i in map(known, OTHER_NAMES)]
    asked = [_given(getattr(options, name), name, names, where, line) for name in ("time_column", "group_column")]
    beside = {}
    for option in ("numeric_columns", "categorical_columns"):
        for name in getattr(options, option):
            beside[name] = _given(name, option, names, where, line) or 0
    return Positions(len(names), beside, other_labels, text, label, *rest, *asked)


def _given(column: str | int | None, option: str, names: list[str], where: str, line: int) -> int | None:
    """The position of a column that an option names by header or by number from 1."""
    if column is None:
        return None
    if isinstance(column, str):
        if names.count(column) == 1:
            return names.index(column)
        lower = [name.lower() for name in names]
        if lower.count(column.lower()) == 1:
            return lower.index(column.lower())
        if column.lower() in lower:
            raise CorpusError(
                f"expected one column named {column!r}, found several; give {option} a number", where, line
            )
    text = str(column).strip()
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if 1 <= number <= len(names):
        return number - 1
    raise CorpusError(
        f"expected {option} to be one of the columns {short(', '.join(names))}, or a number from 1 to "
        f"{len(names)}, got {short(column)}",
        where,
        line,
    )
