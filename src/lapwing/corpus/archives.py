"""The source behind a path or an open stream, told by what is there; zip and tar archives, never unpacked to disk."""

from __future__ import annotations

import io
import os
import posixpath
import re
import tarfile
import zipfile
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack
from functools import partial
from typing import IO, Any

from lapwing.corpus.containers import by_magic, in_zip
from lapwing.corpus.members import Entry, FileSource, FolderSource, Member, Source, hidden
from lapwing.corpus.streams import (
    EXPANSION,
    Bytes,
    buffered,
    check_expansion,
    damage_as_corpus_error,
    decompressed,
    looks_like_tar,
    looks_like_zip,
    open_file,
    without_compression,
)  # fmt: skip
from lapwing.errors import CorpusError

FEW = 16  # reads at the end of an archive that tarfile may do before it notices
LONGEST_HEADER = 1 << 20
_LONG_NUMBER = re.compile(rb"[0-9]{40}")  # the longest number in a header: bytes, or seconds with their fraction


def open_source(
    path: str | os.PathLike[str] | IO[bytes], tolerant: bool = False, expansion: float = EXPANSION
) -> Source:
    """The source at a path, or behind an open binary stream.

    `tolerant`: a truncated tar archive has the members that can be read, and `members` raises at its end.
    `expansion`: how many times as large as a compressed file what is in it may be.
    """
    if isinstance(path, (str, os.PathLike)):
        where = os.fspath(path)
        if isinstance(where, bytes):
            where = os.fsdecode(where)
        label = os.path.basename(os.path.abspath(where))
        with damage_as_corpus_error(where):
            os.stat(where)  # a clear error for a missing path, and for one with a NUL in it
            if os.path.isdir(where):
                return FolderSource(where, label, expansion)
            raw = Bytes(open_file(where), where, expansion=expansion)
        again = partial(open_file, where) if os.path.isfile(where) else None  # a pipe is read only once
        return _file_source(raw, label, again, tolerant)
    if not hasattr(path, "read") or isinstance(path, io.TextIOBase):
        raise CorpusError(f"expected a path or a binary stream, got {type(path).__name__}; try its .buffer")
    given = getattr(path, "name", None)
    label = os.path.basename(given).strip("<>") if isinstance(given, str) and given else "stream"
    return _file_source(Bytes(path, label, owned=False, expansion=expansion), label, None, tolerant)


def _file_source(raw: Bytes, label: str, again: Callable[[], IO[bytes]] | None, tolerant: bool) -> Source:
    """One file by its content. `again` opens it anew; without it, an archive is held in memory."""
    stream = decompressed(raw)
    is_zip = looks_like_zip(stream)
    if not is_zip and not looks_like_tar(stream):
        refuse_container(by_magic(stream.head(512), without_compression(label)), raw.where)
        return FileSource(stream, raw.where, label)
    if again is None or (is_zip and stream is not raw):
        data = buffered(stream).read()
        again = partial(io.BytesIO, data)
    stream.close()
    if is_zip:
        archive = ZipSource(again, raw.where, label, raw.expansion)
        refuse_container(in_zip([entry.path for entry in archive.entries], without_compression(label)), raw.where)
        return archive
    return TarSource(again, raw.where, label, raw.expansion, tolerant)


def refuse_container(kind: str, where: str) -> None:
    if kind:
        raise CorpusError(f"expected texts or a table, got {kind}", where)


class ZipSource(Source):
    def __init__(self, open_raw: Callable[[], IO[bytes]], where: str, label: str, expansion: float) -> None:
        super().__init__(where, label)
        with damage_as_corpus_error(where), ExitStack() as undo:
            self._file = undo.enter_context(open_raw())
            self._zip = zipfile.ZipFile(self._file)
            undo.pop_all()
            stated = sum(info.file_size for info in self._zip.infolist())
            check_expansion(stated, self._file.seek(0, 2), expansion, where)  # entries may share their bytes
            members = {_tidy(info.filename): info for info in self._zip.infolist() if not info.is_dir()}
        names = sorted((name for name in members if not _hidden_path(name)), key=lambda name: name.split("/"))
        self._infos = {name: members[name] for name in names}

    def _list(self) -> list[Entry]:
        return [
            Entry(i, name, None if without_compression(name) != name else info.file_size)
            for i, (name, info) in enumerate(self._infos.items())
        ]

    def close(self) -> None:
        self._zip.close()
        self._file.close()

    def members(self, wanted: Container[int]) -> Iterator[Member]:
        for entry in self.entries:
            if entry.index in wanted:
                where = f"{self.where}/{entry.path}"
                with damage_as_corpus_error(where):
                    raw = Bytes(self._zip.open(self._infos[entry.path]), where)
                with raw:
                    yield Member(entry, where, raw)


class TarSource(Source):
    """A tar archive, read from front to back as often as needed."""

    ordered = False

    def __init__(
        self, open_raw: Callable[[], IO[bytes]], where: str, label: str, expansion: float, tolerant: bool
    ) -> None:
        super().__init__(where, label)
        self._expansion = expansion
        self._open_raw = open_raw
        self._tolerant = tolerant
        self.links = 0

    def _list(self) -> list[Entry]:
        # The same path twice is an updated file: as when unpacking, the last one counts.
        last: dict[str, Entry] = {}
        try:
            for entry, _, _ in self._files():
                last[entry.path] = entry
        except CorpusError:
            if not (self._tolerant and last):
                raise
        return sorted(last.values(), key=lambda entry: entry.index)

    def members(self, wanted: Container[int]) -> Iterator[Member]:
        for entry, info, archive in self._files():
            if entry.index in wanted:
                where = f"{self.where}/{entry.path}"
                with damage_as_corpus_error(where):
                    content = archive.extractfile(info)
                    assert content is not None
                with Bytes(content, where, expansion=self._expansion) as raw:
                    yield Member(entry, where, raw)

    def _files(self) -> Iterator[tuple[Entry, tarfile.TarInfo, tarfile.TarFile]]:
        index = 0
        self.links = 0
        with damage_as_corpus_error(self.where):
            raw = Bytes(self._open_raw(), self.where, expansion=self._expansion)
            with (
                raw,
                buffered(decompressed(raw)) as stream,
                tarfile.open(fileobj=_Ending(stream), mode="r|", tarinfo=_CheckedHeader) as archive,  # type: ignore[call-overload]
            ):
                for info in archive:
                    archive.members = []  # else it remembers every header
                    path = _tidy(info.name)
                    if _hidden_path(path):
                        continue
                    if info.islnk() or info.issym():
                        self.links += 1
                    elif info.issparse():
                        raise CorpusError(f"cannot be read: {path} is stored as a sparse file", self.where)
                    elif info.isfile():
                        size = None if without_compression(path) != path else info.size
                        yield Entry(index, path, size), info, archive
                        index += 1


class _Ending:
    """A stream whose end is an error to whoever goes on reading: tarfile would, up to the size that a header states."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._empty = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._empty += not data
        if self._empty > FEW:
            raise tarfile.ReadError("a header states more bytes than are there")
        return data


class _Read:
    """A stream of which something has been read already, and is the first to be read again."""

    def __init__(self, content: bytes, stream: Any) -> None:
        self._content: bytes | None = content
        self._stream = stream

    def read(self, size: int) -> bytes:
        content, self._content = self._content, None
        return self._stream.read(size) if content is None else content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _CheckedHeader(tarfile.TarInfo):
    """A header that makes no sense is an error; tarfile would take it for the archive's end.

    Long headers, of which one can have as many and as large as one likes, are bounded; and a number in them has few
    digits, since tarfile's search for numbers takes the square of their length.
    """

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _CheckedHeader:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # a block of zeros marks the end; a second one may be missing
                raise
            if type(error).__name__ == "EmptyHeaderError":
                raise tarfile.ReadError("its end is not marked, and more may be missing") from error
            raise tarfile.ReadError(f"broken tar header ({error})") from error

    def _proc_pax(self, tarfile_: Any) -> Any:
        stream = tarfile_.fileobj
        self._check_length()
        content = stream.read(self._block(self.size))  # type: ignore[attr-defined]
        if _LONG_NUMBER.search(content):
            raise tarfile.ReadError("broken tar header (a number without end)")
        tarfile_.fileobj = _Read(content, stream)
        try:
            return super()._proc_pax(tarfile_)  # type: ignore[misc]
        finally:
            tarfile_.fileobj = stream

    def _proc_gnulong(self, tarfile_: Any) -> Any:
        self._check_length()
        return super()._proc_gnulong(tarfile_)  # type: ignore[misc]

    def _check_length(self) -> None:
        if self.size > LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size} bytes, where {LONGEST_HEADER} are more than any needs")


def _tidy(path: str) -> str:
    """Archive paths without "./", "../", leading "/" and doubled slashes."""
    return posixpath.normpath("/" + path.replace("\\", "/")).lstrip("/")


def _hidden_path(path: str) -> bool:
    return not path or any(hidden(part) for part in path.split("/"))
