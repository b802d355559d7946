"""Every category of ModApte at every variance of the paper: is each fit the optimum it claims to be?

    LAPWING_CORPORA=… python benchmarks/certificates.py [laplace] [gaussian] [clg-laplace] [clg-gaussian] [--tol 1e-6]

laplace, gaussian   the norm-based variance and each of the grid's: objective, dual objective and optimality
                    conditions computed again in plain NumPy from weights and dual point alone
clg-…               GLM07's own algorithm, run to convergence, against the default solver on the ten largest categories;
                    under weak Gaussian priors it takes hours, --clg-variance 100 minutes

The fits of benchmarks/map.py are computed again there, by the same arithmetic (`map.py --ours` for these alone).

Says how wide the widest relative gap is, and by how much an optimality condition is missed at most: as a share of
the prior's slope (Laplace), or of the largest slope that the loss has at zero (Gaussian).
"""

from __future__ import annotations

import argparse
import sys
import time

import engine  # first: it sets one thread for all
import numpy as np
import scipy.sparse as sp
from engine import ModApte

from lapwing.kernels import clg
from lapwing.kernels.nouns import Documents
from lapwing.selection.variance import default_grid
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import Gaussian, Laplace, Prior, norm_variance


def recomputed(
    X: sp.csr_matrix, y: np.ndarray, strength: float, laplace: bool, beta: np.ndarray, dual: np.ndarray
) -> tuple[float, float, float]:
    """(objective, relative gap, largest violation); a last column of ones is penalised like the rest."""
    score = X @ beta
    primal = np.logaddexp(0.0, -y * score).sum()
    gradient = -(X.T @ (y / (1.0 + np.exp(y * score))))
    z = X.T @ (y * dual)
    inside = dual[(dual > 0.0) & (dual < 1.0)]
    value = -np.sum(inside * np.log(inside) + (1.0 - inside) * np.log1p(-inside))
    if laplace:
        primal += strength * np.abs(beta).sum()
        if np.abs(z).max() > strength * (1.0 + 1e-9):
            return primal, np.inf, np.inf
        missed = np.where(
            beta != 0.0, np.abs(gradient + strength * np.sign(beta)), np.maximum(np.abs(gradient) - strength, 0.0)
        )
        return primal, (primal - value) / primal, missed.max() / strength
    primal += 0.5 * strength * (beta @ beta)
    value -= (z @ z) / (2.0 * strength)
    at_zero = np.abs(X.T @ (0.5 * y)).max()
    return primal, (primal - value) / primal, np.abs(gradient + strength * beta).max() / at_zero


def check(data: ModApte, prior: Prior, every: int, tol: float) -> None:
    laplace = isinstance(prior, Laplace)
    problem, rows = Problem(data.X), range(0, len(data.names), every)
    X = sp.csr_matrix(sp.hstack([data.X, np.ones((data.X.shape[0], 1))]))
    start, fits, worst_gap, worst_miss = time.perf_counter(), 0, 0.0, 0.0
    for variance in (norm_variance(data.X), *default_grid(prior)):
        strength = float(np.sqrt(2.0 / variance)) if laplace else 1.0 / variance
        arrays = prior.compile(variance, data.X.shape[1])
        if laplace:
            result = [newton.fit(problem, data.Y[k], np.ones(len(data.Y[k])), arrays, variance=variance, tol=tol)
                     for k in rows]  # fmt: skip
        else:
            Y = data.Y[list(rows)]
            result = newton.fit_many(problem, Y, np.ones(Y.shape), [arrays] * len(Y), variances=[variance] * len(Y),
                                    tol=tol)  # fmt: skip
        gaps, misses = [], []
        for k, fit in zip(rows, result, strict=True):
            objective, gap, miss = recomputed(X, data.Y[k], strength, laplace, fit.weights, fit.dual)
            if not fit.converged or abs(objective / fit.objective - 1.0) > 1e-9 or gap > tol * 1.001:
                print(f"  FAILS: {data.names[k]} at variance {variance:g}: gap {gap:.1e}, claimed "
                      f"{fit.gap / fit.objective:.1e}, objective {objective!r} against {fit.objective!r}")  # fmt: skip
            gaps.append(gap)
            misses.append(miss)
        print(f"  variance {variance:g}: gap at most {max(gaps):.1e}, conditions missed by at most {max(misses):.1e}")
        sys.stdout.flush()
        fits, worst_gap, worst_miss = fits + len(gaps), max(worst_gap, *gaps), max(worst_miss, *misses)
    print(f"  {fits} fits, {time.perf_counter() - start:.0f} s: gap at most {worst_gap:.2e}, "
          f"conditions missed by at most {worst_miss:.1e}")  # fmt: skip


def against_clg(data: ModApte, prior: Prior, tol: float, variance: float) -> None:
    problem = Problem(data.X)
    largest = np.argsort(-(data.Y > 0).sum(axis=1))[:10]
    ones = np.ones(data.X.shape[0])
    arrays = problem.merge(prior.compile(variance, data.X.shape[1]))
    for k in largest:
        best = newton.fit(problem, data.Y[k], ones, prior.compile(variance, data.X.shape[1]), variance=variance,
                          tol=1e-9).objective  # fmt: skip
        start, beta = time.perf_counter(), problem.start(arrays)
        value, cycles, _, trace = clg.fit(
            problem.columns_with_constant, Documents(data.Y[k], ones, 0), arrays, beta, tol, 20_000
        )
        rises = int(np.sum(np.diff(trace) > 1e-12 * trace[:-1]))
        print(f"  {data.names[k]}: {value / best - 1.0:+.1e} after {cycles} cycles, "
              f"{time.perf_counter() - start:.0f} s; the objective rose {rises} times")  # fmt: skip
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", default=["laplace", "gaussian", "clg-laplace", "clg-gaussian"])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--clg-tol", type=float, default=1e-7, help="change of the scores at which CLG stops")
    parser.add_argument("--clg-variance", type=float, help="norm-based unless given")
    options = parser.parse_args()
    data = engine.ModApte()
    for name in options.jobs:
        print(name)
        prior = Laplace() if name.endswith("laplace") else Gaussian()
        if name.startswith("clg"):
            against_clg(data, prior, options.clg_tol, options.clg_variance or norm_variance(data.X))
        else:
            check(data, prior, options.every, options.tol)


if __name__ == "__main__":
    main()
