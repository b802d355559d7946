"""The source behind a path or an open stream, told by what is there."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from typing import IO

from lapwing.corpus.archives import TarSource, ZipSource
from lapwing.corpus.containers import by_magic, in_zip
from lapwing.corpus.members import FileSource, FolderSource, Source
from lapwing.corpus.streams import (
    EXPANSION,
    Bytes,
    buffered,
    damage_as_corpus_error,
    decompressed,
    looks_like_tar,
    looks_like_zip,
    open_file,
    without_compression,
)
from lapwing.errors import CorpusError


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
