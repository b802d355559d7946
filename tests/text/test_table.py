from __future__ import annotations

import json
import unicodedata
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from lapwing.errors import SettingsError
from lapwing.text import TextSettings, design
from lapwing.text.table import (
    CLASS_SHIFT,
    CODE_POINTS,
    CURRENT_VERSION,
    DIGIT,
    IGNORABLE,
    LETTER,
    MARK,
    SEPARATOR,
    SINGLE,
    SPACE,
    TokenTable,
    token_table,
)

fold = token_table().fold
classes = fold >> CLASS_SHIFT
lower = fold & ((1 << CLASS_SHIFT) - 1)


def test_every_code_point_has_a_class_and_a_lower_case() -> None:
    assert fold.shape == (CODE_POINTS,)
    assert set(np.unique(classes)) == {SEPARATOR, LETTER, DIGIT, SINGLE, MARK, IGNORABLE, SPACE}
    assert lower.min() == 0
    assert lower.max() < CODE_POINTS


def test_lower_casing_keeps_the_class_and_is_done_in_one_step() -> None:
    assert np.array_equal(classes[lower], classes)
    assert np.array_equal(lower[lower], lower)


@pytest.mark.parametrize(
    ("letters", "token_class"),
    [
        ("aZéßДאעक한カー", LETTER),
        ("09٣½Ⅳ²", DIGIT),
        ("中文ไລខမ", SINGLE),
        ("\u0301\u093f\u0e31\u20dd", MARK),
        ("\u200b\u200d\u00ad\ufeff\u200f", IGNORABLE),
        (" \t\n\x1c\x85\u2028\u3000\ud800\udfff", SPACE),
        ("_-'.,!<>&\x00👍€\ue000\u0378\U0010ffff", SEPARATOR),
    ],
)
def test_known_classes(letters: str, token_class: int) -> None:
    assert {letter: classes[ord(letter)] for letter in letters} == dict.fromkeys(letters, token_class)


def test_known_lower_cases() -> None:
    pairs = zip("AZÉДΣẞǅ", "azéдσßǆ", strict=True)
    assert all(lower[ord(upper)] == ord(small) for upper, small in pairs)
    assert lower[ord("İ")] == ord("İ")  # its lower case is two code points long, so it has none here


def test_the_table_is_what_its_file_says() -> None:
    record = json.loads((files("lapwing.text") / "data" / "token-table-1.json").read_text(encoding="ascii"))
    assert record["version"] == 1
    assert list(record["classes"].values()) == [SEPARATOR, LETTER, DIGIT, SINGLE, MARK, IGNORABLE, SPACE]
    ends = [(-1, -1), *((first, last) for first, last, _ in record["runs"]), (CODE_POINTS, CODE_POINTS)]
    assert all(a[1] < b[0] <= b[1] for a, b in pairwise(ends))
    by_hand = np.arange(CODE_POINTS)
    by_hand[[upper for upper, _ in record["lower"]]] = [small for _, small in record["lower"]]
    for first, last, token_class in record["runs"]:
        by_hand[first : last + 1] += token_class * 2**21
    assert np.array_equal(token_table(1).fold, by_hand)


def test_the_third_version_folds_full_width_letters_and_digits_and_nothing_else() -> None:
    """As Unicode's compatibility forms do; a version that models name stays as it was."""
    changed = np.flatnonzero(token_table(2).fold != token_table(3).fold).tolist()
    assert set(map(chr, changed)) == set("０１２３４５６７８９ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ"
                                        "ａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ")  # fmt: skip
    assert all(chr(lower[code]) == unicodedata.normalize("NFKC", chr(code)).lower() for code in changed)
    assert np.array_equal(token_table(1).fold, token_table(2).fold)
    assert token_table(3).longest_stemmed == token_table(2).longest_stemmed == 200


def test_a_model_keeps_the_table_it_was_trained_with() -> None:
    wide = ["Ｗｈｅａｔ ２０"]
    old, new = TextSettings(table=2, stemmer="none"), TextSettings(stemmer="none")
    assert design(wide, old).feature_names == ["２０", "ｗｈｅａｔ"]
    assert design(wide, new).feature_names == ["20", "wheat"]
    assert TextSettings.from_dict(old.to_dict()).table == 2


def test_loading_twice_gives_the_same_table() -> None:
    first = token_table(CURRENT_VERSION)
    token_table.cache_clear()
    again = token_table(CURRENT_VERSION)
    assert isinstance(again, TokenTable)
    assert again is not first
    assert again == first
    assert np.array_equal(again.fold, first.fold)


def test_an_unknown_version_is_named() -> None:
    with pytest.raises(SettingsError, match="token table 99"):
        token_table(99)
