"""Bags of short n-grams: against scikit-learn, against plain Python, and by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from lapwing.errors import SettingsError
from lapwing.text import Counts, TextSettings, bags, count_terms, design, tokenize

from .strategies import texts

PLAIN = {"stop_words": "none", "stemmer": "none"}
WAYS = [
    TextSettings(word_ngrams=(1, 2)),
    TextSettings(word_ngrams=(2, 3), stop_words=("the", "a"), stemmer="porter"),
    TextSettings(word_ngrams=(1, 3), tokens="ready"),
    TextSettings(char_ngrams=(3, 5)),
    TextSettings(char_ngrams=(1, 6), tokens="char"),
    TextSettings(char_ngrams=(2, 3), tokens="ready"),
    TextSettings(char_ngrams=(6, 6), digits=False),
]


def settings(**options: object) -> TextSettings:
    return TextSettings(**{**PLAIN, **options})


@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_by_hand(method: str) -> None:
    result = count_terms(["a b a b", "", "b a"], settings(word_ngrams=(1, 2)), method=method)
    assert result.terms == ["a", "a b", "b", "b a"]
    assert result.matrix.toarray().tolist() == [[2, 2, 2, 1], [0, 0, 0, 0], [1, 0, 1, 1]]
    result = count_terms(["a BA", "b"], settings(char_ngrams=(2, 3)), method=method)
    assert result.terms == [" a", " a ", " b", " b ", " ba", "a ", "b ", "ba", "ba "]
    across = count_terms(["a\n BA"], settings(char_ngrams=(3, 4), tokens="char"), method=method)
    assert across.terms == [" ba", "a b", "a ba"]


@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_no_ngram_goes_across_a_stop_word(method: str) -> None:
    stopped = TextSettings(word_ngrams=(1, 2), stop_words="smart")
    result = count_terms(["king of france", "kings France"], stopped, method=method)
    assert result.terms == ["franc", "king", "king franc"]
    assert result.matrix.toarray().tolist() == [[1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_a_short_word_is_counted_whole(method: str) -> None:
    result = count_terms(["a bc defg"], settings(char_ngrams=(5, 5)), method=method)
    assert result.terms == [" a ", " bc ", " defg", "defg "]


@pytest.mark.parametrize("way", WAYS, ids=str)
@examples(max_examples=40, deadline=None)
@given(documents=st.lists(texts, max_size=5))
def test_plain_python_and_the_kernel_count_alike(way: TextSettings, documents: list[str]) -> None:
    plain = count_terms(documents, way, method="plain")
    kernel = count_terms(documents, way, method="kernel")
    assert plain.terms == kernel.terms == sorted(plain.terms)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(plain.matrix, part), getattr(kernel.matrix, part))


@pytest.mark.parametrize("lengths", [(1, 2), (2, 2), (1, 3), (2, 3)])
@pytest.mark.parametrize("method", ["plain", "kernel"])
@examples(max_examples=25, deadline=None)
@given(documents=st.lists(texts, min_size=1, max_size=5))
def test_words_against_scikit_learn(lengths: tuple[int, int], method: str, documents: list[str]) -> None:
    way = settings(word_ngrams=lengths)
    peer = CountVectorizer(
        analyzer="word", tokenizer=str.split, token_pattern=None, lowercase=False, ngram_range=lengths
    )
    assert_same(peer, [" ".join(tokenize(text, way)) for text in documents], count_terms(documents, way, method=method))


@pytest.mark.parametrize("lengths", [(1, 1), (3, 5), (6, 6)])
@pytest.mark.parametrize("method", ["plain", "kernel"])
@examples(max_examples=25, deadline=None)
@given(documents=st.lists(texts, min_size=1, max_size=5))
def test_characters_inside_words_against_scikit_learn(
    lengths: tuple[int, int], method: str, documents: list[str]
) -> None:
    way = settings(char_ngrams=lengths)
    peer = CountVectorizer(analyzer="char_wb", lowercase=False, ngram_range=lengths)
    assert_same(peer, [" ".join(tokenize(text, way)) for text in documents], count_terms(documents, way, method=method))


@pytest.mark.parametrize("method", ["plain", "kernel"])
@examples(max_examples=25, deadline=None)
@given(documents=st.lists(texts, min_size=1, max_size=5))
def test_characters_across_words_against_scikit_learn(method: str, documents: list[str]) -> None:
    way = settings(char_ngrams=(2, 5), tokens="char")
    clean = ["".join(tokenize(text, way)) for text in documents]
    assume(not any(re.search(r"\s\s", text) for text in clean))  # what is white space to Python, it makes one
    peer = CountVectorizer(analyzer="char", lowercase=False, ngram_range=(2, 5))
    assert_same(peer, clean, count_terms(documents, way, method=method))


def assert_same(peer: CountVectorizer, documents: list[str], ours: Counts) -> None:
    try:
        theirs = peer.fit_transform(documents)
    except ValueError:  # no term at all
        assert ours.terms == []
        return
    assert ours.terms == peer.get_feature_names_out().tolist()
    assert (ours.matrix != theirs).nnz == 0


def test_many_ngrams_in_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of n-grams grows between chunks, and documents go on in the next."""
    monkeypatch.setattr(bags, "CHUNK", 300)
    documents = [" ".join(f"w{(i * 31 + j * j) % 97}" for j in range(200)) for i in range(60)]
    way = settings(word_ngrams=(1, 3))
    plain, kernel = (count_terms(documents, way, method=method) for method in ("plain", "kernel"))
    assert len(plain.terms) > 4096
    assert plain.terms == kernel.terms
    assert (plain.matrix != kernel.matrix).nnz == 0


@pytest.mark.parametrize("way", WAYS, ids=str)
@examples(max_examples=40, deadline=None)
@given(text=texts)
def test_spans_lead_back_to_the_counts(way: TextSettings, text: str) -> None:
    weighting = design(["x y z", "x y z the"], settings()).weighting
    spans = type(weighting)(way, *(getattr(weighting, k) for k in ("terms", "document_frequency", "n_documents")),
                            weighting.columns).spans(text)  # fmt: skip
    result = count_terms([text], way)
    assert {name: len(places) for name, places in spans.items()} == dict(
        zip(result.terms, result.matrix.toarray()[0].tolist(), strict=True)
    )
    for places in spans.values():
        assert all(0 <= start <= end <= len(text) for start, end in places)


def test_where_ngrams_stand() -> None:
    weighting = design(["not bad at all"], settings(word_ngrams=(1, 2))).weighting
    assert weighting.spans("It's Not  bad.")["not bad"] == ((5, 13),)
    inside = design(["bad"], settings(char_ngrams=(3, 3))).weighting.spans("So b\u00adad")
    assert inside["bad"] == ((3, 7),)
    assert inside[" ba"] == ((3, 6),)
    assert inside["ad "] == ((5, 7),)


def test_rare_ngrams_have_no_column_but_count_in_the_norm() -> None:
    features = design(["a b", "a b", "a c"], settings(word_ngrams=(1, 2), min_df=2, idf=False, tf="raw"))
    assert features.feature_names == ["a", "a b", "b"]
    np.testing.assert_allclose(features.matrix.toarray(), np.array([[1, 1, 1], [1, 1, 1], [1, 0, 0]]) / np.sqrt(3))
    assert features.weighting is not None
    np.testing.assert_array_equal(
        features.weighting.vectors(["a b", "a b", "a c"]).toarray(), features.matrix.toarray()
    )


@pytest.mark.parametrize(
    "options",
    [
        {"word_ngrams": (0, 1)}, {"word_ngrams": (2, 1)}, {"word_ngrams": (1, 4)}, {"word_ngrams": 2},
        {"word_ngrams": (1.0, 2.0)}, {"word_ngrams": "12"}, {"char_ngrams": (3, 7)}, {"char_ngrams": (True, 2)},
        {"word_ngrams": (1, 2), "char_ngrams": (3, 5)}, {"word_ngrams": (1, 2), "tokens": "char"},
        {"word_ngrams": (1, 2), "ngrams": True},
    ],
)  # fmt: skip
def test_bad_lengths_are_named(options: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="_ngrams"):
        TextSettings(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_settings_survive_as_a_dictionary(way: TextSettings) -> None:
    assert TextSettings.from_dict(way.to_dict()) == way
    assert "word_ngrams" not in TextSettings().to_dict()


@pytest.mark.parametrize("way", [settings(), TextSettings(), settings(tokens="char"), settings(strip_html=True), *WAYS],
                         ids=str)  # fmt: skip
@examples(max_examples=30, deadline=None)
@given(documents=st.lists(texts | st.sampled_from(["corn wheat <b>corn</b>", "the oil 中文"]), max_size=5))
def test_rows_of_a_few_texts_are_those_of_the_matrix(way: TextSettings, documents: list[str]) -> None:
    """In plain Python, by the kernel, on several threads: the same bits."""
    weighting = design(["corn wheat", "oil 中文 the corn", "e\u0301 Ab ab", "corn & oil"], way).weighting
    assert weighting is not None
    rows = weighting.rows(documents)
    assert rows is not None
    for method, n_jobs in (("plain", 1), ("kernel", 1), ("kernel", 2)):
        matrix = weighting.vectors(documents, method=method, n_jobs=n_jobs)
        assert matrix.indices.tolist() == [column for columns, _ in rows for column in columns]
        assert matrix.data.tolist() == [value for _, values in rows for value in values]
        assert np.diff(matrix.indptr).tolist() == [len(columns) for columns, _ in rows]
