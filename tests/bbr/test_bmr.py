"""BMR's model files of three and more classes: written from a softmax model, read back, and classified with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.run import Command

import lapwing
from lapwing_bbr.files import read_bmr_model

CLASSES = ("1", "2", "4", "7")


def vectors(path: Path, n: int, seed: int) -> tuple[Path, np.ndarray]:
    """Lines of a class and sparse features 2, 5, 8, …; and the same as a matrix."""
    draw = np.random.default_rng(seed)
    X = np.round(draw.normal(size=(n, 9)) * (draw.random((n, 9)) < 0.5), 3)
    y = np.argmax(X[:, :4] + 0.5 * draw.normal(size=(n, 4)), axis=1)
    rows = [" ".join(f"{3 * j + 2}:{row[j]:g}" for j in np.flatnonzero(row)) for row in X]
    path.write_text("".join(f"{CLASSES[k]} {row}\n" for k, row in zip(y, rows, strict=True)))
    return path, X


@pytest.fixture
def softmax(run: Command, tmp_path: Path) -> Path:
    data, _ = vectors(tmp_path / "train.dat", 200, 0)
    options = ("--format", "svmlight", "--multi-class", "multinomial", "--variance", "0.05")
    assert run("train", data, "-o", tmp_path / "m.lapwing", *options).code == 0
    return tmp_path / "m.lapwing"


def test_there_and_back(run: Command, softmax: Path, tmp_path: Path) -> None:
    theirs, ours, again = tmp_path / "m.bmr", tmp_path / "back.lapwing", tmp_path / "again.bmr"
    assert run("convert", softmax, theirs, "--modelname", "four").code == 0
    lines = theirs.read_text().splitlines()
    assert lines[:5] == [
        "Bayesian Polytomous Regression model file ver 2.5",
        "classes 1 2 4 7",
        "tfMethod 0",
        "idfMethod 0",
        "cosineNormalize 0",
    ]
    assert lines[5] == "featRestrict 2 5 8 11 14 17 20 23 26"
    assert lines[6] == "modelname four"
    assert [line.split()[:2] for line in lines[lines.index("endofheader") + 1 :]] == [
        ["betaClassSparse", label] for label in CLASSES
    ]
    model = lapwing.load(softmax)
    classifier = read_bmr_model(theirs)
    assert classifier.name == "four"
    assert 0 < sum(map(len, classifier.weights)) < 36  # a lasso: zeros are left out
    for k, row in enumerate(classifier.weights):
        assert row == pytest.approx({int(name): w for name, w in model.row_features(k)}, rel=1e-11)
    np.testing.assert_allclose(classifier.intercepts, model.intercepts, rtol=1e-11)
    assert run("convert", theirs, ours).code == 0
    back = lapwing.load(ours)
    assert (back.link, back.classes, back.exclusive) == ("softmax", CLASSES, True)
    X = np.random.default_rng(1).normal(size=(20, 9))
    np.testing.assert_allclose(back.predict_proba(X), model.predict_proba(X), atol=1e-10)
    assert back.predict(X) == model.predict(X)
    assert run("convert", ours, again, "--modelname", "four").code == 0
    assert again.read_bytes() == theirs.read_bytes()


def test_result_lines(run: Command, softmax: Path, tmp_path: Path) -> None:
    """The label, a probability for every class, the class chosen."""
    theirs, model = tmp_path / "m.bmr", lapwing.load(softmax)
    run("convert", softmax, theirs)
    data, X = vectors(tmp_path / "test.dat", 60, 1)
    assert run("bbr", "classify", "-r", tmp_path / "r", data, theirs).out == ""
    rows = [line.split() for line in (tmp_path / "r").read_text().splitlines()]
    assert [row[0] for row in rows] == [line.split()[0] for line in data.read_text().splitlines()]
    np.testing.assert_allclose(np.array([row[1:-1] for row in rows], float), model.predict_proba(X), atol=1e-6)
    assert [row[-1] for row in rows] == model.predict(X)
    piped = run("bbr", "classify", "-", theirs, "-r", "-", stdin=data.read_bytes())
    assert piped.out == (tmp_path / "r").read_text()
    wrong = sum(row[0] != row[-1] for row in rows)
    assert f"60 documents, {wrong} errors" in run("bbr", "classify", data, theirs).out
    assert f"{wrong} errors" in run("bbr", "classify", "-l", "1", "-r", tmp_path / "r", data, theirs).out
    assert "--probthres is for two classes" in run("bbr", "classify", "--probthres", "0.3", data, theirs).complaint


def test_features_without_their_keyword(run: Command, softmax: Path, tmp_path: Path) -> None:
    """As BMRtrain 3.03 writes them; and lines in another order, a class without coefficients, blanks at ends."""
    theirs, bare = tmp_path / "m.bmr", tmp_path / "bare.bmr"
    run("convert", softmax, theirs)
    text = theirs.read_text().replace("featRestrict ", "").replace("\n", " \n")
    head, mark, rows = text.partition("endofheader \n")
    kept = sorted(rows.splitlines()[1:], reverse=True)
    bare.write_text(head + mark + "\n".join(kept) + "\n")
    classifier, whole = read_bmr_model(bare), read_bmr_model(theirs)
    assert classifier.features == whole.features
    assert classifier.weights == ({}, *whole.weights[1:])
    assert classifier.intercepts == (0.0, *whole.intercepts[1:])


def test_words_and_named_classes_get_numbers(run: Command, news: Path, tmp_path: Path) -> None:
    model, theirs, numbers = tmp_path / "m.lapwing", tmp_path / "m.bmr", tmp_path / "numbers.tsv"
    run("train", news, "-o", model, "--multi-class", "multinomial", "--variance", "10")
    assert "--features FILE" in run("convert", model, theirs).complaint
    assert run("convert", model, theirs, "--features", numbers).code == 0
    lines = [line.split("\t") for line in numbers.read_text().splitlines()]
    assert [line[1:] for line in lines if line[0] == "class"] == [["1", "energy"], ["2", "grain"], ["3", "money"]]
    names = {int(line[0]): line[1] for line in lines if line[0] != "class"}
    classifier, trained = read_bmr_model(theirs), lapwing.load(model)
    for k, row in enumerate(classifier.weights):
        assert {names[i] for i in row} == {name for name, _ in trained.row_features(k)}


def test_what_does_not_go_into_which(run: Command, softmax: Path, model: Path, tmp_path: Path) -> None:
    refused = run("convert", softmax, tmp_path / "m", "--to", "bbr", "--category", "2")
    assert "convert it to BMR" in refused.complaint
    assert "--multi-class multinomial" in run("convert", model, tmp_path / "m", "--to", "bmr").complaint
    run("convert", softmax, tmp_path / "m.bmr")
    text = (tmp_path / "m.bmr").read_text()
    for wrong, message in (
        (text[: text.index("endofheader")], "truncated"),
        (text.replace("classes 1 2 4 7", "classes 1 2 4"), "coefficients of those only"),
        (text.replace("betaClassSparse 4", "betaSparse 4"), "expected lines of betaClassSparse"),
        (text.replace("betaClassSparse 4 ", "betaClassSparse 4 5:x "), "expected a number"),
        (text.replace("betaClassSparse 4 ", "betaClassSparse 4 5:nan "), "expected finite numbers"),
        (text.replace("idfMethod 0", "idfMethod 1"), "not supported"),
    ):
        (tmp_path / "bad.bmr").write_text(wrong)
        ended = run("convert", tmp_path / "bad.bmr", tmp_path / "out")
        assert ended.code == 2
        assert message in ended.complaint
        assert not (tmp_path / "out").exists()
