"""A problem small enough for every solver, also with the JIT switched off: all certify the same optimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.solvers import clg, multinomial, newton, probit_em, selected_ridge
from lapwing.solvers.problem import Problem
from lapwing.solvers.rare import RareSolver
from lapwing.stats.objective import PriorArrays, certify
from lapwing.stats.priors import Gaussian, Laplace
from lapwing.stats.result import FitResult

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


def proven(found: FitResult, prior: PriorArrays, link: str, tol: float = 1e-6) -> float:
    X, y, c = data()
    proof = certify(X, y, prior, found.weights, found.dual, c, link)
    assert found.converged
    assert proof.gap <= tol * proof.objective
    assert found.objective == pytest.approx(proof.objective)
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
        found = newton.fit(Problem(X, c if standardize else None), y, c, arrays, variance=2.0, tol=1e-7, link=link)
        assert found.converged
        assert found.gap <= 1e-7 * found.objective
        if not standardize:
            proven(found, arrays, link)


@pytest.mark.parametrize("link", LINKS)
def test_those_of_the_papers(link: str) -> None:
    X, y, c = data()
    fits: list[Callable[..., FitResult]] = [clg.fit, probit_em.fit]
    for prior in (Laplace(), Gaussian()):
        arrays = prior.compile(2.0, D)
        for fit in fits:
            found = fit(Problem(X), y, c, arrays, variance=2.0, tol=1e-7, link=link)
            assert proven(found, arrays, link, 1e-4) == pytest.approx(best(arrays, link), rel=1e-4)


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
    found = newton.fit(Problem(X, once=True), y, c, arrays, variance=2.0, tol=1e-7, link=link)
    assert proven(found, arrays, link) == pytest.approx(best(arrays, link), rel=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_rare_categories(link: str) -> None:
    X, y, c = data()
    problem, arrays = Problem(X), Laplace().compile(2.0, D)
    positives = np.flatnonzero(y > 0.0)
    found = RareSolver(problem, c).fit(positives, problem.merge(arrays), tol=1e-7, link=link)
    assert found.converged
    assert found.objective == pytest.approx(best(arrays, link), rel=1e-6)


def test_selected_ridge_with_the_full_hessian() -> None:
    X, y, c = data()
    problem, arrays = Problem(X), Gaussian().compile(2.0, D)
    ridge = newton.fit(problem, y, c, arrays, variance=2.0, tol=1e-9)
    found = selected_ridge.select(problem, y, c, problem.merge(arrays), ridge.weights, 0.3, "full")
    assert found.kkt <= selected_ridge.KKT
    assert found.objective >= ridge.objective - 1e-9


@pytest.mark.parametrize("prior", [Laplace(), Gaussian()], ids=lambda prior: prior.name)
def test_all_classes_in_one_problem(prior: Laplace | Gaussian) -> None:
    X, _, c = data()
    labels = np.arange(N) % K
    arrays = PriorArrays(*(np.tile(part, (K, 1)) for part in prior.compile(2.0, D)))
    found = multinomial.fit(Problem(X), labels, c, arrays, tol=1e-6)
    proof = certify(X, labels, arrays, found.weights, found.dual, c)
    assert found.converged
    assert proof.gap <= 1e-5 * proof.objective
