"""Whether new documents are still such as the model was trained on; no labels needed.

Words. A term's document frequency then and now, d of n and e of m. Given d + e, e would be hypergeometric if nothing
had moved; a binomial with probability m/(n+m) has heavier tails, so its p-values err on the safe side.

Scores. Training leaves, of every category, how the scores of its documents were distributed, each as a fit without it
gives it (training/leave_one_out.py): counts in bins, and how many in each are of the category. New scores are counted
in the same bins, c documents then and e now, t together, n and m in all, q = m/(n+m). Two tests, the smaller p-value
doubled:

    share   S = Σ_bins w e, w the probability that the link gives to the bin, less its mean. Given t every e would be
            hypergeometric; as with words they are taken as binomial (t, q), which errs on the safe side, and the
            distribution of their sum is computed, not approximated: exact for categories of a few documents, too.
    shape   X² = Σ_bins (c/n − e/m)² / (t/(n+m) · (1/n + 1/m)),   about χ² with one degree of freedom less than bins,
            not central: a difference of Σ (share now − share then)² / share ≤ 0.005 is none, as left-out scores are
            right to second order only, and what is smaller matters to nobody.

Both lists of p-values are put together by Holm's rule, each by itself: if nothing has moved, the chance of any alarm
among all categories is at most `rate`, and so it is among all words.

Prevalence. If a category became more or less frequent and nothing else changed, new scores come from π f₁ + (1−π) f₀,
f₁ and f₀ being those of its documents and of all others. The likelihood of the documents then (labelled) and now
(not) is maximised over f₁ and f₀ for every π by EM; the estimate is the π where it is largest, the interval all those
where its logarithm is less than ½ χ²(level) below that. Where both a tenth and ten times the odds of training are
inside, the scores cannot tell. Without scores of training (softmax, n-grams) a document's likelihood is Σ_k π_k r_k
with r_k = p_k(x) / π⁰_k, p_k what the model says and π⁰ the shares in training (Saerens, Latinne and Decaestecker 2002,
who maximise it by EM), and ½ χ²(level) · (1 + m/n) is taken for the interval, for the n documents that the
probabilities were learned from are as random as the m new ones. Where the words within a category have moved, too, a
share is only a hint.
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
TOLERATED = 0.005  # Σ (share now − share then)² / share, up to which a difference is none
LEVELS = 64  # of the weights of bins where their sum is tested,
MOST_SUMS = 1 << 17  # and values of that sum, fewer levels where there would be more
LEAST_P = 1e-12  # smaller ones are rounding
EM_STEPS = 500
LOGITS = np.linspace(-14.0, 14.0, 281)  # of the shares that are tried,
MIXTURE_STEPS = 60  # with as many steps of EM,
OWN_BINS = 10  # over so many bins, and at least
LEAST_OWN = 2  # documents of the category in each
TENFOLD = np.log(10.0)

Bins = tuple[np.ndarray, np.ndarray]  # documents in each bin of scores, then and now


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
    prevalence_then, prevalence, low, high   its share of documents in training; estimated, now, with an interval:
                         None where the scores cannot tell
    """

    category: Hashable
    statistic: float | None
    p_value: float | None
    moved: bool
    then: list[float]
    now: list[float]
    prevalence_then: float
    prevalence: float | None
    low: float | None
    high: float | None

    @property
    def share_now(self) -> tuple[str, str]:
        """The estimate and its interval, to be shown."""
        if self.prevalence is None or self.low is None or self.high is None:
            return "cannot tell", ""
        return f"{100 * self.prevalence:.2f} %", f"{100 * self.low:.2f} to {100 * self.high:.2f} %"


@dataclass(frozen=True)
class Drift:
    """What moved between training and new documents.

    rate             the chance of any alarm among all categories, and of any among all words, if nothing moved
    words            those that moved, the surest first; None for a model of vectors
    words_tested     of how many
    unknown          share of a document's distinct words that training did not have; expected_unknown what it would be
                     for more documents like those of training (Good and Turing: words of one document, of all)
    measured         with labels: what the model is worth on these documents, beside what it was on unseen ones then
    remark           what of the scores could not be compared, and why; None where all were
    """

    documents: int
    rate: float
    categories: list[CategoryDrift]
    words: list[WordDrift] | None
    words_tested: int
    unknown: float | None
    expected_unknown: float | None
    measured: dict[str, dict[str, float | None]] | None
    remark: str | None

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
    words, tested, unknown, expected = _words(model, documents, matrix, rate)
    return Drift(
        documents=len(corpus),
        rate=rate,
        categories=_categories(model, reference, matrix, rate, level),
        words=words,
        words_tested=tested,
        unknown=unknown,
        expected_unknown=expected,
        measured=_measured(model, matrix, corpus),
        remark=_remark(model, reference),
    )


def _remark(model: LinearModel, reference: ScoreReference) -> str | None:
    if reference.rows:
        left = len(model.categories) - len(reference.rows)
        return f"no scores of training documents are kept for {left} categories" if left else None
    if "scores" in model.held_out:
        return (
            "an earlier release kept the scores of this model's training documents in a form that new scores cannot be "
            "compared with; words are compared; train the model anew to compare scores"
        )
    return "the model keeps no scores of its training documents to compare new ones with"


def _categories(
    model: LinearModel, reference: ScoreReference, matrix: Any, rate: float, level: float
) -> list[CategoryDrift]:
    scores = reference.scores(model, matrix)
    bins = {row: (reference.counts[k], reference.bins(k, scores[:, k])) for k, row in enumerate(reference.rows)}
    shape = {row: shape_test(*both) for row, both in bins.items()}
    smaller = []
    for k, (row, both) in enumerate(bins.items()):
        worth = model.probability(reference.centres(k))
        smaller.append(min(2.0 * min(share_test(*both, worth), shape[row][1]), 1.0))
    p_values = dict(zip(bins, holm(np.array(smaller)).tolist(), strict=True))
    before = reference.prevalence(model)
    shares = _shares(model, reference, matrix, bins, before, level)
    of_class = len(model.classes) - len(model.categories)
    rows = []
    for row, label in enumerate(model.categories):
        p_value = p_values.get(row)
        moved = p_value is not None and p_value <= rate
        then, now = ((part / part.sum()).tolist() for part in bins[row]) if row in bins else ([], [])
        statistic = shape[row][0] if row in bins else None
        k = row + of_class
        rows.append(CategoryDrift(label, statistic, p_value, moved, then, now, float(before[k]), *shares[k]))
    return rows


def _shares(
    model: LinearModel, reference: ScoreReference, matrix: Any, bins: dict[int, Bins], before: np.ndarray, level: float
) -> list[tuple[float, float, float] | tuple[None, None, None]]:
    """Of every class its share now and the ends of the interval, or nothing where the scores cannot tell."""
    from scipy.special import chdtri, logit

    if reference.rows:
        fall = 0.5 * float(chdtri(1, 1.0 - level))
        found = {row: mixture(reference.positives[k], bins[row], fall) for k, row in enumerate(reference.rows)}
        if len(model.classes) > len(model.categories):
            [(share, low, high)] = found.values()
            found = {0: (1.0 - share, 1.0 - high, 1.0 - low), 1: (share, low, high)}
    else:
        proba = model.class_proba(model.scores(matrix))
        estimates = prevalences(proba, before, model.exclusive, reference.documents, level)
        found = {k: (share, low, high) for k, (share, low, high) in enumerate(estimates.tolist())}
    away = {k: logit([share[1], before[k], share[2]]) for k, share in found.items()}
    told = [k for k, (low, then, high) in away.items() if then - low < TENFOLD or high - then < TENFOLD]
    return [found[k] if k in told else (None, None, None) for k in range(len(model.classes))]


def share_test(then: np.ndarray, now: np.ndarray, worth: np.ndarray) -> float:
    """The p-value of Σ worth·now, given how many documents of both together are in each bin."""
    total = then + now
    centred = worth - worth @ total / total.sum()
    largest = float(np.abs(centred).max())
    if largest < 1e-12:
        return 1.0
    levels = np.clip(MOST_SUMS * largest / (np.abs(centred) @ total), 1.0, LEVELS)
    points = np.rint(centred * (levels / largest)).astype(np.int64)
    least, size = int(np.minimum(points, 0) @ total), int(np.abs(points) @ total) + 1
    turn, share = np.exp(-2j * np.pi / size * np.arange(size // 2 + 1)), now.sum() / total.sum()
    law = np.ones(len(turn), dtype=complex)  # the characteristic function of the sum of binomials
    for point, count in zip(points.tolist(), total.tolist(), strict=True):
        law *= (1.0 - share + share * turn**point) ** count if point else 1.0
    chance = np.maximum(np.roll(np.fft.irfft(law, size), -least), 0.0)
    at = int(points @ now) - least
    return float(np.clip(2.0 * min(chance[: at + 1].sum(), chance[at:].sum()), LEAST_P, 1.0))


def shape_test(then: np.ndarray, now: np.ndarray) -> tuple[float, float]:
    """(X², p-value) that scores are distributed as then; bins of fewer documents than expected are joined."""
    from scipy.special import chndtr

    then, now = _joined(then, now)
    n, m = float(then.sum()), float(now.sum())
    if len(then) < 2:
        return 0.0, 1.0
    pooled = (then + now) / (n + m)
    statistic = float(np.sum((then / n - now / m) ** 2 / pooled) / (1.0 / n + 1.0 / m))
    small = TOLERATED / (1.0 / n + 1.0 / m)
    return statistic, max(float(1.0 - chndtr(statistic, len(then) - 1, small)), LEAST_P)


def _joined(then: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring bins together until either side would have enough documents by the pooled shares."""
    n, m = float(then.sum()), float(now.sum())
    enough = LEAST_EXPECTED * (n + m) / min(n, m)
    bins: list[list[float]] = []
    for a, b in zip(then.tolist(), now.tolist(), strict=True):
        if bins and sum(bins[-1]) < enough:
            bins[-1] = [bins[-1][0] + a, bins[-1][1] + b]
        else:
            bins.append([a, b])
    if len(bins) > 1 and sum(bins[-1]) < enough:
        a, b = bins.pop()
        bins[-1] = [bins[-1][0] + a, bins[-1][1] + b]
    joined = np.array(bins)
    return joined[:, 0], joined[:, 1]


def mixture(own: np.ndarray, both: Bins, fall: float) -> tuple[float, float, float]:
    """The share π of the category among new documents, and the ends of its interval, by profile likelihood.

    own    documents of the category in each bin; bins are joined from above until each has its part of them, for what
           f₁ is in more bins they cannot say
    both   all documents in each bin, then and now
    """
    from scipy.special import expit, xlogy

    above = (own[::-1].cumsum() - own[::-1])[::-1]
    group = np.unique(above // max(LEAST_OWN, own.sum() / OWN_BINS), return_inverse=True)[1]
    own, then, now = (np.bincount(group, weights=part) for part in (own, *both))
    share, even = expit(LOGITS)[:, None], (then + now) / (then.sum() + now.sum())
    inside, outside = (own + even) / (own.sum() + 1.0), (then - own + even) / (then.sum() - own.sum() + 1.0)
    for _ in range(MIXTURE_STEPS):
        mine = now * share * inside / np.maximum(share * inside + (1.0 - share) * outside, 1e-300)
        inside, outside = own + mine, then - own + now - mine
        inside /= inside.sum(axis=1, keepdims=True)
        outside /= outside.sum(axis=1, keepdims=True)
    mixed = share * inside + (1.0 - share) * outside
    height = (xlogy(own, inside) + xlogy(then - own, outside) + xlogy(now, mixed)).sum(axis=1)
    return _peak(height, fall)


def _peak(height: np.ndarray, fall: float) -> tuple[float, float, float]:
    """The share of `LOGITS` where the log likelihood is largest, and those where it has fallen by `fall`."""
    from scipy.special import expit

    best, end = int(height.argmax()), len(LOGITS) - 1
    within = np.flatnonzero(height >= height[best] - fall)

    def crossing(inner: int, outer: int) -> float:
        part = (height[inner] - height[best] + fall) / (height[inner] - height[outer])
        return float(expit(LOGITS[inner] + part * (LOGITS[outer] - LOGITS[inner])))

    low = 0.0 if within[0] == 0 else crossing(within[0], within[0] - 1)
    high = 1.0 if within[-1] == end else crossing(within[-1], within[-1] + 1)
    if best in (0, end):
        return best / end, low, high
    before, most, after = height[best - 1 : best + 2]
    bend = before - 2.0 * most + after
    top = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
    return float(expit(LOGITS[best] + top * (LOGITS[1] - LOGITS[0]))), low, high


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
    from scipy.special import chdtri, expit

    fall = 0.5 * float(chdtri(1, 1.0 - level)) * (1.0 + len(proba) / max(learned_from, 1))
    known = np.clip(before, 1e-12, 1.0 - 1e-12)
    inside = proba / known
    outside = (1.0 - proba) / (1.0 - known)
    if exclusive:
        shares = _em(inside, known)
        total = inside @ shares
        rest = np.maximum(1.0 - shares, 1e-300)
        outside = np.maximum(total[:, None] - shares * inside, 0.0) / rest
    shares = expit(LOGITS)
    mixed = (
        np.array([np.log(np.maximum(p * a + (1.0 - p) * b, 1e-300)).sum() for p in shares])
        for a, b in zip(inside.T, outside.T, strict=True)
    )
    return np.array([_peak(height, fall) for height in mixed])


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
