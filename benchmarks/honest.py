"""The answer, not only the fit: log loss, F1 and time of lapwing's defaults beside what a user would pick instead.

    .venv/bin/python benchmarks/honest.py [docstrings movies sogou newsgroups reuters] [--slow]

Every way gets the same matrix (the default text stage) and the same test documents, one thread each. Corpora without a
test part keep a quarter of their documents apart, drawn once. scikit-learn's careful way, LogisticRegressionCV inside
CalibratedClassifierCV, is left out on the large corpora unless --slow is given.
"""

from __future__ import annotations

import argparse
import tarfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _corpora import path

import lapwing
from lapwing.corpus import Corpus, read, stdlib_docstrings
from lapwing.evaluate.calibration import calibration
from lapwing.text import TextSettings, design

SMALL = ("docstrings", "movies", "sogou")


def sogou() -> Corpus:
    texts, labels = [], []
    with tarfile.open(path("sogou-3000.tar.xz")) as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            stream = archive.extractfile(member) if member.isfile() and "ClassFile" in member.name else None
            if stream is not None:
                texts.append(stream.read().decode("gb18030", errors="replace"))
                labels.append((member.name.split("/")[-2],))
    n = len(texts)
    return Corpus("sogou", "text", texts, labels, [str(i) for i in range(n)], True, [""] * n, np.ones(n))


CORPORA: dict[str, Callable[[], Corpus]] = {
    "docstrings": stdlib_docstrings,
    "movies": lambda: read(path("movie_reviews.zip")),
    "sogou": sogou,
    "newsgroups": lambda: read(path("20news-bydate.tar.xz")),
    "reuters": lambda: read(path("reuters21578.tar.xz")),
}


def parts(corpus: Corpus) -> tuple[Corpus, Corpus]:
    if corpus.has_splits:
        return corpus.part("train"), corpus.part("test")
    apart = np.random.default_rng(7).random(len(corpus)) < 0.25
    return corpus.select(np.flatnonzero(~apart)), corpus.select(np.flatnonzero(apart))


def members(corpus: Corpus, classes: list[str]) -> np.ndarray:
    number = {label: k for k, label in enumerate(classes)}
    out = np.zeros((len(corpus), len(classes)), dtype=bool)
    for i, labels in enumerate(corpus.labels):
        out[i, [number[label] for label in labels if label in number]] = True
    return out


def ways(name: str, exclusive: bool, slow: bool) -> dict[str, Callable[[], Any]]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from sklearn.multiclass import OneVsRestClassifier

    several: Callable[[Any], Any] = (lambda one: one) if exclusive else OneVsRestClassifier
    rows: dict[str, Callable[[], Any]] = {
        "lapwing, defaults": lapwing.MAPClassifier,
        "lapwing, norm": lambda: lapwing.MAPClassifier(variance="norm"),
        "lapwing, laplace": lambda: lapwing.MAPClassifier("laplace"),
        "lapwing, gaussian": lambda: lapwing.MAPClassifier("gaussian"),
        "lapwing, glm07": lambda: lapwing.MAPClassifier("laplace", variance="norm", calibrate=False),
        "lapwing, cv": lambda: lapwing.MAPClassifier(variance="cv", calibrate=False),
        "lapwing, cv, calibrated": lambda: lapwing.MAPClassifier(variance="cv"),
        "LogisticRegression": lambda: several(LogisticRegression(max_iter=1000)),
    }
    if name in SMALL or slow:
        rows["LogisticRegressionCV"] = lambda: several(LogisticRegressionCV(max_iter=1000))
        rows["CV + Calibrated"] = lambda: several(CalibratedClassifierCV(LogisticRegressionCV(max_iter=1000), cv=5))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=list(SMALL))
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--only", help="ways whose name holds this")
    parser.add_argument("--stop-words", default="none")
    parser.add_argument("--stemmer", default="porter")
    parser.add_argument("--word-ngrams", type=int, nargs=2, default=(1, 1))
    parser.add_argument("--min-df", type=int, default=1)
    asked = parser.parse_args()
    text = TextSettings(
        stop_words=asked.stop_words, stemmer=asked.stemmer, word_ngrams=tuple(asked.word_ngrams), min_df=asked.min_df
    )
    warnings.simplefilter("ignore")
    heads = ("corpus", "way", "log loss", "of base rates", "macro F1", "micro F1", "kept", "CPU s")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in asked.corpora:
        train, test = parts(CORPORA[name]())
        features = design(train.documents, text)  # type: ignore[arg-type]
        assert features.weighting is not None
        X, new = features.matrix, features.weighting.vectors(test.documents)  # type: ignore[arg-type]
        classes = train.categories()
        if not train.exclusive:
            classes = [label for label in classes if label in set(test.categories())]
        Y, truth = members(train, classes), members(test, classes)
        for way, make in ways(name, train.exclusive, asked.slow).items():
            if asked.only and asked.only not in way:
                continue
            began = time.process_time()
            model = make().fit(X, Y.argmax(axis=1) if train.exclusive else Y.astype(int))
            seconds = time.process_time() - began
            proba, answer = model.predict_proba(new), model.predict(new)
            chosen = np.eye(len(classes), dtype=bool)[answer] if train.exclusive else np.asarray(answer, dtype=bool)
            whole, _ = calibration(truth, proba, exclusive=train.exclusive)
            tp, size = (truth & chosen).sum(axis=0), truth.sum(axis=0) + chosen.sum(axis=0)
            kept = f"{model.model_.n_kept.mean():.0f}" if hasattr(model, "model_") else X.shape[1]
            macro, micro = np.mean(2 * tp / np.maximum(size, 1)), 2 * tp.sum() / size.sum()
            rates = (whole.log_loss, whole.relative_log_loss, macro, micro)
            cells = (name, way, *(f"{rate:.4f}" for rate in rates), kept, f"{seconds:.1f}")
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
