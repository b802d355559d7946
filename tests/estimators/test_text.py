"""TextClassifier and LogTfidfVectorizer: in pipelines and searches, with label sets, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

import lapwing
from estimators import data
from lapwing import LogTfidfVectorizer, MAPClassifier, TextClassifier
from lapwing.errors import InputError, SettingsError
from lapwing.priors import ElasticNet


def test_the_pair_of_them_is_the_one() -> None:
    texts, labels = data.texts()
    joined = TextClassifier(variance=20.0).fit(texts, labels)
    piped = make_pipeline(LogTfidfVectorizer(), MAPClassifier(variance=20.0)).fit(texts, labels)
    np.testing.assert_array_equal(joined.coef_.toarray(), piped[-1].coef_.toarray())
    np.testing.assert_array_equal(joined.predict_proba(texts), piped.predict_proba(texts))
    assert list(joined.model_.feature_names) == piped[0].get_feature_names_out().tolist()


def test_clone_and_parameters() -> None:
    settings: dict[str, Any] = {
        "stemmer": "none",
        "tf": "raw",
        "prior": ElasticNet(0.7),
        "variance": 3.0,
        "min_df": 2,
    }
    estimator = TextClassifier(**settings)
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert {name: copy.get_params()[name] for name in settings} == settings
    texts, labels = data.texts()
    fitted = copy.set_params(variance=5.0).fit(texts, labels)
    assert fitted.variance_.tolist() == [5.0] * 3
    assert fitted.model_.weighting is not None
    assert fitted.model_.weighting.settings.stemmer == "none"
    assert not hasattr(clone(fitted), "model_")
    assert clone(LogTfidfVectorizer(stop_words=["oil"])).get_params()["stop_words"] == ["oil"]


def test_grid_search() -> None:
    texts, labels = data.texts()
    search = GridSearchCV(TextClassifier(), {"variance": ["norm", 1e-6], "idf": [True, False]}, cv=3)
    search.fit(texts, labels)
    assert search.best_params_["variance"] == "norm"
    assert search.best_score_ > 0.9
    assert search.best_estimator_.explain("crude oil").categories[0].category == "energy"


def test_grid_search_through_a_pipeline() -> None:
    texts, labels = data.texts()
    pipeline = make_pipeline(LogTfidfVectorizer(), LogisticRegression())
    search = GridSearchCV(pipeline, {"logtfidfvectorizer__tf": ["log", "binary"]}, cv=3).fit(texts, labels)
    assert search.best_score_ > 0.9


def test_cross_validation() -> None:
    texts, labels = data.texts()
    assert cross_val_score(TextClassifier(), texts, labels, cv=3).mean() > 0.9
    assert cross_val_score(TextClassifier(), np.array(texts, dtype=object), np.array(labels), cv=3).mean() > 0.9
    sets_texts, sets = data.text_sets()
    indicator, _ = data.as_indicator(sets)
    folds = KFold(3, shuffle=True, random_state=0)
    estimator = TextClassifier(variance=100.0)
    assert cross_val_score(estimator, sets_texts, indicator, cv=folds).mean() > 0.5
    assert cross_val_score(estimator, sets_texts, sets, cv=folds).mean() > 0.5


@pytest.mark.parametrize("row", [list, tuple, set])
def test_lists_of_labels(row: type, tmp_path: Path) -> None:
    texts, sets = data.text_sets()
    fitted = TextClassifier(variance=100.0).fit(texts, [row(labels) for labels in sets])
    indicator, names = data.as_indicator(sets)
    assert fitted.classes_.tolist() == names
    predicted = fitted.predict(texts)
    assert isinstance(predicted, list)
    assert () in predicted
    assert any(len(labels) == 2 for labels in predicted)
    assert fitted.score(texts, sets) == np.mean([set(p) == set(t) for p, t in zip(predicted, sets, strict=True)])
    assert fitted.score(texts, sets) > 0.8
    for form in (np.asarray, sp.csr_matrix):
        other = TextClassifier(variance=100.0).fit(texts, form(indicator))
        np.testing.assert_array_equal(other.coef_.toarray(), fitted.coef_.toarray())
        expected = [[int(name in labels) for name in names] for labels in predicted]
        assert other.predict(texts).tolist() == expected
    fitted.save(tmp_path / "m")
    assert lapwing.load(tmp_path / "m").predict(texts) == predicted


def test_labels_of_every_type() -> None:
    texts, labels = data.texts()
    numbers = {"energy": 10, "grain": 20, "money": 30}
    fitted = TextClassifier().fit(texts, [numbers[label] for label in labels])
    assert fitted.predict(["crude oil"]).tolist() == [10]
    fitted = TextClassifier().fit(texts, [label == "grain" for label in labels])
    assert fitted.predict(["wheat corn", "crude oil"]).tolist() == [True, False]
    mixed: dict[str, Any] = {"energy": "oil", "grain": 2, "money": 3.5}
    fitted = TextClassifier().fit(texts, [mixed[label] for label in labels])
    assert fitted.predict(["crude oil", "wheat corn", "bank loan"]).tolist() == ["oil", 2, 3.5]


def test_sample_weights() -> None:
    texts, labels = data.texts()
    none = TextClassifier(variance=10.0).fit(texts, labels)
    ones = TextClassifier(variance=10.0).fit(texts, labels, sample_weight=np.ones(len(texts)))
    np.testing.assert_array_equal(none.coef_.toarray(), ones.coef_.toarray())
    weights = [5.0 if label == "grain" else 1.0 for label in labels]
    heavy = TextClassifier(variance=10.0).fit(texts, labels, sample_weight=weights)
    grain = heavy.classes_.tolist().index("grain")
    assert heavy.category_proba(texts)[:, grain].mean() > none.category_proba(texts)[:, grain].mean()
    with pytest.raises(InputError, match="one weight for each of 60 documents"):
        TextClassifier().fit(texts, labels, sample_weight=[1.0])


def test_save_then_load_predicts_the_same(tmp_path: Path) -> None:
    texts, labels = data.texts()
    fitted = TextClassifier(strip_html=True, digits=False).fit(texts, labels)
    fitted.save(tmp_path / "m")
    loaded = lapwing.load(tmp_path / "m")
    new = [*texts, "", "unseen words only", "<b>oil</b> &amp; GAS 1987"]
    np.testing.assert_array_equal(loaded.category_proba(new), fitted.category_proba(new))
    np.testing.assert_array_equal(loaded.predict_proba(new), fitted.predict_proba(new))
    assert loaded.predict(new) == fitted.predict(new).tolist()
    assert loaded.explain("crude oil") == fitted.explain("crude oil")
    again = tmp_path / "again"
    TextClassifier(strip_html=True, digits=False).fit(texts, labels).save(again)
    assert again.read_bytes() == (tmp_path / "m").read_bytes()


def test_explanations_add_up() -> None:
    texts, labels = data.texts()
    fitted = TextClassifier().fit(texts, labels)
    text = "Crude OIL from the bank"
    for one in fitted.explain(text).categories:
        total = one.intercept + sum(part.contribution for part in one.contributions)
        assert one.score == pytest.approx(total, abs=1e-12)
    scores = fitted.decision_function([text])[0]
    assert sorted(scores) == sorted(one.score for one in fitted.explain(text).categories)
    only = fitted.explain(text, ["grain"]).categories
    assert [one.category for one in only] == ["grain"]
    with pytest.raises(InputError, match="'zebra'"):
        fitted.explain(text, ["zebra"])


@pytest.mark.parametrize("estimator", [TextClassifier(), LogTfidfVectorizer()], ids=["classifier", "vectorizer"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("one string", "one string; put it in a list"),
        ([b"bytes", "text"], "text 0 must be a string, got bytes"),
        (["text", None], "text 1 must be a string, got NoneType"),
        (None, "got NoneType"),
        (7, "got int"),
        (np.ones((2, 2)), "text 0 must be a string, got ndarray"),
    ],
    ids=["string", "bytes", "None inside", "None", "number", "matrix"],
)
def test_what_is_not_a_list_of_texts(estimator: Any, given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        clone(estimator).fit(given, ["a", "b"])


def test_texts_without_words() -> None:
    with pytest.raises(InputError, match="no term is left of 2 documents"):
        TextClassifier(stop_words="smart").fit(["the", "of"], ["a", "b"])
    with pytest.raises(InputError, match="no term is left of 0 documents"):
        LogTfidfVectorizer().fit([])


def test_labels_of_the_wrong_kind_or_number() -> None:
    texts, labels = data.texts()
    with pytest.raises(InputError, match="labels for 60 documents, got 59"):
        TextClassifier().fit(texts, labels[:-1])
    with pytest.raises(InputError, match="labels for 60 documents, got 59"):
        TextClassifier().fit(texts, [[label] for label in labels[:-1]])
    with pytest.raises(ValueError, match=r"two classes, got 1 class \('same'\)"):
        TextClassifier().fit(texts, ["same"] * 60)
    with pytest.raises(ValueError, match="none of these has a label"):
        TextClassifier().fit(texts, [[] for _ in texts])
    with pytest.raises(ValueError, match="requires y"):
        TextClassifier().fit(texts, None)


def test_settings_are_checked_when_fitting() -> None:
    texts, labels = data.texts()
    for settings in ({"stemmer": "klingon"}, {"tf": "square"}, {"min_df": 0}, {"variance": -1.0}):
        with pytest.raises(SettingsError):
            TextClassifier(**settings).fit(texts, labels)


def test_before_fitting() -> None:
    for call in (
        lambda: TextClassifier().predict(["a"]),
        lambda: TextClassifier().explain("a"),
        lambda: TextClassifier().save("never-written"),
        lambda: LogTfidfVectorizer().transform(["a"]),
        lambda: LogTfidfVectorizer().get_feature_names_out(),
    ):
        with pytest.raises(NotFittedError):
            call()
    assert not Path("never-written").exists()


def test_vectorizer() -> None:
    texts, _ = data.texts()
    vectorizer = LogTfidfVectorizer()
    matrix = vectorizer.fit_transform(texts)
    assert sp.issparse(matrix)
    assert (matrix != vectorizer.transform(texts)).nnz == 0
    assert (matrix != LogTfidfVectorizer().fit(texts).transform(iter(texts))).nnz == 0
    np.testing.assert_allclose(sp.linalg.norm(matrix, axis=1), 1.0)
    names = vectorizer.get_feature_names_out()
    assert names.tolist() == sorted(names)
    assert matrix.shape == (len(texts), len(names))
    assert vectorizer.vocabulary_ == {name: j for j, name in enumerate(names)}
    assert vectorizer.transform([]).shape == (0, len(names))


def test_words_never_seen_count_in_the_norm() -> None:
    vectorizer = LogTfidfVectorizer(stemmer="none").fit(["oil gas", "corn wheat", "oil corn"])
    alone, among = vectorizer.transform(["oil", "oil zebra"]).toarray()
    column = vectorizer.vocabulary_["oil"]
    oil, zebra = np.log(4 / 3), np.log(4 / 1)
    assert alone[column] == pytest.approx(1.0)
    assert among[column] == pytest.approx(oil / np.hypot(oil, zebra))


def test_weights_by_hand() -> None:
    texts = ["oil oil oil gas", "gas corn", "corn"]
    vectorizer = LogTfidfVectorizer(stemmer="none", cosine=False).fit(texts)
    row = vectorizer.transform(texts).toarray()[0]
    assert row[vectorizer.vocabulary_["oil"]] == pytest.approx((1 + np.log(3)) * np.log(4 / 2))
    assert row[vectorizer.vocabulary_["gas"]] == pytest.approx(np.log(4 / 3))


def test_characters_are_neither_stopped_nor_stemmed() -> None:
    model = TextClassifier(tokens="char").fit(["aaab", "abab", "cdcd", "ddcc"], ["x", "x", "y", "y"])
    assert set(model.model_.feature_names) == set("abcd")


def test_lists_of_labels_for_some_texts_only_are_refused() -> None:
    with pytest.raises(InputError, match="give every text a list"):
        TextClassifier().fit(["oil", "wheat", "gas"], [["energy"], "grain", ["energy"]])


def test_short_ngrams_are_parameters(tmp_path: Path) -> None:
    """In a grid, with lists or tuples; saved, loaded and explained."""
    texts = ["not bad", "good", "quite good", "not good", "bad", "quite bad"] * 6
    labels = [1, 1, 1, 0, 0, 0] * 6
    base = TextClassifier(variance=50.0, stop_words="none", stemmer="none")
    grid = GridSearchCV(base, {"word_ngrams": [(1, 1), [1, 2]]}, cv=3).fit(texts, labels)
    assert tuple(grid.best_params_["word_ngrams"]) == (1, 2)
    assert grid.best_score_ == 1.0
    grid.best_estimator_.save(tmp_path / "m.lapwing")
    loaded = lapwing.load(tmp_path / "m.lapwing")
    np.testing.assert_array_equal(loaded.predict_proba(texts), grid.predict_proba(texts))
    features = {part.feature: part.spans for part in loaded.explain("a not  Bad one").categories[0].contributions}
    assert features["not bad"] == ((2, 10),)
    letters = LogTfidfVectorizer(char_ngrams=(2, 3)).fit(texts)
    assert " no" in letters.get_feature_names_out().tolist()
