"""Finished work on disk, record by record, so that a run that was killed goes on where it was.

The file is a line of JSON (what the run is, by a key; when it began), then records that are only ever
appended: number and length (two 8-byte integers), CRC-32 of both and of the content (4 bytes), content.
Reading ends at the first record that is not whole, and writing goes on from there. One run at a time has it.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, TypeVar

from lapwing.errors import InputError
from lapwing.files import lock, output_target

log = logging.getLogger(__name__)

Record = TypeVar("Record")

FORMAT = 1
HEAD = struct.Struct("<qqI")


class Checkpoint:
    """Records by number. `key` is a digest of all that decides them: those of another run are not taken over.

    started   when the run began: what is given, or what the run that is gone on with was given
    """

    def __init__(self, path: Path, key: str, started: str) -> None:
        self.path, self.key, self.started = path, key, started
        self.records: dict[int, bytes] = {}
        self._lock = Lock()
        self._written = False
        try:
            exists = path.exists()
            self._stream = _open_alone(path)
            end = self._read(self._stream.read()) if exists else 0
            self._stream.truncate(end)
        except OSError as error:
            raise InputError(f"cannot write the checkpoint {path}: {error.strerror or error}") from error
        if not end:
            self._begin()

    def _begin(self) -> None:
        header = {"lapwing checkpoint": FORMAT, "key": self.key, "started": self.started}
        self._write(json.dumps(header).encode() + b"\n")

    def finished(self, parse: Callable[[int, bytes], Record]) -> dict[int, Record]:
        """The records as `parse` reads them; where it cannot, the file is set aside and there are none."""
        try:
            return {number: parse(number, content) for number, content in self.records.items()}
        except Exception as error:  # anything can come out of bytes that no run of ours wrote
            aside = self.path.with_name(f"{self.path.name}.damaged")
            shutil.copyfile(self.path, aside)
            log.warning("%s cannot be read (%s): it is kept as %s, and the run starts anew", self.path, error, aside)
        self._stream.truncate(0)
        self.records.clear()
        self._begin()
        return {}

    def append(self, number: int, content: bytes) -> None:
        """From any thread. What has been appended survives this process."""
        head = struct.pack("<qq", number, len(content))
        crc = zlib.crc32(content, zlib.crc32(head))
        with self._lock:
            self._write(head + struct.pack("<I", crc) + content)
            self._written = True

    def _write(self, content: bytes) -> None:
        try:
            self._stream.write(content)
            self._stream.flush()
        except OSError as error:
            raise InputError(f"cannot write the checkpoint {self.path}: {error.strerror or error}") from error

    def _read(self, content: bytes) -> int:
        """Take over the records of the same run; returns where the last whole one ends, 0 for nothing."""
        at = content.find(b"\n") + 1
        try:
            header = json.loads(content[:at])
            ours = (header["lapwing checkpoint"], header["key"]) == (FORMAT, self.key)
            started = str(header["started"])
        except (ValueError, KeyError, TypeError):
            ours = False
        if not ours:
            log.warning("%s is of another run (other data, settings or release): starting anew", self.path)
            return 0
        self.started = started
        while at + HEAD.size <= len(content):
            number, length, crc = HEAD.unpack_from(content, at)
            end = at + HEAD.size + length
            if length < 0 or end > len(content):
                break
            payload = content[at + HEAD.size : end]
            if zlib.crc32(payload, zlib.crc32(content[at : at + 16])) != crc:
                break
            self.records[number] = payload
            at = end
        return at

    def close(self) -> None:
        """And let others have the file."""
        self._stream.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and not self.records and not self._written:
            with suppress(OSError):
                self.path.unlink()  # a run that failed before it finished anything leaves nothing to go on from
        self.close()


def _open_alone(path: Path) -> IO[bytes]:
    """The file, to be read from its beginning and written at its end, for one process until it closes it or dies."""
    while True:
        output_target(path, "the checkpoint")  # a pipe would be waited for
        stream = open(path, "a+b")  # noqa: SIM115  whoever asked closes it
        lock(stream, f"another run is writing {path}; wait until it is done, or give this one another output")
        if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
            stream.seek(0)
            return stream
        stream.close()  # the run that had it was just done and removed it
