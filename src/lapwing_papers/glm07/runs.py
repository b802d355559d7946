"""GLM07: a corpus as both parts in matrices, and all runs over all its categories; threads over categories."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Collection as Labels
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate import Tables
from lapwing.selection import SCORES, top_features, tune
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import as_prior, norm_variance
from lapwing.training import Progress
from lapwing.training.category import choose_variance
from lapwing.training.targets import Targets, check_weights, targets
from lapwing_papers import svm
from lapwing_papers.glm07.paper import RCV1_TEST_DOCUMENTS, SIZES, Paper
from lapwing_papers.settings import PARTIAL, each, matrices, training
from lapwing_papers.shown import both_parts
from lapwing_papers.solvers import clg

PRIOR = {"lasso": "laplace", "ridge": "gaussian"}
MEASURES = ("bns", "chi2", "pearson")
CLG_TOLERANCE = {"clg": 5e-4, "clg-loose": 5e-3}  # GLM07 section 4.2, and ten times that
SOLVERS = {"auto": "", "clg": ", CLG", "clg-loose": ", CLG stopped early"}
THRESHOLDS = ("default", "tuned")


@dataclass(frozen=True)
class Run:
    """One classifier per category.

    method    lasso, ridge or svm
    variance  "norm", "cv", or "" for the SVM, whose C is 1/mean squared norm
    measure   what features are selected by, "" where all are used
    features  how many, None for all
    solver    "auto"; "clg", the paper's algorithm with its rule for stopping; or "clg-loose", which stops sooner
    """

    method: str
    variance: str = ""
    measure: str = ""
    features: int | None = None
    solver: str = "auto"

    @property
    def name(self) -> str:
        """Its key in results.json."""
        parts = [self.method, self.variance, "" if self.solver == "auto" else self.solver]
        parts.append("all" if self.features is None else f"{self.measure}-{self.features}")
        return "/".join(part for part in parts if part)

    @property
    def title(self) -> str:
        variance = {"norm": ", norm-based variance", "cv": ", variance by cross-validation", "": ""}[self.variance]
        return f"{self.method}{variance}{SOLVERS[self.solver]}"


FULL = (
    Run("lasso", "norm"),
    Run("lasso", "cv"),
    Run("ridge", "norm"),
    Run("ridge", "cv"),
    Run("svm"),
)
PAPERS_SOLVER = tuple(Run("lasso", "norm", solver=solver) for solver in CLG_TOLERANCE)
ON_SELECTED = (("ridge", "norm"), ("ridge", "cv"), ("lasso", "norm"), ("lasso", "cv"), ("svm", ""))
SELECTED = tuple(
    Run(method, variance, measure, size) for measure in MEASURES for size in SIZES for method, variance in ON_SELECTED
)
EVERY_RUN = (*FULL, *PAPERS_SOLVER, *SELECTED)


log = logging.getLogger(__name__)

QUICK = 10  # --quick takes every tenth category
MANY = 500  # categories from which on it is worth a warning


@dataclass(frozen=True, eq=False)
class Collection:
    """train (n, d), test (m, d); targets are the labels of the training part, truth (m, categories) of the test part.

    left_out  categories without a positive document in one of the parts, or not asked for
    """

    name: str
    paper: Paper | None
    feature_names: tuple[str, ...]
    train: sp.csr_matrix
    test: sp.csr_matrix
    targets: Targets
    truth: np.ndarray
    weights: np.ndarray
    left_out: int
    quick: bool

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self.targets.classes

    @property
    def positives(self) -> np.ndarray:
        """Positive training documents per category."""
        return np.diff(self.targets.member.indptr)

    @cached_property
    def train_columns(self) -> sp.csc_matrix:
        return self.train.tocsc()

    @cached_property
    def test_columns(self) -> sp.csc_matrix:
        return self.test.tocsc()


def collect(
    corpus: Corpus,
    paper: Paper | None = None,
    *,
    categories: Labels[str] | None = None,
    test_ids: Labels[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Collection:
    """Run the text stage over both parts of a corpus; term weights come from the training part alone."""
    train, every = both_parts(corpus)
    test = _test_part(every, paper, test_ids, seed)
    chosen, left_out = _categories(train, test, paper, categories)
    if quick:
        chosen = chosen[::QUICK]
    if len(chosen) > MANY:
        log.warning("%d categories, each fitted in many ways: name those you want with --categories", len(chosen))
    ours, theirs, names = matrices(train, test, training(), progress)
    return Collection(
        name=corpus.name,
        paper=paper,
        feature_names=names,
        train=ours,
        test=theirs,
        targets=_targets(train, chosen),
        truth=_targets(test, chosen).member.toarray() > 0,
        weights=check_weights(train.weights, len(train)),
        left_out=left_out,
        quick=quick,
    )


def _targets(corpus: Corpus, chosen: list[str]) -> Targets:
    """Every category is a question of its own, also where classes exclude each other."""
    wanted = set(chosen)
    return targets([tuple(x for x in row if x in wanted) for row in corpus.labels], False, chosen)


def _test_part(test: Corpus, paper: Paper | None, ids: Labels[str] | None, seed: int) -> Corpus:
    """The test documents listed; for RCV1 without a list, as many as the paper drew, by seed."""
    if ids is not None:
        wanted = set(ids)
        rows = [i for i, name in enumerate(test.ids) if name in wanted]
        if not rows:
            raise InputError(f"--test-ids must name test documents such as {test.ids[0]!r}, and none is there")
        return test.select(rows)
    if paper is not None and paper.name == "RCV1-v2" and len(test) > RCV1_TEST_DOCUMENTS:
        draw = np.random.default_rng(seed).choice(len(test), RCV1_TEST_DOCUMENTS, replace=False)
        return test.select(np.sort(draw))
    return test


def _categories(train: Corpus, test: Corpus, paper: Paper | None, asked: Labels[str] | None) -> tuple[list[str], int]:
    """Those with a positive document in both parts (GLM07 section 5.2.1), or those asked for.

    RCV1-v2 has all of its categories, those without a positive training document too: they get the
    classifier that says no (section 5.2.2).
    """
    either = set(train.categories()) | set(test.categories())
    if asked is not None:
        if unknown := sorted(set(asked) - either):
            raise InputError(
                f"--categories must name labels of {train.name}, and {unknown[0]!r} is none of them; "
                f"it has {', '.join(sorted(either)[:5])} …"
            )
        kept = set(asked)
    elif paper is not None and paper.name == "RCV1-v2":
        kept = either
    else:
        kept = set(train.categories()) & set(test.categories())
    if not kept:
        raise InputError(f"{train.name}: no category has a positive document in both parts; check the labels")
    return sorted(kept), len(either - kept)


CLG_CYCLES = 5_000


@dataclass(frozen=True, eq=False)
class Result:
    """One category of one run. `weights` (d+1,), over the features it was given.

    variance  of the prior; C for the SVM
    gap       relative duality gap; NaN for the SVM and for a category without positive documents
    default, tuned   (TP, FP, FN) on the test documents with either threshold
    """

    weights: np.ndarray
    variance: float
    threshold: float
    gap: float
    rounds: int
    converged: bool
    default: tuple[int, int, int]
    tuned: tuple[int, int, int]

    @property
    def kept(self) -> int:
        """Features with a weight, the constant not counted."""
        return int(np.count_nonzero(self.weights[:-1]))


@dataclass(frozen=True, eq=False)
class RunResult:
    """One run over all categories."""

    run: Run
    results: tuple[Result, ...]
    test_documents: int
    seconds: float

    def tables(self, threshold: str) -> Tables:
        counts = np.array([getattr(one, threshold) for one in self.results], dtype=np.int64).reshape(-1, 3)
        tp, fp, fn = counts.T
        return Tables(tp, fp, fn, self.test_documents - tp - fp - fn)

    def errors(self, threshold: str) -> np.ndarray:
        return self.tables(threshold).errors

    def macro_f1(self, threshold: str) -> float:
        """Times 100, F1 being 1 where there is nothing to find and nothing found (GLM07 section 5.4)."""
        return float(100.0 * self.tables(threshold).f1().mean())


class _Fitter:
    """One matrix, all features or selected ones, and what is fitted against it."""

    def __init__(self, train: sp.csr_matrix, test: sp.csr_matrix, weights: np.ndarray) -> None:
        self.train, self.test, self.weights = train, test, weights
        self.problem = Problem(train)
        self.norm = norm_variance(train, weights)

    @cached_property
    def as_given(self) -> Problem:
        """The same with a column for every feature: CLG is to see what BBR saw."""
        return Problem(self.train, merge=False)

    def fit(self, run: Run, y: np.ndarray, truth: np.ndarray, seed: np.random.SeedSequence) -> Result:
        if not np.any(y > 0):
            nothing = (0, 0, int(truth.sum()))
            none = np.zeros(self.train.shape[1] + 1)
            return Result(none, self.norm, np.inf, np.nan, 0, True, nothing, nothing)
        if run.method == "svm":
            draw = int(seed.generate_state(1)[0] % 2**31)
            beta, strength, rounds = svm.fit(self.train, y, self.weights, draw)
            gap, converged = float("nan"), rounds < svm.MAX_ITER
        else:
            fit = self._map(run, y, seed)
            beta, strength, rounds, gap, converged = (
                fit.weights, fit.variance, fit.rounds, fit.relative_gap, fit.converged,
            )  # fmt: skip
        # section 5.5: fewest errors on the training documents, whatever is measured afterwards
        threshold = tune("error", self.train @ beta[:-1] + beta[-1], y, sample_weight=self.weights)
        scores = self.test @ beta[:-1] + beta[-1]
        return Result(
            beta, strength, threshold, gap, rounds, converged,
            _counts(truth, scores > 0.0), _counts(truth, scores > threshold),
        )  # fmt: skip

    def _map(self, run: Run, y: np.ndarray, seed: np.random.SeedSequence) -> newton.FitResult:
        prior = as_prior(PRIOR[run.method])
        variance, weights = self.norm, self.weights
        if run.variance == "cv":
            variance = choose_variance(
                self.problem, y, weights, prior, PARTIAL, method="cv", start=variance, seed=seed
            ).chosen
        compiled = prior.compile(variance, self.train.shape[1])
        if run.solver in CLG_TOLERANCE:
            return clg.fit(
                self.as_given,
                y,
                weights,
                compiled,
                variance=variance,
                tol=CLG_TOLERANCE[run.solver],
                max_iter=CLG_CYCLES,
            )
        return newton.fit(self.problem, y, weights, compiled, variance=variance)


def _counts(truth: np.ndarray, chosen: np.ndarray) -> tuple[int, int, int]:
    tp = int(np.sum(truth & chosen))
    return tp, int(chosen.sum()) - tp, int(truth.sum()) - tp


def run_everything(
    collection: Collection, *, n_jobs: int | None = 1, seed: int = 0, progress: Progress | None = None
) -> dict[str, RunResult]:
    """Every run of settings.py by name. A category has the same folds in all of them."""
    rows = range(len(collection.categories))
    seeds = np.random.SeedSequence(seed).spawn(len(rows))
    whole = _Fitter(collection.train, collection.test, collection.weights)
    everything: dict[str, RunResult] = {}

    def one(run: Run, row: int) -> Result:
        return whole.fit(run, collection.targets.signs(row), collection.truth[:, row], seeds[row])

    whole.as_given  # noqa: B018  made once, before threads ask for it
    for run in (*FULL, *PAPERS_SOLVER):
        results, seconds = _timed(partial(one, run), rows, run.title, n_jobs, progress)
        everything[run.name] = RunResult(run, tuple(results), collection.test.shape[0], seconds)
    collection.train_columns, collection.test_columns  # noqa: B018  made once, before threads ask for them
    for measure in MEASURES:
        work = partial(_selected, collection, measure, seeds)
        by_category, seconds = _timed(work, rows, f"features by {measure}", n_jobs, progress)
        for run in by_category[0]:
            of_run = tuple(each[run] for each in by_category)
            everything[run.name] = RunResult(run, of_run, collection.test.shape[0], seconds / len(by_category[0]))
    _report_unconverged(everything.values(), collection)
    return everything


def _selected(collection: Collection, measure: str, seeds: list[np.random.SeedSequence], row: int) -> dict[Run, Result]:
    """All methods on the features that one measure selects for a category (section 6.3)."""
    y = collection.targets.signs(row)
    scores = SCORES[measure](collection.train_columns, y, sample_weight=collection.weights)
    results = {}
    for size in SIZES:
        features = top_features(scores, size)
        fitter = _Fitter(
            collection.train_columns[:, features].tocsr(), collection.test_columns[:, features].tocsr(),
            collection.weights,
        )  # fmt: skip
        for method, variance in ON_SELECTED:
            run = Run(method, variance, measure, size)
            results[run] = fitter.fit(run, y, collection.truth[:, row], seeds[row])
    return results


def _timed(
    work: Callable[[int], object], rows: range, stage: str, n_jobs: int | None, progress: Progress | None
) -> tuple[list, float]:
    began = time.perf_counter()
    return each(stage, work, rows, n_jobs, progress), time.perf_counter() - began


def _report_unconverged(runs: Iterable[RunResult], collection: Collection) -> None:
    for done in runs:
        behind = [k for k, one in enumerate(done.results) if not one.converged]
        if behind:
            log.warning(
                "%s: %d of %d fits stopped before their tolerance, the first for %r",
                done.run.name, len(behind), len(done.results), collection.categories[behind[0]],
            )  # fmt: skip


Runs = Mapping[str, RunResult]


SHOWN = {"lasso": "lasso", "ridge": "ridge", "svm": "SVM"}


def compared_run(method: str) -> str:
    """The run that stands for a method in Tables 1 to 4: all features, variance by cross-validation."""
    return "svm/all" if method == "svm" else f"{method}/cv/all"


def parameters(run: RunResult) -> np.ndarray:
    """Non-zero parameters per category, with the constant, as the paper counts them."""
    return np.array([np.count_nonzero(one.weights) for one in run.results])
