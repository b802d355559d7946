"""train(corpus, settings) → LinearModel: what both the commands and the estimators call.

    labels, settings ─→ Task ─→ Strategy ──→ out-of-fold scores ─→ variance, calibration, thresholds
                                (one of three)      └────────────────→ fits ─→ LinearModel

The three strategies, one-vs-rest over a matrix, n-gram search, and polytomous, are siblings: what they share is in
task.py, fits that leave documents out in paths.py, what their scores
decide in out_of_fold.py and decisions.py, how the model is put together in assemble.py.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.corpus.document import SingleLabels
from lapwing.corpus.overview import check_labelled
from lapwing.engine import Checkpoint, Cluster, Pool, Threads, interruptible, thread_count
from lapwing.errors import ConvergenceWarning, InputError, SettingsError
from lapwing.model.linear import LinearModel
from lapwing.ngrams.gapped import gapped_space
from lapwing.ngrams.space import NgramSpace, ngram_space
from lapwing.selection.folds import Dealing, Folds, matrix_keys, text_keys
from lapwing.selection.variance import PooledCurve
from lapwing.shards.folder import release
from lapwing.shards.texts import StoredTexts
from lapwing.stats.prior_table import PriorTable
from lapwing.stats.priors import Prior
from lapwing.stats.result import FitResult
from lapwing.text import Design, TextSettings, design
from lapwing.text.beside import Beside, with_columns
from lapwing.text.design import Numbered
from lapwing.text.plain import PlainTerms
from lapwing.text.stored import stored_design
from lapwing.training.assemble import assemble, run_date
from lapwing.training.category import choose_prior
from lapwing.training.decisions import Decisions, decide
from lapwing.training.fingerprint import fingerprint
from lapwing.training.fit import CategoryFit
from lapwing.training.judge import Judge
from lapwing.training.memory import curvature_of, rank_of
from lapwing.training.ngram_search import NgramSearch
from lapwing.training.one_vs_rest import OneVsRest
from lapwing.training.out_of_fold import OutOfFold, choose_together, sample_rows, score_out_of_fold
from lapwing.training.paths import Progress
from lapwing.training.polytomous import Polytomous
from lapwing.training.room import check_judged, check_softmax, check_stored, threads_within
from lapwing.training.settings import NgramSettings, TrainSettings
from lapwing.training.targets import Targets, check_matrix, check_weights, targets
from lapwing.training.task import Strategy, Task

__all__ = [
    "CategoryFit",
    "NgramSettings",
    "Progress",
    "TrainSettings",
    "Trained",
    "choose_prior",
    "learn",
    "make_design",
    "portions",
    "train",
]

log = logging.getLogger(__name__)

BLOCK = 128  # at most so many categories are fitted together, where they can be
LEAST = 20  # different documents from which it is worth holding some out
CHOICE = -1  # number of the record in a checkpoint that holds what held-out documents decided


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, and what stays behind in training.

    fits          of every row: curves of the variance, dual points where they were asked for
    out_of_fold   scores of held-out documents, if there are any
    """

    model: LinearModel
    fits: list[CategoryFit]
    out_of_fold: OutOfFold | None
    curve: PooledCurve | None


def train(corpus: Corpus, settings: TrainSettings | None = None, **how: Any) -> LinearModel:
    """The model alone; see `learn`."""
    return learn(corpus, settings, **how).model


@interruptible
def learn(
    corpus: Corpus,
    settings: TrainSettings | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
    validation: Corpus | None = None,
    checkpoint: Path | None = None,
    most_duals: int = 0,
    judge_all: bool = False,
    client: Any = None,
    curvature: str | int = "diagonal",
) -> Trained:
    """Fit every category of a corpus; documents without labels are negatives of all of them.

    What a category chooses by itself it chooses by the documents of `validation` where there are any.

    Each finished category is appended to the file `checkpoint`. Where that is there already, of the same data
    and settings, its categories are taken over. It is left in place: remove it when the model is safe.

    most_duals   dual points are kept if all of them together are at most so many numbers
    curvature    what the model remembers of the loss's curvature for updates: "diagonal", a rank, or "none"
    judge_all    out-of-fold scores of every category, where otherwise some of many would do
    client       a `distributed.Client`: its workers fit the categories, in place of threads here
    """
    settings = settings or TrainSettings()
    if curvature != "none":
        curvature = curvature_of(rank_of(curvature))
    if validation is not None and settings.variance == "pooled":
        settings = replace(settings, variance="cv")
    if isinstance(corpus.documents, StoredTexts):
        within = threads_within(corpus.documents.folder.memory, len(corpus), thread_count(settings.n_jobs))
        settings = replace(settings, n_jobs=within)
    task = _task(corpus, settings, classes, most_duals)
    if settings.tunes or (judge_all and not settings.joint):
        check_judged(len(task), len(corpus))
    pool: Pool = Threads(settings.n_jobs) if client is None else Cluster(client)
    strategy, data, keys = _strategy(corpus, task, validation, pool, progress)
    training, date = _Training(strategy, corpus, keys, pool, progress, judge_all), run_date()
    if checkpoint is None or settings.joint:  # one fit, which is finished or not
        fits, decisions, scores = training.run()
    else:
        key = fingerprint(settings, release(), task.targets, task.weights, corpus.groups, corpus.times, *data)
        with Checkpoint(checkpoint, key, date) as training.checkpoint:
            fits, decisions, scores = training.run()
            date = training.checkpoint.started
    warn_unconverged(fits, task)
    if decisions is None and settings.tunes:
        log.warning("too few different documents to hold some out: thresholds are not tuned, they are ½")
    features, fits = strategy.design(fits)
    model = assemble(corpus, task, features, fits, decisions, date)
    model = strategy.finish(model, fits, curvature)
    return Trained(model, fits, scores, None if decisions is None else decisions.curve)


def _task(corpus: Corpus, settings: TrainSettings, classes: Sequence[Hashable] | None, most_duals: int) -> Task:
    check_labelled(corpus)
    goal = targets(corpus.labels, corpus.exclusive, classes, joint=settings.joint)
    single = isinstance(corpus.labels, SingleLabels)
    if corpus.exclusive and not single and set(map(len, corpus.labels)) != {1}:
        raise InputError("every training document needs exactly one label; some have none or several")
    if corpus.exclusive and len(goal.classes) > 2 and settings.threshold != "default":
        raise SettingsError(
            f"threshold={settings.threshold!r} decides on each category by itself, and these are {len(goal.classes)} "
            "exclusive classes, of which the most probable is taken; leave it at its default"
        )
    for what in ("groups", "times"):
        values = getattr(corpus, what)
        if values is not None and len(values) != len(corpus):
            raise InputError(f"expected one group or moment for each of {len(corpus)} documents, got {len(values)}")
    keep_duals = len(goal.fitted) * len(corpus) <= most_duals
    dealing = None
    if settings.chooses_alone and (corpus.groups is not None or settings.fold_by == "time"):
        dealing = _dealing(corpus, settings, partial(_keys, corpus, settings))
    return Task(goal, check_weights(corpus.weights, len(corpus)), settings, keep_duals, dealing)


def _strategy(
    corpus: Corpus, task: Task, validation: Corpus | None, pool: Pool, progress: Progress | None
) -> tuple[Strategy, tuple[Any, ...], Callable[[], np.ndarray]]:
    """How to learn it; the data that decide it; and keys of the documents by what they hold, on demand."""
    settings, seed = task.settings, np.random.SeedSequence(task.settings.random_state)
    if settings.ngrams is not None:
        space = make_space(corpus, settings, progress)
        chosen_by: Any = None if validation is None else (space.read(validation.documents), *_labels(validation, task))
        return NgramSearch(task, space, chosen_by), (*space.tokens, chosen_by), partial(_keys, corpus, settings)
    features = make_design(corpus, settings, progress, pool)
    chosen_by = None if validation is None else _validation(validation, features, task)
    if settings.joint:
        check_softmax(len(task), *features.matrix.shape)
    strategy = (Polytomous if settings.joint else OneVsRest)(task, features, chosen_by)

    def keys() -> np.ndarray:
        own = matrix_keys(features.matrix, seed)
        if corpus.numeric or corpus.categorical:  # what is beside no words may be the same for many
            blank = _keys(corpus, settings) == 0
            own[blank] = np.random.default_rng(seed).standard_normal(int(blank.sum()))
        return own

    return strategy, (features.matrix, features.feature_names, chosen_by), keys


def _validation(corpus: Corpus, features: Design, task: Task) -> tuple[sp.csr_matrix, Targets, np.ndarray]:
    """Documents to choose by, as the training documents are seen; labels that those lack are left out."""
    X = check_matrix(corpus.documents) if features.weighting is None else features.weighting.vectors(corpus.documents)
    if X.shape[1] != features.matrix.shape[1]:
        raise InputError(f"expected validation documents of {features.matrix.shape[1]} features, got {X.shape[1]}")
    return X, *_labels(corpus, task)


def _labels(corpus: Corpus, task: Task) -> tuple[Targets, np.ndarray]:
    known = set(task.targets.classes)
    labels = [tuple(label for label in row if label in known) for row in corpus.labels]
    goal = targets(labels, task.targets.exclusive, task.targets.classes)
    return goal, check_weights(corpus.weights, len(corpus))


@dataclass(eq=False)
class _Training:
    """One run: what is fitted to what, and on whose hands.

    keys        of the documents by what they hold, on demand
    checkpoint  of finished categories, if there is one
    """

    strategy: Strategy
    corpus: Corpus
    keys: Callable[[], np.ndarray]
    pool: Pool
    progress: Progress | None
    judge_all: bool
    checkpoint: Checkpoint | None = None

    def run(self) -> tuple[list[CategoryFit], Decisions | None, OutOfFold | None]:
        """Where the variance is chosen together, held-out documents come first; where each fit finds its own, last."""
        settings, scores = self.strategy.task.settings, None
        self.strategy.prepare()
        stored: dict[int, Any] = {} if self.checkpoint is None else self.checkpoint.finished(self._stored)
        decisions = stored.pop(CHOICE, None)
        if decisions is None and settings.pools:
            decisions, scores = self._judge(None)
            if self.checkpoint is not None and decisions is not None:
                self.checkpoint.append(CHOICE, decisions.to_bytes())
        chosen = None if decisions is None or decisions.curve is None else decisions.curve.chosen
        fits = self.fit_categories(chosen, stored)
        if decisions is None and settings.holds_out:
            decisions, scores = self._judge(np.array([one.variance for one in fits]))
        return fits, decisions, scores

    def _stored(self, number: int, content: bytes) -> CategoryFit | Decisions:
        """A record of a checkpoint; ValueError for what cannot be one of this training's."""
        task = self.strategy.task
        if number == CHOICE:
            return Decisions.from_bytes(content).check(len(task), calibrated=task.settings.calibrate)
        if not 0 <= number < self.strategy.units:
            raise ValueError(f"record {number} is no category's")
        return CategoryFit.from_bytes(content).check(self.strategy.width)

    def _judge(self, variances: np.ndarray | None) -> tuple[Decisions | None, OutOfFold | None]:
        """What held-out documents decide, under these variances or one that they choose; None where they are too
        few."""
        strategy, task, settings, curve = self.strategy, self.strategy.task, self.strategy.task.settings, None
        rows = np.arange(len(task)) if settings.joint else sample_rows(task, every=settings.tunes or self.judge_all)
        folds = shared_folds(task, self.corpus, self.keys)
        if folds is None or not len(rows):
            return None, None
        if variances is None:
            curve, scores = choose_together(strategy, folds, rows, self.pool, self.progress)
        else:
            scores = score_out_of_fold(strategy, folds, rows, variances[rows], self.pool, self.progress)
        return decide(Judge(task, rows.tolist(), folds), scores, curve), scores

    def fit_categories(self, variance: float | None, fits: dict[int, CategoryFit]) -> list[CategoryFit]:
        """Every row of the model, in order; those in `fits` as they are, the others appended to the checkpoint."""
        strategy, checkpoint, progress = self.strategy, self.checkpoint, self.progress
        count = strategy.units
        units = [unit for unit in range(count) if unit not in fits]
        if fits and checkpoint is not None:
            log.warning("going on after %d of %d categories, from %s", len(fits), count, checkpoint.path)
        size = min(max(len(units) // (2 * self.pool.size), 8), BLOCK) if strategy.together else 1
        blocks = [units[first : first + size] for first in range(0, len(units), size)]
        sizes = map(len, blocks)

        def keep(block: list[int], done: list[CategoryFit]) -> None:
            if checkpoint is not None:
                for unit, one in zip(block, done, strict=True):
                    checkpoint.append(unit, one.to_bytes())

        def tell(blocks_done: int) -> None:
            if progress is not None:
                progress("fitting categories", sum(next(sizes) for _ in range(blocks_done)), len(units))

        tell(0)
        pool = self.pool if len(blocks) > 1 else Threads()
        fit = partial(type(strategy).fit, variance=variance)
        results = pool.run_all(fit, strategy, blocks, progress=tell, keep=keep)
        if count < len(strategy.task):  # all rows at once
            return results[0]
        for block, done in zip(blocks, results, strict=True):
            fits |= zip(block, done, strict=True)
        return [fits[row] for row in range(count)]


def shared_folds(task: Task, corpus: Corpus, keys: Callable[[], np.ndarray]) -> Folds | None:
    """Those by which all categories are held out; None where documents are too few."""
    dealing = _dealing(corpus, task.settings, keys)
    if dealing.keys is not None and len(np.unique(dealing.keys[task.weights > 0.0])) < LEAST:
        log.info("fewer than %d different documents: none is held out, and the variance is by their norms", LEAST)
        return None
    return dealing.folds(task.targets.member, task.weights, task.settings.folds)


def _dealing(corpus: Corpus, settings: TrainSettings, keys: Callable[[], np.ndarray]) -> Dealing:
    """By what documents are held out, whatever they are held out for."""
    if settings.fold_by == "chance":
        return Dealing(keys(), corpus.groups)
    if corpus.times is None:
        raise InputError(
            'fold_by="time" needs a time for every document: name the column that holds it with time_column '
            "(--time-column), or give fit() or Corpus times"
        )
    return Dealing(None, times=corpus.times)


def _keys(corpus: Corpus, settings: TrainSettings) -> np.ndarray:
    """Of the documents as they were read; 0 for those in which the settings find nothing."""
    seed = np.random.SeedSequence(settings.random_state)
    if corpus.kind == "vectors":
        return matrix_keys(corpus.documents, seed)
    keys = text_keys(corpus.documents, seed)
    terms = PlainTerms(settings.text if corpus.kind == "text" else ready_made(settings.text))
    values, first, count = np.unique(keys, return_index=True, return_counts=True)
    again = [
        k for k in np.flatnonzero(count > 1).tolist() if not any(True for _ in terms(corpus.documents[int(first[k])]))
    ]
    return np.where(np.isin(keys, values[again]), 0, keys)


def portions(corpus: Corpus, count: int, settings: TrainSettings) -> Folds:
    """The documents of a corpus in portions of about equal labels, equal documents and groups together; or by time."""
    dealing = _dealing(corpus, settings, partial(_keys, corpus, settings))
    goal = targets(corpus.labels, corpus.exclusive)
    return dealing.folds(goal.member, check_weights(corpus.weights, len(corpus)), count)


def make_design(
    corpus: Corpus, settings: TrainSettings, progress: Progress | None = None, pool: Pool | None = None
) -> Design:
    """The documents as a matrix, on disk where they are; a feature that the prior insists on has a column even if none
    has it."""
    if corpus.kind == "vectors":
        matrix = check_matrix(corpus.documents)
        names: Sequence[str] = list(corpus.feature_names) if corpus.feature_names else Numbered(matrix.shape[1])
        named = named_features(settings.prior, None)
        if missing := sorted(set(named).difference(names)) if named else []:
            names = [*names, *missing]
        if len(names) != matrix.shape[1]:
            matrix.resize(matrix.shape[0], len(names))
        return Design(matrix, names, None)
    text = settings.text if corpus.kind == "text" else ready_made(settings.text)
    step = None if progress is None else (lambda done: progress("reading words", done, len(corpus)))
    named, n_jobs = named_features(settings.prior, text), thread_count(settings.n_jobs)
    if isinstance(corpus.documents, StoredTexts):
        check_stored(settings, corpus.documents.folder.memory)
        there = isinstance(pool, Cluster) and pool.sees(corpus.documents.folder.path.absolute())
        run, size = (pool.run_all, pool.size) if pool is not None and there else (None, 1)
        return stored_design(corpus.documents, text, named=named, progress=step, n_jobs=n_jobs, run=run, at_a_time=size)
    design_of_text = design(corpus.documents, text, named=named, progress=step, n_jobs=n_jobs)
    if not (corpus.numeric or corpus.categorical):
        return design_of_text
    records: Any = corpus.documents
    return with_columns(
        design_of_text, records, Beside.learn(records, corpus.numeric, corpus.categorical, corpus.text_column)
    )


def named_features(prior: str | Prior, text: TextSettings | None) -> list[str]:
    return prior.in_terms(text).insisting if isinstance(prior, PriorTable) else []


def make_space(corpus: Corpus, settings: TrainSettings, progress: Progress | None = None) -> NgramSpace:
    if corpus.kind == "vectors":
        raise InputError("n-grams need texts, and the data are vectors; train on vectors without n-grams")
    if corpus.numeric or corpus.categorical:
        raise InputError(
            "n-grams of any length have no place for numeric and categorical columns; use word_ngrams or char_ngrams"
        )
    assert settings.ngrams is not None
    if isinstance(corpus.documents, StoredTexts):
        check_stored(settings, corpus.documents.folder.memory)
    text = settings.text if corpus.kind == "text" else ready_made(settings.text)
    step = None if progress is None else (lambda done: progress("reading words", done, len(corpus)))
    if text.max_gap:
        assert settings.ngrams.max_length is not None
        return gapped_space(
            corpus.documents, text, max_length=settings.ngrams.max_length, min_support=settings.ngrams.min_support,
            progress=step,
        )  # fmt: skip
    return ngram_space(
        corpus.documents, text, max_length=settings.ngrams.max_length, min_support=settings.ngrams.min_support,
        progress=step,
    )  # fmt: skip


def ready_made(text: TextSettings) -> TextSettings:
    """The same weighting for tokens that are not to be cut, stopped or stemmed again."""
    return replace(text, tokens="ready", stop_words="none", stemmer="none", cut=None)


def warn_unconverged(fits: Sequence[CategoryFit | FitResult], task: Task) -> None:
    behind = [row for row, one in enumerate(fits) if not one.converged]
    if not behind:
        return
    worst = max(behind, key=lambda row: fits[row].relative_gap)
    warnings.warn(
        f"{len(behind)} of {len(fits)} fits did not reach tol={task.settings.tol:g}; the worst is "
        f"{task.label(worst)!r} with a relative gap of {fits[worst].relative_gap:.2g} after "
        f"{fits[worst].rounds} rounds; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=4,
    )
