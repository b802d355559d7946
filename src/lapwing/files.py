"""Files as every room reads and writes them: regular ones only, a new one whole or not there, one that grows locked.

A device, a pipe or a socket in a file's place is refused by name. A symbolic link is followed: what it points to is
written, and the link stays.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from lapwing.errors import InputError

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_regular(path: str | os.PathLike[str], size: int = -1) -> bytes:
    """The content of a regular file, or so many bytes of it: a pipe or a device in its place could be without end, or
    be waited for, and raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as stream:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(f"expected a file, and it is {_kind(mode)}")
        return stream.read(size)


def output_target(path: str | os.PathLike[str], name: str = "the output") -> Path:
    """Where writing to `path` ends: the file itself or what a link points to, there or not; `name` is its option."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except (OSError, ValueError) as error:
        raise InputError(f"{name} must be a file that can be written, got {os.fspath(path)!r}: {error}") from error
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{name} must be a file, there already or new, and {os.fspath(path)!r} is {_kind(mode)}; name a file"
        )
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def lock(stream: IO[Any], refusal: str) -> None:
    """Have an open file for this process alone, until it closes it or dies. Where another has it, it is closed, and the
    refusal raised."""
    try:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise InputError(refusal) from error
    except OSError:  # a file system without locks
        log.info("%s cannot be locked", stream.name)


def write_beside(path: str | os.PathLike[str], content: bytes) -> None:
    """Write beside `path`, then rename into place: an old file stays whole until the new one is, and lends its mode."""
    target = output_target(path)
    try:
        descriptor, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(beside, _mode(target))
        os.replace(beside, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {path}: {error.strerror or error}") from error
        raise


def _mode(target: Path) -> int:
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
