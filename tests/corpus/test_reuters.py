from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError, SettingsError
from lapwing_formats.reuters import unescape

from .build import REUTERS

Write = Callable[[str, bytes | str], Path]


def test_text_labels_and_ids(write: Write) -> None:
    read = corpus.read(write("reut2-000.sgm", REUTERS))
    assert read.ids == ["1", "2"]
    assert read.labels == [("corn", "grain"), ()]
    assert read.documents[0].split() == "CORN <UP> & AWAY Prices rose. Reuter".split()
    assert read.documents[1].split() == "café prices <unprocessed>".split()
    assert not read.exclusive
    as_printed = corpus.read(write("reut2-000.sgm", REUTERS), reuters_text="glm07")
    assert as_printed.ids == read.ids
    assert as_printed.labels == read.labels
    assert as_printed.documents[0].split() == "CORN & AWAY Prices rose. Reuter".split()
    assert as_printed.documents[1] == ""
    with pytest.raises(SettingsError, match="reuters_text"):
        corpus.read(write("reut2-000.sgm", REUTERS), reuters_text="none")


@pytest.mark.parametrize(
    ("scheme", "split"),
    [("modapte", ["train", ""]), ("modlewis", ["train", "test"]), ("modhayes", ["train", "test"])],
)
def test_splits(scheme: str, split: list[str], write: Write) -> None:
    assert corpus.read(write("a", REUTERS), reuters_split=scheme).split == split


def test_other_label_fields(write: Write) -> None:
    assert corpus.read(write("a", REUTERS), reuters_labels="places").labels == [("usa",), ()]
    with pytest.raises(SettingsError, match="topics, places"):
        corpus.read(write("a", REUTERS), reuters_labels="topic")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b'NEWID="2"', b"", 9),
        (b"</TITLE>", b"", 2),
        (b"</TOPICS>\n<PLACES><D>", b"<D>", 2),
        (b"</REUTERS>\n<REUTERS", b"<REUTERS", 8),
        (b"<TEXT TYPE", b"<TXT TYPE", 9),
    ],
)
def test_broken_elements(old: bytes, new: bytes, line: int, write: Write) -> None:
    path = write("a.sgm", REUTERS.replace(old, new))
    with pytest.raises(CorpusError) as caught:
        corpus.read(path)
    assert caught.value.line == line
    kept = corpus.read(path, skip_bad=True)
    assert len(kept) == 1
    assert kept.skipped == 1


def test_truncated_file(write: Write) -> None:
    path = write("a.sgm", REUTERS[:-40])
    with pytest.raises(CorpusError, match=r"line 9.*truncated"):
        corpus.read(path)
    assert corpus.read(path, skip_bad=True).ids == ["1"]


def test_no_elements(write: Write) -> None:
    with pytest.raises(CorpusError, match="found none"):
        corpus.read(write("a.sgm", b"<!DOCTYPE lewis>\nnothing"))


def test_elements_longer_than_a_block_and_many_to_a_line(write: Write) -> None:
    element = REUTERS.partition(b"\n")[2]
    long = element.replace(b"Prices", b"Prices and more\n" * 60_000)
    read = corpus.read(write("a.sgm", long + element.replace(b"\n", b" ") * 3))
    assert read.ids == ["1", "2"] * 4
    assert len(read.documents[0]) > 900_000


def test_character_references() -> None:
    assert unescape("&lt;&gt;&amp;&quot;&#65;&#x42;&#3;&#233;&amp;lt;&unknown;&#55555;") == '<>&"AB é&lt;&unknown; '
