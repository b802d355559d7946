"""Zip and tar archives as sources. Nothing is ever unpacked to disk."""

from __future__ import annotations

import posixpath
import tarfile
import zipfile
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack
from typing import IO

from lapwing.corpus.members import Entry, Member, Source, hidden
from lapwing.corpus.streams import Bytes, buffered, damage_as_corpus_error, decompressed, without_compression
from lapwing.errors import CorpusError


class ZipSource(Source):
    def __init__(self, open_raw: Callable[[], IO[bytes]], where: str, label: str) -> None:
        super().__init__(where, label)
        with damage_as_corpus_error(where), ExitStack() as undo:
            self._file = undo.enter_context(open_raw())
            self._zip = zipfile.ZipFile(self._file)
            undo.pop_all()
            found = {_tidy(info.filename): info for info in self._zip.infolist() if not info.is_dir()}
        names = sorted((name for name in found if not _hidden_path(name)), key=lambda name: name.split("/"))
        self._infos = {name: found[name] for name in names}

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

    def __init__(self, open_raw: Callable[[], IO[bytes]], where: str, label: str, tolerant: bool) -> None:
        super().__init__(where, label)
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
                with Bytes(content, where) as raw:
                    yield Member(entry, where, raw)

    def _files(self) -> Iterator[tuple[Entry, tarfile.TarInfo, tarfile.TarFile]]:
        index = 0
        self.links = 0
        with damage_as_corpus_error(self.where):
            raw = Bytes(self._open_raw(), self.where)
            with (
                raw,
                buffered(decompressed(raw)) as stream,
                tarfile.open(fileobj=stream, mode="r|", tarinfo=_CheckedHeader) as archive,
            ):
                for info in archive:
                    archive.members = []  # type: ignore[attr-defined]  # else it remembers every header
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


class _CheckedHeader(tarfile.TarInfo):
    """A header that makes no sense is an error; tarfile would take it for the archive's end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _CheckedHeader:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if type(error).__name__ in ("EOFHeaderError", "EmptyHeaderError"):  # the end, marked or not
                raise
            raise tarfile.ReadError(f"broken tar header ({error})") from error


def _tidy(path: str) -> str:
    """Archive paths without "./", "../", leading "/" and doubled slashes."""
    return posixpath.normpath("/" + path.replace("\\", "/")).lstrip("/")


def _hidden_path(path: str) -> bool:
    return not path or any(hidden(part) for part in path.split("/"))
