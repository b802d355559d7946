"""Mail: .eml files in a folder per class, with texts among them or not; mbox files, each a class, or one mbox.

The text is the subject and the body, plain or HTML without markup, of alternatives the plain one; attachments and
attached messages are left out. An mbox is split at lines `From `, an address and a date, wherever they stand; where its
first line has no date, at lines `From ` between an empty line and a header.
`label_column`, `time_column` and `group_column` name headers: `X-Gmail-Labels` holds labels with commas between them,
`Date` becomes a time in UTC, and the group `thread` is the first message that a message refers to, or its own id.
"""

from __future__ import annotations

import codecs
import datetime
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise

from lapwing.corpus.document import Document
from lapwing.corpus.encodings import wide_encoding
from lapwing.corpus.fields import label_name, label_set, short, sound, split_of_folders
from lapwing.corpus.folder import FolderReader
from lapwing.corpus.members import Entry, Member
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import PEEK, Reader, beside
from lapwing_formats.mime import message

DAY, MONTH = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
TIME, ZONES = r"\d\d?:\d\d(?::\d\d)?", r"(?: +(?:[-+]\d{4}|\(?[A-Z]{1,5}\)?))*"
# As C's asctime writes a date, with a zone on either side of the year, and as a header has it.
DATES = rf"{MONTH} +\d\d? +{TIME}{ZONES} +\d{{4}}|(?:{MONTH} +\d\d?|\d\d? +{MONTH}) +\d{{4}} +{TIME}"
END = r"(?: +remote from \S+)? *(?:\r?\n|\Z)"
DATED = re.compile(rf"^From +(?! )[^\r\n]*? {DAY} +(?:{DATES}){ZONES}{END}".encode(), re.MULTILINE)
UNDATED = re.compile(rb"\AFrom .*\n?|(?:(?<=\n\n)|(?<=\n\r\n))From .*\n(?=[!-9;-~]+:)")

HEADER = re.compile(r"[A-Za-z0-9-]+: ")
COMMAS = re.compile(r'(?:"[^"]*"|[^,])+')  # what is between them


class MailReader(FolderReader):
    extensions = (".eml", ".mbox")
    takes = ("encoding", "folder_level", "label_from", "label_column", "time_column", "group_column", "label_separator")
    _replaced = 0

    @classmethod
    def begins(cls, text: str, lines: Sequence[str]) -> bool:
        first = f"{lines[0].strip()}\n".encode("utf-8", "replace")
        return bool(DATED.match(first) and HEADER.match(lines[1] if lines[1:] else ""))

    def choose(self, entries: list[Entry]) -> list[Entry]:
        options = self.options
        self.exclusive = True
        named = [entry for entry in entries if entry.name.lower().endswith(self.extensions)]
        others, far = beside(named, entries, self.beside)
        homes = [entry.key[:-1] for entry in named]
        astray = [entry for entry in far if not any(entry.key[: len(home)] == home for home in homes)]
        boxes = bool(named) and not astray and len(others) <= max(10, 2 * len(named))
        boxes = boxes and all(entry.name.lower().endswith(".mbox") for entry in named)
        self._of_file = boxes and not self.source.single
        self._texts: set[int] = set()  # files that are no mail, in a collection of which others are
        if boxes or any((options.label_column, options.time_column, options.group_column)):  # texts have no headers
            entries = Reader.choose(self, entries)
        elif named:
            self._texts = {entry.index for entry in others}
            entries = named + others
        if self.source.single or boxes or options.label_column is not None:
            return entries
        return super().choose(entries)

    def documents(self, member: Member) -> Iterator[Document]:
        if member.entry.index in self._texts:
            yield from super().documents(member)
            return
        with member.open() as stream:
            content = stream.read().removeprefix(codecs.BOM_UTF8)
        if wide := wide_encoding(content[:PEEK]):
            content = content.decode(wide, "replace").encode()
        begins = content.lstrip()
        several = begins.startswith(b"From ")
        if several:
            content = begins
        elif member.entry.name.lower().endswith(".mbox"):
            if begins:
                self.bad(f"expected an mbox, which begins with a line 'From ', got {short(begins[:40])}", member, 1)
            return
        labels: tuple[str, ...] = ()
        split = ""
        if member.entry.index in self._plan:
            _, planned = self._plan[member.entry.index]
            labels, split = planned.labels, planned.split
        elif not self.source.single:
            split = split_of_folders(member.entry.key[:-1])
            if self._of_file:
                labels = label_set([label_name(posixpath.splitext(member.base)[0])])
        name = self.name_of(member)
        for number, one in enumerate(messages(content) if several else [content], start=1):
            if len(one) > self.options.max_document:
                self.too_long(member, number)
                continue
            try:
                yield self._document(one, labels, split, f"{name}:{number}" if several else name)
            except (ValueError, LookupError, AttributeError, TypeError) as error:  # what the parser says to nonsense
                self.bad(f"expected a mail message, got one that cannot be read: {error}", member, number)

    def _document(self, content: bytes, labels: tuple[str, ...], split: str, default_id: str) -> Document:
        options = self.options
        headers, text = message(content, options.encoding or "utf-8")
        self._replaced += "\ufffd" in text
        if options.label_column is not None:
            given = headers.get(str(options.label_column).lower(), [])
            mark = options.label_separator
            parts = chain.from_iterable(one.split(mark) if mark else COMMAS.findall(one) for one in given)
            labels = label_set(label_name(one if mark else one.strip().strip('"')) for one in parts)
            self.exclusive = self.exclusive and len(labels) < 2 and options.label_separator is None
        return Document(
            sound(_first(headers, "message-id").strip() or default_id),
            sound(text),
            labels,
            split,
            1.0,
            _moment(headers, options),
            _group(headers, options, default_id),
        )

    def finish(self) -> None:
        """Encodings are the messages' own."""
        super().finish()
        if self._replaced:
            self.remark(
                f"{self._replaced} messages hold bytes that are not in the encoding they name, which were read as "
                "U+FFFD; name the encoding of messages that name none, or a wrong one (--encoding)"
            )

    @property
    def encoding(self) -> str:
        return "each message in its own encoding"


def messages(content: bytes) -> Iterator[bytes]:
    """The messages of an mbox, without the lines that begin them."""
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    form = DATED if DATED.match(content) else UNDATED
    starts = [line.span() for line in form.finditer(content)]
    for (_, begin), (end, _) in pairwise([*starts, (len(content), 0)]):
        yield re.sub(rb"^>(>*From )", rb"\1", content[begin:end], flags=re.MULTILINE)


def _first(headers: Mapping[str, list[str]], name: str) -> str:
    return headers.get(name.lower(), [""])[0]


def _moment(headers: Mapping[str, list[str]], options: ReadOptions) -> str:
    if options.time_column is None:
        return ""
    from email.utils import parsedate_to_datetime

    value = _first(headers, str(options.time_column))
    try:
        moment = parsedate_to_datetime(value)
        zone = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return zone.astimezone(datetime.UTC).isoformat()
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ValueError(f"the header {options.time_column} holds no date: {short(value)}") from None


def _group(headers: Mapping[str, list[str]], options: ReadOptions, default_id: str) -> str:
    if options.group_column is None:
        return ""
    name = str(options.group_column).lower()
    if name == "thread":
        named = (_first(headers, one).split() for one in ("references", "in-reply-to", "message-id"))
        return sound(next((words[0] for words in named if words), default_id))
    return sound(_first(headers, name))
