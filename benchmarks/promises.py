"""Whether promised coverages and precisions are kept: 200 random splits of three corpora, and refits with folds.

    LAPWING_CORPORA=… python benchmarks/promises.py [--splits 200] [--refits 10] [corpus …]

Models are those of all defaults.

held-out   one model, fitted to a random half of the corpus; the other half is split 200 times into documents to take
           promises from and documents to try them on. Coverage, averaged over splits, must lie between the promised
           1−α and 1−α + 1/(n+1) but for chance: `error` is the standard error of the average, were splits independent.
           `failed` is the share of promises of precision, over splits and categories, that were broken beyond chance
           on the documents tried: by the 5 % quantile of the binomial, were the precision just as promised. It may
           be up to 10 % and the 5 % that chance alone breaks.
folds      promises that training itself makes, from the folds of a model fitted to all of them: docstrings, trained
           anew for every one of the refits. No theorem says what comes of it; the table does.
mapie      sizes of MAPIE's sets (split conformal, LAC and APS) from the same probabilities, where it is installed.
"""

from __future__ import annotations

import argparse
import platform
import time
from typing import Any

import _corpora as corpora
import numpy as np
import scipy
from scipy.stats import binom

import lapwing
import lapwing.corpus
from lapwing.evaluate import membership
from lapwing.model.conformal import Conformal

RATES = (0.8, 0.9, 0.95)
PRECISIONS = (0.8, 0.9)


class Labelled:
    """Texts, and which of the classes each has."""

    def __init__(self, name: str) -> None:
        corpus = lapwing.corpus.stdlib_docstrings() if name == "docstrings" else lapwing.corpus.read(corpora.path(name))
        self.name, self.exclusive = name, corpus.exclusive
        self.texts = np.array(corpus.documents, dtype=object)
        self.labels = [tuple(row) for row in corpus.labels]
        self.known = np.flatnonzero([bool(row) for row in self.labels])  # documents with a label

    def fit(self, rows: np.ndarray) -> Any:
        labels = [list(self.labels[i]) for i in rows]
        given = [row[0] for row in labels] if self.exclusive else labels
        return lapwing.TextClassifier().fit(self.texts[rows].tolist(), given).model_

    def probabilities(self, model: Any, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels = [self.labels[i] for i in rows]
        return model.predict_proba(self.texts[rows].tolist()), membership(labels, model.classes)


def held(conformal: Conformal, proba: np.ndarray, truth: np.ndarray, rate: float) -> tuple[float, float]:
    """The share of documents whose sets hold all their labels, and the mean size of the sets."""
    sets = conformal.sets(proba, rate)
    return float((~truth | sets).all(axis=1).mean()), float(sets.sum(axis=1).mean())


def broken(conformal: Conformal, proba: np.ndarray, truth: np.ndarray, rate: float, exclusive: bool) -> list[bool]:
    """Of every promise of precision made and tried, whether it was broken beyond chance."""
    sure = conformal.sure(proba, rate)
    groups = [slice(None)] if exclusive else [[k] for k in range(proba.shape[1])]
    rows = []
    for group in groups:
        taken, right = int(sure[:, group].sum()), int((sure & truth)[:, group].sum())
        if taken:
            rows.append(right < binom.ppf(0.05, taken, rate))
    return rows


def known_only(proba: np.ndarray, truth: np.ndarray, exclusive: bool) -> tuple[np.ndarray, np.ndarray]:
    known = truth.any(axis=1) if exclusive else np.ones(len(truth), dtype=bool)
    return proba[known], truth[known]


def report(name: str, way: str, n: int, covers: np.ndarray, sizes: np.ndarray, failed: dict[float, list[bool]]) -> None:
    for k, rate in enumerate(RATES):
        error = covers[:, k].std() / np.sqrt(len(covers))
        print(
            f"{name:12} {way:9} n {n:5}  promised {100 * rate:4.0f} %  kept {100 * covers[:, k].mean():6.2f} % "
            f"(error {100 * error:.2f}, up to {100 * (rate + 1 / (n + 1)):.2f})  labels {sizes[:, k].mean():6.2f}"
        )
    for rate, result in failed.items():
        share = f"{100 * np.mean(result):.1f} % failed" if result else "none made"
        print(f"{name:12} {way:9} precision {100 * rate:.0f} %: {len(result)} promises, {share}")


def by_splits(data: Labelled, splits: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.permutation(data.known)
    began = time.perf_counter()
    model = data.fit(rows[: len(rows) // 2])
    proba, truth = known_only(*data.probabilities(model, rows[len(rows) // 2 :]), data.exclusive)
    fitted = time.perf_counter() - began
    half, covers, sizes = len(proba) // 2, [], []
    failed: dict[float, list[bool]] = {rate: [] for rate in PRECISIONS}
    for _ in range(splits):
        order = rng.permutation(len(proba))
        a, b = order[:half], order[half:]
        conformal = Conformal.of(proba[a], truth[a], data.exclusive, "held-out")
        entries = [held(conformal, proba[b], truth[b], rate) for rate in RATES]
        covers.append([one[0] for one in entries])
        sizes.append([one[1] for one in entries])
        for rate in PRECISIONS:
            failed[rate] += broken(conformal, proba[b], truth[b], rate, data.exclusive)
    report(data.name, "held-out", half, np.array(covers), np.array(sizes), failed)
    if data.exclusive:
        mapie_sizes(data.name, proba, truth, half)
    taken = time.perf_counter() - began - fitted
    print(f"{data.name:12} fitted and scored in {fitted:.1f} s, {splits} splits in {taken:.1f} s")


def mapie_sizes(name: str, proba: np.ndarray, truth: np.ndarray, half: int) -> None:
    try:
        from mapie.classification import SplitConformalClassifier
        from sklearn.base import BaseEstimator, ClassifierMixin
    except ImportError:
        print(f"{name:12} MAPIE is not installed; it is left out")
        return

    class Said(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Said:
            self.classes_, self.is_fitted_ = np.arange(X.shape[1]), True
            return self

        def predict_proba(self, X: Any) -> Any:
            return X

        def predict(self, X: Any) -> Any:
            return np.argmax(X, axis=1)

    order = np.random.default_rng(1).permutation(len(proba))
    a, b = order[:half], order[half:]
    proba = proba / proba.sum(axis=1, keepdims=True)
    for score in ("lac", "aps"):
        theirs = SplitConformalClassifier(
            Said().fit(proba, None), confidence_level=list(RATES), conformity_score=score, prefit=True
        )
        theirs.conformalize(proba[a], truth[a].argmax(axis=1))
        _, sets = theirs.predict_set(proba[b])
        ours = Conformal.of(proba[a], truth[a], True, "held-out")
        for k, rate in enumerate(RATES):
            kept = (~truth[b] | sets[:, :, k]).all(axis=1).mean()
            mine = held(ours, proba[b], truth[b], rate)
            print(f"{name:12} mapie {score}  promised {100 * rate:4.0f} %  kept {100 * kept:6.2f} %  "
                  f"labels {sets[:, :, k].sum(axis=1).mean():6.2f}; lapwing on the same split {100 * mine[0]:.2f} %, "
                  f"{mine[1]:.2f}")  # fmt: skip


def by_folds(data: Labelled, refits: int) -> None:
    rng = np.random.default_rng(2)
    began, covers, sizes = time.perf_counter(), [], []
    failed: dict[float, list[bool]] = {rate: [] for rate in PRECISIONS}
    for _ in range(refits):
        rows = rng.permutation(data.known)
        fitted, tried = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        model = data.fit(fitted)
        conformal = model.conformal
        assert conformal is not None
        new = known_only(*data.probabilities(model, tried), data.exclusive)
        entries = [held(conformal, *new, rate) for rate in RATES]
        covers.append([one[0] for one in entries])
        sizes.append([one[1] for one in entries])
        for rate in PRECISIONS:
            failed[rate] += broken(conformal, *new, rate, data.exclusive)
    report(data.name, "folds", len(fitted), np.array(covers), np.array(sizes), failed)
    print(f"{data.name:12} {refits} refits in {time.perf_counter() - began:.1f} s")


def main() -> None:
    names = ("docstrings", "20news-bydate.tar.xz", "reuters21578.tar.xz")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("corpora", nargs="*", help=f"of {', '.join(names)}; all unless given")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--refits", type=int, default=10)
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
          f"lapwing {lapwing.__version__}; {platform.machine()}")  # fmt: skip
    for name in given.corpora or names:
        data = Labelled(name)
        by_splits(data, given.splits)
        if name == "docstrings":
            by_folds(data, given.refits)


if __name__ == "__main__":
    main()
