from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lapwing import corpus
from lapwing.errors import CorpusError

from .build import jsonl

Write = Callable[[str, bytes | str], Path]


def test_fields(write: Write) -> None:
    path = write(
        "a.jsonl",
        jsonl(
            {"text": "one", "label": 3, "id": 7, "split": "dev", "weight": 0.5},
            {"text": "", "label": True},
            {"text": "three", "label": " x "},
        ),
    )
    read = corpus.read(path)
    assert read.labels == [("3",), ("true",), ("x",)]
    assert read.ids == ["7", "a.jsonl:2", "a.jsonl:3"]
    assert read.split == ["validation", "", ""]
    assert list(read.weights) == [0.5, 1.0, 1.0]
    assert read.documents == ["one", "", "three"]
    assert read.exclusive
    assert read.has_splits


def test_lists_are_multi_label_distinct_and_sorted(write: Write) -> None:
    path = write("a.jsonl", jsonl({"text": "a", "labels": ["y", "x", "y", " "]}, {"text": "b", "labels": []}))
    read = corpus.read(path)
    assert read.labels == [("x", "y"), ()]
    assert not read.exclusive


@pytest.mark.parametrize("empty", ["labels", "label", "category"])
def test_null_is_no_label_and_hides_none(write: Write, empty: str) -> None:
    """As pandas and Parquet write the rows of tables of different columns that were joined."""
    other = "label" if empty != "label" else "target"
    path = write("a.jsonl", jsonl({"text": "a", other: "x", empty: None}, {"text": "b", empty: "y", other: None}))
    read = corpus.read(path)
    assert read.labels == [("x",), ("y",)]
    assert read.exclusive


def test_keys_that_disagree_are_refused(write: Write) -> None:
    path = write(
        "a.jsonl", jsonl({"text": "a", "label": 3, "labels": ["3"]}, {"text": "b", "label": "x", "class": "y"})
    )
    with pytest.raises(
        CorpusError, match="line 2: expected one key of labels, got 'x' under 'label' and 'y' under 'cla"
    ):
        corpus.read(path)
    assert corpus.read(path, label_column="label").labels == [("3",), ("x",)]
    assert corpus.read(path, skip_bad=True).labels == [("3",)]


def test_documents_without_labels_are_kept_and_not_exclusive(write: Write) -> None:
    path = write("a.jsonl", jsonl({"text": "a", "label": "x"}, {"text": "b"}))
    read = corpus.read(path, labels_required=False)
    assert read.labels == [("x",), ()]
    assert not read.exclusive


def test_keys_can_be_named(write: Write) -> None:
    path = write("a.jsonl", jsonl({"body": "a", "tags": "x|y"}))
    read = corpus.read(path, text_column="body", label_column="tags", label_separator="|")
    assert read.labels == [("x", "y")]
    assert read.documents == ["a"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "JSON object"),
        ('[{"text": "a"}]', "every line"),
        ('{"label": "x"}', "'text'"),
        ('{"text": 3}', "got 3"),
        ('{"text": "a", "label": {}}', "label"),
        ('{"text": "a", "label": NaN}', "label"),
        ('{"text": "a", "split": "somewhere"}', "split"),
        ('{"text": "a", "weight": -1}', "weight"),
        ('{"text": "a", "id": []}', "id"),
        ("[" * 100_000, "JSON"),
        ("9" * 5_000, "JSON"),
    ],
)
def test_broken_records(line: str, says: str, write: Write) -> None:
    path = write("a.jsonl", '\n{"text": "good"}\n' + line + '\n{"text": "good too"}\n')
    with pytest.raises(CorpusError, match=says) as caught:
        corpus.read(path)
    assert caught.value.line == 3
    assert caught.value.path == str(path)
    kept = corpus.read(path, skip_bad=True)
    assert kept.documents == ["good", "good too"]
    assert kept.skipped == 1


def test_broken_utf8_is_one_broken_record(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write("a.jsonl", b'{"text": "a"}\n{"text": "caf\xe9"}\n{"text": "b"}\n')
    with pytest.raises(CorpusError, match=r"line 2.*UTF-8.*latin-1"):
        corpus.read(path)
    kept = corpus.read(path, skip_bad=True)
    assert (kept.documents, kept.skipped) == (["a", "b"], 1)
    assert "line 2" in caplog.text
    assert corpus.read(path, encoding="latin-1").documents[1] == "café"


@pytest.mark.parametrize("indent", [None, 1])
def test_broken_utf8_in_an_array_is_refused(write: Write, indent: int | None) -> None:
    rows = [{"text": "café", "label": "x"}, {"text": "b", "label": "y"}]
    content = "\n" + json.dumps(rows, ensure_ascii=False, indent=indent)
    path = write("a.json", content.encode("latin-1"))
    with pytest.raises(CorpusError, match=rf"line {2 if indent is None else 4}: expected UTF-8.*latin-1"):
        corpus.read(path)
    assert corpus.read(path, encoding="latin-1").documents == ["café", "b"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf8", "latin-1", "cp037"])
def test_encodings(encoding: str, write: Write) -> None:
    path = write("a.jsonl", '{"text": "é"}\n{"text": "\u010a"}\n'.replace("\u010a", "ü").encode(encoding))
    assert corpus.read(path, encoding=encoding).documents == ["é", "ü"]


def test_byte_order_mark_is_dropped(write: Write) -> None:
    assert corpus.read(write("a", b'\xef\xbb\xbf{"text": "a"}\n')).documents == ["a"]


def test_lone_surrogates_become_replacement_characters(write: Write) -> None:
    read = corpus.read(write("a.jsonl", '{"text": "a\\ud83d b", "label": "\\ud800"}'))
    assert read.documents == ["a\ufffd b"]
    assert read.labels == [("\ufffd",)]


def test_files_of_a_folder_are_splits_by_name(tmp_path: Path, write: Write) -> None:
    write("d/train.jsonl", jsonl({"text": "a", "label": "x"}))
    write("d/test.jsonl", jsonl({"text": "b", "label": "x"}, {"text": "c", "label": "x", "split": "train"}))
    write("d/README.md", "about")
    read = corpus.read(tmp_path / "d")
    assert dict(zip(read.documents, read.split, strict=True)) == {"a": "train", "b": "test", "c": "train"}
    assert not corpus.read(tmp_path / "d" / "test.jsonl").part("all").split[0]


@pytest.mark.parametrize(
    ("name", "one"), [("a.jsonl", '{"text": "a", "label": "x"}'), ("a.csv", "text,label\na,x"), ("a.svm", "1 1:2")]
)
def test_files_of_a_folder_are_splits_by_the_folders_they_are_in(name: str, one: str, write: Write) -> None:
    for split in ("train", "test"):
        path = write(f"d/{split}/{name}", one + "\n").parent.parent
    read = corpus.read(path)
    assert read.split == ["test", "train"]
    assert [one.rpartition(":")[0] for one in read.ids] == [f"test/{name}", f"train/{name}"]


def test_keys_are_known_however_they_are_capitalised(write: Write) -> None:
    one = {"text": "a", "label": "x", "Split": "test", "Weight": 3, "ID": 7}
    table = write("a.csv", "text,label,Split,Weight,ID\na,x,test,3,7\n")
    for read in (corpus.read(write("a.jsonl", jsonl(one))), corpus.read(table)):
        assert (read.split[0], read.weights[0], read.ids[0]) == ("test", 3.0, "7")


def test_nan_is_no_group(write: Write) -> None:
    lines = "".join(f'{{"text": "{i}", "label": "x", "user": {user}}}\n' for i, user in enumerate(("NaN", 1, "NaN")))
    assert list(corpus.read(write("a.jsonl", lines), group_column="user").groups or ()) == ["", "1", ""]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(), st.lists(st.text()), st.booleans()), min_size=1))
def test_round_trip(tmp_path: Path, records: list[tuple[str, list[str], bool]]) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": t, "labels": ls}, ensure_ascii=escaped) for t, ls, escaped in records]
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode())
    read = corpus.read(path)
    assert read.documents == [text for text, _, _ in records]
    assert read.labels == [tuple(sorted({x.strip() for x in ls} - {""})) for _, ls, _ in records]
