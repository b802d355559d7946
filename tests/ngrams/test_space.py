"""The tree of all n-grams against enumeration, and texts matched against n-grams."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text.strategies import texts

from lapwing.errors import InputError
from lapwing.kernels.suffixes import common_prefixes, suffix_array
from lapwing.ngrams.space import NgramSpace, ngram_space
from lapwing.text import TextSettings
from lapwing.text.matching import NgramWeighting
from lapwing.text.sequences import sequences

from .by_hand import corpora, enumerate_ngrams

PLAIN = TextSettings.for_ngrams()
CHARS = TextSettings.for_ngrams(tokens="char")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_suffixes_in_order(letters: list[int]) -> None:
    s = np.array(letters, dtype=np.int32)
    order = suffix_array(s, max(letters))
    assert order.tolist() == sorted(range(len(s)), key=lambda i: letters[i:])
    common = common_prefixes(s, order)
    for before, here, shared in zip(order, order[1:], common[1:], strict=False):
        a, b = letters[before:], letters[here:]
        assert a[:shared] == b[:shared]
        assert a[shared : shared + 1] != b[shared : shared + 1]


def documents_of(space: NgramSpace) -> list[frozenset[int]]:
    columns = space.columns(np.arange(len(space.node)))
    return [frozenset(part.tolist()) for part in np.split(columns.indices, columns.indptr[1:-1])]


@settings(max_examples=300, deadline=None)
@given(corpora(), st.sampled_from([None, 1, 2, 3]), st.integers(1, 3), st.booleans(), st.booleans())
def test_every_ngram_is_there_once(
    documents: list[str], max_length: int | None, min_support: int, stopping: bool, chars: bool
) -> None:
    stop = frozenset(["the"]) if stopping and not chars else frozenset()
    how = TextSettings.for_ngrams(tokens="char" if chars else "word", stop_words=tuple(stop) or "none")
    limits = {"max_length": max_length, "min_support": min_support}
    features = enumerate_ngrams(documents, chars=chars, stop=stop, **limits)  # type: ignore[arg-type]
    alike: dict[frozenset[int], list[tuple[str, ...]]] = defaultdict(list)
    for ngram, rows in features.items():
        alike[rows].append(ngram)
    if not alike:
        with pytest.raises(InputError, match="no n-gram is left"):
            ngram_space(documents, how, **limits)  # type: ignore[arg-type]
        return
    space = ngram_space(documents, how, **limits)  # type: ignore[arg-type]
    everything = np.arange(len(space.node))
    blank = "" if chars else " "
    result = zip(space.names(everything), space.longest_names(everything), space.members, space.docs, strict=True)
    described = dict(zip(documents_of(space), result, strict=True))
    assert described == {
        rows: (
            blank.join(min(ngrams, key=lambda g: (len(g), g))),
            blank.join(min(ngrams, key=lambda g: (-len(g), g))),
            len(ngrams),
            len(rows),
        )
        for rows, ngrams in alike.items()
    }
    assert space.n_ngrams == len(features)


def test_repeats_of_one_token_cost_no_square() -> None:
    """Two documents of one letter: a tree with a node per length would have 10^10 entries in its lists."""
    space = ngram_space(["a" * 100_000, "a" * 99_000 + "b"], CHARS)
    assert len(space.left) < 10
    assert sorted(zip(space.names(np.arange(3)), space.members.tolist(), strict=True)) == [
        ("a", 99_000),
        ("a" * 99_001, 1_000),
        ("b", 99_001),
    ]


@given(st.lists(texts, max_size=5), st.sampled_from(["word", "char", "ready"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_both_ways_to_read_sequences_agree(documents: list[str], tokens: str, stopping: bool) -> None:
    how = TextSettings.for_ngrams(tokens=tokens, stop_words="smart" if stopping else "none", stemmer="porter")
    plain, kernel = (sequences(documents, how, method=m) for m in ("plain", "kernel"))
    assert plain.terms == kernel.terms
    assert plain.numbers.tolist() == kernel.numbers.tolist()
    assert plain.starts.tolist() == kernel.starts.tolist()


def weighting(ngrams: list[str], how: TextSettings = PLAIN) -> NgramWeighting:
    names = sorted(set(ngrams))
    ones = np.ones(len(names), dtype=np.int64)
    return NgramWeighting(how, names, ones, 1, np.arange(len(names)), longest=names, members=ones)


@settings(max_examples=200, deadline=None)
@given(corpora(), corpora(), st.booleans(), st.data())
def test_matching_finds_what_enumeration_does(
    documents: list[str], others: list[str], chars: bool, data: st.DataObject
) -> None:
    how, blank = (CHARS, "") if chars else (PLAIN, " ")
    known = sorted(blank.join(g) for g in enumerate_ngrams(documents, chars=chars)) or ["x"]
    chosen = weighting(data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=12)), how)
    there = {blank.join(g): rows for g, rows in enumerate_ngrams(others, chars=chars).items()}
    expected = np.array([[float(i in there.get(g, ())) for g in chosen.terms] for i in range(len(others))])
    for method in ("plain", "kernel", "auto"):
        vectors = chosen.vectors(others, method=method)
        assert vectors.has_sorted_indices
        np.testing.assert_array_equal(vectors.toarray(), expected)
    for i, text in enumerate(others):
        spans = chosen.spans(text)
        assert set(spans) == {g for g in chosen.terms if expected[i, chosen.index[g]]}
        for ngram, places in spans.items():
            assert all(text[a:b] == ngram for a, b in places)


def test_matches_overlap_and_nest() -> None:
    spans = weighting(["not bad", "bad", "bad at all", "at"]).spans("It's Not bad   at all.")
    assert spans == {"not bad": ((5, 12),), "bad": ((9, 12),), "bad at all": ((9, 21),), "at": ((15, 17),)}


def test_no_ngram_spans_a_stop_word() -> None:
    how = TextSettings.for_ngrams(stop_words=("of",), stemmer="porter")
    space = ngram_space(["kings of France", "kings France"], how)
    assert sorted(space.names(np.arange(len(space.node)))) == ["franc", "king franc"]
    result = weighting(["king franc", "king"], how)
    np.testing.assert_array_equal(result.vectors(["king of france", "King France"]).toarray(), [[1, 0], [1, 1]])
    assert result.spans("The kings  France") == {"king": ((4, 9),), "king franc": ((4, 17),)}
