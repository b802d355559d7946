"""JSON lines: one object per line, with `text`, `labels` or `label`, and `id`, `split`, `weight`.

A file that is one JSON array of such objects is read as a whole. Records that Label Studio or Argilla exported are
known by their form (exports.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lapwing.corpus.document import Document
from lapwing.corpus.fields import BadRecord, short
from lapwing.corpus.members import Member
from lapwing.corpus.reader import is_broken
from lapwing.corpus.record import RecordReader
from lapwing.errors import CorpusError
from lapwing_formats.label_tools import plain_record


class JsonLinesReader(RecordReader):
    extensions = (".jsonl", ".ndjson", ".json")

    def documents(self, member: Member) -> Iterator[Document]:
        file_split = self.split_of(member)
        for number, record in self._records(member):
            if isinstance(record, BadRecord):
                self.bad(str(record), member, number)
                continue
            try:
                document = self.document(plain_record(record), f"{member.base}:{number}", file_split)
            except BadRecord as error:
                self.bad(str(error), member, number)
            else:
                yield document

    def _records(self, member: Member) -> Iterator[tuple[int, dict[str, Any] | BadRecord]]:
        """Records with their lines, or what is wrong with them; those of an array have their places."""
        with member.open() as stream:
            lines = self.lines(member, stream)
            for number, line in enumerate(lines, start=1):
                if number == 1 and line.lstrip().startswith("["):
                    yield from self._array([line, *lines], member)
                    return
                if is_broken(line):
                    self.bad_encoding(member, number, line)
                    continue
                if not line.strip():
                    continue
                try:
                    yield number, _parse(line)
                except BadRecord as error:
                    yield number, error

    def _array(self, lines: list[str], member: Member) -> Iterator[tuple[int, dict[str, Any] | BadRecord]]:
        try:
            records = json.loads("".join(lines), object_pairs_hook=_once)
        except (ValueError, RecursionError, BadRecord) as error:
            raise CorpusError(
                f"expected an array of objects, or a JSON object on one line, got {short(lines[0].strip())} ({error})",
                member.where,
                getattr(error, "lineno", None),
            ) from None
        for place, record in enumerate(records, start=1):
            if isinstance(record, dict):
                yield place, record
            else:
                yield place, BadRecord(f"expected an array of JSON objects, got {short(record)}")


def _parse(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        got = short(line.strip())
        raise BadRecord(f"expected a JSON object on one line, got {got} ({error})") from None
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
