"""A corpus as the experiments need it: both parts as matrices, and the categories."""

from __future__ import annotations

import logging
from collections.abc import Collection as Labels
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.training import Progress
from lapwing.training.targets import Targets, check_weights, targets
from lapwing_papers.glm07.paper import RCV1_TEST_DOCUMENTS, Paper
from lapwing_papers.settings import matrices, training
from lapwing_papers.shown import both_parts

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
