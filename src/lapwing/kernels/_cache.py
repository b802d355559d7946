"""Compiled kernels on disk, which may be damaged, stale or without room: none of that stops a run.

Numba keeps them in files that it trusts. Here what was written is checked when it is read; what cannot be read or
written is passed by, and the kernel compiled in memory. A kernel's stamp is that of its own file and of all files in
this folder that it draws on, since the parts of other modules are compiled into it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

log = logging.getLogger("lapwing")

DIGEST = hashlib.sha256().digest_size
HERE = Path(__file__).parent
_IMPORTS = re.compile(r"^from lapwing\.kernels(?:\.(\w+) import|\ import ([\w, ]+))", re.MULTILINE)


class KernelCache(FunctionCache):
    """The cache of one kernel: a place to look in, never a reason to stop."""

    said = False  # once for all of them

    @classmethod
    def of(cls, function: Any, cache: FunctionCache) -> FunctionCache:
        """The same cache, made tolerant."""
        stamp = (cache._cache_file._source_stamp, stamp_of(Path(function.__code__.co_filename)))
        cache.__class__ = cls
        cache._cache_file.__class__ = _CheckedFiles
        cache._cache_file._source_stamp = stamp
        return cache

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # anything can come out of a damaged file
            self._pass_by(error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._pass_by(error)

    def _pass_by(self, error: Exception) -> None:
        with suppress(OSError):
            os.unlink(self._cache_file._index_path)  # it is written anew with the next kernel that is compiled
        if not KernelCache.said:
            KernelCache.said = True
            log.warning(
                "compiled kernels in %s cannot be used (%s: %s): compiling what is needed again",
                self._cache_path,
                type(error).__name__,
                error,
            )


class _CheckedFiles(IndexDataCacheFile):
    """Files that end in the SHA-256 of what stands before it."""

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + hashlib.sha256(content).digest()

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
            raise ValueError(f"{name} is truncated or was altered")
        return super()._load_data(name)


@cache
def stamp_of(path: Path) -> tuple[Any, ...]:
    """Name, size and time of the module's file and of those it imports from this folder, directly or not."""
    seen: set[Path] = set()
    todo = [path]
    while todo:
        one = todo.pop()
        if one in seen or not one.is_file():
            continue
        seen.add(one)
        for module, modules in _IMPORTS.findall(one.read_text(encoding="utf-8")):
            todo += (HERE / f"{name.strip()}.py" for name in (module or modules).split(","))
    return tuple((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in sorted(seen))
