"""Plain Python and the kernel, on one thread and two, over real corpora of several scripts."""

from __future__ import annotations

import os
from itertools import accumulate, takewhile
from pathlib import Path

import numpy as np
import pytest

import lapwing.corpus
from lapwing.text import TextSettings, count_terms

CORPORA = ("reuters21578.tar.xz", "20news-bydate.tar.xz", "sogou-3000.tar.xz", "yso-finna-en.jsonl.xz")
CHARACTERS = 1_500_000
WAYS = [
    TextSettings(),
    TextSettings(stop_words="none", stemmer="none", digits=False),
    TextSettings(tokens="char"),
    TextSettings(tokens="ready"),
    TextSettings(word_ngrams=(1, 2)),
    TextSettings(char_ngrams=(3, 4)),
]


@pytest.fixture(scope="module", params=CORPORA)
def documents(request: pytest.FixtureRequest) -> list[str]:
    path = Path(os.environ.get("LAPWING_CORPORA", ".")) / request.param
    if not path.exists():
        pytest.skip(f"LAPWING_CORPORA has no {request.param}")
    encoding = "gb18030" if "sogou" in request.param else None
    texts = list(lapwing.corpus.read(path, encoding=encoding).documents)
    sizes = accumulate(len(text) for text in texts)
    return texts[: max(sum(1 for _ in takewhile(lambda size: size < CHARACTERS, sizes)), 1)]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_all_ways_to_read_agree(documents: list[str], way: TextSettings) -> None:
    plain, one, two = (
        count_terms(documents, way, method=method, n_jobs=n_jobs)
        for method, n_jobs in (("plain", 1), ("kernel", 1), ("kernel", 2))
    )
    assert plain.terms == one.terms == two.terms
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(plain.matrix, part), getattr(one.matrix, part))
        np.testing.assert_array_equal(getattr(plain.matrix, part), getattr(two.matrix, part))
