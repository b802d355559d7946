"""What is held out is like what is to come: equal texts together, empty ones each by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lapwing.corpus import Corpus
from lapwing.corpus.document import Record
from lapwing.model.trained_on import TrainedOn, sketch
from lapwing.text import TextSettings
from lapwing.training import TrainSettings, portions
from lapwing.training.holdout import holdout_of
from lapwing.training.suspects import agreed, disagreements


def corpus_of(texts: list[str], labels: list[str]) -> Corpus:
    n = len(texts)
    return Corpus(
        "d", "text", texts, [(one,) for one in labels], [str(i) for i in range(n)], True, [""] * n, np.ones(n)
    )


def filler(count: int) -> list[str]:
    return [f"word{i} word{i % 7} common" for i in range(count)]


@pytest.mark.parametrize("empty", ["", " \n", "…", "a a"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_fifth_of_the_texts_without_a_word_is_held_out(empty: str, seed: int) -> None:
    """Whether nothing is written there, or nothing that the settings read: "a" is a stop word here."""
    data = corpus_of([*filler(150), *[empty] * 50], [*(["grain", "oil"] * 75), *["leer"] * 50])
    settings = TrainSettings(random_state=seed, text=TextSettings(stop_words="smart"))
    held_out = holdout_of(data, 0.2, settings)
    assert held_out[150:].sum() == 10
    assert 38 <= held_out.sum() <= 42
    assert np.bincount(portions(data, 5, settings).fold[150:]).tolist() == [10] * 5


def test_empty_texts_of_every_label_are_shared_out_evenly() -> None:
    labels = ["grain", "oil", "trade"] * 100
    data = corpus_of(["" if i % 6 < 3 else f"word{i}" for i in range(300)], labels)
    fold = portions(data, 5, TrainSettings()).fold
    for label in ("grain", "oil", "trade"):
        own = [i for i in range(300) if labels[i] == label]
        for some in (own, [i for i in own if data.documents[i] == ""]):
            assert np.ptp(np.bincount(fold[some], minlength=5)) <= 2


def test_groups_of_equal_texts_are_held_out_as_groups_and_as_often_as_others() -> None:
    texts = [f"repeated{i % 300}" for i in range(900)] + filler(1100)
    data = corpus_of(texts, ["grain", "oil"] * 1000)
    shares = []
    for seed in range(5):
        held_out = holdout_of(data, 0.2, TrainSettings(random_state=seed))
        assert (held_out[:300] == held_out[300:600]).all()
        assert (held_out[:300] == held_out[600:900]).all()
        shares.append(held_out[:900].mean())
    assert np.mean(shares) == pytest.approx(0.2, abs=0.02)


def test_empty_texts_of_one_group_stay_together() -> None:
    data = corpus_of(["", "", "", "", *filler(60)], ["grain", "oil"] * 32)
    fold = portions(replace(data, groups=["x", "y", "x", "y", *[""] * 60]), 5, TrainSettings()).fold
    assert fold[0] == fold[2]
    assert fold[1] == fold[3]
    assert fold[0] != fold[1]


def test_empty_texts_with_columns_beside_them_are_each_their_own() -> None:
    rows = [Record("" if i < 50 else f"word{i}", {"kind": "x"}) for i in range(200)]
    data = replace(corpus_of(rows, ["grain", "oil"] * 100), categorical=("kind",))  # type: ignore[arg-type]
    assert holdout_of(data, 0.2, TrainSettings())[:50].sum() == 10


def test_empty_texts_are_no_documents_trained_on_and_no_disagreement() -> None:
    before = TrainedOn(sketch(["", "one", "two", "three"]))
    before.add([""] * 50 + ["four", "five", "six"])
    assert before.share == 0.25  # the empty text once, of four different ones
    first, second = corpus_of(["", "one"], ["a", "a"]), corpus_of(["", "one"], ["b", "b"])
    assert [record["text"] for record in disagreements(first, second)] == ["one"]
    assert [record["text"] for record in agreed(first, second)] == ["", ""]
