"""JSON lines: one object per line, with `text`, `labels` or `label`, and `id`, `split`, `weight`.

A file that is one JSON array of such objects is read as a whole. Records that Label Studio or Argilla exported are
known by their form, as lapwing.records in plugins.py says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lapwing.corpus.document import Document
from lapwing.corpus.fields import BadRecord, short
from lapwing.corpus.members import Member, Source
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import Tally, is_broken
from lapwing.corpus.record import RecordReader
from lapwing.errors import CorpusError, some
from lapwing.plugins import working


class JsonLinesReader(RecordReader):
    extensions = (".jsonl", ".ndjson", ".json")

    def __init__(self, source: Source, options: ReadOptions, tally: Tally) -> None:
        super().__init__(source, options, tally)
        self._labels_from: set[str] = set()  # of an export: questions

    def documents(self, member: Member) -> Iterator[Document]:
        file_split = self.split_of(member)
        text, label = str(self.options.text_column or "text"), self.options.label_column
        for number, record in self._records(member):
            with self.reporting(member, number):
                if isinstance(record, BadRecord):
                    raise record
                for plain in working("records").values():
                    record, answers = plain(record, text, None if label is None else str(label))
                    self._labels_from |= answers
                yield self.document(record, f"{self.name_of(member)}:{number}", file_split)

    def finish(self) -> None:
        super().finish()
        if len(self._labels_from) > 1 and self.options.labels_required:
            raise CorpusError(
                f"expected labels from one question, found them from {some(sorted(self._labels_from))}; say which one "
                "holds the labels with label_column (--label-column)",
                self.source.where,
            )

    def _records(self, member: Member) -> Iterator[tuple[int, dict[str, Any] | BadRecord]]:
        """Records with their lines, or what is wrong with them; those of an array have their places."""
        with member.open() as stream:
            lines = self.lines(member, stream)
            blank = True
            for number, line in enumerate(lines, start=1):
                if blank and line.lstrip().startswith("["):
                    yield from self._array([*"\n" * (number - 1), line, *lines], member)
                    return
                blank = blank and not line.strip()
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
        broken = next((number for number, line in enumerate(lines, start=1) if is_broken(line)), None)
        if broken is not None:
            self.bad_encoding(member, broken, lines[broken - 1])
            return
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
