"""n-grams of any length: ours against SEQL's published run and against writing all n-grams out.

    python benchmarks/ngrams.py            everything, on movie_reviews of the folder that LAPWING_CORPORA names
    python benchmarks/ngrams.py chinese    characters of the Chinese news, 5-fold: single ones against any length

Trained on cv000-cv899 of both classes, tested on cv900-cv999. SEQL 2.0 took 92 s and 671 steps to an accuracy of 85.0 %
and an AUC of 92.6 %, on a machine that needed 15.9 s and 2.4 s for two yardsticks, which are run here too: its time is
scaled by their sum. Every figure comes from a process of its own; kernels are compiled before. Memory is the peak above
an idle process that has the same modules loaded.
"""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import _corpora as corpora
import numpy as np

from lapwing import NgramClassifier
from lapwing.corpus import read
from lapwing.evaluate import Tables, auc
from lapwing.stats.objective import certify
from lapwing.stats.priors import Laplace
from lapwing.text import TextSettings
from lapwing_papers.ibw08 import l1_weights, write_out

SEQL_SECONDS, SEQL_STEPS = 92.0, 671
SEQL_ACCURACY, SEQL_AUC = 0.85, 0.926
YARDSTICKS = 15.9 + 2.4
WORDS = TextSettings.for_ngrams()
Parts = tuple[list[str], np.ndarray, list[str], np.ndarray]


def movie_reviews() -> Parts:
    """Texts and labels ±1 to train on, and to test on."""
    corpus = read(corpora.path("movie_reviews.zip"))
    number = np.array([int(re.search(r"cv(\d{3})_", one).group(1)) for one in corpus.ids])  # type: ignore[union-attr]
    y = np.array([1 if row == ("pos",) else -1 for row in corpus.labels])
    texts = np.array(corpus.documents, dtype=object)
    return texts[number < 900].tolist(), y[number < 900], texts[number >= 900].tolist(), y[number >= 900]


def fitted(data: Parts, **settings: Any) -> dict[str, Any]:
    texts, y, test, truth = data
    began = time.perf_counter()
    model = NgramClassifier(**{"variance": "norm", **settings}).fit(texts, y)
    seconds = time.perf_counter() - began
    scores = model.decision_function(test)
    return {
        "seconds": seconds,
        "n-grams": model.coef_.nnz,
        "variance": float(model.variance_[0]),
        "objective": float(model.objective_[0]),
        "relative gap": float(model.dual_gap_[0] / model.objective_[0]),
        "steps or rounds": int(model.n_iter_[0]),
        "accuracy": float(np.mean((scores > 0) == (truth > 0))),
        "AUC": float(auc(truth > 0, scores)),
    }


def yardsticks(data: Parts) -> dict[str, Any]:
    """scikit-learn's CountVectorizer (binary, n-grams to 3, tokens \\S+), then liblinear's L1 at C=1, tol=1e-3."""
    from sklearn.feature_extraction.text import CountVectorizer

    began = time.perf_counter()
    X = CountVectorizer(binary=True, ngram_range=(1, 3), token_pattern=r"\S+").fit_transform(data[0])
    counted = time.perf_counter()
    l1_weights(X.astype(np.float64), data[1], 2.0, 0)
    return {"features": X.shape[1], "counting": counted - began, "fitting": time.perf_counter() - counted}


def explicit(data: Parts) -> dict[str, Any]:
    """All n-grams of 1 to 5 words written out, then liblinear's L1 at λ = 1."""
    began = time.perf_counter()
    result = write_out(data[0], [], WORDS, 5)
    weights = l1_weights(result.train, data[1], 2.0, 0)
    seconds = time.perf_counter() - began
    peak = memory()
    proof = certify(result.train, data[1], Laplace().compile(2.0, result.train.shape[1]), weights)
    return {"seconds": seconds, "features": result.train.shape[1], "objective": proof.objective, "megabytes": peak}


RUNS: dict[str, Callable[[Parts], dict[str, Any]]] = {
    "idle": lambda data: {},
    "yardsticks": yardsticks,
    "exact, any length, λ = 1": lambda data: fitted(data, variance=2.0),
    "exact, any length, norm-based": lambda data: fitted(data),
    "exact, any length, variance by CV": lambda data: fitted(data, variance="cv"),
    f"greedy, {SEQL_STEPS} steps": lambda data: fitted(data, solver="greedy", steps=SEQL_STEPS),
    "greedy": lambda data: fitted(data, solver="greedy"),
    "greedy, until settled": lambda data: fitted(data, solver="greedy", steps="settled"),
    "exact, length 5, λ = 1": lambda data: fitted(data, variance=2.0, max_length=5),
    "explicit, length 5, λ = 1": explicit,
    "exact, characters, any length": lambda data: fitted(data, tokens="char"),
}


def memory() -> float:
    """The peak so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def child(name: str) -> None:
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: F401  an idle process has it loaded too
    from sklearn.linear_model import LogisticRegression  # noqa: F401

    for solver in ("exact", "greedy"):  # kernels come from the cache, or into it
        for tokens in ("word", "char"):
            NgramClassifier(solver=solver, tokens=tokens).fit(["not bad", "not good"] * 4, [1, -1] * 4)
    NgramClassifier(variance=2.0).fit(["good " * 99_000, "bad " * 99_000], [1, -1])  # those for long texts as well
    data = movie_reviews()
    before = memory()
    result = RUNS[name](data)
    print(json.dumps({"megabytes": memory(), "before": before, **result}))


def run(name: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, "child", name], stdout=subprocess.PIPE, check=True)
    output: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    shown = ", ".join(f"{key} {value:,.4g}" for key, value in output.items() if key != "before")
    print(f"{name}: {shown}", flush=True)
    return output


def verdict(claim: str, value: float, bound: float, at_most: bool) -> None:
    holds = value <= bound if at_most else value >= bound
    print(f"  {'yes' if holds else 'NO '}  {claim}: {value:.4g}, {'at most' if at_most else 'at least'} {bound:.4g}")


def movie() -> None:
    rows = {name: run(name) for name in RUNS}
    idle = rows["idle"]["megabytes"]
    scale = (rows["yardsticks"]["counting"] + rows["yardsticks"]["fitting"]) / YARDSTICKS
    one, cv = rows["exact, any length, λ = 1"], rows["exact, any length, variance by CV"]
    five, written = rows["exact, length 5, λ = 1"], rows["explicit, length 5, λ = 1"]
    print(f"\nthis machine takes {scale:.2f} times as long as SEQL's; SEQL scaled: {scale * SEQL_SECONDS:.1f} s")
    verdict("exact at λ = 1, seconds", one["seconds"], scale * SEQL_SECONDS / 10, True)
    verdict("its peak, megabytes", one["megabytes"], 1000, True)
    verdict("accuracy with the variance by cross-validation", cv["accuracy"], 0.84, False)
    verdict("AUC", cv["AUC"], 0.92, False)
    verdict(f"greedy, {SEQL_STEPS} steps, seconds", rows[f"greedy, {SEQL_STEPS} steps"]["seconds"],
            scale * SEQL_SECONDS / 5, True)  # fmt: skip
    verdict("accuracy of greedy as it is", rows["greedy"]["accuracy"], SEQL_ACCURACY, False)
    verdict("its AUC", rows["greedy"]["AUC"], SEQL_AUC, False)
    verdict("characters, peak, megabytes", rows["exact, characters, any length"]["megabytes"], 4000, True)
    verdict("length 5 against the explicit route, times as fast", written["seconds"] / five["seconds"], 10, False)
    verdict("its part of the memory", (five["megabytes"] - idle) / (written["megabytes"] - idle), 0.1, True)
    verdict("its objective, relative to the explicit route's", five["objective"] / written["objective"], 1.0, True)


def chinese() -> None:
    from sklearn.model_selection import StratifiedKFold

    corpus = read(corpora.path("sogou-3000.tar.xz"), encoding="gb18030")
    texts = np.array(corpus.documents, dtype=object)
    labels = np.array([row[0] for row in corpus.labels])
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(texts, labels))
    for length in (1, None):
        f1, began = [], time.perf_counter()
        for train, test in folds:
            model = NgramClassifier(tokens="char", max_length=length, variance="norm", n_jobs=2).fit(
                texts[train].tolist(), labels[train]
            )
            truth, chosen = (
                of[:, None] == model.classes_ for of in (labels[test], model.predict(texts[test].tolist()))
            )
            f1.append(Tables.of(truth, chosen).f1().mean())
        seconds = (time.perf_counter() - began) / len(folds)
        print(f"length {length or 'any'}: macro F1 {np.mean(f1):.4f}, {seconds:.1f} s a fold, {memory():.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2])
    else:
        print(
            f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        )
        chinese() if sys.argv[1:2] == ["chinese"] else movie()
