"""Tokens cut by a function of one's own, or by a library that may not be there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lapwing
from lapwing import LogTfidfVectorizer, TextClassifier
from lapwing.errors import InputError, SettingsError
from lapwing.formats import model_file
from lapwing.reporting.live import refusal
from lapwing.text import TextSettings, count_terms, cutting

TEXTS = ["good;film", "fine;film", "bad;film", "dull;film"]
LABELS = [1, 1, 0, 0]


def by_semicolon(text: str) -> list[str]:
    return text.split(";")


@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_tokens_are_counted_as_they_come(method: str) -> None:
    counts = count_terms(["The;the;Don't", ""], TextSettings(tokens=lambda text: text.split(";") if text else []),
                         method=method)  # fmt: skip
    assert counts.terms == ["Don't", "The", "the"]
    assert counts.matrix.toarray().tolist() == [[1, 1, 1], [0, 0, 0]]


def test_a_model_of_ones_own_tokens(tmp_path: Path) -> None:
    model = TextClassifier(tokens=by_semicolon, variance=100.0).fit(TEXTS, LABELS)
    assert model.predict(["x;good"]).tolist() == [1]
    part = model.explain("x;good").categories[0].contributions[0]
    assert (part.feature, part.spans) == ("good", ((2, 6),))
    model.save(tmp_path / "m.lapwing")
    loaded = lapwing.load(tmp_path / "m.lapwing")
    assert loaded.weighting.settings.to_dict()["cut"].endswith("by_semicolon")
    with pytest.raises(InputError, match=r"cut by .*by_semicolon.*tokens=function"):
        loaded.predict(["x;good"])
    whole = lapwing.load(tmp_path / "m.lapwing", tokens=by_semicolon)
    np.testing.assert_array_equal(whole.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert "by_semicolon" in str(refusal(whole))
    assert model_file.to_bytes(whole) == model_file.to_bytes(loaded)


def test_pairs_of_ones_own_tokens() -> None:
    vectorizer = LogTfidfVectorizer(tokens=by_semicolon, word_ngrams=(1, 2)).fit(TEXTS)
    assert "good film" in vectorizer.get_feature_names_out().tolist()


@pytest.mark.parametrize("tokens", [["a b"], [""], [3], ["a\n"]])
def test_what_is_no_token_is_named(tokens: list[object]) -> None:
    with pytest.raises(InputError, match="without white space"):
        count_terms(["x"], TextSettings(tokens=lambda _: tokens))  # type: ignore[arg-type]


def test_a_model_that_cuts_by_itself_takes_no_function(tmp_path: Path) -> None:
    TextClassifier(variance=100.0).fit(["good film", "bad film"], [1, 0]).save(tmp_path / "m.lapwing")
    with pytest.raises(InputError, match="by itself"):
        lapwing.load(tmp_path / "m.lapwing", tokens=by_semicolon)
    with pytest.raises(SettingsError, match="tokens must be one of"):
        TextSettings(tokens="klingon")


@pytest.fixture
def anew() -> Iterator[None]:
    """The library is looked for in the test, and again after it."""
    cutting._jieba.cache_clear()
    yield
    cutting._jieba.cache_clear()


@pytest.mark.parametrize("library", ["jieba3", "jieba"])
def test_chinese_words(library: str, monkeypatch: pytest.MonkeyPatch, anew: None) -> None:
    """Either package cuts the words of a model that names jieba, and both cut the same."""
    pytest.importorskip(library)
    for other in {"jieba3", "jieba"} - {library}:
        monkeypatch.setitem(sys.modules, other, None)
    settings = TextSettings(tokens="jieba", min_df=2)
    result = count_terms(["我来到北京清华大学, Python 3!", "小明硕士毕业于中国科学院计算所"], settings)
    assert result.terms == sorted("我 来到 北京 清华大学 python 3 小明 硕士 毕业 于 中国科学院 计算所".split())
    assert TextSettings.from_dict(settings.to_dict()) == settings
    assert settings.to_dict()["cut"] == "jieba"


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, anew: None) -> None:
    for library in ("jieba3", "jieba"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=r"jieba, which is not installed.*lapwing\[chinese\]"):
        count_terms(["北京"], TextSettings(tokens="jieba"))
