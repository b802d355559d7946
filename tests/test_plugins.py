"""Parts of other packages: those of docs/extend.md, and one that cannot be imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from docs.pages import blocks

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extend.md"
MORE = """
import click

@click.command("count")
@click.argument("text")
def count(text):
    "Count the words of TEXT."
    click.echo(len(text.split()))

def words(model):
    return " ".join(map(str, model.feature_names))

def halved(problem, y, weight, prior, *, max_iter, **options):
    from lapwing.solvers import newton
    return newton.fit(problem, y, weight, prior, max_iter=max_iter, **options)
"""
POINTS = {"lapwing.commands": {"count": "more_parts:count"}, "lapwing.exporters": {"words": "more_parts:words"},
          "lapwing.solvers": {"halved": "more_parts:halved"},
          "lapwing.readers": {"broken": "no_such_module:Reader"}}  # fmt: skip


def install(folder: Path, name: str, points: dict[str, dict[str, str]]) -> None:
    """What an installer leaves of a package beside its modules."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = (f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in of.items()) for group, of in points.items())
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, its package and another one installed beside them."""
    folder = tmp_path_factory.mktemp("outside")
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        if block.caption:
            (folder / block.caption).write_text(block.text)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    install(folder, project["name"], project["entry-points"])
    (folder / "more_parts.py").write_text(MORE)
    install(folder, "more-parts", POINTS)
    return folder


def lapwing(place: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lapwing", *map(str, arguments)], cwd=place, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(place)},
    )  # fmt: skip


def test_the_reader_of_the_page_reads(place: Path) -> None:
    week = (place / "week.notes").read_text()
    (place / "month.notes").write_text("%notes\n" + "\n".join(week.splitlines()[1:] * 6) + "\n")
    (place / "month.txt").write_text((place / "month.notes").read_text())
    models = {}
    for name in ("month.notes", "month.txt"):
        done = lapwing(place, "train", name, "-o", f"{name}.lapwing", "--solver", "halved", "--variance", "1")
        assert done.returncode == 0, done.stderr
        said = json.loads(lapwing(place, "inspect", f"{name}.lapwing", "--json").stdout)
        assert said["model"]["provenance"]["source"]["format"] == "notes"
        models[name] = [row["category"] for row in said["categories"]]
    assert models["month.notes"] == models["month.txt"]
    (place / "bad.notes").write_text("%notes\ngrain, and no arrow\n")
    assert "bad.notes, line 2: expected a subject, > and a note" in lapwing(place, "classify", "month.notes.lapwing",
                                                                            "bad.notes").stderr  # fmt: skip


def test_what_is_installed_is_offered(place: Path) -> None:
    shown = lapwing(place, "--help")
    assert "count" in shown.stdout
    assert "Count the words of TEXT." in shown.stdout
    assert lapwing(place, "count", "three small words").stdout == "3\n"
    said = " ".join(lapwing(place, "train", "--help").stdout.split())
    assert "notes" in said.partition("--format")[2].partition("--encoding")[0]
    assert "halved" in said.partition("--solver")[2].partition("--intercept-variance")[0]
    assert "words" in lapwing(place, "export", "--help").stdout


def test_exporters_of_other_packages_write(place: Path) -> None:
    (place / "a.notes").write_text((place / "week.notes").read_text() * 5)
    assert lapwing(place, "train", "a.notes", "-o", "a.lapwing", "--variance", "1").returncode == 0
    done = lapwing(place, "export", "a.lapwing", "--to", "words")
    assert done.returncode == 0, done.stderr
    assert "wheat" in (place / "a.words").read_text()


def test_a_package_that_cannot_be_imported_is_a_warning(place: Path) -> None:
    (place / "plain").write_text("grain > nothing says what this is")
    done = lapwing(place, "train", "plain", "-o", "b.lapwing")
    assert done.returncode == 2
    assert "'broken' of lapwing.readers cannot be loaded from no_such_module:Reader" in done.stderr
    assert "cannot tell which" in done.stderr
    named = lapwing(place, "train", "plain", "--format", "broken", "-o", "b.lapwing")
    assert named.returncode == 1
    assert "No module named 'no_such_module'" in named.stderr
    assert "Traceback" not in named.stderr


@pytest.mark.parametrize("name", ["annif", "vocabulary"])
def test_modules_that_were_documented_under_other_names_are_the_same(name: str) -> None:
    assert import_module(f"lapwing.corpus.{name}") is import_module(f"lapwing_formats.{name}")
