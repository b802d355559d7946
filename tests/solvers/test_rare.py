"""Rare categories by the documents that their words touch: the same optimum, proved in plain NumPy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.kernels.nouns import PriorArrays
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.solvers.rare import RareFit, RareSolver, takes
from lapwing.stats.objective import certify
from lapwing.stats.priors import ElasticNet, Gaussian, Laplace
from lapwing.training import TrainSettings, learn, rare

N, D = 1500, 300


def matrix(seed: int, *, signed: bool = False) -> sp.csr_matrix:
    """Words as frequent as words are: a few everywhere, most almost nowhere."""
    rng = np.random.default_rng(seed)
    frequency = np.minimum(0.6, 3.0 / np.arange(1, D + 1))
    X = sp.csr_matrix((rng.random((N, D)) < frequency) * rng.uniform(0.05, 1.0, size=(N, D)))
    if signed:
        X.data *= rng.choice([-1.0, 1.0], size=X.nnz)
    return X


def rare_documents(X: sp.csr_matrix, seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    words = rng.choice(np.arange(20, D), 3, replace=False)
    scores = np.asarray(X[:, words].sum(axis=1)).ravel() + 0.3 * rng.random(N)
    return np.sort(np.argsort(-scores)[:count]).astype(np.int32)


def test_a_fit_that_raises_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch arrays are left dirty when an exception ends a fit: the next has new ones, and gives the same bits."""
    from lapwing.kernels import rare as kernel

    X = matrix(3)
    problem, positives = Problem(X), rare_documents(X, 3, 15)
    arrays = problem.merge(Laplace().compile(10.0, D))
    expected = RareSolver(problem, np.ones(N)).fit(positives, arrays)
    solver = RareSolver(problem, np.ones(N))

    def interrupted(X, ground, desk, *rest):  # type: ignore[no-untyped-def]
        desk.place[positives[:5]] = range(5)
        desk.inside[:50], desk.beta[:50], desk.hot[:50], desk.ends[0] = 1, 0.7, 3.0, 4
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(kernel, "fit", interrupted)
        with pytest.raises(MemoryError):
            solver.fit(positives, arrays)
    after = solver.fit(positives, arrays)
    assert after.objective == expected.objective
    for one, other in zip(after, expected, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def whole(fit: RareFit, problem: Problem) -> np.ndarray:
    beta = np.zeros(len(problem.offset))
    beta[fit.columns], beta[-1] = fit.weights, fit.intercept
    return beta


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("prior", [Laplace(), ElasticNet()])
@pytest.mark.parametrize(("count", "variance", "signed"), [(1, 1.0, False), (12, 30.0, False), (40, 3.0, True)])
def test_the_optimum_is_that_of_the_other_kernel(
    link: str, prior: Laplace | ElasticNet, count: int, variance: float, signed: bool
) -> None:
    X = matrix(count, signed=signed)
    problem = Problem(X)
    weight = np.random.default_rng(count).integers(0, 3, size=N).astype(float)
    positives = rare_documents(X, count, count)
    weight[positives[0]] = 1.0
    factors = (2.5, 0.75)
    arrays = problem.merge(prior.compile(variance, D))
    result = RareSolver(problem, weight).fit(positives, arrays, factors=factors, tol=1e-10, link=link)
    y = np.full(N, -1.0)
    y[positives] = 1.0
    c = weight * np.where(y > 0, *factors)
    beta = problem.start(arrays)
    other = newton.minimise(problem, y, c, arrays, beta, 1e-10, 500, link)
    assert result.converged
    assert result.objective == pytest.approx(other.objective, rel=1e-9)
    rows = problem.matrix.rows
    merged = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(N, len(problem.offset) - 1))
    proof = certify(merged, y, arrays, whole(result, problem), result.dual(N), c, link)
    assert proof.objective == pytest.approx(result.objective, rel=1e-11)
    assert proof.relative_gap <= 1e-10 * (1 + 1e-4)
    assert proof.gap == pytest.approx(result.gap, abs=1e-11 * proof.objective)
    assert proof.kkt == pytest.approx(result.kkt, abs=1e-9)
    assert proof.kkt_bound == pytest.approx(result.kkt_bound, abs=1e-8)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_words_ruled_out_by_bounds_have_no_price_beyond_the_penalty(tol: float) -> None:
    """Far from the optimum, too: the gap and the violations are those over all words."""
    for seed in range(8):
        X = matrix(seed)
        problem, positives = Problem(X), rare_documents(X, seed, 15)
        arrays = problem.merge(ElasticNet().compile(20.0, D))
        result = RareSolver(problem, np.ones(N)).fit(positives, arrays, tol=tol)
        y = np.full(N, -1.0)
        y[positives] = 1.0
        rows = problem.matrix.rows
        merged = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(N, len(problem.offset) - 1))
        proof = certify(merged, y, arrays, whole(result, problem), result.dual(N))
        assert proof.gap == pytest.approx(result.gap, rel=1e-6, abs=1e-12)
        assert proof.kkt == pytest.approx(result.kkt, rel=1e-9)
        assert proof.kkt_bound == pytest.approx(result.kkt_bound, rel=1e-9)


def test_a_desk_is_left_as_it_was_and_threads_change_nothing() -> None:
    X = matrix(3)
    problem = Problem(X)
    arrays = problem.merge(ElasticNet().compile(10.0, D))
    solver = RareSolver(problem, np.ones(N))
    tasks = [rare_documents(X, seed, 3 + seed) for seed in range(12)]

    def bits(positives: np.ndarray) -> bytes:
        one = solver.fit(positives, arrays)
        return one.columns.tobytes() + one.weights.tobytes() + np.array(one[2:9]).tobytes()

    alone = [bits(positives) for positives in tasks]
    assert [bits(positives) for positives in reversed(tasks)] == alone[::-1]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(bits, tasks)) == alone


def test_weights_have_24_bits_in_every_feature() -> None:
    X = matrix(5)
    problem = Problem(sp.csr_matrix(sp.hstack([X, X[:, :60], X[:, :60]])))
    arrays = problem.merge(ElasticNet().compile(30.0, D + 120))
    docs = RareSolver(problem, np.ones(N)).fit(rare_documents(X, 5, 12), arrays, tol=1e-10)
    assert docs.converged
    assert (problem.alike[docs.columns] == 3).any()
    _, weights = problem.spread_few(docs.columns, docs.weights)
    assert (weights == weights.astype(np.float32)).all()


def test_a_start_at_the_optimum_stays_there() -> None:
    X = matrix(4)
    problem, positives = Problem(X), rare_documents(X, 4, 20)
    arrays = problem.merge(Laplace().compile(10.0, D))
    solver = RareSolver(problem, np.ones(N))
    first = solver.fit(positives, arrays, tol=1e-10)
    again = solver.fit(positives, arrays, tol=1e-8, start=(first.columns, first.weights, first.intercept))
    assert again.converged
    assert again.rounds <= 2
    assert again.objective == pytest.approx(first.objective, rel=1e-8)


@pytest.mark.parametrize("prior", [Laplace(), ElasticNet()])
def test_words_with_modes_of_their_own(prior: Laplace | ElasticNet) -> None:
    """Drawn to their modes, seen or not, used or not; from any start."""
    X = matrix(7)
    problem, positives = Problem(X), rare_documents(X, 7, 12)
    arrays = problem.merge(prior.compile(5.0, D))
    named, modes = np.array([2, 60, 250], np.int32), np.array([1.5, 4.0, -2.0])
    solver = RareSolver(problem, np.ones(N))
    result = solver.fit(positives, arrays, modes=(named, modes), tol=1e-10)
    mode = arrays.mode.copy()
    mode[named] = modes
    own = PriorArrays(mode, *arrays[1:])
    y = np.full(N, -1.0)
    y[positives] = 1.0
    beta = problem.start(own)
    other = newton.minimise(problem, y, np.ones(N), own, beta, 1e-10, 500)
    assert result.converged
    assert result.objective == pytest.approx(other.objective, rel=1e-9)
    rows = problem.matrix.rows
    merged = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(N, len(problem.offset) - 1))
    proof = certify(merged, y, own, whole(result, problem), result.dual(N))
    assert proof.relative_gap <= 1e-10 * (1 + 1e-4)
    assert proof.kkt == pytest.approx(result.kkt, abs=1e-9)
    plain = solver.fit(positives, arrays, tol=1e-10)
    again = solver.fit(
        positives, arrays, modes=(named, modes), tol=1e-10, start=(plain.columns, plain.weights, plain.intercept)
    )
    assert again.objective == pytest.approx(result.objective, rel=1e-9)


def test_what_it_does_not_take() -> None:
    problem = Problem(matrix(5))
    laplace = problem.merge(Laplace().compile(1.0, D))
    assert takes(problem, laplace)
    assert not takes(problem, problem.merge(Gaussian().compile(1.0, D)))
    assert not takes(problem, problem.merge(Laplace().compile(1.0, D, np.inf)))
    bounded = PriorArrays(*laplace[:3], np.zeros_like(laplace.lower), laplace.upper)
    assert not takes(problem, bounded)
    assert not takes(Problem(matrix(5), np.ones(N)), laplace)


@pytest.mark.parametrize(("class_weight", "most"), [(None, 1000), ("balanced", 1000), (None, 8)])
def test_training_gives_the_same_models(monkeypatch: pytest.MonkeyPatch, class_weight: str | None, most: int) -> None:
    """Fits, variance and calibration, features that are alike, a label with a single document; fits handed on."""
    X = matrix(6)
    X = sp.csr_matrix(sp.hstack([X, X[:, 30:40]]))
    labels: list[tuple[str, ...]] = [()] * N
    for seed in range(6):
        for i in rare_documents(matrix(6), seed, (1, 5, 10, 30, 60, 400)[seed]):
            labels[i] = (*labels[i], f"c{seed}")
    corpus = Corpus("made", "vectors", X, labels, [str(i) for i in range(N)], False, [""] * N, np.ones(N))
    settings = TrainSettings(class_weight=class_weight, tol=1e-9)
    before = learn(corpus, settings, most_duals=10**6)
    monkeypatch.setattr(rare, "LEAST", 100)
    monkeypatch.setattr("lapwing.solvers.rare.MOST", most)
    after = learn(corpus, settings, most_duals=10**6)
    for old, new in zip(before.fits, after.fits, strict=True):
        assert new.objective == pytest.approx(old.objective, rel=1e-8)
        assert new.variance == old.variance
        assert new.dual is not None
        scores, expected = (X[:, one.features] @ one.weights + one.intercept for one in (new, old))
        assert scores == pytest.approx(expected, abs=1e-3)
