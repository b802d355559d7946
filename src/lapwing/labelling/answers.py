"""Answers on disk, one JSON line each, before anything else happens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lapwing.errors import InputError


class Answers:
    """A file of labelled documents, as `lapwing train` reads it, to which answers are added one by one.

    Each is written and flushed to the disk (fsync) before `add` returns. What a crash left unfinished at the end of the
    file is cut off when it is opened again. Documents that were skipped are in a second file, PATH.skipped.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.records: list[dict[str, Any]] = []
        self._file, self.ends = self._open(self.path, self.records)
        self.skipped: list[str] = []
        marks: list[dict[str, Any]] = []
        self._skips, self._skip_ends = self._open(Path(f"{path}.skipped"), marks)
        self.skipped = [str(one["id"]) for one in marks]

    def _open(self, path: Path, records: list[dict[str, Any]]) -> tuple[Any, list[int]]:
        existed = path.exists()
        file = open(path, "r+b" if existed else "w+b")  # noqa: SIM115
        ends, at = [], 0
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                if not line.endswith(b"\n") or not isinstance(record, dict) or "id" not in record:
                    raise ValueError
            except ValueError:
                if file.read(1):  # not the last line: no crash of ours made it
                    file.close()
                    raise InputError(
                        f"{path}, line {number}: expected an answer of `lapwing label`; name another file with -o"
                    ) from None
                break
            records.append(record)
            at += len(line)
            ends.append(at)
        file.truncate(at)
        file.seek(at)
        if not existed:
            _sync_folder(path.absolute().parent)
        return file, ends

    def add(self, id: str, text: str, labels: list[str]) -> None:
        """On the disk when this returns."""
        record = {"id": id, "text": text, "labels": labels}
        self._append(self._file, self.ends, record)
        self.records.append(record)

    def skip(self, id: str) -> None:
        self._append(self._skips, self._skip_ends, {"id": id})
        self.skipped.append(id)

    def undo(self, *, skip: bool) -> str:
        """Take the last answer, or the last skip, back; returns the document's id."""
        file, ends, entries = (
            (self._skips, self._skip_ends, self.skipped) if skip else (self._file, self.ends, self.records)
        )
        if not ends:
            raise InputError("there is no answer to take back")
        ends.pop()
        at = ends[-1] if ends else 0
        file.truncate(at)
        file.seek(at)
        _flush(file)
        last: Any = entries.pop()
        return str(last if skip else last["id"])

    def _append(self, file: Any, ends: list[int], record: dict[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        file.write(line)
        _flush(file)
        ends.append((ends[-1] if ends else 0) + len(line))

    def close(self) -> None:
        self._file.close()
        self._skips.close()


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """A new file's name is on the disk, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
