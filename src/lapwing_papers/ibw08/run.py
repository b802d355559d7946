"""Every method on every split, for words and characters, and n-grams up to every length."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate import Tables
from lapwing.model import LinearModel
from lapwing.training import NgramSettings, Progress, train
from lapwing_papers.ibw08.explicit import l1_weights, svm_weights, write_out
from lapwing_papers.settings import ngram_text, training

METHODS = ("greedy", "exact", "l1", "svm")
NAMES = {
    "greedy": "SLR, greedy",
    "exact": "Laplace MAP over all n-grams, exact",
    "l1": "explicit, L1 logistic regression",
    "svm": "explicit, linear SVM",
}


@dataclass(frozen=True)
class Plan:
    """lengths   of the longest n-gram; None: any length
    explicit  the longest n-grams that are written out
    folds     of cross-validation, where the corpus has no test part; `runs` of them take a turn
    """

    tokens: tuple[str, ...] = ("word", "char")
    lengths: tuple[int | None, ...] = (1, 2, 3, 4, 5, None)
    explicit: int = 5
    folds: int = 5
    runs: int = 5

    @classmethod
    def quick(cls) -> Plan:
        return cls(lengths=(1, 2, None), explicit=2, runs=1)


@dataclass(frozen=True, eq=False)
class Cell:
    """One method with n-grams of one kind up to one length: a value per split.

    seconds   of training, from texts to weights, for all classes together
    features  n-grams with a weight; for the explicit route columns of the matrix
    gap       the largest relative gap; NaN where nothing is proved
    """

    method: str
    tokens: str
    length: int | None
    macro_f1: list[float] = field(default_factory=list)
    micro_f1: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Results:
    """cells by (method, tokens, length); models of unlimited length, from the first split, by (method, tokens)."""

    classes: tuple[str, ...]
    splits: tuple[tuple[np.ndarray, np.ndarray], ...]
    folds: int | None  # None where the corpus has a test part
    cells: dict[tuple[str, str, int | None], Cell]
    models: dict[tuple[str, str], LinearModel]


def splits_of(corpus: Corpus, plan: Plan, seed: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Training and test documents: the corpus's own parts, or folds with every class dealt out evenly."""
    if corpus.kind != "text":
        raise InputError(f"IBW08 needs texts, and {corpus.name} has {corpus.kind}")
    if any(len(row) != 1 for row in corpus.labels):
        raise InputError(
            f"IBW08 needs documents of exactly one class each, and some of {corpus.name} have none or more"
        )
    if _has_parts(corpus):
        part = np.array(corpus.split)
        return ((np.flatnonzero(part == "train"), np.flatnonzero(part == "test")),)
    fold = np.empty(len(corpus), dtype=np.int64)
    rng = np.random.default_rng(seed)
    labels = np.array([row[0] for row in corpus.labels])
    for label in sorted(set(labels.tolist())):
        rows = rng.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(len(rows)) % plan.folds
    return tuple((np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(plan.runs))


def _has_parts(corpus: Corpus) -> bool:
    return {"train", "test"} <= set(corpus.split)


def run_everything(
    corpus: Corpus, plan: Plan, *, seed: int = 0, n_jobs: int | None = 1, progress: Progress | None = None
) -> Results:
    splits = splits_of(corpus, plan, seed)
    work = list(_work(plan, len(splits)))
    cells: dict[tuple[str, str, int | None], Cell] = {}
    models: dict[tuple[str, str], LinearModel] = {}
    classes = tuple(corpus.categories())
    if len(classes) < 2:
        raise InputError(f"IBW08 needs documents of two or more classes, and {corpus.name} has {len(classes)}")
    truth = np.array([[label == row[0] for label in classes] for row in corpus.labels])
    if progress is not None:
        progress("fitting", 0, len(work))
    for tokens, length, k in work:
        here = splits[k]
        variance = 0.0
        for method in ("exact", "greedy"):
            began = time.perf_counter()
            model = _ours(corpus.select(here[0]), method, tokens, length, seed, n_jobs)
            seconds = time.perf_counter() - began
            if method == "exact":
                variance = float(model.fits.variance[0])
            if length is None and k == 0:
                models[method, tokens] = model
            scores = model.scores([corpus.documents[i] for i in here[1]])
            gap = float(np.max(model.fits.gap / model.fits.objective))
            _add(cells, (method, tokens, length), scores, truth[here[1]], seconds, len(model.feature_names), gap)
        if length is not None and length <= plan.explicit:
            _explicit(cells, corpus, here, truth, tokens, length, variance, seed)
        if progress is not None:
            progress("fitting", 1, len(work))
    return Results(classes, splits, None if _has_parts(corpus) else plan.folds, cells, models)


def _work(plan: Plan, splits: int) -> Iterator[tuple[str, int | None, int]]:
    for tokens in plan.tokens:
        for length in plan.lengths:
            for k in range(splits):
                yield tokens, length, k


def _ours(corpus: Corpus, method: str, tokens: str, length: int | None, seed: int, n_jobs: int | None) -> LinearModel:
    settings = training(
        text=ngram_text(tokens=tokens), solver=method, ngrams=NgramSettings(max_length=length, steps="settled"),
        n_jobs=n_jobs, random_state=seed,
    )  # fmt: skip
    return train(corpus, settings)


def _explicit(
    cells: dict[tuple[str, str, int | None], Cell],
    corpus: Corpus,
    split: tuple[np.ndarray, np.ndarray],
    truth: np.ndarray,
    tokens: str,
    length: int,
    variance: float,
    seed: int,
) -> None:
    train_texts, test_texts = ([str(corpus.documents[i]) for i in rows] for rows in split)
    matrices = write_out(train_texts, test_texts, ngram_text(tokens=tokens), length)
    fitted = slice(1, 2) if truth.shape[1] == 2 else slice(None)
    Y = np.where(truth[split[0]][:, fitted], 1.0, -1.0)
    for method in ("l1", "svm"):
        began = time.perf_counter()
        fit = l1_weights if method == "l1" else svm_weights
        weights = [fit(matrices.train, y, variance, seed) for y in Y.T]
        seconds = matrices.seconds + time.perf_counter() - began
        scores = np.column_stack([matrices.test @ beta[:-1] + beta[-1] for beta in weights])
        _add(cells, (method, tokens, length), scores, truth[split[1]], seconds, matrices.train.shape[1], float("nan"))


def _add(
    cells: dict[tuple[str, str, int | None], Cell],
    key: tuple[str, str, int | None],
    scores: np.ndarray,
    truth: np.ndarray,
    seconds: float,
    features: int,
    gap: float,
) -> None:
    cell = cells.setdefault(key, Cell(*key))
    best = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else np.argmax(scores, axis=1)
    tables = Tables.of(truth, np.eye(truth.shape[1], dtype=bool)[best])
    cell.macro_f1.append(float(tables.f1().mean()))
    cell.micro_f1.append(float(2 * tables.tp.sum() / (2 * tables.tp.sum() + tables.fp.sum() + tables.fn.sum())))
    cell.seconds.append(seconds)
    cell.features.append(features)
    cell.gap.append(gap)
