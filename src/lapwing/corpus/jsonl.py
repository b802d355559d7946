"""JSON lines: one object per line, with `text`, `labels` or `label`, and `id`, `split`, `weight`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lapwing.corpus.document import Document
from lapwing.corpus.fields import BadRecord, label_name, label_set, short, sound, split_name, weight_value
from lapwing.corpus.members import Member
from lapwing.corpus.reader import LABEL_NAMES, Reader, is_broken


class JsonLinesReader(Reader):
    """`label` holds one label and `labels` a list; a file that uses `labels` is multi-label."""

    exclusive = True
    extensions = (".jsonl", ".ndjson", ".json")

    def documents(self, member: Member) -> Iterator[Document]:
        file_split = self.split_of(member)
        with member.open() as stream:
            for number, line in enumerate(self.lines(member, stream), start=1):
                if is_broken(line):
                    self.bad_encoding(member, number, line)
                    continue
                if not line.strip():
                    continue
                try:
                    document = self._document(line, f"{member.base}:{number}", file_split)
                except BadRecord as error:
                    self.bad(str(error), member, number)
                else:
                    yield document

    def _document(self, line: str, default_id: str, file_split: str) -> Document:
        record = _parse(line)
        self.names = self.names or tuple(record)
        key = str(self.options.text_column or "text")
        text = record.get(key)
        if not isinstance(text, str):
            got = f"got {short(text)}" if key in record else f"found keys {short(sorted(record))}"
            raise BadRecord(f"expected a string under {key!r}, {got}; text_column names another key")
        return Document(
            _id(record.get("id"), default_id),
            sound(text),
            self._labels(record),
            split_name(record.get("split")) or file_split,
            weight_value(record.get("weight")),
        )

    def _labels(self, record: dict[str, Any]) -> tuple[str, ...]:
        key = self.options.label_column
        keys = [str(key)] if key is not None else ["labels", *LABEL_NAMES]
        value = next((record[key] for key in keys if key in record), None)
        if value is None:
            return ()
        separator = self.options.label_separator
        if isinstance(value, str) and separator is not None:
            value = value.split(separator)
        if isinstance(value, list):
            self.exclusive = False
            return label_set(map(label_name, value))
        return label_set([label_name(value)])


def _parse(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        hint = "; a JSON array must be written one object per line" if line.lstrip()[:1] == "[" else ""
        got = short(line.strip())
        raise BadRecord(f"expected a JSON object on one line, got {got} ({error}){hint}") from None
    if not isinstance(record, dict):
        raise BadRecord(f"expected a JSON object on every line, got {short(record)}")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; Python would take the last of several values for one key, other programs the first."""
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadRecord(f"expected every key once, got {short(twice)} repeatedly")
    return record


def _id(value: Any, default: str) -> str:
    if value is None or value == "":
        return default
    if isinstance(value, (str, int, float)):
        return sound(str(value))
    raise BadRecord(f"expected an id that is a string or a number, got {short(value)}")
