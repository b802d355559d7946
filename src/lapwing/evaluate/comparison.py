"""Two models side by side: which words changed, and on labelled documents what that was worth.

Differences are of paired decisions. The interval of a difference comes from the bootstrap over documents: B times n
documents are drawn with replacement, both models are measured on the same draw, and the interval runs between the
(1−level)/2 and (1+level)/2 quantiles of the B differences. In a category of a few documents what is drawn varies too
little: there the bootstrap is of eight counts (documents in the category or not, chosen by A or not, by B or not), half
a document added to each but that of none (Jeffreys' prior). Whether one is wrong about more documents than the other is
McNemar's test in its exact form: of the documents about which just one model is wrong, as many would be wrong by either
if they were equally good, so the number is binomial with probability ½.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError, some
from lapwing.evaluate.assessment import membership
from lapwing.evaluate.documents import check_labels, in_columns
from lapwing.evaluate.mislabelled import surprise
from lapwing.model.linear import LinearModel, as_model

RESAMPLES = 1000
BLOCK = 2**22  # weights of documents drawn at a time
KIND = np.array([0.0, *[0.5] * 7])  # documents added to each kind where F1 of a category is drawn
REGRESSIONS = 20
SHOWN = 600  # characters of a text


@dataclass(frozen=True)
class Interval:
    """What A and B reached, B − A, and the interval of that difference."""

    a: float
    b: float
    difference: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True)
class CategoryChange:
    """The words of one category in both models: (word, weight in A, weight in B), the largest difference first."""

    category: Hashable
    kept: tuple[int, int]
    gained: list[tuple[str, float, float]]
    lost: list[tuple[str, float, float]]
    turned: list[tuple[str, float, float]]  # those that speak for the other side now
    moved: list[tuple[str, float, float]]  # in both, with the same sign and another weight

    @property
    def changed(self) -> int:
        return len(self.gained) + len(self.lost) + len(self.turned)


@dataclass(frozen=True)
class CategoryDifference:
    """F1 of one category by A and B, and how many documents they decide differently."""

    category: Hashable
    positives: int
    differing: int
    f1: Interval


@dataclass(frozen=True)
class OnDocuments:
    """What the differences are worth on labelled documents.

    differing      documents that the two put into different categories
    only_a_wrong, only_b_wrong, mcnemar   documents about which just one is wrong, and the p-value of that
    measures       macro F1, micro F1, log loss per document (accuracy, of exclusive classes)
    regressions    documents about which B loses most against A, as records
    """

    documents: int
    level: float
    differing: int
    only_a_wrong: int
    only_b_wrong: int
    mcnemar: float
    measures: dict[str, Interval]
    categories: list[CategoryDifference]
    regressions: list[dict[str, Any]]


@dataclass(frozen=True)
class ModelComparison:
    """A against B."""

    only_a: list[Hashable]  # categories
    only_b: list[Hashable]
    words: list[CategoryChange]
    documents: OnDocuments | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    a: Any, b: Any, corpus: Corpus | None = None, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> ModelComparison:
    """How model B differs from model A: in its words, and, given labelled documents, in what it decides.

    a, b     models, or fitted classifiers
    corpus   labelled documents that neither was fitted to
    level    of the intervals, which come from so many `resamples`
    """
    a, b = as_model(a), as_model(b)
    only_a = [label for label in a.classes if label not in b.classes]
    only_b = [label for label in b.classes if label not in a.classes]
    words = changed_words(a, b)
    if corpus is None:
        return ModelComparison(only_a, only_b, words)
    shared = [label for label in a.classes if label in b.classes]
    if not shared:
        raise InputError(f"the models have no category in common: {some(a.classes)}, and {some(b.classes)}")
    return ModelComparison(only_a, only_b, words, _on_documents(a, b, shared, corpus, level, resamples, seed))


def changed_words(a: LinearModel, b: LinearModel) -> list[CategoryChange]:
    """Of every category that has weights in both."""
    changes = []
    for label in a.categories:
        if label not in b.categories:
            continue
        before = dict(a.row_features(a.categories.index(label)))
        after = dict(b.row_features(b.categories.index(label)))
        pairs = [(word, before.get(word, 0.0), after.get(word, 0.0)) for word in {*before, *after}]
        pairs.sort(key=lambda one: (-abs(one[1] - one[2]), one[0]))
        changes.append(
            CategoryChange(
                label,
                (len(before), len(after)),
                gained=[one for one in pairs if one[0] not in before],
                lost=[one for one in pairs if one[0] not in after],
                turned=[one for one in pairs if one[1] * one[2] < 0.0],
                moved=[one for one in pairs if one[1] * one[2] > 0.0 and one[1] != one[2]],
            )
        )
    return changes


@dataclass(frozen=True, eq=False)
class Judged:
    """One model on documents: probabilities, decisions, truth (n, shared categories), the loss of each document."""

    proba: np.ndarray
    chosen: np.ndarray
    truth: np.ndarray
    exclusive: bool

    @classmethod
    def of(
        cls, model: LinearModel, documents: Any, truth: np.ndarray, shared: list[Hashable], exclusive: bool
    ) -> Judged:
        scores, columns = model.scores(documents), [model.classes.index(label) for label in shared]
        return cls(model.class_proba(scores)[:, columns], model.decide(scores)[:, columns], truth, exclusive)

    @cached_property
    def loss(self) -> np.ndarray:
        each = surprise(self.proba, self.truth)
        return np.asarray(np.where(self.truth, each, 0.0).sum(axis=1) if self.exclusive else each.sum(axis=1))

    @cached_property
    def wrong(self) -> np.ndarray:
        return np.asarray((self.chosen != self.truth).any(axis=1))


def _on_documents(
    a: LinearModel, b: LinearModel, shared: list[Hashable], corpus: Corpus, level: float, resamples: int, seed: int
) -> OnDocuments:
    check_labels(corpus, a)
    check_labels(corpus, b)
    truth = membership(corpus.labels, shared)
    mine, theirs = (
        Judged.of(model, in_columns(corpus, model), truth, shared, a.exclusive and b.exclusive) for model in (a, b)
    )
    measures, f1 = bootstrap(mine, theirs, level=level, resamples=resamples, seed=seed)
    only_a, only_b = int(np.sum(mine.wrong & ~theirs.wrong)), int(np.sum(theirs.wrong & ~mine.wrong))
    occurs = np.flatnonzero(truth.any(axis=0))
    apart = mine.chosen != theirs.chosen
    categories = [
        CategoryDifference(shared[k], int(truth[:, k].sum()), int(apart[:, k].sum()), f1[k]) for k in occurs.tolist()
    ]
    return OnDocuments(
        len(corpus), level, int(apart.any(axis=1).sum()), only_a, only_b, mcnemar(only_a, only_b), measures, categories,
        _regressions(mine, theirs, shared, corpus),
    )  # fmt: skip


def mcnemar(only_a: int, only_b: int) -> float:
    """The exact two-sided p-value."""
    from scipy.special import bdtr

    n = only_a + only_b
    return min(1.0, 2.0 * float(bdtr(min(only_a, only_b), n, 0.5))) if n else 1.0


def bootstrap(
    a: Judged, b: Judged, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[dict[str, Interval], list[Interval]]:
    """Intervals of the differences of all measures, and of every category's F1."""
    n = len(a.truth)
    generator = np.random.default_rng(seed)
    block = max(BLOCK // max(n, 1), 1)
    drawn = []
    for first in range(0, resamples, block):
        counts = generator.multinomial(n, np.full(n, 1.0 / n), size=min(block, resamples - first)).astype(np.float64)
        drawn.append([_measured(one, counts) for one in (a, b)])
    whole = [_measured(one, np.ones((1, n))) for one in (a, b)]
    ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]

    def interval(name: str) -> Interval:
        before, after = (float(one[name][0]) for one in whole)
        low, high = np.quantile(np.concatenate([second[name] - first[name] for first, second in drawn]), ends)
        return Interval(before, after, after - before, float(low), float(high))

    f1 = []
    for k, (before, after) in enumerate(zip(*(one["f1"][0].tolist() for one in whole), strict=True)):
        kinds = np.bincount(4 * a.truth[:, k] + 2 * a.chosen[:, k] + b.chosen[:, k], minlength=8) + KIND
        low, high = np.quantile(_f1_apart(generator.multinomial(n, kinds / kinds.sum(), size=resamples)), ends).tolist()
        f1.append(Interval(before, after, after - before, low, high))
    return {name: interval(name) for name in whole[0] if name != "f1"}, f1


def _f1_apart(counts: np.ndarray) -> np.ndarray:
    """F1 of B less that of A from documents of each kind, (draws, 8) by 4·member + 2·chosen by A + chosen by B."""
    inside, by_a, by_b = (counts[:, [kind for kind in range(8) if kind & bit]].sum(axis=1) for bit in (4, 2, 1))
    right_a, right_b = counts[:, 6] + counts[:, 7], counts[:, 5] + counts[:, 7]
    one, other = (
        np.where(inside + chosen > 0, 2.0 * right / np.maximum(inside + chosen, 1), 1.0)
        for right, chosen in ((right_a, by_a), (right_b, by_b))
    )
    return np.asarray(other - one)


def _measured(one: Judged, counts: np.ndarray) -> dict[str, np.ndarray]:
    """Measures of documents taken so many times: counts (draws, n)."""

    def total(where: np.ndarray) -> np.ndarray:
        return np.asarray(sp.csr_matrix(where.T.astype(np.float64)) @ counts.T).T

    tp, size, occurs = total(one.truth & one.chosen), total(one.truth) + total(one.chosen), total(one.truth)
    f1 = np.divide(2.0 * tp, size, out=np.ones_like(tp), where=size > 0.0)
    among = occurs > 0.0
    measures = {
        "macro_f1": np.where(among, f1, 0.0).sum(axis=1) / np.maximum(among.sum(axis=1), 1),
        "micro_f1": 2.0 * tp.sum(axis=1) / np.maximum(size.sum(axis=1), 1.0),
        "log_loss": counts @ one.loss / counts.sum(axis=1),
        "f1": f1,
    }
    return measures | ({"accuracy": tp.sum(axis=1) / counts.sum(axis=1)} if one.exclusive else {})


def _regressions(a: Judged, b: Judged, shared: list[Hashable], corpus: Corpus) -> list[dict[str, Any]]:
    """Documents with labels that B knows less of than A did; each with the category that it lost most in."""
    worse = b.loss - a.loss
    records = []
    for i in np.argsort(-worse, kind="stable")[:REGRESSIONS].tolist():
        if worse[i] <= 0.0:
            break
        k = int(np.argmax(surprise(b.proba[i], b.truth[i]) - surprise(a.proba[i], a.truth[i])))
        records.append(
            {
                "id": str(corpus.ids[i]),
                "labels": list(corpus.labels[i]),
                "loss": [float(a.loss[i]), float(b.loss[i])],
                "category": shared[k],
                "probability": [float(a.proba[i, k]), float(b.proba[i, k])],
                "text": None if corpus.kind == "vectors" else corpus.documents[i][:SHOWN],
            }
        )
    return records
