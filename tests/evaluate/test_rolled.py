from __future__ import annotations

import pytest

from lapwing.corpus import Hierarchy
from lapwing.errors import InputError
from lapwing.evaluate.rolled import roll_up


def test_broader_labels_by_hand() -> None:
    truth = [("science/physics",), ("science/chemistry",), ("arts/music/jazz",), ("arts",)]
    chosen = [("science/chemistry",), ("science/chemistry",), ("arts/music/jazz", "science/physics"), ()]
    first, second, third = roll_up(truth, chosen, "/")
    assert (first["labels"], second["labels"], third["labels"]) == (2, 4, 4)
    assert first["macro_f1"] == pytest.approx((2 * 2 / (4 + 1) + 2 * 1 / (2 + 1)) / 2)  # science 2 1 0, arts 1 0 1
    assert first["micro_f1"] == pytest.approx(2 * 3 / (6 + 2))
    assert third["micro_f1"] == pytest.approx(2 * 2 / (4 + 2 + 2))


def test_one_label_each_and_none_with_levels() -> None:
    assert roll_up([("a/x",), ("b/x",)], ["a/y", "b/x"], "/")[0]["macro_f1"] == 1.0
    with pytest.raises(InputError, match="none has '/' in it"):
        roll_up([("a",)], ["a"], "/")


def test_names_and_pairs_are_one_mechanism() -> None:
    truth = [("science/physics",), ("science/chemistry",), ("arts/music/jazz",), ("arts",)]
    chosen = [("science/chemistry",), ("science/chemistry",), ("arts/music/jazz", "science/physics"), ()]
    above = {"science/physics": "science", "science/chemistry": "science", "arts/music/jazz": "arts/music",
             "arts/music": "arts"}  # fmt: skip
    assert roll_up(truth, chosen, Hierarchy.of(above.items())) == roll_up(truth, chosen, "/")
    with pytest.raises(InputError, match="none of the documents' labels has any"):
        roll_up(truth, chosen, Hierarchy.of([("a", "b")]))
