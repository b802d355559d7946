"""`lapwing.summary`: weights with intervals or stability, worked out from the documents of the fit."""

from __future__ import annotations

import numpy as np
import pytest
from cli import build

import lapwing
from lapwing.errors import InputError
from lapwing.selection.stability import _halves, stability
from lapwing.stats.priors import Laplace

DOCUMENTS = build.documents(150)
TEXTS = [one.text for one in DOCUMENTS]
LABELS = [(one.label,) for one in DOCUMENTS]
SETS = [[one.label] for one in DOCUMENTS]
CLASSES = [one.label for one in DOCUMENTS]


@pytest.fixture(scope="module")
def ridge() -> lapwing.TextClassifier:
    return lapwing.TextClassifier(prior="gaussian", variance=20.0, tol=1e-8).fit(TEXTS, SETS)


@pytest.fixture(scope="module")
def lasso() -> lapwing.TextClassifier:
    return lapwing.TextClassifier(prior="laplace", variance=20.0, tol=1e-8).fit(TEXTS, SETS)


def test_intervals_are_those_of_the_inverse_hessian(ridge: lapwing.TextClassifier) -> None:
    model = ridge.model_
    summary = lapwing.summary(ridge, "grain", TEXTS, LABELS, top=None, level=0.9)
    row = model.categories.index("grain")
    X = np.column_stack([model.vectors(TEXTS).toarray(), np.ones(len(TEXTS))])
    p = model.category_proba(TEXTS)[:, row]
    covariance = np.linalg.inv(X.T @ ((p * (1 - p))[:, None] * X) + np.eye(X.shape[1]) / 20.0)
    for word in summary.words:
        j = list(model.feature_names).index(word.feature)
        half = 1.6448536 * np.sqrt(covariance[j, j])
        assert word.interval == pytest.approx((word.weight - half, word.weight + half), rel=1e-5)
        assert word.documents == np.count_nonzero(X[:, j])
    assert [(word.feature, word.weight) for word in summary.words] == model.row_features(row)
    new = ["wheat and corn", "crude oil", "nothing of that"]
    result = ridge.probability_interval("grain", TEXTS, SETS, new, level=0.9)
    np.testing.assert_array_equal(result, model.probability_interval("grain", TEXTS, LABELS, new, level=0.9))
    assert (result[:, 1] < result[:, 0]).all()
    assert (result[:, 0] < result[:, 2]).all()
    x = np.column_stack([model.vectors(new).toarray(), np.ones(3)])
    reach = 1.6448536 * np.sqrt(np.einsum("ij,jk,ik->i", x, covariance, x))
    scores = model.scores(new)[:, row]
    np.testing.assert_allclose(result[:, 1], 1 / (1 + np.exp(reach - scores)), rtol=1e-5)
    np.testing.assert_allclose(result[:, 2], 1 / (1 + np.exp(-reach - scores)), rtol=1e-5)


def test_stability_of_sparse_weights(lasso: lapwing.TextClassifier) -> None:
    summary = lapwing.summary(lasso, "grain", TEXTS, LABELS, halves=20)
    X = lasso.model_.vectors(TEXTS)
    y = np.where([label == ("grain",) for label in LABELS], 1.0, -1.0)
    direct = stability(X, y, Laplace(), 20.0, halves=20, tol=1e-8)
    names = list(lasso.model_.feature_names)
    assert summary.halves == 20
    assert summary.kept == pytest.approx(direct.kept)
    for word in summary.words:
        assert word.interval is None
        assert word.share == pytest.approx(direct.share[names.index(word.feature)])
    assert max(word.share or 0.0 for word in summary.words) == 1.0
    assert "of 20 halves" in summary._repr_html_()


def test_what_could_stand_in_for_a_word() -> None:
    """Columns 4 to 7 are one measurement with noise; the lasso keeps all but 5, which goes with the others alone."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=(120, 8))
    X = np.repeat(common, 4, axis=1) + 0.3 * rng.normal(size=(120, 32))
    y = np.where(common[:, 0] - common[:, 1] + rng.normal(size=120) > 0, "yes", "no")
    model = lapwing.MAPClassifier("laplace", variance=0.05, tol=1e-10).fit(X, y)
    summary = lapwing.summary(model, "yes", X, [(label,) for label in y], halves=0, top=None)
    assert {one.feature: one.stand_ins for one in summary.words if one.stand_ins} == dict.fromkeys("467", ("5",))
    assert "could stand in for it" in summary._repr_html_()


def test_without_documents_there_are_weights_and_counts(lasso: lapwing.TextClassifier) -> None:
    summary = lapwing.summary(lasso.model_, "money", top=3)
    assert [(word.feature, word.weight) for word in summary.words] == lasso.model_.row_features(2, 3)
    assert all(word.documents and word.interval is None and word.share is None for word in summary.words)


def test_other_documents_than_those_of_the_fit_are_refused(ridge: lapwing.TextClassifier) -> None:
    with pytest.raises(InputError, match="not the documents that the model was fitted to"):
        lapwing.summary(ridge, "grain", TEXTS[:40], LABELS[:40])
    with pytest.raises(InputError, match="not the documents that the model was fitted to"):
        lapwing.summary(ridge, "grain", TEXTS, LABELS[1:] + LABELS[:1])
    with pytest.raises(InputError, match="expected labels for 150 documents, got 1"):
        lapwing.summary(ridge, "grain", TEXTS, LABELS[:1])
    with pytest.raises(InputError, match="category must be one of the model's"):
        lapwing.summary(ridge, "no such")


def test_what_has_no_intervals_says_so(lasso: lapwing.TextClassifier) -> None:
    with pytest.raises(InputError, match="curvature of a Gaussian prior"):
        lapwing.probability_interval(lasso, "grain", TEXTS, LABELS, ["corn"])


def test_intervals_of_a_softmax_are_those_of_the_inverse_hessian_of_all_classes() -> None:
    model = lapwing.TextClassifier(multi_class="multinomial", prior="gaussian", variance=5.0, tol=1e-9)
    model.fit(TEXTS, CLASSES)
    summary = model.summary("grain", TEXTS, CLASSES, top=6, level=0.9)
    X = np.column_stack([model.model_.vectors(TEXTS).toarray(), np.ones(len(TEXTS))])
    d, p = X.shape[1], model.predict_proba(TEXTS)
    curvature = np.einsum("ik,kl->ikl", p, np.eye(3)) - np.einsum("ik,il->ikl", p, p)
    hessian = np.einsum("ikl,ia,ib->kalb", curvature, X, X).reshape(3 * d, 3 * d) + np.eye(3 * d) / 5.0
    deviation = np.sqrt(np.diag(np.linalg.inv(hessian))).reshape(3, d)[model.model_.classes.index("grain")]
    names = list(model.model_.feature_names)
    for word in summary.words:
        half = 1.6448536 * deviation[names.index(word.feature)]
        assert word.interval == pytest.approx((word.weight - half, word.weight + half), rel=1e-4)
    with pytest.raises(InputError, match="not by a softmax"):
        model.probability_interval("grain", TEXTS, CLASSES, ["corn"])
    with pytest.raises(InputError, match="not the documents that the model was fitted to"):
        model.summary("grain", TEXTS, CLASSES[1:] + CLASSES[:1])


def test_halves_of_a_softmax_are_fitted_together() -> None:
    model = lapwing.TextClassifier(multi_class="multinomial", prior="laplace", variance=2.0, tol=1e-7)
    model.fit(TEXTS, CLASSES)
    summary = model.summary("grain", TEXTS, CLASSES, top=4, halves=4)
    X, y = model.model_.vectors(TEXTS), np.array(CLASSES)
    kept: list[set[str]] = []
    for half in (
        half
        for seed in np.random.SeedSequence(0).spawn(2)
        for half in _halves(np.unique(y, return_inverse=True)[1], seed)
    ):
        one = lapwing.MAPClassifier("laplace", multi_class="multinomial", variance=2.0, tol=1e-7)
        row = one.fit(X, y, sample_weight=half).coef_[list(one.classes_).index("grain")].toarray().ravel()
        kept.append({str(model.model_.feature_names[j]) for j in np.flatnonzero(row)})
    assert summary.kept == np.mean([len(one) for one in kept])
    assert [word.share for word in summary.words] == [
        np.mean([word.feature in one for one in kept]) for word in summary.words
    ]


def test_halves_of_ngrams_find_their_own() -> None:
    labels = [label == "grain" for label in CLASSES]
    model = lapwing.NgramClassifier(max_length=1, variance=20.0, tol=1e-7).fit(TEXTS, labels)
    summary = model.summary(True, TEXTS, labels, halves=6)
    with pytest.raises(InputError, match="give the texts"):
        lapwing.summary(model, True, model.model_.vectors(TEXTS), [(label,) for label in labels])
    words = lapwing.LogTfidfVectorizer(
        tf="binary", idf=False, cosine=False, stemmer=model.model_.weighting.settings.stemmer
    )
    X = words.fit_transform(TEXTS)
    written_out = stability(X, np.where(labels, 1.0, -1.0), Laplace(), 20.0, halves=6, tol=1e-7)
    names = words.get_feature_names_out().tolist()
    assert summary.kept == pytest.approx(written_out.kept, abs=0.5)  # words in the same documents are one n-gram there
    assert max(word.share or 0.0 for word in summary.words) == 1.0
    for word in summary.words:
        assert word.share == pytest.approx(written_out.share[names.index(word.feature)])


def test_two_exclusive_classes_and_class_weights() -> None:
    labels = [one.label == "grain" for one in DOCUMENTS]
    model = lapwing.TextClassifier(prior="gaussian", variance=5.0, class_weight="balanced").fit(TEXTS, labels)
    summary = lapwing.summary(model, None, TEXTS, [(label,) for label in labels], top=5)
    assert summary.category is True
    assert all(word.interval is not None for word in summary.words)


def test_an_estimator_is_asked_with_what_it_was_fitted_to(ridge: lapwing.TextClassifier) -> None:
    assert ridge.summary("grain", TEXTS, SETS, top=4) == lapwing.summary(ridge, "grain", TEXTS, LABELS, top=4)
    assert ridge.summary("grain", top=4).words[0].interval is None
