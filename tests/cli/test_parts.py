"""`lapwing classify` over many files: a part of answers for each, none of them twice."""

from __future__ import annotations

import json
import os
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


def test_parts_that_changed_are_answered_anew(
    run: Command, model: Path, parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, out = ["classify", model, parts / "*.jsonl", "-o", tmp_path / "out"], tmp_path / "out"
    assert run(*command).code == 0
    first = parts / "part-0.jsonl"
    before, times = first.read_text(), first.stat()
    first.write_text(before.replace("oil and gas", "rye and oat"))
    os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))  # neither size nor time tell
    again = run(*command)
    assert "1 parts changed" in again.err
    assert "2 parts were there already" in again.err
    assert (out / "part-0.jsonl.tsv").read_text() == run("classify", model, first).out
    assert "3 parts were there already" in run(*command).err

    (parts / "part-2.jsonl").unlink()
    assert "! 1 files in" in run(*command).err

    with open(out / "parts.json", "ab") as stream:
        stream.write(b'{"part": "part-1.jso')  # a run that was stopped
    assert "2 parts were there already" in run(*command).err
    (out / "parts.json").write_bytes((out / "parts.json").read_bytes().split(b"\n")[0])  # as release 0.2 wrote it
    assert "2 parts changed, or it is not known" in run(*command).err

    def stops(shared: object, data: str) -> object:
        raise InputError("stopped")

    monkeypatch.setattr(classify, "answered", stops)
    first.write_text(before)
    assert run(*command).code != 0
    assert not (out / "part-0.jsonl.tsv").exists()  # rather than the answers to another text


def test_what_is_above_a_category_is_part_of_the_answers(
    run: Command, model: Path, parts: Path, tmp_path: Path
) -> None:
    broader = tmp_path / "broader.tsv"
    broader.write_text("grain\tfood\n")
    command = ["classify", model, parts / "*.jsonl", "-o", tmp_path / "out", "--broader", broader]
    assert run(*command).code == 0
    broader.write_text("grain\tgoods\n")
    assert "other options" in run(*command).complaint


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
