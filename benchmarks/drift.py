"""What `lapwing drift` says where nothing moved, and where it is known what did.

    .venv/bin/python benchmarks/drift.py [halves] [tripled] [months] [--repeats 200]

halves    a model of a random half of three 20 Newsgroups, shown the other half: how often is there any alarm?
tripled   20 Newsgroups, the test part with one group's share tripled: is that share within its interval?
months    Reuters-21578, trained on documents up to the end of March 1987, shown those of June on: what moved?
"""

from __future__ import annotations

import argparse
from datetime import datetime

import numpy as np
from _corpora import path, reuters_dates

from lapwing.corpus import Corpus, read
from lapwing.evaluate.drift import drift
from lapwing.training import TrainSettings, train

THREE = ("sci.space", "rec.autos", "talk.politics.guns")


def groups(names: tuple[str, ...] | None = None) -> Corpus:
    corpus = read(path("20news-bydate.tar.xz"))
    return corpus if names is None else corpus.select(i for i, (label,) in enumerate(corpus.labels) if label in names)


def halves(repeats: int) -> None:
    corpus, generator, alarms, words = groups(THREE), np.random.default_rng(0), 0, 0
    for done in range(1, repeats + 1):
        order = generator.permutation(len(corpus))
        first, second = (corpus.select(np.sort(part)) for part in np.array_split(order, 2))
        result = drift(train(first, TrainSettings(n_jobs=1)), second)
        alarms += bool(result.alarms)
        words += bool(result.words)
        if done % 20 == 0 or done == repeats:
            print(
                f"{done} halves: any category {alarms}, any word {words}, at a stated rate of {result.rate}", flush=True
            )


def tripled() -> None:
    corpus = groups()
    model = train(corpus.part("train"), TrainSettings(n_jobs=-1))
    test, generator = corpus.part("test"), np.random.default_rng(0)
    inside = 0
    for group in model.classes:
        mine = np.array([label == group for (label,) in test.labels])
        share = 3.0 * mine.mean()
        # All of the group, and as many of the others as make its share three times what it was.
        others = generator.choice(np.flatnonzero(~mine), size=round(mine.sum() * (1.0 - share) / share), replace=False)
        part = test.select(np.sort(np.concatenate([np.flatnonzero(mine), others])))
        one = next(c for c in drift(model, part).categories if c.category == group)
        inside += one.low <= share <= one.high
        shares = [f"{100 * value:.2f}" for value in (share, one.prevalence_then, one.prevalence, one.low, one.high)]
        print("{:26} true {} %, then {} %, now {} % ({} to {})".format(group, *shares), flush=True)
    print(f"within the interval: {inside} of {len(model.classes)}")


def months() -> None:
    corpus, when = read(path("reuters21578.tar.xz")), reuters_dates()
    used = [i for i, split in enumerate(corpus.split) if split]
    early = corpus.select(i for i in used if when[corpus.ids[i]] < datetime(1987, 4, 1))
    late = corpus.select(i for i in used if when[corpus.ids[i]] >= datetime(1987, 6, 1))
    print(f"{len(early)} documents to the end of March, {len(late)} from June on")
    result = drift(train(early, TrainSettings(n_jobs=-1)), late)
    print(f"scores moved in {len(result.alarms)} of {len(result.categories)}: {result.alarms}")
    print(f"unknown words {result.unknown:.4f}, expected {result.expected_unknown:.4f}")
    print(f"{len(result.words or [])} of {result.words_tested} words moved")
    print([f"{w.word} {100 * w.then:.1f} → {100 * w.now:.1f} %" for w in (result.words or [])[:15]])
    print(result.measured)
    truth = {c.category: np.mean([c.category in labels for labels in late.labels]) for c in result.categories}
    inside = [c.low <= truth[c.category] <= c.high for c in result.categories]
    print(f"shares within their interval: {sum(inside)} of {len(inside)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["halves", "tripled", "months"])
    parser.add_argument("--repeats", type=int, default=200)
    given = parser.parse_args()
    for name in given.parts:
        print(f"\n{name}")
        halves(given.repeats) if name == "halves" else {"tripled": tripled, "months": months}[name]()
