"""What people have: Parquet and Arrow, folders of datasets, mail, lines of text, exports of labelling tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lapwing import corpus
from lapwing.corpus import Corpus
from lapwing.errors import CorpusError, MissingExtraError

from .build import CORPORA, MBOX, columnar, folder

TASKS = [
    {"id": 7, "data": {"text": "fine"}, "annotations": [
        {"result": [{"type": "choices", "value": {"choices": ["pos"]}}]},
        {"result": [{"type": "choices", "value": {"choices": ["neg"]}}]},
        {"result": [{"type": "choices", "value": {"choices": ["pos"]}}]},
        {"result": [{"type": "choices", "value": {"choices": ["neg"]}}], "was_cancelled": True},
        {"result": [{"type": "choices", "value": {"choices": ["neg"]}}], "was_cancelled": True},
    ]},
    {"id": 8, "data": {"text": "poor"}, "annotations": [{"result": [{"value": {"choices": ["neg"]}}]}]},
]  # fmt: skip
RECORDS = [
    {"id": "a", "fields": {"text": "fine"}, "responses": {"sentiment": [
        {"value": "neg", "status": "discarded"}, {"value": "pos", "status": "submitted"}]}, "suggestions": {}},
    {"id": "b", "fields": {"text": "poor"}, "responses": {"sentiment": [{"value": "neg", "status": "submitted"}]}},
]  # fmt: skip


def read(path: Path, content: Any, **options: Any) -> Corpus:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return corpus.read(path, **options)


@pytest.mark.parametrize(
    "content",
    [
        TASKS,
        json.dumps(TASKS, indent=2),
        RECORDS,
        "".join(json.dumps(record) + "\n" for record in RECORDS),
        [{"id": 1, "text": "fine", "sentiment": "pos"}, {"id": 2, "text": "poor", "sentiment": "neg"}],
        [{"inputs": {"text": "fine"}, "annotation": "pos"}, {"inputs": {"text": "poor"}, "annotation": "neg"}],
    ],
)
def test_exports_of_labelling_tools(content: Any, tmp_path: Path) -> None:
    plain = isinstance(content, list) and "sentiment" in content[0]
    output = read(tmp_path / "export.json", content, **({"label_column": "sentiment"} if plain else {}))
    assert output.documents == ["fine", "poor"]
    assert output.labels == [("pos",), ("neg",)]
    assert output.exclusive


def test_exports_with_several_choices_are_label_sets(tmp_path: Path) -> None:
    several = {"data": {"text": "x"}, "annotations": [{"result": [{"value": {"choices": ["b", "a"]}}]}]}
    output = read(tmp_path / "a.json", [several, *TASKS])
    assert output.labels == [("a", "b"), ("pos",), ("neg",)]
    assert not output.exclusive
    small = read(tmp_path / "b.json", [{"text": "x", "tags": {"choices": ["b", "a"]}}], label_column="tags")
    assert small.labels == [("a", "b")]


def test_parquet_feather_and_arrow_are_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import feather

    rows = [{"text": "a b", "label": "x", "n": 1}, {"text": "c", "label": "y", "n": 2}]
    feather.write_feather(pa.Table.from_pylist(rows), str(tmp_path / "n.feather"))
    files = folder(tmp_path, {"n.parquet": columnar("parquet"), "n.arrow": columnar("arrow")})
    for name in ("n.parquet", "n.arrow", "n.feather"):
        data = corpus.read(files / name, group_column="n")
        assert data.documents == ["a b", "c"]
        assert data.labels == [("x",), ("y",)]
        assert data.groups == ["1", "2"]
        assert data.fields == ("text", "label", "n")


def test_numbered_classes_of_datasets_have_their_names(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])})
    one = datasets.Dataset.from_dict({"text": ["fine", "poor", "?"], "label": [1, 0, -1]}, features=features)
    whole = datasets.DatasetDict({"train": one.select([0, 1]), "test": one.select([0])})
    whole.save_to_disk(str(tmp_path / "saved"))
    data = corpus.read(tmp_path / "saved")
    assert sorted(zip(data.split, data.documents, data.labels, strict=True)) == [
        ("test", "fine", ("pos",)), ("train", "fine", ("pos",)), ("train", "poor", ("neg",)),
    ]  # fmt: skip
    one.to_parquet(str(tmp_path / "one.parquet"))
    assert corpus.read(tmp_path / "one.parquet", labels_required=False).labels == [("pos",), ("neg",), ()]
    lists = datasets.Features({"text": datasets.Value("string"), "labels": [datasets.ClassLabel(names=["a", "b"])]})
    many = datasets.Dataset.from_dict({"text": ["x"], "labels": [[1, 0]]}, features=lists)
    many.to_parquet(str(tmp_path / "many.parquet"))
    assert corpus.read(tmp_path / "many.parquet").labels == [("a", "b")]


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(CORPORA["parquet"]["news.parquet"])
    with pytest.raises(MissingExtraError, match=r"lapwing\[arrow\]"):
        corpus.read(tmp_path / "a.parquet")


def test_mail(tmp_path: Path) -> None:
    root = folder(tmp_path, {"meetings.mbox": MBOX, "spam.mbox": MBOX.replace(b"@example", b"@elsewhere")})
    data = corpus.read(root, time_column="Date", group_column="thread")
    assert data.documents[:2] == ["Café meeting\n\nShall we meet?\nFrom noon on.", "Re: meeting\n\nYes &  thanks"]
    assert data.labels == [("meetings",)] * 2 + [("spam",)] * 2
    assert data.exclusive
    assert data.ids[0] == "<1@example.org>"
    assert data.times[:2] == ["1998-01-05T09:00:00+00:00", "1998-01-06T11:00:00+00:00"]
    assert data.groups[:2] == ["<1@example.org>"] * 2
    assert corpus.read(root / "spam.mbox", labels_required=False).labels == [(), ()]


def test_mail_in_class_folders_and_labels_in_a_header(tmp_path: Path) -> None:
    letter = b"Subject: Hello\nX-Gmail-Labels: Work,Inbox\n\nWords\n"
    root = folder(tmp_path, {"train/a/1.eml": letter, "train/b/2.eml": letter + b"more", "test/a/3.eml": b"x\n"})
    data = corpus.read(root)
    assert sorted(zip(data.labels, data.split, strict=True)) == [
        (("a",), "test"), (("a",), "train"), (("b",), "train"),
    ]  # fmt: skip
    assert data.documents[data.labels.index(("b",))] == "Hello\n\nWords\nmore"
    by_header = corpus.read(root, label_column="X-Gmail-Labels")
    assert by_header.labels.count(("Inbox", "Work")) == 2
    assert not by_header.exclusive
    (root / "train" / "a" / "1.eml").write_bytes(b'Keywords: "Oil, gas", wheat\nKeywords: corn\n' + letter)
    assert ("Oil, gas", "corn", "wheat") in corpus.read(root, label_column="Keywords").labels


def test_lines_of_text_with_and_without_labels(tmp_path: Path) -> None:
    data = read(tmp_path / "a.txt", "one line\n\nanother, with a comma\n", labels_required=False)
    assert data.documents == ["one line", "another, with a comma"]
    assert data.ids == ["a.txt:1", "a.txt:3"]
    fast = read(tmp_path / "b", "__label__a __label__b one\n__label__b two\n")
    assert fast.labels == [("a", "b"), ("b",)]
    assert fast.documents == ["one", "two"]
    assert not fast.exclusive
    assert read(tmp_path / "c", "__label__a one\n__label__b two\n").exclusive


def test_times_and_groups_of_a_table(tmp_path: Path) -> None:
    table = "text,label,year,user\na,x,9,u\nb,y,10,u\n"
    data = read(tmp_path / "a.csv", table, time_column="year", group_column="user")
    assert data.times == [9.0, 10.0]
    assert data.groups == ["u", "u"]
    assert read(tmp_path / "a.csv", table).times is None
    with pytest.raises(CorpusError, match=r"time_column to be one of the columns.*text, label, year"):
        read(tmp_path / "a.csv", table, time_column="when")
    with pytest.raises(CorpusError, match="line 3: expected a value in the column that time_column names"):
        read(tmp_path / "a.csv", "text,label,year\na,x,9\nb,y,\n", time_column="year")
    with pytest.raises(CorpusError, match=r"a string or a number under 'year' \(time_column\)"):
        read(tmp_path / "a.jsonl", {"text": "a", "label": "x"}, time_column="year")
