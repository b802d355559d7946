"""Documents that become too many for memory on their way in: from then on they go to disk, and stay there.

What is kept of each document in memory is its labels, its part, its weight: a few bytes.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from lapwing.corpus.document import SPLITS, Corpus, Document
from lapwing.corpus.moments import moments
from lapwing.errors import InputError, SettingsError
from lapwing.shards.folder import ShardWriter, WorkFolder
from lapwing.shards.texts import StoredLabels, StoredNames, StoredTexts

RECORD, COLUMNS = "corpus", "corpus.columns"
TEXTS = ("texts", "ids", "times", "groups")
PER_CHARACTER = 10  # bytes that training in memory takes for a character of the texts, and
PER_DOCUMENT = 1000  # for a document besides: as measured by benchmarks/beyond_memory.py
PROGRAM = 400 << 20  # and whatever the documents
LEAST = 512 * 10**6  # a bound below this cannot be kept


def fits(memory: int, characters: int, documents: int) -> bool:
    """Whether training on such a corpus in memory keeps to the bound."""
    return PROGRAM + PER_CHARACTER * characters + PER_DOCUMENT * documents <= memory


def work_folder(path: str, data: str, options: dict[str, Any], memory: int) -> WorkFolder:
    """Where a run over `data`, read with these options, keeps what is too much for its memory: another run over the
    same goes on with it. Nothing is written before it is needed."""
    if memory < LEAST:
        raise SettingsError(
            f"memory must be {LEAST / 1e6:.0f} MB or more, which the program itself may take, got {memory / 1e6:.1f} MB"
        )
    files = [data]
    if os.path.isdir(data):
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(data) for name in names)
    digest = hashlib.sha256(repr(sorted(options.items())).encode())
    for file in files:
        with suppress(OSError):
            at = os.stat(file)
            digest.update(repr((os.path.abspath(file), at.st_size, at.st_mtime_ns)).encode("utf-8", "surrogatepass"))
    return WorkFolder(path, digest.hexdigest(), memory)


class Spill:
    """Columns of a corpus on their way to a folder; the rows are Documents."""

    def __init__(self, folder: WorkFolder) -> None:
        self.folder = folder
        self.codes, self.ends, self.weights = array("i"), array("q", [0]), array("d")
        self.split, self.key = array("b"), array("i")
        self.label_of: dict[str, int] = {}
        self.key_of: dict[tuple[str, ...], int] = {}
        self._open: Any = None
        self._strings: list[_Strings] = []

    def __enter__(self) -> Spill:
        names = [file for name in TEXTS for file in (name, f"{name}.ends")]
        self._open = self.folder.open().write(*names)
        writers = self._open.__enter__()
        self._strings = [_Strings(*writers[k : k + 2]) for k in range(0, len(writers), 2)]
        return self

    def __exit__(self, *problem: Any) -> None:
        if problem[0] is None:
            for strings in self._strings:
                strings.flush()
        self._open.__exit__(*problem)

    def add(self, document: Document, key: Sequence[str]) -> None:
        assert isinstance(document.content, str)
        values = (document.content, document.id, document.time, document.group)
        for strings, value in zip(self._strings, values, strict=True):
            strings.append(value)
        self.codes.extend(self.label_of.setdefault(label, len(self.label_of)) for label in document.labels)
        self.ends.append(len(self.codes))
        self.weights.append(document.weight)
        self.split.append(("", *SPLITS).index(document.split))
        self.key.append(self.key_of.setdefault(tuple(key), len(self.key_of)))

    def add_all(self, documents: Iterable[tuple[Document, Sequence[str]]]) -> None:
        for document, key in documents:
            self.add(document, key)

    def order(self) -> np.ndarray | None:
        """The rows in the order of their keys; None where they are in it."""
        by_key = sorted(range(len(self.key_of)), key=list(self.key_of).__getitem__)
        rank = np.empty(len(by_key), np.int64)
        rank[by_key] = np.arange(len(by_key))
        order = np.argsort(rank[np.array(self.key, np.int64)], kind="stable")
        return None if np.array_equal(order, np.arange(len(order))) else order


class _Strings:
    """Strings one after the other, and where each ends; written a few megabytes at a time."""

    def __init__(self, content: ShardWriter, ends: ShardWriter) -> None:
        self._content, self._ends = content, ends
        self._waiting: list[bytes] = []
        self._size = self._at = 0
        self._lengths = array("q")
        ends.append(np.zeros(1, np.int64))

    def append(self, value: str) -> None:
        encoded = value.encode("utf-8", "surrogatepass")
        self._waiting.append(encoded)
        self._lengths.append(len(encoded))
        self._size += len(encoded)
        if self._size > 1 << 22 or len(self._waiting) > 1 << 14:
            self.flush()

    def flush(self) -> None:
        ends = self._at + np.cumsum(np.array(self._lengths, np.int64))
        self._content.append(b"".join(self._waiting))
        self._ends.append(ends)
        self._at = int(ends[-1]) if len(ends) else self._at
        self._waiting, self._size, self._lengths = [], 0, array("q")


def keep(folder: WorkFolder, spill: Spill, read: Any, order: np.ndarray | None) -> None:
    """What `stored` needs to give the corpus again, now and to a run that goes on after this one.

    read   the `Stream` that the documents came from"""
    arrays: dict[str, np.ndarray] = {
        "codes": np.array(spill.codes, np.int32),
        "ends": np.array(spill.ends, np.int64),
        "weights": np.array(spill.weights, np.float64),
        "split": np.array(spill.split, np.int8),
        "order": np.empty(0, np.int64) if order is None else order,
    }
    folder.put(COLUMNS, arrays)
    about = {name: getattr(read, name) for name in ("name", "kind", "exclusive", "skipped", "source", "encoding")}
    about |= {"fields": list(read.fields), "labels": list(spill.label_of), "text_column": read.text_column}
    about |= {name: bool(folder.files[name]["size"]) for name in ("times", "groups")}
    folder.put_record(RECORD, about)


def stored(folder: WorkFolder) -> Corpus:
    """The corpus that a folder holds."""
    about, arrays = dict(folder.records[RECORD]), folder.get(COLUMNS)
    names, times, groups = about.pop("labels"), about.pop("times"), about.pop("groups")
    corpus = Corpus(
        **about,
        documents=StoredTexts(folder, "texts"),
        labels=StoredLabels(names, arrays["codes"], arrays["ends"]),
        ids=StoredTexts(folder, "ids"),
        split=StoredNames(("", *SPLITS), arrays["split"]),
        weights=arrays["weights"],
        times=StoredTexts(folder, "times") if times else None,
        groups=StoredTexts(folder, "groups") if groups else None,
    )
    corpus = read_times(replace(corpus, fields=tuple(corpus.fields)))
    return corpus.select(arrays["order"]) if len(arrays["order"]) else corpus


def read_times(corpus: Corpus) -> Corpus:
    """With times that sort, or as they came where no one asks for their order yet; `source` says how or why not."""
    if corpus.times is None:
        return corpus
    try:
        times, how = moments(corpus.times)
    except InputError as error:
        times, how = list(corpus.times), f"! {error}"
    return replace(corpus, times=times, source=corpus.source | {"times": how})
