"""What a source is: a row of members. Here the plain ones, a file and a folder.

Hidden files, and what macOS leaves in archives, are no members.
"""

from __future__ import annotations

import io
import os
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from lapwing.corpus.fields import sound
from lapwing.corpus.streams import (
    EXPANSION,
    Bytes,
    buffered,
    damage_as_corpus_error,
    decompressed,
    open_file,
    without_archive,
    without_compression,
)


@dataclass(frozen=True)
class Entry:
    """A member before it is opened. `path` is relative to the source, with "/" between its parts."""

    index: int
    path: str
    size: int | None  # None where a compressed file does not tell

    @property
    def name(self) -> str:
        """The path without a compression suffix."""
        return without_compression(self.path)

    @property
    def key(self) -> list[str]:
        """What a folder is sorted by."""
        return self.path.split("/")


@dataclass(frozen=True)
class Member:
    """An entry whose bytes can be had. Of a tar archive, only before the next member is taken."""

    entry: Entry
    where: str
    raw: Bytes

    @property
    def base(self) -> str:
        """The bare file name, for ids."""
        return sound(posixpath.basename(self.entry.name))

    def open(self) -> io.BufferedReader:
        return buffered(decompressed(self.raw))


class Source(ABC):
    """Where documents come from.

    where     how it was given, for error messages
    label     its file name
    single    one file, as opposed to a folder or an archive
    ordered   members come sorted by path
    """

    single = False
    ordered = True

    def __init__(self, where: str, label: str) -> None:
        self.where = where
        self.label = sound(label)

    @property
    def name(self) -> str:
        return without_archive(self.label)

    @cached_property
    def entries(self) -> list[Entry]:
        """All members, without their contents. Listed once: in a compressed tar that means reading it all."""
        return self._list()

    @abstractmethod
    def _list(self) -> list[Entry]: ...

    @abstractmethod
    def members(self, wanted: Container[int]) -> Iterator[Member]:
        """The members whose index is in `wanted`."""

    def close(self) -> None:  # noqa: B027 (a hook, empty by default)
        """Give back what is open between members."""


class FileSource(Source):
    """One file, or a stream, which can be read only once."""

    single = True

    def __init__(self, stream: Bytes, where: str, label: str) -> None:
        super().__init__(where, label)
        self._stream = stream

    def _list(self) -> list[Entry]:
        return [Entry(0, self.label, None)]

    def head(self, size: int) -> bytes:
        return self._stream.head(size)

    def members(self, wanted: Container[int]) -> Iterator[Member]:
        if 0 in wanted:
            yield Member(self.entries[0], self.where, self._stream)

    def close(self) -> None:
        self._stream.close()


class FolderSource(Source):
    def __init__(self, where: str, label: str, expansion: float = EXPANSION) -> None:
        super().__init__(where, label)
        self._expansion = expansion
        self.passed_by: list[str] = []  # linked folders, and what is neither file nor folder

    def _list(self) -> list[Entry]:
        paths = sorted(self._walk(), key=lambda item: item[0].split("/"))
        return [
            Entry(i, path, None if without_compression(path) != path else size) for i, (path, size) in enumerate(paths)
        ]

    def members(self, wanted: Container[int]) -> Iterator[Member]:
        for entry in self.entries:
            if entry.index in wanted:
                where = os.path.join(self.where, *entry.path.split("/"))
                with damage_as_corpus_error(where):
                    raw = Bytes(open_file(where), where, expansion=self._expansion)
                with raw:
                    yield Member(entry, where, raw)

    def _walk(self) -> Iterator[tuple[str, int]]:
        def refuse(error: OSError) -> None:
            raise error

        with damage_as_corpus_error(self.where):
            for folder, folders, files in os.walk(self.where, onerror=refuse):
                folders[:] = [name for name in folders if not hidden(name)]
                inside = os.path.relpath(folder, self.where).replace(os.sep, "/")
                linked = (name for name in folders if os.path.islink(os.path.join(folder, name)))
                self.passed_by += (posixpath.normpath(f"{inside}/{name}") for name in linked)
                for file in files:
                    full = os.path.join(folder, file)
                    if hidden(file):
                        continue
                    if not os.path.isfile(full):
                        self.passed_by.append(posixpath.normpath(f"{inside}/{file}"))
                    else:
                        yield posixpath.normpath(f"{inside}/{file}"), os.path.getsize(full)


def hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"
