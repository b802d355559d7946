"""What `lapwing drift` says where nothing moved, and where it is known what did.

    .venv/bin/python benchmarks/drift.py [reuters] [halves] [tripled] [months] [--repeats 200] [--workers 1]

reuters   Reuters-21578 with all its topics, from 1 to 3,964 documents each: a model of a random half, and one of half
          of that half updated by the rest of it, both shown the other half: how often is there any alarm, which
          shares cannot be told, which are within their interval? Then the same new documents with three topics, one
          of each size, tripled: are they found? The variance is chosen on the first half, and folds are two, to save
          time.
halves    a model of a random half of three 20 Newsgroups, shown the other half: how often is there any alarm?
tripled   20 Newsgroups, the test part with one group's share tripled: is that share within its interval?
months    Reuters-21578, trained on documents up to the end of March 1987, shown those of June on: what moved?
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import numpy as np
from _corpora import path, reuters_dates

from lapwing.corpus import Corpus, read
from lapwing.evaluate.drift import Drift, drift
from lapwing.model import LinearModel
from lapwing.training import TrainSettings, train
from lapwing.training.update import update

BANDS = ((1, 5), (5, 20), (20, 50), (50, 150), (150, 400), (400, 4000))  # documents of a topic that were trained on
TRIPLED = BANDS[2:5]
THREE = ("sci.space", "rec.autos", "talk.politics.guns")


def groups(names: tuple[str, ...] | None = None) -> Corpus:
    corpus = read(path("20news-bydate.tar.xz"))
    return corpus if names is None else corpus.select(i for i, (label,) in enumerate(corpus.labels) if label in names)


def counts_of(corpus: Corpus, at: Sequence[int] | np.ndarray) -> Counter[str]:
    return Counter(label for i in at for label in corpus.labels[i])


def tripled_topics(
    corpus: Corpus, trained: np.ndarray, new: np.ndarray, generator: np.random.Generator
) -> tuple[list[str], Corpus]:
    """One topic of each size, and new documents in which each has three times its share in training."""
    known, topics, kept = counts_of(corpus, trained), [], new
    for least, most in TRIPLED:
        sized = sorted(topic for topic, count in known.items() if least <= count < most)
        topic = str(generator.choice(sized))
        mine = np.array([topic in corpus.labels[i] for i in kept])
        wanted = round(3 * known[topic] / len(trained) * len(new))
        if not mine.any():
            continue
        drawn = generator.choice(kept[mine], wanted, replace=wanted > mine.sum())
        others = generator.choice(kept[~mine], len(new) - wanted, replace=False) if wanted else kept[~mine]
        topics.append(topic)
        kept = np.concatenate([drawn, others])
    return topics, corpus.select(kept)


def seen(result: Drift, corpus: Corpus, trained: np.ndarray, new: np.ndarray) -> Counter[str]:
    """Counts by size: categories, those that cannot be told, those told, and of these within their interval."""
    known, now, found = counts_of(corpus, trained), counts_of(corpus, new), Counter[str]()
    for one in result.categories:
        for least, most in BANDS:
            if not least <= known[str(one.category)] < most:
                continue
            found[f"{least} to {most - 1} all"] += 1
            found[f"{least} to {most - 1} cannot tell"] += one.prevalence is None
            if one.low is not None and one.high is not None:
                found[f"{least} to {most - 1} inside"] += one.low <= now[str(one.category)] / len(new) <= one.high
    return found


def split_in_halves(corpus: Corpus, settings: TrainSettings, seed: int) -> dict[str, Counter[str]]:
    generator = np.random.default_rng(seed)
    first, second = np.array_split(generator.permutation(len(corpus)), 2)
    counted: dict[str, Counter[str]] = {}

    def shown(name: str, model: LinearModel) -> None:
        result = drift(model, corpus.select(second))
        counted[name] = found = seen(result, corpus, first, second)
        found["halves"], found["any category"], found["any word"] = 1, int(bool(result.alarms)), int(bool(result.words))
        topics, changed = tripled_topics(corpus, first, second, generator)
        alarms = drift(model, changed).alarms
        for topic in topics:
            size = counts_of(corpus, first)[topic]
            least, most = next(band for band in TRIPLED if band[0] <= size < band[1])
            found[f"tripled {least} to {most - 1}"] += 1
            found[f"tripled {least} to {most - 1} found"] += topic in alarms

    shown("before an update", train(corpus.select(first), settings))
    early, late = np.array_split(first, 2)
    shown("after an update", update(train(corpus.select(early), settings), corpus.select(late), n_jobs=1))
    return counted


def reuters(repeats: int, workers: int) -> None:
    corpus = read(path("reuters21578.tar.xz"))
    corpus = corpus.select(i for i, split in enumerate(corpus.split) if split)
    settings = TrainSettings(n_jobs=1, folds=2)
    half = np.array_split(np.random.default_rng(0).permutation(len(corpus)), 2)[0]
    variance = float(train(corpus.select(half), settings).fits.variance[0])
    settings = replace(settings, cv=replace(settings.cv, variances=(variance,)))
    total: dict[str, Counter[str]] = {}
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        parts = pool.imap_unordered(partial(split_in_halves, corpus, settings), range(repeats))
        for done, counted in enumerate(parts, 1):
            for name, found in counted.items():
                total[name] = total.get(name, Counter()) + found
            if done % 10 == 0 or done == repeats:
                print(f"variance {variance}, {done} halves", flush=True)
                for name, found in total.items():
                    print(f"  {name}: any category {found['any category']}, any word {found['any word']}")
                    for least, most in BANDS:
                        band = f"{least} to {most - 1}"
                        every, untold = found[f"{band} all"], found[f"{band} cannot tell"]
                        said = f"{untold} of {every} cannot tell, {found[f'{band} inside']} of {every - untold} inside"
                        if found[f"tripled {band}"]:
                            said += f"; tripled: {found[f'tripled {band} found']} of {found[f'tripled {band}']} found"
                        print(f"    {band} documents: {said}", flush=True)


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
    parser.add_argument("parts", nargs="*", default=["reuters", "halves", "tripled", "months"])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    run = {
        "reuters": lambda: reuters(given.repeats, given.workers),
        "halves": lambda: halves(given.repeats),
        "tripled": tripled,
        "months": months,
    }
    for name in given.parts:
        print(f"\n{name}")
        run[name]()
