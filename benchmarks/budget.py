"""At most k features: along the path from the strongest prior, or by halving from the weakest; CPU seconds of either.

    LAPWING_CORPORA=… python benchmarks/budget.py

Fits to the training part of Reuters-21578 (ModApte), seven categories of all sizes, k = 10 and 50. Prints for both
priors the seconds in all, the fits, and in how many of the cases both keep the same features.
"""

from __future__ import annotations

import time

import _corpora
import numpy as np

from lapwing import corpus
from lapwing.selection.squeezer import Budget
from lapwing.selection.variance import default_grid
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import ElasticNet, Laplace, Prior
from lapwing.stats.result import FitResult
from lapwing.training import TrainSettings, make_design

CATEGORIES = ("earn", "acq", "money-fx", "grain", "wheat", "corn", "jobs")
WAYS = {"path": Budget.follow, "halving": Budget.limit}


def main() -> None:
    documents = corpus.read(str(_corpora.path("reuters21578.tar.xz"))).part("train")
    X = make_design(documents, TrainSettings()).matrix
    problem, weight = Problem(X), np.ones(X.shape[0])
    for prior in (Laplace(), ElasticNet()):
        seconds, fits, alike = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, 0), 0
        for category in CATEGORIES:
            y = np.where([category in labels for labels in documents.labels], 1.0, -1.0)
            for k in (10, 50):
                kept = []
                for way, search in WAYS.items():
                    budget = Budget(lambda v, start, y=y, p=prior: solve(problem, y, weight, p, v, start), k, category)
                    begun = time.process_time()
                    result = search(budget, max(default_grid(prior)))
                    seconds[way] += time.process_time() - begun
                    fits[way] += len(budget.results)
                    kept.append(np.flatnonzero(budget.results[result.variance].weights[:-1]).tolist())
                alike += kept[0] == kept[1]
        for way in WAYS:
            print(f"{prior.name:10}  {way:8}  {seconds[way]:6.2f} s  {fits[way]:4} fits")
        print(f"{prior.name:10}  the same features in {alike} of {2 * len(CATEGORIES)}")


def solve(
    problem: Problem, y: np.ndarray, weight: np.ndarray, prior: Prior, variance: float, start: np.ndarray | None
) -> FitResult:
    compiled = prior.compile(variance, len(problem.group))
    return newton.fit(problem, y, weight, compiled, variance=variance, tol=1e-8, start=start)


if __name__ == "__main__":
    main()
