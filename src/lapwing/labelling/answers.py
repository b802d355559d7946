"""Answers on disk, one JSON line each, before anything else happens."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lapwing.errors import InputError, LapwingError
from lapwing.files import lock, output_target


class Answers:
    """A file of labelled documents, as `lapwing train` reads it, to which answers are added one by one.

    Each is written and flushed to the disk (fsync) before `add` returns. What a crash left unfinished at the end of the
    file is cut off when it is opened again; a file of anything else is refused, and stays as it is. One process at a
    time has it open. Documents that were skipped are in a second file, PATH.skipped.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        answers = _Lines(self.path, _answer)
        try:
            skips = _Lines(Path(f"{path}.skipped"), _mark)
        except BaseException:
            answers.close()
            raise
        self._answers, self._skips = answers, skips
        self.records: list[dict[str, Any]] = answers.entries
        self.skipped: list[str] = [one["id"] for one in skips.entries]

    def add(self, id: str, text: str, labels: list[str]) -> None:
        """On the disk when this returns."""
        self._answers.append({"id": id, "text": text, "labels": labels})

    def skip(self, id: str) -> None:
        self._skips.append({"id": id})
        self.skipped.append(id)

    def undo(self, *, skip: bool) -> str:
        """Take the last answer, or the last skip, back; returns the document's id."""
        last = (self._skips if skip else self._answers).pop()
        if skip:
            self.skipped.pop()
        return str(last["id"])

    def close(self) -> None:
        self._answers.close()
        self._skips.close()


class _Lines:
    """Records in a file, a JSON line each; `check` says whether a record is one of ours."""

    def __init__(self, path: Path, check: Callable[[Any], bool]) -> None:
        output_target(path, "the file of answers")
        self.path, self.check = path, check
        existed = path.exists()
        try:
            self._file = open(path, "r+b" if existed else "x+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise InputError(f"cannot open {path}: {error.strerror or error}") from error
        try:
            lock(self._file, f"{path} is open in another `lapwing label`; end that one, or name another file with -o")
            self.entries, self._ends = self._read(self._file.read())
            self._cut()
        except BaseException:
            self._file.close()
            raise
        if not existed:
            _sync_folder(path.absolute().parent)

    def _read(self, content: bytes) -> tuple[list[dict[str, Any]], list[int]]:
        """What is there, and where each line ends; an unfinished line of ours at the end does not count."""
        entries: list[dict[str, Any]] = []
        ends, at = [], 0
        for number, line in enumerate(io.BytesIO(content), 1):
            try:
                record: Any = json.loads(line) if line.endswith(b"\n") else None
            except (ValueError, RecursionError):
                record = None
            at += len(line)
            if self.check(record):
                entries.append(record)
                ends.append(at)
            elif at < len(content) or not _begun(line):
                raise InputError(
                    f"{self.path}, line {number}: expected an answer of `lapwing label`; name another file with -o"
                )
        return entries, ends

    def append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        try:
            left = memoryview(line)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # half a line must not stand before the next one
                self._cut()
            raise LapwingError(f"{self.path}: this answer could not be written: {error.strerror or error}") from error
        self.entries.append(record)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(line))

    def pop(self) -> dict[str, Any]:
        if not self.entries:
            raise InputError("there is no answer to take back")
        end = self._ends.pop()
        try:
            self._cut()
        except OSError as error:
            self._ends.append(end)
            raise LapwingError(f"{self.path}: it could not be taken back: {error.strerror or error}") from error
        return self.entries.pop()

    def _cut(self) -> None:
        """The file ends where its last record does."""
        at = self._ends[-1] if self._ends else 0
        self._file.truncate(at)
        self._file.seek(at)
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def _mark(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("id"), str)


def _answer(record: Any) -> bool:
    labels = record.get("labels") if _mark(record) else None
    return (
        isinstance(labels, list) and all(isinstance(one, str) for one in labels) and isinstance(record.get("text"), str)
    )


def _begun(line: bytes) -> bool:
    """Whether a crash of ours can have left it: the beginning of a record, or the zeros of a block never written."""
    start = b'{"id": "'
    return not line.endswith(b"\n") and (line.startswith(start) or start.startswith(line) or not line.strip(b"\0"))


def _sync_folder(folder: Path) -> None:
    """A new file's name is on the disk, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
