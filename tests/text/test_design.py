from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import TfidfVectorizer

from lapwing.errors import InputError
from lapwing.text import TextSettings, Weighting, count_terms, design, reading, rows
from lapwing.text.design import Numbered

from .strategies import texts

PLAIN = {"stop_words": "none", "stemmer": "none"}


def settings(**options: object) -> TextSettings:
    return TextSettings(**{**PLAIN, **options})


def same_bits(a: object, b: object) -> bool:
    """Two CSR matrices, entry by entry and bit by bit."""
    parts = ("indptr", "indices", "data")
    return a.shape == b.shape and all(getattr(a, p).tobytes() == getattr(b, p).tobytes() for p in parts)


def test_columns_without_names_are_numbered() -> None:
    names, written = Numbered(12), [str(j) for j in range(12)]
    assert list(names) == written
    assert names == written
    assert len(names) == 12
    assert names[3] == "3"
    assert names[-1] == "11"
    assert names[2:4] == ["2", "3"]
    assert "12" not in names
    with pytest.raises(IndexError):
        names[12]


def test_glm07_by_hand() -> None:
    """Four documents; `rare` is under min_df, `new` was never seen, `the` is a stop word."""
    training = ["the corn corn wheat", "corn rare", "wheat oil oil oil", "oil wheat"]
    features = design(training, settings(min_df=2, stop_words=["the"]))
    assert features.feature_names == ["corn", "oil", "wheat"]
    weighting = features.weighting
    assert isinstance(weighting, Weighting)
    assert weighting.terms == ["corn", "oil", "rare", "wheat"]
    assert weighting.document_frequency.tolist() == [2, 2, 1, 3]

    corn, rare, new, wheat = (math.log(5 / (df + 1)) for df in (2, 1, 0, 3))
    first = np.array([(1 + math.log(2)) * corn, 0.0, wheat])
    assert_allclose(features.matrix.toarray()[0], first / np.linalg.norm(first), rtol=1e-15)
    norm = math.hypot(corn, rare)  # the term under min_df has no column, but it counts
    assert_allclose(features.matrix.toarray()[1], [corn / norm, 0.0, 0.0], rtol=1e-15)

    vector = weighting.vectors(["new THE wheat new corn the rare"]).toarray()[0]
    norm = math.sqrt(((1 + math.log(2)) * new) ** 2 + wheat**2 + corn**2 + rare**2)
    assert_allclose(vector, [corn / norm, 0.0, wheat / norm], rtol=1e-15)
    assert same_bits(weighting.vectors(["wheat corn", "wheat corn the the"]), weighting.vectors(["wheat corn"] * 2))


@pytest.mark.parametrize("tf", ["raw", "log", "binary"])
@pytest.mark.parametrize("idf", [True, False])
@pytest.mark.parametrize("cosine", [True, False])
def test_every_composition(tf: str, idf: bool, cosine: bool) -> None:
    weighting = design(["b", "b", "a b c"], settings(tf=tf, idf=idf, cosine=cosine, min_df=1)).weighting
    times = {"raw": 3.0, "log": 1 + math.log(3), "binary": 1.0}[tf]
    a, b, unseen = times, 1.0, 1.0
    if idf:
        a, b, unseen = a * math.log(4 / 2), b * math.log(4 / 4), unseen * math.log(4 / 1)
    norm = math.sqrt(a * a + b * b + unseen * unseen) if cosine else 1.0
    vector = weighting.vectors(["a b a x a"]).toarray()[0]
    assert_allclose(vector, [a / norm, b / norm, 0.0], rtol=1e-15)


def test_empty_documents_and_terms_of_all_documents_give_zero_rows() -> None:
    features = design(["all", "all", "all other", ""], settings())
    assert features.matrix[3].nnz == 0
    everywhere = design(["all", "all", "all"], settings())
    assert everywhere.feature_names == ["all"]
    assert not everywhere.matrix.toarray().any()
    assert everywhere.matrix.shape == (3, 1)
    assert not everywhere.weighting.vectors(["all", "", "all all"]).toarray().any()
    assert features.weighting.vectors([]).shape == (0, 2)


@pytest.mark.parametrize("tf", ["raw", "binary"])
@pytest.mark.parametrize("cosine", [True, False])
def test_agrees_with_scikit_learn(tf: str, cosine: bool) -> None:
    dice = random.Random(5)
    words = ["".join(dice.choices("abcdef123", k=dice.randint(1, 3))) for _ in range(60)]
    documents = [" ,-_"[i % 4].join(dice.choices(words, k=dice.randint(0, 40))) for i in range(50)]
    peer = TfidfVectorizer(
        token_pattern=r"[^\W_]+", use_idf=False, norm="l2" if cosine else None, binary=tf == "binary"
    )
    theirs = peer.fit_transform(documents)
    ours = design(documents, settings(tf=tf, idf=False, cosine=cosine))
    assert list(ours.feature_names) == peer.get_feature_names_out().tolist()
    assert_allclose(ours.matrix.toarray(), theirs.toarray(), rtol=1e-14)
    assert_allclose(ours.weighting.vectors(documents).toarray(), theirs.toarray(), rtol=1e-14)


def test_training_rows_are_what_the_weighting_gives_later() -> None:
    training = ["Corn and wheat, corn!", "oil 中文", "", "หมา wheat's"]
    features = design(training, TextSettings(min_df=1))
    assert same_bits(features.matrix, features.weighting.vectors(training))


TRAINING = [
    "corn wheat 中 e\u0301",
    "CORN oil ไทย x2",
    "हिन्दी wheat wheat the",
    "oil 👍 a b c",
    "b c The don't",
]


@pytest.mark.parametrize("tokens", ["word", "char", "ready"])
@examples(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(texts | st.sampled_from(TRAINING), max_size=6), batch=st.integers(1, 60))
def test_weights_depend_on_nothing_but_the_document(
    tokens: str, documents: list[str], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone or together, in one batch or many, by kernel or in plain Python: the same bits."""
    weighting = design(TRAINING, settings(tokens=tokens, stemmer="porter")).weighting
    together = weighting.vectors(documents, method="plain")
    assert same_bits(together, weighting.vectors(documents, method="kernel"))
    for i, document in enumerate(documents):
        assert same_bits(together[i], weighting.vectors([document], method="kernel"))
    with monkeypatch.context() as patch:
        patch.setattr(reading, "BATCH_CHARACTERS", batch)
        assert same_bits(together, weighting.vectors(documents, method="plain"))
        assert same_bits(together, weighting.vectors(documents, method="kernel"))
        patch.setattr(reading, "PLAIN_CHARACTERS", 0)
        assert same_bits(together, weighting.vectors(documents))


def test_the_kernels_table_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over 4096 distinct words in several batches, words met again after the table was rebuilt."""
    monkeypatch.setattr(reading, "BATCH_CHARACTERS", 9000)
    documents = [" ".join(f"w{i * 700 + j} w{j}" for j in range(1500)) for i in range(20)]
    plain = count_terms(documents, settings(), method="plain")
    kernel = count_terms(documents, settings(), method="kernel")
    assert len(plain.terms) == 19 * 700 + 1500
    assert plain.terms == kernel.terms == sorted(plain.terms)
    assert same_bits(plain.matrix, kernel.matrix)
    assert plain.matrix.sum() == 20 * 3000


@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_counts_are_sorted_and_whole(method: str) -> None:
    result = count_terms(["b a b", "", "Z é b"], settings(), method=method)
    assert result.terms == ["a", "b", "z", "é"]
    assert result.matrix.toarray().tolist() == [[1, 2, 0, 0], [0, 0, 0, 0], [0, 1, 1, 1]]
    assert result.matrix.dtype == np.int32
    assert result.matrix.has_sorted_indices


@pytest.mark.parametrize("batch", [1, 7, 1 << 22])
def test_progress_adds_up(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_CHARACTERS", batch)
    steps: list[int] = []
    design(TRAINING, settings(), progress=steps.append)
    assert sum(steps) == len(TRAINING)


@pytest.mark.parametrize("more", [{}, {"word_ngrams": (1, 2)}, {"char_ngrams": (2, 3)}])
def test_more_entries_than_a_matrix_holds_are_refused(monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]) -> None:
    """Entries are counted with 32 bits: 2³¹ of them would wrap around without a word."""
    monkeypatch.setattr(rows, "MOST", 5)
    with pytest.raises(InputError, match="a matrix in memory holds 5 at most"):
        design(["one two three four", "five six seven"], TextSettings(stop_words="none", **more))
