"""Mail: .eml files in a folder per class, mbox files, each a class, or one mbox.

The text is the subject and the body: its plain parts, else its HTML parts without markup; attachments are left out.
`label_column`, `time_column` and `group_column` name headers: `X-Gmail-Labels` holds labels with commas between them,
`Date` becomes a time in UTC, and the group `thread` is the first message that a message refers to, or its own id.
"""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lapwing.corpus.document import Document
from lapwing.corpus.fields import label_name, label_set, short, sound, split_of_folder
from lapwing.corpus.folder import FolderReader
from lapwing.corpus.members import Entry, Member
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import ABOUT

if TYPE_CHECKING:
    from email.message import EmailMessage  # where it is needed: importing it takes longer than reading a small corpus

BEGINS = re.compile(rb"^From .*\r?\n", re.MULTILINE)
MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^<>]*>", re.IGNORECASE | re.DOTALL)


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
        for number, message in enumerate(messages(content) if several else [content], start=1):
            if len(message) > self.options.max_document:
                self.too_long(member, number)
                continue
            try:
                yield self._document(message, labels, split, f"{member.base}:{number}" if several else member.base)
            except (ValueError, LookupError, AttributeError, TypeError) as error:  # what the parser says to nonsense
                self.bad(f"expected a mail message, got one that cannot be read: {error}", member, number)

    def _document(self, content: bytes, labels: tuple[str, ...], split: str, default_id: str) -> Document:
        from email import message_from_bytes, policy

        message: Any = message_from_bytes(content, policy=policy.default)
        options = self.options
        if options.label_column is not None:
            given = str(message.get(str(options.label_column), ""))
            several = given.split(options.label_separator or ",")
            labels = label_set(map(label_name, several))
            self.exclusive = self.exclusive and len(labels) < 2 and options.label_separator is None
        return Document(
            sound(str(message.get("Message-ID") or default_id).strip()),
            sound(text_of(message)),
            labels,
            split,
            1.0,
            _moment(message, options),
            _group(message, options, default_id),
        )

    def finish(self) -> None:
        """Encodings are the messages' own."""

    @property
    def encoding(self) -> str:
        return "each message in its own encoding"


def messages(content: bytes) -> Iterator[bytes]:
    """The messages of an mbox: each begins with a line `From `, after an empty one."""
    starts = [found.span() for found in BEGINS.finditer(content) if _after_empty(content, found.start())]
    for (_, begin), (end, _) in pairwise([*starts, (len(content), 0)]):
        yield re.sub(rb"^>(>*From )", rb"\1", content[begin:end], flags=re.MULTILINE)


def _after_empty(content: bytes, at: int) -> bool:
    return at == 0 or content[max(at - 4, 0) : at].endswith((b"\n\n", b"\r\n\r\n"))


def text_of(message: EmailMessage) -> str:
    """Subject and body."""
    parts = [
        part for part in message.walk() if not part.is_multipart() and part.get_content_disposition() != "attachment"
    ]
    plain = [_content(part) for part in parts if part.get_content_type() == "text/plain"]
    if not any(map(str.strip, plain)):
        plain = [unescape(MARKUP.sub(" ", _content(part))) for part in parts if part.get_content_type() == "text/html"]
    subject = str(message.get("Subject", "")).strip()
    return "\n\n".join(part.strip() for part in (subject, *plain) if part.strip())


def _content(part: Any) -> str:
    try:
        return str(part.get_content())
    except (LookupError, ValueError, KeyError):  # an unknown charset, or none that fits
        data = part.get_payload(decode=True) or b""
        return data.decode("utf-8", "replace") if isinstance(data, bytes) else ""


def _moment(message: EmailMessage, options: ReadOptions) -> str:
    if options.time_column is None:
        return ""
    from email.utils import parsedate_to_datetime

    value = str(message.get(str(options.time_column), ""))
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        raise ValueError(f"the header {options.time_column} holds no date: {short(value)}") from None
    zone = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return zone.astimezone(datetime.UTC).isoformat()


def _group(message: EmailMessage, options: ReadOptions, default_id: str) -> str:
    if options.group_column is None:
        return ""
    if str(options.group_column).lower() == "thread":
        before = str(message.get("References") or message.get("In-Reply-To") or message.get("Message-ID") or default_id)
        return sound(before.split()[0]) if before.split() else default_id
    return sound(str(message.get(str(options.group_column), "")))
