"""Input of which nobody knows what it means is refused or announced, never silently taken for something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.run import Command

from lapwing import corpus
from lapwing.errors import CorpusError
from lapwing.formats import load, save


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "text,label\na,x\nb,y\nc,\n"),
        ("a.jsonl", '{"text": "a", "label": "x"}\n{"text": "b"}\n'),
        ("a.jsonl", '{"text": "a", "label": "x"}\n{"text": "b", "label": null}\n'),
        ("a.svm", "1 1:1\n3:1\n"),
    ],
)
def test_one_label_missing_among_exclusive_classes(name: str, content: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(CorpusError, match="found none for 1 of"):
        corpus.read(path)
    assert not corpus.read(path, labels_required=False).exclusive


def test_a_part_without_labels_leaves_classes_exclusive(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label,split\na,x,train\nb,y,train\nc,,test\n")
    assert corpus.read(path).exclusive
    path = write(tmp_path / "a.csv", "text,label,split\na,x,train\nb,y,train\nc,,test\nd,x,test\n")
    with pytest.raises(CorpusError, match=r"'a\.csv:4'"):
        corpus.read(path)


def test_independent_categories_may_be_none(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label\na,x\nb,y\nc,\n")
    assert corpus.read(path, label_separator=";").labels == [("x",), ("y",), ()]
    path = write(tmp_path / "a.jsonl", '{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": []}\n')
    assert not corpus.read(path).exclusive


@pytest.mark.parametrize(
    ("header", "options", "named"),
    [
        ("text,label,Text", {}, "text_column"),
        ("text,label,label", {}, "label_column"),
        ("text,label,id,id", {}, "rename"),
        ("body,label,body", {"text_column": "body"}, "text_column"),
    ],
)
def test_columns_of_one_name(header: str, options: dict[str, str], named: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"{header}\na,x,y,z\n"[: -1 if header.count(",") == 3 else -3] + "\n")
    with pytest.raises(CorpusError, match=named):
        corpus.read(path, **options)


def test_a_column_by_its_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label,text\na,x,b\n")
    assert corpus.read(path, text_column=3).documents == ["b"]


def test_two_columns_that_could_be_labels(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "a.csv", "text,category,label\na,x,y\n")
    assert corpus.read(path).labels == [("y",)]
    assert "'label'" in caplog.text
    assert "category" in caplog.text


def test_a_key_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a", "label": "x", "text": "b"}\n')
    with pytest.raises(CorpusError, match="every key once, got 'text'"):
        corpus.read(path)


def test_linked_class_folders_are_announced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "elsewhere" / "1.txt", "oil")
    for label in "ab":
        write(tmp_path / "data" / label / "1.txt", f"oil {label}")
    (tmp_path / "data" / "c").symlink_to(tmp_path / "elsewhere")
    assert corpus.read(tmp_path / "data").categories() == ["a", "b"]
    assert "not followed: c;" in caplog.text


def test_a_share_of_every_label_is_kept_apart(run: Command, tmp_path: Path) -> None:
    data = tmp_path / "sets.jsonl"
    labels = [f"c{k % 6}" for k in range(60)] + ["none"] * 40
    rows = [{"text": f"word{k} {one}", "labels": [one]} for k, one in enumerate(labels)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run("train", data, "-o", tmp_path / "m.lapwing", "--variance", "1", "--holdout", "0.3", "--json")
    assert ran.code == 0, ran.err
    apart = {one["category"]: one["tp"] + one["fn"] for one in ran.json["holdout"]["categories"]}
    assert apart == {**{f"c{k}": 3 for k in range(6)}, "none": 12}


@pytest.mark.parametrize("flags", [["--max-document", "1TB"], ["--max-expansion", "1e12"], ["--text-column"]])
def test_a_model_lifts_no_bounds(run: Command, news: Path, trained: Path, tmp_path: Path, flags: list[str]) -> None:
    model = load(trained)
    model.provenance["reading"] = flags
    save(model, tmp_path / "m.lapwing")
    ran = run("evaluate", tmp_path / "m.lapwing", news)
    assert "as in training" not in ran.err
    assert ran.code == 0 if len(flags) == 2 else "expected a value after --text-column" in ran.complaint
