from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.corpus.detect import by_content
from lapwing.errors import CorpusError, SettingsError

from .build import CORPORA, folder

Write = Callable[[str, bytes | str], Path]


@pytest.mark.parametrize("format", [f for f in CORPORA if f != "folder"])
def test_content_alone_is_enough(format: str) -> None:
    assert by_content(next(iter(CORPORA[format].values())), None) == format


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("\n\n  {\n", "jsonl"),
        ("# c\n\n-1 qid:3 cost:2 1:0.5\n", "svmlight"),
        ("1:0.5 2:3\n", "svmlight"),
        ("sport 7:1\n", "svmlight"),
        ("meet me at 10:30, please", "csv"),
        ("just words", ""),
        ("# A title\n\nand, then, prose", ""),
        ("A sentence that is much too long to be the name of a column in any table, and more", ""),
        ("# only a comment", ""),
    ],
)
def test_first_lines(text: str, format: str) -> None:
    assert by_content(text.encode(), None) == format


def test_encoding_is_respected() -> None:
    assert by_content('{"text": "a"}'.encode("utf-16"), "utf-16") == "jsonl"


def test_what_cannot_be_told(write: Write) -> None:
    with pytest.raises(CorpusError, match=r"jsonl, csv.*--format"):
        corpus.read(write("a.dat", "just words"))
    with pytest.raises(CorpusError, match="archive's, its content is not"):
        corpus.read(write("a.zip", "just words"))
    with pytest.raises(CorpusError, match="cannot tell"):
        corpus.read(folder(write("d/a.csv", "text\nx\n").parent, {"b.jsonl": b"{}"}))


def test_empty_and_missing(write: Write, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="empty file"):
        corpus.read(write("a.jsonl", ""))
    with pytest.raises(CorpusError, match="found none"):
        corpus.read(write("a.jsonl", ""), "jsonl")
    with pytest.raises(CorpusError, match="no such file"):
        corpus.read(tmp_path / "missing")
    with pytest.raises(CorpusError, match="cannot be read"):
        corpus.read("nul\0byte")
    with pytest.raises(CorpusError, match=r"only broken ones.*'text'"):
        corpus.read(write("a.jsonl", "{}"), skip_bad=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read everything")
def test_permission(write: Write, tmp_path: Path) -> None:
    path = write("a.jsonl", "{}")
    path.chmod(0)
    with pytest.raises(CorpusError, match="permission"):
        corpus.read(path)


def test_a_folder_with_one_kind_of_file_and_notes(write: Write, tmp_path: Path) -> None:
    write("d/data/train.csv", "text,label\na,x\n")
    write("d/data/columns.txt", "text is the text")
    assert corpus.read(tmp_path / "d").source["format"] == "csv"


def test_settings(write: Write) -> None:
    path = write("a.jsonl", '{"text": "a"}')
    with pytest.raises(SettingsError, match="auto, jsonl"):
        corpus.read(path, "jsnl")
    with pytest.raises(SettingsError, match=r"'encodin'.*did you mean encoding.*skip_bad"):
        corpus.read(path, encodin="utf-8")
    for encoding in ("utf-99", "hex", "nul\0"):
        with pytest.raises(SettingsError, match="encoding"):
            corpus.read(path, encoding=encoding)
    with pytest.raises(SettingsError, match="split"):
        corpus.read(path, split="half")
    with pytest.raises(SettingsError, match="categories"):
        corpus.read(path, categories="x")
    with pytest.raises(CorpusError, match="binary stream"), path.open() as text:
        corpus.read(text)


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("Dear Sir,\nthe wheat has come.\n", "text"),
        ("Wheat, corn and oil\nrose\n", "text"),
        ("Class, dismissed\nHello, world\n", "text"),
        ("text, which is long, has commas\nand, more, here\n", "text"),
        ("From here at 10:30 on\nNote: this goes on\n", "text"),
        ("text,label\na,x\n", "csv"),
        ("body\tlabel\na\tx\n", "tsv"),
    ],
)
def test_a_comma_in_prose_makes_no_table(write: Write, content: str, format: str) -> None:
    assert corpus.stream(write("letter.txt", content)).format == format


WRONG = {
    "folder": {"text_column": "a", "label_separator": ";", "qrels": "q", "header": False, "time_column": "t"},
    "csv": {"folder_level": 1, "label_from": "x", "smart_require": "T", "reuters_split": "modlewis"},
    "jsonl": {"header": False, "quote": "'", "folder_level": -1, "qrels": "q"},
    "parquet": {"encoding": "latin-1", "header": False},
    "svmlight": {"text_column": "a", "label_column": 1, "group_column": "g"},
    "mail": {"text_column": "Subject", "header": False},
    "text": {"label_separator": ",", "text_column": "a", "label_column": "b"},
    "reuters": {"smart_require": "T", "label_column": "PLACES"},
    "annif": {"label_column": "b"},
}


@pytest.mark.parametrize(("format", "option"), [(format, name) for format in WRONG for name in WRONG[format]])
def test_an_option_that_means_nothing_is_refused(format: str, option: str, tmp_path: Path) -> None:
    given = {option: WRONG[format][option]}
    name = next(iter(CORPORA[format])) if format != "folder" else ""
    path = folder(tmp_path, CORPORA[format]) / name
    with pytest.raises(CorpusError, match=f"{option} belongs to the formats .*, and means nothing for {format};"):
        corpus.read(path, format, **given)
    assert corpus.read(path, format, labels_required=False, split=None)
