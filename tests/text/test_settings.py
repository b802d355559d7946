from __future__ import annotations

from pathlib import Path

import pytest
import Stemmer

from lapwing.errors import InputError, SettingsError
from lapwing.text import TextSettings, count_terms, design, smart_stop_words, stemmer_names

PLAIN = {"stop_words": "none", "stemmer": "none"}


def terms(text: str, **options: object) -> list[str]:
    return count_terms([text], TextSettings(**options)).terms


def test_the_smart_list() -> None:
    words = smart_stop_words()
    assert len(words) == len(set(words)) == 570
    assert {"a", "the", "don't", "zero"} <= set(words)
    assert terms("The cat isn't on a mat", stop_words="smart", stemmer="none") == ["cat", "mat"]


def test_no_list_and_an_own_list() -> None:
    assert terms("The cat", **PLAIN) == ["cat", "the"]
    assert terms("The cat sat", stop_words=["CAT"], stemmer="none") == ["sat", "the"]
    assert terms("The cat", stop_words=(), stemmer="none") == ["cat", "the"]


def test_an_entry_stops_each_of_its_tokens() -> None:
    settings = TextSettings(stop_words=["don't"], stemmer="none")
    assert settings.stop_set == {"don", "t"}
    assert count_terms(["don't do t don"], settings).terms == ["do"]


def test_stop_words_are_compared_before_stemming() -> None:
    assert terms("running runs run", stop_words=["run"]) == ["run"]
    assert count_terms(["running runs run"], TextSettings(stop_words=["run"])).matrix.toarray().tolist() == [[2]]


def test_ready_made_tokens_are_neither_stopped_nor_stemmed() -> None:
    assert terms("the Running", tokens="ready") == ["Running", "the"]


@pytest.mark.parametrize("name", stemmer_names())
def test_every_snowball_stemmer(name: str) -> None:
    words = "generalizations beautifully корабли universités häuser casas 中 χώρες".split()
    expected = {stem for stem in Stemmer.Stemmer(name).stemWords(words) if stem}
    assert terms(" ".join(words), stop_words="none", stemmer=name) == sorted(expected)


def test_porter_adds_up_what_it_merges() -> None:
    counts = count_terms(["connected connection connecting tree"], TextSettings(stop_words="none"))
    assert counts.terms == ["connect", "tree"]
    assert counts.matrix.toarray().tolist() == [[3, 1]]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tokens", "words"),
        ("tokens", None),
        ("tf", "log2"),
        ("stop_words", "english"),
        ("stop_words", [1]),
        ("stemmer", "klingon"),
        ("digits", 1),
        ("strip_html", "no"),
        ("idf", None),
        ("cosine", 0),
        ("min_df", 0),
        ("min_df", 1.5),
        ("min_df", True),
        ("table", "1"),
        ("table", 0),
    ],
)
def test_bad_settings_are_named(option: str, value: object) -> None:
    with pytest.raises(SettingsError, match=option):
        TextSettings(**{option: value})


def test_an_unknown_token_table_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="table 99 "):
        TextSettings(table=99)


@pytest.mark.parametrize(
    "settings",
    [TextSettings(), TextSettings(stop_words=["a", "Ω"], tf="raw", idf=False, min_df=3, tokens="char")],
)
def test_settings_survive_as_a_dictionary(settings: TextSettings) -> None:
    assert TextSettings.from_dict(settings.to_dict()) == settings


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(SettingsError, match="'colour'"):
        TextSettings.from_dict({"colour": 1})


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["a b", "c d"], {"min_df": 2}),
        (["the", "of and"], {"stop_words": "smart"}),
        (["", " \n"], {}),
        ([], {}),
        (["1984 42"], {"digits": False}),
    ],
)
def test_no_term_left_is_an_error(texts: list[str], options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="no term is left"):
        design(texts, TextSettings(**{**PLAIN, **options}))


@pytest.mark.parametrize("broken", [None, b"bytes", 3, ["a"], Path("a")])
def test_a_document_that_is_no_string_is_counted_out(broken: object) -> None:
    with pytest.raises(InputError, match="document 1 must be a string"):
        design(["a", broken], TextSettings(**PLAIN))  # type: ignore[list-item]
