"""Fitting every category of ModApte: ours against peers, one thread for all, penalised constant for all.

    LAPWING_CORPORA=… python benchmarks/engine.py [a] [b] [ridge] [threads] [memory] [growth] [--every 6]

a        all 90 categories at the norm-based Laplace variance
b        cross-validation: 90 categories × 10 variances × 2 runs, and the refit; only fits are timed of liblinear
ridge    all 90 categories at the norm-based Gaussian variance
threads  job a with one and with two threads
memory   peak memory of job b, all of it, in a process that loads the matrix
growth   job a on n, 2n and 4n documents (resampled)

Suboptimality of everyone is measured against the best objective known (ours at tol 1e-9). liblinear runs
through scikit-learn at the loosest of its tolerances whose worst fit is within 1e-4 of that; peers are
timed on every sixth category and scaled unless --every says otherwise. Ours is tol=1e-4, certified.
skglm, celer and R's glmnet take part where they are installed, each with a time limit (--limit).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import _corpora as corpora
import numpy as np
import scipy.io
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression

import lapwing.corpus
from lapwing.engine import run_all
from lapwing.selection.folds import shuffled
from lapwing.selection.variance import CrossValidation, default_grid
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.objective import certify
from lapwing.stats.priors import Gaussian, Laplace, Prior, norm_variance
from lapwing.text import design
from lapwing.training.category import choose_variance
from lapwing.training.targets import targets
from lapwing_papers.settings import text as glm07_text

GLMNET = """
library(glmnet)
arguments <- commandArgs(TRUE)
X <- as(readMM(file.path(arguments[1], "X.mtx")), "CsparseMatrix")
Y <- as.matrix(readMM(file.path(arguments[1], "Y.mtx")))
at <- as.numeric(arguments[2])
for (k in seq_len(ncol(Y))) {
  start <- proc.time()[["elapsed"]]
  fit <- glmnet(X, Y[, k] > 0, family = "binomial", standardize = FALSE, intercept = FALSE, thresh = 1e-9,
                lambda = exp(seq(log(at) + 8, log(at), length.out = 50)), maxit = 1e6)
  seconds <- proc.time()[["elapsed"]] - start
  kept <- as.numeric(fit$beta[, ncol(fit$beta)])
  cat(seconds, fit$jerr, kept[kept != 0], which(kept != 0), "\\n")
}
"""

MEMORY = """
import re, sys
from pathlib import Path
import numpy as np
import scipy.sparse as sp
from lapwing.stats.priors import Laplace, norm_variance
from lapwing.selection.variance import CrossValidation
from lapwing.training.category import choose_variance
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem

def peak():  # of this program; what getrusage tells began with the process it came from
    return int(re.search(r"VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text()).group(1)) / 1e3

X, Y = sp.load_npz(f"{sys.argv[1]}/X.npz"), np.load(f"{sys.argv[1]}/Y.npy")
print(peak())
problem, start, ones = Problem(X), norm_variance(X), np.ones(X.shape[0])
for k, y in enumerate(Y):
    seed = np.random.SeedSequence(k)
    v = choose_variance(problem, y, ones, Laplace(), CrossValidation(), method="cv", start=start, seed=seed).chosen
    newton.fit(problem, y, ones, Laplace().compile(v, X.shape[1]), variance=v)
print(peak())
"""


class ModApte:
    """The matrix, and ±1 for each of the 90 categories that occur in both parts."""

    def __init__(self) -> None:
        corpus = lapwing.corpus.read(corpora.path("reuters21578.tar.xz"))
        train, test = corpus.part("train"), corpus.part("test")
        both = sorted(set(train.categories()) & set(test.categories()))
        self.X = design(train.documents, glm07_text()).matrix  # type: ignore[arg-type]
        self.X.eliminate_zeros()
        result = targets([tuple(x for x in row if x in both) for row in train.labels], False, both)
        self.Y = np.array([result.signs(k) for k in range(len(both))])
        self.names = both


def liblinear(X: sp.csr_matrix, y: np.ndarray, prior: Prior, variance: float, tol: float) -> np.ndarray:
    laplace = isinstance(prior, Laplace)
    strength = float(np.sqrt(variance / 2.0)) if laplace else variance
    model = LogisticRegression(
        penalty="l1" if laplace else "l2", C=strength, solver="liblinear", tol=tol, max_iter=10_000, random_state=0
    )
    model.fit(X, y)
    return np.append(model.coef_[0], model.intercept_)


def ours(problem: Problem, y: np.ndarray, prior: Prior, variance: float, tol: float = 1e-4) -> np.ndarray:
    arrays = prior.compile(variance, len(problem.group))
    result = newton.fit(problem, y, np.ones(len(y)), arrays, variance=variance, tol=tol)
    if not result.converged:
        raise SystemExit("a fit of ours did not reach its tolerance")
    return result.weights


def timed(function: Callable[..., Any], *arguments: object) -> tuple[float, Any]:
    start = time.perf_counter()
    value = function(*arguments)
    return time.perf_counter() - start, value


def excess(data: ModApte, k: int, prior: Prior, variance: float, weights: np.ndarray, best: float) -> float:
    arrays = prior.compile(variance, data.X.shape[1])
    return certify(data.X, data.Y[k], arrays, weights).objective / best - 1.0


def peer_tolerance(data: ModApte, rows: range, prior: Prior, variance: float, best: dict[int, float]) -> float:
    for tol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        entries = [liblinear(data.X, data.Y[k], prior, variance, tol) for k in rows]
        worst = max(excess(data, k, prior, variance, w, best[k]) for k, w in zip(rows, entries, strict=True))
        print(f"  liblinear at tol {tol:g}: worst fit {worst:.1e} above the optimum")
        if worst <= 1e-4:
            return tol
    return 1e-7


def all_of_them(data: ModApte, problem: Problem, prior: Prior, variance: float) -> tuple[float, list[np.ndarray]]:
    """Seconds for every category, and their weights; Gaussian ones go through the matrix together."""
    if isinstance(prior, Laplace):
        seconds, result = zip(*(timed(ours, problem, y, prior, variance) for y in data.Y), strict=True)
        return sum(seconds), list(result)
    arrays = [prior.compile(variance, len(problem.group))] * len(data.Y)
    spent, fits = timed(
        lambda: newton.fit_many(problem, data.Y, np.ones(data.Y.shape), arrays, variances=[variance] * len(data.Y))
    )
    if not all(fit.converged for fit in fits):
        raise SystemExit("a fit of ours did not reach its tolerance")
    return spent, [fit.weights for fit in fits]


def single(data: ModApte, prior: Prior, every: int, limit: float) -> None:
    variance = norm_variance(data.X)
    problem = Problem(data.X)
    count = len(data.names)
    all_of_them(data, problem, prior, variance)  # compile
    runs = [all_of_them(data, problem, prior, variance) for _ in range(3)]
    seconds, result = float(np.median([spent for spent, _ in runs])), runs[0][1]
    rows = range(0, count, every)
    arrays = prior.compile(variance, data.X.shape[1])
    best = {
        k: certify(data.X, data.Y[k], arrays, ours(problem, data.Y[k], prior, variance, 1e-9)).objective for k in rows
    }
    worst = max(excess(data, k, prior, variance, result[k], best[k]) for k in rows)
    print(f"  ours, tol 1e-4 certified: {seconds:.2f} s for {count}; worst fit {worst:.1e} above the optimum")
    tol = peer_tolerance(data, rows, prior, variance, best)
    theirs = sum(timed(liblinear, data.X, y, prior, variance, tol)[0] for y in data.Y)
    print(f"  liblinear, tol {tol:g}: {theirs:.2f} s for {count}: {theirs / seconds:.1f}x")
    if not isinstance(prior, Laplace):
        return
    apart = [timed(ours, problem, data.Y[k], prior, variance)[0] for k in rows]
    for name, run in other_peers(data, rows, variance, limit).items():
        spent, weights = run()
        if weights:
            above = max(excess(data, rows[k], prior, variance, w, best[rows[k]]) for k, w in enumerate(weights))
            mine = sum(apart[: len(weights)])
            print(f"  {name}: {spent:.2f} s for {len(weights)} categories, ours {mine:.2f} s: {spent / mine:.1f}x; "
                  f"worst fit {above:.1e} above the optimum")  # fmt: skip
        else:
            print(f"  {name}: nothing within {limit:g} s")


def other_peers(
    data: ModApte, rows: range, variance: float, limit: float
) -> dict[str, Callable[[], tuple[float, list[np.ndarray]]]]:
    """skglm, celer and glmnet, with the constant feature as a column of the matrix: seconds, and weights in order."""
    strength = float(np.sqrt(2.0 / variance))
    X = sp.csc_matrix(sp.hstack([data.X, np.ones((data.X.shape[0], 1))]))
    peers: dict[str, Callable[[], tuple[float, list[np.ndarray]]]] = {}

    def one_by_one(make: Callable[[], Any]) -> tuple[float, list[np.ndarray]]:
        make().fit(X[:500, -50:], data.Y[rows[0]][:500] * np.where(np.arange(500) % 2, 1, -1))  # compile
        spent, result = 0.0, []
        for k in rows:
            seconds, model = timed(make().fit, X, data.Y[k])
            spent += seconds
            result.append(np.asarray(model.coef_).ravel())
            if spent > limit:
                break
        return spent, result

    try:
        from skglm import SparseLogisticRegression

        peers["skglm"] = lambda: one_by_one(
            lambda: SparseLogisticRegression(alpha=strength / X.shape[0], fit_intercept=False, tol=1e-6)
        )
    except ImportError:
        print("  skglm is not installed")
    try:
        from celer import LogisticRegression as Celer

        peers["celer"] = lambda: one_by_one(lambda: Celer(C=1.0 / strength, fit_intercept=False, tol=1e-6))
    except ImportError:
        print("  celer is not installed")
    if shutil.which("Rscript") is None:
        print("  R is not installed")
    else:
        peers["glmnet"] = lambda: glmnet(X, data.Y[list(rows)], strength / X.shape[0], limit)
    return peers


def glmnet(X: sp.csc_matrix, Y: np.ndarray, strength: float, limit: float) -> tuple[float, list[np.ndarray]]:
    """R's own clock, without reading the data; what was done within the limit counts."""
    with tempfile.TemporaryDirectory() as folder:
        scipy.io.mmwrite(Path(folder) / "X.mtx", X)
        scipy.io.mmwrite(Path(folder) / "Y.mtx", Y.T)
        try:
            output = subprocess.run(
                ["Rscript", "-e", GLMNET, folder, repr(strength)], capture_output=True, timeout=limit + 30, text=True
            ).stdout
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode()
    spent, result = 0.0, []
    for line in output.splitlines():
        seconds, _, *rest = (float(word) for word in line.split())
        weights = np.zeros(X.shape[1])
        kept = len(rest) // 2
        weights[np.array(rest[kept:], dtype=int) - 1] = rest[:kept]
        spent += seconds
        result.append(weights)
    return spent, result


class CrossValidated:
    """Job b: for each category the same folds and variances for everyone, and the objectives of all its fits."""

    def __init__(self, data: ModApte) -> None:
        self.data, self.prior, self.plan = data, Laplace(), CrossValidation()
        self.grid = default_grid(self.prior)
        self.problem, self.start = Problem(data.X), norm_variance(data.X)
        self.seeds = np.random.SeedSequence(0).spawn(len(data.names))

    def inside(self, k: int) -> list[np.ndarray]:
        """The documents of each run; runs with one class, which liblinear refuses, are left out for it."""
        fold, y = shuffled(self.data.Y[k], self.plan.folds, self.seeds[k]).fold, self.data.Y[k]
        return [fold != run for run in range(self.plan.runs) if len(np.unique(y[fold != run])) == 2]

    def ours(self, k: int) -> None:
        curve = choose_variance(
            self.problem, self.data.Y[k], np.ones(self.data.X.shape[0]), self.prior, self.plan, method="cv",
            start=self.start, seed=self.seeds[k],
        )  # fmt: skip
        ours(self.problem, self.data.Y[k], self.prior, curve.chosen)

    def best(self, k: int) -> list[np.ndarray]:
        """The objective at every variance of each run, and last of all documents: ours at tol 1e-9."""
        rows = []
        for inside in [*self.inside(k), np.ones(self.data.X.shape[0], dtype=bool)]:
            weights, row = None, []
            for v in sorted(self.grid):
                fit = newton.fit(
                    self.problem, self.data.Y[k], inside.astype(float), self.prior.compile(v, self.data.X.shape[1]),
                    variance=v, tol=1e-9, start=weights,
                )  # fmt: skip
                weights = fit.weights
                row.append(fit.objective)
            rows.append(np.array(row))
        return rows

    def theirs(self, k: int, tol: float, best: list[np.ndarray], sink: Connection) -> None:
        """Send (seconds, excess over the optimum) of each fit as it is done."""
        X, y, grid = self.data.X, self.data.Y[k], sorted(self.grid)
        totals = np.zeros(len(grid))

        def fit(inside: np.ndarray, at: int, least: float) -> np.ndarray:
            some, labels = X[inside], y[inside]
            seconds, w = timed(liblinear, some, labels, self.prior, grid[at], tol)
            arrays = self.prior.compile(grid[at], X.shape[1])
            sink.send((seconds, certify(some, labels, arrays, w).objective / least - 1.0))
            return w

        for inside, least in zip(self.inside(k), best[:-1], strict=True):
            for at in range(len(grid)):
                w = fit(inside, at, least[at])
                totals[at] -= np.logaddexp(0.0, -y[~inside] * (X[~inside] @ w[:-1] + w[-1])).sum()
        at = int(np.argmax(totals))
        fit(np.ones(len(y), dtype=bool), at, best[-1][at])
        sink.send(None)


def watched(job: CrossValidated, k: int, tol: float, best: list[np.ndarray], limit: float) -> tuple[float, float, bool]:
    """liblinear on one category in a process of its own: (seconds so far, worst excess so far, whether it finished).

    It is stopped at the limit, and as soon as a fit of it is more than 1e-4 above the optimum.
    """
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=job.theirs, args=(k, tol, best, there))
    process.start()
    spent, worst, begun = 0.0, 0.0, time.perf_counter()
    try:
        while worst <= 1e-4:
            if not here.poll(max(limit - spent, 0.0)):
                return spent + time.perf_counter() - begun, worst, False
            message = here.recv()
            if message is None:
                return spent, worst, True
            spent, worst, begun = spent + message[0], max(worst, message[1]), time.perf_counter()
        return spent, worst, False
    finally:
        process.kill()
        process.join()


def cross_validation(data: ModApte, every: int, limit: float) -> None:
    job, rows = CrossValidated(data), range(0, len(data.names), every)
    job.ours(0)
    mine = {k: float(np.median([timed(job.ours, k)[0] for _ in range(3)])) for k in rows}
    best = {k: job.best(k) for k in rows}
    by_size = sorted(rows, key=lambda k: int((data.Y[k] > 0).sum()))
    for tol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        ratios, theirs, worst, cut = [], 0.0, 0.0, 0
        for k in by_size:
            seconds, above, finished = watched(job, k, tol, best[k], limit)
            theirs, worst = theirs + seconds, max(worst, above)
            if worst > 1e-4:
                print(f"  liblinear at tol {tol:g}: a fit of {data.names[k]} is {worst:.1e} above the optimum")
                break
            cut += not finished
            ratios.append(seconds / mine[k])
            print(
                f"  {data.names[k]}, {int((data.Y[k] > 0).sum())} positives: ours {mine[k]:.2f} s, liblinear at tol "
                f"{tol:g} {'' if finished else 'over '}{seconds:.2f} s, its worst fit {above:.1e} above the optimum",
                flush=True,
            )
        else:
            total = sum(mine.values())
            stopped = f"; {cut} stopped at {limit:g} s, so at least" if cut else ""
            print(f"  ours {total:.2f} s for {len(rows)}, liblinear {theirs:.2f} s{stopped}: {theirs / total:.1f}x "
                  f"(median category {np.median(ratios):.1f}x)")  # fmt: skip
            break
    whole = sum(timed(job.ours, k)[0] for k in range(len(data.names)))
    print(f"  ours for all {len(data.names)}: {whole:.1f} s")


def threads(data: ModApte) -> None:
    problem, variance = Problem(data.X), norm_variance(data.X)
    ours(problem, data.Y[0], Laplace(), variance)
    spent = {}
    for jobs in (1, 2, 1, 2, 1, 2):
        seconds, _ = timed(
            lambda jobs=jobs: run_all(
                lambda k: ours(problem, data.Y[k], Laplace(), variance), range(len(data.names)), n_jobs=jobs
            )
        )
        spent.setdefault(jobs, []).append(seconds)
    one, two = (float(np.median(spent[jobs])) for jobs in (1, 2))
    print(f"  one thread {one:.2f} s, two {two:.2f} s: {one / two:.2f}x")


def memory(data: ModApte) -> None:
    """Job b in a process that has only the matrix to load, and kernels that are compiled: its whole peak."""
    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(f"{folder}/X.npz", data.X)
        for Y in (data.Y[:1], data.Y):  # the first compiles
            np.save(f"{folder}/Y.npy", Y)
            done = subprocess.run([sys.executable, "-c", MEMORY, folder], check=True, capture_output=True, text=True)
    before, after = (float(mb) for mb in done.stdout.split())
    matrix = (data.X.data.nbytes + data.X.indices.nbytes + data.X.indptr.nbytes) / 1e6
    print(f"  matrix {matrix:.0f} MB; peak of the whole process {after:.0f} MB, {before:.0f} MB of it before "
          f"the first fit (bound: {2 * matrix + 300:.0f} MB)")  # fmt: skip


def growth(data: ModApte, every: int) -> None:
    rng = np.random.default_rng(0)
    rows = range(0, len(data.names), every)
    previous = None
    for factor in (1, 2, 4):
        n = data.X.shape[0]
        picked = np.arange(n) if factor == 1 else rng.integers(0, n, size=factor * n)
        X = data.X[picked]
        problem, variance = Problem(X), norm_variance(X)
        ours(problem, data.Y[rows[0]][picked], Laplace(), variance)
        runs = [sum(timed(ours, problem, data.Y[k][picked], Laplace(), variance)[0] for k in rows) for _ in range(3)]
        seconds = float(np.median(runs))
        more = "" if previous is None else f", {seconds / previous:.2f}x the one before"
        print(f"  {factor}n = {len(picked)} documents: {seconds:.2f} s for {len(rows)} categories{more}")
        previous = seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", default=["a", "b", "ridge", "threads", "memory", "growth"])
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument(
        "--limit",
        type=float,
        default=120.0,
        help="seconds a peer may take: for its share of job a, for a category of job b",
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = ModApte()
    print(f"{data.X.shape[0]} documents, {data.X.shape[1]} features, {len(data.names)} categories; Python "
          f"{platform.python_version()}, scikit-learn {sklearn.__version__}, {platform.machine()}")  # fmt: skip
    jobs: dict[str, Callable[[], object]] = {
        "a": lambda: single(data, Laplace(), options.every, options.limit),
        "b": lambda: cross_validation(data, options.every, options.limit),
        "ridge": lambda: single(data, Gaussian(), options.every, options.limit),
        "threads": lambda: threads(data),
        "memory": lambda: memory(data),
        "growth": lambda: growth(data, options.every),
    }
    for name in options.jobs:
        print(name)
        sys.stdout.flush()
        jobs[name]()


if __name__ == "__main__":
    main()
