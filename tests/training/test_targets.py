"""Labels to targets, and what is said of labels that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing
from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.training.targets import targets


def test_signs_are_plus_one_where_a_document_has_the_label() -> None:
    goal = targets([("a",), ("a", "b"), ()], False)
    assert goal.classes == ("a", "b")
    assert goal.signs(0).tolist() == [1.0, 1.0, -1.0]
    assert goal.signs(1).tolist() == [-1.0, 1.0, -1.0]


def test_classes_that_no_document_has_are_there() -> None:
    goal = targets([("a",), ()], False, ["a", "z"])
    assert goal.classes == ("a", "z")
    assert goal.signs(1).tolist() == [-1.0, -1.0]


def test_a_label_that_is_none_of_the_classes_given_is_named() -> None:
    texts, labels = ["wheat", "corn", "gold", "tin"], [("grain",), ("grain",), ("metal",), ("metal",)]
    corpus = Corpus("four", "text", texts, labels, list("abcd"), True, [""] * 4, np.ones(4))
    with pytest.raises(InputError, match="the label 'metal', which is none of the classes given"):
        lapwing.train(corpus, classes=["grain", "oil"])
