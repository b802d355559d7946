from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import InputError
from lapwing.kernels import sparse
from lapwing.model import LinearModel
from lapwing.model.deciding import Decider
from lapwing.model.linear import best
from lapwing.model.scoring import Scorer
from lapwing.text import strip_html

from .build import TEXTS, model, text_model

X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0], [0.0, 0.0]])


def sigmoid(scores: object) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-np.asarray(scores, dtype=float)))


def test_two_exclusive_classes() -> None:
    two = model([[2.0, -3.0]], [-0.5], classes=("no", "yes"), exclusive=True)
    scores = np.array([1.5, -3.5, 6.5, -0.5])
    assert two.categories == ("yes",)
    assert two.scores(X).tolist() == scores[:, None].tolist()
    np.testing.assert_allclose(two.category_proba(X), sigmoid(scores)[:, None], rtol=1e-15)
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], sigmoid(scores), rtol=1e-15)
    np.testing.assert_allclose(two.predict_proba(X).sum(axis=1), 1.0, rtol=1e-15)
    assert two.predict(X) == ["yes", "no", "yes", "no"]
    assert two.decide(two.scores(X)).tolist() == [[False, True], [True, False], [False, True], [True, False]]
    strict = replace(two, thresholds=np.array([1.5]))  # in the class only if the score exceeds it
    assert strict.predict(X) == ["no", "no", "yes", "no"]


def test_many_exclusive_classes() -> None:
    many = model([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [0.0, 0.0, 0.5], classes=(1, "b", 2.5), exclusive=True)
    assert many.categories == (1, "b", 2.5)
    own = sigmoid([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [2.0, -1.0, 0.5], [0.0, 0.0, 0.5]])
    np.testing.assert_allclose(many.category_proba(X), own, rtol=1e-15)
    np.testing.assert_allclose(many.predict_proba(X), own / own.sum(axis=1, keepdims=True), rtol=1e-15)
    assert many.predict(X) == [1, "b", 1, 2.5]
    assert many.decide(many.scores(X)).sum(axis=1).tolist() == [1, 1, 1, 1]


def test_many_classes_all_of_them_impossible_share_the_probability() -> None:
    remote = model(np.zeros((3, 2)), [-1e4] * 3, classes=("a", "b", "c"), exclusive=True)
    assert remote.predict_proba(X[:1]).tolist() == [[1 / 3] * 3]


def test_label_sets() -> None:
    several = model([[1.0, 0.0], [0.0, 1.0]], [-0.5, 0.0], classes=("x", "y"))
    assert several.predict(X) == [("x",), ("y",), ("x",), ()]
    np.testing.assert_allclose(
        several.predict_proba(X), sigmoid([[0.5, 0.0], [-0.5, 1.0], [1.5, -1.0], [-0.5, 0.0]]), rtol=1e-15
    )
    assert np.array_equal(several.predict_proba(X), several.category_proba(X))
    assert several.predict(sp.csr_matrix((0, 2))) == []


@pytest.mark.parametrize(("classes", "exclusive"), [(("a", "b"), True), (("a", "b", "c"), True), (("a", "b"), False)])
def test_an_infinite_threshold_is_never_reached(classes: tuple[str, ...], exclusive: bool) -> None:
    rows = 1 if exclusive and len(classes) == 2 else len(classes)
    thresholds = [0.0] * (rows - 1) + [np.inf]
    never = model(np.ones((rows, 2)), [0.0] * (rows - 1) + [1e6], classes=classes, exclusive=exclusive,
                  thresholds=thresholds)  # fmt: skip
    chosen = never.decide(never.scores(X))
    assert not chosen[:, -1].any()
    if exclusive:
        assert chosen.sum(axis=1).tolist() == [1] * len(X)
        assert classes[-1] not in never.predict(X)
    else:
        assert all(classes[-1] not in result for result in never.predict(X))


def test_scores_do_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    dense = model(rng.normal(size=(3, 40)), rng.normal(size=3), classes=("a", "b", "c"))
    sparse = replace(dense, weights=sp.csr_matrix(dense.weights.toarray() * (rng.random((3, 40)) < 0.1)))
    documents = sp.random_array((50, 40), density=0.3, rng=rng).tocsr()
    for one in (dense, sparse):
        together = one.category_proba(documents)
        np.testing.assert_allclose(
            one.scores(documents), documents @ one.weights.toarray().T + one.intercepts, rtol=1e-12
        )
        monkeypatch.setattr("lapwing.model.scoring.BLOCK", 7)
        assert one.category_proba(documents).tobytes() == together.tobytes()
        alone = np.vstack([one.category_proba(documents[[i]]) for i in range(50)])
        assert alone.tobytes() == together.tobytes()
        monkeypatch.undo()


def test_kernel_and_plain_python_score_alike() -> None:
    one = text_model(tokens="char")
    texts = [*TEXTS, "", "नया 中 \ud800 👍", "unseen"]
    plain, kernel = (one.category_proba(texts, method=method) for method in ("plain", "kernel"))
    assert plain.tobytes() == kernel.tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_probabilities_do_not_depend_on_threads_nor_on_blocks(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one, texts = text_model(), [f"{text} new{i} words" for i in range(40) for text in TEXTS]
    alone = np.vstack([one.predict_proba([text]) for text in texts])
    monkeypatch.setattr(sys.modules["lapwing.text.design"], "FEW_CHARACTERS", 0)
    monkeypatch.setattr("lapwing.text.reading.BATCH_CHARACTERS", 300)
    monkeypatch.setattr("lapwing.model.linear.BLOCK_PROBABILITIES", 7)
    assert one.predict_proba(texts, n_jobs=n_jobs).tobytes() == alone.tobytes()
    assert one.predict(texts, n_jobs=n_jobs) == [label for text in texts for label in one.predict([text])]


@pytest.mark.parametrize(
    ("documents", "says"),
    [
        (np.zeros((1, 3)), "2 features, the matrix 3"),
        (sp.csr_matrix((4, 1)), "2 features, the matrix 1"),
        (np.array([[np.nan, 0.0]]), "NaN"),
        (sp.csr_matrix([[np.inf, 0.0]]), "NaN or infinite"),
        ("one text", "put it in a list"),
        (["a text"], "trained on vectors"),
    ],
)
def test_documents_that_cannot_be_scored(documents: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        model([[1.0, 2.0]], [0.0], classes=("x",)).predict(documents)


def test_models_that_do_not_hang_together() -> None:
    good = model([[1.0, 2.0]], [0.0], classes=("a", "b"), exclusive=True)
    for change in (
        {"link": "cauchit"},
        {"exclusive": False},
        {"classes": ("a",)},
        {"feature_names": ["f0"]},
        {"intercepts": np.zeros(2)},
        {"thresholds": np.zeros(0)},
    ):
        with pytest.raises(InputError, match="expected"):
            replace(good, **change)


def test_top_features_and_their_number() -> None:
    one = model([[0.5, -2.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]], [0.0, 0.0], classes=("x", "y"))
    assert one.n_kept.tolist() == [3, 0]
    assert one.row_features(0) == [("f1", -2.0), ("f0", 0.5), ("f3", 0.5)]
    assert one.row_features(0, 1) == [("f1", -2.0)]
    assert one.row_features(1) == []


MODELS = {
    "sets": text_model(),
    "two": text_model(("no", "yes"), exclusive=True),
    "many": text_model(("a", "b", "c"), exclusive=True),
    "stems": text_model(stop_words=("the",), stemmer="porter", strip_html=True),
    "characters": text_model(tokens="char"),
    "raw": text_model(tf="raw", idf=False, cosine=False, min_df=2),
}


@pytest.mark.parametrize("one", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("text", [*TEXTS, "<b>Corn</b> the corns, WHEAT co\u00adrn &amp; new", "", "unseen"])
def test_an_explanation_adds_up_to_the_score(one: LinearModel, text: str) -> None:
    explained = one.explain(text, one.classes)
    result = one.scores([text])
    scores = dict(zip(one.classes, np.append(-result, result) if result.shape[1] == 1 else result[0], strict=True))
    proba = dict(zip(one.classes, one.predict_proba([text])[0], strict=True))
    predicted = one.predict([text])[0]
    assert {c.category for c in explained.categories} == set(one.classes)
    assert [c.probability for c in explained.categories] == sorted(proba.values(), reverse=True)
    shown = strip_html(text) if one.weighting.settings.strip_html else text
    assert explained.text == shown
    for part in explained.categories:
        total = part.intercept + sum(c.contribution for c in part.contributions)
        assert total == pytest.approx(part.score, rel=1e-12, abs=1e-12)
        assert part.score == scores[part.category]
        assert part.probability == proba[part.category]
        assert part.chosen == (part.category in predicted if not one.exclusive else part.category == predicted)
        sizes = [abs(c.contribution) for c in part.contributions]
        assert sizes == sorted(sizes, reverse=True)
        for c in part.contributions:
            assert c.contribution == c.value * c.weight != 0.0
            assert c.spans
            assert list(c.spans) == sorted(c.spans)


def test_spans_lead_to_the_words() -> None:
    explained = MODELS["stems"].explain("<b>Corn</b> wheats, corns; CO\u00adRN the corny", ["grain"])
    (grain,) = explained.categories
    words = {c.feature: [explained.text[a:b] for a, b in c.spans] for c in grain.contributions}
    assert words["corn"] == ["Corn", "corns", "CO\u00adRN"]
    assert words["wheat"] == ["wheats"]
    assert "the" not in words
    corn = next(c for c in grain.contributions if c.feature == "corn")
    assert corn.weight == dict(MODELS["stems"].row_features(0))["corn"]


@pytest.mark.parametrize("text", TEXTS)
def test_of_two_classes_the_one_chosen_is_explained(text: str) -> None:
    for one in (MODELS["two"], replace(MODELS["two"], thresholds=np.array([-100.0]))):
        (only,) = one.explain(text).categories
        assert only.category == one.predict([text])[0]
        assert only.chosen
        no, yes = sorted(one.explain(text, one.classes).categories, key=lambda c: str(c.category))
        assert [no.score, no.threshold] == [-yes.score, -yes.threshold]
        assert [c.contribution for c in no.contributions] == [-c.contribution for c in yes.contributions]


def test_categories_can_be_chosen() -> None:
    explained = MODELS["sets"].explain(TEXTS[0], [7, "grain"])
    assert {c.category for c in explained.categories} == {7, "grain"}
    with pytest.raises(InputError, match=r"no category 'wine'; it has 'grain', 'énergie', 7"):
        MODELS["sets"].explain(TEXTS[0], ["grain", "wine"])


def test_a_model_of_vectors_explains_no_text() -> None:
    with pytest.raises(InputError, match="trained on vectors"):
        model([[1.0, 2.0]], [0.0], classes=("x",)).explain("text")


@pytest.mark.parametrize("density", [0.1, 0.9])
def test_scores_of_some_rows_and_of_dense_parts_are_those_of_all(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    weights = np.where(draw.random((9, 40)) < density, draw.standard_normal((9, 40)), 0.0)
    X = sp.random(30, 40, 0.3, random_state=1, format="csr")
    whole = model(weights, np.arange(9.0), classes=tuple("abcdefghi")).scores(X)
    np.testing.assert_allclose(whole, X @ weights.T + np.arange(9.0), atol=1e-12)
    monkeypatch.setattr("lapwing.model.scoring.LARGEST", 80)
    parts = model(weights, np.arange(9.0), classes=tuple("abcdefghi"))
    for rows in (slice(None), slice(0, 9), slice(2, 7), slice(8, 9), slice(3, 3)):
        assert parts.scores(X, rows=rows).tobytes() == whole[:, rows].tobytes()


def test_decisions_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.random(50, 6, 0.5, random_state=1, format="csr")
    weights = np.random.default_rng(1).standard_normal((6, 6))
    for exclusive in (True, False):
        classifier = model(weights, np.zeros(6), classes=tuple("abcdef"), exclusive=exclusive)
        chosen = classifier.decide(classifier.scores(X))
        expected = [tuple(np.array(list("abcdef"))[row]) for row in chosen]
        monkeypatch.setattr("lapwing.model.linear.BLOCK_SCORES", 42)
        assert classifier.predict(X) == ([row[0] for row in expected] if exclusive else expected)


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 12), st.integers(0, 10_000))
def test_the_best_are_those_a_stable_sort_puts_first(width: int, count: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 4, (5, width)).astype(float)
    for row, result in zip(values, best(values, count), strict=True):
        assert result.tolist() == np.argsort(-row, kind="stable")[:count].tolist()


@pytest.mark.parametrize("density", [0.02, 0.2, 0.9])
@pytest.mark.parametrize("categories", [1, 8, 13])
def test_all_routes_agree_to_the_bit(density: float, categories: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(3)
    often = draw.random(60) < 0.2  # features with weights in most categories, as frequent words have
    kept = draw.random((categories, 60)) < np.where(often, 0.8, density)
    weights = sp.csr_matrix(np.where(kept, draw.standard_normal((categories, 60)), 0.0))
    documents = sp.random(50, 60, 0.3, random_state=1, format="csr")
    rows = {}
    monkeypatch.setattr("lapwing.model.scoring.WORTH_A_KERNEL", 0)
    for route, (listed, largest) in {"listed": (True, 10**6), "in full": (False, 10**6), "part": (False, 480)}.items():
        monkeypatch.setattr(Scorer, "_is_listed", lambda *_, listed=listed: listed)
        monkeypatch.setattr("lapwing.model.scoring.LARGEST", largest)
        rows[route] = Scorer(weights, np.arange(float(categories))).scores(documents)
    monkeypatch.setattr("lapwing.model.scoring.WORTH_A_KERNEL", 10**12)
    for route, is_dense in {"SciPy, dense": True, "SciPy, sparse": False}.items():
        plain = Scorer(weights, np.arange(float(categories)))
        plain.__dict__["_is_dense"] = is_dense
        rows[route] = plain.scores(documents)
    expected = documents.toarray() @ weights.toarray().T + np.arange(float(categories))
    np.testing.assert_allclose(rows["listed"], expected, rtol=1e-12, atol=1e-12)
    assert {route: scores.tobytes() for route, scores in rows.items()} == dict.fromkeys(rows, rows["listed"].tobytes())


@pytest.fixture
def many_labels() -> tuple[LinearModel, sp.csr_matrix]:
    """Categories of all sizes, of which few documents are in any."""
    draw = np.random.default_rng(4)
    kept = draw.random((37, 60)) < draw.random((37, 1)) ** 2
    weights = np.where(kept, 3.0 * draw.standard_normal((37, 60)), 0.0)
    documents = sp.random(300, 60, 0.2, random_state=2, format="csr")
    return model(weights, draw.uniform(-8.0, -1.0, 37), classes=tuple(range(37))), documents


def one_by_one(result: LinearModel, documents: sp.csr_matrix) -> list[tuple[object, ...]]:
    chosen = result.scores(documents) > result.thresholds
    return [tuple(result.classes[k] for k in np.flatnonzero(row)) for row in chosen]


@pytest.mark.parametrize("block", [1, 50, 2**16])
def test_ruling_categories_out_changes_no_answer(
    many_labels: tuple[LinearModel, sp.csr_matrix], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.model.scoring.WORTH_A_KERNEL", 0)
    monkeypatch.setattr("lapwing.model.deciding.BLOCK_BOUNDS", block)
    monkeypatch.setattr("lapwing.model.deciding.BLOCK_QUESTIONS", 4 * block)
    result, documents = many_labels
    expected = one_by_one(result, documents)
    assert 100 < sum(map(len, expected)) < 3000
    assert result._decider.is_worth(documents)
    assert result.predict(documents) == expected
    asked = []
    compiled = sparse.beyond
    monkeypatch.setattr(sparse, "beyond", lambda *given: asked.append(given[3].mean()) or compiled(*given))
    assert result.predict(documents) == expected
    assert 0.0 < asked[0] < 0.9  # and some were ruled out


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_a_score_at_its_threshold_is_not_ruled_out_by_rounding(
    many_labels: tuple[LinearModel, sp.csr_matrix], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.model.scoring.WORTH_A_KERNEL", 0)
    result, documents = many_labels
    best_scores = result.scores(documents).max(axis=0)
    thresholds = np.nextafter(best_scores, step * np.inf) if step else best_scores
    at = replace(result, thresholds=thresholds)
    assert at.predict(documents) == one_by_one(at, documents)
    assert set().union(*at.predict(documents)) == (set(range(37)) if step < 0 else set())


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 30), st.floats(0.02, 1.0), st.integers(0, 10_000))
def test_places_are_those_of_scores_over_thresholds(rows: int, width: int, density: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    weights = sp.random(rows, width, density, random_state=seed, format="csr", data_rvs=draw.standard_normal)
    documents = sp.random(20, width, 0.3, random_state=seed + 1, format="csr")
    scorer = Scorer(weights, draw.uniform(-1.5, 0.2, rows))
    thresholds = draw.choice([0.0, 0.5, np.inf, -1.0], rows, p=[0.85, 0.05, 0.05, 0.05])
    result = Decider(scorer, thresholds).places(documents)
    assert result.tolist() == np.flatnonzero(scorer.scores(documents) > thresholds).tolist()


def test_what_cannot_be_bounded_is_worked_out(
    many_labels: tuple[LinearModel, sp.csr_matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.model.scoring.WORTH_A_KERNEL", 0)
    result, documents = many_labels
    below = result.intercepts - 1.0
    for odd in (np.inf, -np.inf, below[0], result.intercepts[0], result.intercepts[0] + 1e-310, 1e300, -1e300):
        thresholds = result.thresholds.copy()
        thresholds[::5] = odd
        at = replace(result, thresholds=thresholds)
        assert at._decider.places(documents).tolist() == np.flatnonzero(at.scores(documents) > thresholds).tolist()
    signed = documents.copy()
    signed.data[::3] *= -1.0
    assert not result._decider.is_worth(signed)
    assert result.predict(signed) == one_by_one(result, signed)
    assert result.predict(documents[:0]) == []
    assert result.predict(sp.csr_matrix((3, 60))) == one_by_one(result, sp.csr_matrix((3, 60)))
    # features in another order, arrays that run backwards
    unsorted = sp.csr_matrix(
        (documents.data[::-1], documents.indices[::-1], documents.indptr[-1] - documents.indptr[::-1])
    )
    unsorted.indptr = unsorted.indptr.astype(np.int64)
    assert result.predict(unsorted) == one_by_one(result, unsorted)
    empty = model(np.zeros((37, 60)), np.linspace(-1.0, 1.0, 37), classes=tuple(range(37)))
    assert empty.predict(documents) == one_by_one(empty, documents)


def test_multiplications_are_counted() -> None:
    weights = sp.csr_matrix([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    documents = sp.csr_matrix([[1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    assert Scorer(weights, np.zeros(2)).multiplications(documents) == 3
    assert Scorer(weights, np.zeros(2)).multiplications(documents[:1]) == 2


@pytest.mark.parametrize("link", ["logit", "softmax"])
def test_a_few_texts_get_the_bits_of_many(link: str) -> None:
    """One text, a few, a batch through a matrix, and the kernel."""
    texts = [*TEXTS, "", "wheat unseen WHEAT the", "中 corn"]
    original = text_model(exclusive=link == "softmax")
    original = replace(original, link=link)
    by_kernel = original.scores(texts, method="kernel")
    assert original.scores(texts).tobytes() == by_kernel.tobytes()
    assert original.scores(original.vectors(texts)).tobytes() == by_kernel.tobytes()
    for text, row in zip(texts, by_kernel, strict=True):
        assert original.scores([text])[0].tobytes() == row.tobytes()
    assert original.predict(texts) == original.predict(original.vectors(texts))
    assert original.predict([]) == []


def test_what_is_decided_comes_with_its_probability(many_labels: tuple[LinearModel, sp.csr_matrix]) -> None:
    result, documents = many_labels
    proba = result.predict_proba(documents)
    for i, (places, values) in enumerate(result.decided(documents)):
        assert sorted(places.tolist()) == sorted(result.predict(documents[[i]])[0])
        np.testing.assert_array_equal(values, proba[i, places])
        assert (np.diff(values) <= 0.0).all()
