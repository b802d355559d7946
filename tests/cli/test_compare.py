"""lapwing compare and lapwing suspects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import build
from cli.run import Command


@pytest.fixture(scope="module")
def other(news: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.train(news, tmp_path_factory.mktemp("other") / "other.lapwing", "--variance", "0.5")


def test_compare_says_the_same_everywhere(run: Command, news: Path, model: Path, other: Path, tmp_path: Path) -> None:
    output = run("compare", model, other, news, "--json", "-o", tmp_path / "page.html").json
    assert {one["category"] for one in output["words"]} == {"energy", "grain", "money"}
    seen = output["documents"]
    assert set(seen["measures"]) == {"macro_f1", "micro_f1", "log_loss", "accuracy"}
    for one in seen["measures"].values():
        assert one["low"] <= one["high"]
        assert one["difference"] == pytest.approx(one["b"] - one["a"])
    ran = run("compare", model, other, news)
    assert ran.code == 0
    assert f"{seen['measures']['log_loss']['b']:.4f}" in ran.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"{seen['measures']['log_loss']['b']:.4f}" in page
    assert "<script" not in page


def test_a_model_is_equal_to_itself(run: Command, model: Path) -> None:
    assert "the same" in run("compare", model, model).out


def test_the_page_can_be_read_by_all(chromium: Any, run: Command, news: Path, model: Path, other: Path,
                                     tmp_path: Path) -> None:  # fmt: skip
    from axe_playwright_python.sync_playwright import Axe

    run("compare", model, other, news, "-o", tmp_path / "page.html")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    assert Axe().run(page).response["violations"] == []
    assert said == []
    context.close()


def test_a_label_turned_round_is_found(run: Command, tmp_path: Path) -> None:
    docs = build.documents(90)
    wrong = {7, 31, 52}
    labels = [{"energy": "grain", "grain": "money", "money": "energy"}[d.label] if i in wrong else d.label
              for i, d in enumerate(docs)]  # fmt: skip
    data = tmp_path / "news.jsonl"
    rows = [
        {"id": str(i), "text": d.text, "label": label} for i, (d, label) in enumerate(zip(docs, labels, strict=True))
    ]
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    output = [json.loads(line) for line in run("suspects", data).lines]
    assert {one["id"] for one in output[:3]} == {str(i) for i in wrong}
    for one in output[:3]:
        assert one["labelled"]
        assert one["instead"] == docs[int(one["id"])].label
    assert len(run("suspects", data, "--top", "1").lines) == 1


def test_two_who_disagree(run: Command, tmp_path: Path) -> None:
    for name, label in (("one", "grain"), ("two", "oil")):
        rows = [{"text": "wheat", "label": label}, {"text": "corn", "label": "grain"}]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (output,) = (
        json.loads(line) for line in run("suspects", tmp_path / "one.jsonl", "--with", tmp_path / "two.jsonl").lines
    )
    assert output["text"] == "wheat"
    assert [one["labels"] for one in output["labelled"]] == [["grain"], ["oil"]]


def test_two_corpora_merged(run: Command, tmp_path: Path) -> None:
    """Each text once; those on which they disagree are printed, and left out."""
    corpora = {
        "one": [("wheat", ["grain"]), ("corn", ["grain"]), ("crude", ["oil"])],
        "two": [("wheat", ["oil"]), (" corn\n", ["grain"]), ("barley", ["grain"])],
    }
    for name, texts in corpora.items():
        rows = [{"text": text, "labels": labels} for text, labels in texts]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    merged, names = tmp_path / "both.jsonl", [tmp_path / "one.jsonl", "--with", tmp_path / "two.jsonl"]
    ran = run("suspects", *names, "-o", merged)
    assert [json.loads(line)["text"] for line in ran.lines] == ["wheat"]
    both = [json.loads(line) for line in merged.read_text(encoding="utf-8").splitlines()]
    assert [(one["text"], one["labels"]) for one in both] == [
        ("corn", ["grain"]), ("crude", ["oil"]), ("barley", ["grain"])
    ]  # fmt: skip
    assert len({one["id"] for one in both}) == 3
    assert run("suspects", tmp_path / "one.jsonl", "-o", merged).code == 2
    assert run("suspects", *names, "-o", tmp_path / "two.jsonl").code == 2


def test_too_few_to_judge(run: Command, tmp_path: Path) -> None:
    rows = [{"text": f"wheat {i}", "label": "ab"[i % 2]} for i in range(6)]
    (tmp_path / "few.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ran = run("suspects", tmp_path / "few.jsonl")
    assert ran.code == 2
    assert "too few" in ran.err
