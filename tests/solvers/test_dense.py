"""Gram matrices of columns, of sparse rows and of documents: which of them is taken changes nothing in the answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.solvers import dense, newton
from lapwing.solvers.problem import Problem
from lapwing.stats import priors
from lapwing.stats.links import LINKS
from lapwing.stats.objective import certify
from lapwing.stats.priors import ElasticNet, Gaussian, Laplace, Prior
from lapwing.stats.result import FitResult
from lapwing_papers.solvers import clg

both_links = pytest.mark.parametrize("link", [name for name, link in LINKS.items() if link.code is not None])
intercepts = pytest.mark.parametrize("intercept_variance", [None, 100.0, np.inf], ids=str)
PRIORS = [kind() for kind in priors.PRIORS.values() if kind.convex]


def problem_of(seed: int, n: int, d: int, density: float) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density) * 10.0 ** rng.uniform(-2, 2, d)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return sp.csr_matrix(X), y, rng.integers(0, 3, n) + 0.5


def both(
    X: sp.csr_matrix, y: np.ndarray, c: np.ndarray, prior: Prior, variance: float, link: str, v0: float | None
) -> tuple[FitResult, FitResult]:
    """By the Gram matrix that is taken for these, and by the kernels of large sparse matrices."""
    arrays = prior.compile(variance, X.shape[1], v0)
    ours = newton.fit(Problem(X), y, c, arrays, variance=variance, tol=1e-9, link=link)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lapwing.solvers.dense.MOST", -1)
        patched.setattr("lapwing.solvers.dense.WIDEST", -1)
        other = newton.fit(Problem(X), y, c, arrays, variance=variance, tol=1e-9, link=link)
    proof = certify(X, y, arrays, ours.weights, ours.dual, c, link)
    assert ours.converged
    assert proof.objective == pytest.approx(ours.objective, rel=1e-10)
    assert proof.relative_gap <= 1e-9 * (1 + 1e-6) + 1e-13
    return ours, other


@both_links
@intercepts
@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
@pytest.mark.parametrize(("n", "d", "density"), [(60, 12, 1.0), (60, 12, 0.15), (12, 60, 1.0), (300, 9, 0.5)])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), log_variance=st.floats(-3, 3))
def test_the_same_optimum_by_every_kernel(
    prior: Prior, link: str, intercept_variance: float | None, n: int, d: int, density: float, seed: int,
    log_variance: float,
) -> None:  # fmt: skip
    X, y, c = problem_of(seed, n, d, density)
    ours, other = both(X, y, c, prior, 10.0**log_variance, link, intercept_variance)
    assert ours.objective <= other.objective * (1 + 1e-9)
    if other.converged:
        assert other.objective <= ours.objective * (1 + 1e-6)


def test_which_is_taken() -> None:
    tall, _, _ = problem_of(0, 60, 12, 1.0)
    flat, _, _ = problem_of(0, 12, 60, 1.0)
    thin, _, _ = problem_of(0, 60, 12, 0.15)
    arrays = Gaussian().compile(1.0, 60)
    assert dense.among_documents(Problem(flat), arrays)
    assert not dense.among_documents(Problem(tall), Gaussian().compile(1.0, 12))
    assert dense.by_rows(Problem(thin))
    assert not dense.by_rows(Problem(tall))
    assert dense.is_better(Problem(thin), smooth=True)
    assert not dense.is_better(Problem(thin), smooth=False)
    assert not dense.is_better(Problem(sp.random(50, 5000, 0.01, format="csr", random_state=0)), smooth=True)


def test_modes_and_standardised_columns() -> None:
    """Offsets are in the columns, and modes are those of raw features."""
    for n, d in ((80, 10), (12, 60)):
        X, y, c = problem_of(1, n, d, 1.0)
        arrays = Gaussian().compile(10.0, d)
        arrays.mode[:] = np.linspace(-1, 1, d + 1)
        problem = Problem(X, c)
        ours = newton.fit(problem, y, c, arrays, variance=10.0, tol=1e-10)
        mean, sd = -problem.offset[:-1] * problem.scale[:-1], problem.scale[:-1]
        Z = (X.toarray() - mean) / sd
        scaled = Gaussian().compile(10.0, d)
        scaled.mode[:] = arrays.mode * problem.scale
        weights = np.append(ours.weights[:-1] * sd, ours.weights[-1] + mean @ ours.weights[:-1])
        assert certify(Z, y, scaled, weights, sample_weight=c).relative_gap <= 1e-8


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), kinds=st.booleans())
def test_columns_that_are_equal_are_one(seed: int, kinds: bool) -> None:
    """Also where the sums by which they are found are those of unequal ones."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rng.integers(1, 5), rng.integers(0, 30))) < 0.4) * rng.integers(1, 3)
    kind = rng.integers(0, 2, X.shape[1]) if kinds else None
    problem = Problem(sp.csr_matrix(X, dtype=np.float64), kinds=kind)
    seen: dict[tuple[int, bytes], int] = {}
    keys = [(0 if kind is None else int(kind[j]), X[:, j].tobytes()) for j in range(X.shape[1])]
    assert problem.group.tolist() == [seen.setdefault(key, len(seen)) for key in keys]
    pointer, columns, values = problem.matrix.rows
    merged = sp.csr_matrix((values, columns, pointer), shape=(len(X), len(seen))).toarray()
    for j, column in enumerate(problem.group):
        np.testing.assert_array_equal(merged[:, column], X[:, j])
    np.testing.assert_array_equal(problem.columns[:-1].T, merged)


@pytest.mark.parametrize("prior", [Laplace(), ElasticNet()], ids=lambda prior: prior.name)
def test_few_sparse_columns_of_many_rows(prior: Prior) -> None:
    """By the Gram matrix of rows, with another answer than the working set's only within what is certified."""
    draw = np.random.default_rng(5)
    X = sp.random(6000, 60, density=0.08, random_state=draw, format="csr")
    y = np.where(X @ draw.normal(size=60) + draw.normal(size=6000) > 0.5, 1.0, -1.0)
    c, arrays = draw.integers(1, 3, 6000) * 1.0, prior.compile(0.5, 60)
    problem = Problem(X)
    assert dense.by_rows(problem)
    assert dense.is_better(problem, smooth=False)
    result = newton.fit(problem, y, c, arrays, variance=0.5, tol=1e-9)
    proof = certify(X, y, arrays, result.weights, result.dual, c)
    assert proof.relative_gap <= 1e-9
    assert proof.kkt == pytest.approx(result.kkt, abs=1e-8)
    descended = clg.fit(problem, y, c, arrays, variance=0.5, tol=1e-10, max_iter=5000)
    assert result.objective == pytest.approx(descended.objective, rel=1e-7)
