"""EGJLM03: what it printed, which runs there are, and what each comes to, category by category."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
from scipy.special import erfcx

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate import Tables
from lapwing.selection import SCORES, top_features, tune
from lapwing.solvers import newton
from lapwing.solvers.problem import Problem
from lapwing.stats.priors import Gaussian, Jeffreys, Laplace
from lapwing.stats.result import FitResult
from lapwing.training import Progress
from lapwing_papers.settings import each, matrices, text, training
from lapwing_papers.shown import both_parts
from lapwing_papers.solvers import probit_em

TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "wheat", "ship", "corn")
DOCUMENTS = (7769, 3019)
GAMMAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

Row = tuple[float, ...]

# Table 1: others' results with 10,000 features (Zhang and Oles 2001)
OTHERS: dict[str, Row] = {
    "naive Bayes": (96.6, 91.7, 70.0, 76.7, 84.1, 52.3, 68.2, 58.1, 76.4, 52.4, 72.6, 85.2),
    "logistic regression": (98.4, 95.2, 75.2, 88.4, 85.9, 72.9, 78.2, 88.2, 81.9, 88.7, 85.3, 91.4),
    "SVM": (98.1, 95.3, 74.4, 89.6, 84.8, 73.4, 75.9, 88.9, 82.4, 86.2, 84.9, 91.1),
}

# Tables 2, 3, 5 and 6, by name of the run
F1: dict[str, Row] = {
    "probit/jeffreys/raw/300": (96.6, 87.7, 55.0, 89.9, 77.7, 67.5, 49.0, 89.7, 68.9, 88.2, 77.0, 86.0),
    "probit/jeffreys/log/300": (97.1, 89.1, 59.7, 92.3, 81.1, 71.6, 43.9, 89.7, 67.1, 90.3, 78.2, 87.4),
    "probit/laplace-10/raw/300": (96.9, 89.3, 59.3, 88.4, 82.4, 65.4, 49.5, 87.9, 73.0, 83.6, 77.6, 87.1),
    "probit/laplace-0.1/log/300": (97.4, 90.5, 59.3, 88.9, 78.9, 66.1, 56.7, 84.0, 59.7, 83.9, 76.5, 87.0),
    "probit/laplace-0.3/log/300": (97.5, 90.0, 60.4, 88.1, 82.3, 67.2, 53.1, 83.8, 65.3, 84.9, 77.3, 87.2),
    "probit/laplace-1/log/300": (97.5, 90.4, 64.3, 90.6, 80.1, 70.5, 62.7, 86.3, 71.9, 87.3, 80.2, 88.2),
    "probit/laplace-3/log/300": (97.4, 91.7, 61.8, 90.7, 82.2, 73.8, 50.3, 87.2, 75.8, 91.4, 80.2, 88.7),
    "probit/laplace-10/log/300": (96.9, 90.3, 65.9, 91.7, 81.3, 76.7, 51.8, 89.6, 78.8, 90.9, 81.4, 88.6),
    "probit/laplace-30/log/300": (96.6, 89.0, 56.8, 90.0, 76.0, 69.5, 54.2, 89.6, 76.3, 90.2, 78.8, 87.0),
    "probit/jeffreys/log/1000": (96.8, 90.0, 63.7, 90.8, 76.6, 62.9, 56.0, 89.7, 66.7, 90.3, 78.4, 87.3),
    "probit/laplace-10/log/1000": (97.2, 92.2, 70.2, 91.7, 82.5, 72.8, 63.6, 88.9, 79.7, 90.0, 82.9, 89.6),
    "probit/gaussian-0.01/log/300": (96.8, 89.2, 65.1, 85.1, 82.9, 71.1, 58.1, 89.0, 83.3, 86.7, 80.7, 87.9),
    "logit/gaussian-0.01/log-idf/300": (97.6, 94.0, 74.9, 91.8, 85.7, 67.6, 67.9, 87.7, 79.2, 90.4, 83.7, 90.7),
    "logit/laplace-10/log-idf/300": (97.8, 92.7, 64.2, 90.7, 85.9, 70.5, 67.3, 85.7, 78.0, 90.4, 82.3, 89.8),
}

# Table 4: parameters left of 301, the intercept among them; its 200 for money-fx at γ=0.1 must be 300
KEPT: dict[str, tuple[int, ...]] = {
    "probit/jeffreys/log/300": (55, 67, 32, 15, 25, 20, 22, 3, 19, 6),
    "probit/laplace-0.1/log/300": (301, 301, 300, 280, 282, 291, 294, 275, 275, 259),
    "probit/laplace-0.3/log/300": (300, 299, 291, 251, 266, 282, 270, 203, 240, 232),
    "probit/laplace-1/log/300": (288, 284, 276, 192, 205, 261, 249, 127, 176, 170),
    "probit/laplace-3/log/300": (256, 257, 235, 142, 174, 214, 205, 90, 134, 110),
    "probit/laplace-10/log/300": (220, 226, 177, 92, 90, 147, 136, 41, 96, 47),
    "probit/laplace-30/log/300": (186, 195, 111, 46, 62, 80, 85, 14, 55, 17),
}

# Tables 7 and 8: RCV1-v2, 101 topics, macro and micro average
RCV1_OTHERS = {"SVM": (61.9, 81.6), "kNN": (56.0, 76.5), "Rocchio": (50.4, 69.3)}
RCV1: dict[str, tuple[float, float]] = {
    "probit/jeffreys/log/300": (39.4, 72.5),
    "probit/laplace-25/log/300": (47.7, 74.4),
    "probit/gaussian-0.001/log/300": (45.3, 74.9),
    "logit/laplace-25/log/300": (48.0, 75.5),
    "logit/laplace-25/log/3000": (53.0, 78.9),
    "logit/gaussian-0.01/log/3000": (51.8, 79.7),
}


LARGEST = 10  # categories, where the paper names none
QUICK = ("grain", "wheat", "corn")
AS_PRINTED_STOP, COUNTED = 0.02, 1e-6  # what the paper's Table 4 fits best: see `Study`
STOPS = (0.1, 0.05, 0.02, 0.01, 0.005)
CUTS = (1e-2, 1e-3, 1e-4, 1e-6)
VAGUE = 1e6  # variance where least squares are meant
MOST_STEPS = 500
SAME_SCALE = 1.6**2  # a logistic coefficient is about 1.6 times the probit one of the same model


@dataclass(frozen=True)
class TopicRun:
    """One classifier per category, thresholds tuned for fewest training errors.

    strength   γ of a Laplace prior, variance of a Gaussian one; None for Jeffreys'
    weighting  "raw", "log", or "log-idf"
    printed    the named setting "as printed": EM with the E-step γ/|β|, which is λ = γ, from least squares, stopped
               when ‖β‖ changes by AS_PRINTED_STOP, coefficients above COUNTED taken as not zero. Otherwise λ = √γ, to
               its certified optimum
    """

    link: str
    prior: str
    strength: float | None
    weighting: str = "log"
    features: int = 300
    printed: bool = False

    @property
    def name(self) -> str:
        prior = self.prior if self.strength is None else f"{self.prior}-{self.strength:g}"
        name = f"{self.link}/{prior}/{self.weighting}/{self.features}"
        return f"{name}/as-printed" if self.printed else name


def parse(name: str) -> TopicRun:
    """The run of a name without `as-printed`."""
    link, prior, weighting, features = name.split("/")
    kind, _, strength = prior.partition("-")
    return TopicRun(link, kind, float(strength) if strength else None, weighting, int(features))


def runs_of(names: Sequence[str]) -> list[TopicRun]:
    """The runs, and those under a Laplace prior on the probit link also as printed."""
    plain = [parse(name) for name in names]
    again = [
        TopicRun(r.link, r.prior, r.strength, r.weighting, r.features, printed=True)
        for r in plain
        if (r.link, r.prior) == ("probit", "laplace")
    ]
    return plain + again


WITHOUT_IDF = ("logit/gaussian-0.01/log/300", "logit/laplace-10/log/300")
SCALED = (f"logit/gaussian-{0.01 * SAME_SCALE:g}/log/300", f"logit/laplace-{10 / SAME_SCALE:g}/log/300")
MODAPTE_RUNS = runs_of([*F1, *WITHOUT_IDF, *SCALED])
RCV1_RUNS = runs_of(list(RCV1))


@dataclass(frozen=True, eq=False)
class TopicCollection:
    """Both parts with raw counts weighted three ways; documents without any category are left out."""

    name: str
    is_rcv1: bool
    train: Mapping[str, sp.csc_matrix]
    test: Mapping[str, sp.csc_matrix]
    labels: tuple[np.ndarray, ...]  # ±1 per category, training documents
    truth: tuple[np.ndarray, ...]
    categories: tuple[str, ...]

    @property
    def runs(self) -> list[TopicRun]:
        return RCV1_RUNS if self.is_rcv1 else MODAPTE_RUNS

    @property
    def is_modapte(self) -> bool:
        return not self.is_rcv1 and set(self.categories) <= set(TOPICS)

    @cached_property
    def documents(self) -> tuple[int, int]:
        return next(iter(self.train.values())).shape[0], next(iter(self.test.values())).shape[0]


def collect(corpus: Corpus, *, quick: bool = False, progress: Progress | None = None) -> TopicCollection:
    train, test = both_parts(corpus)
    if corpus.kind == "vectors":
        raise InputError(f"{corpus.name}: these experiments weight words, and this corpus holds vectors")
    is_rcv1 = corpus.source.get("format", "") == "rcv1"
    counted = {c: sum(c in row for row in train.labels) for c in train.categories()}
    both = counted if is_rcv1 else {c: n for c, n in counted.items() if c in set(test.categories())}
    if not both:
        raise InputError(f"{corpus.name}: no category has a positive document in both parts; check the labels")
    if set(TOPICS) <= set(both) and not is_rcv1:
        chosen: list[str] = list(TOPICS)
    else:
        chosen = sorted(both, key=lambda c: (-both[c], c))[: None if is_rcv1 else LARGEST]
    if quick:
        chosen = [c for c in chosen if c in QUICK] or chosen[:3]
    kept = [
        part.select([i for i, row in enumerate(part.labels) if any(c in both for c in row)]) for part in (train, test)
    ]
    weighted: tuple[dict[str, sp.csc_matrix], dict[str, sp.csc_matrix]] = ({}, {})
    used = {run.weighting for run in (RCV1_RUNS if is_rcv1 else MODAPTE_RUNS)}
    for weighting in sorted(used):
        # Stop words and punctuation removed, nothing else is said: no stemming, no cosine normalisation.
        tf = "raw" if weighting == "raw" else "log"
        words = text(stemmer="none", tf=tf, idf=weighting == "log-idf", cosine=False)
        ours, theirs, _ = matrices(kept[0], kept[1], training(text=words), progress)
        weighted[0][weighting], weighted[1][weighting] = ours.tocsc(), theirs.tocsc()
    return TopicCollection(
        name=corpus.name,
        is_rcv1=is_rcv1,
        train=weighted[0],
        test=weighted[1],
        labels=tuple(np.array([1.0 if c in row else -1.0 for row in kept[0].labels]) for c in chosen),
        truth=tuple(np.array([c in row for row in kept[1].labels]) for c in chosen),
        categories=tuple(chosen),
    )


@dataclass(frozen=True, eq=False)
class TopicResult:
    """One category of one run: errors on the test part, and what is known of the fit.

    kept       coefficients that are not zero, the intercept among them
    proof      relative duality gap; under Jeffreys' prior slope × coefficient; NaN as printed
    curvature  under Jeffreys' prior, as in `Stationarity`
    """

    counts: tuple[int, int, int]
    kept: int
    proof: float
    curvature: float
    rounds: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Study:
    """How many coefficients EM leaves at a γ, by E-step (λ = √γ or γ), relative change at which it stops, and size
    above which a coefficient counts. One number per category; the exact optimum's under 0.0, 0.0.
    """

    counts: Mapping[tuple[str, float, float], Mapping[float, tuple[int, ...]]]  # (rule, stop, cut) → γ → counts


@dataclass(frozen=True, eq=False)
class Equality:
    """λ = 1 by EM and by the default solver, one category: how far apart, and what each took."""

    prior: str
    objective: float
    apart: float
    iterations: int
    seconds: float
    default_seconds: float


@dataclass(frozen=True, eq=False)
class Everything:
    results: Mapping[str, tuple[TopicResult, ...]]
    study: Study | None
    equality: Mapping[str, tuple[Equality, ...]]  # category → one per prior
    test_documents: int

    def tables(self, name: str) -> Tables:
        tp, fp, fn = np.array([one.counts for one in self.results[name]], dtype=np.int64).T
        return Tables(tp, fp, fn, self.test_documents - tp - fp - fn)

    def f1(self, name: str) -> tuple[float, ...]:
        """Per category, then macro and micro average, times 100."""
        tables = self.tables(name)
        total = Tables(*(np.array([part.sum()]) for part in (tables.tp, tables.fp, tables.fn, tables.tn)))
        each = tables.f1()
        return tuple(100.0 * float(v) for v in (*each, each.mean(), total.f1()[0]))

    def kept(self, name: str) -> tuple[int, ...]:
        return tuple(one.kept for one in self.results[name])


class _Selected:
    """The columns that Pearson's correlation selects for a category, in one weighting."""

    def __init__(self, collection: TopicCollection, row: int, weighting: str, size: int) -> None:
        train, test = collection.train[weighting], collection.test[weighting]
        self.y = collection.labels[row]
        chosen = top_features(SCORES["pearson"](train, self.y), size)
        self.train, self.test = train[:, chosen].tocsr(), test[:, chosen].tocsr()
        self.problem = Problem(self.train)
        self.c = np.ones(len(self.y))

    @property
    def d(self) -> int:
        return self.train.shape[1]

    def fit(self, run: TopicRun) -> FitResult:
        if run.prior == "jeffreys":
            prior = Jeffreys()
            return probit_em.fit(
                self.problem, self.y, self.c, prior.compile(1.0, self.d), variance=float("nan"), link=run.link,
                jeffreys=prior.logarithmic(self.d),
            )  # fmt: skip
        assert run.strength is not None
        if run.printed:
            beta, steps = self.as_printed(run.strength, [AS_PRINTED_STOP])[AS_PRINTED_STOP]
            unknown = float("nan")
            together = self.problem.gather(beta)  # words that stand in the same documents count as one
            counted = np.append(np.abs(together[:-1])[self.problem.group], abs(beta[-1])) > COUNTED
            return FitResult(
                np.where(counted, beta, 0.0), unknown, unknown, unknown, unknown, steps,
                steps < MOST_STEPS, 2.0 / run.strength**2, np.zeros(0),
            )  # fmt: skip
        laplace = run.prior == "laplace"
        variance = 2.0 / run.strength if laplace else run.strength
        arrays = (Laplace() if laplace else Gaussian()).compile(variance, self.d)
        return newton.fit(self.problem, self.y, self.c, arrays, variance=variance, link=run.link)

    def as_printed(self, slope: float, stops: Sequence[float]) -> dict[float, tuple[np.ndarray, int]]:
        """EM with ω = slope/|β|, from least squares: where the relative change is at most each of `stops`, and after
        how many steps."""
        X = sp.hstack([self.train, np.ones((len(self.y), 1))], format="csr")
        gram = (X.T @ X).toarray()

        def step(beta: np.ndarray, variance: np.ndarray) -> np.ndarray:
            """E-step: v = s + y φ(s)/Φ(ys). M-step: ridge, written for variances of 0: U (I + U XᵀX U)⁻¹ U Xᵀv, U² the
            variances."""
            s = X @ beta
            v = s + self.y * np.sqrt(2.0 / np.pi) / erfcx(-self.y * s / np.sqrt(2.0))
            u = np.sqrt(variance)
            return u * np.linalg.solve(np.eye(len(u)) + u[:, None] * gram * u, u * (X.T @ v))

        beta, waiting, reached = step(np.zeros(len(gram)), np.full(len(gram), VAGUE)), sorted(stops), {}
        for count in range(1, MOST_STEPS + 1):
            before, beta = beta, step(beta, np.abs(beta) / slope)
            while waiting and np.linalg.norm(beta - before) <= waiting[-1] * np.linalg.norm(before):
                reached[waiting.pop()] = beta, count
            if not waiting:
                break
        return reached | dict.fromkeys(waiting, (beta, MOST_STEPS))


def _of_category(collection: TopicCollection, row: int) -> dict[str, TopicResult]:
    truth, results, selected = collection.truth[row], {}, {}
    for run in collection.runs:
        key = run.weighting, run.features
        if key not in selected:
            selected[key] = _Selected(collection, row, *key)
        data = selected[key]
        fit = data.fit(run)
        beta = fit.weights
        threshold = tune("error", data.train @ beta[:-1] + beta[-1], data.y)
        said = data.test @ beta[:-1] + beta[-1] > threshold
        tp = int(np.sum(truth & said))
        proof = float("nan") if run.printed else fit.relative_gap
        if run.prior == "jeffreys":
            proof = fit.kkt * float(np.abs(beta).max(initial=0.0))
        results[run.name] = TopicResult(
            (tp, int(said.sum()) - tp, int(truth.sum()) - tp), int(np.count_nonzero(beta)), proof, fit.curvature,
            fit.rounds, fit.converged,
        )  # fmt: skip
    return results


def _study_of(collection: TopicCollection, row: int) -> dict[tuple[str, float, float], dict[float, int]]:
    data = _Selected(collection, row, "log", 300)
    counts: dict[tuple[str, float, float], dict[float, int]] = {}
    for gamma in GAMMAS:
        for rule, slope in (("√γ", gamma**0.5), ("γ", gamma)):
            arrays = Laplace().compile(2.0 / slope**2, data.d)
            exact = newton.fit(data.problem, data.y, data.c, arrays, variance=2.0 / slope**2, link="probit")
            counts.setdefault((rule, 0.0, 0.0), {})[gamma] = int(np.count_nonzero(exact.weights))
            for stop, (beta, _) in data.as_printed(slope, STOPS).items():
                for cut in CUTS:
                    counts.setdefault((rule, stop, cut), {})[gamma] = int(np.sum(np.abs(beta) > cut))
    return counts


def _equality_of(collection: TopicCollection, row: int) -> tuple[Equality, ...]:
    data, equalities = _Selected(collection, row, "log", 300), []
    for prior, variance in ((Laplace(), 2.0), (Gaussian(), 1.0)):
        arrays = prior.compile(variance, data.d)
        options = {"variance": variance, "link": "probit"}
        began = time.perf_counter()
        best = newton.fit(data.problem, data.y, data.c, arrays, tol=1e-9, **options)  # type: ignore[arg-type]
        between = time.perf_counter()
        em = probit_em.fit(data.problem, data.y, data.c, arrays, tol=1e-7, **options)  # type: ignore[arg-type]
        ended = time.perf_counter()
        apart = em.objective / best.objective - 1.0
        equalities.append(Equality(prior.name, best.objective, apart, em.rounds, ended - between, between - began))
    return tuple(equalities)


def run_everything(
    collection: TopicCollection, *, n_jobs: int | None = 1, progress: Progress | None = None
) -> Everything:
    rows = range(len(collection.categories))

    by_category = each("fitting categories", partial(_of_category, collection), rows, n_jobs, progress)
    study, equality = None, {}
    if not collection.is_rcv1:
        counts = each("EM as printed", partial(_study_of, collection), rows, n_jobs, progress)
        study = Study({key: {g: tuple(one[key][g] for one in counts) for g in GAMMAS} for key in counts[0]})
        compared = each("EM against Newton", partial(_equality_of, collection), rows, n_jobs, progress)
        equality = dict(zip(collection.categories, compared, strict=True))
    results = {run.name: tuple(one[run.name] for one in by_category) for run in collection.runs}
    return Everything(results, study, equality, collection.documents[1])
