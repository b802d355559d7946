"""Probabilities of raw texts: ours against scikit-learn's pipeline, in batches and one by one.

    python benchmarks/predict.py [--repeat 5] [--every 1]

Reuters-21578, ModApte: all categories of the training part, fitted by both at a fixed strength, which is not timed;
then the test texts, all together by turns, and the first 300 one at a time (p50 and p99).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _corpora import path
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

import lapwing
import lapwing.corpus

Predict = Callable[[Sequence[str]], Any]


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, help="train on every n-th document only")
    options = parser.parse_args()
    repeat = options.repeat
    corpus = lapwing.corpus.read(path("reuters21578.tar.xz"))
    train, texts = corpus.part("train"), list(corpus.part("test").documents)
    documents, labels = list(train.documents)[:: options.every], list(train.labels)[:: options.every]
    ours = lapwing.TextClassifier(variance=100.0, tol=1e-2).fit(documents, labels)
    peer = make_pipeline(
        TfidfVectorizer(token_pattern=r"[^\W_]+", sublinear_tf=True),
        OneVsRestClassifier(LogisticRegression(solver="liblinear", C=10.0, tol=1e-2)),
    ).fit(documents, MultiLabelBinarizer().fit_transform(labels))
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    print(f"{len(texts)} texts, {size:.1f} MB, {len(ours.classes_)} categories")
    runs: dict[str, Predict] = {"lapwing": ours.model_.predict_proba, "scikit-learn": peer.predict_proba}
    spent: dict[str, list[float]] = {name: [] for name in runs}
    for predict in runs.values():
        predict(texts)
    for _ in range(repeat):
        for name, predict in runs.items():
            spent[name].append(seconds(lambda predict=predict: predict(texts)))  # type: ignore[misc]
    median = {name: statistics.median(values) for name, values in spent.items()}
    for name, predict in runs.items():
        single = [seconds(lambda one=text, predict=predict: predict([one])) for text in texts[:300]]  # type: ignore[misc]
        few = [seconds(lambda predict=predict: predict(["wheat prices rose"])) for _ in range(300)]  # type: ignore[misc]
        p50, p99 = np.percentile(np.array(single) * 1e6, (50, 99))
        print(f"{name:<14}{size / median[name]:>8.1f} MB/s; one text {p50:>7.0f} µs, p99 {p99:>7.0f} µs; "
              f"three words {statistics.median(few) * 1e6:>6.0f} µs")  # fmt: skip
    print(f"all texts: {median['scikit-learn'] / median['lapwing']:.1f}x")


if __name__ == "__main__":
    main()
