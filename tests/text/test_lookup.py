"""Vectors by what is remembered of tokens, in the kernels and in plain Python: nothing that was read changes a bit."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from lapwing.text import TextSettings, Weighting, count_terms, design, lookup, plain, reading
from lapwing.text.weighting import weigh

from .strategies import texts
from .test_design import same_bits

TRAINING = ["corn prices rose", "The wheat, the corn", "oils and oil", "écoles; école", "running runs run", "中文 corn"]
WAYS = {
    "stems": TextSettings(stop_words="none", stemmer="porter"),
    "stop list": TextSettings(stop_words="smart", stemmer="none", digits=False, min_df=2),
    "counts": TextSettings(stop_words="none", stemmer="none", tf="raw", idf=False, cosine=False),
    "characters": TextSettings(tokens="char", stop_words="none"),
    "ready": TextSettings(tokens="ready", stop_words="none"),
}
WEIGHTINGS = {name: design(TRAINING, way).weighting for name, way in WAYS.items()}
words = st.sampled_from(
    ["corn", "Corns", "oil", "the", "ran", "runner", "runners", "école", "zebra", "zebras", "x" * 20]
)
documents = st.lists(texts | st.lists(words).map(" ".join), max_size=6)


def counted(weighting: Weighting, given: list[str]) -> sp.csr_matrix:
    """The same by counting all terms first, and remembering nothing."""
    counts = count_terms(given, weighting.settings, method="plain")
    known = np.array([weighting.index.get(term, len(weighting.terms)) for term in counts.terms], dtype=np.int64)
    frequency, columns = np.append(weighting.document_frequency, 0)[known], weighting._column_of[known]
    n, width = weighting.n_documents, len(weighting.columns)
    return weigh(counts.matrix, frequency, n, weighting.settings, columns, width)


def alike(weighting: Weighting, given: list[str], n_jobs: int = 1) -> bool:
    one, other = (weighting.vectors(given, method=method, n_jobs=n_jobs) for method in ("plain", "kernel"))
    return same_bits(one, other) and same_bits(one, counted(weighting, given))


@pytest.mark.parametrize("way", WAYS)
@examples(max_examples=60, deadline=None)
@given(calls=st.lists(documents, max_size=4))
def test_what_was_read_before_changes_nothing(way: str, calls: list[list[str]]) -> None:
    """One weighting for all examples: new terms come between those it knows, in any order."""
    assert all(alike(WEIGHTINGS[way], given) for given in calls)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_batches_and_forgetting_change_nothing(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_CHARACTERS", 40)
    monkeypatch.setattr(lookup, "BATCHES", 2)
    monkeypatch.setattr(lookup, "REMEMBERED", 12)
    monkeypatch.setattr(plain, "REMEMBERED", 12)
    weighting = design(TRAINING, WAYS["stems"]).weighting
    letters = np.random.default_rng(0).choice(list("abcor "), size=(50, 30))
    given = [*TRAINING, *map("".join, letters)]
    assert alike(weighting, given, n_jobs)
    assert all(one.reader.known.n <= 12 for one in weighting._lookups._free)


def test_counts_beyond_those_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "LOGARITHMS", 4)
    weighting = design(TRAINING, WAYS["stems"]).weighting
    assert alike(weighting, ["corn " * 3, "corn " * 900 + "oil " * 5 + "new " * 17, "", "oil " * 4 + "corn"])
    assert alike(weighting, ["corn " * 40 + "oil", "wheat"])


def test_no_documents() -> None:
    assert WEIGHTINGS["stems"].vectors([], method="kernel").shape == (0, len(WEIGHTINGS["stems"].columns))


def test_a_copy_remembers_nothing() -> None:
    weighting = design(TRAINING, WAYS["stems"]).weighting
    assert alike(weighting, TRAINING)
    twin = copy.deepcopy(weighting)
    assert weighting._lookups._free
    assert not twin._lookups._free
    assert alike(twin, TRAINING)
