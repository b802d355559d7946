"""A corpus the way the paper used it: letters only, SMART's stop list, Porter's stems, TF × IDF of length 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.training import Progress
from lapwing.training.targets import Targets, targets
from lapwing_papers.aagbd11.paper import NEWSGROUPS, REUTERS, Paper
from lapwing_papers.settings import matrices, text, training

QUICK = 10  # --quick takes every tenth category, or the documents of every third class
MIN_DF = {REUTERS.name: 3}  # 6,864 features where the paper has 6,760; without a cut there would be 17,952


@dataclass(frozen=True, eq=False)
class Collection:
    """train, test   documents as vectors, with their labels, of the `categories` only
    targets          the training labels as ±1
    """

    name: str
    paper: Paper | None
    train: Corpus
    test: Corpus
    targets: Targets
    min_df: int
    quick: bool

    @property
    def X(self) -> sp.csr_matrix:
        return self.train.documents

    @property
    def categories(self) -> tuple[str, ...]:
        return self.targets.classes  # type: ignore[return-value]


def collect(
    corpus: Corpus, paper: Paper | None, *, quick: bool = False, seed: int = 0, progress: Progress | None = None
) -> Collection:
    """Both parts as vectors; term weights come from the training part alone.

    20 Newsgroups, and any corpus without a training and a test part, is dealt out anew: two thirds and one third,
    at random. Documents in none of the categories that occur in both parts are left out (7,770 / 3,019 of
    Reuters).
    """
    if paper is NEWSGROUPS or not {"train", "test"} <= set(corpus.split):
        order = np.random.default_rng(seed).permutation(len(corpus))
        cut = 2 * len(corpus) // 3
        train, test = corpus.select(order[:cut]), corpus.select(order[cut:])
    else:
        train, test = corpus.part("train"), corpus.part("test")
    both = sorted(set(train.categories()) & set(test.categories()))
    if quick:
        both = both[:: 3 if corpus.exclusive else QUICK]
    if len(both) < 2:
        raise InputError(f"{corpus.name}: expected two categories or more in both parts, found {len(both)}")
    train, test = _within(train, both), _within(test, both)
    min_df = 1 if paper is None else MIN_DF.get(paper.name, 1)
    settings = training(text=text(digits=False, tf="raw", min_df=min_df))
    ours, theirs, names = matrices(train, test, settings, progress)
    train = replace(train, kind="vectors", documents=ours, feature_names=names)
    test = replace(test, kind="vectors", documents=theirs, feature_names=names)
    return Collection(corpus.name, paper, train, test, targets(train.labels, corpus.exclusive, both), min_df, quick)


def _within(corpus: Corpus, categories: list[str]) -> Corpus:
    """The documents in some of the categories, with those labels only."""
    wanted = set(categories)
    kept = corpus.select(i for i, row in enumerate(corpus.labels) if wanted & set(row))
    return replace(kept, labels=[tuple(label for label in row if label in wanted) for row in kept.labels])
