"""Every mistake in calling is an InputError, in one sentence that says what was expected and what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from lapwing import LogTfidfVectorizer, MAPClassifier, NgramClassifier, TextClassifier
from lapwing.errors import InputError
from lapwing.training.targets import check_matrix

TEXTS = ["wheat corn harvest", "corn crop", "oil gas barrel", "gas pipeline crude"] * 3
LABELS = ["grain", "grain", "energy", "energy"] * 3
LISTS = [["grain"], ["grain", "farm"], ["energy"], ["energy"]] * 3
X = np.random.default_rng(0).normal(size=(12, 3))
NAN = float("nan")
CLASSIFIERS: dict[str, tuple[Any, Any]] = {"text": (TextClassifier, TEXTS), "matrix": (MAPClassifier, X)}


def unfitted(kind: str) -> Any:
    return CLASSIFIERS[kind][0](variance=10.0, calibrate=False)


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    of_kind = {kind: unfitted(kind).fit(documents, LABELS) for kind, (_, documents) in CLASSIFIERS.items()}
    return of_kind | {"lists": unfitted("text").fit(TEXTS, LISTS)}


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ([1.0] * 3, "one weight for each of 12 documents, got shape"),
        (np.ones((12, 2)), r"got shape \(12, 2\)"),
        ([NAN] * 12, "finite and not negative"),
        ([np.inf] * 12, "finite and not negative"),
        ([-1.0] * 12, "finite and not negative"),
        ([0.0] * 12, "not all zero"),
        ([1e308] * 12, r"a finite sum; divide all of them by 1e\+308"),
        ("balanced", "weights of classes are class_weight"),
    ],
)
def test_weights(kind: str, weights: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        unfitted(kind).fit(CLASSIFIERS[kind][1], LABELS, sample_weight=weights)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([None, *LABELS[1:]], "a label must be a string, a number or a boolean, got None"),
        ([NAN, *LABELS[1:]], "a label must be .* got nan"),
        ([None] * 12, "got None"),
        ([NAN, *[0.0, 1.0] * 5, 0.0], "contains NaN"),
        ([{"a": 1}] * 12, r"got \{'a': 1\}"),
        (LABELS[:3], "labels for 12 documents, got 3"),
        ("grain", r"labels for 12 documents, or an indicator matrix, got an array of \(\)"),
        (np.zeros((12, 2, 2)), r"got an array of \(12, 2, 2\)"),
        (np.linspace(0, 1, 12), "continuous"),
        (np.full((12, 2), -1), "zeros and ones"),
        (["one"] * 12, "at least two classes"),
        (None, "requires y"),
    ],
)
def test_labels(kind: str, labels: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        unfitted(kind).fit(CLASSIFIERS[kind][1], labels)


@pytest.mark.parametrize("label", [None, NAN])
def test_labels_in_lists(label: Any) -> None:
    with pytest.raises(InputError, match="a label must be a string, a number or a boolean"):
        unfitted("text").fit(TEXTS, [[label], *LISTS[1:]])


DOCUMENTS: list[tuple[str, Any, str]] = [
    ("matrix", TEXTS, "expected a matrix of numbers, got text; TextClassifier takes texts"),
    ("matrix", "a text", "got text"),
    ("matrix", X[:, 0], "Expected 2D array"),
    ("matrix", None, "Expected 2D array"),
    ("matrix", np.full((12, 3), NAN), "contains NaN"),
    ("matrix", X[:0], "0 sample"),
    ("matrix", X[:, :0], "0 feature"),
    ("text", X, "text 0 must be a string, got ndarray"),
    ("text", sp.csr_matrix(X), "must be a string"),
    ("text", "a text", "got one string; put it in a list"),
    ("text", None, "got NoneType"),
    ("text", [None, *TEXTS[1:]], "text 0 must be a string, got NoneType"),
    ("text", [NAN, *TEXTS[1:]], "text 0 must be a string, got float"),
    ("text", [b"a", *TEXTS[1:]], "got bytes"),
    ("text", [["a", "b"]] * 12, "got list"),
]


@pytest.mark.parametrize(("kind", "documents", "complaint"), DOCUMENTS)
def test_documents(kind: str, documents: Any, complaint: str, fitted: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=complaint) as raised:
        unfitted(kind).fit(documents, LABELS)
    assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match=complaint):
        fitted[kind].predict(documents)


CALLS: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("the model's, grain, got 'comedy'", lambda m: m["text"].top_features("comedy")),
    ("the model's, energy, farm, grain, got None", lambda m: m["lists"].top_features()),
    ("no category 'comedy'; it has 'energy', 'grain'", lambda m: m["text"].explain("corn", ["comedy"])),
    ("no category 'comedy'", lambda m: m["text"].explain("corn", "comedy")),
    ("must be a string, got list", lambda m: m["text"].explain(["corn"])),
    ("got 'comedy'", lambda m: m["text"].summary("comedy")),
    ("requires y", lambda m: m["text"].summary("grain", TEXTS)),
    ("labels for 12 documents, got 3", lambda m: m["text"].update(TEXTS, LABELS[:3])),
    ("labels for 12 documents, got 3", lambda m: m["lists"].score(TEXTS, LISTS[:3])),
    ("inconsistent numbers of samples", lambda m: m["text"].score(TEXTS, LABELS[:3])),
    ("X has 2 features, but MAPClassifier is expecting 3", lambda m: m["matrix"].predict(X[:, :2])),
    ("X has 2 features", lambda m: m["matrix"].partial_fit(X[:, :2], LABELS)),
    ("expected 3 feature names, got 1", lambda m: unfitted("matrix").fit(X, LABELS, feature_names=["a"])),
    ("expected 3 feature names, got 'abc'", lambda m: unfitted("matrix").fit(X, LABELS, feature_names="abc")),
    ("one group or moment for each of 12 documents, got 1", lambda m: unfitted("text").fit(TEXTS, LABELS, groups=[1])),
    ("one group or moment for each of 12 documents, got 1", lambda m: unfitted("text").fit(TEXTS, LABELS, times=[1])),
    ("validation must be an X and a y", lambda m: unfitted("matrix").fit(X, LABELS, validation=(X,))),
    ("cv_variances must be some numbers", lambda m: MAPClassifier(cv_variances=[]).fit(X, LABELS)),
    ("got text; TextClassifier", lambda m: m["matrix"].predict(TEXTS)),
    ("trained on vectors; give a matrix", lambda m: m["matrix"].model_.predict(TEXTS)),
    ("the model has 9 features, the matrix 3", lambda m: m["text"].model_.predict(X)),
    ("expected a model or a fitted classifier, got str", lambda m: lapwing.compare(m["text"], "model")),
    ("documents as lapwing.corpus.read gives them, got list", lambda m: lapwing.drift(m["text"], TEXTS)),
    ("got one string", lambda m: LogTfidfVectorizer().fit("corn")),
    ("must be a string, got ndarray", lambda m: NgramClassifier(variance=10.0).fit(X, LABELS)),
]


@pytest.mark.parametrize(("complaint", "call"), CALLS)
def test_calls(complaint: str, call: Callable[[dict[str, Any]], Any], fitted: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=complaint):
        call(fitted)


def test_one_category_need_not_be_a_list(fitted: dict[str, Any]) -> None:
    assert fitted["text"].explain("corn", "grain") == fitted["text"].explain("corn", ["grain"])


def test_more_entries_than_32_bits_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(check_matrix.__globals__, "MOST", 3)
    with pytest.raises(InputError, match="has 4 entries, and one in memory may have 3; give fewer"):
        MAPClassifier().fit(sp.eye_array(4, format="csr"), [0, 1, 0, 1])
