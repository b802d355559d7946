"""lapwing update."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import build
from cli.run import Command


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("update")
    docs = build.documents(200)
    for name, rows in (("old", docs[:140]), ("new", docs[140:])):
        lines = [json.dumps({"text": d.text, "label": d.label}) for d in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    build.train(folder / "old.jsonl", folder / "old.lapwing")
    return folder


def test_an_update_is_told_and_kept(run: Command, parts: Path, tmp_path: Path) -> None:
    output = run("update", parts / "old.lapwing", parts / "new.jsonl", "-o", tmp_path / "new.lapwing", "--json").json
    assert output["counts_for"] == 200.0
    assert output["largest_relative_gap"] <= 1e-4
    again = run(
        "update", tmp_path / "new.lapwing", parts / "new.jsonl", "-o", tmp_path / "2.lapwing", "--forget", "0.5"
    )
    assert "counts for 160 documents" in again.out
    shown = run("inspect", tmp_path / "2.lapwing").out
    assert shown.count("updated 2") == 2
    assert "of new.jsonl" in shown
    assert run("evaluate", tmp_path / "2.lapwing", parts / "new.jsonl").code == 0


def test_with_the_old_documents(run: Command, parts: Path, tmp_path: Path) -> None:
    ran = run("update", parts / "old.lapwing", parts / "new.jsonl", "--with", parts / "old.jsonl", "-o", tmp_path / "m")
    assert ran.code == 0
    assert run("inspect", tmp_path / "m", "--json").json["model"]["provenance"]["documents"] == 200


def test_a_curvature_of_a_rank(run: Command, parts: Path, tmp_path: Path) -> None:
    ran = run("update", parts / "old.lapwing", parts / "new.jsonl", "-o", tmp_path / "m", "--curvature", "3")
    assert ran.code == 0
    (record,) = run("inspect", tmp_path / "m", "--json").json["model"]["provenance"]["updates"]
    assert record["curvature"] == "3"
    ran = run("update", parts / "old.lapwing", parts / "new.jsonl", "-o", tmp_path / "m", "--curvature", "full")
    assert ran.code == 0
    assert "a rank of 20 now" in ran.err
    wrong = run("update", parts / "old.lapwing", parts / "new.jsonl", "-o", tmp_path / "m", "--curvature", "some")
    assert wrong.code == 2
    assert "diagonal or a rank" in wrong.complaint


def test_a_model_without_memory(run: Command, parts: Path, tmp_path: Path) -> None:
    build.train(parts / "old.jsonl", tmp_path / "none.lapwing", "--curvature", "none")
    ran = run("update", tmp_path / "none.lapwing", parts / "new.jsonl", "-o", tmp_path / "m")
    assert ran.code == 2
    assert "train it anew" in ran.complaint
