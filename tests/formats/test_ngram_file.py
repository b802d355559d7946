"""Models of n-grams in files: whole, and with notes that lie."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.build import assert_same, ngram_model

from lapwing.errors import ModelFileError
from lapwing.formats.model_file import BLANK_HASH, KEY, from_bytes, to_bytes
from lapwing.text.matching import NgramWeighting


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=6),
    st.sampled_from(["word", "char"]),
)
def test_save_then_load_is_the_identity(terms: set[str], tokens: str) -> None:
    model = ngram_model(list(terms), tokens)
    again = from_bytes(to_bytes(model))
    assert_same(model, again)
    assert isinstance(again.weighting, NgramWeighting)
    assert isinstance(model.weighting, NgramWeighting)
    assert list(again.weighting.longest) == list(model.weighting.longest)
    assert again.weighting.members.tolist() == model.weighting.members.tolist()
    again.scores(["any text at all", ""])  # whatever the names: nothing breaks


def altered(change: dict[str, Any]) -> bytes:
    """A file whose header says something else, with a hash that fits."""
    import hashlib

    content = to_bytes(ngram_model(["not bad", "bad"]))
    size = int.from_bytes(content[:8], "little")
    container = json.loads(content[8 : 8 + size])
    header = {**json.loads(container["__metadata__"][KEY]), "sha256": BLANK_HASH, **change}
    header = {k: v for k, v in header.items() if v is not ...}
    canonical = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    container["__metadata__"][KEY] = canonical
    head = json.dumps(container, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % 8)
    blank = len(head).to_bytes(8, "little") + head + content[8 + size :]
    return blank.replace(BLANK_HASH.encode(), hashlib.sha256(blank).hexdigest().encode(), 1)


def test_the_altering_alters_nothing_else() -> None:
    from_bytes(altered({}))


@pytest.mark.parametrize(
    "notes",
    [
        ..., None, [], {}, {"longest": ["a", "b"]}, {"longest": ["a"], "members": [1]},
        {"longest": ["a", 1], "members": [1, 1]}, {"longest": ["a", "b"], "members": [0, 1]},
        {"longest": ["a", "b"], "members": [1.5, 1]}, {"longest": ["a", "b"], "members": [True, 1]},
        {"longest": ["a", "b"], "members": [2**63, 1]}, {"longest": "ab", "members": [1, 1]},
        {"longest": ["a", "b"], "members": [1, 1], "more": 1},
    ],
)  # fmt: skip
def test_notes_that_do_not_fit(notes: Any) -> None:
    with pytest.raises(ModelFileError):
        from_bytes(altered({"ngrams": notes}))
