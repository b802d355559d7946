"""A document from a record, a mapping of names to values: what JSON lines, Parquet and exports have in common."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

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
from lapwing.corpus.members import Source
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import COLUMNS, Reader, Tally
from lapwing.errors import CorpusError


class RecordReader(Reader):
    """`label` holds one label and `labels` a list; a source that uses lists is multi-label."""

    exclusive = True
    takes: tuple[str, ...] = ("encoding", *COLUMNS)

    def __init__(self, source: Source, options: ReadOptions, tally: Tally) -> None:
        super().__init__(source, options, tally)
        group = [] if options.group_column is None else [str(options.group_column)]
        self._unseen = [*options.numeric_columns, *options.categorical_columns, *group]

    def finish(self) -> None:
        """A record may lack a key, but not all of them."""
        if self._unseen:
            raise CorpusError(
                f"expected values under {self._unseen[0]!r}, found keys {short(sorted(self.names))}", self.source.where
            )

    def document(self, record: Mapping[str, Any], default_id: str, file_split: str) -> Document:
        self.names = self.names or tuple(record)
        self._unseen = [column for column in self._unseen if column not in record]
        key = str(self.options.text_column or "text")
        text = record.get(key)
        if not isinstance(text, str):
            got = f"got {short(text)}" if key in record else f"found keys {short(sorted(record))}"
            raise BadRecord(f"expected a string under {key!r}, {got}; text_column names another key")
        return Document(
            _id(_value(record, "id"), default_id),
            self.with_columns(sound(text), record.get),
            self._labels(record),
            split_name(_value(record, "split")) or file_split,
            weight_value(_value(record, "weight")),
            _given(record, self.options.time_column, "time_column"),
            _given(record, self.options.group_column),
        )

    def _labels(self, record: Mapping[str, Any]) -> tuple[str, ...]:
        key = self.options.label_column
        keys = dict.fromkeys(["labels", *LABEL_NAMES]) if key is None else [str(key)]
        given = {key: self._label_set(record[key]) for key in keys if record.get(key) is not None}
        if len(set(given.values())) > 1:
            said = " and ".join(f"{short(record[key])} under {key!r}" for key in given)
            raise BadRecord(f"expected one key of labels, got {said}; label_column says which it is")
        return next(iter(given.values()), ())

    def _label_set(self, value: Any) -> tuple[str, ...]:
        separator = self.options.label_separator
        if isinstance(value, str) and separator is not None:
            value = several_labels(value, separator)
        if isinstance(value, list):
            self.exclusive = False
            return label_set(map(label_name, value))
        return label_set([label_name(value)])


def _value(record: Mapping[str, Any], key: str) -> Any:
    """What stands under a key, however it is capitalised, as in the header of a table."""
    return record[key] if key in record else next((record[name] for name in record if name.lower() == key), None)


def _given(record: Mapping[str, Any], key: str | int | None, required: str = "") -> str:
    """The value of a column that an option names, as a string; "" where none is asked for, or none is required."""
    if key is None:
        return ""
    value = record.get(str(key))
    if not required and (value is None or value == "" or value != value):  # NaN is not itself
        return ""
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if not isinstance(value, str | int | float) or value == "":
        got = f"got {short(value)}" if str(key) in record else f"found keys {short(sorted(record))}"
        raise BadRecord(f"expected a string or a number under {key!r}{required and f' ({required})'}, {got}")
    return sound(str(value))


def _id(value: Any, default: str) -> str:
    if value is None or value == "":
        return default
    if isinstance(value, (str, int, float)):
        return sound(str(value))
    raise BadRecord(f"expected an id that is a string or a number, got {short(value)}")
