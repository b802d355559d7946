"""Counts of real corpora, from the folder that LAPWING_CORPORA names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lapwing import corpus

Real = Callable[[str], Path]


def test_reuters_modapte(real: Real) -> None:
    read = corpus.read(real("reuters21578.tar.xz"))
    assert len(read) == 21_578
    assert read.skipped == 0
    train, test = read.part("train"), read.part("test")
    assert (len(train), len(test)) == (9_603, 3_299)
    assert len(set(train.categories()) & set(test.categories())) == 90
    in_train = Counter(label for labels in train.labels for label in labels)
    in_test = Counter(label for labels in test.labels for label in labels)
    assert (in_train["earn"], in_test["earn"]) == (2_877, 1_087)
    assert (in_train["acq"], in_test["acq"]) == (1_650, 719)
    assert in_train["corn"] == 181
    assert not any("&lt;" in text or "</" in text for text in read.documents)
    as_printed = corpus.read(real("reuters21578.tar.xz"), reuters_text="glm07").part("train")
    assert as_printed.labels == train.labels
    assert sum(not text.strip() for text in as_printed.documents) == 54  # those with neither a title nor a body


@pytest.mark.parametrize(("scheme", "train", "test"), [("modlewis", 13_625, 6_188), ("modhayes", 20_856, 722)])
def test_reuters_other_splits(real: Real, scheme: str, train: int, test: int) -> None:
    split = Counter(d.split for d in corpus.stream(real("reuters21578.tar.xz"), reuters_split=scheme))
    assert (split["train"], split["test"]) == (train, test)


def test_newsgroups(real: Real) -> None:
    read = corpus.read(real("20news-bydate.tar.xz"))
    assert (len(read.part("train")), len(read.part("test"))) == (11_314, 7_532)
    assert len(read.categories()) == 20
    assert read.exclusive
    assert len(set(read.ids)) == len(read)


def test_movie_reviews(real: Real) -> None:
    read = corpus.read(real("movie_reviews.zip"))
    assert Counter(read.labels) == {("neg",): 1_000, ("pos",): 1_000}


def test_sogou(real: Real) -> None:
    read = corpus.read(real("sogou-3000.tar.xz"), encoding="gb18030")
    assert len(read) == 3_000
    assert read.exclusive
    assert set(Counter(read.labels).values()) == {300}
    assert len(read.categories()) == 10
    assert len(set(read.ids)) == 3_000
