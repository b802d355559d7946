"""lapwing inspect"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reporting.build import model as text_model

import lapwing
from cli import build
from cli.run import Command
from lapwing.formats import save


def test_json_holds_the_whole_model(run: Command, model: Path) -> None:
    output = run("inspect", model, "--json").json
    loaded = lapwing.load(model)
    assert output["model"]["classes"] == list(loaded.classes)
    assert output["model"]["link"] == "logit"
    assert output["model"]["features"] == len(loaded.feature_names)
    assert output["model"]["text"]["stemmer"] == "porter"
    assert output["model"]["provenance"]["corpus"] == "news.jsonl"
    assert output["model"]["provenance"]["documents"] == 45
    assert output["model"]["held_out"]["macro_f1"] == loaded.held_out["macro_f1"]
    assert "scores" not in output["model"]["held_out"]
    for row, record in enumerate(output["categories"]):
        assert [(w["feature"], w["weight"]) for w in record["weights"]] == loaded.row_features(row)
        assert record["features"] == len(record["weights"])
        assert record["intercept"] == loaded.intercepts[row]
        assert record["positives"] == 15
        assert record["threshold"] is None  # of three exclusive classes the most probable is taken
        assert 0.0 <= record["gap"] <= 1e-4 * record["objective"]
        assert record["converged"] is True


def test_the_provenance_names_no_folder_of_this_machine(run: Command, model: Path, news: Path) -> None:
    out = run("inspect", model, "--json").out
    assert str(news.parent) not in out
    assert str(Path.home()) not in out


def test_top_and_category(run: Command, model: Path) -> None:
    output = run("inspect", model, "--category", "money", "--category", "grain", "--top", "2", "--json").json
    assert [record["category"] for record in output["categories"]] == ["money", "grain"]
    assert [len(record["weights"]) for record in output["categories"]] == [2, 2]


def test_the_overview(run: Command, model: Path) -> None:
    ended = run("inspect", model)
    assert ended.lines[0].startswith("3 exclusive classes; ")
    assert "45 documents of news.jsonl" in ended.lines[1]
    assert "elasticnet prior, variance pooled (" in ended.lines[2]
    assert ended.lines[3].startswith("in 5-fold cross-validation: accuracy")
    assert ended.lines[5].split() == "category positives features rel. gap strongest words".split()
    loaded = lapwing.load(model)
    for row, line in enumerate(ended.lines[6:]):
        name, weight = loaded.row_features(row, 1)[0]
        assert line.startswith(str(loaded.categories[row]))
        assert f"{name} {weight:+.2f}" in line
    assert all(line == line.rstrip() and len(line) < 200 for line in ended.lines)


def test_one_category_in_full(run: Command, model: Path) -> None:
    ended = run("inspect", model, "--category", "grain")
    loaded = lapwing.load(model)
    row = loaded.categories.index("grain")
    assert any(line.startswith("grain  15 positives") for line in ended.lines)
    shown = [tuple(line.split()) for line in ended.lines if line.startswith("  ")]
    assert shown[0] == (f"{loaded.intercepts[row]:+.3f}", "(intercept)")
    assert shown[1:] == [(f"{weight:+.3f}", name) for name, weight in loaded.row_features(row)]


def test_two_classes(run: Command, vector_model: Path) -> None:
    assert "two exclusive classes, -1 and 1; weights speak for the second" in run("inspect", vector_model).out


def test_thresholds_and_variances_are_shown_where_they_tell_something(run: Command, tmp_path: Path) -> None:
    docs = build.documents()
    texts, labels = [one.text for one in docs], [[one.label] for one in docs]
    lapwing.TextClassifier(threshold=0.25, variance=[1.0, 2.0, 3.0]).fit(texts, labels).save(tmp_path / "m")
    ended = run("inspect", tmp_path / "m")
    assert "variance" in ended.lines[4]
    assert "threshold" in ended.lines[4]
    assert [line.split()[3] for line in ended.lines[5:]] == ["1", "2", "3"]
    output = run("inspect", tmp_path / "m", "--json").json
    assert [record["threshold"] for record in output["categories"]] == pytest.approx([0.25] * 3)


def test_labels_are_never_markup(run: Command, tmp_path: Path) -> None:
    labels = ["[red]", ":smile:", "[/b] x"] * 6
    texts = ["oil", "corn", "bank"] * 6
    lapwing.TextClassifier(variance=10.0).fit(texts, labels).save(tmp_path / "m")
    shown = run("inspect", tmp_path / "m").out
    for label in set(labels):
        assert f"\n{label} " in shown


def test_how_sure_it_is_of_its_words(run: Command, model: Path, news: Path, tmp_path: Path) -> None:
    output = run("inspect", model, "--category", "grain", "--data", news, "--halves", 10, "--top", 3, "--json").json
    (record,) = output["categories"]
    assert (record["halves"], len(record["weights"])) == (10, 3)
    assert all(0.0 <= word["share"] <= 1.0 and word["documents"] > 0 for word in record["weights"])
    shown = run("inspect", model, "--category", "grain", "--data", news, "--halves", 10).out
    assert "of 10 halves" in shown
    assert "are there by chance" in shown
    build.train(news, tmp_path / "ridge", "--prior", "gaussian")
    output = run("inspect", tmp_path / "ridge", "--category", "grain", "--data", news, "--top", 3, "--json").json
    for word in output["categories"][0]["weights"]:
        assert word["interval"][0] < word["weight"] < word["interval"][1]
    assert "--data needs --category" in run("inspect", model, "--data", news).err


def test_what_could_stand_in_for_a_word(run: Command, tmp_path: Path) -> None:
    """Columns 5 to 8 are one measurement with noise, and the lasso keeps all but 6."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=(120, 8))
    X = np.repeat(common, 4, axis=1) + 0.3 * rng.normal(size=(120, 32))
    y = common[:, 0] - common[:, 1] + rng.normal(size=120) > 0
    path = tmp_path / "measured.svm"
    cells = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1)) for row in X.tolist())
    path.write_text("".join(f"{2 * label - 1:+d} {row}\n" for label, row in zip(y.tolist(), cells, strict=True)))
    build.train(path, tmp_path / "m", "--prior", "laplace", "--variance", "0.05", "--tol", "1e-10")
    shown = run("inspect", tmp_path / "m", "--category", "1", "--data", path, "--halves", "2").out
    assert [line.split()[1] for line in shown.splitlines() if line.endswith("could stand in for it: 6")] == list("578")


def test_of_very_many_categories_the_largest_are_shown(run: Command, tmp_path: Path) -> None:
    many = np.arange(600)
    original = text_model(classes=tuple(f"topic {k}" for k in many))
    original = replace(original, fits=replace(original.fits, positives=many % 7))
    save(original, tmp_path / "many.lapwing")
    shown = run("inspect", tmp_path / "many.lapwing").out
    assert "and 550 more" in shown
    assert "topic 6 " in shown
    assert "topic 5 " not in shown
    output = run("inspect", tmp_path / "many.lapwing", "--find", "TOPIC 59").out
    assert [line.split()[1] for line in output.splitlines() if line.startswith("topic")] == [
        "59",
        *map(str, range(590, 600)),
    ]
    assert len(run("inspect", tmp_path / "many.lapwing", "--all").lines) > 600
    assert run("inspect", tmp_path / "many.lapwing", "--find", "wheat").code == 2
