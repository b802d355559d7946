"""Whose answer becomes the label of an exported record, and when nobody's does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lapwing import corpus
from lapwing.corpus import Corpus
from lapwing.errors import CorpusError


def read(folder: Path, *records: Any, **options: Any) -> Corpus:
    path = folder / "export.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return corpus.read(path, **options)


def task(text: str, /, *, cancelled: bool = False, imported: dict[str, Any] | None = None, **answers: str) -> Any:
    """Of Label Studio; one annotation, with a result for every control."""
    results = [{"from_name": name, "type": "choices", "value": {"choices": [one]}} for name, one in answers.items()]
    return {
        "id": 1,
        "data": {"text": text, **(imported or {})},
        "annotations": [{"result": results, "was_cancelled": cancelled}],
    }


def record(text: str, /, *, status: str = "submitted", imported: dict[str, Any] | None = None, **answers: Any) -> Any:
    """Of Argilla."""
    responses = {name: [{"value": one, "status": status}] for name, one in answers.items()}
    return {"id": "a", "fields": {"text": text}, "metadata": imported or {}, "responses": responses}


FORMS = {
    "Label Studio": (task, {"cancelled": True}),
    "Argilla": (record, {"status": "discarded"}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", ["label", "labels", "category"])
def test_a_skipped_answer_leaves_no_imported_label(form: str, key: str, tmp_path: Path) -> None:
    make, skipped = FORMS[form]
    records = [make("fine", sentiment="pos"), make("poor", sentiment="neg", imported={key: "old"}, **skipped)]
    assert read(tmp_path, *records, labels_required=False).labels == [("pos",), ()]
    assert read(tmp_path, *records, labels_required=False, label_column="sentiment").labels == [("pos",), ()]
    with pytest.raises(CorpusError, match="found none for 1 of 2"):
        read(tmp_path, *records)


@pytest.mark.parametrize("form", FORMS)
def test_an_imported_label_does_not_disagree_with_an_answer(form: str, tmp_path: Path) -> None:
    make, _ = FORMS[form]
    records = [make("fine", sentiment="pos", imported={"label": "old", "category": "older"})]
    assert read(tmp_path, *records).labels == [("pos",)]


@pytest.mark.parametrize("form", FORMS)
def test_two_questions_are_not_one(form: str, tmp_path: Path) -> None:
    make, _ = FORMS[form]
    both = [make("fine", mood="pos", topic="food"), make("poor", mood="neg", topic="film")]
    for records in (both, [make("fine", mood="pos"), make("poor", topic="film")]):
        with pytest.raises(CorpusError, match="one question, found them from the question mood, the question topic"):
            read(tmp_path, *records)
    assert read(tmp_path, *both, label_column="topic").labels == [("food",), ("film",)]
    assert read(tmp_path, *both, labels_required=False).labels == [(), ()]


@pytest.mark.parametrize("form", FORMS)
def test_free_text_beside_a_label_is_no_class(form: str, tmp_path: Path) -> None:
    make, _ = FORMS[form]
    answered = make("fine", comment="made me laugh", label="pos")
    assert read(tmp_path, answered).labels == [("pos",)]
    with pytest.raises(CorpusError, match="label_column"):
        read(tmp_path, answered, make("poor", comment="cannot say"))
    only = [answered, make("poor", comment="cannot say")]
    assert read(tmp_path, *only, label_column="label", labels_required=False).labels == [("pos",), ()]


@pytest.mark.parametrize("form", FORMS)
def test_a_key_of_the_data_may_hold_the_label(form: str, tmp_path: Path) -> None:
    make, skipped = FORMS[form]
    gold = [make("fine", mood="pos", imported={"gold": "x"}), make("poor", mood="neg", imported={"gold": "y"})]
    assert read(tmp_path, *gold, label_column="gold").labels == [("x",), ("y",)]
    # A key of the same name as the question must not fill in for an answer that was skipped without results.
    mixed = [make("fine", mood="pos"), make("poor", imported={"mood": "old"}, **skipped)]
    mixed[1] |= {"annotations": [{"result": [], "was_cancelled": True}], "responses": {"other": [{"value": None}]}}
    with pytest.raises(CorpusError, match="the key mood, the question mood"):
        read(tmp_path, *mixed, label_column="mood")


def test_choices_for_a_span_are_no_labels_of_the_text(tmp_path: Path) -> None:
    one = task("fine food", mood="pos")
    one["annotations"][0]["result"].append(
        {"from_name": "part", "value": {"choices": ["noun"], "start": 5, "end": 9, "text": "food"}}
    )
    assert read(tmp_path, one).labels == [("pos",)]


@pytest.mark.parametrize("text", [{"text": "fine"}, {"body": "fine"}])
def test_own_records_with_the_keys_of_an_export_keep_their_labels(text: dict[str, str], tmp_path: Path) -> None:
    (name,) = text
    for keys in (
        {"inputs": "fine print", "annotation": "a note"},
        {"inputs": {"text": "fine print"}, "annotation": "a note"},
        {"data": {"text": "fine print", "label": "old"}, "annotations": [{"by": "me"}]},
        {"fields": {"text": "fine print"}, "responses": {"label": [{"value": "old"}]}},
    ):
        assert read(tmp_path, {**text, "label": "x", **keys}, text_column=name).labels == [("x",)]


def test_a_discarded_record_of_argilla_before_version_2(tmp_path: Path) -> None:
    records = [
        {"text": "fine", "inputs": {"text": "fine"}, "annotation": "pos", "status": "Validated"},
        {"text": "poor", "inputs": {"text": "poor"}, "annotation": "neg", "status": "Discarded"},
    ]
    assert read(tmp_path, *records, labels_required=False).labels == [("pos",), ()]


@pytest.mark.parametrize("choices", [False, True])
def test_what_prodigy_rejects_or_ignores_is_no_label(choices: bool, tmp_path: Path) -> None:
    def one(label: str, answer: str) -> dict[str, Any]:
        made = {"accept": [label], "options": [{"id": "pos"}, {"id": "neg"}]} if choices else {"label": label}
        return {"text": f"{label} {answer}", "_task_hash": 7, "answer": answer, **made}

    records = [one("pos", "accept"), one("neg", "accept"), one("pos", "reject"), one("neg", "ignore")]
    assert read(tmp_path, *records, labels_required=False).labels == [("pos",), ("neg",), (), ()]
    own = {"text": "fine", "label": "x", "answer": "reject"}
    assert read(tmp_path, own).labels == [("x",)]
