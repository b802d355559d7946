"""lapwing demo"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import lapwing
from cli.run import Command


def test_it_ends_with_a_table_a_figure_a_file_and_what_to_do_next(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = run("demo")
    assert ended.code == 0
    assert ended.lines[0].split()[0] == "category"
    figure = re.search(r"^macro F1 (\d+\.\d) on \d+ docstrings", ended.out, re.MULTILINE)
    assert figure is not None
    assert float(figure[1]) > 50.0  # far from chance, over dozens of packages
    assert "model file: demo.lapwing" in ended.lines
    loaded = lapwing.load(tmp_path / "demo.lapwing")
    assert all(any(line.startswith(f"{label} ") for line in ended.lines) for label in loaded.classes)
    commands = ended.lines[ended.lines.index("next, try:") + 1 :]
    assert len(commands) == 4
    for line in commands[:2]:
        assert run(*shlex.split(line)[1:]).code == 0
    echo, classify = commands[2].split(" | ")
    ended = run(*shlex.split(classify)[1:], stdin=shlex.split(echo)[1].encode())
    assert len(ended.lines) == 3


def test_json(run: Command, tmp_path: Path, news: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.corpus.stdlib_docstrings", lambda: lapwing.corpus.read(news))
    ended = run("demo", "-o", tmp_path / "m", "--json")
    assert ended.err == ""
    assert ended.json["model"] == str(tmp_path / "m")
    assert ended.json["documents"] == 15
    assert set(ended.json["averages"]) == {"macro", "micro", "weighted"}
    assert lapwing.load(tmp_path / "m").classes == ("energy", "grain", "money")
