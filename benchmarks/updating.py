"""Reuters-21578, ModApte, in ten batches as time went by: updates beside refits and beside others' partial_fit.

    .venv/bin/python benchmarks/updating.py [--categories 10] [--batches 10] [--rank 20] [--river] [--vw] [--peers-only]
    .venv/bin/python benchmarks/updating.py --cost [--categories 10] [--batches 10] [--rank 20]
    .venv/bin/python benchmarks/updating.py --choose

The first batch trains a model with all defaults. After each further one, on the test part: macro F1 over the categories
that occur in it, log loss relative to that of the base rates, and the seconds of processors that the step took, all
threads together.

    update, diagonal   lapwing.update: the past as a quadratic, its curvature on the diagonal
    update, rank 20    the same with as much of the curvature between weights as a matrix of that rank holds
    refit on all       lapwing.train on all batches so far, with the variance of the first
    batch alone        the same on the last batch only
    scikit-learn       SGDClassifier(loss="log_loss").partial_fit per category, over the first batch's TfidfVectorizer
    river              LogisticRegression().learn_one per category, over its own TFIDF (slow; with --river)
    Vowpal Wabbit      a logistic learner per category over words and their counts, one pass; with --vw

With --cost, what an update takes as the past grows: seconds of one core for categories of a given variance without
calibration, the size of the model, and of its file.

With --choose, what the numbers of training/memory.py are chosen by, without a look at the test part: seven batches, one
update after the other, and on the last three how far the probabilities are from those of a fit to all seven at once.
"""

from __future__ import annotations

import argparse
import math
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from _corpora import path, reuters_dates

import lapwing.training.memory
from lapwing import update
from lapwing.corpus import Corpus, read
from lapwing.evaluate import membership
from lapwing.evaluate.calibration import calibration
from lapwing.formats.model_file import to_bytes
from lapwing.model import LinearModel
from lapwing.training import TrainSettings, learn
from lapwing.training.update import merged

warnings.simplefilter("ignore")


def batches(count: int, categories: int | None) -> tuple[list[Corpus], Corpus]:
    corpus, when = read(path("reuters21578.tar.xz")), reuters_dates()
    if categories is not None:
        train = corpus.part("train")
        largest = {name for name, _ in Counter(c for labels in train.labels for c in labels).most_common(categories)}
        labels = [tuple(label for label in row if label in largest) for row in corpus.labels]
        corpus = replace(corpus, labels=labels)
    train = corpus.part("train")
    order = sorted(range(len(train)), key=lambda i: (when[train.ids[i]], int(train.ids[i])))
    return [train.select(part) for part in np.array_split(np.array(order), count)], corpus.part("test")


def measured(names: Sequence[Any], proba: np.ndarray, chosen: np.ndarray, test: Corpus) -> tuple[float, float]:
    """Over all categories that occur in the test part; those a method does not know it never says."""
    every = test.categories()
    truth = membership(test.labels, every)
    p, yes = np.full(truth.shape, 1e-4), np.zeros(truth.shape, dtype=bool)
    for k, name in enumerate(names):
        if name in every:
            p[:, every.index(name)], yes[:, every.index(name)] = proba[:, k], chosen[:, k]
    tp, size = (truth & yes).sum(axis=0), truth.sum(axis=0) + yes.sum(axis=0)
    whole, _ = calibration(truth, p, exclusive=False)
    return float(np.mean(2.0 * tp / size)), float(whole.relative_log_loss)


def by_lapwing(model: LinearModel, test: Corpus) -> tuple[float, float]:
    scores = model.scores(test.documents)
    return measured(model.classes, model.class_proba(scores), model.decide(scores), test)


def scikit(first: Corpus) -> Callable[[Corpus, Corpus], tuple[float, float]]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(first.documents)
    models: dict[str, Any] = {}

    def step(batch: Corpus, test: Corpus) -> tuple[float, float]:
        X = vectorizer.transform(batch.documents)
        for name in sorted({*models, *batch.categories()}):
            one = models.setdefault(name, SGDClassifier(loss="log_loss", alpha=1e-6, random_state=0))
            one.partial_fit(X, np.array([name in labels for labels in batch.labels]), classes=[False, True])
        T = vectorizer.transform(test.documents)
        proba = np.column_stack([one.predict_proba(T)[:, 1] for one in models.values()])
        return measured(list(models), proba, proba > 0.5, test)

    return step


def river() -> Callable[[Corpus, Corpus], tuple[float, float]]:
    from river import feature_extraction, linear_model

    words = feature_extraction.TFIDF()
    models: dict[str, Any] = {}

    def step(batch: Corpus, test: Corpus) -> tuple[float, float]:
        for name in batch.categories():
            models.setdefault(name, linear_model.LogisticRegression())
        for text, labels in zip(batch.documents, batch.labels, strict=True):
            words.learn_one(text)
            x = words.transform_one(text)
            for name, one in models.items():
                one.learn_one(x, name in labels)
        rows = [words.transform_one(text) for text in test.documents]
        proba = np.array([[one.predict_proba_one(x)[True] for one in models.values()] for x in rows])
        return measured(list(models), proba, proba > 0.5, test)

    return step


def vowpal() -> Callable[[Corpus, Corpus], tuple[float, float]]:
    import vowpalwabbit

    words = re.compile(r"\w+")
    models: dict[str, Any] = {}

    def lines(corpus: Corpus) -> list[str]:
        counts = (Counter(words.findall(text.lower())) for text in corpus.documents)
        rows = [{word: 1.0 + math.log(n) for word, n in result.items()} for result in counts]
        norms = [math.sqrt(sum(x * x for x in row.values())) or 1.0 for row in rows]
        return [
            "|w " + " ".join(f"{w}:{x / norm:.5f}" for w, x in row.items())
            for row, norm in zip(rows, norms, strict=True)
        ]

    def step(batch: Corpus, test: Corpus) -> tuple[float, float]:
        for name in batch.categories():
            models.setdefault(name, vowpalwabbit.Workspace("--loss_function logistic --link logistic --quiet -b 20"))
        for line, labels in zip(lines(batch), batch.labels, strict=True):
            for name, one in models.items():
                one.learn(f"{1 if name in labels else -1} {line}")
        shown = lines(test)
        proba = np.array([[one.predict(line) for one in models.values()] for line in shown])
        return measured(list(models), proba, proba > 0.5, test)

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--categories", type=int)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--river", action="store_true")
    parser.add_argument("--vw", action="store_true")
    parser.add_argument("--peers-only", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--choose", action="store_true")
    given = parser.parse_args()
    parts, test = batches(given.batches, given.categories)
    print(f"{[len(part) for part in parts]} training documents, {len(test)} test documents")
    if given.choose:
        choose(parts, given.rank)
        return
    if given.cost:
        cost(parts, ("diagonal", given.rank))
        return
    others = {"scikit-learn": scikit(parts[0])} | ({"river": river()} if given.river else {})
    others |= {"Vowpal Wabbit": vowpal()} if given.vw else {}
    for k, batch in enumerate(parts):
        for name, step in others.items():
            begun = time.process_time()
            show(k, name, step(batch, test), time.process_time() - begun)
    if not given.peers_only:
        ours(parts, test, given.rank)


def ours(parts: list[Corpus], test: Corpus, rank: int) -> None:
    settings = TrainSettings(n_jobs=-1)
    first = learn(parts[0], settings).model
    show(0, "first batch", by_lapwing(first, test), 0.0)
    fixed = replace(settings, cv=replace(settings.cv, variances=(float(first.fits.variance[0]),)))
    ways = {"update, diagonal": first, f"update, rank {rank}": learn(parts[0], fixed, curvature=rank).model}
    for k, batch in enumerate(parts[1:], 1):
        for name in ways:
            begun = time.process_time()
            ways[name] = update(ways[name], batch, n_jobs=-1)
            spent = time.process_time() - begun
            gap = float(np.nanmax(ways[name].fits.gap / ways[name].fits.objective))
            show(k, name, by_lapwing(ways[name], test), spent, f"largest relative gap {gap:.1e}")
        for name, data in (("refit on all", reduce(merged, parts[: k + 1])), ("batch alone", batch)):
            begun = time.process_time()
            refitted = learn(data, fixed).model
            show(k, name, by_lapwing(refitted, test), time.process_time() - begun)


def cost(parts: list[Corpus], kinds: Sequence[str | int]) -> None:
    settings = TrainSettings(n_jobs=1, variance=100.0, calibrate=False)
    for kind in kinds:
        model = learn(parts[0], settings, curvature=kind).model
        update(model, parts[1], n_jobs=1)  # compiled before the clock runs
        for k, batch in enumerate(parts[1:], 2):
            begun = time.process_time()
            model = update(model, batch, n_jobs=1)
            spent = time.process_time() - begun
            size = f"{model.weights.nnz:6} weights, {len(model.feature_names):6} words"
            print(f"{kind!s:9} batch {k:2}  {spent:5.2f} s  {size}, {len(to_bytes(model)) / 1e6:.2f} MB", flush=True)


def choose(parts: list[Corpus], rank: int) -> None:
    """A table: ranks, how close to a weight words are that are remembered, worth and size."""
    settings, judges = TrainSettings(n_jobs=-1, variance=3160.0, calibrate=False), reduce(merged, parts[7:])
    exact = learn(reduce(merged, parts[:7]), settings, curvature="none").model
    numbers: Any = lapwing.training.memory
    for kind, close in ((2, 0.2), (rank, 0.2), (rank, 0.1), (rank, 0.4)):
        numbers.CLOSER = close
        model = learn(parts[0], settings, curvature=kind).model
        for batch in parts[1:7]:
            model = update(model, batch, n_jobs=-1)
        print(f"{kind:4} {close}  {apart(exact, model, judges)}, {len(to_bytes(model)) / 1e6:.1f} MB", flush=True)


def apart(exact: LinearModel, model: LinearModel, judges: Corpus) -> str:
    """The divergence of one model's probabilities from the other's, all categories together, and decisions alike."""
    rows = [model.classes.index(name) for name in exact.classes]
    scores = exact.scores(judges.documents), model.scores(judges.documents)[:, rows]
    p, q = (np.clip(1.0 / (1.0 + np.exp(-s)), 1e-12, 1.0 - 1e-12) for s in scores)
    divergence = float(np.sum(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)))) / len(judges)
    yes, also = exact.decide(scores[0]), model.decide(model.scores(judges.documents))[:, rows]
    size = yes.sum(axis=0) + also.sum(axis=0)
    alike = float(np.mean((2.0 * (yes & also).sum(axis=0) / np.maximum(size, 1))[size > 0]))
    return f"{divergence:.4f} nats a document, decisions alike by a macro F1 of {100 * alike:.1f}"


def show(batch: int, name: str, worth: tuple[float, float], seconds: float, note: str = "") -> None:
    f1, loss = worth
    measures = f"macro F1 {100 * f1:5.2f}  relative log loss {loss:.4f}  {seconds:6.1f} s"
    print(f"batch {batch + 1:2}  {name:18} {measures}  {note}", flush=True)


if __name__ == "__main__":
    main()
