"""Prior knowledge in a polytomous model: the optimality conditions over random problems, in plain NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapwing import MAPClassifier
from lapwing.errors import InputError
from lapwing.priors import INTERCEPT, ElasticNet, Gaussian, Laplace, Prior, PriorTable

INF = np.inf
SHAPES = [Laplace(), Gaussian(), ElasticNet(0.3)]
VARIANCES = [1e-30, 1e-10, "0.01x", "1x", 3.0, "100x"]


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, class numbers, document weights; two columns are alike."""
    draw = np.random.default_rng(seed)
    n, d, classes = int(draw.integers(30, 60)), int(draw.integers(4, 9)), int(draw.integers(2, 5))
    X = draw.normal(size=(n, d)) * (draw.random((n, d)) < 0.6)
    X[:, 1] = X[:, 0]
    y = np.argmax(X @ draw.normal(size=(d, classes)) + 2.0 * draw.normal(size=(n, classes)), axis=1)
    y[: 2 * classes] = np.arange(2 * classes) % classes
    return X, y, draw.choice([0.5, 1.0, 2.0], size=n)


def random_rows(draw: np.random.Generator, d: int, classes: int, free: bool) -> dict[Any, dict[str, Any]]:
    """Knowledge of some features for all classes, of some for one, and sometimes of the intercept."""
    rows: dict[Any, dict[str, Any]] = {}
    for feature in [str(j) for j in range(d)] + [INTERCEPT]:
        for category in (None, *range(classes)):
            if draw.random() < 0.25:
                sign = int(draw.choice([-1, 0, 1]))
                mode = float(draw.choice([0.0, abs(draw.normal()) * (sign or draw.choice([-1, 1]))]))
                variance = VARIANCES[draw.integers(len(VARIANCES))]
                key = feature if category is None else (category, feature)
                rows[key] = {"mode": mode, "variance": variance, "sign": sign}
    if free:  # one coefficient of one class, or the intercepts of all of them
        key = (int(draw.integers(classes)), str(d - 1)) if draw.random() < 0.5 else INTERCEPT
        rows = {other: row for other, row in rows.items() if key not in (other, other[-1:][0])}
        rows[key] = {"mode": float(draw.normal()), "variance": INF}
    return rows


def by_hand(
    rows: dict[Any, dict[str, Any]], shape: Prior, v: float, d: int, classes: int, reference: int | None
) -> dict[str, np.ndarray]:
    """Mode, l1, l2, lower and upper of every coefficient, written down once more."""
    out = {name: np.zeros((classes, d + 1)) for name in ("mode", "l1", "l2", "lower", "upper")}
    for k in range(classes):
        for j, feature in enumerate([*map(str, range(d)), INTERCEPT]):
            row = {"mode": 0.0, "variance": "1x", "sign": 0, **rows.get((k, feature), rows.get(feature, {}))}
            text = str(row["variance"])
            variance = v * float(text[:-1]) if text.endswith("x") else float(text)
            mode, side = row["mode"], row["sign"]
            one_sided = bool(side) and mode == 0.0
            laplace = math.sqrt((1.0 if one_sided else 2.0) / variance)
            ratio = {"laplace": 1.0, "gaussian": 0.0}.get(shape.name, getattr(shape, "ratio", 0.0))
            lower, upper = 0.0 if side > 0 else -INF, 0.0 if side < 0 else INF
            if k == reference:
                mode = lower = upper = 0.0
            if variance <= (1e-8 * mode) ** 2:  # no room beside the mode
                lower = upper = mode
            values = (mode, ratio * laplace, (1.0 - ratio) / variance, lower, upper)
            for name, value in zip(out, values, strict=True):
                out[name][k, j] = value
    return out


def gradient(X: np.ndarray, y: np.ndarray, c: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """(K, d+1) of Σ_i c_i [ln Σ_k e^{s_ik} - s_i,y_i], the constant feature last."""
    full = np.column_stack([X, np.ones(len(y))])
    scores = full @ beta.T
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    proba = odds / odds.sum(axis=1, keepdims=True)
    proba[np.arange(len(y)), y] -= 1.0
    return (c[:, None] * proba).T @ full


def assert_optimal(
    X: np.ndarray, y: np.ndarray, c: np.ndarray, prior: dict[str, np.ndarray], beta: np.ndarray, tol: float,
    gap: float = 0.0,
) -> None:  # fmt: skip
    """0 in the subdifferential at every coefficient, to `tol`; bounds kept to the bit.

    A gap bounds the miss of a coordinate by v²/2l2 only: where the prior is tightest, that is no bound.
    """
    mode, l1, l2 = prior["mode"], prior["l1"], prior["l2"]
    lower, upper = prior["lower"], prior["upper"]
    assert np.all((lower <= beta) & (beta <= upper))
    closed = lower == upper
    assert np.array_equal(beta[closed], mode[closed])
    with np.errstate(over="ignore"):
        slope = gradient(X, y, c, beta) + np.where(closed, 0.0, l2 * (beta - mode))
        room = tol + np.where(closed, 0.0, (l2 + l1) * np.spacing(np.abs(beta)))  # what one float64 more would change
        room += np.where(closed, 0.0, np.sqrt(2.0 * l2 * gap))
    right = slope + np.where(beta >= mode, l1, -l1)  # the derivative to the right, and to the left
    left = slope + np.where(beta > mode, l1, -l1)
    assert np.all((beta == upper) | (right >= -room)), right.min()
    assert np.all((beta == lower) | (left <= room)), left.max()


def fitted(X: np.ndarray, y: np.ndarray, c: np.ndarray, table: PriorTable, **options: Any) -> MAPClassifier:
    model = MAPClassifier(table, multi_class="multinomial", max_iter=2_000, **{"tol": 1e-10, **options})
    return model.fit(X, y, sample_weight=c)


def coefficients(model: MAPClassifier) -> np.ndarray:
    return np.column_stack([model.coef_.toarray(), model.intercept_])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda prior: prior.name)
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), free=st.booleans(), with_reference=st.booleans())
@example(seed=174, free=True, with_reference=False)  # free intercepts: a direction that changes no probability
def test_the_optimality_conditions(shape: Prior, seed: int, free: bool, with_reference: bool) -> None:
    X, y, c = random_problem(seed)
    draw = np.random.default_rng(seed + 1)
    d, classes = X.shape[1], int(y.max()) + 1
    rows = random_rows(draw, d, classes, free)
    reference = int(draw.integers(classes)) if with_reference else None
    v = float(10.0 ** draw.uniform(-2, 2))
    prior = by_hand(rows, shape, v, d, classes, reference)
    flat = (prior["l1"] == 0.0) & (prior["l2"] == 0.0) & (prior["lower"] < prior["upper"])
    tol = 1e-5 if flat.any() else 1e-10
    model = fitted(X, y, c, PriorTable(rows, shape), variance=v, reference_class=reference, tol=tol)
    beta = coefficients(model)
    assert model.converged_.all()
    assert_optimal(X, y, c, prior, beta, 1e-3, tol * float(np.max(model.objective_)))
    assert np.isnan(model.dual_gap_).all() == flat.any()
    tight = (prior["l1"] > 1e5) | (prior["l2"] > 1e11)
    np.testing.assert_allclose(beta[tight], prior["mode"][tight], atol=1e-8)
    if reference is not None:
        assert not beta[reference].any()


@pytest.mark.filterwarnings("ignore::lapwing.errors.ConvergenceWarning")
@pytest.mark.parametrize("seed", [23, 105, 213])
def test_the_tightest_beside_the_freest(seed: int) -> None:
    X, y, c = random_problem(seed)
    draw = np.random.default_rng(seed + 1)
    rows = random_rows(draw, X.shape[1], int(y.max()) + 1, True)
    model = fitted(X, y, c, PriorTable(rows, "gaussian"), variance=float(10.0 ** draw.uniform(-2, 2)), tol=1e-7)
    assert model.converged_.all()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda prior: prior.name)
@pytest.mark.parametrize("mode", [0.0, 1.7, -0.3])
def test_from_fixed_to_free(shape: Prior, mode: float) -> None:
    """Variance → 0 gives the mode, to the bit; variance inf what the coefficient would be without a prior."""
    X, y, c = random_problem(12)
    key = (1, "2")
    before = INF
    for variance in (1e-2, 1e-4, 1e-8, 1e-16, 1e-40, 1e-310, 0.0):
        result = fitted(X, y, c, PriorTable({key: {"mode": mode, "variance": variance}}, shape), variance=1.0, tol=1e-9)
        away = abs(coefficients(result)[1, 2] - mode)
        assert away <= before + 1e-9
        before = away
    assert before == 0.0
    free = fitted(X, y, c, PriorTable({key: {"mode": mode, "variance": INF}}, shape), variance=1.0, tol=1e-9)
    assert abs(gradient(X, y, c, coefficients(free))[1, 2]) < 1e-5


def maximum_likelihood(X: np.ndarray, y: np.ndarray, c: np.ndarray, classes: int) -> np.ndarray:
    """Newton's method; its steps, and so the coefficients of every feature, add up to 0 over the classes."""
    full = np.column_stack([X, np.ones(len(y))])
    size = full.shape[1]
    beta = np.zeros((classes, size))
    for _ in range(60):
        scores = full @ beta.T
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        p = odds / odds.sum(axis=1, keepdims=True)
        blocks = [
            [(full.T * (c * p[:, k] * ((k == m) - p[:, m]))) @ full for m in range(classes)] for k in range(classes)
        ]
        beta -= (np.linalg.pinv(np.block(blocks)) @ gradient(X, y, c, beta).ravel()).reshape(classes, size)
    return beta


@pytest.mark.parametrize("shape", SHAPES, ids=lambda prior: prior.name)
@pytest.mark.parametrize("reference", [None, 0])
def test_without_any_prior_it_is_maximum_likelihood(shape: Prior, reference: int | None) -> None:
    """Only differences between classes are told by the data: without a reference class each feature's deviations
    from the modes add up to 0, with one they are what that class has not."""
    X, y, c = random_problem(4)
    X = np.delete(X, 1, axis=1)[:, :3]  # no two alike, and few enough that nothing separates the classes
    classes = int(y.max()) + 1
    rows: dict[Any, Any] = {name: {"variance": INF} for name in ("0", "1", "2", INTERCEPT)}
    model = fitted(X, y, c, PriorTable(rows, shape), tol=1e-9, reference_class=reference)
    known = maximum_likelihood(X, y, c, classes)
    result = coefficients(model)
    known -= 0.0 if reference is None else known[reference]
    np.testing.assert_allclose(result, known, atol=1e-5)
    if reference is None:
        rows[2, "1"] = {"mode": 3.0, "variance": INF}
        shifted = coefficients(fitted(X, y, c, PriorTable(rows, shape), tol=1e-9))
        np.testing.assert_allclose(shifted[:, 1] - result[:, 1], 3.0 / classes, atol=1e-5)
        np.testing.assert_allclose(shifted[:, [0, 2, 3]], result[:, [0, 2, 3]], atol=1e-5)
    assert np.isnan(model.dual_gap_).all()
    assert np.max(model.kkt_) < 1e-6


def test_classes_that_a_feature_separates_have_no_estimate() -> None:
    X, y, c = random_problem(4)
    classes = int(y.max()) + 1
    assert classes >= 4
    X[:, 2] = np.where(y < 2, 1.0, -1.0) * (np.arange(len(y)) % 2)  # two classes from the other two
    with pytest.raises(InputError, match=r"the feature '2' tells 0, 1 from .*infinite variance"):
        fitted(X, y, c, PriorTable({"2": {"variance": INF}}))
    fitted(X, y, c, PriorTable({(0, "2"): {"variance": INF}}))  # the second class holds the first
    held = {(k, "2"): {"variance": INF, "sign": "-" if k < 2 else "+"} for k in range(4)}
    assert not fitted(X, y, c, PriorTable(held)).coef_[:, [2]].nnz


def test_a_class_without_documents_of_its_own() -> None:
    X, y, c = random_problem(5)
    with pytest.raises(InputError, match=r"the intercept tells 1 from .*infinite variance"):
        fitted(X, y, np.where(y == 0, 0.0, c), PriorTable({INTERCEPT: {"variance": INF}}))
