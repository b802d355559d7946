from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from lapwing.errors import InputError
from lapwing.evaluate import Evaluation, Tables, auc, conformalize, evaluate
from lapwing.model import FitSummary, LinearModel


def identity(classes: tuple, *, exclusive: bool = False, thresholds: object = 0.0) -> LinearModel:
    """A model whose scores are the features themselves."""
    rows = 1 if exclusive and len(classes) == 2 else len(classes)
    return LinearModel(
        link="logit",
        classes=classes,
        exclusive=exclusive,
        weights=sp.identity(rows, format="csr"),
        intercepts=np.zeros(rows),
        thresholds=np.broadcast_to(thresholds, rows).astype(float),
        feature_names=[f"f{j}" for j in range(rows)],
        weighting=None,
        fits=FitSummary(*(np.zeros(rows) for _ in range(7))),
    )


def booleans(*rows: str) -> np.ndarray:
    return np.array([[letter == "x" for letter in row] for row in rows])


TRUTH = booleans("x..", "xx.", ".x.", "...")
CHOSEN = booleans("x..", "x.x", "...", "x..")


def test_tables_by_hand() -> None:
    tables = Tables.of(TRUTH, CHOSEN)
    assert tables.tp.tolist() == [2, 0, 0]
    assert tables.fp.tolist() == [1, 0, 1]
    assert tables.fn.tolist() == [0, 2, 0]
    assert tables.tn.tolist() == [1, 2, 3]
    assert tables.errors.tolist() == [1, 2, 1]
    assert tables.precision().tolist() == [2 / 3, 0.0, 0.0]
    assert tables.recall().tolist() == [1.0, 0.0, 0.0]
    assert tables.f1().tolist() == [0.8, 0.0, 0.0]


@pytest.mark.parametrize("undefined", [1.0, 0.0])
def test_nothing_to_find_and_nothing_found(undefined: float) -> None:
    nothing = Tables.of(booleans(".", "."), booleans(".", "."))
    assert nothing.precision(undefined).tolist() == nothing.recall(undefined).tolist() == [undefined]
    assert nothing.f1(undefined).tolist() == [undefined]
    assert nothing.f1().tolist() == [1.0]
    # Something to find, or something found, is defined, and wrong.
    missed, invented = Tables.of(booleans("x"), booleans(".")), Tables.of(booleans("."), booleans("x"))
    for wrong in (missed, invented):
        assert wrong.precision(undefined).tolist() == wrong.recall(undefined).tolist() == [0.0]
        assert wrong.f1(undefined).tolist() == [0.0]


def test_averages_by_hand() -> None:
    """Categories a: TP 2, FP 1; b: FN 2; c does not occur and is left out, its false positive with it."""
    scores = np.where(CHOSEN, 1.0, -1.0)
    labels = [("a",), ("a", "b"), ("b",), ()]
    result = evaluate(identity(("a", "b", "c")), [(scores, labels)])
    assert result.documents == 4
    assert result.occurs.tolist() == [True, True, False]
    assert result.left_out == 1
    averages = result.averages()
    assert averages["macro"] == pytest.approx({"precision": 1 / 3, "recall": 0.5, "f1": 0.4})
    assert averages["micro"] == pytest.approx({"precision": 2 / 3, "recall": 0.5, "f1": 4 / 7})
    assert averages["weighted"] == pytest.approx({"precision": 1 / 3, "recall": 0.5, "f1": 0.4})
    assert np.isnan(result.accuracy())
    assert result.n_kept.tolist() == [1, 1, 1]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(2, 6))
def test_averages_against_scikit_learn(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    truth, chosen = rng.random((2, n, k)) < rng.random(k)
    classes = tuple(f"c{j}" for j in range(k))
    labels = [tuple(classes[j] for j in np.flatnonzero(row)) for row in truth]
    result = evaluate(identity(classes), [(np.where(chosen, 1.0, -1.0), labels)])
    seen = truth.any(axis=0)
    if not seen.any():
        assert all(np.isnan(value) for kind in result.averages().values() for value in kind.values())
        return
    for kind, values in result.averages().items():
        for name, theirs in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
            expected = theirs(truth, chosen, labels=np.flatnonzero(seen), average=kind, zero_division=0.0)
            assert values[name] == pytest.approx(expected, rel=1e-12)
    each = f1_score(truth, chosen, average=None, zero_division=1.0)
    assert result.tables.f1() == pytest.approx(each)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=40))
def test_auc_with_ties_against_scikit_learn(pairs: list[tuple[bool, int]]) -> None:
    truth = np.array([positive for positive, _ in pairs])
    scores = np.array([score for _, score in pairs], dtype=float)
    if truth.all() or not truth.any():
        assert np.isnan(auc(truth, scores))
    else:
        assert auc(truth, scores) == pytest.approx(roc_auc_score(truth, scores), rel=1e-12)
        assert auc(~truth, -scores) == pytest.approx(auc(truth, scores), rel=1e-12)


def test_auc_by_hand() -> None:
    truth = np.array([True, True, False, False])
    assert auc(truth, np.array([4.0, 3.0, 2.0, 1.0])) == 1.0
    assert auc(truth, np.array([1.0, 2.0, 3.0, 4.0])) == 0.0
    assert auc(truth, np.zeros(4)) == 0.5
    assert auc(truth, np.array([3.0, 1.0, 1.0, 0.0])) == (1 + 1 + 0.5 + 1) / 4
    assert auc(truth, np.array([np.inf, 0.0, 0.0, -np.inf])) == (1 + 1 + 0.5 + 1) / 4


def test_blocks_add_up() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(30, 3))
    labels = [tuple(c for c in "abc" if rng.random() < 0.4) for _ in range(30)]
    whole = evaluate(identity(("a", "b", "c")), [(scores, labels)])
    blocks = [(scores[i : i + 7], labels[i : i + 7]) for i in range(0, 30, 7)] + [(scores[:0], [])]
    parts = evaluate(identity(("a", "b", "c")), iter(blocks))
    assert whole.to_dict() == parts.to_dict()


def test_held_out_documents_make_promises() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0.0, 2.0, (300, 3))
    labels = [("abc"[int(rng.choice(3, p=np.exp(row) / np.exp(row).sum()))],) for row in scores]
    plain = identity(("a", "b", "c"), exclusive=True)
    with pytest.raises(InputError, match="keeps nothing to promise"):
        plain.predict_set(scores)
    with pytest.raises(InputError, match="expected labels for 300 documents, got 3"):
        conformalize(plain, scores, labels[:3])
    model = conformalize(plain, scores, labels)
    sets = model.predict_set(scores, coverage=0.9)
    assert np.mean([label in result for (label,), result in zip(labels, sets, strict=True)]) == pytest.approx(
        0.9, abs=0.01
    )
    proba = model.predict_proba(scores)
    for row, result in zip(proba, sets, strict=True):
        assert [*result] == sorted(result, key=lambda label: -row["abc".index(label)])
    alone = model.predict_set(scores, coverage=0.9, abstain=True)
    assert alone == [result if len(result) == 1 else () for result in sets]
    assert 0 < sum(map(bool, alone)) < 300
    with pytest.raises(InputError, match="abstain is for sets"):
        model.promised(proba, precision=0.9, abstain=True)
    for winner, sure in zip(model.predict(scores), model.predict_sure(scores, 0.8), strict=True):
        assert sure in ((), (winner,))


def test_two_exclusive_classes_are_both_counted() -> None:
    scores = np.array([[2.0], [1.0], [-1.0], [-2.0], [-3.0]])
    labels = [("yes",), ("no",), ("yes",), ("no",), ("no",)]
    result = evaluate(identity(("no", "yes"), exclusive=True), [(scores, labels)])
    assert result.categories == ("no", "yes")
    assert result.tables.tp.tolist() == [2, 1]
    assert result.tables.errors.tolist() == [2, 2]
    assert result.accuracy() == 0.6
    assert result.averages()["micro"]["f1"] == pytest.approx(0.6)
    assert result.auc.tolist() == pytest.approx([5 / 6, 5 / 6])
    assert result.n_kept.tolist() == [1, 1]


def test_many_exclusive_classes() -> None:
    scores = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-1.0, -3.0, -2.0]])
    result = evaluate(identity(("a", "b", "c"), exclusive=True), [(scores, [("a",), ("c",), ("a",)])])
    assert result.tables.tp.tolist() == [2, 0, 0]
    assert result.tables.fp.tolist() == [0, 1, 0]
    assert result.accuracy() == 2 / 3
    assert result.left_out == 1


def test_labels_the_model_does_not_have_are_listed() -> None:
    labels = [("a", "zebra"), ("ant",), (3,), ("a",)]
    result = evaluate(identity(("a", "b")), [(np.array([[1.0, -1.0]] * 4), labels)])
    assert result.unknown == (3, "ant", "zebra")
    assert result.tables.tp.tolist() == [2, 0]
    assert result.tables.fp.tolist() == [2, 0]
    assert result.to_dict()["labels_unknown_to_the_model"] == [3, "ant", "zebra"]


@pytest.mark.parametrize("undefined", [1.0, 0.0])
def test_the_record_is_json(undefined: float) -> None:
    labels = [("a",), ("a",), ()]
    scores = np.array([[1.0, -1.0], [-1.0, -1.0], [-1.0, -1.0]])
    result = evaluate(identity(("a", 7)), [(scores, labels)], undefined=undefined)
    assert isinstance(result, Evaluation)
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["documents"] == 3
    assert [row["category"] for row in record["categories"]] == ["a", 7]
    assert (
        record["categories"][0] | {"precision": 1.0, "recall": 0.5, "tp": 1, "fn": 1, "errors": 1, "auc": 0.75}
        == (record["categories"][0])
    )
    assert record["categories"][1]["f1"] == undefined
    assert record["categories"][1]["auc"] is None
    assert record["categories"][1]["averaged"] is False
    assert record["accuracy"] is None
    assert (record["categories_averaged"], record["categories_left_out"]) == (1, 1)
    assert record["features_per_category"] == {"min": 1, "max": 1, "mean": 1.0}


def test_no_labels_at_all() -> None:
    result = evaluate(identity(("a", "b")), [(np.zeros((2, 2)), [(), ()])])
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["averages"]["macro"]["f1"] is None
    assert record["features_per_category"] == {"min": 0, "max": 0, "mean": 0.0}
    assert result.left_out == 2


def test_no_documents_at_all() -> None:
    with pytest.raises(InputError, match="no documents"):
        evaluate(identity(("a", "b")), [])


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("decision", ["threshold", "expected_f1"])
def test_blocks_of_categories_change_nothing(exclusive: bool, decision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if exclusive and decision == "expected_f1":
        return
    draw = np.random.default_rng(2)
    scores = draw.integers(-3, 4, (40, 7)).astype(float)  # with ties
    model = replace(identity(tuple("abcdefg"), exclusive=exclusive), decision=decision)
    labels = [(label,) for label in draw.choice(list("abcdefg"), 40)]
    whole = evaluate(model, [(sp.csr_matrix(scores), labels)])
    chosen = model.decide(scores)
    truth = np.array([[label in row for label in "abcdefg"] for row in labels])
    for f in fields(Tables):
        assert getattr(whole.tables, f.name).tolist() == getattr(Tables.of(truth, chosen), f.name).tolist()
    monkeypatch.setattr("lapwing.evaluate.measures.BLOCK_SCORES", 80)
    parts = evaluate(model, [(sp.csr_matrix(scores[:13]), labels[:13]), (sp.csr_matrix(scores[13:]), labels[13:])])
    np.testing.assert_allclose(parts.tally, whole.tally, rtol=1e-12)
    assert replace(parts, tally=whole.tally).to_dict() == whole.to_dict()
