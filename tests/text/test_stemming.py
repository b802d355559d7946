"""Stems by the kernel: those of PyStemmer on the words of corpora, and the same counts as in plain Python."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
import Stemmer
from tests.kernels.test_porter import stems_of

import lapwing
import lapwing.corpus
from lapwing import TextClassifier
from lapwing.text import TextSettings, count_terms, stemming
from lapwing.text.tokens import tokenize

WORDS = TextSettings(stop_words="none", stemmer="none")


@pytest.mark.parametrize("name", [None, "20news-bydate.tar.xz", "reuters21578.tar.xz"])
def test_words_of_corpora(name):
    if name is None:
        documents = lapwing.corpus.stdlib_docstrings().documents[::10]
    else:
        path = Path(os.environ.get("LAPWING_CORPORA", "")) / name
        if not path.is_file():
            pytest.skip(f"no {name} in LAPWING_CORPORA")
        documents = lapwing.corpus.read(path).documents[::10]
    words = sorted({word for text in documents for word in tokenize(text, WORDS)})
    assert stems_of(words) == Stemmer.Stemmer("porter", 0).stemWords(words)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"stop_words": "none"}, {"word_ngrams": (1, 2)}, {"stop_words": ("as", "fer")}]
)
def test_counts_of_stems_are_those_of_plain_python(options, n_jobs):
    draw = random.Random(1)
    begin = ["connect", "s", "as", "the", "international", "counterrevolution", "y" * 210, "été", "fer", "f"]
    texts = [
        " ".join(draw.choice(begin) + draw.choice(["", "s", "ing", "ed", "ionizations", "ally"]) for _ in range(40))
        for _ in range(300)
    ]
    settings = TextSettings(**options)
    plain = count_terms(texts, settings, method="plain")
    kernel = count_terms(texts, settings, method="kernel", n_jobs=n_jobs)
    assert kernel.terms == plain.terms
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(kernel.matrix, part), getattr(plain.matrix, part))


def test_another_release_of_the_algorithm_is_a_warning_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Porter's, which is frozen, needs no note."""
    texts, labels = ["good films", "fine film", "bad films", "dull film"], [1, 1, 0, 0]
    for stemmer in ("porter", "german"):
        TextClassifier(variance=100.0, stemmer=stemmer).fit(texts, labels).save(tmp_path / f"{stemmer}.lapwing")
    release = stemming.pystemmer_release()
    assert lapwing.load(tmp_path / "german.lapwing").provenance["stemmer"] == release
    assert "stemmer" not in lapwing.load(tmp_path / "porter.lapwing").provenance
    assert not caplog.records
    monkeypatch.setattr(stemming, "pystemmer_release", lambda: "99.0")
    lapwing.load(tmp_path / "porter.lapwing")
    assert not caplog.records
    lapwing.load(tmp_path / "german.lapwing")
    (record,) = caplog.records
    assert all(part in record.getMessage() for part in ("german.lapwing", "'german'", release, "99.0"))
