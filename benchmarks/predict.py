"""Probabilities of raw texts: ours against scikit-learn's pipeline, in batches and one by one.

    LAPWING_CORPORA=… python benchmarks/predict.py [--repeat 5] [--every 1]

The 90 ModApte categories of Reuters-21578, fitted by both at a fixed strength, which is not timed; then the test texts,
all together by turns, and the first 300 one at a time (p50 and p99). A model remembers what becomes of the words it has
read: "first" is one that has read nothing, "then" one that has read the training texts, "again" one that has read the
test texts before. Processor time of one thread, and the time that passes with one and two. scikit-learn has no threads
there (`n_jobs` of OneVsRestClassifier is for fitting).
"""

from __future__ import annotations

import argparse
import copy
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import sklearn
from _corpora import path
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

import lapwing
import lapwing.corpus
from lapwing.model import LinearModel

Predict = Callable[[Sequence[str]], Any]


def seconds(run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    run()
    return clock() - start


def reuters(every: int) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    """Training texts and their labels, and test texts; labels are those of both."""
    file = path("reuters21578.tar.xz")
    whole = lapwing.corpus.read(file)
    both = set(whole.part("train").categories()) & set(whole.part("test").categories())
    corpus = lapwing.corpus.read(file, categories=sorted(both))
    train = corpus.part("train")
    return list(train.documents)[::every], list(train.labels)[::every], list(corpus.part("test").documents)


def batches(ours: LinearModel, peer: Predict, before: list[str], texts: list[str], repeat: int) -> None:
    """Medians of all texts at once, by turns."""
    spent: dict[str, list[float]] = {}

    def clocked(name: str, run: Callable[[], Any], clock: Callable[[], float]) -> None:
        spent.setdefault(name, []).append(seconds(run, clock))

    ours.predict_proba(texts)
    peer(texts)
    clocks = (("processor", time.process_time, 1), ("one", time.perf_counter, 1), ("two", time.perf_counter, 2))
    for _ in range(repeat):
        for name, clock, threads in clocks:
            one = copy.deepcopy(ours)  # which remembers no word
            clocked(f"lapwing, {name}, first", partial(one.predict_proba, texts, n_jobs=threads), clock)
            one = copy.deepcopy(ours)
            one.predict_proba(before, n_jobs=threads)
            for when in ("then", "again"):
                clocked(f"lapwing, {name}, {when}", partial(one.predict_proba, texts, n_jobs=threads), clock)
        clocked("scikit-learn, processor", partial(peer, texts), time.process_time)
        clocked("scikit-learn, one", partial(peer, texts), time.perf_counter)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    median = {name: statistics.median(values) for name, values in spent.items()}
    for name, value in median.items():
        against = median["scikit-learn, processor" if "processor" in name else "scikit-learn, one"] / value
        print(f"{name:<26}{1e3 * value:>8.1f} ms {size / value:>8.1f} MB/s {against:>6.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, help="train on every n-th document only")
    options = parser.parse_args()
    documents, labels, texts = reuters(options.every)
    ours = lapwing.TextClassifier(variance=100.0, tol=1e-2).fit(documents, labels)
    peer = make_pipeline(
        TfidfVectorizer(token_pattern=r"[^\W_]+", sublinear_tf=True),
        OneVsRestClassifier(LogisticRegression(solver="liblinear", C=10.0, tol=1e-2)),
    ).fit(documents, MultiLabelBinarizer().fit_transform(labels))
    print(
        f"{len(texts)} texts, {len(ours.classes_)} categories; {platform.machine()}, scikit-learn {sklearn.__version__}"
    )
    batches(ours.model_, peer.predict_proba, documents, texts, options.repeat)
    runs: dict[str, Predict] = {"lapwing": ours.model_.predict_proba, "scikit-learn": peer.predict_proba}
    for name, predict in runs.items():
        single = [seconds(partial(predict, [text])) for text in texts[:300]]
        few = [seconds(partial(predict, ["wheat prices rose"])) for _ in range(300)]
        p50, p99 = np.percentile(np.array(single) * 1e6, (50, 99))
        print(f"{name:<14}one text {p50:>7.0f} µs, p99 {p99:>7.0f} µs; "
              f"three words {statistics.median(few) * 1e6:>6.0f} µs")  # fmt: skip


if __name__ == "__main__":
    main()
