"""SMART records, as OHSUMED was first released: `.I`, then `.U .S .M .T .P .W .A` fields.

The text is the title and the abstract, the labels are the MeSH headings without qualifiers, the id is
`.U` where there is one, else `.I`. Files named ohsumed.87 and .88 are training, .89 to .91 test (GLM07).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence

from lapwing.corpus.document import Document
from lapwing.corpus.fields import label_set, sound
from lapwing.corpus.members import Entry, Member, Source
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import Reader, Tally
from lapwing_formats.records import letters, records

log = logging.getLogger(__name__)

OHSUMED_FILE = re.compile(r"(.*/)?ohsumed\.(\d\d)", re.IGNORECASE)
OHSUMED_SPLITS = {"87": "train", "88": "train", "89": "test", "90": "test", "91": "test"}


class SmartReader(Reader):
    takes = ("encoding", "smart_require")
    extensions = (".smart",)
    file_name = OHSUMED_FILE
    unmistakable = True

    @classmethod
    def begins(cls, text: str, lines: Sequence[str]) -> bool:
        return not letters(text, lines) <= {"I", "W"}

    def __init__(self, source: Source, options: ReadOptions, tally: Tally) -> None:
        super().__init__(source, options, tally)
        self._incomplete = 0

    def choose(self, entries: list[Entry]) -> list[Entry]:
        return [entry for entry in entries if OHSUMED_FILE.fullmatch(entry.name)] or super().choose(entries)

    def documents(self, member: Member) -> Iterator[Document]:
        year = OHSUMED_FILE.fullmatch(member.base)
        split = OHSUMED_SPLITS.get(year[2], "") if year else self.split_of(member)
        required = self.options.smart_require.upper()
        with member.open() as stream:
            for line, fields, problem in records(self.lines(member, stream, gathered=True), self.options.max_document):
                if problem:
                    self.bad(problem, member, line)
                elif not all(fields.get(letter) for letter in required):
                    self._incomplete += 1
                else:
                    text = "\n".join(fields[letter] for letter in "TW" if fields.get(letter))
                    name = fields.get("U") or fields["I"]
                    yield Document(sound(name), text, headings(fields.get("M", "")), split)

    def finish(self) -> None:
        if self._incomplete:
            required = self.options.smart_require
            log.info("%s: %d records lack one of the fields %s", self.source.name, self._incomplete, required)


def headings(field: str) -> tuple[str, ...]:
    """`Allied Health Personnel/*; Electric Countershock/*; Human.` -> the three bare headings."""
    items = " ".join(field.split()).removesuffix(".").split(";")
    return label_set(item.partition("/")[0].replace("*", "").strip() for item in items)
