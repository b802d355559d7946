"""lapwing evaluate"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lapwing
from cli import build
from cli.run import Command
from lapwing.cli.evaluate import _confused
from lapwing.evaluate import Confusion, stored_assessment
from lapwing.evaluate.stored import evaluation_path
from lapwing.model import LinearModel


def test_the_test_part_by_default(run: Command, model: Path, news: Path) -> None:
    output = run("evaluate", model, news, "--json").json
    assert output["documents"] == 15
    assert output == run("evaluate", model, news, "--json", "--split", "test").json
    assert run("evaluate", model, news, "--json", "--split", "all").json["documents"] == 60


def test_counts_are_those_of_the_model(run: Command, model: Path, news: Path) -> None:
    output = run("evaluate", model, news, "--json", "--split", "all").json
    docs = build.documents()
    predicted = lapwing.load(model).predict([one.text for one in docs])
    for row in output["categories"]:
        k = row["category"]
        pairs = [(one.label == k, mine == k) for one, mine in zip(docs, predicted, strict=True)]
        assert row["tp"] == pairs.count((True, True))
        assert row["fp"] == pairs.count((False, True))
        assert row["fn"] == pairs.count((True, False))
        assert row["errors"] == row["fp"] + row["fn"]
    right = sum(one.label == mine for one, mine in zip(docs, predicted, strict=True))
    assert output["accuracy"] == pytest.approx(right / len(docs))
    assert output["averages"]["macro"]["f1"] == pytest.approx(sum(r["f1"] for r in output["categories"]) / 3)


def test_the_first_categories_of_every_document(run: Command, model: Path, news: Path, tmp_path: Path) -> None:
    ended = run("evaluate", model, news, "--at", "1,3")
    assert [line.split()[0] for line in ended.lines[:3]] == ["first", "1", "3"]
    output = run("evaluate", model, news, "--at", "1,3", "--json").json
    assert output["ranking"]["at"][0]["precision"] == pytest.approx(output["accuracy"])
    assert output["ranking"]["at"][1]["recall"] == 1.0
    assert run("evaluate", model, news, "--at", "1,x").code == 2
    copy = tmp_path / "model.lapwing"
    copy.write_bytes(model.read_bytes())
    run("evaluate", copy, news, "--at", "1,3", "--store")
    kept = stored_assessment(copy, lapwing.load(copy))
    assert kept is not None
    assert kept.evaluation["ranking"] == output["ranking"]


def test_the_table(run: Command, model: Path, news: Path) -> None:
    ended = run("evaluate", model, news)
    assert ended.code == 0
    assert ended.lines[0].split() == "category features TP FP FN errors precision recall F1 AUC".split()
    assert [line.split()[0] for line in ended.lines[1:4]] == ["energy", "grain", "money"]
    averages = {line.split()[0]: line.split()[1:] for line in ended.lines if line.startswith(("ma", "mi", "we"))}
    output = run("evaluate", model, news, "--json").json["averages"]
    for kind in ("macro", "micro", "weighted"):
        assert averages[kind] == [f"{100 * output[kind][m]:.2f}" for m in ("precision", "recall", "f1")]
    assert "15 documents; averages over the 3 categories that occur in them" in ended.out
    assert all(line == line.rstrip() and len(line) < 110 for line in ended.lines)


def test_what_was_taken_for_what(run: Command, model: Path, news: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = run("evaluate", model, news, "--split", "all")
    matrix = run("evaluate", model, news, "--split", "all", "--json").json["confusion"]["matrix"]
    first = next(k for k, line in enumerate(output.lines) if line.split() == ["true", "1", "2", "3"])
    for k, name in enumerate(("energy", "grain", "money")):
        counts = ["." if n == 0 else str(n) for n in matrix[k]]
        assert output.lines[first + 1 + k].split() == [str(k + 1), name, *counts]
    assert sum(map(sum, matrix)) == 60
    many = Confusion.of(tuple("abcdefghijklmnopqrstuvwxyz"), np.arange(26), np.roll(np.arange(26), 1))
    assert _confused(SimpleNamespace(confusion=many))[0] == "most often taken for another: " + ", ".join(  # type: ignore[arg-type]
        f"{a} for {b} (1)" for a, b in zip("abcdefghij", "zabcdefghi", strict=True)
    )
    monkeypatch.setattr("lapwing.cli._output.width", lambda: 20)  # too narrow for a matrix
    few = Confusion.of(tuple("abcdef"), np.arange(6), np.roll(np.arange(6), 1))
    assert str(_confused(SimpleNamespace(confusion=few))[0]).startswith("most often taken for another: a for f (1)")  # type: ignore[arg-type]


def test_what_is_left_out_is_stated(run: Command, label_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    rows = [{"text": "oil barrel", "labels": ["energy"]}, {"text": "football", "labels": ["sports", "ball"]}]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = run("evaluate", label_model, data)
    assert "averages over the 1 categories that occur in them, 2 that do not are left out" in ended.out
    assert "2 labels of the data are not in the model: ball, sports" in ended.out
    output = run("evaluate", label_model, data, "--json").json
    assert output["categories_averaged"] == 1
    assert output["categories_left_out"] == 2
    assert output["labels_unknown_to_the_model"] == ["ball", "sports"]
    assert [row["averaged"] for row in output["categories"]] == [True, False, False]
    assert output["categories"][1]["auc"] is None


def test_undefined_f1(run: Command, label_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"text": "oil barrel crude gas", "labels": ["energy"]}) + "\n")
    for value in (0, 1):
        output = run("evaluate", label_model, data, "--json", "--undefined-f1", value).json
        assert [row["f1"] for row in output["categories"][1:]] == [value, value]


def test_vectors_whose_columns_are_others(run: Command, vector_model: Path, tmp_path: Path) -> None:
    lines = (vector_model.parent / "data.svm").read_bytes().splitlines()
    reference = run("evaluate", vector_model, vector_model.parent / "data.svm", "--json").json
    data = tmp_path / "more.svm"
    data.write_bytes(b"\n".join(line + b" 500:1 900:2" for line in lines) + b"\n")
    assert run("evaluate", vector_model, data, "--json").json == reference


@pytest.mark.parametrize("value", [0, 1])
def test_store_keeps_the_convention_printed_and_scores_once(
    run: Command, label_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: int
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"text": "oil barrel crude gas", "labels": ["energy"]}) + "\n")
    copy = tmp_path / "copy.lapwing"
    copy.write_bytes(label_model.read_bytes())
    scored = []
    scores = LinearModel.scores
    monkeypatch.setattr(LinearModel, "scores", lambda *a, **k: scored.append(a) or scores(*a, **k))
    output = run("evaluate", copy, data, "--json", "--store", "--undefined-f1", value).json
    assert len(scored) == 1
    kept = stored_assessment(copy, lapwing.load(copy))
    assert kept is not None
    assert kept.evaluation == output
    assert [row["f1"] for row in kept.evaluation["categories"][1:]] == [value, value]


def test_store_keeps_the_evaluation_for_this_model_only(
    run: Command, model: Path, label_model: Path, news: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.lapwing"
    copy.write_bytes(model.read_bytes())
    loaded = lapwing.load(copy)
    assert stored_assessment(copy, loaded) is None
    output = run("evaluate", copy, news, "--store", "--json").json
    kept = stored_assessment(copy, loaded)
    assert kept is not None
    assert kept.evaluation == output
    assert [one.positives for one in kept.categories] == [row["tp"] + row["fn"] for row in output["categories"]]
    for one, row in zip(kept.categories, output["categories"], strict=True):
        assert sum(part["documents"] for part in row["calibration"]["reliability"]) == output["documents"]
        assert [row[1] for row in one.cuts] == sorted(row[1] for row in one.cuts)
        assert one.cuts[-1][1] == one.positives
    other = tmp_path / "other.lapwing"
    other.write_bytes(label_model.read_bytes())
    evaluation_path(other).write_bytes(evaluation_path(copy).read_bytes())
    assert stored_assessment(other, lapwing.load(other)) is None
    assert "belongs to another model file" in run("report", other, "-o", tmp_path / "r.html").err
    evaluation_path(copy).write_text('{"schema": 1}', encoding="utf-8")
    assert stored_assessment(copy, loaded) is None
    assert "of an earlier lapwing" in run("report", copy, "-o", tmp_path / "r.html").err
    evaluation_path(copy).write_text('{"schema": 2}', encoding="utf-8")
    with pytest.raises(lapwing.errors.InputError, match="not a stored evaluation"):
        stored_assessment(copy, loaded)


def test_documents_that_were_trained_on_are_announced(run: Command, model: Path, news: Path) -> None:
    again = run("evaluate", model, news, "--split", "train")
    assert "these documents were trained on" in again.err
    as_json = run("evaluate", model, news, "--split", "train", "--json")
    assert as_json.json["trained_on"] == 1.0
    assert "these documents were trained on" in as_json.err
    assert "trained on" not in run("evaluate", model, news).err


def test_broader_labels_are_judged_too(run: Command, tmp_path: Path) -> None:
    rows = [{"text": one.text, "label": f"{'soil' if one.label != 'money' else 'bank'}/{one.label}", "split": one.split}
            for one in build.documents()]  # fmt: skip
    data, model = tmp_path / "d.jsonl", tmp_path / "m.lapwing"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("train", data, "-o", model, "--variance", "1", "--no-calibrate")
    levels = run("evaluate", model, data, "--roll-up", "/", "--json").json["levels"]
    assert [one["labels"] for one in levels] == [2, 3]
    assert run("evaluate", model, data, "--roll-up", "/").lines[-1].startswith("level 2: 3 labels, macro F1 ")
    assert run("report", model, data, "-o", tmp_path / "r.html", "--roll-up", "/", "--no-path").code == 0
    assert '"levels":[{"level":1,"labels":2' in (tmp_path / "r.html").read_text()


def test_what_was_trained_on_is_read_as_then(run: Command, tmp_path: Path) -> None:
    rows = "".join(f"{one.text};{one.label}\n" for one in build.documents())
    (tmp_path / "d.csv").write_text(rows.replace(";", ","))
    data, model = tmp_path / "d.csv", tmp_path / "m.lapwing"
    columns = ("--no-header", "--text-column", "1", "--label-column", "2")
    run("train", data, "-o", model, "--variance", "1", "--no-calibrate", *columns)
    plain, given = run("evaluate", model, data, "--json"), run("evaluate", model, data, *columns, "--json")
    assert plain.json == given.json
    assert "as in training: --text-column 1 --label-column 2 --no-header" in plain.err
    assert "as in training" not in given.err
    assert run("report", model, data, "-o", tmp_path / "r.html", "--no-path").code == 0
    (tmp_path / "other.csv").write_text("text,label\noil,energy\n")
    assert run("evaluate", model, tmp_path / "other.csv", "--json").json["documents"] == 1


def test_a_promise_is_not_tried_on_the_documents_it_comes_from(run: Command, tmp_path: Path) -> None:
    """It would be kept by construction; other documents try it, and so does a part that is mostly others."""
    rows = build.documents(400)

    def write(name: str, some: list[Any]) -> Path:
        lines = (json.dumps({"text": f"{one.text} w{i % 50}", "label": one.label}) for i, one in some)
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / name

    numbered = list(enumerate(rows))
    data, new, model = write("d.jsonl", numbered[:300]), write("new.jsonl", numbered[300:]), tmp_path / "m.lapwing"
    assert "prediction sets contained" in run("train", data, "-o", model, "--holdout", "0.4").out  # those of the folds
    own = run("evaluate", model, data)
    assert "prediction sets contained" not in own.out
    assert "prediction sets were calibrated on these documents" in own.out
    measured = run("evaluate", model, data, "--json").json["selective"]
    assert measured["promises"] == []
    assert measured["promised_on"] == 1.0
    other = run("evaluate", model, new)
    assert "prediction sets contained" in other.out
    assert "prediction sets were calibrated on these documents" not in other.out
    folds = tmp_path / "folds.lapwing"
    assert run("train", data, "-o", folds).code == 0
    assert "prediction sets were calibrated on these documents" in run("evaluate", folds, data).out
    assert "prediction sets contained" in run("evaluate", folds, new).out
