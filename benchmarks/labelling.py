"""How many labels each strategy needs to reach 95 % of the F1 of all labels; labelling simulated.

    .venv/bin/python benchmarks/labelling.py [reuters] [newsgroups] [--seeds 10] [--most 400] [--curves FILE.json]
    .venv/bin/python benchmarks/labelling.py --curves FILE.json --picture FILE.png

reuters     the ten largest categories of ModApte, each against the rest, a pool of 3,000 training documents
newsgroups  three pairs of 20 Newsgroups, from far apart to close

A simulation begins with two documents of either side, drawn by chance, and asks for ten at a time. Models have the text
and the prior of the defaults, of variance 100; F1 is on the test part. Where they are installed, modAL and small-text
are beside ours, uncertainty sampling of both around scikit-learn's LogisticRegression(C=100) on the same matrix.

--curves keeps the mean F1 of every way after each task, and goes on after those it has; --picture draws them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _corpora import path

from lapwing.corpus import Corpus, read
from lapwing.labelling import STRATEGIES, next_documents
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.links import sigmoid
from lapwing.stats.priors import ElasticNet
from lapwing.text import TextSettings, design

BATCH = 10
POOL = 3000
VARIANCE = 100.0
PAIRS = (
    ("rec.sport.hockey", "sci.crypt"),
    ("comp.graphics", "comp.windows.x"),
    ("talk.religion.misc", "soc.religion.christian"),
)

Curve = dict[str, list[tuple[int, float]]]
Curves = dict[str, Curve]


class Task(NamedTuple):
    name: str
    X: sp.csr_matrix
    y: np.ndarray
    test: sp.csr_matrix
    truth: np.ndarray


def tasks(which: str) -> Iterator[Task]:
    corpus = read(path("reuters21578.tar.xz" if which == "reuters" else "20news-bydate.tar.xz"))
    train, test = corpus.part("train"), corpus.part("test")
    if which == "reuters":
        pool = train.select(np.sort(np.random.default_rng(0).permutation(len(train))[:POOL]))
        counts = Counter(label for labels in train.labels for label in labels)
        yield from _over(pool, test, [(name, name, None) for name, _ in counts.most_common(10)])
        return
    for one, other in PAIRS:
        yield from _over(*(_of(part, one, other) for part in (train, test)), [(f"{one} or {other}", one, other)])


def _of(part: Corpus, one: str, other: str) -> Corpus:
    return part.select(i for i, (label,) in enumerate(part.labels) if label in (one, other))


def _over(pool: Corpus, test: Corpus, wanted: list[tuple[str, str, str | None]]) -> Iterator[Task]:
    features = design(pool.documents, TextSettings())
    assert features.weighting is not None
    later = features.weighting.vectors(test.documents)
    for title, name, _ in wanted:
        y, truth = (np.array([1.0 if name in labels else -1.0 for labels in c.labels]) for c in (pool, test))
        yield Task(title, features.matrix, y, later, truth)


def f1(truth: np.ndarray, scores: np.ndarray) -> float:
    yes, true = scores > 0.0, truth > 0.0
    size = yes.sum() + true.sum()
    return float(2.0 * (yes & true).sum() / size) if size else 1.0


def fit(task: Task, rows: np.ndarray) -> np.ndarray:
    prior = ElasticNet().compile(VARIANCE, task.X.shape[1])
    X = task.X[rows]
    return newton.fit(Problem(X), task.y[rows], np.ones(len(rows)), prior, variance=VARIANCE, tol=1e-3).weights


def simulate(task: Task, strategy: str, seed: int, most: int) -> list[tuple[int, float]]:
    """(labels, F1) after every batch."""
    labelled, curve = start(task, seed), []
    while True:
        beta = fit(task, labelled)
        curve.append((len(labelled), f1(task.truth, task.test @ beta[:-1] + beta[-1])))
        left = np.setdiff1d(np.arange(len(task.y)), labelled)
        if len(labelled) >= most or not len(left):
            return curve
        proba = sigmoid(task.X[left] @ beta[:-1] + beta[-1])[:, None]
        chosen = next_documents(strategy, proba, task.X[left], BATCH, exclusive=False, seed=seed + len(labelled))
        labelled = np.concatenate([labelled, left[chosen]])


def start(task: Task, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    sides = [np.flatnonzero(task.y * side > 0.0) for side in (1.0, -1.0)]
    return np.concatenate([generator.choice(side, 2, replace=False) for side in sides])


def modal(task: Task, seed: int, most: int) -> list[tuple[int, float]]:
    from modAL.models import ActiveLearner
    from modAL.uncertainty import uncertainty_sampling
    from sklearn.linear_model import LogisticRegression

    labelled, curve = start(task, seed), []
    while True:
        # A learner anew each time: its `teach` calls scikit-learn by an argument that is gone.
        learner = ActiveLearner(LogisticRegression(C=100.0, max_iter=1000), uncertainty_sampling,
                                X_training=task.X[labelled], y_training=task.y[labelled])  # fmt: skip
        curve.append((len(labelled), f1(task.truth, learner.estimator.decision_function(task.test))))
        left = np.setdiff1d(np.arange(len(task.y)), labelled)
        if len(labelled) >= most or not len(left):
            return curve
        chosen, _ = learner.query(task.X[left], n_instances=BATCH)
        labelled = np.concatenate([labelled, left[chosen]])


def small_text(task: Task, seed: int, most: int) -> list[tuple[int, float]]:
    from sklearn.linear_model import LogisticRegression
    from small_text import LeastConfidence, PoolBasedActiveLearner, SklearnClassifierFactory, SklearnDataset

    y = (task.y > 0.0).astype(np.int64)
    pool = SklearnDataset(task.X, y, target_labels=np.arange(2))
    factory = SklearnClassifierFactory(LogisticRegression(C=100.0, max_iter=1000), 2)
    learner, labelled, curve = PoolBasedActiveLearner(factory, LeastConfidence(), pool), start(task, seed), []
    learner.initialize_data(labelled, y[labelled])
    count = len(labelled)
    while True:
        curve.append((count, f1(task.truth, learner.classifier.model.decision_function(task.test))))
        if count >= most or count >= len(y):
            return curve
        chosen = learner.query(num_samples=min(BATCH, len(y) - count))
        learner.update(y[chosen])
        count += len(chosen)


def ways(most: int) -> dict[str, Callable[[Task, int], list[tuple[int, float]]]]:
    def ours(strategy: str) -> Callable[[Task, int], list[tuple[int, float]]]:
        return lambda task, seed: simulate(task, strategy, seed, most)

    rows = {strategy: ours(strategy) for strategy in STRATEGIES}
    for title, module, peer in (("modAL", "modAL", modal), ("small-text", "small_text", small_text)):
        if find_spec(module) is None:
            print(f"{title} is not installed, and left out")
        else:
            rows[title] = lambda task, seed, peer=peer: peer(task, seed, most)  # type: ignore[misc]
    return rows


def needed(curve: list[tuple[int, float]], goal: float) -> float:
    return next((n for n, value in curve if value >= goal), np.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", default=["reuters", "newsgroups"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--tasks", type=int, help="only the first so many of each corpus")
    parser.add_argument("--curves", type=Path)
    parser.add_argument("--picture")
    given = parser.parse_args()
    curves: Curves = json.loads(given.curves.read_text()) if given.curves and given.curves.exists() else {}
    if given.picture:
        draw(curves, given.picture)
        return
    every = ways(given.most)
    for which in given.corpora:
        for number, task in enumerate(tasks(which)):
            if given.tasks is not None and number >= given.tasks:
                break
            if task.name not in curves:
                curves[task.name] = compared(task, every, given.seeds)
            if given.curves:
                given.curves.write_text(json.dumps(curves))


def compared(task: Task, every: dict[str, Callable[[Task, int], list[tuple[int, float]]]], seeds: int) -> Curve:
    beta = fit(task, np.arange(len(task.y)))
    full = f1(task.truth, task.test @ beta[:-1] + beta[-1])
    print(f"\n{task.name}: F1 of all {len(task.y)} labels {100 * full:.1f}")
    curves = {}
    for name, way in every.items():
        runs = [way(task, seed) for seed in range(seeds)]
        counts = [needed(run, 0.95 * full) for run in runs]
        mean = np.mean([[value for _, value in run] for run in runs], axis=0).tolist()
        curves[name] = [(n, value) for (n, _), value in zip(runs[0], mean, strict=True)]
        print(f"  {name:12} labels to 95 %: median {np.median(counts):6.0f}, {sorted(counts)}; "
              f"F1 after {runs[0][-1][0]}: {100 * mean[-1]:.1f}", flush=True)  # fmt: skip
    return curves


def draw(curves: Curves, picture: str) -> None:
    """A panel for each task; ours solid, the peers dashed, so that two of one course are both seen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    looks = dict(zip(STRATEGIES, ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:gray"), strict=True))
    dashes = {"modAL": ("black", (0, (4, 4))), "small-text": ("tab:pink", (4, (4, 4)))}
    columns = min(3, len(curves))
    rows = len(curves) // columns + 1  # a panel at least is left for the legend
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.1 * rows), squeeze=False)
    for axis, (title, of) in zip(axes.flat, curves.items(), strict=False):
        for name, curve in of.items():
            color, dash = dashes.get(name) or (looks[name], "-")
            values = [100 * value for _, value in curve]
            axis.plot([n for n, _ in curve], values, color=color, linestyle=dash, label=name, linewidth=1.5)
        axis.set(title=title, xlabel="labels", ylabel="F1 on the test part", ylim=(0, 102))
        axis.title.set_fontsize(10)
    for axis in list(axes.flat)[len(curves) :]:
        axis.axis("off")
    handles, names = axes.flat[0].get_legend_handles_labels()
    axes.flat[len(curves)].legend(handles, names, fontsize=11, loc="center left", frameon=False, handlelength=4)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
