from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError

from .build import jsonl

Write = Callable[[str, bytes | str], Path]


def test_split_option(write: Write) -> None:
    path = write("a.jsonl", jsonl({"text": "a", "split": "train"}, {"text": "b", "split": "test"}, {"text": "c"}))
    assert corpus.read(path, split="test").documents == ["b"]
    assert [d.content for d in corpus.stream(path, split="train")] == ["a"]
    with pytest.raises(CorpusError, match=r"'validation'.*test, train"):
        corpus.read(path, split="validation")


def test_part_and_select(write: Write) -> None:
    path = write("a.jsonl", jsonl({"text": "a", "split": "train"}, {"text": "b", "split": "test"}))
    read = corpus.read(path)
    assert read.part("test").documents == ["b"]
    assert read.select([1, 0, 1]).documents == ["b", "a", "b"]
    with pytest.raises(CorpusError, match="found splits: test, train"):
        read.part("validation")


def test_running_count_of_skipped(write: Write) -> None:
    documents = corpus.stream(write("a.jsonl", '{"text": "a"}\n{\n{"text": "b", "labels": []}\n'), skip_bad=True)
    assert (next(documents).content, documents.skipped, documents.exclusive) == ("a", 0, True)
    assert (next(documents).content, documents.skipped, documents.exclusive) == ("b", 1, False)
    assert next(documents, None) is None


class Endless:
    """More JSON lines than should ever be in memory."""

    name = "<stdin>"

    def __init__(self, lines: int) -> None:
        self.left = lines

    def read(self, size: int) -> bytes:
        line = b'{"text": "%s"}\n' % (b"word " * 200)
        count = min(self.left, max(1, size // len(line)))
        self.left -= count
        return line * count


def test_memory_does_not_grow_with_the_stream() -> None:
    documents = corpus.stream(Endless(20_000))  # type: ignore[arg-type]
    assert documents.name == "stdin"
    tracemalloc.start()
    try:
        assert sum(1 for _ in documents) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_standard_input(write: Write) -> None:
    path = write("a.csv", "text,label\na,x\n")
    code = "import sys; from lapwing import corpus; sys.exit(len(list(corpus.stream(sys.stdin.buffer))) != 1)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with path.open("rb") as given:
        assert subprocess.run([sys.executable, "-c", code], stdin=given, env=environment).returncode == 0


def test_importing_does_not_load_scipy() -> None:
    code = "import sys, lapwing.corpus; sys.exit('scipy' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


@pytest.mark.filterwarnings("error")
def test_an_abandoned_stream_closes_its_files(write: Write) -> None:
    path = write("a.jsonl", jsonl({"text": "a"}, {"text": "b"}))
    documents: Iterator[object] = corpus.stream(path)
    next(documents)
    documents.close()  # type: ignore[attr-defined]
    path.unlink()
