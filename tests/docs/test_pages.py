"""Every code block of every page does what the page says."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.run import Command, in_process

from docs.pages import Reader, alike, blocks

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if any(blocks(path.read_text(encoding="utf-8")))]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Iterator[Command]:
    yield from in_process(monkeypatch, capsysbinary)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Iterator[Reader]:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, command)
    yield reader
    reader.close()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_page_does_what_it_says(path: Path, reader: Reader) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader would wonder
        reader.follow(path.name, path.read_text(encoding="utf-8"))
    if reader.left_out:
        pytest.skip(f"all but {len(reader.left_out)} blocks were run: {reader.left_out[0]}")


def test_what_is_shown_is_compared() -> None:
    assert alike("a\nb … d\n", "a  \nb c d\n")
    assert alike("first\n…\nlast", "first\n1\n2\nlast")
    assert not alike("a\nb", "a\nc")
    assert not alike("a … b", "a\nb")
    assert not alike("a", "a\nb")
    assert alike("asyncio  250  9  1.0e-04", "asyncio   25  19  5.3e-05", loose=True)
    assert not alike("asyncio  250", "asyncio   25")
    assert not alike("asyncio  250", "logging  250", loose=True)


@pytest.mark.parametrize(
    "word", ["bigram", "imbalanced", "multilabel", "multi-label", "confidence", "parquet", "docker"]
)
def test_words_that_people_search_for_stand_in_a_page(word: str) -> None:
    assert any(word in path.read_text(encoding="utf-8").lower() for path in DOCS.rglob("*.md"))
