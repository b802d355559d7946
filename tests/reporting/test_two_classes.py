"""Of two exclusive classes a model keeps the weights of the second; the report shows both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli import build

import lapwing
from lapwing.corpus import Corpus
from lapwing.evaluate import evaluate, store_assessment
from lapwing.evaluate.assessment import assess_category, membership
from lapwing.evaluate.stored import stored_assessment
from lapwing.formats import save
from lapwing.model import LinearModel
from lapwing.reporting import report
from lapwing.training import TrainSettings, train
from reporting.open import opened


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Two classes of different size, a tenth of the labels wrong."""
    made = [one for one in build.documents(240) if one.label != "money"]
    draw = np.random.default_rng(1)
    rows = [i for i, one in enumerate(made) if one.label == "grain" or draw.random() < 0.6]
    other = {"grain": "energy", "energy": "grain"}
    labels = [other[made[i].label] if draw.random() < 0.1 else made[i].label for i in rows]
    split = ["test" if draw.random() < 0.3 else "train" for _ in rows]
    n = len(rows)
    return Corpus(
        "news", "text", [made[i].text for i in rows], [(label,) for label in labels], [str(i) for i in rows], True,
        split, np.ones(n),
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> LinearModel:
    return train(corpus.part("train"), TrainSettings())


def test_both_classes_are_rows_with_their_own_figures(corpus: Corpus, model: LinearModel) -> None:
    assert model.calibration is not None
    shown = report(model, corpus, follow=["energy"]).contents.to_dict()
    test = corpus.part("test")
    proba, truth = model.predict_proba(test.documents), membership(test.labels, model.classes)
    found = evaluate(model, [(test.documents, test.labels)]).to_dict()["categories"]
    labels = [label for (label,) in corpus.part("train").labels]
    assert [one["name"] for one in shown["categories"]] == ["energy", "grain"]
    for k, one in enumerate(shown["categories"]):
        wanted = assess_category(proba[:, k], truth[:, k])
        assert one["positives"] == labels.count(one["name"])
        assert one["test"] == truth[:, k].sum() == wanted.positives
        assert [one[name] for name in ("precision", "recall", "f1", "auc", "errors")] == [
            found[k][name] for name in ("precision", "recall", "f1", "auc", "errors")
        ]
        assert one["assessment"]["cuts"] == wanted.cuts
        assert one["assessment"]["grid"] == wanted.grid[: len(one["assessment"]["grid"])]
        weights = dict(model.top_features(one["name"]))
        here = one["path"]["variances"].index(pytest.approx(one["path"]["chosen"], rel=1e-5))
        for word, weight in zip(one["path"]["features"], one["path"]["coefficients"][here], strict=True):
            assert weight == pytest.approx(weights.get(word, 0.0), rel=1e-2, abs=1e-3)
    first, second = shown["categories"]
    assert first["threshold"] + second["threshold"] == pytest.approx(1.0)


def test_mistakes_are_of_the_class_that_was_missed_and_of_that_which_was_taken(
    corpus: Corpus, model: LinearModel
) -> None:
    shown = report(model, corpus, follow=()).contents.to_dict()
    assert shown["mistakes"]
    for one in shown["mistakes"]:
        name = shown["categories"][one["row"]]["name"]
        assert one["missed"] == (one["labels"] == [name]) != (one["predicted"] == [name])
        explained = model.explain(corpus.documents[corpus.ids.index(one["id"])], [name]).categories[0]
        assert one["probability"] == pytest.approx(explained.probability, rel=1e-3)
        signs = {(start, end): part.contribution for part in explained.contributions for start, end in part.spans}
        assert all(value == pytest.approx(signs[start, end], rel=1e-2) for start, end, value in one["marks"])
    suspects = [one["document"] for one in shown["suspects"]]
    assert len(suspects) == len(set(suspects))


def test_an_evaluation_stored_before_still_shows(corpus: Corpus, model: LinearModel, tmp_path: Path) -> None:
    """Earlier ones have the second class only."""
    path = tmp_path / "m.lapwing"
    save(model, path)
    seen = report(model, corpus, follow=()).contents.assessment
    assert seen is not None
    stored = store_assessment(path, seen)
    record = json.loads(stored.read_text())
    record["categories"] = record["categories"][1:]
    stored.write_text(json.dumps(record))
    assert stored_assessment(path, lapwing.load(path)) is not None
    first, second = report(path).contents.to_dict()["categories"]
    assert first["assessment"] is None
    assert second["assessment"]["cuts"] == seen.categories[1].cuts
    assert first["f1"] is not None


def test_either_class_opens(chromium: Any, corpus: Corpus, model: LinearModel, tmp_path: Path) -> None:
    report(
        model, corpus, tmp_path / "report.html", rivals=[train(corpus.part("train"), TrainSettings(prior="gaussian"))]
    )
    with opened(chromium, tmp_path / "report.html") as shown:
        for name in ("energy", "grain"):
            shown.page.locator("#categories .sortable").get_by_role("button", name=name, exact=True).click()
            assert shown.page.locator("#category h3.big").inner_text() == name
            shown.page.locator("#confusion tbody th").get_by_role("button", name=name).first.click()
            assert shown.page.locator("#category-choice").input_value() == str(["energy", "grain"].index(name))
            word, weight = model.top_features(name)[0]
            side = "for" if weight > 0 else "against"
            assert shown.page.locator(f"#category .bars.{side} .word").first.inner_text() == word
            assert shown.page.locator("#category .documents summary").count() > 0
