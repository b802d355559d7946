"""Parquet and Arrow files, and exports of labelling tools, that do not hold what they should."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import corpus
from lapwing.corpus import streams
from lapwing.errors import CorpusError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def arrow(table: Any, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_column_that_is_there_twice_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"d.{suffix}"
    table = pa.table([["oil"], ["energy"], ["corn"]], names=["text", "label", "text"])
    arrow(table, path)
    with pytest.raises(CorpusError, match="every column once, got 'text' repeatedly"):
        corpus.read(path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_small_file_of_a_huge_text_many_times_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "UNCHECKED", 1 << 20)
    path = tmp_path / f"d.{suffix}"
    rows = pa.array(np.zeros(4000, dtype=np.int8))
    table = pa.table(
        {name: pa.DictionaryArray.from_arrays(rows, [text]) for name, text in (("text", "x " * 5000), ("label", "a"))}
    )
    arrow(table, path) if suffix == "arrow" else pq.write_table(table, path)
    assert path.stat().st_size < 30_000
    with pytest.raises(CorpusError, match="at most 200 bytes for each compressed one"):
        corpus.read(path)
    assert len(corpus.read(path, max_expansion=1e6)) == 4000


def test_a_document_has_a_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"text": ["oil " * 100, "gas"], "label": ["a", "b"]}), path)
    with pytest.raises(CorpusError, match="line 1: expected a document of at most"):
        corpus.read(path, max_document=100)
    assert corpus.read(path, max_document=100, skip_bad=True).documents == ["gas"]


@pytest.mark.parametrize("metadata", ["[" * 100_000, '{"a":' * 100_000, "{", '{"info": 5}'])
def test_metadata_that_make_no_sense_say_nothing(tmp_path: Path, metadata: str) -> None:
    path = tmp_path / "d.parquet"
    table = pa.table({"text": ["oil", "gas"], "label": [0, 1]}).replace_schema_metadata({"huggingface": metadata})
    pq.write_table(table, path)
    assert corpus.read(path).labels == [("0",), ("1",)]


@pytest.mark.parametrize("form", [lambda one: [one], lambda one: {"feature": one, "_type": "List"}])
def test_names_of_classes_in_lists(tmp_path: Path, form: Any) -> None:
    """`datasets` writes a list of classes as a list of one feature, or as one of type List or Sequence."""
    path = tmp_path / "d.parquet"
    features = {"text": {"dtype": "string"}, "labels": form({"names": ["neg", "pos"], "_type": "ClassLabel"})}
    table = pa.table({"text": ["oil", "gas"], "labels": [[1, 0], [-1]]})
    pq.write_table(table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})}), path)
    assert corpus.read(path).labels == [("neg", "pos"), ()]


ODD: list[Any] = [None, 5, "abc", [], {}, [[1]], [{}], True, 1e308, "\ud800", [None], ["a", {"b": 1}]]
EXPORTS = {
    "choices": lambda odd: {"data": {"text": "oil"}, "annotations": [{"result": [{"value": {"choices": odd}}]}]},
    "result": lambda odd: {"data": {"text": "oil"}, "annotations": [{"result": [odd]}, odd]},
    "response": lambda odd: {"fields": {"text": "oil"}, "responses": {"label": [{"value": odd}, odd]}},
    "responses": lambda odd: {"fields": {"text": "oil"}, "responses": odd},
    "metadata": lambda odd: {"fields": {"text": "oil"}, "responses": {"q": [{"value": "a"}]}, "metadata": odd},
    "annotation": lambda odd: {"inputs": odd, "annotation": odd},
}


@pytest.mark.parametrize("form", EXPORTS)
def test_exports_of_anything_are_read_or_refused(tmp_path: Path, form: str) -> None:
    for odd in ODD:
        path = tmp_path / "d.jsonl"
        path.write_text(json.dumps(EXPORTS[form](odd)) + "\n")
        with suppress(CorpusError):
            corpus.read(path, labels_required=False)


def test_a_choice_that_is_no_list_is_one_choice(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(EXPORTS["choices"]("grain")) + "\n")
    assert corpus.read(path).labels == [("grain",)]


def test_what_datasets_computed_of_a_saved_folder_is_no_more_documents(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = pa.table({"text": ["a", "b"], "label": ["x", "y"]})
    for name in ("data-00000-of-00001.arrow", "cache-0f3a.arrow"):
        with pa.ipc.new_stream(str(tmp_path / name), table.schema) as out:
            out.write_table(table)
    (tmp_path / "state.json").write_text("{}")
    assert len(corpus.read(tmp_path)) == 2
    assert "cache-0f3a.arrow" in caplog.text
