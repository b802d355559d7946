"""lapwing drift."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import build
from cli.run import Command


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drift")
    (folder / "then.jsonl").write_bytes(build.jsonl(build.documents(240)))
    return build.train(folder / "then.jsonl", folder / "then.lapwing")


def lines(path: Path, documents: list[build.Made], **more: str) -> Path:
    rows = [{"text": d.text, **({"label": d.label} if "label" in more else {})} for d in documents]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_what_moved_is_said_everywhere(run: Command, trained: Path, tmp_path: Path) -> None:
    documents = build.documents(240)
    new = lines(tmp_path / "new.jsonl", [d for d in documents if d.label == "grain"] * 2)
    output = run("drift", trained, new, "--json", "-o", tmp_path / "page.html").json
    assert "grain" in output["alarms"]
    assert output["measured"] is None
    grain = next(one for one in output["categories"] if one["category"] == "grain")
    assert grain["low"] <= 1.0 <= grain["high"] + 1e-9
    assert grain["prevalence"] > 0.9
    assert {"wheat", "corn"} & {one["word"] for one in output["words"] if one["now"] > one["then"]}
    said = run("drift", trained, new).out
    assert f"scores moved in {len(output['alarms'])} of 3" in said
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "<script" not in page


def test_nothing_moved(run: Command, trained: Path, tmp_path: Path) -> None:
    new = lines(tmp_path / "new.jsonl", [d for d in build.documents(240) if d.split == "test"], label="yes")
    # One draw in twenty may alarm at the default rate; benchmarks/drift.py counts them over 200.
    output = run("drift", trained, new, "--json", "--rate", "0.01").json
    assert output["alarms"] == []
    assert set(output["measured"]) == {"then", "now"}
    assert "by the labels" in run("drift", trained, new).out
