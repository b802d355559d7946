"""`lapwing classify` over many files: an output part for every input part, and what is there is not done again."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lapwing.errors import CorpusError, InputError, MissingExtraError
from lapwing.files import write_beside

KEY = "parts.json"
AT_A_TIME = 4  # parts for every worker, whose answers wait for those before them

Answering = Callable[[Any, Any], str]  # what all parts share, and an open or a named part


def is_pattern(data: str) -> bool:
    return "://" in data or (any(letter in data for letter in "*?[") and not os.path.exists(data))


def parts_of(pattern: str) -> list[str]:
    """The files that a pattern names, in order."""
    if "://" not in pattern:
        paths = sorted(glob.glob(pattern, recursive=True))
    else:
        fs, path = _file_system(pattern)
        paths = sorted(fs.unstrip_protocol(one) for one in (fs.glob(path) if glob.has_magic(path) else [path]))
    if not paths:
        raise CorpusError(f"expected files that {pattern!r} names, found none")
    return paths


def _file_system(address: str) -> Any:
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(f"{address} needs fsspec, which is not installed: pip install fsspec") from error
    try:
        return fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise InputError(f"cannot read {address}: {error}") from error


def classify_parts(
    pattern: str, output: str, answering: Answering, shared: Any, key: Any, ending: str, pool: Any
) -> int:
    """Answer for every part into the folder `output`; returns how many were there already.

    key   what decides the answers besides the parts
    """
    names, folder = parts_of(pattern), Path(output)
    _begin(folder, hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest())
    targets = dict(zip(names, _targets(names, ending), strict=True))
    missing = [name for name in names if not (folder / targets[name]).exists()]

    def keep(item: tuple[Answering, str], answers: str) -> None:
        write_beside(folder / targets[item[1]], answers.encode("utf-8", "surrogatepass"))

    size = AT_A_TIME * pool.size
    for first in range(0, len(missing), size):
        some = [(answering, name) for name in missing[first : first + size]]
        pool.run_all(answer_part, shared, some, keep=keep)
    return len(names) - len(missing)


def answer_part(shared: Any, item: tuple[Answering, str]) -> str:
    """On a worker, which opens the part itself."""
    answering, name = item
    with ExitStack() as stack:
        if "://" in name:
            fs, path = _file_system(name)
            return answering(shared, stack.enter_context(fs.open(path, "rb")))
        return answering(shared, name)


def _begin(folder: Path, key: str) -> None:
    """The folder is of the same model and options, or new."""
    there = folder / KEY
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not there.exists() and any(folder.iterdir()):
            raise InputError(f"-o must be a folder that is new or has the parts of such a run, and {folder} has others")
        if there.exists() and json.loads(there.read_text()).get("key") != key:
            raise InputError(f"{folder} has the parts of another model, or of other options; give another -o")
    except (OSError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot use the folder {folder}: {error}") from error
    write_beside(there, json.dumps({"key": key}).encode())


def _targets(names: list[str], ending: str) -> list[str]:
    """A name for the answers to every part: its own, with the folders where that is not its alone."""
    short = [os.path.basename(name) for name in names]
    if len(set(short)) < len(short):
        common = os.path.commonpath([name.split("://")[-1] for name in names])
        short = [os.path.relpath(name.split("://")[-1], common).replace(os.sep, "-") for name in names]
    return [f"{name}.{ending}" for name in short]
