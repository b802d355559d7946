"""Documents that training has not seen, from the command; and models made again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing
from cli.run import Command


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred lines of two classes that words tell apart, mostly."""
    draw = np.random.default_rng(0)
    rows = ["body,kind"]
    for i in range(200):
        words = draw.choice(
            ["good", "fine", "great"] if (i % 2) == (draw.random() < 0.9) else ["bad", "dull", "poor"], 2
        )
        rows.append(f"{' '.join(words)} film number {i % 37} of {draw.integers(1000)},{'yes' if i % 2 else 'no'}")
    path = tmp_path_factory.mktemp("table") / "films.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


READING = ("--text-column", "body", "--label-column", "kind")
WAYS = [
    (), ("--variance", "norm"), ("--prior", "laplace", "--threshold", "f1", "--folds", "3"),
    ("--method", "selected-ridge", "--no-calibrate"), ("--ngrams", "word", "--max-length", "2"), ("--preset", "glm07"),
    ("--multi-class", "multinomial", "--prior", "elasticnet", "--ratio", "0.6"),
    ("--word-ngrams", "1", "2", "--min-df", "2"),
    ("--variance", "cv", "--cv-variances", "1,10", "--cv-folds", "4", "--class-weight", "balanced", "--seed", "3"),
]  # fmt: skip


@pytest.mark.parametrize("flags", WAYS, ids=str)
def test_a_model_says_the_command_that_makes_it_again(
    run: Command, table: Path, tmp_path: Path, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(table.parent)
    first, again = tmp_path / "first.lapwing", tmp_path / "again.lapwing"
    assert run("train", "films.csv", "-o", first, *READING, *flags).code == 0
    line = shlex.split(run("inspect", first, "--command").out)
    assert line[:4] == ["lapwing", "train", "films.csv", "-o"]
    assert run(*line[1:4], again, *line[5:]).code == 0
    assert again.read_bytes() == first.read_bytes()
    like = tmp_path / "like.lapwing"
    assert run("train", "films.csv", "-o", like, *READING, "--like", first).code == 0
    assert like.read_bytes() == first.read_bytes()


def test_what_flags_cannot_say_is_made_like_the_model(run: Command, table: Path, tmp_path: Path) -> None:
    words, model = tmp_path / "known.tsv", tmp_path / "m.lapwing"
    words.write_text("good\t1\t2x\t+\n")
    assert run("train", table, "-o", model, *READING, "--prior", words).code == 0
    assert "--like" in run("inspect", model, "--command").out
    ended = run("train", table, "-o", tmp_path / "n", *READING, "--like", model, "--tol", "1e-3")
    assert ended.code == 2
    assert "leave --tol out" in ended.err


def test_documents_kept_apart(run: Command, table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.lapwing"
    ended = run("train", table, "-o", model, *READING, "--holdout", "0.25")
    assert ended.code == 0
    assert "on the 5" in ended.out  # fifty, or one or two fewer where documents are equal
    loaded = lapwing.load(model)
    assert loaded.provenance["documents"] + len(loaded.predict_proba(["x"])) > 140
    assert loaded.conformal is not None
    assert loaded.conformal.source == "held-out"
    apart = int(ended.out.split("on the ")[1].split()[0])
    again = run("evaluate", model, table, "--json")  # the same documents, and figures of no other
    assert again.json["documents"] == apart
    assert again.json["trained_on"] == 0.0
    assert f"kept {apart} of these documents apart" in again.err
    assert run("evaluate", model, table, "--split", "all", "--json").json["documents"] == 200
    whole = run("report", model, table, "-o", tmp_path / "r.html", "--no-path", "--split", "all")
    assert "learned by heart" in whole.err
    assert "--holdout" in whole.err
    assert "--holdout 0.25" in run("inspect", model, "--command").out
    assert run("report", model, table, "-o", tmp_path / "r.html", "--no-path").code == 0
    assert "learned by heart" not in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert run("train", table, "-o", model, *READING, "--holdout", "0").code == 2


def test_the_whole_procedure_inside_each_portion(run: Command, table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.lapwing"
    assert run("train", table, "-o", model, *READING).code == 0
    measured = run("evaluate", model, table, *READING, "--cv", "4", "--json").json
    assert len(measured["folds"]) == 4
    assert sum(one["documents"] for one in measured["folds"]) == 200
    assert 0.75 < measured["mean"]["accuracy"] < 1.0
    # What training said of itself without a second data set is what another split finds.
    assert measured["mean"]["accuracy"] == pytest.approx(lapwing.load(model).held_out["accuracy"], abs=0.08)
    assert "mean" in run("evaluate", model, table, *READING, "--cv", "4").out


@pytest.fixture(scope="module")
def dated(table: Path) -> Path:
    """The same with an author of ten films each, and a year that rises."""
    head, *rows = table.read_text().splitlines()
    path = table.parent / "dated.csv"
    lines = (f"{row},{chr(97 + i % 20)},{1900 + i // 2}" for i, row in enumerate(rows))
    path.write_text("\n".join([f"{head},author,year", *lines]) + "\n")
    return path


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The corpora that models are trained on."""
    seen: list[Any] = []
    train = lapwing.training.train
    monkeypatch.setattr(lapwing.training, "train", lambda corpus, *how, **more: (
        seen.append(corpus), train(corpus, *how, **more))[1])  # fmt: skip
    return seen


def test_documents_kept_apart_and_portions_go_by_group(
    run: Command, dated: Path, tmp_path: Path, fitted: list[Any]
) -> None:
    model, columns = tmp_path / "m.lapwing", (*READING, "--group-column", "author")
    assert run("train", dated, "-o", model, *columns, "--holdout", "0.25").code == 0
    assert len(set(fitted[0].groups)) == 15  # all ten films of an author, or none
    assert len(fitted[0]) == 150
    measured = run("evaluate", model, dated, "--cv", "4", "--json").json  # the columns are known to the model
    assert [len(set(one.groups)) for one in fitted[1:]] == [15] * 4
    assert [one["documents"] for one in measured["folds"]] == [50] * 4


def test_documents_kept_apart_and_portions_go_by_time(
    run: Command, dated: Path, tmp_path: Path, fitted: list[Any]
) -> None:
    model, columns = tmp_path / "m.lapwing", (*READING, "--time-column", "year", "--folds", "time")
    ended = run("train", dated, "-o", model, *columns, "--holdout", "0.25", "--json")
    assert ended.json["holdout"]["documents"] == 50
    assert max(map(float, fitted[0].times)) == 1974  # the latest quarter is apart
    assert run("train", dated, "-o", model, *columns).code == 0
    measured = run("evaluate", model, dated, "--cv", "4", "--json").json
    assert [max(map(float, one.times)) for one in fitted[2:]] == [1919, 1939, 1959, 1979]
    assert [one["documents"] for one in measured["folds"]] == [40] * 4
    assert "on all earlier ones" in run("evaluate", model, dated, "--cv", "2").out


def test_folds_are_a_number_or_time(run: Command, table: Path, tmp_path: Path) -> None:
    for wrong, said in (("two", "whole number, or time"), ("1", "2 or more"), ("time", "needs a time")):
        ended = run("train", table, "-o", tmp_path / "m", *READING, "--folds", wrong)
        assert ended.code == 2
        assert said in ended.err
