"""Mail: .eml files in a folder per class, mbox files, each a class, or one mbox.

The text is the subject and the body: its plain parts, else its HTML parts without markup; attachments are left out.
`label_column`, `time_column` and `group_column` name headers: `X-Gmail-Labels` holds labels with commas between them,
`Date` becomes a time in UTC, and the group `thread` is the first message that a message refers to, or its own id.
"""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from lapwing.corpus.document import Document
from lapwing.corpus.fields import label_name, label_set, short, sound, split_of_folder
from lapwing.corpus.folder import FolderReader
from lapwing.corpus.members import Entry, Member
from lapwing.corpus.mime import message
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import ABOUT

BEGINS = re.compile(rb"^From .*\r?\n", re.MULTILINE)


class MailReader(FolderReader):
    extensions = (".eml", ".mbox")

    def choose(self, entries: list[Entry]) -> list[Entry]:
        self._of_header = self.options.label_column is not None
        self.exclusive = True
        named = [entry for entry in entries if entry.name.lower().endswith(self.extensions)]
        entries = named or [entry for entry in entries if not ABOUT.fullmatch(entry.name.rpartition("/")[2])]
        boxes = all(entry.name.lower().endswith(".mbox") for entry in entries)
        self._of_file = boxes and not self.source.single
        if self.source.single or boxes or self._of_header:
            return entries
        return super().choose(entries)

    def documents(self, member: Member) -> Iterator[Document]:
        with member.open() as stream:
            content = stream.read()
        labels: tuple[str, ...] = ()
        split = ""
        if member.entry.index in self._plan:
            _, planned = self._plan[member.entry.index]
            labels, split = planned.labels, planned.split
        elif not self.source.single:
            folders = member.entry.path.split("/")[:-1]
            split = next((one for one in map(split_of_folder, reversed(folders)) if one), "")
            if self._of_file:
                labels = label_set([label_name(posixpath.splitext(member.base)[0])])
        several = content.startswith(b"From ")
        for number, one in enumerate(messages(content) if several else [content], start=1):
            if len(one) > self.options.max_document:
                self.too_long(member, number)
                continue
            try:
                yield self._document(one, labels, split, f"{member.base}:{number}" if several else member.base)
            except (ValueError, LookupError, AttributeError, TypeError) as error:  # what the parser says to nonsense
                self.bad(f"expected a mail message, got one that cannot be read: {error}", member, number)

    def _document(self, content: bytes, labels: tuple[str, ...], split: str, default_id: str) -> Document:
        headers, text = message(content)
        options = self.options
        if options.label_column is not None:
            given = headers.get(str(options.label_column).lower(), "")
            several = given.split(options.label_separator or ",")
            labels = label_set(map(label_name, several))
            self.exclusive = self.exclusive and len(labels) < 2 and options.label_separator is None
        return Document(
            sound(headers.get("message-id", "").strip() or default_id),
            sound(text),
            labels,
            split,
            1.0,
            _moment(headers, options),
            _group(headers, options, default_id),
        )

    def finish(self) -> None:
        """Encodings are the messages' own."""

    @property
    def encoding(self) -> str:
        return "each message in its own encoding"


def messages(content: bytes) -> Iterator[bytes]:
    """The messages of an mbox: each begins with a line `From `, after an empty one."""
    starts = [header.span() for header in BEGINS.finditer(content) if _after_empty(content, header.start())]
    for (_, begin), (end, _) in pairwise([*starts, (len(content), 0)]):
        yield re.sub(rb"^>(>*From )", rb"\1", content[begin:end], flags=re.MULTILINE)


def _after_empty(content: bytes, at: int) -> bool:
    return at == 0 or content[max(at - 4, 0) : at].endswith((b"\n\n", b"\r\n\r\n"))


def _moment(headers: Mapping[str, str], options: ReadOptions) -> str:
    if options.time_column is None:
        return ""
    from email.utils import parsedate_to_datetime

    value = headers.get(str(options.time_column).lower(), "")
    try:
        moment = parsedate_to_datetime(value)
        zone = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return zone.astimezone(datetime.UTC).isoformat()
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ValueError(f"the header {options.time_column} holds no date: {short(value)}") from None


def _group(headers: Mapping[str, str], options: ReadOptions, default_id: str) -> str:
    if options.group_column is None:
        return ""
    name = str(options.group_column).lower()
    if name == "thread":
        named = (headers.get(one, "").split() for one in ("references", "in-reply-to", "message-id"))
        return sound(next((words[0] for words in named if words), default_id))
    return sound(headers.get(name, ""))
