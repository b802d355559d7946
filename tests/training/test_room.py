"""Where a setting cannot work at a size, a sentence comes before the work."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.corpus import Corpus
from lapwing.errors import SettingsError
from lapwing.training import TrainSettings, learn, room


def corpus(classes: int, *, exclusive: bool) -> Corpus:
    n = 2 * classes
    texts = [f"word{k % classes} word{(k + 1) % classes} common" for k in range(n)]
    labels = [(f"c{k % classes}",) for k in range(n)]
    return Corpus("made", "text", texts, labels, [str(k) for k in range(n)], exclusive, [""] * n, np.ones(n))


def test_a_softmax_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "memory", lambda: 2e6)
    with pytest.raises(SettingsError, match=r"120 classes, 240 documents.* this machine has 2\.0 MB; .*ovr"):
        learn(corpus(120, exclusive=True), TrainSettings(multi_class="multinomial"))


def test_thresholds_for_more_categories_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "memory", lambda: 1e6)
    with pytest.raises(SettingsError, match=r"240 held-out documents in 120 categories.*threshold"):
        learn(corpus(120, exclusive=False), TrainSettings(threshold="f1"))


def test_a_machine_of_its_own_memory() -> None:
    assert room.memory() > 1e8
    room.check_softmax(20, 10_000, 20_000)
    with pytest.raises(SettingsError, match="GB"):
        room.check_softmax(20_000_000, 1_000_000, 1_000_000)
