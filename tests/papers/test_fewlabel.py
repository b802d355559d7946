"""Few labels: what is drawn, what is known of the categories, and that knowing it shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing_papers.fewlabel import HEADERS, descriptions, learning_curves, reproduction, table_of

TOPICS = {
    "grain": "wheat corn harvest bushel farm crop barley silo",
    "energy": "oil gas barrel crude pipeline refinery fuel rig",
    "money": "bank rate currency dollar interest loan credit bond",
}


def corpus(exclusive: bool, n: int = 60) -> Corpus:
    draw = np.random.default_rng(0)
    labels = [sorted(TOPICS)[i % 3] for i in range(n)]
    common = "prices said market year company report week people".split()
    texts = [" ".join([*draw.choice(TOPICS[k].split(), 2), *draw.choice(common, 6)]) for k in labels]
    split = ["train" if i < n // 2 else "test" for i in range(n)]
    return Corpus(
        name="made", kind="text", documents=texts, labels=[(k,) for k in labels], ids=[str(i) for i in range(n)],
        exclusive=exclusive, split=split, weights=np.ones(n),
    )  # fmt: skip


@pytest.mark.parametrize("exclusive", [True, False])
def test_words_named_in_advance_help(exclusive: bool, tmp_path: Path) -> None:
    curves = learning_curves(corpus(exclusive), TOPICS, sizes=(1, 3, 8), draws=3)
    assert curves.without.shape == curves.named.shape == (3, 3)
    assert curves.named[0].mean() > curves.without[0].mean() + 0.1
    assert curves.words["grain"] == f"grain {TOPICS['grain']}"
    again = learning_curves(corpus(exclusive), TOPICS, sizes=(1, 3, 8), draws=3, n_jobs=2)
    np.testing.assert_array_equal(again.named, curves.named)
    assert [row[0] for row in table_of(curves).rows] == ["1", "3", "8"]
    reproduction([curves]).write(tmp_path / "out")
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    assert record["corpora"][0]["positives"] == [1, 3, 8]
    assert (tmp_path / "out" / "few-labels.png").read_bytes().startswith(b"\x89PNG")


def test_corpora_that_do_not_do() -> None:
    with pytest.raises(InputError, match="no category has 50 positive"):
        learning_curves(corpus(False), TOPICS, sizes=(50,), draws=1)
    with pytest.raises(InputError, match="none of 'test'"):
        learning_curves(corpus(True).part("train"), TOPICS, sizes=(1,), draws=1)


def test_headers_name_the_group_and_go() -> None:
    message = "From: a@b\nNewsgroups: sci.space\n\tmore\nSubject: x\n\nThe text: of it\n\nall"
    assert HEADERS.sub("", message, count=1) == "The text: of it\n\nall"
    assert HEADERS.match("Just a text\n\nin two parts") is None


def test_descriptions_come_with_the_collections(tmp_path: Path) -> None:
    subjects = "Crude Oil (CRUDE)\n  Money/Foreign Exchange (MONEY-FX)\nCORN\n"
    notes = f"x (NO)\n****Subject Codes (135)\n\n{subjects}____\nOrg (ORG)\n"
    (tmp_path / "cat-descriptions_1.txt").write_text(notes)
    result = descriptions(["crude", "money-fx", "corn", "org", "sci.med"], str(tmp_path))
    assert result == {
        "crude": "Crude Oil",
        "money-fx": "Money/Foreign Exchange",
        "sci.med": "Medicine and its related products and regulations.",
    }
