"""SMART records and RCV1 token files, which share their form."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.errors import CorpusError
from lapwing_formats.smart import headings

from .build import QRELS, RCV1, SMART

Write = Callable[[str, bytes | str], Path]


def test_smart_fields(write: Write) -> None:
    read = corpus.read(write("ohsumed.87", SMART))
    assert read.ids == ["87049087", "87049088"]
    assert (
        read.documents[0] == "Refibrillation managed by EMT-Ds\nSome patients converted from\nventricular fibrillation."
    )
    assert read.documents[1] == "Only a title"
    assert read.labels == [("Allied Health Personnel", "Electric Countershock", "Human"), ("Human", "Male")]
    assert read.split == ["train", "train"]
    assert not read.exclusive


def test_ohsumed_years_are_splits(tmp_path: Path, write: Write) -> None:
    for year in (87, 88, 89, 90, 91):
        write(f"d/ohsumed.{year}", SMART)
    assert corpus.read(tmp_path / "d").split == ["train"] * 4 + ["test"] * 6


def test_required_fields(write: Write) -> None:
    read = corpus.read(write("ohsumed.87", SMART), smart_require="TWM")
    assert read.ids == ["87049087"]
    assert read.skipped == 0


def test_categories_keep_labels_not_documents(write: Write) -> None:
    read = corpus.read(write("ohsumed.87", SMART), categories=["Human"])
    assert read.labels == [("Human",), ("Human",)]
    assert corpus.read(write("ohsumed.87", SMART), categories=["Male"]).labels == [(), ("Male",)]


def test_content_on_the_marker_line(write: Write) -> None:
    read = corpus.read(write("cran.all", ".I 1\n.T a title\n on two lines\n.A\nx\n.W\n.5 is not a field\n"))
    assert read.ids == ["1"]
    assert read.documents == ["a title\n on two lines\n.5 is not a field"]


@pytest.mark.parametrize(
    ("field", "labels"),
    [
        ("Anemia, Sickle Cell/*DI/TH; Human.", ("Anemia, Sickle Cell", "Human")),
        ("*Heart; Heart/AB", ("Heart",)),
        ("", ()),
        (".", ()),
    ],
)
def test_headings(field: str, labels: tuple[str, ...]) -> None:
    assert headings(field) == labels


@pytest.mark.parametrize(
    ("data", "line", "format"),
    [
        (b"stray\n.I 1\n.T\nx\n", 1, "smart"),
        (b".T\nx\n.I 1\n.T\nx\n", 1, "smart"),
        (b".I 1\n.T\nx\n.I\n.T\ny\n", 4, "smart"),
        (b".I 1\n.T\nx\n.I 2\n.T\ncaf\xe9\n", 4, "smart"),
        (b".I 1\n.W\nx\n.I 2\n", 4, "rcv1"),
        (b".I 1\n.W\nx\n.I 2\n.T\ny\n.W\nz\n", 4, "rcv1"),
    ],
)
def test_broken_records(data: bytes, line: int, format: str, write: Write) -> None:
    path = write("a", data)
    with pytest.raises(CorpusError) as caught:
        corpus.read(path, format, labels_required=False)
    assert caught.value.line == line
    kept = corpus.read(path, format, labels_required=False, skip_bad=True)
    assert kept.ids == ["1"]
    assert kept.skipped == 1


@pytest.mark.parametrize("qrels", ["rcv1-v2.topics.qrels", "rcv1-v2.topics.qrels.gz"])
def test_rcv1_finds_the_topics_beside_the_tokens(qrels: str, write: Write) -> None:
    path = write("lyrl2004_tokens_train.dat", RCV1)
    write(qrels, gzip.compress(QRELS) if qrels.endswith("gz") else QRELS)
    read = corpus.read(path)
    assert read.kind == "tokens"
    assert read.documents == ["recov recov excit", "kong hong"]
    assert read.labels == [("E11", "ECAT"), ("M11",)]
    assert read.split == ["train", "train"]
    assert not read.exclusive


def test_rcv1_topics_by_option_or_not_at_all(write: Write) -> None:
    path = write("lyrl2004_tokens_test_pt0.dat", RCV1)
    with pytest.raises(CorpusError, match=r"rcv1-v2.topics.qrels.*--qrels"):
        corpus.read(path)
    assert corpus.read(path, labels_required=False).labels == [(), ()]
    qrels = write("elsewhere.txt", b"C1 2287 1\nC2 2286 0\n")
    read = corpus.read(path, qrels=qrels)
    assert read.labels == [(), ("C1",)]
    assert read.split == ["test", "test"]


def test_broken_qrels(write: Write) -> None:
    path = write("lyrl2004_tokens_train.dat", RCV1)
    qrels = write("q", b"C1 2286 1\nC1 2287\n")
    with pytest.raises(CorpusError, match=r"q, line 2.*CATEGORY"):
        corpus.read(path, qrels=qrels)
    assert corpus.read(path, qrels=qrels, skip_bad=True).skipped == 1
    with pytest.raises(CorpusError, match="no such file"):
        corpus.read(path, qrels="missing.qrels")
