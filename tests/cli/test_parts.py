"""`lapwing classify` over many files: a part of answers for each, none of them twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.run import Command
from lapwing.cli import _parts, classify
from lapwing.errors import InputError


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for k, text in enumerate(("oil and gas", "wheat and corn", "gold")):
        lines = [json.dumps({"id": f"{k}-{i}", "text": f"{text} {i}"}) + "\n" for i in range(3)]
        (folder / f"part-{k}.jsonl").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("flags", [[], ["--json"], ["--top", "2"]])
def test_each_part_has_its_answers(run: Command, model: Path, parts: Path, tmp_path: Path, flags: list[str]) -> None:
    assert run("classify", model, parts / "*.jsonl", "-o", tmp_path / "out", *flags).code == 0
    ending = "jsonl" if "--json" in flags else "tsv"
    for part in sorted(parts.iterdir()):
        alone = run("classify", model, part, *flags)
        assert (tmp_path / "out" / f"{part.name}.{ending}").read_text() == alone.out
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_it_goes_on_after_a_stop(
    run: Command, model: Path, parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["classify", model, parts / "*.jsonl", "-o", tmp_path / "out"]
    answered, seen = classify.answered, []

    def stop_at_the_second(shared: object, data: str) -> object:
        seen.append(Path(data).name)
        if len(seen) == 2:
            raise InputError("stopped")  # an interrupt would end this process, where others run threads in it
        return answered(shared, data)  # type: ignore[arg-type]

    monkeypatch.setattr(classify, "answered", stop_at_the_second)
    assert run(*command).code != 0
    again = run(*command)
    assert "1 parts were there already" in again.err
    assert seen == [f"part-{k}.jsonl" for k in (0, 1, 1, 2)]
    assert "another model, or of other options" in run(*command, "--top", "1").complaint


def test_addresses_by_fsspec(run: Command, model: Path, parts: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    assert run("classify", model, f"file://{parts}/*.jsonl", "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "part-1.jsonl.tsv").read_text().startswith("1-0\t")
    assert "cannot read nosuch" in run("classify", model, "nosuch://x/*", "-o", tmp_path / "other").complaint


def test_what_is_missing_or_in_the_way(run: Command, model: Path, parts: Path, tmp_path: Path) -> None:
    assert "give -o FOLDER" in run("classify", model, parts / "*.jsonl").complaint
    assert "found none" in run("classify", model, parts / "*.csv", "-o", tmp_path / "out").complaint
    assert "has others" in run("classify", model, parts / "*.jsonl", "-o", parts).complaint
    assert "names many files" in run("classify", model, parts / "part-0.jsonl", "-o", tmp_path / "out").complaint


def test_names_that_several_parts_have() -> None:
    assert _parts._targets(["/a/x/p.csv", "/a/y/p.csv"], "tsv") == ["x-p.csv.tsv", "y-p.csv.tsv"]
