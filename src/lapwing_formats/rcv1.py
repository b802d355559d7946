"""RCV1-v2 as LYRL2004 distribute it: token files, and the topics in a qrels file beside them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from lapwing.corpus.archives import open_source
from lapwing.corpus.document import Document
from lapwing.corpus.fields import short, split_of_file
from lapwing.corpus.members import Entry, Member, Source
from lapwing.corpus.reader import Reader, is_broken
from lapwing.corpus.streams import COMPRESSION_SUFFIXES
from lapwing.errors import CorpusError
from lapwing_formats.records import letters, records

TOKEN_FILE = re.compile(r"(.*/)?lyrl2004_tokens[^/]*\.dat", re.IGNORECASE)
QRELS_NAME = "rcv1-v2.topics.qrels"


class Rcv1Reader(Reader):
    takes = ("encoding", "qrels")
    kind = "tokens"
    extensions = (".dat",)
    telling = ()
    file_name = TOKEN_FILE
    unmistakable = True

    @classmethod
    def begins(cls, text: str, lines: Sequence[str]) -> bool:
        return letters(text, lines) in ({"I"}, {"I", "W"})

    def choose(self, entries: list[Entry]) -> list[Entry]:
        self._topics = self._find_topics(entries)
        candidates = [entry for entry in entries if not entry.name.lower().endswith(".qrels")]
        named = [entry for entry in candidates if TOKEN_FILE.fullmatch(entry.name)]
        return named or super().choose(candidates)

    def documents(self, member: Member) -> Iterator[Document]:
        split = split_of_file(member.base)
        with member.open() as stream:
            for record in records(self.lines(member, stream, gathered=True), self.options.max_document, "IW"):
                if record.problem or "W" not in record.fields:
                    self.bad(record.problem or "expected .W with tokens, found none", member, record.line)
                    continue
                name = record.fields["I"]
                tokens = " ".join(record.fields["W"].split())
                yield Document(name, tokens, self._topics.get(name, ()), split)

    def _find_topics(self, entries: list[Entry]) -> dict[str, tuple[str, ...]]:
        given = self.options.qrels
        if given is not None:
            source = open_source(given)
            return self._read_topics(source, source.entries[:1])
        inside = [entry for entry in entries if entry.name.lower().endswith(".qrels")]
        inside.sort(key=lambda entry: QRELS_NAME not in entry.name.lower())
        if inside and not self.source.single:
            return self._read_topics(self.source, inside[:1])
        beside = os.path.join(os.path.dirname(self.source.where), QRELS_NAME)
        for path in (beside, *(beside + suffix for suffix in COMPRESSION_SUFFIXES)):
            if os.path.isfile(path):
                source = open_source(path)
                return self._read_topics(source, source.entries)
        if self.options.labels_required:
            raise CorpusError(
                f"expected the topics in a file {QRELS_NAME} beside the token files, found none; "
                "give its path with qrels (--qrels)",
                self.source.where,
            )
        return {}

    def _read_topics(self, source: Source, entries: list[Entry]) -> dict[str, tuple[str, ...]]:
        """Topics of every document, from lines `CATEGORY document judgement`."""
        topics_of: dict[str, set[str]] = {}
        for member in source.members({entry.index for entry in entries}):
            with member.open() as stream:
                for number, line in enumerate(self.lines(member, stream), start=1):
                    words = line.split()
                    if is_broken(line):
                        self.bad_encoding(member, number)
                    elif len(words) == 3 and words[2].lstrip("+-").isdecimal():
                        if words[2] not in ("0", "-1"):
                            topics_of.setdefault(words[1], set()).add(words[0])
                    elif words:
                        got = short(line.strip())
                        self.bad(f"expected a line `CATEGORY document 1`, got {got}", member, number)
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}  # 800,000 documents have few distinct label sets
        return {name: shared.setdefault(t := tuple(sorted(topics)), t) for name, topics in topics_of.items()}
