"""Models that are updated: what they remember, what comes in, and how near they are to a fit to all documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cli import build

import lapwing
from lapwing.corpus import Corpus
from lapwing.errors import InputError, SettingsError
from lapwing.formats import load
from lapwing.formats.model_file import from_bytes, to_bytes
from lapwing.model import LinearModel
from lapwing.solvers import sequential
from lapwing.stats.past import Past
from lapwing.stats.priors import Jeffreys, Laplace
from lapwing.text import design
from lapwing.training import TrainSettings, learn, memory
from lapwing.training.update import Update, merged, retrain

SETTINGS = TrainSettings(variance=30.0)
DATA = Path(__file__).parents[1] / "data"


def corpus(rows: slice, **changes: str) -> Corpus:
    docs = build.documents(300)[rows]
    labels = [(changes.get(d.label, d.label),) for d in docs]
    return Corpus("news", "text", [d.text for d in docs], labels, [d.id for d in docs], True, [""] * len(docs),
                  np.ones(len(docs)))  # fmt: skip


FIRST, SECOND = slice(0, 200), slice(200, 300)


@pytest.fixture(scope="module")
def model() -> LinearModel:
    return learn(corpus(FIRST), SETTINGS, curvature=1000).model


def distance(a: LinearModel, b: LinearModel) -> float:
    texts = corpus(slice(0, 300)).documents
    return float(np.abs(a.predict_proba(texts) - b.predict_proba(texts)).mean())


def test_updates_come_near_the_fit_to_all(model: LinearModel) -> None:
    exact = learn(merged(corpus(FIRST), corpus(SECOND)), SETTINGS).model
    full = lapwing.update(model, corpus(SECOND))
    assert model.memory is not None
    diagonal = lapwing.update(replace(model, memory=replace(model.memory, rank=0, factor=np.empty(0))), corpus(SECOND))
    assert full.fits.converged.all()
    assert (full.fits.gap <= 1e-4 * full.fits.objective).all()
    assert distance(full, exact) < 0.3 * distance(model, exact)
    assert distance(full, exact) < distance(diagonal, exact)
    assert full.fits.objective == pytest.approx(exact.fits.objective, rel=0.05)


def test_a_curvature_of_a_rank_is_between_its_diagonal_and_all_of_it(model: LinearModel) -> None:
    """The more columns, the less is left out; at the rank of all that is remembered it is all of it."""
    assert model.memory is not None
    exact = learn(merged(corpus(FIRST), corpus(SECOND)), SETTINGS).model
    whole, full = model.memory.past(0, *model.fitted), lapwing.update(model, corpus(SECOND))
    left, apart = [], []
    for rank in (1, 4, 16, 64):
        again = from_bytes(to_bytes(learn(corpus(FIRST), SETTINGS, curvature=rank).model))
        assert again.memory is not None
        past = again.memory.past(0, *again.fitted)
        assert np.allclose(past.whole, whole.whole, rtol=1e-9)  # the diagonal is whole at any rank
        left.append(float(past.bend.sum()))
        updated = lapwing.update(again, corpus(SECOND))
        assert (updated.fits.gap <= 1e-4 * updated.fits.objective).all()
        assert updated.provenance["updates"][0]["curvature"] == str(rank)
        apart.append(distance(updated, exact))
    assert left == sorted(left, reverse=True)
    assert whole.bend.sum() <= 1e-9 * left[0]
    assert apart[-1] < apart[0]
    assert apart[-1] < 1.05 * distance(full, exact)


def test_the_curvature_is_that_of_the_documents() -> None:
    """Of the words with a weight, and of those close to one."""
    X = sp.random(300, 40, density=0.3, random_state=0, format="csr")
    y = np.where(X[:, :4].toarray().sum(axis=1) > 0.6, 1.0, -1.0)
    prior, none, one = Laplace().compile(0.05, 40), Past.none(), np.ones(300)
    beta = sequential.fit(X, y, one, prior, none, np.zeros(41), variance=0.05).weights
    past = memory.leave_behind(X, y, one, prior, beta, "logit", none, rank=41)
    assert {*np.flatnonzero(beta[:-1]), 40} < set(past.index)
    Z = np.hstack([X.toarray(), np.ones((300, 1))])
    p = 1.0 / (1.0 + np.exp(-Z @ beta))
    A = (Z.T @ ((p * (1.0 - p))[:, None] * Z))[np.ix_(past.index, past.index)]
    assert np.allclose(np.diag(past.bend) + past.factor @ past.factor.T, A, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("curvature", ["diagonal", 3, 20, 1000])
@pytest.mark.parametrize("changes", [
    {"prior": "laplace"}, {"prior": "laplace", "variance": 3000.0}, {"prior": "gaussian"}, {"prior": "elasticnet"},
    {"prior": "laplace", "intercept_variance": np.inf}, {"prior": "gaussian", "intercept_variance": np.inf},
], ids=str)  # fmt: skip
def test_every_update_converges_by_its_gap(curvature: str | int, changes: dict[str, Any]) -> None:
    """However few the new documents, empty ones among them; again and again."""
    settings = replace(SETTINGS, **changes)
    model = learn(corpus(FIRST), settings, curvature=curvature).model
    for n in (1, 5, 50):
        new = corpus(slice(200, 200 + n))
        model = lapwing.update(model, replace(new, documents=["", *new.documents[1:]]))
        assert model.fits.converged.all()
        assert (model.fits.gap <= settings.tol * model.fits.objective).all()


def test_a_file_of_the_whole_curvature_is_updated_by_a_rank() -> None:
    """As earlier releases wrote it for curvature="full"."""
    old = load(DATA / "full-curvature.lapwing")
    assert old.memory is not None
    assert old.memory.rank == 20
    new = old.update(["corn oil price", "oil tanker", ""], ["grain", "energy", "money"])
    assert new.fits.converged.all()
    assert (new.fits.gap <= 1e-4 * new.fits.objective).all()
    again = from_bytes(to_bytes(new))
    assert to_bytes(again) == to_bytes(new)


def test_full_is_a_rank_now() -> None:
    with pytest.warns(DeprecationWarning, match="rank of 20") as said:
        model = learn(corpus(FIRST), SETTINGS, curvature="full").model
    assert len(said) == 1
    assert model.memory is not None
    assert model.memory.rank == 20


def test_of_many_categories_a_rank_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_ROWS", 2)
    without, by_rank = (learn(corpus(FIRST), SETTINGS, curvature=kind).model for kind in ("diagonal", 5))
    assert lapwing.update(by_rank, corpus(SECOND)).fits.converged.all()
    with pytest.raises(InputError, match="2,000 categories"):
        lapwing.update(without, corpus(SECOND))


def test_document_frequencies_are_those_of_all_documents(model: LinearModel) -> None:
    weighting = lapwing.update(model, corpus(SECOND)).weighting
    both = design(merged(corpus(FIRST), corpus(SECOND)).documents, SETTINGS.text).weighting
    assert weighting is not None
    assert both is not None
    assert list(weighting.terms) == list(both.terms)
    assert weighting.document_frequency.tolist() == both.document_frequency.tolist()
    assert weighting.n_documents == both.n_documents == 300


def test_an_update_is_proved_by_certify(model: LinearModel) -> None:
    one = Update(model, corpus(SECOND), 1.0, None, 1)
    for row in range(3):
        past, weight = one.past(row), one.task.document_weights(row)
        result = one.fit(row, weight, past, one.start(past))
        proof = lapwing.certify(
            one.columns.X, one.task.signs(row), one.prior(row), result.weights, result.dual, weight, past=past
        )
        assert proof.gap <= 1e-4 * proof.objective


def test_a_file_remembers(model: LinearModel, tmp_path: Path) -> None:
    again = from_bytes(to_bytes(model))
    one, other = (to_bytes(lapwing.update(m, corpus(SECOND))) for m in (model, again))
    assert one == other


def test_new_categories_and_words_come_in(model: LinearModel) -> None:
    updated = model.update(["tin mine ore"] * 6 + ["oil and gas"] * 4, ["metal"] * 6 + ["energy"] * 4)
    assert updated.classes == (*model.classes, "metal")
    assert updated.predict(["ore of a tin mine", "crude oil barrel", "wheat harvest"]) == ["metal", "energy", "grain"]
    (record,) = updated.provenance["updates"]
    assert record["new_categories"] == ["metal"]
    assert record["new_features"] == 4  # tin, mine, ore, and
    assert record["counts_for"] == 210.0


def test_calibration_and_thresholds_are_learned_anew_where_new_documents_suffice() -> None:
    docs = build.documents(800)
    text, label = [d.text for d in docs], [d.label for d in docs]
    first = learn(_of(text[:200], label[:200]), replace(SETTINGS, threshold="f1")).model
    few = lapwing.update(first, _of(text[200:300], label[200:300]))
    many = lapwing.update(first, _of(text[200:], label[200:]))
    for updated, anew in ((few, 0), (many, 3)):
        assert updated.provenance["updates"][0]["learned_anew"] == anew
        assert first.calibration is not None
        assert updated.calibration is not None
        same = [
            np.array_equal(updated.calibration.slope, first.calibration.slope),
            np.array_equal(updated.thresholds, first.thresholds),
        ]
        assert same == [not anew, not anew]
    assert without_scores(few) == without_scores(first)
    assert few.held_out["scores"]["documents"] == 300
    assert many.held_out["documents"] == 600


def without_scores(model: LinearModel) -> dict[str, Any]:
    return {name: value for name, value in model.held_out.items() if name != "scores"}


def _of(texts: list[str], labels: list[str]) -> Corpus:
    n = len(texts)
    return Corpus(
        "news", "text", texts, [(one,) for one in labels], list(map(str, range(n))), False, [""] * n, np.ones(n)
    )


def test_forgetting(model: LinearModel) -> None:
    turned = corpus(SECOND, energy="grain", grain="energy")
    remembering, forgetting = (lapwing.update(model, turned, forget=share) for share in (1.0, 0.05))
    assert forgetting.memory is not None
    assert forgetting.memory.documents == pytest.approx(0.05 * 200 + 100)
    texts = ["oil gas barrel crude pipeline refinery"]
    grain = model.classes.index("grain")
    assert forgetting.predict_proba(texts)[0, grain] > remembering.predict_proba(texts)[0, grain]


def test_what_is_known_is_not_lost_by_an_update_with_little(model: LinearModel) -> None:
    updated = lapwing.update(model, ["said the report"], ["money"])
    assert distance(updated, model) < 0.05


def test_with_the_old_documents(model: LinearModel) -> None:
    both = retrain(model, corpus(FIRST), corpus(SECOND))
    exact = learn(merged(corpus(FIRST), corpus(SECOND)), SETTINGS).model
    assert np.array_equal(both.weights.toarray(), exact.weights.toarray())


def test_with_the_old_documents_under_a_prior_without_variance() -> None:
    settings = replace(SETTINGS, prior=Jeffreys("gaussian"), variance="norm", calibrate=False)
    both = retrain(learn(corpus(FIRST), settings).model, corpus(FIRST), corpus(SECOND))
    exact = learn(merged(corpus(FIRST), corpus(SECOND)), settings).model
    assert np.array_equal(both.weights.toarray(), exact.weights.toarray())


def test_matrices() -> None:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((400, 5))
    y = (X[:, 0] - X[:, 1] + 0.5 * generator.standard_normal(400) > 0.0).astype(int)
    kind = lapwing.MAPClassifier(variance=4.0, prior="gaussian")
    parts = np.array_split(np.arange(400), 4)
    joint, sequential = kind.fit(X, y), lapwing.MAPClassifier(variance=4.0, prior="gaussian")
    for rows in parts:
        sequential.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert sequential.score(X, y) > 0.85
    assert np.sign(sequential.coef_.toarray()[0, :2]).tolist() == np.sign(joint.coef_.toarray()[0, :2]).tolist()


def test_text_classifiers_are_updated() -> None:
    docs = build.documents(200)
    model = lapwing.TextClassifier(variance=30.0).fit([d.text for d in docs], [d.label for d in docs])
    before = model.predict_proba(["tanker"])
    model.update(["oil tanker", "a tanker", "tanker at sea"], ["energy"] * 3)
    assert model.predict_proba(["tanker"])[0, 0] > before[0, 0]


def test_what_cannot_be_updated_says_so(model: LinearModel) -> None:
    with pytest.raises(InputError, match="train it anew"):
        lapwing.update(replace(model, memory=None), corpus(SECOND))
    with pytest.raises(SettingsError, match="forget"):
        lapwing.update(model, corpus(SECOND), forget=0.0)
    for wrong in ("half", 0, -1, True, 2.5):
        with pytest.raises(SettingsError, match="diagonal or a rank"):
            lapwing.update(model, corpus(SECOND), curvature=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected labels for 1 documents"):
        model.update(["text"], [])


def test_what_is_remembered_does_not_hang_on_how_many_categories_are_read_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = learn(corpus(FIRST), SETTINGS).model.memory
    monkeypatch.setattr(memory, "MOST_LANES", 1)
    alone = learn(corpus(FIRST), SETTINGS).model.memory
    assert together is not None
    assert alone is not None
    for name in ("features", "slope", "bend", "intercept_slope", "intercept_bend", "height"):
        assert getattr(together, name).tobytes() == getattr(alone, name).tobytes(), name
