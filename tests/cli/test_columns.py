"""Text together with other columns: one model of all of them, from the command and from Python."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from cli.run import Command
from lapwing import LogTfidfVectorizer, MAPClassifier, TextClassifier
from lapwing.corpus import Record, read
from lapwing.errors import InputError, LapwingError, ModelFileError, SettingsError
from lapwing.formats.beside import beside_from_json
from lapwing.text.beside import Beside

PARTS: dict[str, Any] = {"text_column": "body", "numeric": ["price"], "categorical": ["source"]}
QUICK: dict[str, Any] = {"variance": 10.0, "calibrate": False}


def rows(count: int = 60) -> list[dict[str, Any]]:
    """The text says little; the price and, rarely, the source tell the class."""
    chance = np.random.default_rng(0)
    entries = []
    for i in range(count):
        dear = bool(i % 2)
        words = chance.choice(["spoon", "fork", "lamp", "silver" if dear else "tin", "old"], size=4)
        price = None if i % 15 == 3 else float(np.round(chance.normal(14 if dear else 10, 2), 2))
        source = None if i % 20 == 7 else str(chance.choice(["web", "shop", "mail"] if dear else ["web", "shop"]))
        entries.append(
            {"body": " ".join(words), "label": "dear" if dear else "cheap", "price": price, "source": source}
        )
    return entries


ROWS = rows()
LABELS = [row["label"] for row in ROWS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    (folder / "goods.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    with open(folder / "goods.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(ROWS[0]))
        table.writeheader()
        table.writerows(ROWS)
    return folder


@pytest.fixture(scope="module")
def fitted() -> TextClassifier:
    return TextClassifier(**PARTS, **QUICK).fit(ROWS, LABELS)


def test_it_is_the_fit_of_scikit_learns_columns_side_by_side(fitted: TextClassifier) -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = LogTfidfVectorizer()
    prices = np.array([[np.nan if row["price"] is None else row["price"]] for row in ROWS])
    known = np.flatnonzero(~np.isnan(prices[:, 0]))
    scaler = StandardScaler().fit(prices[known])
    price = SimpleImputer(strategy="constant", fill_value=0.0).fit_transform(scaler.transform(prices))
    source = OneHotEncoder().fit_transform([[row["source"] or ""] for row in ROWS])[:, 1:]  # "" comes first
    X = sp.hstack([words.fit_transform([row["body"] for row in ROWS]), price, source]).tocsr()
    other = MAPClassifier(**QUICK).fit(X, LABELS)
    names = [*words.get_feature_names_out(), "[price]", "[source=mail]", "[source=shop]", "[source=web]"]
    assert list(fitted.model_.feature_names) == names
    assert np.allclose(fitted.coef_.toarray(), other.coef_.toarray(), atol=1e-9)
    assert np.allclose(fitted.predict_proba(ROWS), other.predict_proba(X), atol=1e-9)
    assert fitted.top_features("dear", 1)[0][0] == "[price]"


def test_frames_records_and_loaded_models_agree(fitted: TextClassifier, tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = fitted.predict_proba(ROWS)
    fitted.save(tmp_path / "goods.lapwing")
    loaded = lapwing.load(tmp_path / "goods.lapwing")
    for documents in (ROWS, pandas.DataFrame(ROWS), polars.DataFrame(ROWS)):
        assert np.array_equal(fitted.predict_proba(documents), expected)
        assert np.array_equal(loaded.predict_proba(documents), expected)
    assert np.array_equal(loaded.scores(ROWS, method="kernel"), loaded.scores(ROWS))
    assert loaded.to_sklearn().get_params()["numeric"] == ["price"]
    again = TextClassifier(**PARTS, **QUICK).fit(pandas.DataFrame(ROWS), LABELS)
    assert np.array_equal(again.coef_.toarray(), fitted.coef_.toarray())


def test_explained_by_name_and_unknown_values_count_for_nothing(fitted: TextClassifier) -> None:
    row = {"body": "a spoon", "price": 20.0, "source": "mail"}
    explanation = fitted.explain(row, ["dear"])  # type: ignore[arg-type]
    parts = {part.feature: part for part in explanation.categories[0].contributions}
    mean, scale = fitted.model_.weighting.beside.numeric["price"]  # type: ignore[union-attr]
    assert parts["[price]"].value == (20.0 - mean) / scale
    assert parts["[source=mail]"].value == 1.0
    assert parts["[source=mail]"].spans == ()
    assert explanation.text == "a spoon"
    total = explanation.categories[0].intercept + sum(part.contribution for part in parts.values())
    assert np.isclose(total, fitted.model_.scores([row])[0, 0])
    unknown = {"body": "a spoon", "price": None, "source": "somewhere new"}
    assert np.array_equal(fitted.predict_proba([unknown]), fitted.predict_proba([{"body": "a spoon"}]))


def test_update_carries_them(fitted: TextClassifier) -> None:
    updated = fitted.model_.update(ROWS, LABELS)
    assert updated.feature_names[-4:] == fitted.model_.feature_names[-4:]
    assert updated.fits.converged.all()
    assert updated.predict(ROWS) == fitted.predict(ROWS).tolist()


def test_the_command_from_train_to_report(run: Command, folder: Path) -> None:
    model, flags = folder / "goods.lapwing", ("--numeric", "price", "--categorical", "source", "--text-column", "body")
    ran = run("train", folder / "goods.csv", "-o", model, *flags)
    assert ran.code == 0, ran.err
    assert "price from" in ran.err
    assert "4 unknown" in ran.err
    assert "source one of mail, shop, web" in ran.err
    lines = run("classify", model, folder / "goods.jsonl", "--text-column", "body")
    assert lines.code == 0
    assert len(lines.lines) == len(ROWS)
    measured = run("evaluate", model, folder / "goods.csv", "--json")
    assert measured.code == 0
    assert measured.json["documents"] == len(ROWS)
    explanation = run("explain", model, "a spoon", "--value", "price=20", "--category", "dear", "--json").json
    assert explanation["categories"][0]["contributions"][0]["feature"] == "[price]"
    page = run("report", model, folder / "goods.csv", "-o", folder / "report.html", "--no-path", "--json")
    assert page.code == 0
    assert "no place for price, source" in page.json["refusal"]
    for to in ("js", "python", "onnx"):
        ran = run("export", model, "--to", to, "-o", folder / "exported")
        assert ran.code == 2
        assert "price, source beside them" in ran.err
    again = run("inspect", model, "--command").out
    assert "--numeric price --categorical source" in again


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--numeric", "source"), "expected a number under 'source'"),
        (("--numeric", "prize"), "one of the columns"),
        (("--numeric", "price", "--categorical", "price"), "'price' stands twice"),
        (("--numeric", "price", "--ngrams", "word"), "no place for numeric and categorical columns"),
    ],
)
def test_mistakes_are_sentences(
    run: Command, folder: Path, arguments: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    ran = run("train", folder / "goods.csv", "-o", tmp_path / "m", "--text-column", "body", *arguments)
    assert ran.code == 2
    assert complaint in ran.err


def test_formats_without_columns_and_keys_that_are_nowhere(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("__label__a one\n__label__b two\n", encoding="utf-8")
    with pytest.raises(LapwingError, match=r"numeric_columns belongs to the formats jsonl, csv.* nothing for text"):
        read(tmp_path / "lines.txt", numeric_columns=["price"])
    with pytest.raises(LapwingError, match="expected values under 'prize', found keys"):
        read(folder / "goods.jsonl", text_column="body", numeric_columns=["prize"])


def test_mistakes_in_python(fitted: TextClassifier) -> None:
    with pytest.raises(InputError, match="must be a mapping with these and the text under 'body', got str"):
        fitted.predict(["a spoon"])
    with pytest.raises(InputError, match=r"document 0: expected a number under 'price'.*got 'much'"):
        fitted.predict([{"body": "a spoon", "price": "much"}])
    with pytest.raises(SettingsError, match="numeric must be a list of names"):
        TextClassifier(numeric="price").fit(ROWS, LABELS)
    with pytest.raises(InputError, match="at most 1000 different values under 'id'"):
        Beside.learn([Record("a", {"id": str(i)}) for i in range(1001)], [], ["id"])


def test_a_record_survives_pickling_and_a_file_is_checked() -> None:
    record = pickle.loads(pickle.dumps(Record("a text", {"price": 3.0})))
    assert record == "a text"
    assert record.values == {"price": 3.0}
    right = {"text": "text", "numeric": [["price", 1.0, 2.0]], "categorical": [["source", ["a", "b"]]]}
    assert beside_from_json(right) == Beside({"price": (1.0, 2.0)}, {"source": ("a", "b")})
    for wrong in (
        {**right, "numeric": [["price", 1.0, 0.0]]},
        {**right, "numeric": [["price", 1, 2.0]]},
        {**right, "categorical": [["price", ["a"]]]},
        {**right, "categorical": [["source", ["b", "a"]]]},
        {"numeric": []},
        [],
    ):
        with pytest.raises(ModelFileError):
            beside_from_json(wrong)


def test_the_server_takes_columns_beside_the_text(fitted: TextClassifier, tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from lapwing.serve.api import create_app
    from lapwing.serve.settings import ServeSettings
    from lapwing.serve.store import Store

    fitted.save(tmp_path / "goods.lapwing")
    client = TestClient(create_app(Store([tmp_path / "goods.lapwing"]), ServeSettings()))
    values = [{name: row[name] for name in ("price", "source")} for row in ROWS]
    body = {"texts": [row["body"] for row in ROWS], "columns": values}
    answer = client.post("/v1/classify", json=body).json()["results"]
    given = [[one["probabilities"][label] for label in ("cheap", "dear")] for one in answer]
    assert np.allclose(given, fitted.predict_proba(ROWS), atol=1e-12)
    output = client.post("/v1/explain", json={"text": "a spoon", "columns": {"price": 20}}).json()
    assert output["categories"][0]["contributions"][0]["feature"] == "[price]"
    wrong = client.post("/v1/classify", json={"text": "a", "columns": {"prize": 1}})
    assert wrong.status_code == 409
    assert "price, source beside the text" in wrong.json()["error"]
    assert client.post("/v1/classify", json={"texts": ["a"], "columns": []}).status_code == 409
    assert client.get("/v1/models").json()["models"][0]["columns"] == ["price", "source"]
    assert "no place for price, source" in client.get("/").text
