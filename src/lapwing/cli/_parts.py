"""`lapwing classify` over many files: an output part for every input part, and what is there is not done again.

The list of what is there, `parts.json`, is a line that tells model and options apart, and one for every part that is
done, with the size and SHA-256 of its input. A worker compares them with the file that it sees under the same path.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from lapwing.errors import CorpusError, InputError, MissingExtraError, some
from lapwing.files import write_beside

KEY = "parts.json"
CHUNK = 1 << 24  # bytes that are read at a time
AT_A_TIME = 4  # parts for every worker, whose answers wait for those before them

log = logging.getLogger(__name__)

Answering = Callable[[Any, Any], str]  # what all parts share, and an open or a named part


def is_pattern(data: str) -> bool:
    return "://" in data or (any(letter in data for letter in "*?[") and not os.path.exists(data))


def parts_of(pattern: str) -> list[str]:
    """The files that a pattern names, in order."""
    if "://" not in pattern:
        paths = sorted(map(os.path.abspath, glob.glob(pattern, recursive=True)))
    else:
        fs, path = _file_system(pattern)
        named = str if "file" in fs.protocol else fs.unstrip_protocol  # of this machine: paths as any
        paths = sorted(map(named, fs.glob(path) if glob.has_magic(path) else [path]))
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


def content_of(name: str) -> list[Any]:
    """The size of a part and its SHA-256, names in it included where it is a folder; by an address, what the store says
    in their place."""
    try:
        if "://" in name:
            fs, path = _file_system(name)
            return [fs.info(path).get("size"), f"{fs.checksum(path):x}"]
        digest, size, paths = hashlib.sha256(), 0, [name]
        if os.path.isdir(name):
            inside = (os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files)
            paths = sorted(filter(os.path.isfile, inside))
        for path in paths:
            digest.update(os.fsencode(os.path.relpath(path, name)) + b"\0")
            with open(path, "rb") as stream:
                while chunk := stream.read(CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
        return [size, digest.hexdigest()]
    except OSError as error:
        raise InputError(
            f"{_here()} cannot read {name}: {error.strerror or error}; with --cluster, parts must be in a folder that "
            "all workers see under the same path, or have addresses, such as s3://"
        ) from error


def classify_parts(
    pattern: str, output: str, answering: Answering, shared: Any, key: Any, ending: str, pool: Any
) -> int:
    """Answer for every part into the folder `output`; returns how many were there already.

    key   what decides the answers besides the parts
    """
    names, folder = parts_of(pattern), Path(output)
    done = _begin(folder, hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest())
    targets = dict(zip(names, _targets(names, ending), strict=True))
    there = [name for name in names if (folder / targets[name]).exists()]
    same = {name for name in there if done.get(targets[name]) == content_of(name)}
    missing = [name for name in names if name not in same]
    for name in missing:
        (folder / targets[name]).unlink(missing_ok=True)
    if len(there) > len(same):
        log.warning("%d parts changed, or it is not known what they were: answered anew", len(there) - len(same))
    left = [target for target in done if target not in targets.values() and (folder / target).exists()]
    if left:
        log.warning(
            "! %d files in %s answer parts that %s does not name: %s", len(left), folder, pattern, some(left, 4)
        )

    def keep(item: tuple[Answering, str, list[Any]], answers: str) -> None:
        target = targets[item[1]]
        write_beside(folder / target, answers.encode("utf-8", "surrogatepass"))
        with open(folder / KEY, "ab") as stream:
            stream.write(json.dumps({"part": target, "content": item[2]}).encode() + b"\n")

    size = AT_A_TIME * pool.size
    for first in range(0, len(missing), size):
        pieces = [(answering, name, content_of(name)) for name in missing[first : first + size]]
        pool.run_all(answer_part, shared, pieces, keep=keep)
    return len(same)


def answer_part(shared: Any, item: tuple[Answering, str, list[Any]]) -> str:
    """On a worker, which opens the part itself."""
    answering, name, expected = item
    content = content_of(name)
    if content != expected:
        raise InputError(
            f"{name} has {content[0]:,} bytes on {_here()} and {expected[0]:,} where the command was given, or others: "
            "it changed meanwhile, or is another file; workers must see the same files under the same paths"
        )
    with ExitStack() as stack:
        if "://" in name:
            fs, path = _file_system(name)
            return answering(shared, stack.enter_context(fs.open(path, "rb")))
        return answering(shared, name)


def _here() -> str:
    with suppress(ImportError, ValueError):
        from distributed import get_worker

        return f"the worker {get_worker().address}"
    return "this machine"


def _begin(folder: Path, key: str) -> dict[str, list[Any]]:
    """The folder is of the same model and options, or new; what its answers are to."""
    there, done = folder / KEY, {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not there.exists() and any(folder.iterdir()):
            raise InputError(f"-o must be a folder that is new or has the parts of such a run, and {folder} has others")
        lines = there.read_bytes().split(b"\n") if there.exists() else [json.dumps({"key": key}).encode()]
        if json.loads(lines[0]).get("key") != key:
            raise InputError(f"{folder} has the parts of another model, or of other options; give another -o")
        for line in lines[1:]:
            with suppress(ValueError):  # half a line, where a run was stopped
                one = json.loads(line)
                done[one["part"]] = one["content"]
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot use the folder {folder}: {error}") from error
    known = [{"key": key}, *({"part": part, "content": content} for part, content in done.items())]
    write_beside(there, b"".join(json.dumps(one).encode() + b"\n" for one in known))
    return done


def _targets(names: list[str], ending: str) -> list[str]:
    """A name for the answers to every part: its own, with the folders where that is not its alone."""
    short = [os.path.basename(name) for name in names]
    if len(set(short)) < len(short):
        common = os.path.commonpath([name.split("://")[-1] for name in names])
        short = [os.path.relpath(name.split("://")[-1], common).replace(os.sep, "-") for name in names]
    return [f"{name}.{ending}" for name in short]
