"""Records of `.I` and other one-letter fields, as SMART and the RCV1 token files have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lapwing.corpus.reader import is_broken
from lapwing.corpus.reader import longest as too_long

FIELD = re.compile(r"^\.([A-Z])(?=\s|$)", re.MULTILINE)
MARKER = re.compile(r"\.([A-Z])(?:[ \t]+(.*))?\s*", re.DOTALL)


def letters(text: str, lines: Sequence[str]) -> set[str]:
    """The fields of a file that begins with a record, {} of another one."""
    return set(FIELD.findall(text)) if re.match(r"\.I\s", f"{lines[0].strip()}\n") else set()


class FieldRecord(NamedTuple):
    """One record: the line it begins on, its fields by letter, or what is wrong with it."""

    line: int
    fields: dict[str, str]
    problem: str = ""


def records(lines: Iterable[str], longest: int, letters: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ") -> Iterator[FieldRecord]:
    """Records in a stream of lines. A field's content stands on its marker's line, the next ones, or both."""
    begins = 0
    problem = ""
    fields: dict[str, list[str]] = {}
    current: list[str] | None = None
    size = 0
    for number, line in enumerate(lines, start=1):
        size += len(line)
        marker = MARKER.fullmatch(line) if line.startswith(".") else None
        if marker is None:
            if size > longest:
                problem = problem or f"expected {too_long(longest)}"
            elif current is not None:
                current.append(line)
            elif line.strip() and not problem:
                problem, begins = f"expected a record to begin with .I, got {line.strip()[:40]!r}", number
        elif marker[1] == "I":
            if begins:
                yield _record(begins, fields, problem)
            begins, problem, fields, size = number, "", {}, 0
            current = fields.setdefault("I", [])
        else:
            if not begins:
                problem, begins = f"expected a record to begin with .I, got .{marker[1]}", number
            if marker[1] not in letters and not problem:
                problem = f"expected the fields {', '.join('.' + x for x in letters)}, got .{marker[1]}"
            current = fields.setdefault(marker[1], [])
        if marker is not None and marker[2] and current is not None:
            current.append(marker[2])
        if is_broken(line) and not problem:
            begins = begins or number
            problem = f"expected text in the right encoding, line {number} is not; name it with --encoding"
    if begins:
        yield _record(begins, fields, problem)


def _record(line: int, fields: dict[str, list[str]], problem: str) -> FieldRecord:
    joined = {letter: "\n".join(part.strip("\r\n") for part in parts) for letter, parts in fields.items()}
    joined = {letter: text.strip() for letter, text in joined.items()}
    if not problem and not joined.get("I"):
        problem = "expected an id after .I, found none"
    return FieldRecord(line, joined, problem)
