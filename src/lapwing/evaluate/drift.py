"""Whether new documents are still such as the model was trained on; no labels needed.

Words. A term's document frequency then and now, d of n and e of m. Given d + e, e would be hypergeometric if nothing
had moved; a binomial with probability m/(n+m) has heavier tails, so its p-values err on the safe side.

Scores. Training leaves, of every category, how the scores of documents that the fits had not seen were distributed:
counts in bins between their quantiles. New scores are counted in the same bins, and

    X² = Σ_bins (c/n − e/m)² / (pooled share · (1/n + 1/m)),   about χ² with one degree of freedom less than bins,

not central: a difference of Σ (share now − share then)² / share ≤ 0.005 is none. (Training's scores are those that fits
without the document would have given it, to second order, see training/left_out.py; and what is smaller matters to
nobody.)

Both lists of p-values are put together by Holm's rule, each by itself: if nothing has moved, the chance of any alarm
among all categories is at most `rate`, and so it is among all words.

Prevalence. If categories became more or less frequent and nothing else changed, a document's likelihood is Σ_k π_k r_k
with r_k = p_k(x) / π⁰_k, p_k what the model says and π⁰ the shares in training; its maximum over π is the estimate
(Saerens, Latinne and Decaestecker 2002, who find it by EM). The interval holds the π_k whose log-likelihood is less
than ½ χ²(level) · (1 + m/n) below the largest: 1 for the m new documents, m/n for the n that the probabilities were
learned from, which are as random. Where the words within a category have moved, too, it is only a hint.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate.documents import in_columns
from lapwing.evaluate.measures import evaluate
from lapwing.model.linear import LinearModel, as_model
from lapwing.model.reference import ScoreReference
from lapwing.text.counts import count_terms
from lapwing.text.matching import NgramWeighting

RATE = 0.05
LEVEL = 0.95
LEAST_EXPECTED = 5.0  # documents in a bin, by the pooled shares; bins of fewer are joined to their neighbours
STEPS = 60  # of a bisection
EM_STEPS = 500
MOST_WORDS = 200


@dataclass(frozen=True)
class WordDrift:
    """A word whose share of documents moved from `then` to `now`, with Holm's p-value."""

    word: str
    then: float
    now: float
    p_value: float


@dataclass(frozen=True)
class CategoryDrift:
    """One category: how its scores moved, and how frequent it seems to be.

    statistic, p_value   X² and Holm's p-value over all categories; None where training kept no scores of it
    moved                whether that is an alarm
    then, now            shares of the scores in each bin
    prevalence_then, prevalence, low, high   its share of documents in training; estimated, now, with an interval
    """

    category: Hashable
    statistic: float | None
    p_value: float | None
    moved: bool
    then: list[float]
    now: list[float]
    prevalence_then: float
    prevalence: float
    low: float
    high: float


@dataclass(frozen=True)
class Drift:
    """What moved between training and new documents.

    rate             the chance of any alarm among all categories, and of any among all words, if nothing moved
    words            those that moved, the surest first; None for a model of vectors
    words_tested     of how many
    unknown          share of a document's distinct words that training did not have; expected_unknown what it would be
                     for more documents like those of training (Good and Turing: words of one document, of all)
    measured         with labels: what the model is worth on these documents, beside what it was on unseen ones then
    """

    documents: int
    rate: float
    categories: list[CategoryDrift]
    words: list[WordDrift] | None
    words_tested: int
    unknown: float | None
    expected_unknown: float | None
    measured: dict[str, dict[str, float | None]] | None

    @property
    def alarms(self) -> list[Hashable]:
        """Categories whose scores moved."""
        return [one.category for one in self.categories if one.moved]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "alarms": self.alarms}


def drift(model: Any, corpus: Corpus, *, rate: float = RATE, level: float = LEVEL) -> Drift:
    """How new documents differ from those that the model was trained on; the heading of this module says by what.

    model   a model, or a fitted classifier
    rate    of false alarms, over all categories and over all words
    level   of the intervals of prevalences
    """
    model = as_model(model)
    if not isinstance(corpus, Corpus):
        raise InputError(f"expected documents as lapwing.corpus.read gives them, got {type(corpus).__name__}")
    for name, value in (("rate", rate), ("level", level)):
        if not 0.0 < value < 1.0:
            raise InputError(f"{name} must be between 0 and 1, got {value!r}")
    if not len(corpus):
        raise InputError(f"{corpus.name}: expected new documents, found none")
    if model.converted_from:
        raise InputError(f"the model was {model.origin}; `lapwing evaluate` measures it on labelled documents")
    reference = ScoreReference.of_model(model)
    documents = in_columns(corpus, model)
    matrix = model.vectors(documents)
    scores = model.scores(matrix)
    words, tested, unknown, expected = _words(model, documents, matrix, rate)
    return Drift(
        documents=len(corpus),
        rate=rate,
        categories=_categories(model, reference, scores, rate, level),
        words=words,
        words_tested=tested,
        unknown=unknown,
        expected_unknown=expected,
        measured=_measured(model, matrix, corpus),
    )


def _categories(
    model: LinearModel, reference: ScoreReference, scores: np.ndarray, rate: float, level: float
) -> list[CategoryDrift]:
    tests = {row: reference.test(row, scores[:, row], LEAST_EXPECTED) for row in reference.rows}
    adjusted = holm(np.array([one[1] for one in tests.values()]))
    p_values = dict(zip(tests, adjusted.tolist(), strict=True))
    before = reference.prevalence(model)
    shares = prevalences(model.class_proba(scores), before, model.exclusive, reference.documents, level)
    of_class = len(model.classes) - len(model.categories)
    rows = []
    for row, label in enumerate(model.categories):
        k = row + of_class
        then, now = reference.shares(row, scores[:, row]) if row in tests else ([], [])
        p_value = p_values.get(row)
        moved = p_value is not None and p_value <= rate
        statistic = tests[row][0] if row in tests else None
        rows.append(CategoryDrift(label, statistic, p_value, moved, then, now, float(before[k]), *shares[k].tolist()))
    return rows


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values: those up to α are alarms of which any is false with a chance of at most α (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def _words(
    model: LinearModel, documents: Any, matrix: Any, rate: float
) -> tuple[list[WordDrift] | None, int, float | None, float | None]:
    from scipy.special import bdtr, bdtrc

    weighting = model.weighting
    if weighting is None:
        return None, 0, None, None
    n, m = weighting.n_documents, matrix.shape[0]
    if isinstance(weighting, NgramWeighting):
        terms, then = list(weighting.feature_names), weighting.document_frequency[weighting.columns]
        now = np.bincount(matrix.indices, minlength=len(terms))
        unknown = expected = None
    else:
        counts = count_terms(weighting.texts(documents), weighting.settings)
        frequency = np.bincount(counts.matrix.indices, minlength=len(counts.terms))
        known = np.array([weighting.index.get(term, -1) for term in counts.terms], dtype=np.int64)
        unseen = [counts.terms[i] for i in np.flatnonzero(known < 0)]
        terms = [*weighting.terms, *unseen]
        then = np.append(weighting.document_frequency, np.zeros(len(unseen), dtype=np.int64))
        now = np.zeros(len(terms), dtype=np.int64)
        now[known[known >= 0]] = frequency[known >= 0]
        now[len(weighting.terms) :] = frequency[known < 0]
        unknown = float(frequency[known < 0].sum() / max(int(frequency.sum()), 1))
        seen = weighting.document_frequency
        expected = float(np.count_nonzero(seen == 1) / max(int(seen.sum()), 1))
    total, share = then + now, m / (n + m)
    # What could not be an alarm even if all of it stood on one side is no test, whatever the documents say.
    possible = np.minimum(share**total, 1.0) * 2.0 < rate / max(len(terms), 1)
    possible |= (1.0 - share) ** total * 2.0 < rate / max(len(terms), 1)
    tested = np.flatnonzero(possible)
    low, high = bdtr(now[tested], total[tested], share), bdtrc(now[tested] - 1, total[tested], share)
    high = np.where(now[tested] == 0, 1.0, high)
    p_values = holm(np.minimum(2.0 * np.minimum(low, high), 1.0))
    moved = np.flatnonzero(p_values <= rate)
    order = moved[np.argsort(p_values[moved], kind="stable")]
    words = [
        WordDrift(terms[j], float(then[j] / n), float(now[j] / m), float(p))
        for j, p in zip(tested[order].tolist(), p_values[order].tolist(), strict=True)
    ]
    return words, len(tested), unknown, expected


def prevalences(proba: np.ndarray, before: np.ndarray, exclusive: bool, learned_from: int, level: float) -> np.ndarray:
    """(classes, 3): the share of every class, and the ends of its interval."""
    from scipy.special import chdtri

    fall = 0.5 * float(chdtri(1, 1.0 - level)) * (1.0 + len(proba) / max(learned_from, 1))
    known = np.clip(before, 1e-12, 1.0 - 1e-12)
    inside = proba / known
    outside = (1.0 - proba) / (1.0 - known)
    if exclusive:
        shares = _em(inside, known)
        total = inside @ shares
        rest = np.maximum(1.0 - shares, 1e-300)
        outside = np.maximum(total[:, None] - shares * inside, 0.0) / rest
    return np.array([_share(inside[:, k], outside[:, k], fall) for k in range(proba.shape[1])])


def _em(ratio: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """argmax_π Σ_i ln Σ_k π_k r_ik by EM; every step raises it."""
    shares = shares / shares.sum()
    for _ in range(EM_STEPS):
        part = ratio * shares
        after = np.mean(part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300), axis=0)
        done = np.abs(after - shares).max() < 1e-10
        shares = after
        if done:
            break
    return np.asarray(shares)


def _share(inside: np.ndarray, outside: np.ndarray, fall: float) -> tuple[float, float, float]:
    """The π in [0, 1] with the largest Σ ln(π a + (1−π) b), which is concave, and where it has fallen by `fall`."""

    def slope(share: float) -> float:
        return float(np.sum((inside - outside) / np.maximum(share * inside + (1.0 - share) * outside, 1e-300)))

    def height(share: float) -> float:
        return float(np.sum(np.log(np.maximum(share * inside + (1.0 - share) * outside, 1e-300))))

    best = _bisect(lambda share: slope(share) > 0.0, 0.0, 1.0)
    most = height(best)
    low = 0.0 if height(0.0) >= most - fall else _bisect(lambda share: height(share) < most - fall, 0.0, best)
    high = 1.0 if height(1.0) >= most - fall else _bisect(lambda share: height(share) >= most - fall, best, 1.0)
    return best, low, high


def _bisect(below: Any, low: float, high: float) -> float:
    """Where `below` turns from true to false."""
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if below(middle) else (low, middle)
    return 0.5 * (low + high)


def _measured(model: LinearModel, matrix: Any, corpus: Corpus) -> dict[str, dict[str, float | None]] | None:
    known = set(model.classes)
    if not any(label in known for labels in corpus.labels for label in labels):
        return None
    result = evaluate(model, [(matrix, list(corpus.labels))])
    averages = result.averages()
    now: dict[str, float | None] = {
        "macro_f1": averages["macro"]["f1"],
        "micro_f1": averages["micro"]["f1"],
        "relative_log_loss": result.calibration().relative_log_loss,
    }
    return {"then": {name: model.held_out.get(name) for name in now}, "now": now}
