"""Learning curves from one positive document to a hundred, with and without words named in advance.

A draw takes n positive documents of every category from the training part. Exclusive classes are fitted together,
one against the rest, on n documents of each; a category of label sets by itself, on n positive documents and twenty
times as many others. Everything, IDF weights included, is learnt from these documents only. Both arms see the same
documents, and the smaller draws are part of the larger ones. Macro F1 is over the categories with enough positive
documents for the largest draw, on the whole test part.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.engine import run_all
from lapwing.errors import InputError
from lapwing.evaluate.measures import Tables
from lapwing.stats.prior_table import PriorTable, from_names
from lapwing.text import TextSettings, count_terms
from lapwing.text.weighting import weigh
from lapwing.training import Progress, TrainSettings, train
from lapwing_papers.settings import training
from lapwing_papers.shown import both_parts

SIZES = (1, 2, 5, 10, 20, 50, 100)
NEGATIVES = 20  # per positive document, where a category is fitted by itself
HEADERS = re.compile(r"\A(?:[A-Za-z][A-Za-z-]*:.*\n(?:[ \t]+.*\n)*)+\s*\n")


@dataclass(frozen=True)
class Curves:
    """Macro F1, (sizes, draws), without and with the words; and what it was measured on."""

    corpus: str
    sizes: tuple[int, ...]
    without: np.ndarray
    named: np.ndarray
    categories: tuple[Hashable, ...]
    left_out: int
    test_documents: int
    without_headers: bool
    words: dict[Hashable, str]

    def to_dict(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "categories": [str(label) for label in self.categories],
            "categories_left_out": self.left_out,
            "test_documents": self.test_documents,
            "without_headers": self.without_headers,
            "words": {str(label): text for label, text in self.words.items()},
            "positives": list(self.sizes),
            "macro_f1": {"without": self.without.tolist(), "named": self.named.tolist()},
        }


@dataclass(frozen=True, eq=False)
class _Pool:
    """Counts of both parts over one list of terms, and who is in which category."""

    terms: list[str]
    train: sp.csr_matrix
    test: sp.csr_matrix
    member: np.ndarray  # (training documents, categories)
    truth: np.ndarray  # (test documents, categories)
    categories: tuple[Hashable, ...]
    exclusive: bool
    text: TextSettings
    settings: TrainSettings
    table: PriorTable


def learning_curves(
    corpus: Corpus,
    words: Mapping[Hashable, str],
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 10,
    settings: TrainSettings | None = None,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> Curves:
    """Draw, fit and measure; `words` has a description for those categories that have one."""
    settings = settings or training()
    pool, left_out, bare = _pool(corpus, words, max(sizes), settings)
    seeds = np.random.SeedSequence(seed).spawn(draws)
    tasks = [(n, seeds[draw]) for n in sizes for draw in range(draws)]
    step = None if progress is None else (lambda done: progress("fitting draws", done, len(tasks)))
    scores = run_all(lambda task: _draw(pool, *task), tasks, n_jobs=n_jobs, progress=step)
    both = np.array(scores).reshape(len(sizes), draws, 2)
    return Curves(
        corpus.name, tuple(sizes), both[:, :, 0], both[:, :, 1], pool.categories, left_out, len(pool.truth), bare,
        {row.category: row.feature for row in from_names(pool.categories, words).rows},
    )  # fmt: skip


def _pool(corpus: Corpus, words: Mapping[Hashable, str], most: int, settings: TrainSettings) -> tuple[_Pool, int, bool]:
    parts = both_parts(corpus)
    if corpus.kind == "vectors":
        raise InputError(f"{corpus.name}: words can only be named for documents of words, and these are vectors")
    labels = sorted({label for part in parts for row in part.labels for label in row})
    member, truth = (np.array([[label in row for label in labels] for row in map(set, p.labels)]) for p in parts)
    enough = (member.sum(axis=0) >= most) & truth.any(axis=0)
    if not enough.any():
        raise InputError(f"{corpus.name}: no category has {most} positive training documents; ask for fewer")
    if corpus.exclusive and not enough.all():
        raise InputError(f"{corpus.name}: {labels[int(np.argmin(enough))]!r} has fewer than {most} training documents")
    categories = tuple(label for label, kept in zip(labels, enough, strict=True) if kept)
    documents = [list(part.documents) for part in parts]
    # Headers of messages name the group they were sent to.
    bare = sum(HEADERS.match(document) is not None for document in documents[0]) > len(documents[0]) / 2
    if bare:
        documents = [[HEADERS.sub("", document, count=1) for document in part] for part in documents]
    counts = count_terms([*documents[0], *documents[1]], settings.text)
    n = len(documents[0])
    return _Pool(
        counts.terms, counts.matrix[:n], counts.matrix[n:], member[:, enough], truth[:, enough], categories,
        corpus.exclusive, settings.text, settings, from_names(categories, words).in_terms(settings.text),
    ), int(np.sum(~enough)), bare  # fmt: skip


def _draw(pool: _Pool, n: int, seed: np.random.SeedSequence) -> tuple[float, float]:
    """Macro F1 of one draw without and with the words."""
    orders = [np.random.default_rng(s) for s in seed.spawn(len(pool.categories))]
    if pool.exclusive:
        order = [rng.permutation(np.flatnonzero(pool.member[:, k])) for k, rng in enumerate(orders)]
        rows = np.sort(np.concatenate([some[:n] for some in order]))
        chosen = [_fit(pool, rows, pool.categories, words) for words in (False, True)]
        return tuple(_macro(pool.truth, one) for one in chosen)  # type: ignore[return-value]
    columns: list[tuple[np.ndarray, np.ndarray]] = []
    for k, rng in enumerate(orders):
        inside, outside = (rng.permutation(np.flatnonzero(pool.member[:, k] == side)) for side in (True, False))
        rows = np.sort(np.concatenate([inside[:n], outside[: NEGATIVES * n]]))
        of = (pool.categories[k],)
        columns.append((_fit(pool, rows, of, False)[:, 0], _fit(pool, rows, of, True)[:, 0]))
    return tuple(_macro(pool.truth, np.column_stack(arm)) for arm in zip(*columns, strict=True))  # type: ignore[return-value]


def _macro(truth: np.ndarray, chosen: np.ndarray) -> float:
    return float(Tables.of(truth, chosen).f1(undefined=0.0).mean())


def _fit(pool: _Pool, rows: np.ndarray, categories: Sequence[Hashable], words: bool) -> np.ndarray:
    """(test documents, categories) decisions of models trained on these rows."""
    counts = pool.train[rows]
    frequency = np.bincount(counts.indices, minlength=len(pool.terms))
    insisting = set(pool.table.insisting) if words else set()
    columns = np.array([j for j, t in enumerate(pool.terms) if frequency[j] or t in insisting], dtype=np.int64)
    column_of = np.full(len(pool.terms), -1, dtype=np.int32)
    column_of[columns] = np.arange(len(columns))
    X, T = (weigh(part, frequency, len(rows), pool.text, column_of, len(columns)) for part in (counts, pool.test))
    at = [pool.categories.index(label) for label in categories]
    labels = [tuple(pool.categories[k] for k in at if pool.member[i, k]) for i in rows.tolist()]
    sample = Corpus(
        name="draw", kind="vectors", documents=X, labels=labels, ids=[str(i) for i in rows.tolist()],  # type: ignore[arg-type]
        exclusive=pool.exclusive, split=[], weights=np.ones(len(rows)), feature_names=[pool.terms[j] for j in columns],
    )  # fmt: skip
    settings = replace(pool.settings, prior=pool.table.over(pool.settings.prior)) if words else pool.settings
    model = train(sample, settings, classes=list(categories))
    T.resize(T.shape[0], len(model.feature_names))  # words that no document of the collection has
    return model.decide(model.scores(T))
