"""lapwing explain"""

from __future__ import annotations

from pathlib import Path

import pytest

import lapwing
from cli.run import Command

TEXT = "Crude OIL prices; the bank said"


def test_from_arguments_and_from_standard_input(run: Command, model: Path) -> None:
    by_word = run("explain", model, *TEXT.split(), "--json")
    assert by_word.code == 0
    assert by_word.out == run("explain", model, TEXT, "--json").out
    assert by_word.out == run("explain", model, "--json", stdin=TEXT.encode()).out
    assert by_word.out == run("explain", model, "-", "--json", stdin=TEXT.encode()).out
    latin = run("explain", model, "--json", "--encoding", "latin-1", stdin="Öl".encode("latin-1"))
    assert latin.json["text"] == "Öl"


def test_contributions_add_up_to_the_score(run: Command, model: Path) -> None:
    explanation = run("explain", model, TEXT, "--json").json
    assert len(explanation["categories"]) == 3
    proba = dict(zip(("energy", "grain", "money"), lapwing.load(model).predict_proba([TEXT])[0], strict=True))
    for one in explanation["categories"]:
        parts = [part["contribution"] for part in one["contributions"]]
        assert one["score"] == pytest.approx(one["intercept"] + sum(parts), abs=1e-12)
        assert one["probability"] == proba[one["category"]]
        for part in one["contributions"]:
            assert part["contribution"] == pytest.approx(part["value"] * part["weight"])
            assert all(TEXT[a:b].lower().startswith(part["feature"][:3]) for a, b in part["spans"])
    probabilities = [one["probability"] for one in explanation["categories"]]
    assert probabilities == sorted(probabilities, reverse=True)


def test_top_and_category(run: Command, model: Path) -> None:
    first = run("explain", model, TEXT, "--top", "1", "--json").json["categories"]
    assert len(first) == 1
    named = run("explain", model, TEXT, "--category", "grain", "--category", "money", "--json").json["categories"]
    assert {one["category"] for one in named} == {"grain", "money"}


def test_what_is_printed(run: Command, model: Path) -> None:
    ended = run("explain", model, "--top", "2", f"\n  {TEXT}\n[red]x[/red] :smile:\n\n")
    assert ended.lines[0].startswith("energy  yes, probability ")
    assert ended.lines[1] == f"  {TEXT}"
    assert ended.lines[2] == "  [red]x[/red] :smile:"
    assert any(line.split()[1:] == ["oil"] and line.startswith("  ") for line in ended.lines)
    assert sum(line.endswith("(intercept)") for line in ended.lines) == 2
    assert all(line == line.rstrip() for line in ended.lines)
    assert "\x1b" not in ended.out


def test_an_empty_argument_is_a_text_too(run: Command, model: Path) -> None:
    explanation = run("explain", model, "", "--json").json
    assert explanation["text"] == ""
    assert all(one["contributions"] == [] for one in explanation["categories"])


def test_of_two_classes_either(run: Command, tmp_path: Path) -> None:
    data = tmp_path / "two.csv"
    data.write_text("text,label\n" + "good fine nice,up\nbad poor sad,down\n" * 6)
    assert run("train", data, "-o", tmp_path / "m", "--variance", "100").code == 0
    (chosen,) = run("explain", tmp_path / "m", "a bad day", "--json").json["categories"]
    assert (chosen["category"], chosen["chosen"]) == ("down", True)
    assert all(part["contribution"] > 0 for part in chosen["contributions"])
    (other,) = run("explain", tmp_path / "m", "a bad day", "--category", "up", "--json").json["categories"]
    assert other["score"] == -chosen["score"]
    assert "--category must be one of the model's, got 'left'" in run(
        "explain", tmp_path / "m", "a", "--category", "left"
    ).complaint  # fmt: skip


def test_a_file_with_one_text(run: Command, model: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(TEXT.replace("; ", ",\n"), encoding="utf-8")
    ran = run("explain", model, letter, "--json")
    assert ran.json["text"] == TEXT.replace("; ", ",\n")
    assert "explaining the text in" in ran.err
    lines = run("classify", model, letter)
    assert [line.split("\t")[0] for line in lines.lines if line] == ["letter.txt:1", "letter.txt:2"]
    assert "--format folder takes the whole file for one" in lines.err
    whole = run("classify", model, letter, "--format", "folder", "--json").json
    assert whole["id"] == "letter.txt"
    proba = lapwing.load(model).predict_proba([letter.read_text(encoding="utf-8")])[0]
    assert list(whole["probabilities"].values()) == proba.tolist()
    ran = run("train", letter, "-o", tmp_path / "m")
    assert "one document per line, its label in front" in ran.complaint


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_a_file_in_utf16_is_its_text(run: Command, model: Path, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes("wheat prices rose".encode(encoding))
    given, plain = run("explain", model, path), run("explain", model, "wheat prices rose")
    assert given.out == plain.out
    path.write_bytes(b"{\\rtf1\\ansi wheat prices}")
    assert "a file of a word processor: save it as plain text" in run("explain", model, path).err
