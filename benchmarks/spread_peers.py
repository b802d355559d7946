"""One problem, its documents spread over workers: lapwing's fit_rows beside dask-glm (dask-ml's engine) and Spark ML.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/spread_peers.py [lapwing dask-glm spark]

Category earn of ModApte under a Laplace prior of variance 10, the constant a feature like any other; for Spark ML,
which gives a constant feature no weight, an intercept without a penalty, against the optimum of that. Seconds are from
documents that lie on the workers to the weights. Where a program tells nothing on its way, it is run again with more
and more iterations, and what reaches a relative suboptimality of 1e-4 is the first of these runs; the optimum is that
of a fit in memory to a gap of 1e-10. dask-glm is given dense blocks, and sparse ones last. Peers that are not installed
are left out by name.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from cluster import DOCUMENTS, VARIANCE, close, corpus

from lapwing.engine import connect
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import as_prior
from lapwing.training import TrainSettings, make_design
from lapwing.training.spread import fit_rows

PENALTY = float(np.sqrt(2.0 / VARIANCE))
ENOUGH, LONGEST = 1e-4, 60.0  # suboptimality to reach; seconds of a run after which no longer one is tried
WORKERS = 2


class Race:
    """The problem, its optimum, and what was reached when."""

    def __init__(self) -> None:
        data = corpus()
        self.X = make_design(data, TrainSettings()).matrix
        self.y = np.where(["earn" in labels for labels in data.labels], 1.0, -1.0)
        self.with_constant = sp.hstack([self.X, np.ones((len(self.y), 1))], format="csr")
        self.least = {free: self.objective(self.optimum(free), free) for free in (False, True)}
        print(f"{self.X.shape[0]:,} × {self.X.shape[1]:,}; {WORKERS} workers", flush=True)

    def optimum(self, free: bool) -> np.ndarray:
        arrays = as_prior("laplace").compile(VARIANCE, self.X.shape[1], np.inf if free else None)
        ones = np.ones(len(self.y))
        return newton.fit(Problem(self.X), self.y, ones, arrays, variance=VARIANCE, tol=1e-10).weights

    def objective(self, beta: np.ndarray, free: bool) -> float:
        loss = np.logaddexp(0.0, -self.y * (self.with_constant @ beta)).sum()
        return float(loss + PENALTY * np.abs(beta[: len(beta) - free]).sum())

    def tell(self, name: str, rows: Iterable[tuple[str, float, np.ndarray]], *, free: bool = False) -> None:
        """Rows of (how far it went, seconds, weights), until one takes too long; `free`: the intercept is."""
        for what, seconds, beta in rows:
            above = self.objective(beta, free) / self.least[free] - 1.0
            kept = np.count_nonzero(beta[:-1])
            mark = "  ← reached" if above <= ENOUGH else ""
            print(f"{name}: {what}: {seconds:.1f} s, {above:.1e} above, {kept} weights not 0{mark}", flush=True)
            if seconds > LONGEST:
                return


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def lapwing(race: Race) -> None:
    client = connect("local", workers=WORKERS)
    fit_rows(race.X[:400], race.y[:400], variance=VARIANCE, client=client, documents=200)
    rows, begin = [], time.perf_counter()

    def progress(rounds: int, gap: float) -> None:
        rows.append((rounds, gap, time.perf_counter() - begin))

    fit = fit_rows(race.X, race.y, variance=VARIANCE, client=client, documents=DOCUMENTS, progress=progress)
    seconds = time.perf_counter() - begin
    rounds, gap, then = next(row for row in rows if row[1] <= ENOUGH)
    print(f"lapwing: a gap of {gap:.1e} after {rounds} rounds and {then:.1f} s", flush=True)
    race.tell("lapwing", [(f"{fit.rounds} rounds, gap {fit.relative_gap:.1e}", seconds, fit.weights)])
    close(client)


def dask_glm(race: Race) -> None:
    import dask
    import dask.array as da
    from dask_glm.algorithms import admm, proximal_grad
    from dask_glm.regularizers import L1

    client = connect("local", workers=WORKERS)
    labels = da.from_array((race.y > 0).astype(float), chunks=DOCUMENTS)
    X, delayed = race.with_constant, dask.delayed
    parts = [delayed(X[first : first + DOCUMENTS]) for first in range(0, X.shape[0], DOCUMENTS)]
    shapes = [(min(DOCUMENTS, X.shape[0] - first), X.shape[1]) for first in range(0, X.shape[0], DOCUMENTS)]

    def array(make: Callable[[Any], Any]) -> Any:
        rows = [delayed(make)(part) for part in parts]
        return da.concatenate(
            [da.from_delayed(one, shape, dtype=float) for one, shape in zip(rows, shapes, strict=True)]
        ).persist()

    blocks = array(lambda part: part.toarray())
    race.tell("dask-glm admm", _rising(admm, blocks, labels, L1(), [1, 5, 25, 250]))
    race.tell("dask-glm proximal_grad", _rising(proximal_grad, blocks, labels, L1(), [10, 100, 1000]))
    try:
        import sparse

        thin = array(sparse.COO.from_scipy_sparse)
        race.tell("dask-glm admm, sparse", _rising(admm, thin, labels, L1(), [1]))
    except Exception as error:
        print(f"dask-glm, sparse blocks: {type(error).__name__}: {str(error).splitlines()[0][:150]}", flush=True)
    close(client)


def _rising(algorithm: Any, X: Any, y: Any, regularizer: Any, most: list[int]) -> Any:
    for rounds in most:
        options = {"regularizer": regularizer, "lamduh": PENALTY, "max_iter": rounds}
        seconds, beta = timed(lambda given=options: np.asarray(algorithm(X, y, **given)))
        yield f"at most {rounds} rounds", seconds, beta


def spark(race: Race) -> None:
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(f"local[{WORKERS}]").config("spark.driver.memory", "4g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    X = race.X
    rows = [
        (float(y > 0), Vectors.sparse(X.shape[1], X.indices[a:b].tolist(), X.data[a:b].tolist()))
        for y, a, b in zip(race.y, X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    frame = session.createDataFrame(rows, ["label", "features"]).repartition(WORKERS).cache()
    frame.count()

    def rising() -> Any:
        for rounds in (10, 30, 100, 1000):
            solver = LogisticRegression(
                elasticNetParam=1.0, regParam=PENALTY / X.shape[0], standardization=False, maxIter=rounds, tol=1e-12,
            )  # fmt: skip
            seconds, model = timed(lambda given=solver: given.fit(frame))
            took = len(model.summary.objectiveHistory) - 1
            yield f"{took} of {rounds} rounds", seconds, np.append(model.coefficients.toArray(), model.intercept)
            if took < rounds:
                return

    race.tell("Spark ML", rising(), free=True)
    session.stop()


def main() -> None:
    ways = {"lapwing": lapwing, "dask-glm": dask_glm, "spark": spark}
    race = Race()
    for name in sys.argv[1:] or list(ways):
        try:
            ways[name](race)
        except ImportError as error:
            print(f"{name} is left out: {error}")


if __name__ == "__main__":
    main()
