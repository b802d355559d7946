"""Frames and series of pandas and polars, labels by name, groups: what people pass, taken as it is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing
from lapwing import MAPClassifier, TextClassifier
from lapwing.errors import InputError

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

TEXTS = ["wheat corn harvest", "corn crop", "oil gas barrel", "gas pipeline crude"] * 6
LABELS = ["grain", "grain", "energy", "energy"] * 6
LISTS = [["grain"], ["grain", "farm"], ["energy"], ["energy"]] * 6
QUICK: dict[str, Any] = {"variance": 10.0, "calibrate": False}


@pytest.mark.parametrize("library", [pandas, polars])
def test_series_and_one_column_frames(library: Any) -> None:
    plain = TextClassifier(**QUICK).fit(TEXTS, LABELS)
    texts, labels = library.Series(TEXTS), library.Series(LABELS)
    by_series = TextClassifier(**QUICK).fit(texts, labels)
    by_frame = TextClassifier(**QUICK).fit(library.DataFrame({"t": TEXTS}), library.DataFrame({"y": LABELS}))
    for model in (by_series, by_frame):
        assert np.array_equal(model.predict_proba(texts), plain.predict_proba(TEXTS))
        assert model.classes_.tolist() == ["energy", "grain"]
    assert by_series.score(texts, labels) == 1.0
    with pytest.raises(InputError, match="one column of texts, got a frame of 2: a, b"):
        plain.predict(library.DataFrame({"a": TEXTS, "b": TEXTS}))


@pytest.mark.parametrize("library", [pandas, polars])
def test_a_series_of_lists_is_label_sets(library: Any) -> None:
    plain = TextClassifier(**QUICK).fit(TEXTS, LISTS)
    model = TextClassifier(**QUICK).fit(library.Series(TEXTS), library.Series(LISTS))
    assert model.predict(TEXTS[:3]) == plain.predict(TEXTS[:3])
    assert model.classes_.tolist() == ["energy", "farm", "grain"]
    assert model.score(TEXTS, library.Series(LISTS)) == 1.0


@pytest.mark.parametrize("library", [pandas, polars])
def test_columns_of_an_indicator_frame_become_the_classes(library: Any) -> None:
    frame = library.DataFrame({name: [int(name in row) for row in LISTS] for name in ("grain", "farm", "energy")})
    model = TextClassifier(**QUICK).fit(TEXTS, frame)
    assert model.classes_.tolist() == ["grain", "farm", "energy"]
    assert np.array_equal(model.predict(TEXTS), frame.to_numpy())
    assert model.model_.predict(["corn crop"]) == [("grain", "farm")]


def test_features_by_the_name_of_the_category(tmp_path: Path) -> None:
    model = TextClassifier(**QUICK).fit(TEXTS, LISTS)
    assert model.top_features("farm", 1)[0][0] == "crop"
    assert model.top_features("farm") == model.model_.top_features("farm")[:20] == model.model_.row_features(1)[:20]
    with pytest.raises(InputError, match="one of the model's, energy, farm, grain, got 'comedy'"):
        model.top_features("comedy")
    two = TextClassifier(**QUICK).fit(TEXTS, LABELS)
    assert two.top_features() == two.top_features("grain")
    assert two.top_features("energy") == [(name, -weight) for name, weight in two.top_features("grain")]
    numbered = MAPClassifier(**QUICK).fit(np.eye(3).repeat(4, 0), [1, 2, 3] * 4)
    assert numbered.top_features(1) == numbered.model_.row_features(0)


def test_cross_validation_over_lists_of_labels() -> None:
    from sklearn.model_selection import KFold, cross_val_score

    scores = cross_val_score(TextClassifier(**QUICK), TEXTS, LISTS, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.tolist() == [1.0, 1.0, 1.0]


def test_groups_are_left_out_together_and_times_in_order() -> None:
    texts = [f"{text} w{i}" for i, text in enumerate(TEXTS * 2)]
    labels, groups = LABELS * 2, [i % 3 for i in range(48)]
    model = TextClassifier(folds=5).fit(texts, labels, groups=groups)
    assert model.model_.held_out["folds"] == 3  # there are no more groups than that
    timed = TextClassifier(fold_by="time", folds=4).fit(texts, labels, times=list(range(48)))
    assert timed.model_.held_out["folds"] == 4
    vectors = np.random.default_rng(0).normal(size=(48, 5))
    assert MAPClassifier(folds=5).fit(vectors, labels, groups=groups).model_.held_out["folds"] == 3
    with pytest.raises(InputError, match="one group or moment for each of 48"):
        TextClassifier().fit(texts, labels, groups=[1, 2])


def test_a_pipeline_of_several_columns_is_saved_with_names_and_loads_alone(tmp_path: Path) -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pandas.DataFrame({"text": TEXTS, "price": np.arange(24.0), "source": ["web", "print"] * 12})
    columns = ColumnTransformer([
        ("text", lapwing.LogTfidfVectorizer(stemmer="none"), "text"),
        ("number", StandardScaler(), ["price"]),
        ("kind", OneHotEncoder(), ["source"]),
    ])  # fmt: skip
    pipeline = make_pipeline(columns, MAPClassifier(**QUICK)).fit(frame, LABELS)
    pipeline[-1].save(tmp_path / "m.lapwing", feature_names=pipeline[:-1].get_feature_names_out())
    loaded = lapwing.load(tmp_path / "m.lapwing")
    assert {"text__corn", "number__price", "kind__source_web"} <= set(loaded.feature_names)
    matrix = pipeline[:-1].transform(frame)
    assert np.array_equal(loaded.predict_proba(matrix), pipeline.predict_proba(frame))
    with pytest.raises(InputError, match="feature names, got 1"):
        pipeline[-1].save(tmp_path / "m.lapwing", feature_names=["a"])


def test_scikit_learns_cross_validation_takes_sets_of_labels() -> None:
    from sklearn.model_selection import GridSearchCV, cross_val_score

    sets = [set(labels) for labels in LISTS]
    for labels in (sets, pandas.Series(sets)):
        assert cross_val_score(TextClassifier(**QUICK), TEXTS, labels).tolist() == [1.0] * 5
    result = GridSearchCV(TextClassifier(**QUICK), {"variance": [1.0, 10.0]}).fit(TEXTS, sets)
    assert result.predict(["corn crop"]) == [("farm", "grain")]
