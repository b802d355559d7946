from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lapwing import corpus
from lapwing.errors import CorpusError, SettingsError

Write = Callable[[str, bytes | str], Path]


def test_columns_by_name(write: Write) -> None:
    path = write("a.csv", "\ufeffID,Class,Text,split,weight\nq,x,hello,train,2\n,y,bye,,\n")
    read = corpus.read(path)
    assert read.ids == ["q", "a.csv:3"]
    assert read.labels == [("x",), ("y",)]
    assert read.documents == ["hello", "bye"]
    assert read.split == ["train", ""]
    assert list(read.weights) == [2.0, 1.0]
    assert read.exclusive


@pytest.mark.parametrize(("text", "label"), [("body", "topic"), (2, 3), ("2", "3"), ("BODY", 3)])
def test_columns_by_option(text: str | int, label: str | int, write: Write) -> None:
    path = write("a.csv", "n,body,topic,label\n1,hello,x;y,z\n")
    read = corpus.read(path, text_column=text, label_column=label, label_separator=";")
    assert read.documents == ["hello"]
    assert read.labels == [("x", "y")]
    assert not read.exclusive


@pytest.mark.parametrize(
    ("header", "labels"),
    [("text,sentiment", ("b",)), ("review,label", ("b",)), ("id,text", ()), ("split,text", None)],
)
def test_two_columns(header: str, labels: tuple[str, ...] | None, write: Write) -> None:
    path = write("a.csv", header + "\na,b\n")
    if labels is None:
        with pytest.raises(CorpusError, match="split"):
            corpus.read(path)
    else:
        assert corpus.read(path).labels == [labels]


def test_one_column_is_text(write: Write) -> None:
    assert corpus.read(write("a.csv", "message\na\nb\n")).documents == ["a", "b"]


def test_no_header(write: Write) -> None:
    path = write("sms.tsv", 'ham\t"quoted" is fine\nspam\twin\n')
    read = corpus.read(path, header=False, label_column=1, text_column=2, quote="")
    assert read.documents == ['"quoted" is fine', "win"]
    assert read.labels == [("ham",), ("spam",)]


def test_text_column_unknown(write: Write) -> None:
    path = write("a.csv", "a,b,c\n1,2,3\n")
    with pytest.raises(CorpusError, match=r"'text'.*a, b, c.*--text-column"):
        corpus.read(path)
    with pytest.raises(CorpusError, match=r"text_column.*1 to 3.*'d'"):
        corpus.read(path, text_column="d")
    with pytest.raises(CorpusError, match="got 4"):
        corpus.read(path, text_column=4)


@pytest.mark.parametrize("bad", ["one", "a,b,c", '"x"y,z', "a,b\x00c,d,e"])
def test_broken_rows_name_the_line_they_begin_on(bad: str, write: Write) -> None:
    path = write("a.csv", f'text,label\n"two\nlines",x\n{bad}\n"more\nlines",y\n')
    with pytest.raises(CorpusError) as caught:
        corpus.read(path)
    assert caught.value.line == 4
    kept = corpus.read(path, skip_bad=True)
    assert kept.labels == [("x",), ("y",)]
    assert kept.skipped == 1
    assert kept.ids == ["a.csv:2", "a.csv:5"]


def test_unclosed_quote(write: Write) -> None:
    path = write("a.csv", 'text,label\ngood,x\n"never closed,y\nz,z\n')
    with pytest.raises(CorpusError, match=r"line 3.*quote"):
        corpus.read(path)
    assert corpus.read(path, skip_bad=True).skipped == 1


def test_long_fields_control_characters_and_newlines(write: Write) -> None:
    text = "word " * 100_000 + "\x00\x07\x1c\u2028"
    read = corpus.read(write("a.csv", f'text,label\n"{text}",x\n"a\r\nb",y\n'))
    assert read.documents == [text, "a\r\nb"]


def test_utf16(write: Write) -> None:
    assert corpus.read(write("a.csv", "text,label\né,Ċ\n".encode("utf-16")), encoding="utf-16").labels == [("Ċ",)]


def test_broken_encoding_in_a_row(write: Write) -> None:
    path = write("a.csv", b"text,label\na,x\ncaf\xe9,y\nb,z\n")
    with pytest.raises(CorpusError, match=r"line 3.*UTF-8"):
        corpus.read(path)
    assert corpus.read(path, skip_bad=True).documents == ["a", "b"]
    truncated = write("b.csv", "text\nab\n".encode("utf-16")[:-1])
    with pytest.raises(CorpusError, match="utf-16"):
        corpus.read(truncated, encoding="utf-16")


@pytest.mark.parametrize("option", [{"quote": '""'}, {"quote": ","}, {"label_separator": ""}, {"text_colum": 1}])
def test_settings(option: dict[str, object], write: Write) -> None:
    with pytest.raises(SettingsError):
        corpus.read(write("a.csv", "text\na\n"), **option)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(), st.text()), min_size=1), st.sampled_from(["csv", "tsv"]))
def test_round_trip(tmp_path: Path, rows: list[tuple[str, str]], format: str) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="," if format == "csv" else "\t", quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "label"), *rows])
    (tmp_path / "a").write_bytes(buffer.getvalue().encode())
    read = corpus.read(tmp_path / "a", format, labels_required=False)
    assert read.documents == [text for text, _ in rows]
    assert read.labels == [(label.strip(),) if label.strip() else () for _, label in rows]


@pytest.mark.parametrize("separator", [";", "|", "\t", ","])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a"])
def test_the_separator_is_the_one_of_the_header(separator: str, name: str, write: Write) -> None:
    """A spreadsheet writes what the country of its user writes."""
    rows = [["text", "label", "n"], ["the cat, the dog", "x", "1,5"], ['a "word"; more | less', "y", ""]]
    lines = (separator.join(f'"{cell}"'.replace('"word"', '""word""') for cell in row) for row in rows)
    read = corpus.read(write(name, "\ufeff" + "\r\n".join(lines)))
    assert read.documents == ["the cat, the dog", 'a "word"; more | less']
    assert read.labels == [("x",), ("y",)]


def test_other_separators_are_part_of_a_cell(write: Write) -> None:
    read = corpus.read(write("a.csv", 'text,label\n"a;b|c",x;y\nd;e,z\n'))
    assert read.documents == ["a;b|c", "d;e"]
    assert read.labels == [("x;y",), ("z",)]
    assert corpus.read(write("b.csv", "text\na;b\n"), labels_required=False).documents == ["a;b"]
    assert corpus.read(write("c.csv", "a;b\n"), header=False, text_column=1, labels_required=False).documents == ["a;b"]


def test_a_document_may_be_in_no_group(write: Write) -> None:
    table = write("a.csv", "text,label,user\na,x,\nb,y, u \n")
    lines = write("a.jsonl", '{"text": "a", "label": "x", "user": null}\n{"text": "b", "label": "y", "user": "u"}\n')
    for path in (table, lines):
        assert corpus.read(path, group_column="user").groups == ["", "u"]
    with pytest.raises(CorpusError, match="expected values under 'owner'"):
        corpus.read(lines, group_column="owner")


@pytest.mark.parametrize("number", ["1_000", "0x10", "1,000", "inf", "1 000", "5%"])
def test_what_other_programs_read_as_no_number_is_refused(number: str, write: Write) -> None:
    path = write("a.csv", f'text,label,n,weight\na,x,"{number}",1\n')
    with pytest.raises(CorpusError, match="expected a number under 'n'"):
        corpus.read(path, numeric_columns=["n"])
    with pytest.raises(CorpusError, match="expected a weight"):
        corpus.read(write("b.csv", f'text,label,weight\na,x,"{number}"\n'))


def test_a_label_in_another_column_is_not_lost(write: Write) -> None:
    """As pandas writes two tables of different columns that were joined."""
    path = write("a.csv", "text,label,labels\na,x,\nb,,y\n")
    for options in ({}, {"label_separator": ";"}):
        with pytest.raises(CorpusError, match=r"line 3: expected a label in one column, got 'y' in another"):
            corpus.read(path, **options)
    assert corpus.read(path, label_column="label", label_separator=";").labels == [("x",), ()]
