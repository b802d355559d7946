"""Polytomous models on 20 Newsgroups (bydate): ours against scikit-learn's saga and lbfgs at equal suboptimality.

    LAPWING_CORPORA=… python benchmarks/multinomial.py [lasso] [ridge] [--limit 200] [--scale 1]

lasso   norm-based Laplace variance: ours, against LogisticRegression(penalty="l1", solver="saga")
ridge   norm-based Gaussian variance: ours, against LogisticRegression(solver="lbfgs")

Everyone gets the same matrix with a column of ones, penalised like the rest, and one thread. The peer runs for
`--limit` seconds, as many iterations as fit, and suboptimality is measured against the best objective known (ours at
a tolerance of 1e-6, certified). Ours is then timed at the loosest tolerance that is at least as near, and at its
default. `--scale` multiplies the variance. Accuracies and numbers of coefficients are on the test part.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression

import lapwing.corpus
from lapwing.model.objective import PriorArrays, certify
from lapwing.model.priors import Gaussian, Laplace, Prior, norm_variance
from lapwing.model.result import FitResult
from lapwing.solvers import multinomial, newton
from lapwing.text import TextSettings, design

TOLERANCES = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)


class Newsgroups:
    """The matrix, class numbers, and the same of the test part."""

    def __init__(self) -> None:
        folder = os.environ.get("LAPWING_CORPORA")
        if folder is None:
            raise SystemExit("set LAPWING_CORPORA to the folder that holds 20news-bydate.tar.xz")
        corpus = lapwing.corpus.read(Path(folder) / "20news-bydate.tar.xz")
        train, test = corpus.part("train"), corpus.part("test")
        made = design(train.documents, TextSettings())
        assert made.weighting is not None
        self.classes = sorted(train.categories())
        self.X, self.new_X = made.matrix, made.weighting.vectors(test.documents)
        self.y, self.new_y = (
            np.array([self.classes.index(labels[0]) for labels in part.labels]) for part in (train, test)
        )
        self.problem = newton.Problem(self.X)
        self.weight = np.ones(len(self.y))

    def prior(self, prior: Prior, variance: float) -> PriorArrays:
        row = prior.compile(variance, self.X.shape[1])
        return PriorArrays(*(np.tile(part, (len(self.classes), 1)) for part in row))

    def accuracy(self, weights: np.ndarray) -> float:
        scores = self.new_X @ weights[:, :-1].T + weights[:, -1]
        return float(np.mean(np.argmax(scores, axis=1) == self.new_y))


def ours(data: Newsgroups, prior: PriorArrays, tol: float) -> tuple[FitResult, float]:
    began = time.perf_counter()
    found = multinomial.fit(data.problem, data.y, data.weight, prior, tol=tol)
    return found, time.perf_counter() - began


def peer(data: Newsgroups, name: str, variance: float, limit: float) -> tuple[np.ndarray, float, int]:
    """(weights, seconds, iterations): doubled until half the limit is spent."""
    constant = sp.hstack([data.X, np.ones((data.X.shape[0], 1))], format="csr")
    options: dict[str, Any] = {"solver": "lbfgs", "C": variance}
    if name == "lasso":
        options = {"solver": "saga", "penalty": "l1", "C": 1.0 / np.sqrt(2.0 / variance)}
    iterations = 5
    while True:
        model = LogisticRegression(fit_intercept=False, tol=1e-12, max_iter=iterations, random_state=0, **options)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(constant, data.y)
        seconds = time.perf_counter() - began
        done = int(np.max(model.n_iter_))
        if seconds > limit / 2 or done < iterations:
            return model.coef_, seconds, done
        iterations *= max(2, int(limit / 2 / max(seconds, 1e-3)))


def job(data: Newsgroups, name: str, limit: float, scale: float) -> None:
    variance = scale * norm_variance(data.X)
    prior = data.prior({"lasso": Laplace(), "ridge": Gaussian()}[name], variance)
    multinomial.fit(data.problem, data.y, data.weight, prior, tol=0.5, max_iter=1)  # compiles
    best, seconds = ours(data, prior, 1e-6)
    print(f"{name}: variance {variance:.4g}; best objective {best.objective:.8g}, {seconds:.1f} s, "
          f"relative gap {best.relative_gap:.1e}, {'certified' if best.converged else 'not converged'}")  # fmt: skip
    weights, peer_seconds, iterations = peer(data, name, variance, limit)
    proof = certify(data.X, data.y, prior, weights)
    behind = proof.objective / best.objective - 1.0
    solver = {"lasso": "saga", "ridge": "lbfgs"}[name]
    print(f"  scikit-learn {solver:<6} {peer_seconds:8.1f} s, {iterations} iterations, {behind:.1e} above the best; "
          f"accuracy {data.accuracy(weights):.4f}, {np.count_nonzero(weights)} coefficients")  # fmt: skip
    for tol in TOLERANCES:
        found, seconds = ours(data, prior, tol)
        above = found.objective / best.objective - 1.0
        if above <= behind or tol == TOLERANCES[-1]:
            print(f"  ours, as near      {seconds:8.1f} s, tol {tol:g}, {above:.1e} above the best: "
                  f"{peer_seconds / seconds:.1f} times as fast")  # fmt: skip
            break
    found, seconds = ours(data, prior, 1e-4)
    print(f"  ours, tol 1e-4     {seconds:8.1f} s, {found.objective / best.objective - 1.0:.1e} above the best, "
          f"relative gap {found.relative_gap:.1e}; accuracy {data.accuracy(found.weights):.4f}, "
          f"{np.count_nonzero(found.weights)} coefficients")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", choices=["lasso", "ridge", []], default=[])
    parser.add_argument("--limit", type=float, default=200.0)
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, scikit-learn {sklearn.__version__}; one thread")
    data = Newsgroups()
    print(f"{data.X.shape[0]} documents, {data.X.shape[1]} features, {len(data.classes)} classes")
    for name in options.jobs or ["lasso", "ridge"]:
        job(data, name, options.limit, options.scale)


if __name__ == "__main__":
    main()
