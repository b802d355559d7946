"""A folder of files that are written once and never changed: each has its size and SHA-256 in the folder's list.

A file is there whole or not at all: it is written beside its name, and enters the list when it is done. What another
process left, or this one wrote, is checked against the list before it is used. One run at a time has the folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import numpy as np

from lapwing.errors import InputError
from lapwing.files import lock

log = logging.getLogger(__name__)

FORMAT = 1
LIST = "shards.json"
CHUNK = 1 << 24  # bytes that are checked at a time
ALIGNED, MOST_ABOUT = 64, 1 << 12


class WorkFolder:
    """`key` is a digest of all that decides its files: those of another run are removed. `memory` is the bound, in
    bytes, that whoever writes or reads them keeps to."""

    def __init__(self, path: str | os.PathLike[str], key: str = "", memory: int = 1 << 30) -> None:
        self.path, self.key, self.memory = Path(path), key, memory
        self.files: dict[str, dict[str, Any]] = {}
        self.records: dict[str, Any] = {}
        self._checked: set[str] = set()
        self._lock: IO[bytes] | None = None
        self._attached = False

    def __reduce__(self) -> Any:
        """To another process it goes as one that is only read, the files as they are listed now."""
        return attached, (str(self.path.absolute()), self.files, self.memory)

    @property
    def exists(self) -> bool:
        return (self.path / LIST).exists()

    def open(self) -> WorkFolder:
        """Make it, or take over what a run with the same key left; for this process alone until it is closed."""
        if self._lock is not None:
            return self
        if self.path.is_dir() and not self.exists and any(one.name != "lock" for one in self.path.iterdir()):
            raise InputError(f"{self.path} is there, and is no work folder of lapwing's; give another --work-dir")
        with _disk(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            stream = open(self.path / "lock", "ab")  # noqa: SIM115  closed by close()
        lock(stream, f"another run is using {self.path}; wait until it is done, or give this one another --work-dir")
        self._lock = stream
        self._take_over()
        _open.add(str(self.path.absolute()))
        return self

    def _take_over(self) -> None:
        earlier = _read_list(self.path)
        if earlier is not None and (earlier.get("key"), earlier.get("release")) == (self.key, release()):
            self.files, self.records = earlier["files"], earlier["records"]
        elif earlier is not None:
            log.warning("%s is of another run (other data, settings or release): starting anew", self.path)
        for one in self.path.iterdir():
            if one.name not in (LIST, "lock") and one.name not in self.files:
                one.unlink()
        self._write_list()

    def _write_list(self) -> None:
        head = {"lapwing shards": FORMAT, "release": release(), "key": self.key}
        content = head | {"files": self.files, "records": self.records}
        beside = self.path / f"{LIST}.part"
        with _disk(self.path):
            beside.write_text(json.dumps(content))
            os.replace(beside, self.path / LIST)

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def put_record(self, name: str, record: Any) -> None:
        """Something small, as JSON has it."""
        self.records[name] = record
        self._write_list()

    @contextmanager
    def write(self, *names: str) -> Iterator[list[ShardWriter]]:
        """Files to append to; when all is well they are there, and else none of them is."""
        writers = [ShardWriter(self.path / f"{name}.part") for name in names]
        try:
            yield writers
            for name, writer in zip(names, writers, strict=True):
                self.files[name] = writer.finish()
                with _disk(self.path):
                    os.replace(writer.path, self.path / name)
            self._write_list()
        finally:
            for writer in writers:
                writer.discard()

    def put(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """A few arrays in one file: a line of JSON that tells what they are, filled up, then one after the other."""
        about = {key: (array.dtype.str, array.shape) for key, array in arrays.items()}
        with self.write(name) as (writer,):
            writer.append(_filled(json.dumps(about).encode() + b"\n"))
            for array in arrays.values():
                writer.append(array)
                writer.append(bytes(-array.nbytes % ALIGNED))

    def get(self, name: str) -> dict[str, np.ndarray]:
        """What was put, mapped."""
        content = self.map(name, np.uint8)
        end = int(np.argmax(content[:MOST_ABOUT] == ord("\n"))) + 1
        at, arrays = end + -end % ALIGNED, {}
        for key, (dtype, shape) in json.loads(content[:end].tobytes()).items():
            size = np.dtype(dtype).itemsize * int(np.prod(shape))
            arrays[key] = content[at : at + size].view(dtype).reshape(shape)
            at += size + -size % ALIGNED
        return arrays

    def map(self, name: str, dtype: Any) -> np.ndarray:
        """The file as an array whose pages come and go with the memory there is.

        It can be written to, for Numba would compile anew for what cannot: nothing does."""
        if self._attached:
            _unchecked.append((self, name))
        else:
            self.check(name)
        if not self.files[name]["size"]:
            return np.empty(0, dtype)
        try:
            return np.asarray(np.memmap(self.path / name, dtype, "r+"))
        except PermissionError:  # shared with workers that may only read
            return np.asarray(np.memmap(self.path / name, dtype, "c"))

    def check(self, name: str) -> None:
        """Against the list, once for this process."""
        if name in self._checked:
            return
        path, digest = self.path / name, hashlib.sha256()
        try:
            with open(path, "rb") as stream:
                while chunk := stream.read(CHUNK):
                    digest.update(chunk)
                size = stream.tell()
        except OSError as error:
            raise InputError(f"cannot read the shard {path}: {error.strerror or error}") from error
        if {"size": size, "sha256": digest.hexdigest()} != self.files.get(name):
            raise InputError(
                f"the shard {path} is not what was written (its checksum is another); remove the folder {self.path}, "
                "and the same command makes it anew"
            )
        self._checked.add(name)

    def remove(self, *names: str) -> None:
        for name in names:
            self.files.pop(name, None)
            self._checked.discard(name)
        self._write_list()
        for name in names:
            with suppress(FileNotFoundError):
                (self.path / name).unlink()

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            _open.discard(str(self.path.absolute()))

    def clear(self) -> None:
        """Remove the folder and all in it, if it is one of ours."""
        ours = self.exists
        self.close()
        if ours:
            shutil.rmtree(self.path, ignore_errors=True)


def check_attached() -> None:
    """All that was mapped on arrival in this process: to be called before it is used, where an error is heard."""
    with _checking:
        while _unchecked:
            folder, name = _unchecked[-1]
            folder.check(name)
            _unchecked.pop()


_unchecked: list[tuple[WorkFolder, str]] = []
_checking = threading.Lock()

BY_VALUE = [False]  # what is mapped goes to another process whole: it cannot see the files


def in_use() -> list[str]:
    """The folders that this process has."""
    return sorted(_open)


_open: set[str] = set()
_seen: dict[tuple[str, str], set[str]] = {}  # which files of a list this process, which only reads, has checked


def attached(path: str, files: dict[str, dict[str, Any]], memory: int) -> WorkFolder:
    """A folder that another process has and this one reads, its files as they were listed there."""
    folder = WorkFolder(path, memory=memory)
    folder.files, folder._attached = files, True
    folder._checked = _seen.setdefault((path, json.dumps(files, sort_keys=True)), set())
    return folder


class ShardWriter:
    """A file on its way: its checksum is taken as it is written."""

    def __init__(self, path: Path) -> None:
        self.path, self.size, self._digest = path, 0, hashlib.sha256()
        with _disk(path.parent):
            self._stream = open(path, "wb")  # noqa: SIM115  closed by finish() or discard()

    def append(self, content: np.ndarray | bytes) -> None:
        data = content if isinstance(content, bytes) else np.ascontiguousarray(content).reshape(-1).view(np.uint8).data
        with _disk(self.path.parent):
            self._stream.write(data)
        self._digest.update(data)
        self.size += len(data)

    def finish(self) -> dict[str, Any]:
        with _disk(self.path.parent):
            self._stream.close()
        return {"size": self.size, "sha256": self._digest.hexdigest()}

    def discard(self) -> None:
        with suppress(OSError):
            self._stream.close()
        with suppress(FileNotFoundError):
            self.path.unlink()


def _filled(content: bytes) -> bytes:
    return content + bytes(-len(content) % ALIGNED)


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """What a disk can answer, in a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"the disk of {folder} is full; make room, or name a folder on another disk with --work-dir: what is "
                "finished is kept, and the same command goes on from there"
            ) from error
        raise InputError(f"cannot write to the work folder {folder}: {error.strerror or error}") from error


@cache
def release() -> str:
    try:
        return version("lapwing")
    except PackageNotFoundError:
        return "unknown"


def _read_list(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((path / LIST).read_text())
        ours = isinstance(record, dict) and record.get("lapwing shards") == FORMAT
        return record if ours and {"files", "records"} <= set(record) else None
    except (OSError, ValueError):
        return None
