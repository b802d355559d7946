"""What a format's reader is: members in, documents out, broken records reported to a tally."""

from __future__ import annotations

import codecs
import io
import logging
import posixpath
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NoReturn

from lapwing.corpus.document import Document, Kind, Record
from lapwing.corpus.encodings import encoding_advice, wide_encoding
from lapwing.corpus.fields import BadRecord, level_value, number_value, sound, split_of_file, split_of_folders
from lapwing.corpus.members import Entry, Member, Source
from lapwing.corpus.options import ReadOptions
from lapwing.errors import CorpusError, some

log = logging.getLogger(__name__)

# Files that explain a collection and are not part of it.
ABOUT = re.compile(r"(readme|licen[sc]e|copying|changelog|citation|notice)\b.*", re.IGNORECASE)


EVERY_FORMAT = ("skip_bad", "max_document", "max_expansion", "split", "categories", "labels_required")  # has these
COLUMNS = (
    "text_column", "label_column", "time_column", "group_column", "numeric_columns", "categorical_columns",
    "label_separator",
)  # fmt: skip
TELLING = 10  # bytes beyond ASCII in a record, from which an encoding is guessed


class Tally:
    """Broken records: raised at once, or with skip_bad counted, the first one remembered."""

    def __init__(self, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self.skipped = 0
        self.first: CorpusError | None = None

    def bad(self, error: CorpusError) -> None:
        if not self.skip_bad:
            raise error
        self.skipped += 1
        self.first = self.first or error

    def report(self, name: str) -> None:
        if self.skipped:
            log.warning("%s: %d broken records skipped; the first: %s", name, self.skipped, self.first)


class Reader(ABC):
    """Base of the readers.

    kind        what the documents are
    exclusive   one label per document by the nature of the source, as far as it has been read
    names       columns or keys that the records have, where labels are looked for by name
    extensions  file names that are surely of this format, in a folder of several files
    telling     those of them by which alone a file is known to be of this format; None: all
    beside      names of files that belong to a collection and hold no documents
    takes       options that mean something for this format, beside those of every one
    file_name   what else a file is called that is surely of this format
    unmistakable   one file that is called so tells the format of all in a folder or archive
    """

    kind: Kind = "text"
    names: Sequence[str] = ()
    exclusive: bool = False
    extensions: tuple[str, ...] = ()
    telling: tuple[str, ...] | None = None
    beside = ABOUT
    takes: tuple[str, ...] = ("encoding",)
    file_name: re.Pattern[str] | None = None
    unmistakable = False
    default_encoding = "utf-8-sig"

    def __init__(self, source: Source, options: ReadOptions, tally: Tally) -> None:
        self.source = source
        self.options = options
        self.tally = tally
        self._wide: dict[str, None] = {}  # encodings that files showed themselves

    def choose(self, entries: list[Entry]) -> list[Entry]:
        """The members that hold documents: by their extension, else all that do not explain the rest."""
        named = [entry for entry in entries if entry.name.lower().endswith(self.extensions)]
        others, _ = beside(named, entries, self.beside)
        if named:
            endings = sorted({f".{entry.name.lower().rpartition('.')[2]}" for entry in named})
            self.leave_out(others, f"are not {' or '.join(endings)}")
        return named or others

    def remark(self, said: str) -> None:
        """What is likely to be a mistake, or is not read as one may expect."""
        log.warning("! %s: %s", self.source.name, said)

    def leave_out(self, entries: list[Entry], why: str) -> None:
        paths = [entry.path for entry in entries if not ABOUT.fullmatch(entry.name.rpartition("/")[2])]
        if paths:
            self.remark(f"{len(paths):,} files {why} and are no documents: {some(paths, 5)}")

    @classmethod
    def begins(cls, text: str, lines: Sequence[str]) -> bool:
        """Whether a file that begins so is of this format; `lines` are those of `text`, but for empty ones and those
        that begin with #, of which there is one at least."""
        return False

    @classmethod
    def holds(cls, names: Iterable[str]) -> bool:
        """Whether a folder or archive with files of these names is of this format, whatever they begin with."""
        return False

    @abstractmethod
    def documents(self, member: Member) -> Iterator[Document]: ...

    def with_columns(self, text: str, value_of: Callable[[str], Any]) -> str:
        """The text, and beside it the values of the columns that the options name."""
        options = self.options
        if not (options.numeric_columns or options.categorical_columns):
            return text
        numbers = {name: number_value(value_of(name), name) for name in options.numeric_columns}
        return Record(text, numbers | {name: level_value(value_of(name), name) for name in options.categorical_columns})

    def finish(self) -> None:  # noqa: B027 (a hook, empty by default)
        """Called when all members have been read."""

    def lines(
        self, member: Member, stream: io.BufferedReader, newline: str | None = None, gathered: bool = False
    ) -> Iterator[str]:
        """Decoded lines. Bytes that are not valid come as lone surrogates: see `is_broken`.

        `gathered`: a document is several lines, whose length the reader looks after; a long one comes in pieces.
        """
        encoding = self.encoding_of(stream.peek(PEEK)[:PEEK])

        def too_long(line: int) -> None:
            self.too_long(member, line)

        return decoded_lines(
            stream, member.where, encoding, newline, self.options.max_document, None if gathered else too_long
        )

    def whole(self, member: Member) -> bytes | None:
        """A file that is one document; None for one that is too long, which is reported."""
        with member.open() as stream:
            content = stream.read(self.options.max_document + 1)
        if len(content) <= self.options.max_document:
            return content
        self.too_long(member, None)
        return None

    def bad(self, message: str, member: Member, line: int | None) -> None:
        self.tally.bad(CorpusError(message, member.where, line))

    @contextmanager
    def reporting(self, member: Member, line: int | None) -> Iterator[None]:
        """What is wrong with the record that is read within, the member and the line said."""
        try:
            yield
        except BadRecord as error:
            self.bad(str(error), member, line)

    def too_long(self, member: Member, line: int | None) -> None:
        self.bad(f"expected {longest(self.options.max_document)}", member, line)

    def bad_encoding(self, member: Member, line: int, text: str = "") -> None:
        """`text` is what stands there, where it was read as UTF-8: it says which encoding may be the right one."""
        hint, data = ENCODING_HINT, text.encode("utf-8", "surrogateescape")
        enough = sum(byte > 127 for byte in data) >= TELLING
        if enough and self.options.encoding is None and not self.tally.skipped:
            hint = f"{encoding_advice([data])}, or use skip_bad"
        self.bad(f"expected {self.options.encoding or 'UTF-8'}, got bytes that are not; {hint}", member, line)

    def encoding_of(self, head: bytes) -> str:
        """The one that was given, that bytes show themselves, or of the format."""
        if self.options.encoding is None and (wide := wide_encoding(head)):
            self._wide[wide] = None
            return wide
        return tolerant(self.options.encoding or self.default_encoding)

    @property
    def encoding(self) -> str:
        """How bytes were read."""
        return self.options.encoding or ", ".join(self._wide) or self.default_encoding.removesuffix("-sig")

    def name_of(self, member: Member) -> str:
        """A file's name for ids, with the folders around it where several files are called the same."""
        return (
            member.base
            if self._called[member.base] < 2
            else sound("/".join(member.entry.name.split("/")[self._shared :]))
        )

    @cached_property
    def _called(self) -> Counter[str]:
        return Counter(sound(posixpath.basename(entry.name)) for entry in self.source.entries)

    @cached_property
    def _shared(self) -> int:  # folders that all files are in
        folders = [entry.key[:-1] for entry in self.source.entries]
        return next(
            (i for i, names in enumerate(zip(*folders, strict=False)) if len({*names}) > 1), min(map(len, folders))
        )

    def split_of(self, member: Member) -> str:
        """From the name of the file or a folder around it, where there are several; a lone test.csv is just a name."""
        return "" if self.source.single else split_of_file(member.base) or split_of_folders(member.entry.key[:-1])


PEEK = 1 << 12  # bytes by which UTF-16 is known


def beside(own: list[Entry], entries: list[Entry], about: re.Pattern[str]) -> tuple[list[Entry], list[Entry]]:
    """Entries that are not `own` and do not explain them; those of them in no folder of the own or above one."""
    known = {entry.index for entry in own}
    others = [
        entry for entry in entries if entry.index not in known and not about.fullmatch(entry.name.rpartition("/")[2])
    ]
    paths = [entry.key[:-1] for entry in own]
    homes = {tuple(path[:end]) for path in paths for end in range(len(path) + 1)}
    return others, [entry for entry in others if tuple(entry.key[:-1]) not in homes]


ENCODING_HINT = "name the right one with encoding (--encoding latin-1), or use skip_bad"


def longest(limit: int) -> str:
    return f"a document of at most {limit} characters, got a longer one; raise max_document (--max-document) to have it"


def decoded_lines(
    stream: io.BufferedReader,
    where: str,
    encoding: str,
    newline: str | None,
    limit: int,
    too_long: Callable[[int], None] | None,
) -> Iterator[str]:
    """Lines in any encoding, UTF-16 included; of one longer than `limit` the number is given to `too_long`.

    Without that it comes in pieces.

    surrogateescape lets a single record be broken, and the next one be read.
    """
    number = 0
    decoder = io.TextIOWrapper(stream, encoding, errors="surrogateescape", newline=newline)
    with decoder as text:
        whole = True  # what was read last had its end
        while True:
            try:
                line = text.readline(limit + 1)
            except UnicodeError as error:
                _undecodable(error, where, number + 1, encoding)
            if not line:
                return
            begins, whole = whole, len(line) <= limit or line[-1] in "\r\n"
            number += begins
            if too_long is None or (begins and whole):
                yield line
            elif begins:
                too_long(number)
                yield "\n"  # an empty line in its place keeps the numbers right


def tolerant(encoding: str) -> str:
    """UTF-8 that drops a byte order mark, for UTF-8 by any of its names."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _undecodable(error: UnicodeError, where: str, line: int, encoding: str) -> NoReturn:
    reason = getattr(error, "reason", str(error))
    raise CorpusError(f"expected {encoding}, got bytes that are not ({reason}); {ENCODING_HINT}", where, line)


def is_broken(text: str) -> bool:
    """Whether decoding met bytes that are not valid in the encoding."""
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def any_broken(texts: Iterable[str]) -> bool:
    return any(map(is_broken, texts))
