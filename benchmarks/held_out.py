"""Whether held-out figures and promises are those of fresh documents, where texts are empty, repeated, rare.

    LAPWING_CORPORA=… python benchmarks/held_out.py [--draws 50] [--documents 2000] [--jobs 1] [--empty 0.1]
                                                    [--repeated 0.1] [population …]

A population is a corpus of which documents are drawn; each draw is as large as --documents, of which that share has
lost its text and that share repeats the text and the labels of another one. It is trained on with --holdout 0.2 (all
defaults), and so it is said how the model does. Fresh documents are drawn in the same way from what is left of the
population, so that no text among them but the empty one is in training; in sets of the size of what was held out, whose
figures are averaged.

reuters      ModApte's documents, all topics: several labels per document, most of them rare
two classes  the same, `grain` or not: one in twenty
docstrings   exclusive classes, of 40 to 500 documents

difference   of a figure held out and fresh, in points, and its standard error over draws; `within` is whether it is
             less than two of them
empty        share of the empty documents, and of the repeated texts, that is held out
kept         of sets promised to hold the truth, over draws: the mean share that did among fresh documents; in how many
             draws it was less than promised by more than two standard deviations of a share of that many documents
"""

from __future__ import annotations

import argparse
import platform
import time
from dataclasses import replace
from typing import Any

import _corpora as corpora
import numpy as np

import lapwing
from lapwing.corpus import Corpus, read, stdlib_docstrings
from lapwing.evaluate import conformalize, evaluate, membership
from lapwing.evaluate.documents import blocks_of
from lapwing.training import TrainSettings, train
from lapwing.training.holdout import divided

RATES, PRECISION, SHARE = (0.8, 0.9, 0.95), 0.9, 0.2
SETS = 10  # of fresh documents, at most
FIGURES = ("micro F1", "macro F1", "accuracy", "log loss")


def population(name: str) -> Corpus:
    if name == "docstrings":
        return stdlib_docstrings()
    reuters = read(corpora.path("reuters21578.tar.xz"))
    reuters = reuters.select([i for i, split in enumerate(reuters.split) if split in ("train", "test")])
    if name == "two classes":
        labels = [("grain",) if "grain" in row else ("other",) for row in reuters.labels]
        return replace(reuters, labels=labels, exclusive=True)
    return reuters


class Draws:
    """Draws of documents with empty and repeated texts; every text of the population once."""

    def __init__(self, whole: Corpus, empty: float, repeated: float, seed: int) -> None:
        first = list(
            {text.strip(): i for i, text in reversed(list(enumerate(whole.documents))) if text.strip()}.values()
        )
        self.whole, self.empty, self.repeated = whole, empty, repeated
        self.rng = np.random.default_rng(seed)
        self.left = self.rng.permutation(first)

    def take(self, count: int) -> Corpus:
        """From the documents that are left; the copies are of what was drawn."""
        copies, own = round(self.repeated * count), count - round(self.repeated * count)
        taken, self.left = self.left[:own], self.left[own:]
        rows = np.append(taken, self.rng.choice(taken[round(self.empty * count) :], copies))
        drawn = self.whole.select(rows.tolist())
        texts = ["" if i < self.empty * count else text for i, text in enumerate(drawn.documents)]
        order = self.rng.permutation(count).tolist()
        return replace(drawn, documents=texts, split=[""] * count).select(order)


def figures(model: Any, corpus: Corpus) -> list[float]:
    seen = evaluate(model, blocks_of(corpus, model))
    averages = seen.averages()
    return [
        100 * averages["micro"]["f1"], 100 * averages["macro"]["f1"], 100 * seen.accuracy(),
        100 * seen.calibration().relative_log_loss,
    ]  # fmt: skip


def shares(apart: Corpus, whole: Corpus) -> list[float]:
    """Of the empty texts, and of the documents whose text is there again, those held out."""
    texts, counts = np.unique(np.array(whole.documents, dtype=object).astype(str), return_counts=True)
    again = set(texts[counts > 1]) - {""}
    some = ({""}, again)
    return [sum(t in one for t in apart.documents) / max(sum(t in one for t in whole.documents), 1) for one in some]


def one_draw(whole: Corpus, count: int, empty: float, repeated: float, seed: int, jobs: int) -> dict[str, Any]:
    draws = Draws(whole, empty, repeated, seed)
    corpus = draws.take(count)
    parts = divided(corpus, SHARE, TrainSettings(n_jobs=jobs, random_state=seed))
    apart = parts.part("test")
    model = train(parts.part("train"), TrainSettings(n_jobs=jobs, random_state=seed))
    by_folds, model = model.conformal, conformalize(model, apart.documents, apart.labels)
    fresh = []
    while len(draws.left) >= len(apart) and len(fresh) < SETS:
        fresh.append(draws.take(len(apart)))
    proba = np.vstack([model.predict_proba(one.documents) for one in fresh])
    truth = np.vstack([membership(one.labels, model.classes) for one in fresh])
    if model.exclusive:
        known = truth.any(axis=1)
        proba, truth = proba[known], truth[known]

    def kept(promise: Any) -> list[float]:
        if promise is None:
            return [float("nan")] * len(RATES)
        return [float((~truth | promise.sets(proba, rate)).all(axis=1).mean()) for rate in RATES]

    sure = model.conformal.sure(proba, PRECISION)
    groups = [slice(None)] if model.exclusive else [[k] for k in range(proba.shape[1]) if sure[:, k].any()]
    right = [float((sure & truth)[:, one].sum() / max(sure[:, one].sum(), 1)) for one in groups if sure[:, one].any()]
    return {
        "held out": figures(model, apart), "fresh": np.mean([figures(model, one) for one in fresh], axis=0).tolist(),
        "shares": shares(apart, corpus), "kept": kept(model.conformal), "folds": kept(by_folds),
        "precise": right, "apart": len(apart), "fresh documents": sum(map(len, fresh)),
    }  # fmt: skip


def report(name: str, draws: list[dict[str, Any]]) -> None:
    n, apart = len(draws), float(np.mean([one["apart"] for one in draws]))
    fresh = float(np.mean([one["fresh documents"] for one in draws]))
    print(f"{name}: {n} draws, {apart:.0f} documents held out, {fresh:.0f} fresh ones")
    for k, figure in enumerate(FIGURES):
        held, new = (np.array([one[which][k] for one in draws]) for which in ("held out", "fresh"))
        if np.isnan(held).any():
            continue
        error = (held - new).std(ddof=1) / np.sqrt(n)
        mean = float((held - new).mean())
        verdict = "within" if abs(mean) <= 2 * error else "NOT within"
        print(f"  {figure:9} held out {held.mean():6.2f}, fresh {new.mean():6.2f}, difference {mean:+.2f} "
              f"(standard error {error:.2f}), {verdict} two of them")  # fmt: skip
    empty, again = 100 * np.mean([one["shares"] for one in draws], axis=0)
    print(f"  held out: {empty:.1f} % of the empty documents, {again:.1f} % of those whose text is repeated")
    for source in ("kept", "folds"):
        kept = np.array([one[source] for one in draws])
        spread = np.sqrt(np.array(RATES) * (1 - np.array(RATES)) * (1 / apart + 1 / fresh))
        low = (kept < np.array(RATES) - 2 * spread).sum(axis=0)
        rates = ", ".join(
            f"{100 * rate:.0f} % → {100 * mean:.1f} %" for rate, mean in zip(RATES, kept.mean(axis=0), strict=True)
        )
        where = "documents held out" if source == "kept" else "folds"
        print(f"  sets promised by {where}: {rates}; too low in {', '.join(map(str, low))} of {n} draws")
    precise = np.array([one for draw in draws for one in draw["precise"]])
    if len(precise):
        print(f"  promises of {100 * PRECISION:.0f} % precision: {len(precise)}, of which "
              f"{(precise < PRECISION).mean():.1%} were not reached (at most 10 % may be)")  # fmt: skip


def main() -> None:
    names = ("reuters", "two classes", "docstrings")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("populations", nargs="*", help=f"of {', '.join(names)}; all unless given")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--empty", type=float, default=0.1)
    parser.add_argument("--repeated", type=float, default=0.1)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, lapwing {lapwing.__version__}; "
          f"{platform.machine()}")  # fmt: skip
    for name in given.populations or names:
        began, whole = time.perf_counter(), population(name)
        draws = [
            one_draw(whole, given.documents, given.empty, given.repeated, seed, given.jobs)
            for seed in range(given.draws)
        ]
        report(name, draws)
        print(f"  {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
