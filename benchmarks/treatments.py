"""Which treatment of text, and which prior, gives the best answer: all of them crossed, on all corpora at hand.

    LAPWING_CORPORA=… .venv/bin/python benchmarks/treatments.py [docstrings movies sogou reuters newsgroups]
        [--sample 12] [--seed 0] [--only words] [--peers]

Stop list or none × Porter stems or none × words or words and pairs × Laplace, elastic net or Gaussian prior, all with
the pooled variance and calibrated: 24 settings, or a seeded sample of them. Each is `TextClassifier` from texts to a
model file, one thread. F1 is over the categories that test documents have, at ½ or the most probable class; log loss
relative to always saying how frequent each category is. CPU seconds are of training alone, reading included.

--peers   in place of lapwing: scikit-learn's defaults (TfidfVectorizer, LogisticRegression), and the best of a grid
          (stop list or none × words or pairs × C of 1, 10, 100; sublinear tf; liblinear, one against the rest) by
          the log loss on a fifth of the training documents; with `--only words` without pairs.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from honest import CORPORA, members, parts

import lapwing
from lapwing.corpus import Corpus
from lapwing.evaluate.calibration import calibration

STOP_WORDS = ("none", "smart")
STEMMERS = ("porter", "none")
PAIRS = (False, True)
PRIORS = ("elasticnet", "laplace", "gaussian")
HEADS = ("corpus", "way", "log loss, of base rates", "macro F1", "micro F1", "kept", "MB", "CPU s")


def measured(truth: np.ndarray, proba: np.ndarray, chosen: np.ndarray, exclusive: bool) -> tuple[float, float, float]:
    """Relative log loss, macro F1 and micro F1, of the categories that these documents have."""
    occurs = truth.any(axis=0)
    whole, _ = calibration(truth[:, occurs], proba[:, occurs], exclusive=exclusive)
    truth, chosen = truth[:, occurs], chosen[:, occurs]
    tp, size = (truth & chosen).sum(axis=0), truth.sum(axis=0) + chosen.sum(axis=0)
    return whole.relative_log_loss, float(np.mean(2 * tp / np.maximum(size, 1))), float(2 * tp.sum() / size.sum())


def show(*cells: Any) -> None:
    rounded = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells)
    print(f"| {' | '.join(rounded)} |", flush=True)


def called(stop_words: str, stemmer: str, pairs: bool, prior: str) -> str:
    return ", ".join((prior, stop_words + " stop list", stemmer + " stems", "pairs" if pairs else "words"))


def ours(name: str, train: Corpus, test: Corpus, settings: list[tuple[str, str, bool, str]]) -> None:
    labels = [row[0] for row in train.labels] if train.exclusive else [list(row) for row in train.labels]
    exclusive = train.exclusive
    for stop_words, stemmer, pairs, prior in settings:
        features = {"word_ngrams": (1, 2), "min_df": 2} if pairs else {}
        began = time.process_time()
        model = lapwing.TextClassifier(stop_words=stop_words, stemmer=stemmer, prior=prior, n_jobs=1, **features)
        model.fit(train.documents, labels)
        seconds = time.process_time() - began
        classes = list(model.classes_)
        truth, proba = members(test, classes), model.predict_proba(test.documents)
        answer = model.predict(test.documents)
        chosen = np.array([[c in row for c in classes] for row in ([[one] for one in answer] if exclusive else answer)])
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            size = (Path(folder) / "model").stat().st_size / 1e6
        way = called(stop_words, stemmer, pairs, prior)
        show(name, way, *measured(truth, proba, chosen, train.exclusive), f"{model.model_.n_kept.mean():.0f}",
             f"{size:.1f}", f"{seconds:.0f}")  # fmt: skip


def theirs(name: str, train: Corpus, test: Corpus, *, pairs: bool) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    classes = train.categories()
    Y, truth = members(train, classes), members(test, classes)

    def fit(texts: list[str], Y: np.ndarray, vectorizer: Any, model: Any) -> tuple[Any, Any]:
        X = vectorizer.fit_transform(texts)
        several = model if train.exclusive and model.solver != "liblinear" else OneVsRestClassifier(model)
        return vectorizer, several.fit(X, Y.argmax(axis=1) if train.exclusive else Y.astype(int))

    def said(fitted: tuple[Any, Any], texts: list[str]) -> np.ndarray:
        answer = fitted[1].predict_proba(fitted[0].transform(texts))
        proba = np.zeros((len(texts), len(classes)))
        proba[:, fitted[1].classes_ if train.exclusive else slice(None)] = answer
        return proba

    def judge(way: str, fitted: tuple[Any, Any], seconds: float) -> None:
        proba = said(fitted, test.documents)
        chosen = proba == proba.max(axis=1, keepdims=True) if train.exclusive else proba > 0.5
        show(
            name,
            way,
            *measured(truth, proba, chosen, train.exclusive),
            len(fitted[0].vocabulary_),
            "",
            f"{seconds:.0f}",
        )

    began = time.process_time()
    judge(
        "scikit-learn, defaults",
        fit(train.documents, Y, TfidfVectorizer(), LogisticRegression()),
        time.process_time() - began,
    )
    began = time.process_time()
    apart = np.random.default_rng(0).random(len(train)) < 0.2
    some = [text for text, out in zip(train.documents, apart, strict=True) if not out]
    others = [text for text, out in zip(train.documents, apart, strict=True) if out]

    def pipeline(stop: Any, pairs: bool, C: float) -> tuple[Any, Any]:
        words = TfidfVectorizer(
            sublinear_tf=True, stop_words=stop, ngram_range=(1, 2) if pairs else (1, 1), min_df=1 + pairs
        )
        return words, LogisticRegression(C=C, solver="liblinear")

    grid = list(itertools.product((None, "english"), PAIRS if pairs else (False,), (1.0, 10.0, 100.0)))
    losses = [
        measured(Y[apart], said(fit(some, Y[~apart], *pipeline(*one)), others), Y[apart], train.exclusive)[0]
        for one in grid
    ]
    best = grid[int(np.argmin(losses))]
    judge(
        f"scikit-learn, best of a grid: {best}", fit(train.documents, Y, *pipeline(*best)), time.process_time() - began
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("corpora", nargs="*", default=["docstrings"])
    parser.add_argument("--sample", type=int, help="so many of the 24 settings, drawn once, the default among them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="of these, those with this in their names")
    parser.add_argument("--peers", action="store_true")
    asked = parser.parse_args()
    settings = list(itertools.product(STOP_WORDS, STEMMERS, PAIRS, PRIORS))
    if asked.sample is not None:
        drawn = np.random.default_rng(asked.seed).permutation(np.arange(1, len(settings)))[: asked.sample - 1]
        settings = [settings[i] for i in (0, *sorted(drawn.tolist()))]
    settings = [one for one in settings if asked.only in called(*one)]
    warnings.simplefilter("ignore")
    for prior in PRIORS:  # compiled before anything is timed
        lapwing.TextClassifier(prior=prior).fit(["a b", "b c", "c d"] * 20, ["x", "y", "z"] * 20)
    show(*HEADS)
    print(f"|{'---|' * len(HEADS)}")
    for name in asked.corpora:
        train, test = parts(CORPORA[name]())
        if asked.peers:
            theirs(name, train, test, pairs=asked.only != "words")
        else:
            ours(name, train, test, settings)


if __name__ == "__main__":
    main()
