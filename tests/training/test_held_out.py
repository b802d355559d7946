"""What unseen documents decide: the variance, calibration, thresholds, and how good a model says it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from lapwing.corpus import Corpus
from lapwing.formats import load, save
from lapwing.formats.model_file import to_bytes
from lapwing.selection.folds import Folds
from lapwing.stats.links import sigmoid
from lapwing.text import TextSettings
from lapwing.training import NgramSettings, TrainSettings, decisions, judge, learn, out_of_fold, portions


def corpus(n: int = 400, classes: int = 6, seed: int = 0, exclusive: bool = False) -> tuple[Corpus, np.ndarray]:
    """Documents whose labels depend on a few features of many; (corpus, the true probability of each label)."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, 60, density=0.15, random_state=rng, format="csr")
    X.data[:] = 1.0
    beta = np.zeros((60, classes))
    beta[: 3 * classes].reshape(classes, 3, classes)[np.arange(classes), :, np.arange(classes)] = 3.0
    scores = X @ beta - 1.5
    if exclusive:
        noisy = scores - np.log(-np.log(rng.random(scores.shape)))
        labels = [(int(k),) for k in noisy.argmax(axis=1)]
    else:
        labels = [tuple(np.flatnonzero(row).tolist()) for row in rng.random(scores.shape) < sigmoid(scores)]
    data = Corpus("made", "vectors", X, labels, [str(i) for i in range(n)], exclusive, [""] * n, np.ones(n))  # type: ignore[arg-type]
    return data, sigmoid(scores)


def relative_loss(model: lapwing.model.LinearModel, data: Corpus) -> float:
    from lapwing.evaluate.calibration import calibration

    truth = np.array([[k in row for k in model.classes] for row in data.labels])
    return calibration(truth, model.predict_proba(data.documents), exclusive=data.exclusive)[0].relative_log_loss


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("prior", ["laplace", "gaussian", "elasticnet"])
def test_pooled_and_calibrated_is_better_on_new_documents_than_norm(prior: str, exclusive: bool) -> None:
    data, new = corpus(exclusive=exclusive)[0], corpus(seed=1, exclusive=exclusive)[0]
    pooled = learn(data, TrainSettings(prior=prior))
    norm = learn(data, TrainSettings(prior=prior, variance="norm"))
    assert relative_loss(pooled.model, new) < relative_loss(norm.model, new)
    assert pooled.curve is not None
    at = pooled.curve.variances.index(pooled.curve.chosen)
    assert pooled.curve.loss[at] <= 1.002 * min(pooled.curve.loss)
    assert (pooled.model.fits.variance == pooled.curve.chosen).all()
    # What variances are compared by is what the model will lose: of exclusive classes by the right one.
    lost = pooled.model.held_out["log_loss"] * pooled.model.held_out["documents"]
    assert pooled.curve.loss[at] == pytest.approx(lost, rel=0.1)
    # What it says of itself is what comes: within the spread of two hundred documents or so.
    assert pooled.model.held_out["relative_log_loss"] == pytest.approx(relative_loss(pooled.model, new), abs=0.12)


def test_out_of_fold_scores_are_those_of_fits_without_the_fold() -> None:
    data = corpus()[0]
    trained = learn(data, TrainSettings(tol=1e-8, calibrate=False))
    unseen, chosen = trained.out_of_fold, float(trained.model.fits.variance[0])
    assert unseen is not None
    out = unseen.folds.fold == 2
    without = learn(data.select(np.flatnonzero(~out)), TrainSettings(variance=chosen, tol=1e-8)).model
    np.testing.assert_allclose(without.scores(data.documents[out]), unseen.scores[out], atol=0.05)


def test_the_fit_stays_the_one_that_is_proved() -> None:
    data = corpus()[0]
    trained = learn(data, TrainSettings(tol=1e-9), most_duals=10**9)
    model, variance = trained.model, float(trained.model.fits.variance[0])
    plain = learn(data, TrainSettings(variance=variance, tol=1e-9, calibrate=False)).model
    weights, intercepts = model.fitted
    np.testing.assert_array_equal(weights.toarray(), plain.weights.toarray())
    np.testing.assert_array_equal(intercepts, plain.intercepts)
    assert model.calibration is not None
    slope, offset = model.calibration.slope, model.calibration.offset
    np.testing.assert_allclose(model.scores(data.documents), slope * plain.scores(data.documents) + offset)
    arrays = lapwing.priors.ElasticNet().compile(variance, 60)
    for row in range(len(model.categories)):
        y = np.where([row in labels for labels in data.labels], 1.0, -1.0)
        beta = np.append(weights[[row]].toarray(), intercepts[row])
        certificate = lapwing.certify(data.documents, y, arrays, beta, trained.fits[row].dual)
        assert certificate.gap <= 1e-8 * certificate.objective


@pytest.mark.parametrize("settings", [
    {}, {"prior": "gaussian"}, {"multi_class": "multinomial"}, {"method": "selected-ridge", "prior": "gaussian"},
    {"threshold": "f1"}, {"variance": "cv"}, {"link": "probit"}, {"select_features": 10}, {"max_features": 5},
], ids=str)  # fmt: skip
def test_threads_and_files_change_nothing(settings: dict[str, object], tmp_path: Path) -> None:
    exclusive = settings.get("multi_class") == "multinomial"
    data = corpus(n=150, classes=3, exclusive=exclusive)[0]
    one = learn(data, TrainSettings(**settings, n_jobs=1)).model  # type: ignore[arg-type]
    assert to_bytes(learn(data, TrainSettings(**settings, n_jobs=3)).model) == to_bytes(one)  # type: ignore[arg-type]
    save(one, tmp_path / "m.lapwing")
    again = load(tmp_path / "m.lapwing")
    np.testing.assert_array_equal(again.predict_proba(data.documents), one.predict_proba(data.documents))
    assert again.held_out == one.held_out
    assert TrainSettings.from_dict(again.provenance["settings"]) == TrainSettings(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["f1", "error", "ber", "t11u"])
@pytest.mark.parametrize("data", ["cv", "train"])
def test_a_tuned_threshold_claims_nothing_for_who_learned_nothing(rule: str, data: str) -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(np.hstack([rng.random((300, 5)).round(), np.arange(300)[:, None] < 60]))
    labels = [(*((0,) if rng.random() < 0.1 else ()), *((1,) if i < 60 else ())) for i in range(300)]  # 0 by chance
    noise = Corpus("noise", "vectors", X, labels, [str(i) for i in range(300)], False, [], np.ones(300))  # type: ignore[arg-type]
    settings = TrainSettings(prior="laplace", variance=[1e-6, 100.0], threshold=rule, threshold_data=data)
    model = learn(noise, settings).model
    assert model.n_kept[0] == 0
    assert model.n_kept[1] > 0
    decided = model.decide(model.scores(X))
    assert not decided[:, 0].any()
    np.testing.assert_array_equal(decided[:, 1], np.arange(300) < 60)


def test_class_weights_and_time_and_groups_are_respected() -> None:
    data = corpus(n=200, classes=2)[0]
    from dataclasses import replace

    timed = replace(data, times=[f"{i:04}" for i in range(200)])
    unseen = learn(timed, TrainSettings(fold_by="time")).out_of_fold
    assert unseen is not None
    assert np.isnan(unseen.scores[:30]).all()  # the first documents are never held out
    assert not np.isnan(unseen.scores[-30:]).any()
    grouped = learn(replace(data, groups=[str(i // 10) for i in range(200)]), TrainSettings()).out_of_fold
    assert grouped is not None
    assert all(len(set(part)) == 1 for part in np.split(grouped.folds.fold, 20))
    with pytest.raises(lapwing.errors.InputError, match="needs a time"):
        learn(data, TrainSettings(fold_by="time"))


APART = [
    {"variance": "cv"}, {"variance": "auto"}, {"variance": "cv", "multi_class": "multinomial"}, {"max_features": 5},
    {"prior": "gaussian", "method": "selected-ridge", "alpha": "cv"},
    {"ngrams": NgramSettings(), "variance": "cv"}, {"ngrams": NgramSettings(steps="cv"), "solver": "greedy"},
]  # fmt: skip


@pytest.mark.parametrize("way", ["groups", "time"])
@pytest.mark.parametrize("settings", APART, ids=str)
def test_who_chooses_alone_respects_groups_and_time(
    settings: dict[str, Any], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fits are made with and judged by, at the place where all of them get it."""
    rng, n = np.random.default_rng(4), 120
    labels = [("a",) if yes else ("b",) for yes in rng.random(n) < 0.4]
    words = {"a": ["good", "good", "bad"], "b": ["bad", "bad", "good"]}
    texts = [f"n{i} {rng.choice(words[label])} {rng.choice(list('uvwxyz'))}" for i, (label,) in enumerate(labels)]
    data = Corpus("made", "text", texts, labels, [str(i) for i in range(n)], True, [""] * n, np.ones(n))
    mixed = rng.permutation(n)
    data = replace(data, groups=[str(i // 6) for i in mixed]) if way == "groups" else replace(data, times=mixed)
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    training = Folds.training

    def noted(folds: Folds, k: int, weight: np.ndarray) -> np.ndarray:
        fitted = training(folds, k, weight)
        seen.append((fitted > 0.0, (folds.fold == k) & (weight > 0.0)))
        return fitted

    monkeypatch.setattr(Folds, "training", noted)
    plain = TextSettings(tf="binary", idf=False, cosine=False) if "ngrams" in settings else TextSettings()
    if "ngrams" in settings:
        settings = {"prior": "laplace", **settings}
    fold_by = "time" if way == "time" else "chance"
    learn(data, TrainSettings(text=plain, calibrate=False, fold_by=fold_by, **settings))
    assert seen
    for fitted, judged in seen:
        assert fitted.any()
        assert judged.any()
        if way == "time":
            assert mixed[fitted].max() < mixed[judged].min()
        else:
            assert not set(mixed[fitted] // 6) & set(mixed[judged] // 6)


def test_thousands_of_categories_are_chosen_for_by_some() -> None:
    data = corpus(n=300, classes=20)[0]
    rows = out_of_fold.sample_rows(learn_task(data), every=False)
    assert len(rows) == 20
    many = corpus(n=3000, classes=20)[0]
    labels = [tuple(20 * (i % 10) + k for k in row) for i, row in enumerate(many.labels)]
    from dataclasses import replace

    task = learn_task(replace(many, labels=labels))  # type: ignore[arg-type]
    some = out_of_fold.sample_rows(task, every=False)
    assert len(task) == 200
    assert len(some) == out_of_fold.SAMPLE
    assert len(out_of_fold.sample_rows(task, every=True)) == 200


def test_some_of_many_exclusive_classes_are_judged_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classes that are not judged are no rivals, and nothing can be said of which is the most probable."""
    data = corpus(n=600, classes=6, exclusive=True)[0]
    whole = learn(data, TrainSettings()).model
    monkeypatch.setattr(out_of_fold, "SAMPLE", 2)
    some = learn(data, TrainSettings()).model
    assert (whole.held_out["categories"], some.held_out["categories"]) == (6, 2)
    assert "accuracy" in whole.held_out
    assert "accuracy" not in some.held_out
    assert some.held_out["relative_log_loss"] < 1.0
    assert some.conformal is None


def test_categories_that_are_not_judged_keep_their_base_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scores are to be stretched: from the base rate of each, not all from one point."""
    from lapwing.selection.calibration import Line

    data = corpus(n=900)[0]
    labels = [tuple(k for k in row if k == 0 or i % (4 * k) == 0) for i, row in enumerate(data.labels)]
    task = learn_task(replace(data, labels=labels))  # type: ignore[arg-type]
    monkeypatch.setattr(out_of_fold, "SAMPLE", 2)
    judged = out_of_fold.sample_rows(task, every=False)
    judges = judge.Judge(task, judged.tolist(), portions(data, 5, TrainSettings()))
    rate = np.array([np.log(len(task.positives(k)) / (900 - len(task.positives(k)))) for k in range(6)])
    stretched = 1.5 * rate + decisions._offsets(judges, Line(1.5, 0.8))
    assert np.ptp(rate) > 2.0
    assert np.allclose(stretched - rate, (0.5 * rate + 0.8)[judged].mean())
    assert (decisions._offsets(judges, Line(1.0, 0.8)) == 0.8).all()


def learn_task(data: Corpus):  # type: ignore[no-untyped-def]
    from lapwing.training import _task

    return _task(data, TrainSettings(), None, 0)


def test_too_few_documents_to_tune_on_keep_the_threshold_at_one_half(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = learn(corpus(n=12, classes=2)[0], TrainSettings(threshold="f1")).model
    assert model.thresholds.tolist() == [0.0, 0.0]
    assert "thresholds are not tuned" in caplog.text
    save(model, tmp_path / "few.lapwing")
    assert load(tmp_path / "few.lapwing").thresholds.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("members", [1, 2, 30])
def test_a_threshold_is_not_tuned_on_one_or_two_documents(members: int) -> None:
    """Scored by fits that have seen none or one, they would put it anywhere."""
    data, _ = corpus()
    labels = [(*row, 99) if i < members else row for i, row in enumerate(data.labels)]
    model = learn(replace(data, labels=labels), TrainSettings(threshold="f1")).model
    row = model.categories.index(99)
    assert (model.thresholds[row] == 0.0) == (members < 3)
    assert np.any(model.thresholds != 0.0)
