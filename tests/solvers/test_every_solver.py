"""A problem small enough for every solver, also with the JIT switched off: all certify the same optimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.ngrams.solver import exact
from lapwing.ngrams.space import ngram_space
from lapwing.solvers import dense, multinomial, newton, selected_ridge, sequential
from lapwing.solvers.problem import Problem
from lapwing.solvers.rare import RareSolver
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.past import Past
from lapwing.stats.priors import Gaussian, Laplace
from lapwing.stats.result import FitResult
from lapwing.text import TextSettings
from lapwing_papers.solvers import clg, probit_em

N, D, K = 14, 6, 3
LINKS = ("logit", "probit")


def data() -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(7)
    X = draw.integers(1, 3, (N, D)) * (draw.random((N, D)) < 0.5) * 1.0
    y = np.where(X @ draw.normal(size=D) + draw.normal(size=N) > 0.0, 1.0, -1.0)
    return sp.csr_matrix(X), y, draw.integers(1, 3, N) * 1.0


def kernel(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As if the matrix were of the size that this kernel is for."""
    if name != "dense":
        monkeypatch.setattr("lapwing.solvers.dense.MOST", -1)
        monkeypatch.setattr("lapwing.solvers.dense.WIDEST", -1)
    if name in ("large", "wide"):
        monkeypatch.setattr("lapwing.solvers.newton.SMALL", -1)
    if name == "wide":
        monkeypatch.setattr("lapwing.solvers.newton.DENSE", 1)


def proven(result: FitResult, prior: PriorArrays, link: str, tol: float = 1e-6) -> float:
    X, y, c = data()
    proof = certify(X, y, prior, result.weights, result.dual, c, link)
    assert result.converged
    assert proof.gap <= tol * proof.objective
    assert result.objective == pytest.approx(proof.objective)
    return proof.objective


def best(prior: PriorArrays, link: str) -> float:
    X, y, c = data()
    return proven(newton.fit(Problem(X), y, c, prior, variance=1.0, tol=1e-9, link=link), prior, link)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", ["small", "large", "wide", "dense"])
@pytest.mark.parametrize("standardize", [False, True])
def test_newton(monkeypatch: pytest.MonkeyPatch, name: str, link: str, standardize: bool) -> None:
    kernel(monkeypatch, name)
    X, y, c = data()
    for prior in (Laplace(), Gaussian()):
        arrays = prior.compile(2.0, D)
        result = newton.fit(Problem(X, c if standardize else None), y, c, arrays, variance=2.0, tol=1e-7, link=link)
        assert result.converged
        assert result.gap <= 1e-7 * result.objective
        if not standardize:
            proven(result, arrays, link)


@pytest.mark.parametrize("link", LINKS)
def test_those_of_the_papers(link: str) -> None:
    X, y, c = data()
    fits: list[Callable[..., FitResult]] = [clg.fit, probit_em.fit]
    for prior in (Laplace(), Gaussian()):
        arrays = prior.compile(2.0, D)
        for fit in fits:
            result = fit(Problem(X), y, c, arrays, variance=2.0, tol=1e-7, link=link)
            assert proven(result, arrays, link, 1e-4) == pytest.approx(best(arrays, link), rel=1e-4)


@pytest.mark.parametrize("link", LINKS)
def test_categories_together(monkeypatch: pytest.MonkeyPatch, link: str) -> None:
    kernel(monkeypatch, "small")
    X, y, c = data()
    arrays = Gaussian().compile(2.0, D)
    both = newton.fit_many(
        Problem(X), np.array([y, -y]), np.array([c, c]), [arrays, arrays], variances=[2.0, 2.0], tol=1e-7, link=link
    )
    assert proven(both[0], arrays, link) == pytest.approx(both[1].objective)
    assert both[0].weights == pytest.approx(-both[1].weights, abs=1e-3)


@pytest.mark.parametrize("link", LINKS)
def test_one_ridge_category(monkeypatch: pytest.MonkeyPatch, link: str) -> None:
    kernel(monkeypatch, "large")
    X, y, c = data()
    arrays = Gaussian().compile(2.0, D)
    result = newton.fit(Problem(X, once=True), y, c, arrays, variance=2.0, tol=1e-7, link=link)
    assert proven(result, arrays, link) == pytest.approx(best(arrays, link), rel=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_rare_categories(link: str) -> None:
    X, y, c = data()
    problem, arrays = Problem(X), Laplace().compile(2.0, D)
    positives = np.flatnonzero(y > 0.0)
    result = RareSolver(problem, c).fit(positives, problem.merge(arrays), tol=1e-7, link=link)
    assert result.converged
    assert result.objective == pytest.approx(best(arrays, link), rel=1e-6)


def test_selected_ridge_with_the_full_hessian() -> None:
    X, y, c = data()
    problem, arrays = Problem(X), Gaussian().compile(2.0, D)
    ridge = newton.fit(problem, y, c, arrays, variance=2.0, tol=1e-9)
    result = selected_ridge.select(problem, y, c, problem.merge(arrays), ridge.weights, 0.3, "full")
    assert result.kkt <= selected_ridge.KKT
    assert result.objective >= ridge.objective - 1e-9


@pytest.mark.parametrize("prior", [Laplace(), Gaussian()], ids=lambda prior: prior.name)
def test_all_classes_in_one_problem(prior: Laplace | Gaussian) -> None:
    X, _, c = data()
    labels = np.arange(N) % K
    arrays = PriorArrays(*(np.tile(part, (K, 1)) for part in prior.compile(2.0, D)))
    result = multinomial.fit(Problem(X), labels, c, arrays, tol=1e-6)
    proof = certify(X, labels, arrays, result.weights, result.dual, c)
    assert result.converged
    assert proof.gap <= 1e-5 * proof.objective


@pytest.mark.parametrize("link", LINKS)
def test_few_documents_of_many_features(link: str) -> None:
    draw = np.random.default_rng(3)
    X, y, c = sp.csr_matrix(draw.normal(size=(6, 13))), np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0]), np.ones(6)
    problem, arrays = Problem(X), Gaussian().compile(2.0, 13)
    assert dense.among_documents(problem, arrays)
    result = newton.fit(problem, y, c, arrays, variance=2.0, tol=1e-7, link=link)
    proof = certify(X, y, arrays, result.weights, result.dual, c, link)
    assert proof.gap <= 1e-6 * proof.objective


@pytest.mark.parametrize("prior", [Laplace(), Gaussian()], ids=lambda prior: prior.name)
def test_few_sparse_columns(monkeypatch: pytest.MonkeyPatch, prior: Laplace | Gaussian) -> None:
    monkeypatch.setattr(dense, "SMALL", -1)
    draw = np.random.default_rng(5)
    X, c = sp.random(40, D, density=0.2, random_state=5, format="csr"), np.ones(40)
    y = np.where(draw.random(40) < 0.4, 1.0, -1.0)
    problem, arrays = Problem(X), prior.compile(2.0, D)
    assert dense.by_rows(problem)
    assert dense.is_better(problem, smooth=newton.is_smooth(arrays))
    result = newton.fit(problem, y, c, arrays, variance=2.0, tol=1e-7)
    proof = certify(X, y, arrays, result.weights, result.dual, c)
    assert proof.gap <= 1e-6 * proof.objective


def test_after_documents_that_are_gone() -> None:
    X, y, c = data()
    for prior in (Laplace(), Gaussian()):
        arrays = prior.compile(2.0, D)
        result = sequential.fit(X, y, c, arrays, Past.none(), np.zeros(D + 1), variance=2.0, tol=1e-7)
        assert proven(result, arrays, "logit") == pytest.approx(best(arrays, "logit"), rel=1e-6)


def test_all_ngrams() -> None:
    texts = ["a b a", "b a c", "c c a b", "a b", "c b a", "b c"]
    y, c = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0]), np.ones(6)
    with np.errstate(over="ignore"):  # hashes wrap around, of which plain Python would warn
        space = ngram_space(texts, TextSettings.for_ngrams())
        fit = exact(space, y, c, variance=2.0, tol=1e-7)
    every = np.arange(len(space.node))
    listed = newton.fit(Problem(space.columns(every).tocsr()), y, c, Laplace().compile(2.0, len(every)), variance=2.0)
    assert fit.result.converged
    assert fit.result.objective == pytest.approx(listed.objective, rel=1e-3)
