"""Bytes that may be compressed, may be damaged, and can be looked at before they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from lapwing.errors import CorpusError
from lapwing.params import ReadParameters

# What the standard library raises for damaged, truncated, encrypted or unsupported data. The long tail
# (ValueError to IndexError) comes from tar and zip headers whose numbers or names make no sense.
DAMAGE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    RuntimeError,  # and with it what a method of compression not known here raises
    struct.error,
    ValueError,
    OverflowError,
    LookupError,
    MemoryError,
)

CHUNK = 1 << 16
# What is inside may be so many times as large as its compressed bytes; text is some 3 to 10 times.
EXPANSION = ReadParameters.max_expansion
UNCHECKED = 1 << 28  # bytes that are not worth the question
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".lzma")
ARCHIVE_SUFFIXES = (".zip", ".tar", ".tgz", ".tbz2", ".tbz", ".txz")


def without_compression(name: str) -> str:
    """`reviews.csv.gz` -> `reviews.csv`"""
    for suffix in COMPRESSION_SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def without_archive(name: str) -> str:
    """`news.tar.xz` -> `news`, `reviews.csv.gz` -> `reviews.csv`"""
    name = without_compression(name)
    for suffix in ARCHIVE_SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


@contextmanager
def damage_as_corpus_error(where: str) -> Iterator[None]:
    """Whatever the standard library says about damaged data becomes a CorpusError that names the file."""
    try:
        yield
    except CorpusError:
        raise
    except DAMAGE as error:
        raise damaged(error, where) from error


def damaged(error: BaseException, where: str) -> CorpusError:
    if isinstance(error, FileNotFoundError):
        return CorpusError("no such file or folder", where)
    if isinstance(error, PermissionError):
        return CorpusError("permission to read it is denied", where)
    if isinstance(error, MemoryError):  # headers of damaged archives ask for any amount
        return CorpusError("not enough memory to read it; allow less (--memory), or see whether it is damaged", where)
    said = str(error) or type(error).__name__
    if isinstance(error, RuntimeError) and "encrypted" in said:
        said = "it is encrypted"
    return CorpusError(f"cannot be read: {said}; it may be truncated or damaged", where)


class Bytes(io.RawIOBase):
    """A byte stream that raises only CorpusError and whose beginning can be looked at with `head`.

    `below` are the streams it draws on, closed with it. An error met by `head` is kept back until the
    bytes before it have been read, so that what is readable of a truncated file is read. Where it is what was
    compressed in `packed`, it must not be more than `expansion` times as long.
    """

    def __init__(
        self,
        raw: IO[bytes],
        where: str,
        below: IO[bytes] | None = None,
        owned: bool = True,
        packed: Bytes | None = None,
        expansion: float = EXPANSION,
    ):
        self.where = where
        self.expansion = expansion
        self.count = 0  # bytes that came out of it
        self._packed = packed
        self._raw = raw
        self._below = below
        self._owned = owned
        self._read = getattr(raw, "read1", raw.read)
        self._head = b""
        self._error: CorpusError | None = None

    def head(self, size: int) -> bytes:
        """The next `size` bytes, fewer where the stream ends; they will still be read."""
        while len(self._head) < size and self._error is None:
            try:
                more = self._next(CHUNK)
            except CorpusError as error:
                self._error = error
                break
            if not more:
                break
            self._head += more
        return self._head[:size]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = len(buffer)
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
        elif self._error is not None:
            raise self._error
        else:
            data = self._next(size)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._owned:
                self._raw.close()
                if self._below is not None:
                    self._below.close()

    def _next(self, size: int) -> bytes:
        with damage_as_corpus_error(self.where):
            data: bytes = self._read(size)
        self.count += len(data)
        if self._packed is not None:
            check_expansion(self.count, self._packed.count, self.expansion, self.where)
        return data


def check_expansion(size: int, packed: int, expansion: float, where: str) -> None:
    if size > UNCHECKED and size > expansion * packed:
        raise CorpusError(
            f"expected at most {expansion:g} bytes for each compressed one, got {size} from {packed}, enough to fill "
            "a memory; where that is meant, raise max_expansion (--max-expansion)",
            where,
        )


def open_file(path: str) -> IO[bytes]:
    """A file for a Bytes to own and to close."""
    return open(path, "rb")


def buffered(stream: Bytes) -> io.BufferedReader:
    return io.BufferedReader(stream, CHUNK)


def decompressed(stream: Bytes) -> Bytes:
    """`stream` itself, or what is inside where its first bytes are those of gzip, bzip2 or xz."""
    magic = stream.head(10)
    below = buffered(stream)
    inner: Any
    if magic.startswith(b"\x1f\x8b\x08"):
        inner = gzip.GzipFile(fileobj=below)
    elif magic.startswith(b"BZh") and magic[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        inner = bz2.BZ2File(below)
    elif magic.startswith((b"\xfd7zXZ\x00", b"]\0\0")):
        inner = lzma.LZMAFile(below)  # noqa: SIM115
    else:
        below.detach()  # otherwise collecting the wrapper would close the stream
        return stream
    return Bytes(inner, stream.where, below, packed=stream, expansion=stream.expansion)


def looks_like_tar(stream: Bytes) -> bool:
    block = stream.head(tarfile.BLOCKSIZE)
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, *DAMAGE):
        return False
    return True


def looks_like_zip(stream: Bytes) -> bool:
    return stream.head(4) in (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
