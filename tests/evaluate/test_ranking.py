"""Measures at k: known answers, the other programs', and lists that agree with all scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score, ndcg_score

from lapwing.errors import SettingsError
from lapwing.evaluate import evaluate, rank
from lapwing.evaluate.ranking import places, ranking
from lapwing.model import FitSummary, LinearModel
from lapwing.model.scoring import Scorer

N, D, CLASSES, DEEP = 60, 25, 40, 5


def model(seed: int, *, exclusive: bool = False, n_train: int | None = 100) -> LinearModel:
    rng = np.random.default_rng(seed)
    weights = sp.random(CLASSES, D, density=0.1, random_state=rng, format="csr")
    weights.data = rng.integers(-2, 3, size=weights.nnz).astype(float)  # so that some are equal
    summary = FitSummary(*(np.zeros(CLASSES) for _ in range(6)), rng.integers(1, 30, size=CLASSES))  # type: ignore[arg-type]
    return LinearModel(
        link="logit",
        classes=tuple(f"c{k:02d}" for k in range(CLASSES)),
        exclusive=exclusive,
        weights=weights,
        intercepts=-rng.integers(0, 4, size=CLASSES).astype(float),
        thresholds=np.zeros(CLASSES),
        feature_names=[f"f{j}" for j in range(D)],
        weighting=None,
        fits=summary,
        provenance={} if n_train is None else {"documents": n_train},
    )


def documents(seed: int) -> sp.csr_matrix:
    X = sp.random(N, D, density=0.2, random_state=np.random.default_rng(seed), format="csr")
    X.data = np.ceil(3 * X.data)
    return X


def labels(seed: int) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    return [
        tuple(f"c{k:02d}" for k in rng.choice(CLASSES, rng.integers(1, 7), replace=False).tolist()) for _ in range(N)
    ]


def truth_of(sets: list[tuple[str, ...]]) -> np.ndarray:
    return np.array([[f"c{k:02d}" in row for k in range(CLASSES)] for row in sets])


@pytest.mark.parametrize("worth", [0, 2**26])
@pytest.mark.parametrize("count", [1, 3, CLASSES, CLASSES + 5])
def test_lists_are_those_of_all_scores(count: int, worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the kernel and without it, equal scores in the order of their categories."""
    monkeypatch.setattr("lapwing.model.scoring.MANY_RANKED", worth)
    for seed in range(5):
        one, X = model(seed), documents(seed)
        scores = one.scores(X)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        result, values = one.scorer.largest(X, count)
        assert result.tolist() == order.tolist()
        assert values.tolist() == np.take_along_axis(scores, order, axis=1).tolist()
        numbers, proba = one.most_probable(X, count)
        assert numbers.tolist() == order.tolist()
        assert proba.tolist() == one.probability(values).tolist()


def test_lists_without_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    one, X = model(1), documents(1)
    with monkeypatch.context() as patch:
        patch.setattr("lapwing.model.scoring.MANY_RANKED", 0)
        by_kernel = one.scorer.largest(X, 4)
    plain = Scorer(one.weights, one.intercepts).largest(X, 4)
    assert plain[0].tolist() == by_kernel[0].tolist()
    assert plain[1].tolist() == by_kernel[1].tolist()


def test_exclusive_classes_are_ranked_by_their_probabilities() -> None:
    one, X = model(2, exclusive=True), documents(2)
    numbers, proba = one.most_probable(X, 3)
    whole = one.predict_proba(X)
    assert np.take_along_axis(whole, numbers, axis=1).tolist() == proba.tolist()
    assert proba[:, 0].tolist() == whole.max(axis=1).tolist()


def test_known_answers() -> None:
    """Two documents: labels {0, 1}, ranked 0 2 1; labels {3}, ranked 2 3 0."""
    truth = sp.csr_matrix(np.array([[1.0, 1, 0, 0], [0, 0, 0, 1]]))
    result = ranking(truth, np.array([[0, 2, 1], [2, 3, 0]]), (1, 2, 3), np.array([1.0, 2.0, 3.0, 4.0]))
    assert result.precision == pytest.approx([1 / 2, 2 / 4, 3 / 6])
    assert result.recall == pytest.approx([(1 / 2 + 0) / 2, (1 / 2 + 1) / 2, 1.0])
    second, third = 1 / math.log2(3), 1 / math.log2(4)
    both = 1 + second
    assert result.ndcg == pytest.approx([1 / 2, (1 / both + second) / 2, ((1 + third) / both + second) / 2])
    assert result.psp == pytest.approx([1 / (2 + 4), (1 + 4) / (3 + 4), 1.0])
    assert result.micro_f1 == pytest.approx([2 / (2 + 3), 4 / (4 + 3), 6 / (6 + 3)])
    assert result.macro_f1[0] == pytest.approx((1 + 0 + 0) / 3)


def test_the_measures_are_scikit_learns() -> None:
    one, X, sets = model(3), documents(3), labels(3)
    result = rank(one, [(X[:20], sets[:20]), (X[20:], sets[20:])], at=[1, 3, DEEP])
    truth = truth_of(sets)
    order = np.argsort(-one.scores(X), axis=1, kind="stable")
    ranks = np.zeros((N, CLASSES))  # without ties, which scikit-learn averages over
    np.put_along_axis(ranks, order, np.arange(CLASSES, 0, -1.0)[None], axis=1)
    for place, k in enumerate(result.at):
        chosen = np.zeros_like(truth)
        np.put_along_axis(chosen, order[:, :k], True, axis=1)
        assert result.ndcg[place] == pytest.approx(ndcg_score(truth, ranks, k=k))
        assert result.precision[place] == pytest.approx((truth & chosen).sum() / (k * N))
        assert result.micro_f1[place] == pytest.approx(f1_score(truth, chosen, average="micro"))
        occurs = truth.any(axis=0)
        macro = f1_score(truth[:, occurs], chosen[:, occurs], average="macro", zero_division=0)
        assert result.macro_f1[place] == pytest.approx(macro)


def test_the_measures_are_napkinxcs() -> None:
    metrics = pytest.importorskip("napkinxc.metrics")
    one, X, sets = model(4), documents(4), labels(4)
    result = rank(one, [(X, sets)], at=range(1, DEEP + 1), propensity=(0.6, 2.6))
    truth = [[int(label[1:]) for label in row] for row in sets]
    lists = one.most_probable(X, DEEP)[0].tolist()
    counts = np.asarray(one.fits.positives, dtype=float)
    inverse = 1 + (math.log(100) - 1) * 3.6**0.6 * (counts + 2.6) ** -0.6
    assert result.precision == pytest.approx(metrics.precision_at_k(truth, lists, k=DEEP))
    assert result.recall == pytest.approx(metrics.recall_at_k(truth, lists, k=DEEP))
    assert result.ndcg == pytest.approx(metrics.ndcg_at_k(truth, lists, k=DEEP))
    assert result.psp == pytest.approx(metrics.psprecision_at_k(truth, lists, inverse, k=DEEP))


def test_labels_that_the_model_lacks_are_not_found() -> None:
    one, X = model(5), documents(5)
    result = rank(one, [(X, [("elsewhere",)] * N)], at="1")
    assert result.precision.tolist() == result.recall.tolist() == result.ndcg.tolist() == [0.0]


def test_the_evaluation_has_the_ranking_where_it_is_asked_for() -> None:
    one, X, sets = model(6, n_train=None), documents(6), labels(6)
    assert "ranking" not in evaluate(one, [(X, sets)]).to_dict()
    record = evaluate(one, [(X, sets)], at="1,5").to_dict()["ranking"]
    assert [row["k"] for row in record["at"]] == [1, 5]
    assert record["at"][0]["psp"] is None
    assert record["at"][1]["precision"] == rank(one, [(X, sets)], at="5").precision[0]


@pytest.mark.parametrize("wrong", ["", "0,1", "a", []])
def test_places_that_are_none(wrong: object) -> None:
    with pytest.raises(SettingsError, match="1,3,5"):
        places(wrong)  # type: ignore[arg-type]
