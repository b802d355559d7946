"""RIS, in which library catalogues, citation indexes, Zotero and EndNote write bibliographic records.

A field begins with two characters, two blanks and a hyphen; lines without go on with the field before. A record is what
stands from `TY  - ` to `ER  - `; what a program says of itself before the first one is passed over. Its text is title
and abstract (TI or T1, AB or N2), its labels are the keywords (KW), of which a field may hold several, a line each; its
id is the first of ID, AN and DO. Options that name columns name fields: label_column="C1", time_column="PY".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lapwing.corpus.document import Document
from lapwing.corpus.fields import BadRecord, several_labels, short
from lapwing.corpus.members import Member
from lapwing.corpus.reader import is_broken
from lapwing.corpus.reader import longest as too_long
from lapwing.corpus.record import RecordReader

FIELD = re.compile(r"([A-Z][A-Z0-9])  - ?(.*)", re.DOTALL)
RECORD = re.compile(r"^TY  - \S", re.MULTILINE)
TITLES, ABSTRACTS, IDS = ("TI", "T1"), ("AB", "N2"), ("ID", "AN", "DO")

Fields = dict[str, list[str]]


class RisReader(RecordReader):
    extensions = (".ris",)

    @classmethod
    def begins(cls, text: str, lines: Sequence[str]) -> bool:
        return RECORD.search(text) is not None

    def documents(self, member: Member) -> Iterator[Document]:
        split = self.split_of(member)
        with member.open() as stream:
            lines = self.lines(member, stream, gathered=True)
            for number, fields, problem in records(lines, self.options.max_document):
                with self.reporting(member, number):
                    if problem:
                        raise BadRecord(problem)
                    yield self.document(self._plain(fields), f"{self.name_of(member)}:{number}", split)

    def _plain(self, fields: Fields) -> dict[str, Any]:
        """The fields by their names, and what they mean by the names of JSON lines."""
        separator = self.options.label_separator or "\n"
        keywords = [one for value in fields.get("KW", ()) for one in several_labels(value, separator)]
        record: dict[str, Any] = {tag: values[0] if len(values) == 1 else values for tag, values in fields.items()}
        if text := "\n".join(filter(None, (_first(fields, TITLES), _first(fields, ABSTRACTS)))):
            record["text"] = text
        return record | {"labels": keywords, "id": _first(fields, IDS)}


def _first(fields: Fields, tags: tuple[str, ...]) -> str:
    """What stands in the first of these fields that is there; "" where none is."""
    return next(("\n".join(fields[tag]) for tag in tags if any(fields.get(tag, ()))), "")


def records(lines: Iterable[str], longest: int) -> Iterator[tuple[int, Fields, str]]:
    """The line each record begins on, the values of its fields, and what is wrong with it, "" for nothing."""
    begins, size, problem, seen = 0, 0, "", False
    fields: Fields = {}
    current: list[str] = []
    for number, line in enumerate(lines, start=1):
        field = FIELD.match(line)
        tag = field[1] if field else ""
        if begins and tag == "TY":
            yield begins, fields, problem or "expected a record to end with ER  -, found the next one"
            begins = 0
        if not begins:
            if not line.strip() or (not seen and not field):
                continue
            seen = True
            begins, size, problem, fields, current = number, 0, "", {}, [""]
            if tag != "TY":
                problem = f"expected a record to begin with TY  -, got {short(line.strip())}"
        size += len(line)
        if tag == "ER":
            yield begins, fields, problem
            begins = 0
        elif size > longest:
            problem = problem or f"expected {too_long(longest)}"
        elif is_broken(line):
            problem = problem or f"expected text in the right encoding, line {number} is not; name it with --encoding"
        elif field:
            current = fields.setdefault(tag, [])
            current.append(field[2].strip())
        elif line.strip():
            current[-1] = f"{current[-1]}\n{line.strip()}"
    if begins:
        yield begins, fields, problem or "expected a record to end with ER  -, found the end of the file"
